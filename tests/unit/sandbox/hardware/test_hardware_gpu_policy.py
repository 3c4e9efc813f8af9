"""When the played GPU Operator calls its policy ready, and for which reason."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.hardware.gpu_policy import gpu_policy_status, is_news

Object = dict[str, Any]

CPU: dict[str, str] = {}
NIC = {"feature.node.kubernetes.io/pci-15b3.present": "true"}
GPU = {**NIC, "nvidia.com/gpu.present": "true"}
IDLE, ROLLING = {"status": {"desiredNumberScheduled": 0}}, {"status": {"numberUnavailable": 1}}


def policy(name: str = "cluster-policy") -> Object:
    return {"metadata": {"name": name}}


def status(nodes: list[dict[str, str]], operand: Object = IDLE, name: str = "cluster-policy") -> Object:
    daemon_set = {"metadata": {"name": "toolkit"}, "spec": {}, **operand}
    return gpu_policy_status(policy(name), nodes, [daemon_set], "gpu-operator", "2026-01-01T00:00:00Z")


def reason(found: Object) -> str:
    (ready,) = (entry for entry in found["conditions"] if entry["type"] == "Ready")
    return str(ready["reason"])


@pytest.mark.parametrize(
    ("nodes", "operand", "state", "why"),
    [
        ([CPU], IDLE, "ready", "NFDLabelsMissing"),
        ([], IDLE, "ready", "NFDLabelsMissing"),
        ([CPU, NIC], IDLE, "ready", "NoGPUNodes"),
        ([CPU, GPU], IDLE, "ready", "Reconciled"),
        ([CPU, GPU], ROLLING, "notReady", "Error"),
        ([CPU], ROLLING, "notReady", "Error"),
    ],
)
def test_the_policy_is_ready_for_another_reason_while_no_gpu_node_is_known(
    nodes: list[dict[str, str]], operand: Object, state: str, why: str
) -> None:
    found = status(nodes, operand)
    assert (found["state"], reason(found)) == (state, why)


def test_a_policy_of_another_name_is_ignored() -> None:
    assert status([GPU], name="second") == {"state": "ignored"}


def test_a_status_is_written_when_its_reason_changes_and_not_for_the_clock() -> None:
    missing, done = status([CPU]), status([GPU])

    assert is_news(policy(), missing)
    assert is_news({**policy(), "status": missing}, done)
    later = {**done, "conditions": [{**entry, "lastTransitionTime": "later"} for entry in done["conditions"]]}
    assert not is_news({**policy(), "status": done}, later)


@pytest.mark.parametrize(("strategy", "state"), [("OnDelete", "notReady"), ("RollingUpdate", "ready")])
def test_pods_of_an_earlier_template_count_only_where_something_must_delete_them(strategy: str, state: str) -> None:
    status_of_set = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 1, "numberUnavailable": 0}
    operand = {"status": status_of_set, "spec": {"updateStrategy": {"type": strategy}}}
    assert status([GPU], operand)["state"] == state
