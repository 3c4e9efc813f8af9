"""Marks that operators left on nodes: labels that hold others back, states of driver upgrades, and cordons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Json, annotations_of, called, field, labels_of, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.owners import Owner, Presence, is_of, owners, presence
from gpu_fabric.live.several import some
from gpu_fabric.live.steps import Edit, uid_of

_DONE, _FAILED, _REQUIRED = "upgrade-done", "upgrade-failed", "upgrade-required"
_BEFORE = ".node-initial-state.unschedulable"
# The name that kubebuilder gives the program of every operator: it does not show which of them cordoned a node.
_OF_ANY_OPERATOR = "manager"
# What an eviction passes over.
_NOT_EVICTED = ("DaemonSet", "Node")


def node_damages(case: Examination) -> Iterator[Finding]:
    """What is left on nodes of operators that do not exist any more, or of upgrades that have ended."""
    for owner in owners():
        here = presence(case.cluster, owner)
        for node in case.cluster.nodes:
            if here is Presence.GONE:
                yield from _waits(case, owner, node)
                yield from _drains(case, owner, node)
            if here is not Presence.DOWN:
                yield from _upgrades(case, owner, here, node)


def _waits(case: Examination, owner: Owner, node: Json) -> Iterator[Finding]:
    label, name = owner.wait_label, name_of(node)
    if label and labels_of(node).get(label) == "true":
        yield finding(
            "DOC060",
            "",
            f"node {name} holds device plug-ins and drivers back until {owner.title} says that its driver is loaded, "
            "and it does not exist any more",
            f"`kubectl label node {name} {label}-`",
            seen=Seen(object=f"Node {name}", field=f"metadata.labels[{label}]", value="true"),
            steps=[
                _edit(node, {"labels": {label: "true"}}, {"labels": {label: None}}, f"take {label} off node {name}")
            ],
            is_own=is_of(case.stack, owner),
        )


def _drains(case: Examination, owner: Owner, node: Json) -> Iterator[Finding]:
    note, name = owner.state_note, name_of(node)
    state = annotations_of(node).get(note, owner.at_rest)
    if note and state != owner.at_rest:
        yield _left(
            case,
            owner,
            node,
            Seen(object=f"Node {name}", field=f"metadata.annotations[{note}]", value=state),
            expects={"annotations": {note: state}},
            merge={"annotations": {note: None}},
            by_hand=f"`kubectl annotate node {name} {note}-`",
        )


def _upgrades(case: Examination, owner: Owner, here: Presence, node: Json) -> Iterator[Finding]:
    label, name = owner.upgrade_state, name_of(node)
    state = labels_of(node).get(label) if label else None
    if state is None:
        return
    seen = Seen(object=f"Node {name}", field=f"metadata.labels[{label}]", value=state)
    if here is Presence.READY and state == _FAILED:
        yield _failed(case, owner, node, seen)
    elif here is Presence.GONE and state != _DONE:
        notes = [key for key in annotations_of(node) if key.startswith(owner.upgrade_notes)]
        yield _left(
            case,
            owner,
            node,
            seen,
            expects={"labels": {label: state}},
            merge={"labels": {label: None}, "annotations": dict.fromkeys(notes)},
            by_hand=f"`kubectl label node {name} {label}-`",
        )
    elif state == _DONE and _is_cordoned(node) and (by := _cordoned_by(owner, node)):
        yield finding(
            "DOC062",
            "",
            f"the driver upgrade of node {name} has ended, and it is still cordoned as for the upgrade",
            f"`kubectl uncordon {name}`",
            seen=[seen, Seen(object=f"Node {name}", field="spec.unschedulable", value=f"true, by {by}")],
            steps=[_edit(node, {"labels": {label: state}}, {}, f"uncordon node {name}", uncordon=True)],
            is_own=is_of(case.stack, owner) and by != _OF_ANY_OPERATOR,
        )


def _failed(case: Examination, owner: Owner, node: Json, seen: Seen) -> Finding:
    """A failed upgrade. It is tried again only on a node on which it can evict nothing, and to which no pod comes.

    The operator itself continues once the driver's pod is ready and of the newest version (k8s-operator-libs,
    pkg/upgrade/common_manager.go, ProcessUpgradeFailedNodes).
    """
    label, name = owner.upgrade_state, name_of(node)
    path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}"
    again = f"`kubectl label node {name} {label}={_REQUIRED} --overwrite`"
    pods = [called("Pod", pod) for pod in case.cluster.items(path) if _is_evicted(pod, name)]
    can_retry = _is_cordoned(node) and not pods and case.cluster.is_readable(path)
    why = f"{some(pods)} would be evicted" if pods else "it is not known to stay empty meanwhile"
    words = (
        f"set {label} to {_REQUIRED}, so that the upgrade is tried again on node {name}, from which no pod is evicted"
    )
    return finding(
        "DOC063",
        "",
        f"the driver upgrade of node {name} failed: {owner.title} continues there when the driver's pod is ready, and "
        "does not try it again" + ("" if can_retry else f"; {why}"),
        "see the log of the driver's pod on the node, and delete that pod"
        + (f"; or have it tried again: {again}" if can_retry else f"; when its jobs have ended, {again}"),
        seen=seen,
        steps=[_edit(node, {"labels": {label: _FAILED}}, {"labels": {label: _REQUIRED}}, words, is_cordoned=True)]
        if can_retry
        else (),
        is_own=can_retry and is_of(case.stack, owner),
    )


def _is_evicted(pod: Json, node: str) -> bool:
    """Whether an upgrade would evict a pod from a node: not one of a DaemonSet or the kubelet, or that has ended."""
    return (
        field(pod, "spec", "nodeName") == node
        and field(pod, "status", "phase") not in ("Succeeded", "Failed")
        and not any(owner.get("kind") in _NOT_EVICTED for owner in field(pod, "metadata", "ownerReferences") or ())
    )


def _left(
    case: Examination,
    owner: Owner,
    node: Json,
    seen: Seen,
    *,
    expects: dict[str, Any],
    merge: dict[str, Any],
    by_hand: str,
) -> Finding:
    """A state of an operator that does not exist: it is removed, and the operator's own cordon with it."""
    name = name_of(node)
    by = _cordoned_by(owner, node) if _is_cordoned(node) else ""
    cordon = Seen(object=f"Node {name}", field="spec.unschedulable", value=f"true, by {by or 'another user'}")
    words = f"take {seen.field} off node {name}" + (" and uncordon it" if by else "")
    return finding(
        "DOC061",
        "",
        f"node {name} is in the middle of work of {owner.title}, which does not exist any more"
        + ("" if not _is_cordoned(node) else "; it was cordoned for it" if by else "; another user cordoned it"),
        by_hand + (f", then `kubectl uncordon {name}`" if by else ""),
        seen=[seen, *([cordon] if _is_cordoned(node) else ())],
        steps=[_edit(node, expects, merge, words, uncordon=bool(by))],
        is_own=is_of(case.stack, owner) and by != _OF_ANY_OPERATOR,
    )


