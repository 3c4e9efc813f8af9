"""Pods of jobs that wait for their claims: why these are not allocated, or why a driver did not prepare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpu_fabric.base.api_objects import condition
from gpu_fabric.base.enumeration import grouped
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.claim_reasons import Published, Why, why_not_allocated
from gpu_fabric.live.cluster import Cluster, Json, api_path, called, field, name_of, namespace_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pods import YOUNG_S, age_of, remedy_of, warnings_of
from gpu_fabric.live.published import devices, holders, incomplete_pools, is_readable, objects
from gpu_fabric.live.several import some

_PENDING = "fieldSelector=status.phase%3DPending"
# What the kubelet, and DRANET as containers' network is set up, report where devices of a claim are not given to a pod.
_NOT_PREPARED = (
    "FailedPrepareDynamicResources",
    "ClaimPrepareFailed",
    "NetworkDeviceAttachFailed",
    "RDMADeviceAttachFailed",
)


def claim_damages(case: Examination) -> Iterator[Finding]:
    """What keeps pods in the namespaces of jobs from their claims; pods that wait for one reason come together."""
    cluster, classes = case.cluster, {name_of(item): item for item in objects(case.cluster, "deviceclasses")}
    if case.purpose == "destroy" or not classes or not is_readable(cluster, "resourceclaims"):
        # Without a class there is nothing to claim.
        return
    names = _answered_names(cluster, classes)
    waiting = [
        (pod, by_names)
        for namespace in case.stack.jobs_namespaces
        for pod in cluster.items(f"{api_path('v1', 'pods', namespace)}?{_PENDING}")
        if ((by_names := _by_names(pod, names)) or field(pod, "spec", "resourceClaims")) and _waits(pod, case.at_s)
    ]
    if not waiting:
        return
    published = Published(devices(cluster), classes, holders(cluster), incomplete_pools(cluster))
    claims = {(namespace_of(item) or "", name_of(item)): item for item in objects(cluster, "resourceclaims")}
    found = [
        (pod, why) for pod, by_names in waiting if (why := _why(cluster, pod, claims, by_names, published)) is not None
    ]
    for why, entries in grouped(found, lambda one: one[1]).items():
        pods = [called("Pod", pod) for pod, _ in entries]
        message = f"{some(pods)} {'waits' if len(pods) == 1 else 'wait'} for claims: {why.text}"
        seen = _seen(entries[0][0])
        if why.waits:
            yield finding("DOC075", "", message, why.remedy, seen=seen)
        else:
            yield finding("DOC074", "", message, why.remedy, seen=seen)


def _waits(pod: Json, at_s: float) -> bool:
    """Whether a pod has waited long enough, and not for a queue that opens its gate."""
    return (
        field(pod, "status", "phase") == "Pending"
        and not field(pod, "metadata", "deletionTimestamp")
        and condition(pod, "PodScheduled").get("reason") != "SchedulingGated"
        and age_of(field(pod, "metadata", "creationTimestamp"), at_s) >= YOUNG_S
    )


def _answered_names(cluster: Cluster, classes: Mapping[str, Json]) -> dict[str, str]:
    """The DeviceClass by the name of each resource that it answers with claims (KEP 5004), if no node offers it."""
    found = (field(node, "status", "allocatable") or {} for node in cluster.nodes)
    offered = {name for amounts in found for name, amount in amounts.items() if amount != "0"}
    answered = {field(item, "spec", "extendedResourceName"): name for name, item in classes.items()}
    return {resource: name for resource, name in answered.items() if resource and resource not in offered}


def _by_names(pod: Json, names: Mapping[str, str]) -> dict[str, Json]:
    """The claim that the scheduler makes for the resources that a pod names, without a name: none if there are none."""
    asked: Counter[str] = Counter()
    for container in field(pod, "spec", "containers") or ():
        for name, amount in (field(container, "resources", "limits") or {}).items():
            asked[name] += int(amount) if name in names and str(amount).isdecimal() else 0
    rows = [
        {"name": name, "exactly": {"deviceClassName": names[name], "count": amount}}
        for name, amount in asked.items()
        if amount
    ]
    return {"": {"spec": {"devices": {"requests": rows}}}} if rows else {}


def _why(
    cluster: Cluster,
    pod: Json,
    claims: Mapping[tuple[str, str], Json],
    by_names: Mapping[str, Json],
    published: Published,
) -> Why | None:
    """Why a pod does not get its devices; None where its claims are not what it waits for."""
    made = field(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")
    namespace, open_claims, names = (
        namespace_of(pod) or "",
        dict(by_names if made is None else {}),
        [made] if made else [],
    )
    statuses = field(pod, "status", "resourceClaimStatuses") or ()
    generated = {row.get("name"): row.get("resourceClaimName") for row in statuses}
    for row in field(pod, "spec", "resourceClaims") or ():
        name, template = str(row.get("name")), row.get("resourceClaimTemplateName")
        named = str(row.get("resourceClaimName") or generated.get(name))
        claim = claims.get((namespace, named))
        if claim is not None:
            names.append(named)
            if not field(claim, "status", "allocation"):
                open_claims[name] = claim
        elif why := _missing(cluster, namespace, template, named):
            return why
    if field(pod, "spec", "nodeName"):
        return _not_prepared(cluster, pod, names)
    return why_not_allocated(open_claims, published) if open_claims else None


def _missing(cluster: Cluster, namespace: str, template: str | None, claim: str) -> Why | None:
    """That a namespace lacks what a pod names; a claim of a template that exists is created in a moment."""
    there = {name_of(item) for item in objects(cluster, "resourceclaimtemplates", namespace)}
    if template is not None and (template in there or not is_readable(cluster, "resourceclaimtemplates", namespace)):
        return None
    what = f"ResourceClaim {claim}" if template is None else f"ResourceClaimTemplate {template}"
    has = some(sorted(there)) or "there is none"
    return Why(
        f"namespace {namespace} has no {what}",
        f"create it there, or name one that it has ({has}): a pod takes those of its own namespace only",
    )


def _not_prepared(cluster: Cluster, pod: Json, claims: Sequence[str]) -> Why | None:
    """What the newest warning says of devices that a pod on a node was not given."""
    namespace = namespace_of(pod) or ""
    events = [
        seen
        for kind, name in (("Pod", name_of(pod)), *(("ResourceClaim", name) for name in claims))
        for seen in warnings_of(cluster, namespace, kind, name)
        if seen.field.removeprefix("event ") in _NOT_PREPARED
    ]
    if not events:
        return None
    # The driver's own words are more than what the kubelet makes of them.
    said = max(events, key=lambda seen: seen.object.startswith("ResourceClaim"))
    reason = said.field.removeprefix("event ")
    remedy = remedy_of("FailedPrepareDynamicResources", said.value).format(
        namespace=namespace, pod=name_of(pod), container=""
    )
    return Why(f"{reason} on {field(pod, 'spec', 'nodeName')}, {' '.join(said.value.split())}", remedy)


def _seen(pod: Json) -> Seen:
    """The pod's own condition, which has the scheduler's words."""
    node = field(pod, "spec", "nodeName")
    if node:
        return Seen(object=called("Pod", pod), field="spec.nodeName", value=str(node))
    said = condition(pod, "PodScheduled").get("message") or "Pending"
    return Seen(object=called("Pod", pod), field="status.conditions[PodScheduled]", value=str(said))
