"""Planes on simulated nodes: NICs are split and named as planned, and rails become objects of the SR-IOV operator."""

from collections.abc import Iterable
from typing import Any

import pytest
from changes import changed
from played_objects import Object, operand_pod
from stack_plans import stack_plan

from gpu_fabric.k8s.nv_ipam import CIDRPool
from gpu_fabric.k8s.spectrum_x import NicConfigurationTemplate, NicInterfaceNameTemplate, SpectrumXRailPoolConfig
from gpu_fabric.k8s.sriov_operator import SriovNetworkPoolConfig
from gpu_fabric.plan import Plan
from gpu_fabric.spec.load import read_document, validate
from sandbox.hardware.inventory import SimulatedDevice, devices_of
from sandbox.hardware.node_agent import play
from sandbox.hardware.node_records import World
from sandbox.hardware.planes import (
    FINALIZER,
    FLOW_CONTROLLER,
    NIC_DAEMON,
    WAIT_LABEL,
    configured,
    controlled_nodes,
    finalizer_patch,
    rail_objects,
    rail_pool_patch,
    selected_nodes,
    xplane_image,
)
from sandbox.home import project_root
from sandbox.simulated_nodes import desired_nodes

STACK, FILE_LABELS = "planes-swplb", {"example.com/planes": "true"}
MODES = {
    "swplb": {},
    "hwplb": {"fabric.planes": {"mode": "hwplb", "count": 4, "profile": "of-nvidia"}},
    "ipv6": {
        "fabric.addressing": {"supernet": "fd02::/32", "nodePrefixLength": 64, "gateway": "first"},
        "cluster.ranges": {"pods": "fd00:1::/48", "services": "fd00:2::/108", "nodes": "fd00:3::/64"},
    },
}


def machine(changes: dict[str, Any]) -> Object:
    """The first GPU node of the stack as it joins."""
    spec, problems = validate(changed(read_document(STACK, project_root()), changes))
    assert spec is not None, problems
    return desired_nodes(spec)[1]


def written(plan: Plan, kind: type) -> tuple[Object, ...]:
    """The plan's objects of a kind, as the API server has them."""
    return tuple(item.object.manifest() for item in plan.objects if isinstance(item.object, kind))


def physical(devices: Iterable[SimulatedDevice]) -> list[SimulatedDevice]:
    return [device for device in devices if not device.is_vf and device.is_rdma and not device.default_route]


@pytest.mark.parametrize("mode", ["swplb", "hwplb"])
def test_nics_are_split_and_named_as_the_plan_says_and_the_sriov_operator_waits_until_then(mode: str) -> None:
    plan, node = stack_plan(STACK, project_root(), MODES[mode]), machine(MODES[mode])
    assert len(physical(devices_of(node["metadata"]["annotations"]))) == 8
    templates, names = written(plan, NicConfigurationTemplate), written(plan, NicInterfaceNameTemplate)
    world = World(nic_configurations=templates, nic_names=names)
    pods = {"daemon": operand_pod(NIC_DAEMON)}

    first = play(node, pods, {}, world, sync_is_over=True)

    assert first.labels == {WAIT_LABEL: "true"}
    after = physical(devices_of({**node["metadata"]["annotations"], **first.annotations}))
    named = {device.pci: (device.interface, device.rdma_device) for device in after}
    assert {rail.pci: (rail.interface, rail.rdma_device) for rail in plan.rails}.items() <= named.items()
    (config,) = written(plan, SpectrumXRailPoolConfig)
    wanted = [name for rail in config["spec"]["railTopology"] for name in rail["nicSelector"]["pfNames"]]
    assert sorted(wanted) == sorted(interface for interface, _ in named.values())
    assert {device.total_vfs for device in after} == {1}

    parts = {"labels": first.labels, "annotations": first.annotations}
    metadata = {part: {**node["metadata"][part], **changes} for part, changes in parts.items()}
    second = play({**node, "metadata": metadata}, pods, {}, world, sync_is_over=True)
    assert (second.labels, second.annotations) == ({WAIT_LABEL: "false"}, {})
    assert play(node, {}, {}, world, sync_is_over=True).labels == {}


def test_of_two_templates_for_a_nic_neither_counts_and_nodes_that_none_selects_stay() -> None:
    plan, node = stack_plan(STACK, project_root()), machine({})
    devices, labels = devices_of(node["metadata"]["annotations"]), node["metadata"]["labels"]
    templates, names = written(plan, NicConfigurationTemplate), written(plan, NicInterfaceNameTemplate)
    assert configured(devices, labels, templates * 2, names) == devices
    assert configured(devices, {}, templates, names) == devices
    unnamed = configured(devices, labels, templates, names * 2)
    assert len(physical(unnamed)) == 16
    assert "eth_p0_r0" not in {device.interface for device in unnamed}


def made(mode: str, xplane: str | None = "nvcr.io/xplane:1") -> tuple[Object, list[Object]]:
    """A plan's SpectrumXRailPoolConfig as it is on the cluster, and what is made of it."""
    plan = stack_plan(STACK, project_root(), MODES[mode])
    (config,) = written(plan, SpectrumXRailPoolConfig)
    config["metadata"] |= {"uid": "of-rails", "generation": 2}
    pools = {pool["metadata"]["name"]: pool for pool in written(plan, CIDRPool)}
    return config, rail_objects(config, pools, xplane)


def specs(items: Iterable[Object], kind: str) -> dict[str, Object]:
    return {item["metadata"]["name"]: item["spec"] for item in items if item["kind"] == kind}


