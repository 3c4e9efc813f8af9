"""Virtual functions by the SR-IOV operator: pool of nodes, policies, networks, and what is waited for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedWait

OPERATOR = "nvidia-network-operator"


def by_kind(plan: Plan, kind: str) -> dict[str, dict[str, Any]]:
    """Specs of the planned objects of a kind, by name."""
    return {entry.name: entry.object.manifest().get("spec", {}) for entry in plan.objects if entry.object.kind == kind}


def pool(plan: Plan) -> dict[str, Any]:
    (found,) = by_kind(plan, "SriovNetworkPoolConfig").values()
    return found


@pytest.mark.parametrize("stack", ["sriov-operator", "externally-managed"])
def test_the_operator_comes_with_the_network_operators_chart(stack: str) -> None:
    plan = plan_of(stack)

    assert plan.release("network-operator") is not None
    assert plan.release("network-operator").values["sriovNetworkOperator"] == {"enabled": True}


@pytest.mark.parametrize("stack", ["oke-h100-26-4", "guide-23-10", "host-device"])
def test_other_makers_of_virtual_functions_need_no_such_operator(stack: str) -> None:
    plan = plan_of(stack)

    assert plan.release("network-operator") is not None
    assert "sriovNetworkOperator" not in plan.release("network-operator").values
    assert (plan.applied("sriov-pool", "sriov-policies"), plan.record(PlannedWait, "sriov")) == ((), None)


def test_every_rail_has_a_policy_that_makes_its_functions_and_names_its_resource() -> None:
    policies = by_kind(plan_of("sriov-dpdk"), "SriovNetworkNodePolicy")

    assert list(policies) == [f"rail-{rail:02d}" for rail in range(8)]
    assert policies["rail-02"] == {
        "resourceName": "rail_02",
        "nodeSelector": {"feature.node.kubernetes.io/pci-15b3.present": "true"},
        "nicSelector": {"vendor": "15b3", "rootDevices": ["0000:4f:00.0"]},
        "numVfs": 8,
        "priority": 90,
        "deviceType": "netdevice",
        "isRdma": True,
        "linkType": "eth",
    }


def test_where_no_pci_address_is_known_nics_are_selected_by_interface() -> None:
    policies = by_kind(plan_of("sriov-operator"), "SriovNetworkNodePolicy")

    assert {name: found["nicSelector"] for name, found in policies.items()} == {
        "rail-00": {"vendor": "15b3", "pfNames": ["ens1f0np0"]},
        "rail-01": {"vendor": "15b3", "pfNames": ["ens2f0np0"]},
    }


def test_functions_run_at_the_mtu_of_the_fabric_and_only_on_ethernet() -> None:
    ethernet = by_kind(plan_of("sriov-operator"), "SriovNetworkNodePolicy")
    infiniband = by_kind(plan_of("ib-sriov-pkey"), "SriovNetworkNodePolicy")

    assert {(found.get("mtu"), found["linkType"]) for found in ethernet.values()} == {(9000, "eth")}
    assert {(found.get("mtu"), found["linkType"]) for found in infiniband.values()} == {(None, "ib")}


def test_a_flat_fabric_is_one_policy_over_all_nics() -> None:
    policies = by_kind(plan_of("externally-managed", {"fabric.addressing.layout": "flat"}), "SriovNetworkNodePolicy")

    assert list(policies) == ["sriov-rdma-vf"]
    assert len(policies["sriov-rdma-vf"]["nicSelector"]["rootDevices"]) == 16


def test_policies_and_pool_select_the_gpu_nodes_by_what_marks_them() -> None:
    labels = {"example.com/pool": "gpu"}
    plan = plan_of("sriov-operator")

    assert {json.dumps(found["nodeSelector"]) for found in by_kind(plan, "SriovNetworkNodePolicy").values()} == {
        json.dumps(labels)
    }
    assert pool(plan)["nodeSelector"] == {"matchLabels": labels}


def test_nodes_are_drained_one_at_a_time_and_told_the_rdma_mode() -> None:
    assert pool(plan_of("sriov-operator"))["maxUnavailable"] == 1
    assert pool(plan_of("sriov-operator"))["rdmaMode"] == "exclusive"


def test_nodes_that_stay_in_the_mode_they_start_in_are_not_rebooted_for_it() -> None:
    assert "rdmaMode" not in pool(plan_of("sriov-dpdk"))


def test_functions_that_the_cloud_made_are_only_handed_out() -> None:
    plan = plan_of("externally-managed")
    policies = by_kind(plan, "SriovNetworkNodePolicy")

    assert {(found["externallyManaged"], found["numVfs"]) for found in policies.values()} == {(True, 1)}
    # Nothing is drained and nothing rebooted, so no node waits for another.
    assert pool(plan)["maxUnavailable"] == "100%"
    assert "rdmaMode" not in pool(plan)


def test_functions_that_the_operator_makes_are_not_called_the_clouds() -> None:
    assert not any(
        "externallyManaged" in found for found in by_kind(plan_of("sriov-dpdk"), "SriovNetworkNodePolicy").values()
    )


def test_the_networks_of_one_namespace_are_the_operators_own_objects_in_its_namespace() -> None:
    plan = plan_of("externally-managed")

    assert {entry.object.kind for entry in plan.applied("networks")} == {"SriovNetwork"}
    assert {entry.object.metadata.namespace for entry in plan.applied("networks")} == {OPERATOR}
    first = by_kind(plan, "SriovNetwork")["rail-00"]
    assert (first["networkNamespace"], first["resourceName"], first["spoofChk"]) == ("default", "rail_00", "off")
    assert json.loads(first["ipam"]) == {"type": "nv-ipam", "poolName": "rail-00"}


def test_the_operators_networks_chain_what_the_stacks_own_would_chain() -> None:
    theirs = json.loads(f"[{by_kind(plan_of('externally-managed'), 'SriovNetwork')['rail-00']['metaPlugins']}]")
    ours = json.loads(by_kind(plan_of("oke-h100-26-4"), "NetworkAttachmentDefinition")["rail-00"]["config"])["plugins"]

    assert theirs == ours[1:]
    assert [plugin["type"] for plugin in theirs] == ["tuning", "rdma", "sbr"]


def test_infiniband_networks_without_a_partition_are_the_operators_infiniband_objects() -> None:
    changes: Changes = {"fabric.pkey": None, "software": {}}
    plan = plan_of("ib-sriov-pkey", changes)

    assert {entry.object.kind for entry in plan.applied("networks")} == {"SriovIBNetwork"}
    assert by_kind(plan, "SriovIBNetwork")["rail-00"]["linkState"] == "enable"


@pytest.mark.parametrize(
    ("stack", "namespaces"),
    [("sriov-operator", {"default", "jobs"}), ("ib-sriov-pkey", {"default"})],
    ids=["several namespaces", "a partition key"],
)
def test_what_the_operators_networks_cannot_say_is_said_by_definitions_in_every_namespace(
    stack: str, namespaces: set[str]
) -> None:
    plan = plan_of(stack)

    assert {entry.object.kind for entry in plan.applied("networks")} == {"NetworkAttachmentDefinition"}
    assert {entry.object.metadata.namespace for entry in plan.applied("networks")} == namespaces
    annotation = plan.applied("networks")[0].object.metadata.annotations or {}
    assert annotation["k8s.v1.cni.cncf.io/resourceName"] == "nvidia.com/rail_00"


def test_pods_ask_for_the_resource_under_the_prefix_of_the_operator() -> None:
    assert plan_of("externally-managed").workload.resources["nvidia.com/rail_00"] == "1"


def test_every_gpu_node_must_say_that_it_is_in_sync() -> None:
    wait = plan_of("sriov-operator").record(PlannedWait, "sriov")

    assert wait is not None
    assert (wait.api_version, wait.plural, wait.namespace) == (
        "sriovnetwork.openshift.io/v1",
        "sriovnetworknodestates",
        OPERATOR,
    )
    assert (wait.nodes, wait.having) == ({"example.com/pool": "gpu"}, "nvidia.com/gpu")
    assert (wait.field, wait.value, wait.failed, wait.reason) == (
        "status.syncStatus",
        "Succeeded",
        "Failed",
        "status.lastSyncError",
    )


@pytest.mark.parametrize(
    ("stack", "changes", "least"),
    [
        ("sriov-operator", {}, {"nvidia.com/rail_00": 8, "nvidia.com/rail_01": 8}),
        ("externally-managed", {"fabric.addressing.layout": "flat"}, {"nvidia.com/sriov_rdma_vf": 16}),
    ],
)
def test_every_gpu_node_must_offer_all_functions_before_a_network_names_them(
    stack: str, changes: Changes, least: dict[str, int]
) -> None:
    wait = plan_of(stack, changes).record(PlannedWait, "sriov")

    assert wait is not None
    assert wait.resources == least


def test_every_policy_is_looked_for_in_the_specs_of_its_nodes() -> None:
    plan = plan_of("sriov-operator")

    wait = plan.record(PlannedWait, "sriov")
    assert wait is not None
    _, *policies = (entry.object.manifest() for entry in plan.applied("sriov-pool", "sriov-policies"))
    asked = {(entry.policy, entry.resource, entry.addresses, entry.count, entry.mtu) for entry in wait.functions}
    assert asked == {
        (
            policy["metadata"]["name"],
            policy["spec"]["resourceName"],
            tuple(policy["spec"]["nicSelector"].get("rootDevices", ())),
            policy["spec"]["numVfs"],
            policy["spec"].get("mtu"),
        )
        for policy in policies
    }


def test_nodes_that_may_be_drained_one_after_another_are_waited_for_longer_the_more_they_are() -> None:
    def seconds(stack: str, nodes: int) -> int:
        wait = plan_of(stack, {"cluster.pools[0].nodes": nodes}).record(PlannedWait, "sriov")
        assert wait is not None
        return wait.timeout

    assert seconds("sriov-operator", 30) > seconds("sriov-operator", 3)
    assert seconds("externally-managed", 30) == seconds("externally-managed", 3)


def test_kinds_of_nodes_have_policies_of_the_same_resources_each() -> None:
    changes: Changes = {"fabric.virtualFunctions": "sriov-operator"}
    policies = by_kind(plan_of("node-kinds", changes), "SriovNetworkNodePolicy")

    assert {name: (found["resourceName"], found["nicSelector"]["rootDevices"]) for name, found in policies.items()} == {
        "rail-00-old": ("rail_00", ["0000:18:00.0"]),
        "rail-01-old": ("rail_01", ["0000:3a:00.0"]),
        "rail-00-new": ("rail_00", ["0000:0c:00.0"]),
        "rail-01-new": ("rail_01", ["0000:2a:00.0"]),
    }
    assert {found["nodeSelector"]["example.com/machine"] for name, found in policies.items() if "old" in name} == {
        "old"
    }


def test_dpdk_pods_hold_huge_pages_and_whole_processors_beside_their_nics() -> None:
    workload = plan_of("sriov-dpdk").workload

    assert {key: workload.resources[key] for key in ("cpu", "memory", "hugepages-2Mi", "nvidia.com/rail_00")} == {
        "cpu": "8",
        "memory": "16Gi",
        "hugepages-2Mi": "4Gi",
        "nvidia.com/rail_00": "1",
    }
    assert workload.capabilities == ("IPC_LOCK", "NET_RAW", "SYS_RESOURCE")
    assert workload.huge_pages is not None
    assert workload.huge_pages.medium == "HugePages-2Mi"
