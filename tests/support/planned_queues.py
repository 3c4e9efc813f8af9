"""Plans with Kueue, their queue's objects, and jobs for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from changes import changed
from committed_stacks import folder_of

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedQueues
from gpu_fabric.prepare import plan_spec
from gpu_fabric.spec.load import read_document, validate

PlanWith = Callable[[Any], Plan]
ROOT = Path(__file__).resolve().parents[2]
SCHEDULERS = "software.schedulers"
KUEUE = f"{SCHEDULERS}.kueue"
LABEL = "kueue.x-k8s.io/queue-name"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
RDMA = "oci.oraclecloud.com/rdma"


def plan_of(stack: str, changes: dict[str, Any]) -> Plan:
    spec, problems = validate(changed(read_document(stack, folder_of(stack)), changes))
    assert spec is not None, problems
    return plan_spec(spec)


def objects(plan: Plan, kind: str) -> list[dict[str, Any]]:
    assert plan.record(PlannedQueues, "kueue-queues") is not None
    found = [entry.object.manifest() for entry in plan.record(PlannedQueues, "kueue-queues").objects]
    return [entry for entry in found if entry["kind"] == kind]


def quotas(plan: Plan) -> dict[str, str]:
    (queue,) = objects(plan, "ClusterQueue")
    (group,) = queue["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    assert group["coveredResources"] == [entry["name"] for entry in flavor["resources"]]
    return {entry["name"]: entry["nominalQuota"] for entry in flavor["resources"]}


def gpu_pod(**annotations: str) -> dict[str, Any]:
    containers = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]
    return {"metadata": {"annotations": annotations}, "spec": {"containers": containers}}


def attached(plan: Plan, job: dict[str, Any], wishes: AttachOptions | None = None) -> tuple[dict[str, Any], list[str]]:
    result = attach([job], plan.workload, wishes)
    return result.documents[0], [note.message for note in result.notes if note.id != "ATT063"]


def batch_job(**annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": gpu_pod(**annotations)},
    }
