"""Volcano beside the operators: when it comes, and what comes after it."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import STACKS, run_program, stack_config
from recording import Recording

CHART = "volcano-volcano"
QUEUE = "volcano-training"


@pytest.fixture(scope="module")
def recording(kubeconfig: Path) -> Recording:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:software"]["schedulers"] = {"volcano": {"queue": "training"}}
    return run_program("dev", config)


def test_the_chart_is_the_one_that_the_line_pins(recording: Recording) -> None:
    inputs = recording[CHART].inputs

    assert (inputs["name"], inputs["namespace"], inputs["version"]) == ("volcano", "volcano-system", "1.15.1")
    assert inputs["chart"] == "./sandbox/charts/26.4/volcano"


def test_it_needs_its_namespace_and_no_operator(recording: Recording) -> None:
    assert recording.comes_after(CHART, "namespaces-volcano-system")
    assert not recording.comes_after(CHART, "gpu-operator-gpu-operator")
    assert not recording.comes_after(CHART, "network-operator-network-operator")


def test_no_part_of_the_fabric_waits_for_it(recording: Recording) -> None:
    others = [entry.name for entry in recording.resources if not entry.name.startswith("volcano")]

    assert [name for name in others if recording.comes_after(name, CHART)] == []


def test_its_queue_is_made_once_the_chart_has_brought_the_kind(recording: Recording) -> None:
    assert recording.comes_after(QUEUE, CHART)
    assert recording[QUEUE].type == "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
    assert "jsonpath={.status.state}=Open" in recording[QUEUE].inputs["metadata"]["annotations"]["pulumi.com/waitFor"]


def test_every_account_has_its_binding(recording: Recording) -> None:
    accounts = [entry.inputs["metadata"] for entry in recording.of_type("core/v1:ServiceAccount")]
    bindings = recording.of_type("rbac.authorization.k8s.io/v1:RoleBinding")

    assert {"name": "mpi-worker-view", "namespace": "default"} in accounts
    assert [entry.inputs["subjects"] for entry in bindings if entry.inputs["roleRef"]["name"] == "view"] == [
        [{"kind": "ServiceAccount", "name": "mpi-worker-view", "namespace": "default"}]
    ]
