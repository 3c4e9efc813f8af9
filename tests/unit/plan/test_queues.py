"""Queues and shares of namespaces; their objects by themselves are in rows/schedulers.yaml and rows/sharing.yaml."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import Changes, changed
from committed_stacks import folder_of
from planned_fabrics import plan_of
from planned_queues import KUEUE, PlanWith, objects, quotas

from gpu_fabric.attach.attachment import attach
from gpu_fabric.plan.operators.kueue import CONFIGURATION
from gpu_fabric.plan.records import PlannedQueues
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.workloads.nccl_test import JobScheduler, NcclTest, nccl_test

NAMESPACES: list[Any] = [
    "default",
    {"name": "team-a", "create": True, "share": {"nodes": 2}},
    {"name": "team-b", "create": True, "share": {"nodes": 1, "mostNodes": 3}},
]
TEAMS: Changes = {"fabric.namespaces": NAMESPACES, "cluster.pools[0].nodes": 4}
VOLCANO: Changes = {**TEAMS, "software.schedulers": {"volcano": {}}}


def test_a_shared_nic_counts_once_for_every_pod_that_it_serves() -> None:
    plan = plan_of("roce-macvlan", {**TEAMS, "fabric.podsPerNic": 4})
    (hard,) = (
        entry.object.manifest()["spec"]["hard"]
        for entry in plan.objects
        if (entry.object.kind, entry.object.metadata.namespace) == ("ResourceQuota", "team-a")
    )

    devices = {name.removeprefix("requests."): int(amount) for name, amount in hard.items()}
    assert devices == {
        name: 2 * count * (1 if name == "nvidia.com/gpu" else 4) for name, count in plan.workload.devices.items()
    }
    assert plan.workload.shares["team-a"].addresses == 8


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


def test_a_job_of_volcano_keeps_the_queue_that_it_has_and_that_is_said() -> None:
    job = volcano_job("team-a")
    result = attach([{**job, "spec": {**job["spec"], "queue": "night"}}], plan_of("host-device", VOLCANO).workload)

    assert result.documents[0]["spec"]["queue"] == "night"
    assert "keeps 'night'; the fabric's queue is 'tenant-team-a'" in [note.message for note in result.notes]


def test_every_queue_is_emptied_before_it_is_deleted() -> None:
    kueue = {"kueue": {"quotas": {"cpu": "500"}}}
    (queues,) = plan_of("host-device", {**TEAMS, "software.schedulers": kueue}).records(PlannedQueues)

    assert [one.name for one in queues.each] == ["fabric", "tenant-team-a", "tenant-team-b"]


@pytest.mark.parametrize("share", [{"nodes": 0}, {"nodes": 2, "mostNodes": 1}, {"mostNodes": 2}, {}])
def test_a_share_that_is_none_is_refused_at_its_place(share: dict[str, int]) -> None:
    document = read_document("host-device", folder_of("host-device"))
    found = validate(changed(document, {"fabric.namespaces": [{"name": "team-a", "share": share}]}))[1]

    assert [entry.path.startswith("gpu-fabric:fabric.namespaces[0].share.") for entry in found] == [True]


@pytest.mark.parametrize(
    "stack", ["dev", "host-network", "spiderpool-macvlan", "sriov-dpdk", "doks-b300", "oke-h100-26-4"]
)
def test_no_pod_of_the_fabric_asks_for_what_the_queue_does_not_cover(stack: str) -> None:
    plan = plan_of(stack, {KUEUE: {}})
    asked = {*plan.workload.resources, "cpu", "memory", "ephemeral-storage"}

    assert asked <= quotas(plan).keys()


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


def test_kueues_configuration_is_the_charts_own_with_the_classes_that_jobs_claim(root: Path) -> None:
    plan = plan_of("dranet-infiniband", {"software.schedulers": {"kueue": {}}})
    release = plan.release("kueue")
    assert release is not None
    first, last = CONFIGURATION
    values: Any = release.values
    planned = yaml.safe_load(values[first][last])
    chart = yaml.safe_load((root / "sandbox/charts/26.4/kueue/values.yaml").read_text(encoding="utf-8"))

    assert planned.pop("resources") == {
        "deviceClassMappings": [
            {"name": "fabric-nics", "deviceClassNames": ["fabric-nics"]},
            {"name": "nvidia.com/claimed-gpu", "deviceClassNames": ["gpu.nvidia.com"]},
        ]
    }
    assert planned == yaml.safe_load(chart[first][last])
