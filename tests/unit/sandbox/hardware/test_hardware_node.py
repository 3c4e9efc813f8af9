"""What happens on one simulated node: plug-ins that load once, virtual functions, host preparation, drivers."""

import json
import re
from typing import Any

import pytest
from played_objects import H100, NAMESPACE, Object, config_maps, node, operand_pod, shared_config, sriov_config

from gpu_fabric.k8s.base import compact_json
from sandbox.hardware.device_plugins import LOADED_ANNOTATION, started
from sandbox.hardware.host_preparation import PREPARATIONS
from sandbox.hardware.inventory import SimulatedDevice, devices_of, inventory, virtual_function_counts
from sandbox.hardware.node_agent import play
from sandbox.hardware.node_records import Outcome, World
from sandbox.hardware.operands import CONFIG_DAEMON, DRIVER, DRIVER_WAIT_LABEL, RDMA_PLUGIN, SRIOV_PLUGIN
from sandbox.hardware.proving import COMPONENT as PROVING
from sandbox.hardware.sriov import SyncError, observed_interfaces, synced
from sandbox.hardware.sriov_agent import APPLIED_ANNOTATION
from sandbox.hardware.virtual_functions import COMPONENT, COMPONENT_LABEL
from sandbox.simulated_nodes import NIC_ADDRESSES_ANNOTATION, RDMA_MODE_ANNOTATION
from sandbox.stages import FOLDER

FIRST, SECOND = "0000:0c:00.0", "0000:0c:00.1"


def on(machine: Object, *pods: Object, states: tuple[Object, ...] = (), over: bool = True, **world: Any) -> Outcome:
    by_namespace = {item["metadata"]["namespace"]: item for item in states}
    return play(
        machine, {f"pod-{n}": pod for n, pod in enumerate(pods)}, by_namespace, World(**world), sync_is_over=over
    )


def functions(machine: Object) -> dict[str, int]:
    return virtual_function_counts(devices_of(machine["metadata"]["annotations"]))


def machine_after(machine: Object, outcome: Outcome) -> Object:
    kept = {**machine["metadata"]["annotations"], **outcome.annotations}
    annotations = {name: text for name, text in kept.items() if text is not None}
    return {**machine, "metadata": {**machine["metadata"], "annotations": annotations}}


def test_a_plugin_offers_what_its_configuration_matches_when_it_starts_and_nothing_that_changes_later() -> None:
    outcome = on(node(), operand_pod(SRIOV_PLUGIN, "config"), config_maps=config_maps(sriov_config()))
    assert outcome.resources == outcome.loads["pod-0"] == {"nvidia.com/vf": 16}
    assert outcome.ready == ["pod-0"]
    assert json.loads(started({"a/b": 2})["metadata"]["annotations"][LOADED_ANNOTATION]) == {"a/b": 2}

    running = operand_pod(SRIOV_PLUGIN, "config", loaded='{"nvidia.com/vf":16}')
    other = sriov_config({"resourceName": "other", "selectors": {"vendors": ["15b3"]}})
    later = on(node(), running, config_maps=config_maps(other))
    assert (later.resources, later.loads) == ({"nvidia.com/vf": 16}, {})
    early = operand_pod(SRIOV_PLUGIN, "config", loaded="{}")
    assert on(node(), early, config_maps=config_maps(sriov_config())).resources == {}


@pytest.mark.parametrize(
    ("plugin", "text", "said"),
    [
        (SRIOV_PLUGIN, "{", "the configuration"),
        (SRIOV_PLUGIN, '{"resourceList":[]}', "the configuration"),
        (SRIOV_PLUGIN, '{"resourceList":[{"resourceName":"a-b"}]}', "the configuration"),
        (RDMA_PLUGIN, '{"configList":[]}', "configList"),
        (SRIOV_PLUGIN, None, "there is no configuration"),
    ],
)
def test_a_plugin_without_a_usable_configuration_does_not_come_up(plugin: str, text: str | None, said: str) -> None:
    maps = {} if text is None else {"config_maps": config_maps(text)}
    outcome = on(node(), operand_pod(plugin, "config"), **maps)
    assert (outcome.resources, outcome.ready) == ({}, [])
    assert said in outcome.failures["pod-0"]


