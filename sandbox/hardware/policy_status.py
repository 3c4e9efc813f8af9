"""The status that the Network Operator writes to a policy, from the state of what it runs: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME
from .operands import (
    POLICY_LABEL,
    REVISION_ANNOTATION,
    STATE_LABEL,
    Installed,
    is_reconciled,
    operands_of,
    states_of,
)

Object = dict[str, Any]

_IGNORED = f"only the policy named {NIC_CLUSTER_POLICY_NAME} is reconciled"


def refusal(policy: Mapping[str, Any]) -> Object | None:
    """The status of a policy that the operator ignores; None for an active one.

    A section that is in both kinds of policies is applied twice: two plug-ins run, and both policies are ready.
    """
    return None if is_reconciled(policy) else {"state": "ignore", "reason": _IGNORED}


def status_of(
    policy: Mapping[str, Any], operator: Installed, workloads: Iterable[Mapping[str, Any]], *, settled: bool
) -> Object:
    """The status of an active policy: `ready` when all of its operands run on every node.

    `workloads` are DaemonSets and Deployments of any policy. While they are not `settled`, a workload that looks ready
    may still get pods, so that nothing is marked ready.
    """
    wanted = {_identity(item): item for item in operands_of(policy, operator) if item["kind"] != "ConfigMap"}
    own = policy["metadata"]["uid"]
    present = {_identity(item): item for item in workloads if item["metadata"]["labels"].get(POLICY_LABEL) == own}
    waiting = {
        wish["metadata"]["labels"][STATE_LABEL]
        for identity, wish in wanted.items()
        if not settled or identity not in present or not is_current(present[identity], wish)
    }
    waiting |= {item["metadata"]["labels"][STATE_LABEL] for item in present.values() if not rolled_out(item)}
    states = states_of(policy)
    ready = not waiting & {state for state, asked in states.items() if asked}
    return {
        "state": "ready" if ready else "notReady",
        "appliedStates": [
            {"name": name, "state": "ignore" if not asked else "notReady" if name in waiting else "ready"}
            for name, asked in states.items()
        ],
    }


def status_patch(policy: Mapping[str, Any], status: Mapping[str, Any]) -> Object:
    """The merge patch that gives a policy the status; empty when it has it."""
    fields = ("state", "reason", "appliedStates")
    present = policy.get("status") or {}
    if all(present.get(field) == status.get(field) for field in fields):
        return {}
    return {"status": {field: status.get(field) for field in fields}}


def is_current(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an object exists as it was last written."""
    revisions = {item["metadata"].get("annotations", {}).get(REVISION_ANNOTATION) for item in (present, wanted)}
    return len(revisions) == 1


def rolled_out(workload: Mapping[str, Any]) -> bool:
    """Whether all pods that a DaemonSet should have are of its last template and ready; one without pods never is.

    The operator does not look at Deployments.
    """
    status = workload.get("status") or {}
    if "replicas" in workload["spec"]:
        return True
    if status.get("observedGeneration") != workload["metadata"].get("generation"):
        return False
    count = status.get("desiredNumberScheduled", 0)
    return count > 0 and all(status.get(field, 0) == count for field in ("updatedNumberScheduled", "numberReady"))


def _identity(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])
