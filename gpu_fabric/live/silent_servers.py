"""What refuses requests because nothing answers: webhooks of operators that have ended, and APIs without a server."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.admission import CONFIGURATIONS, answers
from gpu_fabric.live.cluster import Json, called, collection, field, name_of, release_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.owners import Owner, Presence, is_of, owners, presence
from gpu_fabric.live.steps import Deletion, uid_of

_API_SERVICES = collection("apiregistration.k8s.io/v1", "apiservices")
_NO_SERVICE = "ServiceNotFound"


def webhook_damages(case: Examination) -> Iterator[Finding]:
    """Webhook configurations that fail closed and whose Services have no ready endpoint."""
    for kind, path in CONFIGURATIONS:
        for item in case.cluster.items(path):
            closed = [hook for hook in item.get("webhooks") or () if _fails_closed(hook)]
            silent = [hook for hook in closed if not answers(case.cluster, hook["clientConfig"]["service"])]
            if silent:
                # Of what answers in part, nothing is deleted.
                yield _silent(case, kind, path, item, silent, is_whole=len(silent) == len(item["webhooks"]))


def _fails_closed(hook: Json) -> bool:
    return hook.get("failurePolicy", "Fail") == "Fail" and field(hook, "clientConfig", "service") is not None


def _silent(case: Examination, kind: str, path: str, item: Json, silent: list[Json], *, is_whole: bool) -> Finding:
    name = called(kind, item)
    seen = [
        Seen(
            object=name,
            field=f"webhooks[{hook.get('name')}].clientConfig.service",
            value=f"{_service(hook)}, without a ready endpoint; asked about {_asked(hook)}",
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
        "DOC021",
        "",
        f"{refused}: nothing answers at {' and '.join(dict.fromkeys(_service(hook) for hook in silent))}",
        _by_hand(owner, here, item, by_hand),
        seen=seen,
    )


def _by_hand(owner: Owner | None, here: Presence | None, item: Json, by_hand: str) -> str:
    if owner is not None and here is Presence.DOWN:
        return f"{owner.title} has no ready pod: see why it does not start; the webhook answers when it does"
    if (release := release_of(item)) is not None:
        return f"it is of the Helm release {release[0]} in namespace {release[1]}: start that, or delete it: {by_hand}"
    return f"start what serves it; if that does not exist any more: {by_hand}"


def _service(hook: Json) -> str:
    service = hook["clientConfig"]["service"]
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


def api_service_damages(case: Examination) -> Iterator[Finding]:
    """APIs of other servers that are not available: while one cannot be listed, no namespace is deleted."""
    for item in case.cluster.items(_API_SERVICES):
        conditions = {entry.get("type"): entry for entry in field(item, "status", "conditions") or ()}
        available = conditions.get("Available")
        if field(available, "status") != "False":
            continue
        name, reason = name_of(item), str(field(available, "reason") or "")
        seen = Seen(object=called("APIService", item), field="status.conditions[Available]", value=f"False: {reason}")
        message = f"the API {name} is not available: {field(available, 'message') or 'no reason is given'}"
        if reason == _NO_SERVICE:
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
            yield finding(
                "DOC041",
                "",
                message,
                "see why its server has no ready pod, or does not answer",
                seen=seen,
            )