def test_the_shared_plugin_starts_without_its_nics_and_not_in_rdma_mode_exclusive() -> None:
    pod, maps = operand_pod(RDMA_PLUGIN, "config"), config_maps(shared_config())
    bare = node()
    del bare["metadata"]["annotations"]["sandbox.gpu-fabric/nics"]
    without = on(bare, pod, config_maps=maps)
    assert (without.resources, without.ready) == ({"rdma/shared": 0}, ["pod-0"])
    assert on(node(rdma_mode="shared"), pod, config_maps=maps).resources == {"rdma/shared": 63}
    assert on(node(rdma_mode="exclusive"), pod, config_maps=maps).ready == []


def test_plugins_wait_for_the_pod_of_a_driver_that_the_policy_has_for_their_node() -> None:
    assert on(node(), drivers=()).labels == {DRIVER_WAIT_LABEL: "false"}
    assert on(node(), drivers=None).labels == {}
    assert on(node(), drivers=({},)).labels == {DRIVER_WAIT_LABEL: "true"}
    assert on(node(), operand_pod(DRIVER), drivers=({},)).labels == {DRIVER_WAIT_LABEL: "false"}
    assert on(node(labels={"pool": "b"}), drivers=({"pool": "a"},)).labels == {DRIVER_WAIT_LABEL: "false"}
    bare = node(labels={"feature.node.kubernetes.io/pci-15b3.present": "false", DRIVER_WAIT_LABEL: "false"})
    assert on(bare, drivers=()).labels == {DRIVER_WAIT_LABEL: None}


def setup_pod(pci: str = FIRST, **environment: str) -> Object:
    pod = operand_pod("none")
    pod["metadata"]["labels"] = {COMPONENT_LABEL: COMPONENT}
    told = {"PCI_ADDRESSES": pci, **environment}
    pod["spec"]["containers"][0]["env"] = [{"name": name, "value": text} for name, text in told.items()]
    return pod


def test_our_daemon_set_makes_virtual_functions_and_passes_over_nics_that_the_node_does_not_have() -> None:
    told = {"VFS_PER_NIC": "2", "RDMA_MODE": "exclusive"}
    outcome = on(node(0), setup_pod(f"{FIRST},{SECOND},0000:77:00.0", **told))
    assert functions(machine_after(node(0), outcome)) == {FIRST: 2, SECOND: 2}
    assert (outcome.annotations[RDMA_MODE_ANNOTATION], outcome.ready) == ("exclusive", ["pod-0"])


def test_our_daemon_set_makes_the_device_plugin_look_again_when_virtual_functions_came() -> None:
    early, maps = operand_pod(SRIOV_PLUGIN, "config", loaded="{}"), config_maps(sriov_config())
    with_plugin = setup_pod(VFS_PER_NIC="2", PLUGIN_POD="pod-")
    made = on(node(0), early, with_plugin, config_maps=maps)
    assert made.resources == made.loads["pod-0"] == {"nvidia.com/vf": 2}
    assert on(node(0), early, setup_pod(VFS_PER_NIC="2"), config_maps=maps).loads == {}
    assert on(node(2), early, with_plugin, config_maps=maps).loads == {}


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"VFS_PER_NIC": "200"}, "200 virtual functions of at most 127"),
        ({"VFS_PER_NIC": "many"}, "VFS_PER_NIC is not a number"),
        ({}, "'VFS_PER_NIC' is not set"),
    ],
)
def test_our_daemon_sets_pod_is_not_ready_where_its_work_fails(environment: dict[str, str], problem: str) -> None:
    outcome = on(node(0), setup_pod(**environment))
    assert problem in outcome.failures["pod-0"]
    assert (outcome.annotations, outcome.ready) == ({}, [])


BARE = inventory(H100.model_copy(update={"vfs_per_nic": 0}))
EXCLUSIVE = {"rdmaMode": "exclusive"}
BEGUN = {"syncStatus": "InProgress"}


def asked(pci: str = FIRST, count: int = 1, **fields: Any) -> Object:
    return {"pciAddress": pci, "numVfs": count, **fields}


