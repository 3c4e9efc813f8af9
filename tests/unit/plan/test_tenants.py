"""Namespaces with a share: their quotas, their queues, and the queue that a job of each gets."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes, changed
from committed_stacks import folder_of
from planned_fabrics import plan_of

from gpu_fabric.attach.attachment import attach
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedQueues
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.workloads.nccl_test import JobScheduler, NcclTest, nccl_test

NAMESPACES: list[Any] = [
    "default",
    {"name": "team-a", "create": True, "share": {"nodes": 2}},
    {"name": "team-b", "create": True, "share": {"nodes": 1, "mostNodes": 3}},
]
TEAMS: Changes = {"fabric.namespaces": NAMESPACES, "cluster.pools[0].nodes": 4}
KUEUE: Changes = {**TEAMS, "software.schedulers": {"kueue": {"quotas": {"cpu": "500"}}}}
VOLCANO: Changes = {**TEAMS, "software.schedulers": {"volcano": {}}}


def objects(plan: Plan, kind: str) -> dict[tuple[str | None, str], dict[str, Any]]:
    return {
        (entry.object.metadata.namespace, entry.name): entry.object.manifest()["spec"]
        for entry in plan.objects
        if entry.object.kind == kind
    }


def per_node(plan: Plan) -> dict[str, int]:
    """GPUs and devices of a node, from what a full-node pod asks for."""
    return plan.workload.devices


def test_a_namespace_with_a_share_has_a_quota_of_its_nodes_gpus_and_devices_and_no_other_has_one() -> None:
    plan = plan_of("host-device", TEAMS)
    found = objects(plan, "ResourceQuota")

    assert set(found) == {("team-a", "gpu-fabric"), ("team-b", "gpu-fabric")}
    assert found["team-a", "gpu-fabric"]["hard"] == {
        f"requests.{name}": str(2 * count) for name, count in per_node(plan).items()
    }
    assert found["team-b", "gpu-fabric"]["hard"]["requests.nvidia.com/gpu"] == "24"


def test_a_shared_nic_counts_once_for_every_pod_that_it_serves() -> None:
    plan = plan_of("roce-macvlan", {**TEAMS, "fabric.podsPerNic": 4})
    hard = objects(plan, "ResourceQuota")["team-a", "gpu-fabric"]["hard"]

    devices = {name.removeprefix("requests."): int(amount) for name, amount in hard.items()}
    assert devices == {
        name: 2 * count * (1 if name == "nvidia.com/gpu" else 4) for name, count in per_node(plan).items()
    }
    assert plan.workload.shares["team-a"].addresses == 8


def cluster_queues(plan: Plan) -> dict[str, dict[str, Any]]:
    return {name: spec for (_, name), spec in objects(plan, "ClusterQueue").items()}


def quotas(spec: dict[str, Any], resource: str) -> tuple[str, str | None]:
    (group,) = spec["resourceGroups"]
    (flavor,) = group["flavors"]
    found = next(entry for entry in flavor["resources"] if entry["name"] == resource)
    return found["nominalQuota"], found.get("borrowingLimit")


def test_kueue_keeps_every_share_and_lends_what_may_be_lent() -> None:
    found = cluster_queues(plan_of("host-device", KUEUE))
    gpus = {name: quotas(spec, "nvidia.com/gpu") for name, spec in found.items()}

    assert gpus == {"fabric": ("8", "0"), "tenant-team-a": ("16", "0"), "tenant-team-b": ("8", "16")}
    assert {spec["cohortName"] for spec in found.values()} == {"gpu-fabric"}
    assert {spec["preemption"]["reclaimWithinCohort"] for spec in found.values()} == {"Any"}


def test_quotas_of_what_is_no_device_are_one_for_all() -> None:
    found = cluster_queues(plan_of("host-device", KUEUE))

    assert {name: quotas(spec, "cpu") for name, spec in found.items()} == {
        "fabric": ("500", None),
        "tenant-team-a": ("0", None),
        "tenant-team-b": ("0", None),
    }


def test_every_namespace_is_in_one_queue_and_the_way_into_it_has_one_name_everywhere() -> None:
    plan = plan_of("host-device", KUEUE)
    selected = {
        name: spec["namespaceSelector"]["matchExpressions"][0]["values"] for name, spec in cluster_queues(plan).items()
    }
    ways = {place: spec["clusterQueue"] for place, spec in objects(plan, "LocalQueue").items()}

    assert selected == {"fabric": ["default"], "tenant-team-a": ["team-a"], "tenant-team-b": ["team-b"]}
    assert ways == {
        ("default", "fabric"): "fabric",
        ("team-a", "fabric"): "tenant-team-a",
        ("team-b", "fabric"): "tenant-team-b",
    }


def test_where_all_namespaces_have_a_share_the_queue_lends_the_rest_and_no_namespace_uses_it() -> None:
    plan = plan_of("host-device", {**KUEUE, "fabric.namespaces": NAMESPACES[1:]})

    assert "namespaceSelector" not in cluster_queues(plan)["fabric"]


def test_without_shares_the_queue_is_in_no_cohort() -> None:
    (spec,) = cluster_queues(plan_of("host-device", {"software.schedulers": {"kueue": {}}})).values()

    assert not spec.keys() & {"cohortName", "preemption"}
    assert quotas(spec, "nvidia.com/gpu")[1] is None


def test_volcano_keeps_a_share_and_limits_it() -> None:
    plan = plan_of("host-device", VOLCANO)
    found = {name: spec for (_, name), spec in objects(plan, "Queue").items()}

    assert set(found) == {"tenant-team-a", "tenant-team-b"}
    assert found["tenant-team-b"]["capability"]["nvidia.com/gpu"] == "24"
    assert found["tenant-team-b"]["guarantee"]["resource"]["nvidia.com/gpu"] == "8"
    assert found["tenant-team-a"]["guarantee"]["resource"].keys() == per_node(plan).keys()


def volcano_job(namespace: str) -> dict[str, Any]:
    gpus = {"limits": {"nvidia.com/gpu": 8}}
    template = {"spec": {"containers": [{"name": "worker", "image": "training:1", "resources": gpus}]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": namespace},
        "spec": {"tasks": [{"name": "worker", "replicas": 2, "template": template}]},
    }


@pytest.mark.parametrize(
    ("namespace", "queue"), [("default", "default"), ("team-a", "tenant-team-a"), ("team-b", "tenant-team-b")]
)
def test_a_job_of_volcano_gets_its_namespaces_queue(namespace: str, queue: str) -> None:
    contract = plan_of("host-device", VOLCANO).workload
    attached = attach([volcano_job(namespace)], contract).documents[0]
    test = nccl_test(contract, NcclTest(JobScheduler.VOLCANO, "tests:1", namespace=namespace, nodes=1)).documents[0]

    assert attached["spec"]["queue"] == queue
    assert test["spec"]["queue"] == queue


def test_a_job_of_kueue_is_the_same_in_every_namespace() -> None:
    contract = plan_of("host-device", KUEUE).workload
    job = {**volcano_job("team-a"), "apiVersion": "batch/v1"}
    job["spec"] = {"template": job["spec"]["tasks"][0]["template"]}
    attached = attach([job], contract).documents[0]

    assert attached["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "fabric"}


def test_the_contract_says_what_each_share_is() -> None:
    share = plan_of("host-device", VOLCANO).workload.shares["team-b"]

    assert (share.nodes, share.most_nodes, share.addresses) == (1, 3, 3)
    assert share.queues == {"volcano": "tenant-team-b"}


def test_every_queue_is_emptied_before_it_is_deleted() -> None:
    (planned,) = plan_of("host-device", KUEUE).records(PlannedQueues)

    assert [one.name for one in planned.each] == ["fabric", "tenant-team-a", "tenant-team-b"]


@pytest.mark.parametrize("share", [{"nodes": 0}, {"nodes": 2, "mostNodes": 1}, {"mostNodes": 2}, {}])
def test_a_share_that_is_none_is_refused_at_its_place(share: dict[str, int]) -> None:
    document = read_document("host-device", folder_of("host-device"))
    found = validate(changed(document, {"fabric.namespaces": [{"name": "team-a", "share": share}]}))[1]

    assert [entry.path.startswith("gpu-fabric:fabric.namespaces[0].share.") for entry in found] == [True]
