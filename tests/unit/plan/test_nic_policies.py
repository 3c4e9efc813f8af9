"""The Network Operator's policies, the cluster's and those of kinds of nodes, and when device plug-ins start anew."""

from __future__ import annotations

import json
from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedConfiguration, PlannedObject, PlannedRetention, PlannedRollout

DEVICE_PLUGINS = {"sriovDevicePlugin", "rdmaSharedDevicePlugin"}
PARTITION = {
    "ufmSecret": "ufm-login",
    "guidRangeStart": "02:00:00:00:00:00:00:00",
    "guidRangeEnd": "02:00:00:00:FF:FF:FF:FF",
}


def spec(planned: PlannedObject | None) -> dict[str, Any]:
    assert planned is not None
    written: dict[str, Any] = planned.object.manifest()["spec"]
    return written


def sections(plan: Plan) -> set[str]:
    """What the cluster's policy brings, by the names of its sections."""
    found = spec(plan.record(PlannedObject, "nic-policies"))
    return {*(found.keys() - {"tolerations", "secondaryNetwork"}), *found["secondaryNetwork"]}


@pytest.mark.parametrize(
    ("stack", "changes", "wanted"),
    [
        ("oke-h100-26-4", {}, {"sriovDevicePlugin", "nvIpam", "multus", "cniPlugins"}),
        ("host-device", {}, {"sriovDevicePlugin", "nvIpam", "multus", "cniPlugins"}),
        ("roce-macvlan", {}, {"rdmaSharedDevicePlugin", "nvIpam", "multus", "cniPlugins"}),
        ("ib-sriov", {}, {"sriovDevicePlugin", "nvIpam", "multus", "cniPlugins"}),
        ("ipoib", {}, {"rdmaSharedDevicePlugin", "nvIpam", "multus", "cniPlugins", "ipoib"}),
        ("sriov-whereabouts", {}, {"sriovDevicePlugin", "multus", "cniPlugins"}),
        ("sriov-operator", {}, {"nvIpam", "multus", "cniPlugins"}),
        ("externally-managed", {}, {"nvIpam", "multus", "cniPlugins"}),
        (
            "ib-sriov",
            {"software.networkOperator.ofedDriver": True},
            {"ofedDriver", "sriovDevicePlugin", "nvIpam", "multus", "cniPlugins"},
        ),
        (
            "ib-sriov",
            {"software.networkOperator.partitionKeys": PARTITION},
            {"ibKubernetes", "sriovDevicePlugin", "nvIpam", "multus", "cniPlugins"},
        ),
        (
            "roce-macvlan",
            {"cluster.installed": ["multus"], "software.networkOperator.multus": False},
            {"rdmaSharedDevicePlugin", "nvIpam", "cniPlugins"},
        ),
    ],
)
def test_the_policy_brings_what_model_and_switches_need_and_nothing_else(
    stack: str, changes: Changes, wanted: set[str]
) -> None:
    assert sections(plan_of(stack, changes)) == wanted


def test_network_drivers_are_waited_for_longer_because_they_are_built_node_after_node() -> None:
    usual = plan_of("ib-sriov").record(PlannedObject, "nic-policies")
    built = plan_of("ib-sriov", {"software.networkOperator.ofedDriver": True}).record(PlannedObject, "nic-policies")

    assert usual is not None
    assert built is not None
    assert built.timeout > usual.timeout
    assert spec(built)["ofedDriver"]["version"] == "doca3.4.1-26.04-1.1.0.0-1"


def test_partition_keys_come_from_ufm_through_the_login_and_the_guids_of_the_stack() -> None:
    plan = plan_of("ib-sriov", {"software.networkOperator.partitionKeys": PARTITION})
    keys = spec(plan.record(PlannedObject, "nic-policies"))["ibKubernetes"]

    assert keys["ufmSecret"] == "ufm-login"
    assert (keys["pKeyGUIDPoolRangeStart"], keys["pKeyGUIDPoolRangeEnd"]) == (
        "02:00:00:00:00:00:00:00",
        "02:00:00:00:FF:FF:FF:FF",
    )