def state(*interfaces: Object, generation: int = 2, status: Object = BEGUN, **system: str) -> Object:
    spec = {"interfaces": list(interfaces), "system": system}
    return {"metadata": {"namespace": NAMESPACE, "generation": generation}, "spec": spec, "status": status}


def of_app(app: str, namespace: str = NAMESPACE, **fields: Any) -> Object:
    pod = operand_pod("none", **fields)
    pod["metadata"] |= {"labels": {"app": app}, "namespace": namespace}
    return pod


DAEMON = of_app(CONFIG_DAEMON)


def synced_on(machine: Object, *states: Object, over: bool = True) -> Outcome:
    return on(machine, DAEMON, states=states, over=over)


@pytest.mark.parametrize(
    ("fields", "devices", "problem"),
    [
        ({"count": 128}, BARE, r"rdma0 .*: 128 virtual functions asked for, the NIC has at most 127"),
        # On NICs that others manage nothing more is possible than they did.
        ({"externallyManaged": True, "count": 2}, inventory(H100), "2 virtual .* and the NIC's manager created 1"),
        ({"externallyManaged": True, "mtu": 9000}, inventory(H100), "MTU 9000 asked for"),
        ({"externallyManaged": True, "linkType": "ib"}, inventory(H100), "link type IB asked for, the NIC's is ETH"),
    ],
)
def test_what_is_impossible_on_a_nic_is_refused(
    fields: Any, devices: tuple[SimulatedDevice, ...], problem: str
) -> None:
    with pytest.raises(SyncError, match=problem):
        synced([asked(**fields)], (), devices)


def test_a_nic_shows_its_functions_loses_those_not_asked_for_and_keeps_what_others_made() -> None:
    made = synced([asked(count=2)], (), BARE)
    shown = {item["name"]: item for item in observed_interfaces(made)}
    assert [entry["pciAddress"] for entry in shown["rdma0"]["Vfs"]] == ["0000:0c:00.2", "0000:0c:00.4"]
    assert (shown["rdma0"]["numVfs"], shown["rdma0"]["totalvfs"]) == (2, 2)
    assert "numVfs" not in shown["rdma1"]
    assert virtual_function_counts(synced((), [{"pciAddress": FIRST}], made)) == {}
    assert synced([asked(externallyManaged=True)], (), inventory(H100)) == inventory(H100)


def test_a_sync_is_in_progress_before_it_succeeds_and_only_then_are_the_virtual_functions_there() -> None:
    begun = synced_on(node(0), state(asked(count=2), status={}), over=False)
    shown = begun.states[NAMESPACE]
    assert ("rdma0" in {item["name"] for item in shown["interfaces"]}, shown["syncStatus"]) == (True, "InProgress")
    assert (begun.waits, begun.annotations) == (True, {})
    at_work = state(asked(count=2), status=shown)
    assert synced_on(node(0), at_work, over=False).annotations == {}

    done = synced_on(node(0), at_work)
    machine = machine_after(node(0), done)
    assert (done.states[NAMESPACE]["syncStatus"], functions(machine)) == ("Succeeded", {FIRST: 2})
    assert json.loads(done.annotations[APPLIED_ANNOTATION] or "") == {NAMESPACE: {"generation": 2, "nics": [FIRST]}}
    assert synced_on(machine, state(asked(count=2), status=done.states[NAMESPACE])) == Outcome()
    # What others have undone is done again.
    undone = machine_after(machine, Outcome(annotations={**node(0)["metadata"]["annotations"]}))
    assert synced_on(undone, state(asked(count=2), status={"syncStatus": "Succeeded"})).waits


def test_a_changed_spec_stands_beside_the_old_status_until_the_daemon_has_looked() -> None:
    machine = machine_after(node(0), synced_on(node(0), state(asked(count=2))))
    changed = state(asked(count=3), generation=3, status={"syncStatus": "Succeeded"})
    assert synced_on(machine, changed).states[NAMESPACE]["syncStatus"] == "InProgress"
    changed["status"] = BEGUN
    assert functions(machine_after(machine, synced_on(machine, changed))) == {FIRST: 3}


