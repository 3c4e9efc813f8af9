"""What judges requests before the cluster stores them: webhooks, policies, and servers of other APIs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from gpu_fabric.base.api_objects import condition
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import (
    Cluster,
    Json,
    api_path,
    called,
    field,
    labels_of,
    name_of,
    release_of,
    selects,
)
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.owners import Owner, Presence, is_of, owners, presence
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.steps import Deletion, uid_of
from gpu_fabric.spec.places import Location, dotted

_GROUP = "admissionregistration.k8s.io/v1"
_CONFIGURATIONS = (
    ("ValidatingWebhookConfiguration", api_path(_GROUP, "validatingwebhookconfigurations")),
    ("MutatingWebhookConfiguration", api_path(_GROUP, "mutatingwebhookconfigurations")),
)
_CREATES = ("CREATE", "*")
_OWN_POLICY = "gpu-fabric"
_API_SERVICES = api_path("apiregistration.k8s.io/v1", "apiservices")
_NO_SERVICE = "ServiceNotFound"
_NAME_LABEL = "kubernetes.io/metadata.name"
_PLACE: Location = ("software",)


def silent_webhooks(case: Examination) -> Iterator[Finding]:
    """Webhook configurations that fail closed and whose Services have no ready endpoint.

    Before `up`, those that would refuse something of the stack's, and are not its own, which it starts.
    """
    for kind, path, item in _configurations(case.cluster):
        closed = [hook for hook in item.get("webhooks") or () if _fails_closed(hook) and _service_of(hook)]
        silent = [hook for hook in closed if not _answers(case.cluster, _service_of(hook))]
        meets = _is_foreign(case, item) and any(map(partial(_refused, case), silent))
        if silent and (meets or case.phase != "before"):
            # Of what answers in part, nothing is deleted.
            yield _silent(case, kind, path, item, silent, is_whole=len(silent) == len(item["webhooks"]))


def standing_webhooks(case: Examination) -> Iterator[Finding]:
    """The first webhook of a configuration that judges pods in the stack's namespaces, where none of them is silent."""
    for kind, _, item in _configurations(case.cluster):
        hooks = [hook for hook in item.get("webhooks") or () if _refused(case, hook)] if _is_foreign(case, item) else []
        standing = next((hook for hook in hooks if "pods" in _refused(case, hook)), None)
        services = (service for hook in hooks if (service := _service_of(hook)))
        if standing is not None and all(_answers(case.cluster, service) for service in services):
            name = called(kind, item)
            yield finding(
                "PRE091",
                dotted(_PLACE),
                f"{name} judges every pod in namespaces of the stack, and may refuse privileged ones or change them",
                f"see that it lets these namespaces pass: {', '.join(case.stack.every_namespace)}",
                seen=Seen(object=name, field=f"webhooks[{standing.get('name')}].failurePolicy", value="Fail"),
            )


def _configurations(cluster: Cluster) -> Iterator[tuple[str, str, Json]]:
    return ((kind, path, item) for kind, path in _CONFIGURATIONS for item in cluster.items(path))


def _fails_closed(hook: Json) -> bool:
    return bool(hook.get("failurePolicy", "Fail") == "Fail")


def _service_of(hook: Json) -> Json:
    """The Service that a webhook asks; empty where it asks an address."""
    return field(hook, "clientConfig", "service") or {}


def _is_foreign(case: Examination, item: Json) -> bool:
    """Whether a configuration is not the stack's, by its owner, its release, or as one that the stack deletes."""
    stack, cluster = case.stack, case.cluster
    is_cleaned = name_of(item) in stack.cleaned_webhooks
    return stack.is_foreign(item) and not is_cleaned and not stack.installed(cluster, item)


def _refused(case: Examination, hook: Json) -> list[str]:
    """Kinds of the stack that a webhook could refuse in the stack's namespaces; of chosen objects nothing is known."""
    stack, cluster = case.stack, case.cluster
    spaces = [space for space in _namespaces(stack, cluster) if selects(hook.get("namespaceSelector"), space)]
    is_own = stack.keeps(cluster, _service_of(hook).get("namespace"))
    if not _fails_closed(hook) or hook.get("objectSelector") or not spaces or is_own:
        return []
    return [word for rule in hook.get("rules") or () for word in _asked_for(stack, rule)]


