"""Kueue after the operators, controllers of jobs beside them: what comes when, and what goes in which order."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_lists import SCHEDULERS
from programs import STACKS, run_program, stack_config
from recording import Recording

CHART, RELEASE, DRAIN = "kueue-kueue", "kueue-release", "kueue-drain-fabric"
QUEUE, LOCAL_QUEUES = "kueue-fabric", ("kueue-fabric-default", "kueue-fabric-training")


@pytest.fixture(scope="module")
def recording(kubeconfig: Path) -> Recording:
    return run_program("kueue", stack_config(STACKS["kueue"], kubeconfig))


def test_the_charts_are_those_that_the_line_pins(recording: Recording) -> None:
    charts = {entry.inputs["name"]: entry.inputs for entry in recording.of_type("helm.sh/v3:Release")}

    assert charts["kueue"]["chart"] == "oci://registry.k8s.io/kueue/charts/kueue"
    assert charts["jobset"]["chart"] == "oci://registry.k8s.io/jobset/charts/jobset"
    assert charts["lws"]["chart"] == "oci://registry.k8s.io/lws/charts/lws"
    assert [charts[name]["version"] for name in ("kueue", "jobset", "lws")] == ["0.19.2", "0.12.0", "0.8.0"]
    assert [charts[name]["namespace"] for name in ("kueue", "jobset", "lws")] == [
        *("kueue-system", "jobset-system", "lws-system")
    ]


def test_kueue_comes_after_the_controllers_whose_jobs_it_holds_back(recording: Recording) -> None:
    assert recording.comes_after(CHART, "jobset-jobset")
    assert recording.comes_after(CHART, "lws-lws")
    assert recording.comes_after(CHART, "mpi-operator-mpi-operator-mpi-operator")


@pytest.mark.parametrize("stack", ["kueue", "oke-h200", "verification"])
def test_kueue_comes_after_every_release_and_job_that_its_webhooks_would_refuse(stack: str, kubeconfig: Path) -> None:
    config = stack_config(STACKS[stack], kubeconfig)
    config.setdefault("gpu-fabric:software", {}).setdefault("schedulers", {})["kueue"] = {"queue": "fabric"}
    recording = run_program(stack, config)
    watched = ("helm.sh/v3:Release", "apps/v1:Deployment", "v1:ClusterPolicyPatch", "v1alpha1:NicClusterPolicy")
    others = [entry.name for kind in watched for entry in recording.of_type(kind) if entry.name != CHART]

    assert len(others) > 2
    assert [name for name in others if not recording.comes_after(CHART, name)] == []
    # The stack's own jobs come once its webhooks answer.
    runs = [entry.name for entry in recording.resources if entry.parent == "verification"]
    assert [name for name in runs if not recording.comes_after(name, QUEUE)] == []


def test_the_queue_comes_after_what_it_stands_on_and_before_the_ways_into_it(recording: Recording) -> None:
    (flavor,) = recording.of_type("kueue.x-k8s.io/v1beta2:ResourceFlavor")
    (topology,) = recording.of_type("kueue.x-k8s.io/v1beta2:Topology")

    assert recording.comes_after(flavor.name, topology.name)
    assert recording.comes_after(QUEUE, flavor.name)
    assert all(recording.comes_after(name, QUEUE) for name in LOCAL_QUEUES)
    assert recording.comes_after(topology.name, CHART)


def test_a_local_queue_waits_for_the_namespace_that_the_stack_makes(recording: Recording) -> None:
    assert recording.comes_after("kueue-fabric-training", "namespaces-training")


def test_an_up_ends_only_when_the_queue_lets_jobs_in(recording: Recording) -> None:
    annotations = recording[QUEUE].inputs["metadata"]["annotations"]

    assert "condition=Active" in annotations["pulumi.com/waitFor"]


def test_a_destroy_empties_the_queue_then_deletes_it_and_ends_kueue_before_its_definitions_go(
    recording: Recording,
) -> None:
    # What comes last goes first.
    assert all(recording.comes_after(DRAIN, name) for name in (QUEUE, *LOCAL_QUEUES))
    assert recording.comes_after(QUEUE, RELEASE)
    assert recording.comes_after(RELEASE, CHART)


def test_another_queue_is_emptied_by_a_resource_of_its_own(kubeconfig: Path) -> None:
    config = stack_config(STACKS["kueue"], kubeconfig)
    config["gpu-fabric:software"]["schedulers"]["kueue"]["queue"] = "night"
    names = {entry.name for entry in run_program("kueue", config).resources}

    assert {"kueue-drain-night", RELEASE, "kueue-night"} <= names
    assert DRAIN not in names


def test_the_mpi_operator_runs_once_its_kind_is_there(recording: Recording) -> None:
    (deployment,) = recording.of_type("apps/v1:Deployment")

    assert deployment.inputs["spec"]["template"]["spec"]["containers"][0]["image"].endswith("mpi-operator:0.8.0")
    assert recording.comes_after(deployment.name, "mpi-operator-mpijobs.kubeflow.org")
    assert recording.comes_after(deployment.name, "namespaces-mpi-operator")


def test_no_part_of_the_fabric_waits_for_any_of_them(recording: Recording) -> None:
    ours = (*SCHEDULERS, "mpi-operator")
    others = [entry.name for entry in recording.resources if not entry.name.startswith(ours)]
    waiting = [
        name
        for name in others
        for part in (CHART, "jobset-jobset", "lws-lws", "mpi-operator-mpi-operator-mpi-operator")
        if recording.comes_after(name, part)
    ]

    assert waiting == []
