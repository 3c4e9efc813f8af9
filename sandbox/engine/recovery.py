"""Repair what an interrupted run left, before the next one: nothing is created twice, nothing is lost.

A killed run leaves up to four things: processes, a lock, pending operations (their outcome is unknown to the engine),
and Helm releases with a pending operation. An API server that stopped during a run leaves only the last. Helm refuses
any operation on such a release, so its own records of releases (secrets) are read and repaired.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from sandbox.engine.run import Runs
from sandbox.engine.workspace import StackState, Workspace
from sandbox.failure import SandboxError
from sandbox.kubernetes_api import Api, delete_object, delete_path

INTERRUPTED = frozenset({"pending-install", "pending-upgrade", "pending-rollback"})


@dataclass(frozen=True)
class Revision:
    """One revision of a release."""

    namespace: str
    name: str
    number: int
    status: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/sh.helm.release.v1.{self.name}.v{self.number}"

    @property
    def release(self) -> tuple[str, str]:
        return self.namespace, self.name


def latest_revisions(api: Api) -> list[Revision]:
    """The newest revision of every release in the cluster."""
    newest: dict[tuple[str, str], Revision] = {}
    for secret in api.get("/api/v1/secrets", labelSelector="owner=helm")["items"]:
        labels = secret["metadata"]["labels"]
        revision = Revision(secret["metadata"]["namespace"], labels["name"], int(labels["version"]), labels["status"])
        if revision.release not in newest or newest[revision.release].number < revision.number:
            newest[revision.release] = revision
    return sorted(newest.values(), key=lambda revision: revision.release)


def forget(api: Api, revision: Revision) -> None:
    """Delete a revision's record. What it created stays, and the next install adopts it by its Helm labels."""
    delete_path(api, revision.path)


def forget_release(api: Api, namespace: str, name: str) -> None:
    """Delete the records of all revisions of a release; what it created stays."""
    selector = f"owner=helm,name={name}"
    for secret in api.get(f"/api/v1/namespaces/{namespace}/secrets", labelSelector=selector)["items"]:
        delete_path(api, f"/api/v1/namespaces/{namespace}/secrets/{secret['metadata']['name']}")


def uninstall(api: Api, revision: Revision) -> None:
    """Delete the objects of a release's manifest, then its records: for a release that is not in the engine's state."""
    secret = api.get(revision.path)
    # Kubernetes encodes a secret's data once, Helm its record a second time
    record: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
    objects = [document for document in yaml.safe_load_all(record["manifest"]) if document]
    for document in reversed(objects):
        delete_object(api, document, revision.namespace)
    forget_release(api, *revision.release)


RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"
KEPT_OBJECTS_TYPE = "pulumi-python:dynamic/gpu-fabric:KeptObjects"
# Types whose ids a cloud assigns: an interrupted creation cannot be found again.
_CLOUDS = ("digitalocean:", "oci:")

Say = Callable[[str], None]


def recover(workspace: Workspace, runs: Runs, apis: Sequence[Api], stack: str, say: Say, *, destroying: bool) -> None:
    """Repair what an earlier run on the stack left in its clusters; prints one line for each repair.

    Before a destroy, objects whose creation was interrupted are deleted, since they are not in the engine's state.
    Before any other command they are created again, which adopts what exists. Raises SandboxError when the engine
    refuses a repair.
    """
    if count := runs.end_leftovers():
        say(f"repaired: ended {count} process{'es' if count > 1 else ''} of an interrupted run")
    if workspace.locks(stack):
        _engine(runs, workspace, ["cancel", "--yes", "--stack", stack])
        say("repaired: released the lock of an interrupted run")
    state = workspace.state(stack)
    if state is None:
        return
    repair = _releases_for_destroy if destroying else _releases_for_up
    repaired = [api for api in apis if repair(api, state, say)]
    if not state.pending and not repaired:
        return
    refresh = ["refresh", "--yes", "--skip-preview", "--non-interactive", "--stack", stack]
    refresh += ["--config-file", str(workspace.stack_file(stack))]
    for api in apis if destroying else ():
        _delete_creations(api, state)
    _engine(runs, workspace, [*refresh, "--clear-pending-creates"])
    for operation in state.pending:
        name, kind = operation["resource"]["urn"].rpartition("::")[2], operation["resource"]["type"]
        lost = operation["type"] == "creating" and kind.startswith(_CLOUDS)
        outcome = "its cloud may have it, and the stack no longer knows of it" if lost else "read it from the cluster"
        say(f"repaired: {name} was interrupted while {operation['type']}; {outcome}")


