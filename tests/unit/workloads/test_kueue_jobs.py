"""Jobs beside Kueue: what is written into them, who makes their pods, and what a stack file may say."""

import io
from typing import Any

import pytest
import yaml
from changes import changed
from committed_stacks import folder_of
from planned_queues import KUEUE, LABEL, PREFERRED, ROOT, SCHEDULERS, PlanWith, attached, batch_job, gpu_pod, plan_of
from rich.console import Console
from stack_plans import stack_plan
from typer.testing import CliRunner, Result

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.cli.app import app
from gpu_fabric.report.text import plan_report, print_report
from gpu_fabric.spec.load import read_document, validate


def test_attach_names_the_queue_on_the_job_and_the_topology_on_its_pods(plan_with: PlanWith) -> None:
    plan = plan_with({KUEUE: {"queue": "gpus", "topology": ["example.com/leaf"]}})
    job, _ = attached(plan, batch_job())

    assert job["metadata"]["labels"] == {LABEL: "gpus"}
    assert job["spec"]["template"]["metadata"]["annotations"][PREFERRED] == "example.com/leaf"
    assert LABEL not in job["spec"]["template"]["metadata"].get("labels", {})


def test_a_job_keeps_the_queue_that_it_has_and_that_is_said(plan_with: PlanWith) -> None:
    job = batch_job()
    job["metadata"]["labels"] = {LABEL: "night"}
    result, notes = attached(plan_with({KUEUE: {}}), job)

    assert result["metadata"]["labels"] == {LABEL: "night"}
    assert "keeps 'night'; the fabric's queue is 'fabric'" in notes


@pytest.mark.parametrize("own", ["required", "unconstrained"])
def test_a_pod_has_one_wish_for_its_place_and_the_users_comes_first(plan_with: PlanWith, own: str) -> None:
    name = f"kueue.x-k8s.io/podset-{own}-topology"
    job, notes = attached(plan_with({KUEUE: {"topology": ["example.com/leaf"]}}), batch_job(**{name: "rack"}))
    annotations = job["spec"]["template"]["metadata"]["annotations"]

    assert annotations[name] == "rack"
    assert PREFERRED not in annotations
    assert f"stays; the fabric's is {PREFERRED}: example.com/leaf" in notes


def test_beside_volcano_each_has_its_own_kind_of_job(plan_with: PlanWith) -> None:
    plan = plan_with({KUEUE: {}, f"{SCHEDULERS}.volcano": {"queue": "gang"}})
    volcano_job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"tasks": [{"name": "worker", "template": gpu_pod()}]},
    }
    job, _ = attached(plan, volcano_job)

    assert job["spec"]["queue"] == "gang"
    assert "labels" not in job["metadata"]
    assert attached(plan, batch_job())[0]["metadata"]["labels"] == {LABEL: "fabric"}
    assert (plan.workload.scheduler_hints.scheduler, plan.workload.scheduler_hints.queue) == ("kueue", "fabric")


def test_a_job_outside_of_the_queues_namespaces_is_not_sent_into_it() -> None:
    plan = plan_of("doks-b300", {KUEUE: {}})
    job, _ = attached(plan, batch_job(), AttachOptions(namespace="elsewhere"))

    assert "labels" not in job["metadata"]


def test_the_queues_of_a_kueue_that_the_cluster_has_are_not_known(plan_with: PlanWith) -> None:
    plan = plan_with({"cluster.installed": ["kueue", "mpi-operator"]})
    hints = plan.workload.scheduler_hints

    assert (hints.scheduler, hints.queue, hints.labels) == ("kueue", None, {})
    assert hints.controllers == ("mpi-operator",)
    assert "labels" not in attached(plan, batch_job())[0]["metadata"]


def test_the_report_says_who_starts_jobs_and_what_comes_when() -> None:
    console = Console(file=io.StringIO(), width=220)
    print_report(plan_report(stack_plan("kueue", ROOT)), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]

    assert "kueue (queue fabric), volcano (queue default), the MPI operator; together below example.com/leaf" in text
    assert "1 Topology, 1 ResourceFlavor, 1 ClusterQueue, 2 LocalQueue" in text
    assert text.index("MPI operator  ") < text.index("Kueue  ")
    assert "ClusterQueue fabric active" in text


def printed(*arguments: str, stack: str = "kueue") -> Result:
    return CliRunner().invoke(app, ["job", "nccl-test", "--image", "registry.example/nccl:1", "-s", stack, *arguments])


def test_the_nccl_test_is_a_job_of_the_mpi_operator_in_kueues_queue() -> None:
    result = printed()
    job = yaml.safe_load(result.stdout)

    assert result.exit_code == 0, result.stderr
    assert "does not bring" not in result.stderr
    assert (job["kind"], job["metadata"]["labels"]) == ("MPIJob", {LABEL: "fabric"})
    replicas = job["spec"]["mpiReplicaSpecs"]
    assert replicas["Worker"]["template"]["metadata"]["annotations"][PREFERRED] == "example.com/leaf"
    assert PREFERRED not in replicas["Launcher"]["template"].get("metadata", {}).get("annotations", {})


def test_the_nccl_test_as_volcanos_job_waits_in_volcanos_queue() -> None:
    job = yaml.safe_load(printed("--scheduler", "volcano").stdout)

    assert (job["kind"], job["spec"]["queue"]) == ("Job", "default")
    assert "labels" not in job["metadata"]


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        ([], "0 levels"),
        (["a", "a"], "a is there twice"),
        (["kubernetes.io/hostname", "example.com/leaf"], "must come last"),
        (["no label!"], "software.schedulers.kueue.topology"),
        ("all", "software.schedulers.kueue.topology"),
    ],
)
def test_a_topology_that_is_none_is_refused_at_its_place(topology: Any, said: str) -> None:
    _, problems = validate(changed(read_document("dev", folder_of("dev")), {KUEUE: {"topology": topology}}))

    assert said in " ".join(f"{problem.path} {problem.message}" for problem in problems)
