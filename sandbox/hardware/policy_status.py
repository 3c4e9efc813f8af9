"""The status that the Network Operator writes to a policy, from the state of what it runs: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME
from sandbox.hardware.operands import (
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


def contested(policy: Mapping[str, Any], cluster_policy: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Sections that a NicNodePolicy shares with the NicClusterPolicy; an operand belongs into one of them only."""
    if policy["kind"] != "NicNodePolicy" or cluster_policy is None:
        return ()
    return tuple(sorted(policy["spec"].keys() & cluster_policy["spec"].keys() - {"tolerations"}))


def refusal(policy: Mapping[str, Any], cluster_policy: Mapping[str, Any] | None) -> Object | None:
    """The status of a policy that the operator does nothing for; None for one that it obeys."""
    if not is_reconciled(policy):
        return {"state": "ignore", "reason": _IGNORED}
    sections = contested(policy, cluster_policy)
    if sections:
        return {"state": "error", "reason": f"{', '.join(sections)}: also in {NIC_CLUSTER_POLICY_NAME}"}
    return None


def status_of(
    policy: Mapping[str, Any], operator: Installed, workloads: Iterable[Mapping[str, Any]], *, settled: bool
) -> Object:
    """The status of a policy that the operator obeys: `ready` when everything it asks for is on every node.

    `workloads` are DaemonSets and Deployments of any policy. While things are not `settled`, a workload that looks
    ready may still get pods, and nothing is called ready.
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
    """Whether an object is there as it was last asked for."""
    revisions = {item["metadata"].get("annotations", {}).get(REVISION_ANNOTATION) for item in (present, wanted)}
    return len(revisions) == 1


def rolled_out(workload: Mapping[str, Any]) -> bool:
    """Whether all pods that a DaemonSet or a Deployment should have are of its last template and ready."""
    status = workload.get("status") or {}
    if status.get("observedGeneration") != workload["metadata"].get("generation"):
        return False
    if "replicas" in workload["spec"]:
        count = workload["spec"]["replicas"]
        return all(status.get(field, 0) == count for field in ("replicas", "updatedReplicas", "readyReplicas"))
    count = status.get("desiredNumberScheduled", 0)
    return all(status.get(field, 0) == count for field in ("updatedNumberScheduled", "numberReady"))


def _identity(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])
