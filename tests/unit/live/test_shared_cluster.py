"""What a live cluster lacks of what a plan relies on, and which of its objects are another's."""

import json
from typing import Any

import pytest
from lived_in_clusters import LivedInCluster, clean, lived_in, planned

from gpu_fabric.findings import Finding
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.drift_and_damages import damages, drift
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.judging import differences
from gpu_fabric.live.sharing import policy_problems
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import StackState
from gpu_fabric.plan.records import ExpectedPolicy, ExpectedResource, PlannedAdoption

RAIL = ExpectedResource(
    name="nvidia.com/rail_00",
    shared=False,
    addresses=("0000:18:00.0",),
    interfaces=("enp24s0np0",),
    all_rails=False,
    pods=1,
)
EXPECTED = ExpectedPolicy(sections=("nvIpam", "secondaryNetwork.cniPlugins"), resources=(RAIL,))


def spec(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A policy with both sections, and these resources of the SR-IOV device plug-in."""
    config = json.dumps({"resourceList": list(resources)})
    sections = {"nvIpam": {}, "secondaryNetwork": {"cniPlugins": {}}, "sriovDevicePlugin": {"config": config}}
    return {**sections, **more}


def resource(name: str = "rail_00", prefix: str | None = "nvidia.com", **selectors: list[str]) -> dict[str, Any]:
    prefixed = {} if prefix is None else {"resourcePrefix": prefix}
    return {**prefixed, "resourceName": name, "selectors": selectors}


ADDRESS, INTERFACE, ROOT = "0000:18:00.0", "enp24s0np0", {"rootDevices": ["0000:18:00.0"]}
UNKNOWN = EXPECTED.model_copy(update={"resources": (RAIL.model_copy(update={"interfaces": (None,)}),)})
OF_ALL = EXPECTED.model_copy(update={"resources": (RAIL.model_copy(update={"all_rails": True}),)})
NONE = "the section sriovDevicePlugin offers no such resource; it offers"
BARE = {"nvIpam": {}, "secondaryNetwork": {"cniPlugins": {}}}
OF_NODES = {"sriovDevicePlugin": {"config": json.dumps({"resourceList": [resource(**ROOT)]})}}
LACKING = spec(resource(pciAddresses=[ADDRESS]), nvIpam=None, secondaryNetwork={"multus": {}})


@pytest.mark.parametrize(
    ("expected", "there", "problems"),
    [
        (EXPECTED, [spec(resource(pciAddresses=[ADDRESS]))], []),
        (EXPECTED, [spec(resource(**ROOT))], []),
        (EXPECTED, [spec(resource(pfNames=[INTERFACE]))], []),
        (EXPECTED, [spec(resource(pfNames=[f"{INTERFACE}#0-7"]))], []),
        (EXPECTED, [spec(resource(prefix=None, vendors=["15b3"], pciAddresses=[ADDRESS]))], []),
        # One of node groups may offer the resources; one of all rails may select by kind.
        (EXPECTED, [BARE, OF_NODES], []),
        (OF_ALL, [spec(resource(vendors=["15b3"]))], []),
        (EXPECTED, [spec(resource(pciAddresses=["0000:40:00.0"]))],
            ["it selects PCI addresses 0000:40:00.0, and the plan's are 0000:18:00.0"]),
        (EXPECTED, [spec(resource(pciAddresses=[ADDRESS, "0000:40:00.0"]))],
            ["it selects PCI addresses 0000:18:00.0, 0000:40:00.0, and the plan's are 0000:18:00.0"]),
        (EXPECTED, [spec(resource(pfNames=["eth2"]))], ["it selects interfaces eth2, and the plan's are enp24s0np0"]),
        (EXPECTED, [spec(resource(vendors=["15b3"]))],
            ["it selects NICs by their kind alone, and the plan's resource is one rail's"]),
        (EXPECTED, [spec(resource("roce", pciAddresses=[ADDRESS]))], [f"{NONE} nvidia.com/roce"]),
        (EXPECTED, [spec(resource(prefix="openshift.io", **ROOT))], [f"{NONE} openshift.io/rail_00"]),
        (UNKNOWN, [spec(resource(pfNames=[INTERFACE]))],
            ["it selects interfaces enp24s0np0, and those of this stack's rails are not known"]),
        (EXPECTED, [LACKING],
            ["no policy has the section nvIpam", "no policy has the section secondaryNetwork.cniPlugins"]),
        (EXPECTED, [], ["there is no NicClusterPolicy"]),
    ],
)  # fmt: skip
def test_a_policy_fits_or_is_reported_with_what_it_lacks(
    expected: ExpectedPolicy, there: list[dict[str, Any]], problems: list[str]
) -> None:
    assert [one.removeprefix("nvidia.com/rail_00: ") for one in policy_problems(expected, there)] == problems


@pytest.mark.parametrize("config", ["{", "[]", '{"resourceList": [{}]}', '{"resourceList": [7]}'])
def test_a_configuration_that_cannot_be_read_is_reported(config: str) -> None:
    found = list(policy_problems(EXPECTED, [spec(sriovDevicePlugin={"config": config})]))

    assert "the configuration in the section sriovDevicePlugin cannot be read" in found


@pytest.mark.parametrize(("most", "problems"), [(4, 0), (3, 1)])
def test_a_nic_must_be_shared_by_as_many_pods_as_planned(most: int, problems: int) -> None:
    shared = RAIL.model_copy(update={"name": "rdma/rail_00", "shared": True, "pods": 4})
    entry = {"resourceName": "rail_00", "rdmaHcaMax": most, "selectors": {"ifNames": ["enp24s0np0"]}}
    there = {"rdmaSharedDevicePlugin": {"config": json.dumps({"configList": [entry]})}}

    found = list(policy_problems(ExpectedPolicy(sections=(), resources=(shared,)), [there]))

    assert len(found) == problems


@pytest.mark.parametrize(("devices", "problems"), [(["enp24s0np0"], 0), (["enp25s0np0"], 1)])
def test_the_shared_plug_in_names_interfaces_also_in_a_list_of_devices(devices: list[str], problems: int) -> None:
    shared = RAIL.model_copy(update={"name": "rdma/rail_00", "shared": True})
    entry = {"resourceName": "rail_00", "rdmaHcaMax": 1, "devices": devices}
    there = {"rdmaSharedDevicePlugin": {"config": json.dumps({"configList": [entry]})}}

    found = list(policy_problems(ExpectedPolicy(sections=(), resources=(shared,)), [there]))

    assert len(found) == problems
    assert all("it selects interfaces enp25s0np0" in one for one in found)


THEIRS = {"software": {"networkOperator": {"install": False, "policy": "theirs"}}}
ADOPTED = {"software": {"networkOperator": {"install": False, "policy": "adopt"}}}
TEAM = {"fabric": {"prefix": "team"}}
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICIES = "apis/mellanox.com/v1alpha1/nicclusterpolicies"
MARK = "gpu-fabric/stack"


def found_by(rule: str, stack: Stack, cluster: LivedInCluster) -> list[Finding]:
    return [entry for entry in differences(stack, cluster.cluster) if entry.id == rule]


def test_kinds_that_are_missing_or_of_another_version_are_reported_by_operator() -> None:
    spec, plan = planned("dev", THEIRS)
    cluster = clean(spec)
    versions = [{"name": "v1beta1", "served": True}]
    cluster.add(DEFINITIONS, {"metadata": {"name": "ippools.nv-ipam.nvidia.com"}, "spec": {"versions": versions}})
    stack = Stack(spec, plan)

    (old,) = found_by("PRE020", stack, cluster)
    cluster.objects[DEFINITIONS].clear()
    missing = found_by("PRE023", stack, cluster)

    assert "in version v1alpha1, and the cluster serves v1beta1" in old.message
    assert any("no definition ippools.nv-ipam.nvidia.com" in one.message for one in missing)
    assert all("Network Operator" in one.message for one in missing)


def test_a_policy_that_lacks_what_a_stack_uses_is_in_its_way() -> None:
    spec, plan = planned("host-device", THEIRS)

    lacking = found_by("PRE037", Stack(spec, plan), clean(spec))

    assert [one.seen[0].value for one in lacking] == ["there is no NicClusterPolicy"]


@pytest.mark.parametrize(
    ("spec_there", "manager", "says"),
    [
        (None, "kubectl-create", "there is no NicClusterPolicy nic-cluster-policy to adopt"),
        ({"nvIpam": {"version": "v0.1"}}, "kubectl-create", "spec.nvIpam.version: it is v0.1, and the plan has "),
        # What nobody manages, and what the stack itself has added, it may change.
        ({"nvIpam": {"version": "v0.1"}}, "", ""),
        ({"nvIpam": {"version": "v0.1"}}, "gpu-fabric-1a2b3c4d", ""),
        ({"secondaryNetwork": {}}, "kubectl-create", ""),
    ],
    ids=["missing", "another's", "nobody's", "own", "more"],
)
def test_sections_are_added_where_no_other_has_another_value(
    spec_there: dict[str, Any] | None, manager: str, says: str
) -> None:
    spec, plan = planned("host-device", ADOPTED)
    cluster, (record,) = clean(spec), plan.records(PlannedAdoption)
    if spec_there is not None:
        item = cluster.add(POLICIES, {"metadata": {"name": record.name}, "spec": spec_there})
        written = {"f:spec": {"f:nvIpam": {"f:version": {}}} if "nvIpam" in spec_there else {"f:secondaryNetwork": {}}}
        item["metadata"]["managedFields"] = [{"manager": manager, "fieldsV1": written}] if manager else []

    found = found_by("PRE038", Stack(spec, plan), cluster)

    assert [says in one.message for one in found] == ([True] if says else [])


@pytest.mark.parametrize(
    ("mark", "manager", "has_run", "rule", "says"),
    [
        ("dev", "kubectl", False, "", ""),
        ("yours", "pulumi-kubernetes-1a2b", True, "PRE030", "is of stack yours"),
        (None, "kubectl", True, "PRE030", "exists, and no stack has marked it as its own"),
        (None, "pulumi-kubernetes-1a2b", False, "PRE030", "exists, and no stack has marked it as its own"),
        (None, "pulumi-kubernetes-1a2b", True, "", ""),
        (None, "pulumi-kubernetes-1a2b", None, "PRE036", "was written by a Pulumi program, and has no mark"),
    ],
    ids=["own", "of-another", "by-hand", "of-a-first-run", "from-before-it-shared", "not-known"],
)
def test_an_object_that_another_owns_is_reported(
    mark: str | None, manager: str, has_run: bool | None, rule: str, says: str
) -> None:
    spec, plan = planned("dev", TEAM)
    cluster = clean(spec)
    entry = next(entry for entry in plan.objects if entry.object.kind == "ConfigMap")
    item = {**entry.object.manifest()}
    item["metadata"] = {**item["metadata"], "annotations": {} if mark is None else {MARK: mark}}
    cluster.add("api/v1/configmaps", item, manager)

    found = differences(Stack(spec, plan, has_run=has_run), cluster.cluster)

    assert [entry.id for entry in found] == ([rule] if rule else [])
    assert all(says in one.message and f"/{entry.name}" in one.seen[0].object for one in found)


def of_another(stack: str, changes: dict[str, dict[str, Any]]) -> tuple[Stack, LivedInCluster, int]:
    """A stack, its cluster after an `up` of another with the same names, and how many of its objects have a mark."""
    spec, plan = planned(stack, changes)
    cluster, marked = lived_in(spec, plan), 0
    for item in (item for items in cluster.objects.values() for item in items):
        if MARK in (item["metadata"].get("annotations") or {}):
            item["metadata"]["annotations"][MARK] = "other"
            marked += 1
    return Stack(spec, plan), cluster, marked


@pytest.mark.parametrize("name", ["dev", "host-device", "whereabouts"])
def test_every_object_of_another_stack_is_named_before_up_and_as_drift(name: str) -> None:
    stack, cluster, marked = of_another(name, TEAM)

    before = [entry for entry in differences(stack, cluster.cluster) if "is of stack other" in _one(entry)]
    after = drift(stack, Cluster(cluster.read, cluster.create, cluster.apply), "")

    named = {seen.object for entry in before for seen in entry.seen}
    assert len(named) == marked > 10
    assert {entry.id for entry in before} == {"PRE030", "PRE040"}
    assert {seen.object for entry in after if entry.id in ("PRE030", "PRE040") for seen in entry.seen} == named
    assert not [entry.message for entry in after if entry.id == "DRI002"]


def _one(entry: Finding) -> str:
    return entry.message.replace(" are of stack ", " is of stack ")


def test_what_is_marked_by_another_is_never_mended_as_the_stacks_own() -> None:
    stack, cluster, _ = of_another("dev", TEAM)
    entry = next(entry for entry in stack.objects if entry.object.kind == "ConfigMap")
    inputs = entry.object.manifest()
    pending = {"type": "creating", "resource": {"type": "kubernetes:core/v1:ConfigMap", "inputs": inputs}}

    found = damages(
        Examination(stack, cluster.cluster, StackState(pending=(pending,)), purpose="destroy", is_settled=True)
    )

    assert "DOC004" not in {one.id for one in found}
