"""The plan as a whole: deterministic, free of errors, and no larger for more nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from gpu_fabric.findings import ConfigurationError, Severity
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import checked_plan
from gpu_fabric.spec.stack import StackSpec

PlanWith = Callable[[Any], Plan]
SpecWith = Callable[[Any], StackSpec]
POOL = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3}


def as_json(plan: Plan) -> str:
    return json.dumps(plan.model_dump(mode="json", by_alias=True))


def test_the_same_stack_gives_the_same_bytes_twice(spec_with: SpecWith) -> None:
    assert as_json(checked_plan(spec_with({}))) == as_json(checked_plan(spec_with({})))


def test_the_development_plan_is_the_reviewed_one(dev_plan: Plan, snapshot: SnapshotAssertion) -> None:
    document = dev_plan.model_dump(mode="json", by_alias=True)
    for file in document["nccl"]["files"]:
        file["content"] = f"{len(file['content'])} characters"
    (files,) = (step["items"] for step in document["steps"] if step["name"] == "nccl")
    for planned in files:
        planned["object"]["data"] = sorted(planned["object"]["data"])

    assert document == snapshot(extension_class=JSONSnapshotExtension)


@given(nodes=st.integers(1, 4094), layout=st.sampled_from(["flat", "per-rail"]))
@settings(max_examples=15, deadline=None)
def test_the_number_of_objects_does_not_depend_on_the_number_of_nodes(
    plan_with: PlanWith, nodes: int, layout: str
) -> None:
    changes = {"fabric.addressing.layout": layout, "fabric.addressing.supernet": "172.16.0.0/12"}
    few, many = plan_with(changes), plan_with({**changes, "cluster.pools[0].nodes": nodes})

    assert [entry.object.manifest() for entry in few.objects] == [entry.object.manifest() for entry in many.objects]


def test_the_number_of_objects_follows_rails_and_namespaces(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.namespaces": ["default", "jobs", {"name": "lab", "create": True}]})

    assert (len(plan.applied("ip-pools")), len(plan.applied("networks")), len(plan.applied("nccl"))) == (16, 48, 6)
    assert [entry.name for entry in plan.applied("namespaces")] == ["gpu-operator", "nvidia-network-operator", "lab"]


def test_no_object_is_planned_twice(plan_with: PlanWith) -> None:
    plan = plan_with(
        {"fabric.namespaces": ["default", {"name": "jobs", "create": True}, {"name": "lab", "create": True}]}
    )
    places = [(entry.object.kind, entry.object.metadata.namespace, entry.name) for entry in plan.objects]

    assert len(places) == len(set(places))


def test_objects_come_in_the_order_in_which_they_are_applied(dev_plan: Plan) -> None:
    kinds = list(dict.fromkeys(entry.object.kind for entry in dev_plan.objects))

    assert kinds == ["Namespace", "NicClusterPolicy", "DaemonSet", "IPPool", "NetworkAttachmentDefinition", "ConfigMap"]


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"fabric.addressing.supernet": "192.168.0.0/26"}, ["ADR001"]),
        ({"fabric.addressing.supernet": "10.0.0.0/8"}, ["ADR002", "ADR002", "ADR002"]),
        ({"fabric.addressing.exclude": ["192.168.0.0/30"], "fabric.addressing.addressesPerNode": 2}, ["ADR009"]),
        ({"fabric.mtu": 4221}, ["NET001"]),
        ({"cluster.pools": [POOL, {**POOL, "name": "old", "shape": "BM.GPU4.8"}]}, ["CLU002"]),
        ({"fabric.mtu": 9000, "fabric.addressing.supernet": "192.168.0.0/26"}, ["ADR001", "NET001"]),
    ],
)
def test_an_error_never_leaves_in_a_plan(spec_with: SpecWith, changes: dict[str, Any], rules: list[str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        checked_plan(spec_with(changes))

    assert [entry.id for entry in refused.value.findings] == rules
    assert refused.value.file == "Pulumi.dev.yaml"


def test_a_plan_keeps_what_is_no_error(dev_plan: Plan, flat_plan: Plan, plan_with: PlanWith) -> None:
    assert [entry.id for entry in dev_plan.findings] == ["NET003", "OKE049", "REL015"]
    assert [entry.id for entry in flat_plan.findings] == ["DEV001", "NET003", "OKE049", "REL015"]
    unstated = plan_with({"cluster.ranges": {}})
    assert [entry.id for entry in unstated.findings] == ["ADR003", "NET003", "OKE049", "REL015"]
    assert not any(entry.severity is Severity.ERROR for entry in unstated.findings)


def test_two_pools_of_one_shape_share_the_fabric(plan_with: PlanWith) -> None:
    plan = plan_with({"cluster.pools": [POOL, {**POOL, "name": "more", "nodes": 5}]})

    assert [(pool.name, pool.nodes, pool.gpus, pool.nics) for pool in plan.cluster.pools] == [
        ("gpu", 3, 24, 48),
        ("more", 5, 40, 80),
    ]
    assert plan.addresses.proof.nodes == plan.workload.nodes == 8


def test_gpus_and_nics_are_counted_by_the_shape(plan_with: PlanWith) -> None:
    plan = plan_with({"cluster.pools[0].shape": "BM.GPU.L40S.4"})
    (pool,) = plan.cluster.pools

    assert (pool.nodes, pool.gpus, pool.nics) == (3, 12, 6)
    assert plan.workload.gpus_per_node == 4
    assert plan.workload.resources == {"nvidia.com/gpu": "4", "nvidia.com/rail_00": "1", "nvidia.com/rail_01": "1"}


def test_a_plan_says_which_cluster_it_is_for(plan_with: PlanWith) -> None:
    cluster = plan_with({"cluster.context": "lab", "cluster.id": "lab-1"}).cluster

    assert (cluster.kubeconfig, cluster.context, cluster.id) == (".sandbox/kubeconfig", "lab", "lab-1")


def test_a_namespace_made_for_jobs_lets_them_lock_memory(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.namespaces": [{"name": "jobs", "create": True}]})

    # Pod Security's levels below `privileged` forbid the capability IPC_LOCK.
    assert plan.applied("namespaces")[-1].object.manifest()["metadata"] == {
        "name": "jobs",
        "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
    }


def test_a_plan_holds_no_content_of_the_kubeconfig(plan_with: PlanWith) -> None:
    plan = plan_with({"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access", "access": {"secure": "s3cr3t"}})

    assert plan.cluster.kubeconfig_secret == "access"
    assert "s3cr3t" not in as_json(plan)


def test_every_finding_has_a_place_in_the_stack_file(flat_plan: Plan) -> None:
    assert all(re.match(r"gpu-fabric:(cluster|fabric|software)\b", entry.path) for entry in flat_plan.findings)