def _engine(runs: Runs, workspace: Workspace, arguments: list[str]) -> None:
    if runs.run(arguments, workspace.stacks, quiet=True).status != 0:
        raise SandboxError(
            f"an interrupted run could not be repaired: pulumi {arguments[0]} failed (its output is above)",
            "If it stays so: `python -m sandbox reset` deletes the simulated cluster and its state, then start again.",
        )


def _releases_for_up(api: Api, state: StackState, say: Say) -> bool:
    """Make Helm ready for an install or upgrade of every release; True when something was repaired."""
    known, creating = _releases_in_state(state), set(_releases_being_created(state))
    repaired = False
    for revision in latest_revisions(api):
        if revision.status in INTERRUPTED:
            forget(api, revision)
            say(f"repaired: forgot the {revision.status} revision {revision.number} of release {revision.name}")
        elif revision.status == "uninstalling" or (
            # Helm has the release, the engine does not: an install would be refused, deployed or failed
            revision.release in creating or (revision.status == "failed" and revision.release not in known)
        ):
            forget_release(api, *revision.release)
            say(f"repaired: release {revision.name} ({revision.status}) is installed again over what it left")
        else:
            continue
        repaired = True
    return repaired


def _releases_for_destroy(api: Api, state: StackState, say: Say) -> bool:
    """Uninstall the releases that are not in the engine's state; True when there was one."""
    known, creating = _releases_in_state(state), set(_releases_being_created(state))
    strays = [revision for revision in latest_revisions(api) if _is_stray(revision, known, creating)]
    for revision in strays:
        uninstall(api, revision)
        say(f"repaired: uninstalled release {revision.name}, which an interrupted run had begun")
    return bool(strays)


def _is_stray(revision: Revision, known: set[tuple[str, str]], creating: set[tuple[str, str]]) -> bool:
    if revision.release in known:
        return False
    return revision.release in creating or revision.status in INTERRUPTED | {"failed", "uninstalling"}


def _releases_in_state(state: StackState) -> set[tuple[str, str]]:
    return {_release_name(resource) for resource in state.resources if resource["type"] == RELEASE_TYPE}


def _releases_being_created(state: StackState) -> Iterator[tuple[str, str]]:
    for operation in _creations(state):
        if operation["resource"]["type"] == RELEASE_TYPE:
            yield _release_name(operation["resource"])


def _creations(state: StackState) -> list[dict[str, Any]]:
    return [operation for operation in state.pending if operation["type"] == "creating"]


def _release_name(resource: dict[str, Any]) -> tuple[str, str]:
    inputs = resource.get("inputs") or {}
    return str(inputs.get("namespace", "default")), str(inputs.get("name", ""))


def _delete_creations(api: Api, state: StackState) -> None:
    """Delete the objects whose creation was interrupted: the engine drops them from its state, created or not.

    Not among them are releases (uninstalled as strays) and patches (another controller owns the object).
    """
    for operation in _creations(state):
        kind, inputs = operation["resource"]["type"], operation["resource"].get("inputs") or {}
        if kind == KEPT_OBJECTS_TYPE:
            for manifest in (manifest for named in inputs["objects"].values() for manifest in named.values()):
                delete_object(api, manifest)
        elif kind.startswith("kubernetes:") and not kind.endswith("Patch") and {"kind", "metadata"} <= inputs.keys():
            delete_object(api, inputs)