def _silent(case: Examination, kind: str, path: str, item: Json, silent: list[Json], *, is_whole: bool) -> Finding:
    name = called(kind, item)
    seen = [
        Seen(
            object=name,
            field=f"webhooks[{hook.get('name')}].clientConfig.service",
            value=f"{_service_name(hook)}, without a ready endpoint; asked about {_asked(hook)}",
        )
        for hook in silent
    ]
    owner = next((row for row in owners() if row.registers(name_of(item))), None)
    here = None if owner is None else presence(case.cluster, owner)
    refused = f"{name} refuses {' and '.join(dict.fromkeys(_asked(hook) for hook in silent))}"
    by_hand = f"`kubectl delete {kind.lower()} {name_of(item)}`"
    if owner is not None and here is Presence.GONE and is_whole:
        return finding(
            "DOC020",
            "",
            f"{refused}: {owner.title}, which registered it, does not exist in the cluster any more",
            f"delete it, the operator registers it again when it is installed: {by_hand}",
            seen=seen,
            steps=[Deletion(path=f"{path}/{name_of(item)}", uid=uid_of(item), expects={}, words=f"delete {name}")],
            is_own=is_of(case.stack, owner),
        )
    return finding(
        "PRE090",
        "",
        f"{refused}: nothing answers at {' and '.join(dict.fromkeys(_service_name(hook) for hook in silent))}",
        _by_hand(owner, here, item, by_hand),
        seen=seen,
    )


def _by_hand(owner: Owner | None, here: Presence | None, item: Json, by_hand: str) -> str:
    if owner is not None and here is Presence.DOWN:
        return f"{owner.title} has no ready pod: see why it does not start; the webhook answers when it does"
    if (release := release_of(item)) is not None:
        return f"it is of the Helm release {release[0]} in namespace {release[1]}: start that, or delete it: {by_hand}"
    return f"start what serves it; if that does not exist any more: {by_hand}"


def _service_name(hook: Json) -> str:
    service = _service_of(hook)
    return f"{service.get('namespace')}/{service.get('name')}"


def _asked(hook: Json) -> str:
    """What a webhook is asked about, with its scope."""
    rules = hook.get("rules") or ()
    what = ", ".join(
        f"{'/'.join(rule.get('operations') or ())} of {'/'.join(rule.get('resources') or ())}" for rule in rules
    )
    selectors = [key for key in ("namespaceSelector", "objectSelector") if hook.get(key)]
    scope = f"where the {' and the '.join(selectors)} match" if selectors else "in the whole cluster"
    return f"{what or 'nothing'} {scope}"


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


def _answers(cluster: Cluster, service: Json) -> bool:
    """Whether a service has an endpoint that is ready; so too where that may not be read."""
    namespace, name = service.get("namespace", ""), service.get("name", "")
    slices_of = api_path("discovery.k8s.io/v1", "endpointslices", namespace)
    path = f"{slices_of}?labelSelector=kubernetes.io/service-name%3D{name}"
    if not cluster.is_readable(path):
        return True
    slices = cluster.items(path)
    endpoints = (entry for part in slices for entry in part.get("endpoints") or ())
    # An endpoint that does not say so counts as ready (EndpointConditions).
    return any(field(entry, "conditions", "ready") is not False for entry in endpoints)


def policy_bindings(case: Examination) -> Iterator[Finding]:
    """Policies that deny objects of the stack, or pods, in its namespaces."""
    stack, cluster = case.stack, case.cluster
    policies = {name_of(item): item for item in cluster.items(api_path(_GROUP, "validatingadmissionpolicies"))}
    reported = set()
    for binding in cluster.items(api_path(_GROUP, "validatingadmissionpolicybindings")):
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
                seen=Seen(
                    object=f"ValidatingAdmissionPolicyBinding {name_of(binding)}",
                    field="spec.validationActions",
                    value=", ".join(field(binding, "spec", "validationActions")),
                ),
            )


def unavailable_apis(case: Examination) -> Iterator[Finding]:
    """APIs of other servers that are not available: while one cannot be listed, no namespace is deleted."""
    for item in case.cluster.items(_API_SERVICES):
        available = condition(item, "Available")
        if available.get("status") != "False":
            continue
        name, reason = name_of(item), str(available.get("reason") or "")
        seen = Seen(object=called("APIService", item), field="status.conditions[Available]", value=f"False: {reason}")
        message = f"the API {name} is not available: {available.get('message') or 'no reason is given'}"
        if reason == _NO_SERVICE and case.phase == "damage":
            yield finding(
                "DOC040",
                "",
                f"{message}; its Service does not exist",
                f"`kubectl delete apiservice {name}`",
                seen=seen,
                steps=[
                    Deletion(
                        path=f"{_API_SERVICES}/{name}", uid=uid_of(item), expects={}, words=f"delete APIService {name}"
                    )
                ],
            )
        else:
            yield finding("PRE093", "", message, seen=seen)