def test_a_plane_that_software_balances_has_a_policy_with_a_bridge_and_a_network_with_its_resource() -> None:
    config, items = made("swplb")
    policies, networks = specs(items, "SriovNetworkNodePolicy"), specs(items, "OVSNetwork")
    rails = [rail["name"] for rail in config["spec"]["railTopology"]]
    assert [*policies] == [*networks] == [f"rail{rail}p{plane}" for rail in range(8) for plane in range(2)] == rails
    policy, network = policies["rail2p1"], networks["rail2p1"]
    assert policy["nicSelector"] == {"pfNames": ["eth_p1_r2"]}
    assert policy["bridge"]["ovs"]["uplink"]["interface"] == {"type": "doca", "mtuRequest": 9216}
    assert (policy["numVfs"], policy["isRdma"], policy["eSwitchMode"]) == (1, True, "switchdev")
    assert policy["nodeSelector"].items() >= FILE_LABELS.items()
    assert (network["resourceName"], network["networkNamespace"]) == ("rail2p1", "default")
    assert '"poolName": "rail2p1"' in network["ipam"]
    assert '"rdmaDeviceName": "rdma_rail2p1"' in network["metaPlugins"]
    assert "vrf" not in network["metaPlugins"]
    assert '"vrfname": "rail2p1"' in specs(made("ipv6")[1], "OVSNetwork")["rail2p1"]["metaPlugins"]
    (pool,) = (item for item in items if item["kind"] == "SriovNetworkPoolConfig")
    assert pool["spec"].pop("ovsHardwareOffloadConfig")
    known = SriovNetworkPoolConfig.model_validate({"metadata": {"name": "x", "namespace": "y"}, "spec": pool["spec"]})
    assert known.spec.rdma_mode == "exclusive"


def test_a_rail_that_its_nic_balances_offers_one_function_and_runs_xplane_once_every_node_is_known() -> None:
    _, items = made("hwplb")
    policies = specs(items, "SriovNetworkNodePolicy")
    assert policies["rail5"]["nicSelector"] == {"pfNames": ["eth_p0_r5"]}
    assert policies["rail5-unused"]["nicSelector"] == {"pfNames": [f"eth_p{plane}_r5" for plane in (1, 2, 3)]}
    assert policies["rail5-unused"]["resourceName"] == "rail5-unused"
    assert "bridge" not in policies["rail5"]
    assert specs(items, "OVSNetwork")["rail5"]["bridge"] == "br-rail-rail5"
    assert [*specs(items, "DaemonSet")] == ["xplane-ds"]
    assert specs(made("hwplb", None)[1], "DaemonSet") == {}


NODES = {"b300-0": FILE_LABELS, "b300-1": FILE_LABELS, "cpu": {}}
SYNCED = {"spec": {"interfaces": [{}]}, "status": {"syncStatus": "Succeeded"}}
FAILED = {"spec": {"interfaces": [{}]}, "status": {"syncStatus": "Failed"}}
NOT_ASKED = {"spec": {}, "status": {"syncStatus": "Succeeded"}}


@pytest.mark.parametrize(
    ("speaking", "states", "expected"),
    [
        pytest.param(2, [SYNCED, SYNCED], "Succeeded", id="every node is as asked"),
        pytest.param(2, [SYNCED, NOT_ASKED], "InProgress", id="a node was asked for nothing yet"),
        pytest.param(2, [SYNCED], "InProgress", id="a node has no state"),
        pytest.param(2, [FAILED, SYNCED], "Failed", id="a node failed"),
        pytest.param(1, [SYNCED, SYNCED], "InProgress", id="a node without a pod of the operator says nothing"),
    ],
)
def test_rails_are_synced_when_each_selected_node_says_so(speaking: int, states: list[Object], expected: str) -> None:
    config = made("swplb")[0]
    nodes = {name: {"metadata": {"name": name, "labels": labels}} for name, labels in NODES.items()}
    selected = selected_nodes(config, nodes)
    assert selected == ["b300-0", "b300-1"]
    pods = [operand_pod(FLOW_CONTROLLER) for _ in range(speaking)]
    for pod, name in zip(pods, selected, strict=False):
        pod["spec"]["nodeName"] = name
    by_node = dict(zip(selected, states, strict=False))

    patch = rail_pool_patch(config, selected, controlled_nodes(pods), by_node)

    assert patch["status"]["syncStatus"] == expected
    assert rail_pool_patch({**config, **patch}, selected, controlled_nodes(pods), by_node) == {}
    # What was said of an earlier generation counts no more.
    older = {**config, **patch, "metadata": {**config["metadata"], "generation": 3}}
    assert rail_pool_patch(older, selected, (), by_node)["status"]["syncStatus"] == "InProgress"


def test_the_operator_holds_rails_until_they_are_deleted() -> None:
    config = made("swplb")[0]
    held = finalizer_patch(config)
    assert held == {"metadata": {"finalizers": [FINALIZER]}}
    metadata = {**config["metadata"], **held["metadata"]}
    assert finalizer_patch({**config, "metadata": metadata}) == {}
    deleted = {**config, "metadata": {**metadata, "finalizers": ["other", FINALIZER], "deletionTimestamp": "now"}}
    assert finalizer_patch(deleted) == {"metadata": {"finalizers": ["other"]}}


def test_the_image_of_xplane_is_that_of_the_policy() -> None:
    section = {"xPlane": {"repository": "nvcr.io/nvidia", "image": "xplane", "version": "1"}}
    assert xplane_image([{"spec": {}}, {"spec": {"spectrumXOperator": section}}]) == "nvcr.io/nvidia/xplane:1"
    assert xplane_image([{"spec": {"spectrumXOperator": {}}}]) is None
