"""Kueue and the controllers of jobs in a plan: what the queue gives out, and what it knows of the nodes."""

from __future__ import annotations

from typing import Any

import pytest
from planned_queues import (
    KUEUE,
    PREFERRED,
    RDMA,
    SCHEDULERS,
    PlanWith,
    objects,
    plan_of,
    quotas,
)

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedQueues


def test_a_stack_has_none_of_them_unless_it_asks(dev_plan: Plan) -> None:
    hints = dev_plan.workload.scheduler_hints

    assert (
        dev_plan.release("kueue"),
        dev_plan.record(PlannedQueues, "kueue-queues"),
        dev_plan.release("jobset"),
        dev_plan.applied("mpi-operator"),
    ) == (None, None, None, ())
    assert (hints.queues, hints.labels, hints.annotations, hints.controllers) == ({}, {}, {}, ())


def test_charts_come_from_their_own_registries_at_exact_versions(plan_with: PlanWith) -> None:
    plan = plan_with({KUEUE: {}, f"{SCHEDULERS}.jobSet": {}, "software.charts": "upstream"})
    charts = {release.name: (release.chart.repository, release.chart.version) for release in plan.releases}

    assert charts["kueue"] == ("oci://registry.k8s.io/kueue/charts", "0.19.2")
    assert charts["jobset"] == ("oci://registry.k8s.io/jobset/charts", "0.12.0")


def test_values_of_the_user_go_to_the_charts(plan_with: PlanWith) -> None:
    plan = plan_with({KUEUE: {"values": {"a": 1}}, f"{SCHEDULERS}.jobSet": {"values": {"b": 2}}})

    assert plan.release("kueue") is not None
    assert plan.release("jobset") is not None
    assert (plan.release("kueue").values, plan.release("jobset").values) == ({"a": 1}, {"b": 2})


@pytest.mark.parametrize(
    ("stack", "device", "count"),
    [
        ("host-device", "nvidia.com/rail_00", "4"),
        # Four pods share a NIC of each of four nodes.
        ("roce-macvlan", "rdma/rail_00", "16"),
        # Oracle's guide has one resource for the functions of all sixteen NICs.
        ("oke-guide", "nvidia.com/sriov_rdma_vf", "64"),
    ],
)
def test_the_queue_gives_out_every_gpu_and_every_device(stack: str, device: str, count: str) -> None:
    changes = {KUEUE: {}} if stack != "oke-guide" else {KUEUE: {}, "software.releaseLine": "26.4"}
    plan = plan_of(stack, changes)
    found = quotas(plan)

    nodes = plan.workload.nodes
    assert found["nvidia.com/gpu"] == str(nodes * 8)
    assert found[device] == str(int(count) * nodes // 4)


@pytest.mark.parametrize(
    "stack", ["dev", "host-network", "spiderpool-macvlan", "sriov-dpdk", "doks-b300", "oke-h100-26-4"]
)
def test_no_pod_of_the_fabric_asks_for_what_the_queue_does_not_cover(stack: str) -> None:
    plan = plan_of(stack, {KUEUE: {}})
    asked = {*plan.workload.resources, "cpu", "memory", "ephemeral-storage"}

    assert asked <= quotas(plan).keys()


def test_what_nodes_have_of_processors_and_memory_is_not_known_so_it_holds_nobody_back(plan_with: PlanWith) -> None:
    found = quotas(plan_with({KUEUE: {}}))

    assert (found["cpu"], found["memory"], found["ephemeral-storage"]) == ("10M", "1Ei", "1Ei")


def test_the_stack_file_may_state_quotas_and_cover_further_resources(plan_with: PlanWith) -> None:
    stated = {"cpu": "768", "nvidia.com/gpu": "8", "example.com/licence": "3"}
    found = quotas(plan_with({KUEUE: {"quotas": stated}}))

    assert {name: found[name] for name in stated} == stated
    assert found["memory"] == "1Ei"


def test_a_pool_that_scales_counts_with_its_most_nodes() -> None:
    scaling = {"autoScale": {"minNodes": 1, "maxNodes": 5}, "contractedNodes": 5}
    plan = plan_of("doks-b300", {KUEUE: {}, **{f"cluster.pools[0].{key}": value for key, value in scaling.items()}})

    assert quotas(plan)["nvidia.com/gpu"] == "40"


def test_every_namespace_of_the_fabric_has_a_way_into_the_queue_and_no_other_may_use_it(plan_with: PlanWith) -> None:
    offered = [{"name": "research"}, {"name": "training"}]
    plan = plan_with({KUEUE: {"queue": "gpus"}, "fabric.namespaces": offered})
    local = [(entry["metadata"], entry["spec"]) for entry in objects(plan, "LocalQueue")]
    (queue,) = objects(plan, "ClusterQueue")

    assert local == [
        ({"name": "gpus", "namespace": "research"}, {"clusterQueue": "gpus"}),
        ({"name": "gpus", "namespace": "training"}, {"clusterQueue": "gpus"}),
    ]
    assert queue["metadata"]["name"] == "gpus"
    (expression,) = queue["spec"]["namespaceSelector"]["matchExpressions"]
    assert (expression["key"], expression["values"]) == ("kubernetes.io/metadata.name", ["research", "training"])


def test_oracles_rdma_pools_have_a_topology_of_their_labels() -> None:
    plan = plan_of("oke-h100-26-4", {KUEUE: {}})
    (topology,), (flavor,) = objects(plan, "Topology"), objects(plan, "ResourceFlavor")

    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        f"{RDMA}.hpc_island_id",
        f"{RDMA}.network_block_id",
        f"{RDMA}.local_block_id",
        "kubernetes.io/hostname",
    ]
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]
    assert flavor["spec"]["nodeLabels"] == {"node.kubernetes.io/instance-type": "BM.GPU.H100.8"}
    assert {entry["key"] for entry in flavor["spec"]["tolerations"]} == {"nvidia.com/gpu"}
    assert plan.workload.scheduler_hints.annotations == {PREFERRED: f"{RDMA}.local_block_id"}


