"""Pods of the stack's software that the API server refuses, while their Deployment or DaemonSet waits for them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.doctor.damage import Damage, damage
from gpu_fabric.doctor.examination import Examination
from gpu_fabric.preflight.cluster import Cluster, Json, called, collection, field, name_of, namespace_of
from gpu_fabric.preflight.difference import Seen

# The admission of quotas, where pods of a priority class are allowed only by a quota for that class.
_NO_QUOTA_FOR_CLASS = "insufficient quota to match these scopes"


def refused_pod_damages(case: Examination) -> Iterator[Damage]:
    """Workloads of the stack's namespaces whose pods are refused: `up` waits for them until its limit."""
    if case.purpose == "destroy":
        return
    for kind, item in case.cluster.workloads:
        namespace = namespace_of(item)
        if namespace not in case.stack.namespaces:
            continue
        if seen := _condition(kind, item) if kind == "Deployment" else _event(case.cluster, kind, item):
            yield damage(
                "DOC070",
                seen,
                f"the API server refuses pods of {seen.object}, which waits for them",
                f"create a ResourceQuota in namespace {namespace} with `pods` in `hard`, and those classes in a "
                "`scopeSelector` with `scopeName: PriorityClass`; the pods then come by themselves"
                if _NO_QUOTA_FOR_CLASS in seen.value
                else "change what refuses them, as the reason says: a quota, Pod Security, or a webhook",
            )


def _condition(kind: str, item: Json) -> Seen | None:
    """What a Deployment says of pods that could not be created."""
    conditions = {entry.get("type"): entry for entry in field(item, "status", "conditions") or ()}
    failure = conditions.get("ReplicaFailure")
    if field(failure, "status") != "True":
        return None
    message = str(field(failure, "message"))
    return Seen(object=called(kind, item), field="status.conditions[ReplicaFailure]", value=message)


def _event(cluster: Cluster, kind: str, item: Json) -> Seen | None:
    """The newest event of a DaemonSet that lacks pods, which says so in no condition."""
    wanted, made = (field(item, "status", key) or 0 for key in ("desiredNumberScheduled", "currentNumberScheduled"))
    if wanted <= made:
        return None
    path = f"{collection('v1', 'events', namespace_of(item))}?fieldSelector=reason%3DFailedCreate"
    found = [
        event
        for event in cluster.items(path)
        if event.get("reason") == "FailedCreate"
        and (field(event, "involvedObject", "kind"), field(event, "involvedObject", "name")) == (kind, name_of(item))
    ]
    if not found:
        return None
    newest = max(found, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
    return Seen(object=called(kind, item), field=f"event {newest['reason']}", value=str(newest.get("message")))
