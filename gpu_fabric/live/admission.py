"""What judges requests before the cluster stores them: webhooks, policies, and servers of other APIs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import (
    Cluster,
    Json,
    collection,
    field,
    labels_of,
    name_of,
    release_of,
    selects,
)
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.stack import Stack
from gpu_fabric.spec.places import Location, dotted

_GROUP = "admissionregistration.k8s.io/v1"
CONFIGURATIONS = (
    ("ValidatingWebhookConfiguration", collection(_GROUP, "validatingwebhookconfigurations")),
    ("MutatingWebhookConfiguration", collection(_GROUP, "mutatingwebhookconfigurations")),
)
_CREATES = ("CREATE", "*")
_OWN_POLICY = "gpu-fabric"
_NAME_LABEL = "kubernetes.io/metadata.name"
_PLACE: Location = ("software",)


def admission_differences(case: Examination) -> Iterator[Finding]:
    """What would refuse or change the stack's objects, or pods of the fabric."""
    stack, cluster = case.stack, case.cluster
    for kind, path in CONFIGURATIONS:
        for item in cluster.items(path):
            yield from _webhooks(stack, cluster, kind, item)
    yield from _policies(stack, cluster)
    yield from _api_services(cluster)


def _webhooks(stack: Stack, cluster: Cluster, kind: str, item: Json) -> Iterator[Finding]:
    """The first webhook of a configuration that is in the way: one is enough to go there."""
    name = f"{kind} {name_of(item)}"
    if not stack.is_foreign(item) or name_of(item) in stack.cleaned_webhooks or _is_of_a_release(stack, cluster, item):
        return
    standing = None
    for hook in item.get("webhooks") or ():
        service = field(hook, "clientConfig", "service")
        if hook.get("failurePolicy", "Fail") != "Fail" or hook.get("objectSelector"):
            continue
        kinds = [word for rule in hook.get("rules") or () for word in _asked_for(stack, rule)]
        namespaces = [space for space in _namespaces(stack, cluster) if selects(hook.get("namespaceSelector"), space)]
        if not kinds or not namespaces or (service and stack.keeps(cluster, service.get("namespace"))):
            continue
        if service and not answers(cluster, service):
            yield finding(
                "PRE090",
                dotted(_PLACE),
                f"{name} asks the service {service.get('namespace')}/{service.get('name')} about "
                f"{' and '.join(kinds)}, and nothing answers there: the API server refuses them all",
                f"start what serves it, or delete what it left behind: `kubectl delete {kind.lower()} {name_of(item)}`",
                seen=Seen(
                    object=name,
                    field=f"webhooks[{hook.get('name')}].clientConfig.service",
                    value=f"{service.get('namespace')}/{service.get('name')}, with no ready endpoint",
                ),
            )
            return
        if standing is None and "pods" in kinds:
            standing = hook
    if standing is not None:
        yield finding(
            "PRE091",
            dotted(_PLACE),
            f"{name} judges every pod in namespaces of the stack, and may refuse privileged ones or change them",
            f"see that it lets these namespaces pass: {', '.join(stack.every_namespace)}",
            seen=Seen(object=name, field=f"webhooks[{standing.get('name')}].failurePolicy", value="Fail"),
        )


def _is_of_a_release(stack: Stack, cluster: Cluster, item: Json) -> bool:
    release = release_of(item)
    return (
        release is not None
        and release[0] in stack.releases
        and stack.releases[release[0]].namespace == release[1]
        and stack.keeps(cluster, release[1])
    )


def _asked_for(stack: Stack, rule: Json) -> Iterator[str]:
    """Kinds of the stack, by their plurals, that a rule is about."""
    if not set(rule.get("operations") or ()).intersection(_CREATES):
        return
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    for group, plural in (("", "pods"), *_kinds(stack)):
        if _is_in(group, groups) and _is_in(plural, resources):
            yield plural


def _kinds(stack: Stack) -> list[tuple[str, str]]:
    found = {(entry.object.group(), entry.object.plural) for entry in stack.objects}
    return sorted(kind for kind in found if kind != ("", "pods"))


def _is_in(name: str, names: Iterable[str]) -> bool:
    return any(entry in (name, "*", "*/*", f"{name}/*") for entry in names)


def _namespaces(stack: Stack, cluster: Cluster) -> list[dict[str, str]]:
    """Labels of the stack's namespaces: as they are, with those that the stack sets."""
    return [
        {_NAME_LABEL: name, **labels_of(cluster.namespaces.get(name, {})), **stack.namespaces.get(name, {})}
        for name in stack.every_namespace
    ]


def answers(cluster: Cluster, service: Json) -> bool:
    """Whether a service has an endpoint that is ready; so too where that may not be read."""
    namespace, name = service.get("namespace", ""), service.get("name", "")
    slices_of = collection("discovery.k8s.io/v1", "endpointslices", namespace)
    path = f"{slices_of}?labelSelector=kubernetes.io/service-name%3D{name}"
    if not cluster.is_readable(path):
        return True
    slices = cluster.items(path)
    endpoints = (entry for part in slices for entry in part.get("endpoints") or ())
    # An endpoint that does not say so counts as ready (EndpointConditions).
    return any(field(entry, "conditions", "ready") is not False for entry in endpoints)


def _policies(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    policies = {name_of(item): item for item in cluster.items(collection(_GROUP, "validatingadmissionpolicies"))}
    reported = set()
    for binding in cluster.items(collection(_GROUP, "validatingadmissionpolicybindings")):
        name = str(field(binding, "spec", "policyName") or "")
        policy = policies.get(name)
        if policy is None or name in reported or not stack.is_foreign(policy) or name.startswith(_OWN_POLICY):
            continue
        if "Deny" not in (field(binding, "spec", "validationActions") or ()):
            continue
        rules = field(policy, "spec", "matchConstraints", "resourceRules") or ()
        kinds = [word for rule in rules for word in _asked_for(stack, rule)]
        selectors: tuple[Any, ...] = (
            field(policy, "spec", "matchConstraints", "namespaceSelector"),
            field(binding, "spec", "matchResources", "namespaceSelector"),
        )
        chosen = [space for space in _namespaces(stack, cluster) if all(selects(one, space) for one in selectors)]
        if kinds and chosen:
            reported.add(name)
            yield finding(
                "PRE092",
                dotted(_PLACE),
                f"the ValidatingAdmissionPolicy {name} denies {' and '.join(dict.fromkeys(kinds))} that do not meet "
                f"it, in {', '.join(space[_NAME_LABEL] for space in chosen)} too",
                "see that the stack's objects and privileged pods meet it, or exempt these namespaces in the binding",
                seen=Seen(
                    object=f"ValidatingAdmissionPolicyBinding {name_of(binding)}",
                    field="spec.validationActions",
                    value=", ".join(field(binding, "spec", "validationActions")),
                ),
            )


def _api_services(cluster: Cluster) -> Iterator[Finding]:
    for item in cluster.items(collection("apiregistration.k8s.io/v1", "apiservices")):
        conditions = {entry.get("type"): entry for entry in field(item, "status", "conditions") or ()}
        if field(conditions.get("Available"), "status") == "False":
            yield finding(
                "PRE093",
                dotted(_PLACE),
                f"the API {name_of(item)} is not available: "
                f"{field(conditions['Available'], 'message') or 'no reason is given'}",
                "start what serves it, or delete the APIService",
                seen=Seen(object=f"APIService {name_of(item)}", field="status.conditions[Available]", value="False"),
            )