@pytest.mark.parametrize("asked", [True, False])
def test_a_network_of_a_partition_is_left_to_ib_kubernetes_only_where_that_is_installed(asked: bool) -> None:
    changes: Changes = {"software.networkOperator.partitionKeys": PARTITION} if asked else {}
    plan = plan_of("ib-sriov", changes)
    first = json.loads(spec(plan.applied("networks")[0])["config"])["plugins"][0]

    assert (first["type"], first["pkey"], first.get("ibKubernetesEnabled", False)) == ("ib-sriov", "0x0011", asked)


def test_kinds_of_nodes_whose_nics_lie_elsewhere_get_a_policy_each_with_their_own_addresses() -> None:
    plan = plan_of("node-kinds")
    roots = {
        policy.name: [
            entry["selectors"]["rootDevices"]
            for entry in json.loads(spec(policy)["sriovDevicePlugin"]["config"])["resourceList"]
        ]
        for policy in plan.applied("nic-node-policies")
    }

    assert roots == {
        "old": [["0000:18:00.0"], ["0000:3a:00.0"]],
        "new": [["0000:0c:00.0"], ["0000:2a:00.0"]],
    }


def test_every_kind_of_nodes_advertises_the_same_resources() -> None:
    plan = plan_of("node-kinds")
    resources = [
        [entry["resourceName"] for entry in json.loads(spec(policy)["sriovDevicePlugin"]["config"])["resourceList"]]
        for policy in plan.applied("nic-node-policies")
    ]

    assert resources == [["rail_00", "rail_01"]] * 2


def test_each_policy_selects_the_nodes_of_its_kind_and_waits_until_it_is_ready() -> None:
    policies = plan_of("node-kinds").applied("nic-node-policies")

    assert {policy.name: spec(policy)["nodeSelector"] for policy in policies} == {
        "old": {"example.com/machine": "old", "example.com/fabric": "rdma"},
        "new": {"example.com/machine": "new", "example.com/fabric": "rdma"},
    }
    assert {policy.wait_for for policy in policies} == {"jsonpath={.status.state}=ready"}


def test_the_clusters_policy_leaves_the_device_plug_ins_to_those_of_the_kinds() -> None:
    assert not sections(plan_of("node-kinds")) & DEVICE_PLUGINS


def test_pools_of_one_shape_need_no_policies_of_their_own() -> None:
    pool = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 2}
    plan = plan_of("oke-h100-26-4", {"cluster.pools": [pool, {**pool, "name": "more"}]})

    assert (plan.applied("nic-node-policies"), plan.node_groups) == ((), ())
    assert "sriovDevicePlugin" in sections(plan)


def test_shapes_whose_nics_lie_at_the_same_places_share_one_configuration() -> None:
    plan = plan_of(
        "node-kinds", {"cluster.shapes.new-machine.nics": [{"pci": "0000:18:00.0"}, {"pci": "0000:3a:00.0"}]}
    )

    assert plan.applied("nic-node-policies") == ()
    assert "sriovDevicePlugin" in sections(plan)


def marker(policy: PlannedObject) -> str:
    """The toleration of a taint that nobody sets, whose change makes the operator start the plug-in's pods anew."""
    (found,) = [entry for entry in spec(policy)["tolerations"] if entry["key"] == "gpu-fabric/configuration"]
    return str(found["value"])


def test_only_the_plug_ins_of_the_kind_whose_configuration_changed_start_anew() -> None:
    before = {policy.name: marker(policy) for policy in plan_of("node-kinds").applied("nic-node-policies")}
    moved = {"cluster.shapes.new-machine.nics": [{"pci": "0000:0c:00.0"}, {"pci": "0000:5d:00.0"}]}
    after = {policy.name: marker(policy) for policy in plan_of("node-kinds", moved).applied("nic-node-policies")}

    assert before["old"] == after["old"]
    assert before["new"] != after["new"]


def test_policies_of_kinds_tolerate_the_pools_taints_beside_the_marker() -> None:
    for policy in plan_of("node-kinds").applied("nic-node-policies"):
        assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in spec(policy)["tolerations"]