def _edit(
    node: Json, expects: Json, merge: Json, words: str, *, uncordon: bool = False, is_cordoned: bool = False
) -> Edit:
    cordon: dict[str, Any] = {"spec": {"unschedulable": True}} if uncordon or is_cordoned else {}
    schedulable: dict[str, Any] = {"spec": {"unschedulable": None}} if uncordon else {}
    return Edit(
        path=f"/api/v1/nodes/{name_of(node)}",
        uid=uid_of(node),
        expects={"metadata": expects, **cordon},
        merge={**({"metadata": merge} if merge else {}), **schedulable},
        words=words,
    )


def _is_cordoned(node: Json) -> bool:
    return field(node, "spec", "unschedulable") is True


def _cordoned_by(owner: Owner, node: Json) -> str:
    """The field manager of the operator that cordoned a node; empty where it was cordoned by another, or before."""
    notes = annotations_of(node)
    if owner.upgrade_notes and notes.get(f"{owner.upgrade_notes}{_BEFORE}") == "true":
        return ""
    for entry in field(node, "metadata", "managedFields") or ():
        if field(entry, "fieldsV1", "f:spec", "f:unschedulable") is not None:
            manager = str(entry.get("manager", ""))
            if manager in owner.cordoned_by:
                return manager
    return ""
