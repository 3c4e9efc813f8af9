"""Claims of devices before the code that judges them in a cluster: the scheduler's, and DRANET's own.

What the checker says that random claims can have, the scheduler's allocator gives, and nothing else; about some the
scheduler itself is asked, in a cluster. Slices come and go with a driver's pods. Opaque configurations are such as the
driver's release accepts.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from allocation_checker import Id
from asked_programs import ask, programs
from claim_cases import CLASSES, NIC, Case, cases, claim, device_class, request
from claim_configurations import dranet_problems
from cloud_driver import CloudSandbox
from driver import DEFINITIONS, PODS, STACK, Placed, Sandbox, root_of, said_of, until
from gated_operator import gated
from lived_in import assert_as_before, settled
from stack_plans import stack_plan
from test_shares import running as nodes_with_pods
from test_shares import start, stop
from whole_lives import LEFT_BY_HELM

from gpu_fabric.base.cel import CelRuntimeError, condition
from gpu_fabric.catalog import catalog
from gpu_fabric.contract import FabricContract
from gpu_fabric.live.claims import claim_damages
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pods import YOUNG_S
from gpu_fabric.live.stack import Stack as Judged
from gpu_fabric.plan import Plan
from sandbox.engine.commands import Stack
from sandbox.hardware.inventory import inventory_annotation
from sandbox.hardware.operands import OPERAND_LABEL
from sandbox.hardware.resource_slices import DRANET, NVIDIA_GPU, SRIOV, slices_of
from sandbox.kubernetes_api import Object, apply_object
from sandbox.simulated_nodes import GPU_NODE, node_object, reconcile_nodes
from sandbox.toolchain.build import Toolchain

RESOURCES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{RESOURCES}/namespaces/default/resourceclaims"
SLICES = f"{RESOURCES}/resourceslices"
NOT_ALL = "cannot allocate all claims"


@pytest.fixture(scope="module")
def built() -> Toolchain:
    return programs("claims")


@pytest.fixture(scope="module")
def allocator(built: Toolchain) -> Path:
    return built.folder("allocator") / "allocator"


@pytest.fixture(scope="module")
def validator(built: Toolchain) -> Path:
    return built.folder("dranet") / "dranet"


def test_the_checker_and_the_schedulers_allocator_agree_on_2000_claims(allocator: Path) -> None:
    asked = list(cases(20261129, 2000))
    answers = ask(allocator, [case.question for case in asked])
    wrong: list[str] = []
    satisfied: Counter[bool] = Counter()
    for case, answer in zip(asked, answers, strict=True):
        assert "error" not in answer, (answer, case.question)
        expected, given = case.node.allocation(case.claims), _given(answer)
        satisfied[given is not None] += 1
        problems = [] if given is None else case.node.violations(case.claims, given)
        if (expected is None) is not (given is None) or problems:
            wrong.append(f"{problems} {answer} {json.dumps(case.question)}")
    assert wrong == []
    assert satisfied == {True: 1334, False: 666}


def _given(answer: Object) -> list[list[tuple[str, Id]]] | None:
    found = answer.get("allocations")
    return None if found is None else [[_device(row) for row in rows] for rows in found]


def _device(row: Object) -> tuple[str, Id]:
    return row["request"], (row["driver"], row["pool"], row["device"])


DEVICE = {"ifName": "rdma0", "rdma": True, "numaNode": 1, "pciAddress": "0000:0c:00.0"}


@pytest.mark.parametrize(
    "text",
    [
        "true",
        f'device.driver == "dra.net" && {NIC}.rdma',
        f"!{NIC}.rdma || {NIC}.numaNode > 0",
        f'{NIC}.ifName.startsWith("rdma") && {NIC}["ifName"].endsWith("1")',
        f'{NIC}.pciAddress in ["0000:2a:00.0", "0000:0c:00.0"]',
        f'{NIC}.pciAddress.matches("^0000:(0c|2a):") && {NIC}.pciAddress.contains("0c")',
        f'{NIC}.numaNode == "1"',
        f"{NIC}.numaNode == true",
        f'has({NIC}.rdmaDevice) || "mtu" in {NIC}',
        f"{NIC}.rdma ? {NIC}.numaNode == 1 : {NIC}.nothing",
        "true || false && false",
        f"{NIC}.mtu == 1 && false",
        f"{NIC}.mtu == 1 || true",
        f"{NIC}.mtu == 1 && true",
        f"{NIC}.mtu == 1",
        'device.attributes["other.example"].mtu == 1',
        'has(device.attributes["other.example"].mtu)',
        f"{NIC}.ifName < 1",
        f"{NIC}.numaNode.startsWith('1')",
        f"{NIC}.ifName",
    ],
)
def test_a_selector_has_the_value_that_the_scheduler_gives_it(allocator: Path, text: str) -> None:
    kinds = {str: "string", int: "int", bool: "bool"}
    attributes = {f"{DRANET}/{name}": {kinds[type(value)]: value} for name, value in DEVICE.items()}
    node = {"metadata": {"name": "node", "uid": "u"}}
    slices = slices_of(DRANET, node, [{"name": "nic-0", "attributes": attributes}], 1)
    case = Case(slices, frozenset(), [claim("a", [request("nic", "any", 1, text)])])
    (answer,) = ask(allocator, [{**case.question, "classes": [device_class("any", "true")]}])
    variables = case.node.devices[0].variables()
    try:
        value: bool | None = condition(text)(variables)
    except CelRuntimeError:
        value = None
    seen = None if "error" in answer else "allocations" in answer
    assert value is seen, answer


# Of each kind of mistake that DRANET 1.4.0 refuses, one, with its words.
MISTAKES: dict[str, tuple[Object, str]] = {
    "unknown key": ({"interface": {"arpIgnore": 1}}, "unknown field"),
    "wrong type": ({"interface": {"mtu": "9000"}}, "failed to unmarshal"),
    "long name": ({"interface": {"name": "rdma-interface-0"}}, "exceeds maximum length of 15"),
    "name with a slash": ({"interface": {"name": "rail/0"}}, "cannot contain '/'"),
    "small MTU": ({"interface": {"mtu": 67}}, "must be at least 68"),
    "address without length": ({"interface": {"addresses": ["10.0.0.1"]}}, "invalid IP CIDR"),
    "DHCP and addresses": ({"interface": {"dhcp": True, "addresses": ["10.0.0.1/24"]}}, "mutually exclusive"),
    "hardware address": ({"interface": {"hardwareAddr": "x"}}, "invalid Hardware Address"),
    "size": ({"interface": {"gsoMaxSize": 0}}, "must be positive"),
    "reserved table": ({"interface": {"vrf": {"name": "v", "table": 254}}}, "reserved table"),
    "route without destination": ({"routes": [{"gateway": "10.0.0.1"}]}, "destination: cannot be empty"),
    "route without gateway": ({"routes": [{"destination": "10.0.0.0/24"}]}, "gateway: must be specified"),
    "route of two families": ({"routes": [{"destination": "fd00::/64", "gateway": "10.0.0.1"}]}, "same IP family"),
    "scope": ({"routes": [{"destination": "10.0.0.0/24", "scope": 7}]}, "invalid scope"),
    "rule": ({"rules": [{"priority": 40000}]}, "between 0 and 32767"),
    "rules with VRF": ({"interface": {"vrf": {"name": "v"}}, "rules": [{"priority": 1}]}, "rules are not supported"),
}
GOOD = {
    "interface": {"name": "rail0", "mtu": 9000},
    "routes": [{"destination": "10.0.0.0/16", "gateway": "10.0.0.1"}],
    "rules": [{"priority": 100, "source": "10.0.0.0/16", "table": 100}],
}


def _template(name: str, parameters: Object, driver: str = DRANET) -> Object:
    devices = {
        "requests": [{"name": "nic", "exactly": {"deviceClassName": "nic"}}],
        "config": [{"requests": ["nic"], "opaque": {"driver": driver, "parameters": parameters}}],
    }
    return {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {"spec": {"devices": devices}}}


def test_dranet_refuses_every_kind_of_mistake_and_takes_what_is_right(validator: Path) -> None:
    templates = [_template(name, parameters) for name, (parameters, _) in MISTAKES.items()]
    found = dranet_problems([*templates, _template("good", GOOD), _template("other", {"x": 1}, "y")], validator)
    texts = {
        place.split(",")[0].removeprefix("ResourceClaimTemplate "): "; ".join(errors) for place, errors in found.items()
    }
    assert set(texts) == set(MISTAKES)
    assert {name: text for name, text in texts.items() if MISTAKES[name][1] not in text} == {}


def test_dranet_refuses_the_keys_of_an_interface_for_a_nic_without_one(validator: Path) -> None:
    assert dranet_problems([_template("good", GOOD)], validator, without_interface=True)
    assert dranet_problems([_template("empty", {})], validator, without_interface=True) == {}


def test_dranet_takes_every_configuration_that_a_stack_writes(validator: Path, root: Path) -> None:
    files = [
        file for folder in (root, root / "examples", root / "tests" / "stacks") for file in folder.glob("Pulumi.*.yaml")
    ]
    problems = {}
    for file in files:
        if "dranet" in file.read_text(encoding="utf-8"):
            planned = stack_plan(file.name.split(".")[1], file.parent).objects
            problems[file.name] = dranet_problems([entry.object.manifest() for entry in planned], validator)
    assert {name: found for name, found in problems.items() if found} == {}


@pytest.fixture(scope="module")
def running(cluster: Sandbox) -> Sandbox:
    """A control plane with nodes of no stack, and classes for NICs and GPUs."""
    cluster.run("up", "-s", STACK)
    for item in CLASSES:
        apply_object(cluster.api, item)
    return cluster


def test_the_scheduler_places_50_of_the_cases_as_the_checker_says(running: Sandbox) -> None:
    api, asked = running.api, {f"case-{number}": case for number, case in enumerate(cases(50, 50))}
    reconcile_nodes(api, [_node(name) for name in asked])
    for name, case in asked.items():
        for item in case.slices:
            api.post(SLICES, _of_node(item, name))
        _take(api, name, case)
        claims = [{**item, "metadata": {"name": f"{name}-{item['metadata']['name']}"}} for item in case.claims]
        for item in claims:
            api.post(CLAIMS, item)
        api.post(PODS, _pod(name, name, [item["metadata"]["name"] for item in claims]))
    until(lambda: all(_verdict(pod) for pod in running.items(PODS)), "the scheduler has looked at every pod")

    verdicts = {pod["metadata"]["name"]: _verdict(pod) for pod in running.items(PODS)}
    found = {item["metadata"]["name"]: item.get("status", {}).get("allocation") for item in running.items(CLAIMS)}
    held = [_device(row)[1] for allocation in found.values() if allocation for row in allocation["devices"]["results"]]
    assert [device for device, count in Counter(held).items() if count > 1] == []
    wrong = []
    for name, case in asked.items():
        given = [found[f"{name}-{item['metadata']['name']}"] for item in case.claims]
        if case.node.allocation(case.claims) is None:
            if NOT_ALL not in verdicts[name] or any(given):
                wrong.append(f"{name}: {verdicts[name]}, {given}")
        elif verdicts[name] != "True" or not all(given):
            wrong.append(f"{name}: {verdicts[name]}, {given}")
        else:
            rows = [[_device({**row, "pool": "node"}) for row in one["devices"]["results"]] for one in given]
            wrong += case.node.violations(case.claims, rows)
    assert wrong == []
    assert Counter(verdict == "True" for verdict in verdicts.values()) == {True: 34, False: 16}


def _node(name: str, **annotations: str) -> Object:
    return node_object(name, IPv4Address("10.0.10.1"), {"pool": "claims"}, [], annotations, GPU_NODE)


def _of_node(item: Object, node: str) -> Object:
    """A slice of the node `node` as one of another; without the label of what the sandbox publishes and withdraws."""
    spec = {**item["spec"], "nodeName": node, "pool": {**item["spec"]["pool"], "name": node}}
    return {**item, "metadata": {"name": item["metadata"]["name"].replace("node", node, 1)}, "spec": spec}


def _take(api: Any, node: str, case: Case) -> None:
    """Have devices be allocated already, to claims that no pod uses: one for each driver."""
    for driver, kind in ((DRANET, "nic"), (NVIDIA_GPU, "gpu")):
        taken = sorted(device for device in case.taken if device[0] == driver)
        if not taken:
            continue
        name = f"{node}-taken-{kind}"
        api.post(CLAIMS, {**claim(name, [request("r", kind, len(taken))]), "metadata": {"name": name}})
        rows = [{"request": "r", "driver": driver, "pool": node, "device": device} for _, _, device in taken]
        api.patch(f"{CLAIMS}/{name}/status", {"status": {"allocation": {"devices": {"results": rows}}}})


def _pod(name: str, node: str | None, claims: list[str]) -> Object:
    used = [{"name": f"c{number}", "resourceClaimName": claim} for number, claim in enumerate(claims)]
    container = {"name": "job", "image": "job", "resources": {"claims": [{"name": entry["name"]} for entry in used]}}
    spec = {"containers": [container], "resourceClaims": used, "nodeSelector": {"kubernetes.io/hostname": node}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _verdict(pod: Object) -> str:
    """`True` for a pod that is on a node; the scheduler's message for one that waits; empty before it has looked."""
    found = [entry for entry in pod.get("status", {}).get("conditions", ()) if entry["type"] == "PodScheduled"]
    return "" if not found else found[0]["status"] if found[0]["status"] == "True" else str(found[0].get("message"))


