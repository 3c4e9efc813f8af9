"""What an interrupted run leaves behind, put right before the next one: nothing doubled, nothing lost.

A run that was killed leaves up to four things: processes, a lock, operations that the engine does not know the outcome
of, and Helm releases that Helm believes to be still in the middle of something. An API server that went away in the
middle of a run leaves the last alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sandbox.engine.releases import (
    INTERRUPTED,
    Revision,
    forget,
    forget_release,
    latest_revisions,
    uninstall,
)
from sandbox.engine.run import Runs
from sandbox.engine.workspace import StackState, Workspace
from sandbox.failure import SandboxError
from sandbox.kubernetes_api import Api
from sandbox.objects import delete_object

RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"
KEPT_OBJECTS_TYPE = "pulumi-python:dynamic/gpu-fabric:KeptObjects"
# Types of what gets its id from a cloud: nobody else can say later which one it was.
_CLOUDS = ("digitalocean:", "oci:")

Say = Callable[[str], None]


def recover(workspace: Workspace, runs: Runs, apis: Sequence[Api], stack: str, say: Say, *, destroying: bool) -> None:
    """Put right what an earlier run on the stack left in its clusters; says one line for each repair.

    Before a destroy, what was being created is deleted, since the engine would not know of it; otherwise it is
    created again, which adopts what exists. Raises SandboxError when the engine refuses a repair.
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
            # Helm has it but the engine does not: an install would be refused, though it ended well or failed
            revision.release in creating or (revision.status == "failed" and revision.release not in known)
        ):
            forget_release(api, *revision.release)
            say(f"repaired: release {revision.name} ({revision.status}) is installed again over what it left")
        else:
            continue
        repaired = True
    return repaired


def _releases_for_destroy(api: Api, state: StackState, say: Say) -> bool:
    """Uninstall the releases that the engine does not know of and would leave behind; True when there was one."""
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
    """Delete the objects that were being created: the engine would forget them, made or not.

    Not among them are releases (uninstalled as strays) and patches (the object is somebody else's).
    """
    for operation in _creations(state):
        kind, inputs = operation["resource"]["type"], operation["resource"].get("inputs") or {}
        if kind == KEPT_OBJECTS_TYPE:
            for manifest in (manifest for named in inputs["objects"].values() for manifest in named.values()):
                delete_object(api, manifest)
        elif kind.startswith("kubernetes:") and not kind.endswith("Patch") and {"kind", "metadata"} <= inputs.keys():
            delete_object(api, inputs)
