"""What a simulated node advertises: exactly what the real device plug-in would, for the same configuration."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from fabric.catalog import catalog
from fabric.k8s.device_plugin import SriovDevicePluginConfig
from sandbox.advertise import NIC_LABEL, UnusablePolicyError, advertised, resources_for, tolerated
from sandbox.hardware import ADVERTISED_ANNOTATION, DRIVER_WAIT_LABEL, effective_policy, node_patch
from sandbox.inventory import SimulatedDevice, annotation_of, inventory, inventory_annotation

H100 = catalog().shapes["BM.GPU.H100.8"]
A100 = catalog().shapes["BM.GPU.A100-v2.8"]
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def resource(name: str, **selectors: Any) -> dict[str, Any]:
    return {"resourcePrefix": "nvidia.com", "resourceName": name, "deviceType": "netDevice", "selectors": selectors}


def offer(*resources: dict[str, Any], devices: Sequence[SimulatedDevice] = inventory(H100)) -> dict[str, int]:
    return advertised(SriovDevicePluginConfig.model_validate({"resourceList": resources}), devices)


def policy(*resources: dict[str, Any], **spec: Any) -> dict[str, Any]:
    section = {"image": "sriov-network-device-plugin", "config": json.dumps({"resourceList": resources})}
    return {
        "metadata": {"name": "nic-cluster-policy"},
        "spec": {"sriovDevicePlugin": section, **spec},
        "status": {"state": "ready"},
    }


def node(
    *taints: dict[str, str], labels: dict[str, str] | None = None, capacity: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "gpu-0",
            "labels": {NIC_LABEL: "true"} if labels is None else labels,
            "annotations": inventory_annotation(H100),
        },
        "spec": {"taints": list(taints)},
        "status": {"capacity": capacity or {}, "allocatable": capacity or {}},
    }


VFS = resource("vf", vendors=["15b3"], devices=["101e"], drivers=["mlx5_core"], isRdma=True)


def test_one_resource_for_all_virtual_functions_counts_sixteen() -> None:
    assert offer(VFS) == {"nvidia.com/vf": 16}


def test_a_resource_per_rail_counts_one_each() -> None:
    rails = [resource(f"rail_{k:02}", rootDevices=[nic.pci], isRdma=True) for k, nic in enumerate(H100.nics)]
    assert offer(*rails) == {f"nvidia.com/rail_{k:02}": 1 for k in range(16)}


def test_a_rail_may_be_named_by_its_interface_instead() -> None:
    assert offer(resource("rail", pfNames=["rdma3"])) == {"nvidia.com/rail": 1}


def test_the_device_id_of_another_shape_gives_no_resource_at_all() -> None:
    assert offer(resource("vf", vendors=["15b3"], devices=[A100.nic_model.vf_device_id])) == {}


def test_a_pci_address_that_the_node_does_not_have_gives_no_resource_at_all() -> None:
    assert offer(resource("rail", rootDevices=["0000:ff:00.0"], isRdma=True)) == {}


def test_all_selectors_must_hold() -> None:
    assert offer(resource("rail", rootDevices=["0000:0c:00.0"], devices=["101a"])) == {}


def test_one_value_of_a_selector_must_hold() -> None:
    assert offer(resource("pair", rootDevices=["0000:0c:00.0", "0000:0c:00.1", "0000:ff:00.0"])) == {
        "nvidia.com/pair": 2
    }


def test_a_device_joins_the_first_resource_that_matches() -> None:
    first = resource("first", rootDevices=["0000:0c:00.0"])
    assert offer(first, VFS) == {"nvidia.com/first": 1, "nvidia.com/vf": 15}
    assert offer(VFS, first) == {"nvidia.com/vf": 16}


def test_physical_functions_with_virtual_functions_are_never_offered() -> None:
    rails = [nic.pci for nic in H100.nics]
    assert offer(resource("pf", devices=["1021"], pciAddresses=rails)) == {}


def test_physical_functions_without_virtual_functions_are_offered() -> None:
    bare = [device for device in inventory(H100) if not device.is_vf]
    rails = [nic.pci for nic in H100.nics]
    assert offer(resource("pf", pciAddresses=rails), devices=bare) == {"nvidia.com/pf": 16}


def test_the_nic_of_the_default_route_is_never_offered() -> None:
    assert offer(resource("front", pfNames=["eth0"])) == {}


def test_a_range_picks_virtual_functions_by_number() -> None:
    shape = H100.model_copy(update={"vfs_per_nic": 4})
    picked = resource("some", rootDevices=["0000:0c:00.0#0-1,3"])
    assert offer(picked, devices=inventory(shape)) == {"nvidia.com/some": 3}


def test_a_device_without_rdma_is_left_out_where_rdma_is_asked_for() -> None:
    devices = [
        device.model_copy(update={"is_rdma": device.root_device != "0000:0c:00.0"}) for device in inventory(H100)
    ]
    assert offer(VFS, devices=devices) == {"nvidia.com/vf": 15}


def test_another_link_type_gives_no_resource() -> None:
    assert offer(resource("ib", linkTypes=["infiniband"])) == {}


def test_a_list_of_selectors_matches_if_one_does() -> None:
    either = {**VFS, "selectors": [{"rootDevices": ["0000:0c:00.0"]}, {"pfNames": ["rdma1"]}]}
    assert offer(either) == {"nvidia.com/vf": 2}


def test_virtual_functions_are_no_accelerators() -> None:
    assert offer({**resource("vf", vendors=["15b3"]), "deviceType": "accelerator"}) == {}


def test_a_node_that_was_never_labelled_offers_nothing() -> None:
    assert resources_for(policy(VFS), node(labels={})) == {}


def test_the_gpu_taint_is_always_tolerated() -> None:
    assert resources_for(policy(VFS), node(GPU_TAINT)) == {"nvidia.com/vf": 16}


def test_a_pool_taint_needs_a_toleration_in_the_policy() -> None:
    dedicated = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
    accepted = {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"}
    assert resources_for(policy(VFS), node(GPU_TAINT, dedicated)) == {}
    assert resources_for(policy(VFS, tolerations=[accepted]), node(GPU_TAINT, dedicated)) == {"nvidia.com/vf": 16}


@pytest.mark.parametrize(
    ("taint", "is_tolerated"),
    [
        ({"key": "maintenance", "effect": "PreferNoSchedule"}, True),
        ({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, True),
        ({"key": "nvidia.com/gpu", "effect": "NoExecute"}, False),
        ({"key": "maintenance", "effect": "NoExecute"}, False),
    ],
)
def test_a_taint_keeps_the_plugin_away_as_it_would_a_daemon_set(taint: dict[str, str], is_tolerated: bool) -> None:
    assert tolerated([taint], []) is is_tolerated


def test_a_node_affinity_of_the_policy_restricts_the_nodes() -> None:
    term = {"matchExpressions": [{"key": "gpu-fabric/pool", "operator": "In", "values": ["other"]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert resources_for(policy(VFS, nodeAffinity=affinity), node()) == {}


@pytest.mark.parametrize("config", [None, "{", '{"resourceList":[]}', '{"resourceList":[{"resourceName":"a-b"}]}'])
def test_a_configuration_that_the_plugin_would_crash_on_is_an_error(config: str | None) -> None:
    broken = policy(VFS)
    broken["spec"]["sriovDevicePlugin"]["config"] = config
    with pytest.raises(UnusablePolicyError, match=r"spec\.sriovDevicePlugin\.config"):
        resources_for(broken, node())


def test_a_policy_without_a_device_plugin_offers_nothing() -> None:
    assert resources_for({"spec": {"nvIpam": {}}}, node()) == {}


def test_a_node_of_another_shape_in_the_same_cluster_offers_nothing_under_this_policy() -> None:
    other = node()
    other["metadata"]["annotations"] = annotation_of(inventory(A100))
    assert resources_for(policy(VFS), other) == {}


@pytest.mark.parametrize(
    ("name", "state", "operators", "is_in_effect"),
    [
        ("nic-cluster-policy", "ready", {"n/network-operator": {}}, True),
        ("nic-cluster-policy", "notReady", {"n/network-operator": {}}, False),
        ("nic-cluster-policy", "ready", {}, False),
        ("other-policy", "ready", {"n/network-operator": {}}, False),
    ],
)
def test_a_policy_counts_only_when_ready_under_its_one_name_with_its_operator(
    name: str, state: str, operators: dict[str, Any], is_in_effect: bool
) -> None:
    found = effective_policy({name: {**policy(VFS), "status": {"state": state}}}, operators)
    assert (found is not None) is is_in_effect


def test_a_node_is_patched_with_the_resources_and_the_memory_of_them() -> None:
    assert node_patch(node(), {"nvidia.com/vf": 16}, driver_ready=False) == {
        "status": {"capacity": {"nvidia.com/vf": "16"}, "allocatable": {"nvidia.com/vf": "16"}},
        "metadata": {"annotations": {ADVERTISED_ANNOTATION: '["nvidia.com/vf"]'}},
    }


def test_a_node_that_offers_the_right_thing_is_left_alone() -> None:
    settled = node(labels={NIC_LABEL: "true", DRIVER_WAIT_LABEL: "false"}, capacity={"nvidia.com/vf": "16"})
    settled["metadata"]["annotations"][ADVERTISED_ANNOTATION] = '["nvidia.com/vf"]'
    assert node_patch(settled, {"nvidia.com/vf": 16}, driver_ready=True) == {}


def test_what_is_no_longer_offered_is_withdrawn_and_other_resources_stay() -> None:
    before = node(capacity={"nvidia.com/old": "16", "nvidia.com/gpu": "8"})
    before["metadata"]["annotations"][ADVERTISED_ANNOTATION] = '["nvidia.com/old"]'
    assert node_patch(before, {}, driver_ready=False) == {
        "status": {"capacity": {"nvidia.com/old": None}, "allocatable": {"nvidia.com/old": None}},
        "metadata": {"annotations": {ADVERTISED_ANNOTATION: "[]"}},
    }


def test_a_resource_that_somebody_dropped_from_the_status_is_put_back() -> None:
    dropped = node()
    dropped["metadata"]["annotations"][ADVERTISED_ANNOTATION] = '["nvidia.com/vf"]'
    assert node_patch(dropped, {"nvidia.com/vf": 16}, driver_ready=False) == {
        "status": {"capacity": {"nvidia.com/vf": "16"}, "allocatable": {"nvidia.com/vf": "16"}}
    }


def test_the_driver_label_is_set_only_on_nodes_with_the_nic_and_under_a_policy() -> None:
    assert node_patch(node(), {}, driver_ready=True) == {"metadata": {"labels": {DRIVER_WAIT_LABEL: "false"}}}
    assert node_patch(node(labels={}), {}, driver_ready=True) == {}
