"""Helm's records of releases: operations without an end, and installations that Pulumi does not know of.

Helm keeps each revision of a release in a Secret, and refuses every operation on a release whose newest revision is
pending. Read are only records that are not superseded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from gpu_fabric.findings import Finding, Seen, Step, finding
from gpu_fabric.live.cluster import Cluster, Json, called, field, labels_of, name_of, release_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.helm_records import manifests, object_path, record_of
from gpu_fabric.live.owners import Owner, Presence, owners, presence
from gpu_fabric.live.state import StackState
from gpu_fabric.live.steps import REFRESH, Deletion, uid_of

RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"
KEPT_OBJECTS_TYPE = "pulumi-python:dynamic/gpu-fabric:KeptObjects"
_PENDING = frozenset({"pending-install", "pending-upgrade", "pending-rollback"})
_BEGUN = frozenset({*_PENDING, "failed", "uninstalling"})
# Helm writes the record when it begins, and waits for so long at most; then it records what came of it.
_FOREIGN_TIMEOUT_S, _MARGIN_S = 3600, 60


@dataclass(frozen=True)
class Revision:
    """The newest revision of a release."""

    namespace: str
    name: str
    number: int
    status: str
    modified: float | None
    record: Json

    @property
    def release(self) -> tuple[str, str]:
        """Namespace and name of the release."""
        return self.namespace, self.name

    @property
    def seen(self) -> Seen:
        """Its record and state."""
        since = "" if self.modified is None else f", modifiedAt {self.modified:.0f}"
        return Seen(object=called("Secret", self.record), field="metadata.labels.status", value=f"{self.status}{since}")


def release_damages(case: Examination) -> Iterator[Finding]:
    """Releases on which Helm, or the next run, would stop."""
    if case.state is not None and case.state.is_busy:
        return
    known = set() if case.state is None else _releases_in(case.state)
    creating = set() if case.state is None else {*_releases_being_created(case.state)}
    own = {(release.namespace, release.name) for release in case.stack.releases.values()} | known | creating
    for revision in _newest(case.cluster):
        if case.purpose == "destroy":
            stray = revision.release not in known and (revision.release in creating or revision.status in _BEGUN)
            if case.state is not None and revision.release in own and stray:
                yield _half_installed(case, revision)
        elif revision.status in _PENDING or (revision.status == "uninstalling" and revision.release in own):
            is_own = revision.release in own
            if reason := _may_be_at_work(case, revision, is_own=is_own):
                yield _under_way(revision, reason)
            elif revision.status in _PENDING:
                yield _pending(case, revision, is_own=is_own)
            else:
                yield _unknown_to_the_state(case, revision)
        elif revision.release in own and (
            revision.release in creating or (revision.release not in known and _was_begun_by_the_stack(case, revision))
        ):
            yield _unknown_to_the_state(case, revision)
        elif revision.status == "deployed" and (owner := _missing_operator(case, revision)):
            yield _without_operator(owner, revision)


def creation_damages(case: Examination) -> Iterator[Finding]:
    """Before a destroy: objects whose creation was interrupted, which Pulumi drops from its state, created or not.

    Not among them are releases, which are uninstalled as strays, and patches, whose object another controller owns.
    """
    if case.purpose != "destroy" or case.state is None or case.state.is_busy:
        return
    for manifest in (found for resource in case.state.creations for found in _manifests(resource)):
        path = object_path(case.cluster, manifest, "default")
        item = None if path is None else case.cluster.get(path)
        if path is not None and item is not None and not case.stack.is_foreign(item):
            name = called(str(manifest["kind"]), {"metadata": manifest["metadata"]})
            yield finding(
                "DOC004",
                "",
                f"{name} was being created by an interrupted run, and a destroy would not find it",
                f"delete it: `kubectl delete {str(manifest['kind']).lower()} {name_of(manifest)}`",
                seen=Seen(object=name, field="metadata.uid", value=uid_of(item)),
                steps=[Deletion(path=path, uid=uid_of(item), expects={}, words=f"delete {name}"), REFRESH],
                is_own=True,
            )


def _newest(cluster: Cluster) -> list[Revision]:
    newest: dict[tuple[str, str], Revision] = {}
    selector = quote("owner=helm,status!=superseded", safe="")
    for secret in cluster.items(f"/api/v1/secrets?labelSelector={selector}"):
        labels = labels_of(secret)
        number, modified = labels.get("version", ""), labels.get("modifiedAt", "")
        if not number.isdigit() or not {"name", "status"} <= labels.keys():
            continue
        revision = Revision(
            namespace=str(field(secret, "metadata", "namespace") or ""),
            name=labels["name"],
            number=int(number),
            status=labels["status"],
            modified=float(modified) if modified.isdigit() else None,
            record=secret,
        )
        if revision.release not in newest or newest[revision.release].number < revision.number:
            newest[revision.release] = revision
    return sorted(newest.values(), key=lambda revision: revision.release)


def _missing_operator(case: Examination, revision: Revision) -> Owner | None:
    """The operator that a release of the stack installs, if it does not exist."""
    planned = case.stack.releases.get(revision.name)
    if planned is None or planned.namespace != revision.namespace:
        return None
    owner = next((row for row in owners() if row.release == revision.name), None)
    return owner if owner is not None and presence(case.cluster, owner) is Presence.GONE else None


def _without_operator(owner: Owner, revision: Revision) -> Finding:
    return finding(
        "DOC014",
        "",
        f"{owner.title} does not exist, and Helm has {_called(revision)} as deployed: no `up` installs it again",
        f"`helm rollback {revision.name} {revision.number} -n {revision.namespace}` writes again what the release has",
        seen=revision.seen,
    )


def _under_way(revision: Revision, reason: str) -> Finding:
    return finding(
        "DOC012",
        "",
        f"{_called(revision)} is {revision.status}, and Helm may still be at work on it: {reason}",
        f"run the command again then; if it is certain that nothing is at work: --settled, or {_by_hand(revision)}",
        seen=revision.seen,
    )


def _pending(case: Examination, revision: Revision, *, is_own: bool) -> Finding:
    name = _called(revision)
    return finding(
        "DOC010",
        "",
        f"{name} is {revision.status}, and Helm refuses every other operation on it",
        f"forget revision {revision.number}; what it created stays: {_by_hand(revision)}",
        seen=revision.seen,
        steps=[_forgetting(revision.record, f"forget revision {revision.number} of {name}"), *_refresh(case)],
        is_own=is_own,
    )


def _called(revision: Revision) -> str:
    return f"release {revision.name} in namespace {revision.namespace}"


def _by_hand(revision: Revision) -> str:
    return f"`kubectl -n {revision.namespace} delete secret {name_of(revision.record)}`"


def _may_be_at_work(case: Examination, revision: Revision, *, is_own: bool) -> str:
    """Why Helm may still be at work on a pending release; empty where it cannot."""
    if case.is_settled or (is_own and case.state is not None and case.state.was_interrupted):
        return ""
    planned = case.stack.releases.get(revision.name) if is_own else None
    limit = (_FOREIGN_TIMEOUT_S if planned is None else planned.timeout) + _MARGIN_S
    if revision.modified is None:
        return "its record does not say since when"
    age = case.at_s - revision.modified
    return "" if age > limit else f"it began {age:.0f} s ago, and has {limit} s"


def _was_begun_by_the_stack(case: Examination, revision: Revision) -> bool:
    """Whether a run of the stack began a release that is not in its state; a stack that was never up began none.

    One that is deployed is another's, unless its namespace is the stack's: the API server may have been away just when
    the provider read the finished release, whose installation then counts as failed.
    """
    if case.state is None or not case.state.resources:
        return False
    return revision.status == "failed" or (
        revision.status == "deployed" and case.stack.keeps(case.cluster, revision.namespace)
    )


def _unknown_to_the_state(case: Examination, revision: Revision) -> Finding:
    name = _called(revision)
    return finding(
        "DOC011",
        "",
        f"{name} is {revision.status}, and the stack does not have it: Helm refuses to install it once more",
        f"forget its records, and the next `up` installs it over what it left: "
        f"`kubectl -n {revision.namespace} delete secret -l owner=helm,name={revision.name}`",
        seen=revision.seen,
        steps=[*_forgetting_all(case, revision), *_refresh(case)],
        is_own=True,
    )


def _half_installed(case: Examination, revision: Revision) -> Finding:
    name = _called(revision)
    return finding(
        "DOC013",
        "",
        f"{name} is {revision.status}, and the stack does not have it: a destroy would leave it",
        f"`helm uninstall -n {revision.namespace} {revision.name}`",
        seen=revision.seen,
        steps=[*_uninstalling(case.cluster, revision), *_forgetting_all(case, revision), *_refresh(case)],
        is_own=True,
    )


def _refresh(case: Examination) -> tuple[Step, ...]:
    return () if case.state is None else (REFRESH,)


def _forgetting(secret: Json, words: str) -> Deletion:
    status = labels_of(secret).get("status")
    return Deletion(
        path=f"/api/v1/namespaces/{field(secret, 'metadata', 'namespace')}/secrets/{name_of(secret)}",
        uid=uid_of(secret),
        expects={"metadata": {"labels": {"status": status}}},
        words=words,
    )


def _forgetting_all(case: Examination, revision: Revision) -> Iterator[Deletion]:
    selector = quote(f"owner=helm,name={revision.name}", safe="")
    for secret in case.cluster.items(f"/api/v1/namespaces/{revision.namespace}/secrets?labelSelector={selector}"):
        number = labels_of(secret).get("version")
        yield _forgetting(secret, f"forget revision {number} of release {revision.name}")


def _uninstalling(cluster: Cluster, revision: Revision) -> Iterator[Deletion]:
    """The deletion of what is in a release's manifest and is the release's, the last first."""
    # A record that cannot be read has nothing that could be uninstalled by it.
    for document in reversed([*manifests(record_of(revision.record) or {})]):
        path = object_path(cluster, document, revision.namespace)
        item = None if path is None else cluster.get(path)
        if path is None or item is None or release_of(item) != (revision.name, revision.namespace):
            continue
        name = called(str(document.get("kind")), item)
        yield Deletion(path=path, uid=uid_of(item), expects={}, words=f"delete {name} of release {revision.name}")


def _manifests(resource: Json) -> Iterator[Json]:
    kind, inputs = str(resource.get("type", "")), resource.get("inputs") or {}
    if kind == KEPT_OBJECTS_TYPE:
        yield from (manifest for named in inputs["objects"].values() for manifest in named.values())
    elif kind.startswith("kubernetes:") and not kind.endswith("Patch") and {"kind", "metadata"} <= inputs.keys():
        yield inputs


def _releases_in(state: StackState) -> set[tuple[str, str]]:
    return {_release_name(resource) for resource in state.resources if resource.get("type") == RELEASE_TYPE}


def _releases_being_created(state: StackState) -> Iterator[tuple[str, str]]:
    return (_release_name(resource) for resource in state.creations if resource.get("type") == RELEASE_TYPE)


def _release_name(resource: Json) -> tuple[str, str]:
    inputs = resource.get("inputs") or {}
    return str(inputs.get("namespace", "default")), str(inputs.get("name", ""))
