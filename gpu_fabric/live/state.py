"""The stack's recorded state: the locks of runs, and operations whose outcome Pulumi does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Json
from gpu_fabric.live.steps import CANCEL, REFRESH

# Types whose ids a cloud assigns: what an interrupted creation made cannot be found again.
_CLOUDS = ("digitalocean:", "oci:")


class Lock(NamedTuple):
    """A lock on the stack: where it is, who took it and when, and whether that process is known to run."""

    place: str
    taken_by: str
    holder: Literal["runs", "gone", "unknown"]


class UnreadStateError(Exception):
    """A stack's state could not be read; the text is the reason."""


@dataclass(frozen=True)
class StackState:
    """What Pulumi has recorded of a stack; resources and pending operations as its JSON has them."""

    resources: tuple[Json, ...] = ()
    pending: tuple[Json, ...] = ()
    locks: tuple[Lock, ...] = ()

    @property
    def is_busy(self) -> bool:
        """Whether a run may be at work on the stack."""
        return any(lock.holder != "gone" for lock in self.locks)

    @property
    def was_interrupted(self) -> bool:
        """Whether a run has ended without its end being recorded."""
        return not self.is_busy and bool(self.locks or self.pending)

    @property
    def creations(self) -> list[Json]:
        """The resources whose creation was interrupted."""
        return [operation["resource"] for operation in self.pending if operation.get("type") == "creating"]


def state_damages(state: StackState) -> Iterator[Finding]:
    """Locks without a run, and operations without an outcome; while a run may be at work, its lock alone."""
    for lock in state.locks:
        seen = Seen(object=f"lock {lock.place}", value=lock.taken_by)
        if lock.holder == "runs":
            yield finding(
                "DOC003",
                "",
                f"{lock.taken_by} runs Pulumi on the stack right now; its operations are not judged",
                seen=seen,
            )
        else:
            is_gone = lock.holder == "gone"
            yield finding(
                "DOC001",
                "",
                f"the stack is locked by {lock.taken_by}, "
                + ("which does not run any more" if is_gone else "of which this machine cannot know whether it runs"),
                seen=seen,
                steps=[CANCEL],
                is_own=is_gone,
            )
    if state.is_busy:
        return
    for operation in state.pending:
        yield _interrupted(operation)


def _interrupted(operation: Json) -> Finding:
    resource: dict[str, Any] = operation.get("resource") or {}
    urn, kind, doing = str(resource.get("urn", "")), str(resource.get("type", "")), str(operation.get("type", ""))
    name = urn.rpartition("::")[2]
    lost = doing == "creating" and kind.startswith(_CLOUDS)
    outcome = (
        "its cloud may have it, at your expense, and the stack does not know of it"
        if lost
        else "whether it was done is not recorded"
    )
    return finding(
        "DOC002",
        "",
        f"{name} was interrupted while {doing}: {outcome}",
        "look for it in the account, delete it there or `pulumi import` it, then "
        "`pulumi refresh --clear-pending-creates`"
        if lost
        else "`pulumi refresh --clear-pending-creates`",
        seen=Seen(object=urn, field="pending_operations[].type", value=doing),
        steps=[REFRESH],
        # What is paid for and then forgotten is worth a question.
        is_own=not lost,
    )