@pytest.mark.parametrize("stack", ["dev", "doks-b300", "spiderpool-macvlan", "roce-macvlan"])
def test_elsewhere_nothing_is_known_of_where_nodes_lie(stack: str) -> None:
    plan = plan_of(stack, {KUEUE: {}})

    assert objects(plan, "Topology") == []
    assert "topologyName" not in objects(plan, "ResourceFlavor")[0]["spec"]
    assert plan.workload.scheduler_hints.annotations == {}


def test_oracles_topology_can_be_left_out() -> None:
    assert objects(plan_of("oke-h100-26-4", {KUEUE: {"topology": "none"}}), "Topology") == []


@pytest.mark.parametrize(
    ("levels", "close"),
    [
        (["example.com/leaf", "kubernetes.io/hostname"], "example.com/leaf"),
        (["example.com/room", "example.com/leaf"], "example.com/leaf"),
        (["kubernetes.io/hostname"], "kubernetes.io/hostname"),
    ],
)
def test_pods_are_asked_to_lie_below_the_lowest_level_above_a_node(
    plan_with: PlanWith, levels: list[str], close: str
) -> None:
    patch: Any = plan_with({KUEUE: {"topology": levels}}).workload.pod_template_patch

    assert patch["metadata"]["annotations"][PREFERRED] == close


def test_what_never_changes_gets_another_name_when_it_does(plan_with: PlanWith) -> None:
    def names(changes: dict[str, Any]) -> tuple[str, ...]:
        plan = plan_with({KUEUE: {"topology": ["example.com/leaf"]}, **changes})
        kinds = ("Topology", "ResourceFlavor", "ClusterQueue")
        return tuple(objects(plan, kind)[0]["metadata"]["name"] for kind in kinds)

    plain, moved = names({}), names({KUEUE: {"topology": ["example.com/room"]}})
    tainted = names({"cluster.pools[0].taints": [{"key": "reserved"}]})

    assert plain[0] != moved[0]
    assert plain[0] == tainted[0]
    assert len({plain[1], moved[1], tainted[1]}) == 3
    assert plain[2] == moved[2] == tainted[2] == "fabric"