@pytest.mark.parametrize(
    ("stack", "changes", "namespace", "daemon_set"),
    [
        ("guide-23-10", {}, "network-operator", "sriov-device-plugin"),
        (
            "roce-macvlan",
            {"software.releaseLine": "23.10", "fabric.addressing.gateway": "first"},
            "network-operator",
            "rdma-shared-dp-ds",
        ),
    ],
)
def test_the_device_plug_in_that_starts_anew_is_the_lines_own(
    stack: str, changes: Changes, namespace: str, daemon_set: str
) -> None:
    (rollout,) = plan_of(stack, changes).records(PlannedRollout)

    assert (rollout.namespace, rollout.daemon_set) == (namespace, daemon_set)
    assert list(rollout.annotations) == ["gpu-fabric/configuration"]


@pytest.mark.parametrize(
    "stack",
    [
        "dev",
        "roce-macvlan",
        "host-device",
        "sriov-operator",
        "externally-managed",
        "node-kinds",
        "host-network",
        "doks-h200",
    ],
)
def test_nothing_is_started_anew_by_the_stack_where_an_operator_does_it_or_no_plug_in_runs(stack: str) -> None:
    assert plan_of(stack).records(PlannedRollout) == ()


_OLD = {"software.releaseLine": "23.10", "fabric.addressing.gateway": "first"}


@pytest.mark.parametrize(
    ("stack", "changes"),
    [
        ("guide-23-10", {"cluster.pools[0].nodes": 40}),
        ("guide-23-10", {"fabric.namespaces": ["default", "jobs"]}),
        ("roce-macvlan", {"fabric.addressing.supernet": "172.16.0.0/16"}),
    ],
)
def test_a_change_beside_the_configuration_leaves_running_plug_ins_alone(stack: str, changes: Changes) -> None:
    old = _OLD if stack == "roce-macvlan" else {}
    assert (
        plan_of(stack, old).records(PlannedRollout) == plan_of(stack, {**old, **changes}).records(PlannedRollout) != ()
    )


@pytest.mark.parametrize(
    ("stack", "changes"),
    [
        ("roce-macvlan", {"fabric.podsPerNic": 5}),
        ("guide-23-10", {"cluster.pools[0].shape": "BM.GPU4.8"}),
    ],
)
def test_a_change_of_the_configuration_starts_the_plug_in_anew(stack: str, changes: Changes) -> None:
    old = _OLD if stack == "roce-macvlan" else {}
    (before,), (after,) = (
        plan_of(stack, old).records(PlannedRollout),
        plan_of(stack, {**old, **changes}).records(PlannedRollout),
    )

    assert before.daemon_set == after.daemon_set
    assert before.annotations != after.annotations


def test_each_plug_in_is_looked_at_where_the_operator_writes_its_configuration() -> None:
    plan = plan_of("node-kinds")
    policies = {policy.name: policy.object.manifest()["spec"] for policy in plan.applied("nic-node-policies")}
    found = {(entry.config_map, entry.daemon_set): entry.text for entry in plan.records(PlannedConfiguration)}

    assert policies
    assert found == {
        (
            f"network-operator-sriovdp-config-{name}",
            f"network-operator-sriov-device-plugin-{name}",
        ): spec["sriovDevicePlugin"]["config"]
        for name, spec in policies.items()
    }


def test_on_the_old_line_nothing_is_looked_at_beside_what_the_stack_writes() -> None:
    plan = plan_of("oke-guide")
    assert plan.records(PlannedRollout) != ()
    assert plan.records(PlannedConfiguration) == ()


def test_the_older_charts_policy_is_marked_to_stay_before_the_release_is_upgraded_where_the_namespace_stays() -> None:
    plan = plan_of(
        "oke-guide", {"software.releaseLine": "26.4", "software.networkOperator.namespace": "network-operator"}
    )
    kept = plan.record(PlannedRetention, "nic-policy-retained")
    chart = plan.step("network-operator")
    assert kept is not None
    assert (kept.kind, kept.name) == ("NicClusterPolicy", "nic-cluster-policy")
    assert chart is not None
    assert "nic-policy-retained" in chart.after


@pytest.mark.parametrize("line", ["23.10", "26.4"])
def test_elsewhere_no_policy_is_marked(line: str) -> None:
    own = {"software.networkOperator.namespace": "network-operator"} if line == "23.10" else {}
    assert plan_of("oke-guide", {"software.releaseLine": line, **own}).step("nic-policy-retained") is None