def test_a_mode_is_set_shown_and_given_back_and_one_that_was_there_stays() -> None:
    done = synced_on(node(0), state(**EXCLUSIVE))
    assert (done.annotations[RDMA_MODE_ANNOTATION], done.states[NAMESPACE]["system"]) == ("exclusive", EXCLUSIVE)
    back = synced_on(machine_after(node(0), done), state(generation=3))
    assert back.annotations[RDMA_MODE_ANNOTATION] == "shared"
    stayed = synced_on(node(0, rdma_mode="exclusive"), state())
    assert RDMA_MODE_ANNOTATION not in stayed.annotations
    assert stayed.states[NAMESPACE]["system"] == EXCLUSIVE
    of_an_operator_without_modes = state(asked())
    del of_an_operator_without_modes["spec"]["system"]
    assert "system" not in synced_on(node(0), of_an_operator_without_modes).states[NAMESPACE]


def test_a_sync_that_is_impossible_fails_with_its_reason_and_changes_nothing() -> None:
    failed = synced_on(node(0), state(asked(count=128)))
    assert failed.states[NAMESPACE]["syncStatus"] == "Failed"
    assert "at most 127" in failed.states[NAMESPACE]["lastSyncError"]
    assert failed.annotations == {}


TABLES = ("host-addresses-rail-00", "host-addresses-rail-01")


def preparing(
    component: str, *tables: str, mode: str = "configure", networks: str | None = None, **environment: str
) -> Object:
    """A pod as the plan has it: the script in a volume of its own, each table in a folder below ADDRESSES."""
    made = operand_pod("none")
    made["metadata"] |= {"labels": {COMPONENT_LABEL: component}}
    if networks is not None:
        made["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/networks": networks}
    told = {**environment, **({"ADDRESSES": "/run/addresses"} if tables else {})}
    mounts = [{"name": "script", "mountPath": "/script"}]
    mounts += [{"name": name, "mountPath": f"/host/run/addresses/{place:02d}"} for place, name in enumerate(tables)]
    command = ["/bin/sh", "-c", f"exec chroot /host /bin/bash -s -- {mode} < /script/some.sh"]
    env = [{"name": name, "value": text} for name, text in told.items()]
    made["spec"] = {
        "containers": [{"name": "c", "env": env, "command": command, "volumeMounts": mounts}],
        "volumes": [{"name": name, "configMap": {"name": name}} for name in ("script", *tables)],
    }
    return made


def lines(*texts: str) -> dict[str, dict[str, Object]]:
    """ConfigMaps of one rail each, with the node's text."""
    tables = zip(TABLES, texts, strict=False)
    return {"config_maps": {f"{NAMESPACE}/{name}": {"data": {"gpu-0": text}} for name, text in tables}}


def addressed(line: str) -> tuple[Object, dict[str, Any]]:
    return preparing("nic-addresses", TABLES[0]), lines(line)


PCI = {"PCI_ADDRESSES": f"{FIRST} {SECOND}"}
NETWORKS = ("b/rail-0,rail-1@net2", '[{"name":"rail-0","namespace":"b"},{"name":"rail-1"}]')
THERE = {"networks": frozenset({"b/rail-0", f"{NAMESPACE}/rail-1"})}