def test_slices_come_and_go_with_a_drivers_pods_and_pods_get_what_is_published(running: Sandbox) -> None:
    api, shape = running.api, catalog().shapes["BM.GPU.H100.8"].model_copy(update={"vfs_per_nic": 0})
    for pod in running.items(PODS):
        running.remove_pods(pod["metadata"]["name"])
    reconcile_nodes(api, [_node("gpu-0", **inventory_annotation(shape))])
    for driver in (DRANET, NVIDIA_GPU):
        apply_object(api, _daemon_set(driver))
    until(lambda: _published(running) == {(DRANET, 17): 1, (NVIDIA_GPU, 8): 1}, "both drivers' slices are published")

    pair = [request("gpu", "gpu"), request("nic", "nic", 2)]
    template = claim("pair", pair, "resource.kubernetes.io/pcieRoot")
    for number in range(9):
        name = f"part-{number}"
        api.post(CLAIMS, {**template, "metadata": {"name": name}})
        api.post(PODS, _pod(name, "gpu-0", [name]))
    until(lambda: len([1 for pod in running.items(PODS) if _verdict(pod)]) == 9, "the scheduler has looked at all pods")
    # Eight roots have a GPU and two NICs each.
    waiting = {pod["metadata"]["name"]: _verdict(pod) for pod in running.items(PODS) if _verdict(pod) != "True"}
    assert len(waiting) == 1
    assert NOT_ALL in next(iter(waiting.values()))
    rows = [
        row for item in running.items(CLAIMS) if item["metadata"]["name"].startswith("part-") for row in _rows(item)
    ]
    assert len(rows) == len({row["device"] for row in rows}) == 24

    api.delete(f"{DAEMON_SETS}/{_daemon_set(DRANET)['metadata']['name']}")
    until(lambda: _published(running) == {(NVIDIA_GPU, 8): 1}, "the slices of the driver that is gone are withdrawn")


DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"


def _daemon_set(driver: str, label: str = "pool") -> Object:
    labels = {OPERAND_LABEL: driver}
    container = {"name": "driver", "image": catalog().dra_drivers[driver].images[0]}
    template = {
        "metadata": {"labels": labels},
        "spec": {"affinity": _with(label), "tolerations": [{"operator": "Exists"}], "containers": [container]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": f"driver-{driver[:3]}", "namespace": "kube-system"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}


def _with(label: str) -> Object:
    terms = [{"matchExpressions": [{"key": label, "operator": "Exists"}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _published(running: Sandbox) -> Counter[tuple[str, int]]:
    """How many slices of each driver have so many devices, of those that the sandbox publishes."""
    ours = [item["spec"] for item in running.items(SLICES) if item["metadata"].get("labels")]
    return Counter((spec["driver"], len(spec.get("devices", ()))) for spec in ours)


def _rows(item: Object) -> list[Object]:
    allocation = item.get("status", {}).get("allocation")
    return allocation["devices"]["results"] if allocation else []


# Stacks that come up whole, and the cloud that simulates their cluster; the others have one of their own.
CLOUDS = {
    "dranet-infiniband": None,
    "dranet-hgx-b200": None,
    "dranet-own-shape": None,
    "dranet-two-fabrics": None,
    "dranet-tenants": None,
    "dranet-kueue": None,
    "sriov-claims": None,
    "dranet-oke": "oci",
    "dranet-gb200": "oci",
}


class Size(NamedTuple):
    """What pods of a fabric ask for: how many of them find their devices, and the NICs of each."""

    pod: Object
    fit: int
    nics: int


def sizes_of(fabric: Plan) -> Iterator[Size]:
    """The sizes of a fabric's claims; without templates, a node's rails by their resources' names, and one rail."""
    contract, nodes = fabric.workload, sum(pool.nodes for pool in fabric.cluster.pools)
    for claimed in contract.claims:
        parts = contract.gpus_per_node // claimed.gpus if claimed.gpus else len(fabric.rails) // claimed.nics
        used = [{"name": claimed.name, "resourceClaimTemplateName": claimed.template}]
        yield Size(_pod_of(contract, claims=[{"name": claimed.name}], used=used), nodes * parts, claimed.nics)
    rails = [str(rail.resource_name) for rail in fabric.rails] if not contract.claims else []
    for asked in filter(None, (rails, rails[:1])):
        pod = _pod_of(contract, limits=dict.fromkeys(asked, "1"))
        yield Size(pod, nodes, len(asked))


def _pod_of(contract: FabricContract, used: Sequence[Object] = (), **resources: Any) -> Object:
    """A pod of a job with these resources, and no GPUs but those that come with a claim."""
    patch: Any = json.loads(json.dumps(contract.pod_template_patch))
    patch["spec"]["containers"][0] |= {"image": "training", "resources": resources}
    patch["spec"]["resourceClaims"] = list(used)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": patch["metadata"], "spec": patch["spec"]}


def assert_as_many_fit_as_the_shape_says(sandbox: Sandbox, planned: Stack, size: Size) -> None:
    """Pods of a size find devices until none is left, never the same; of one more it is said what it waits for."""
    for number in range(size.fit + 1):
        pod = json.loads(json.dumps(size.pod))
        sandbox.api.post(PODS, {**pod, "metadata": {**pod["metadata"], "name": f"part-{number}"}})
    until(lambda: all(map(_verdict, sandbox.items(PODS))), "the scheduler has looked at every pod")
    waiting = [verdict for verdict in map(_verdict, sandbox.items(PODS)) if verdict != "True"]
    assert len(waiting) == 1, (size, waiting)
    assert NOT_ALL in waiting[0]
    rows = [row for item in sandbox.items(CLAIMS) for row in _rows(item)]
    held = Counter((row["driver"], row["pool"], row["device"]) for row in rows)
    assert set(held.values()) == {1}
    assert sum(driver in (DRANET, SRIOV) for driver, _, _ in held) == size.fit * size.nics
    seen = Cluster(sandbox.look, lambda path, manifest: manifest)
    late = Examination(Judged(planned.spec, planned.plan), seen, at_s=time.time() + YOUNG_S)
    (found,) = claim_damages(late)
    assert found.id == "DOC075"
    assert "other claims hold them" in found.message
    sandbox.remove_pods(*(pod["metadata"]["name"] for pod in sandbox.items(PODS)))
    until(lambda: sandbox.items(CLAIMS) == [], "the claims go with their pods")


def assert_a_queue_lets_a_job_in(sandbox: Sandbox, contract: FabricContract) -> None:
    """The real Kueue counts what a job claims, and starts its pods on all nodes that no namespace has a share of."""
    nodes = contract.nodes - sum(share.nodes for share in contract.shares.values())
    job = start(sandbox, contract, "default", nodes)
    until(lambda: len(set(nodes_with_pods(sandbox, "default"))) == nodes, f"Kueue lets in a job on {nodes} nodes")
    stop(sandbox, "default", job)
    until(lambda: sandbox.items(CLAIMS) == [], "the claims go with their pods")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stack", CLOUDS)
def test_each_size_fits_as_often_as_the_shape_says_and_the_stack_stays_as_it_is_and_goes(
    placed: Callable[..., Placed], cloud: Callable[..., CloudSandbox], stack: str
) -> None:
    simulated, before = CLOUDS[stack], dict[str, Object]()
    if simulated is None:
        # All labels of NVIDIA's operator are taken from the nodes again.
        sandbox, more = placed(stack), {"cluster": {"cleanNodes": True}}
        if by_claims(sandbox.planned.plan):
            more["software"] = {"gpuDraDriver": {}}
        before = settled(sandbox.api)
    else:
        sandbox, more = cloud(stack, simulated), {"cluster": {"protect": False}}
        sandbox.root = root_of(stack)
    planned = sandbox.stack_with(**more)
    sandbox.up_with(**more)

    by_name = planned.spec.fabric.devices == "claims"
    with gated(sandbox) if by_name else contextlib.nullcontext():
        assert_published(sandbox, planned.plan)
        for fabric in planned.plan.by_fabric.values():
            for size in sizes_of(fabric):
                assert_as_many_fit_as_the_shape_says(sandbox, planned, size)
        if planned.plan.workload.queue_of("kueue", "default"):
            assert_a_queue_lets_a_job_in(sandbox, planned.plan.workload)

    assert f"    {sandbox.counted} unchanged" in sandbox.up_with(**more)
    said_of(lambda: sandbox.engine.destroy(planned), False)
    if isinstance(sandbox, CloudSandbox):
        sandbox.assert_nothing_is_left()
    else:
        until(lambda: _published(sandbox) == {}, "the slices go with the drivers")
        if by_name:
            forget_the_sriov_operator(sandbox)
        assert_as_before(before, sandbox.api, left=LEFT_BY_HELM)


def forget_the_sriov_operator(sandbox: Sandbox) -> None:
    """Take away what every SR-IOV operator leaves, and no stack removes: its definitions, and its marks on nodes."""
    group = "sriovnetwork.openshift.io"
    marks = {"annotations": {f"{group}/state": None}, "labels": {f"{group}/device-plugin": None}}
    for node in sandbox.items("/api/v1/nodes"):
        sandbox.api.patch(f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": marks})
    for item in sandbox.items(DEFINITIONS):
        if item["spec"]["group"] == group:
            sandbox.api.delete(f"{DEFINITIONS}/{item['metadata']['name']}")


def by_claims(plan: Plan) -> bool:
    """Whether GPUs come with claims."""
    return any(claimed.gpus for claimed in plan.workload.claims)


def assert_published(sandbox: Sandbox, plan: Plan) -> None:
    """Each driver publishes every node's devices: a slice of NICs, and one of GPUs if these come with claims."""
    slices = (1 + by_claims(plan)) * sum(pool.nodes for pool in plan.cluster.pools)
    # If a shape does not say which fabric a NIC is of, the driver runs on other nodes as well, and finds none.
    until(
        lambda: sum(n for (_, devices), n in _published(sandbox).items() if devices) == slices, "slices are published"
    )