@pytest.mark.parametrize(
    ("pod", "world", "failure"),
    [
        *((preparing(name), {}, None) for name in ("fabric-rule", "acs")),
        *(
            (preparing(name, INTERFACES="rdma0 enp9s0"), {}, "the node has no NIC enp9s0")
            for name in PREPARATIONS
            if name != "fabric-check"
        ),
        (preparing("lossless", INTERFACES="rdma0 rdma1"), {}, None),
        (preparing("ipoib", INTERFACES="rdma0"), {}, "not of link type infiniband: rdma0"),
        (preparing("link-type", LINK_TYPE="ether", **PCI), {}, None),
        (preparing("link-type", LINK_TYPE="infiniband", **PCI), {}, "rdma0, rdma1"),
        (preparing("link-type", LINK_TYPE="ether", PCI_ADDRESSES="0000:77:00.0"), {}, "no NIC 0000:77:00.0"),
        (preparing("link-type", LINK_TYPE="ether"), {}, "is empty"),
        (preparing("rdma-mode"), {}, "RDMA_MODE is ''"),
        (preparing("nic-addresses", TABLES[0]), {}, f"there is no ConfigMap {TABLES[0]}"),
        (preparing("nic-addresses"), {}, "mounts no table"),
        (*addressed(""), "no line for node gpu-0"),
        (*addressed("enp9s0 172.16.11.1/24"), "no NIC enp9s0"),
        (*addressed("rdma0 172.16.11.1"), "INTERFACE ADDRESS/LENGTH"),
        (*addressed("rdma0 172.16.11.1/40"), "cannot be used"),
        (*addressed("rdma0 172.16.11.1/24 172.16.12.254"), "outside 172.16.11.0/24"),
        (*addressed("rdma0 172.16.11.1/24\nrdma1 172.16.12.1/24"), "cannot be used"),
        *((preparing("fabric-check", networks=text), THERE, None) for text in NETWORKS),
        *((preparing("fabric-check", networks=text), {}, "there is no network b/rail-0") for text in NETWORKS),
        (preparing("fabric-check", INTERFACES="net1"), {}, None),
        (preparing("fabric-check", networks="[rail-0]"), {}, "cannot be read"),
    ],
)
def test_a_pod_that_prepares_its_node_is_ready_where_what_it_asks_for_is_possible(
    pod: Object, world: dict[str, Any], failure: str | None
) -> None:
    outcome = on(node(rdma_mode="shared"), pod, **world)
    assert outcome.ready == ([] if failure else ["pod-0"])
    assert (failure or "") in outcome.failures.get("pod-0", "")
    assert outcome.annotations == {}


def test_the_rdma_mode_and_the_addresses_are_set_on_the_node_once_and_reported_where_that_is_all() -> None:
    maps = lines("rdma0 172.16.11.1/24 172.16.11.254\n", "rdma1 172.16.12.1/24")
    rows = [
        {"interface": "rdma0", "address": "172.16.11.1/24", "gateway": "172.16.11.254"},
        {"interface": "rdma1", "address": "172.16.12.1/24"},
    ]
    written = compact_json(rows)
    for component, tables, environment, shown in (
        ("rdma-mode", (), {"RDMA_MODE": "exclusive"}, {RDMA_MODE_ANNOTATION: "exclusive"}),
        ("nic-addresses", TABLES, {"INTERFACES": "rdma0 rdma1"}, {NIC_ADDRESSES_ANNOTATION: written}),
    ):
        machine = node(rdma_mode="shared")
        reported = on(machine, preparing(component, *tables, mode="report", **environment), **maps)
        assert (reported.annotations, reported.ready) == ({}, [])
        assert str(*shown.values()) in reported.failures["pod-0"]
        outcome = on(machine, preparing(component, *tables, **environment), **maps)
        assert (outcome.annotations, outcome.ready) == (shown, ["pod-0"])
        for mode in ("configure", "report"):
            again = on(machine_after(machine, outcome), preparing(component, *tables, mode=mode, **environment), **maps)
            assert (again.annotations, again.ready) == ({}, ["pod-0"])


def test_flow_control_is_for_ethernet_and_ipoib_for_infiniband() -> None:
    machine, key = node(), "sandbox.gpu-fabric/nics"
    machine["metadata"]["annotations"][key] = machine["metadata"]["annotations"][key].replace("ether", "infiniband")
    assert on(machine, preparing("ipoib", INTERFACES="rdma0")).ready == ["pod-0"]
    other = on(machine, preparing("lossless", INTERFACES="rdma0"))
    assert "not of link type ether" in other.failures["pod-0"]


def test_a_kubelet_does_not_call_any_of_these_pods_ready_by_itself() -> None:
    text = (FOLDER / "pods.yaml").read_text()
    (held,) = [line for line in text.splitlines() if "$prepares := list" in line]
    assert set(re.findall(r'"([^"]+)"', held)) == {COMPONENT, PROVING, *PREPARATIONS}
