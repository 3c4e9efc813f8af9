"""Mending: each step reads its object again, and writes only what is still as it was judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from gpu_fabric.findings import Finding, Step
from gpu_fabric.live.cluster import Json, NotAllowed, field
from gpu_fabric.live.state import StackState
from gpu_fabric.live.steps import Edit, EngineCommand, ObjectStep, merged, still_has, uid_of

_ATTEMPTS = 5


class ChangedError(Exception):
    """The object has changed since it was read; nothing was written."""


class MendingError(Exception):
    """A step could not be done; the text has the reason. Steps before it have been done."""


class ClusterWriter(Protocol):
    """A cluster and Pulumi on a stack, to be read and mended."""

    def state(self) -> StackState:
        """What is recorded of the stack. Raises UnreadStateError."""

    def read(self, path: str) -> Json | None:
        """The object or list at a path as it is now; None if there is none. Raises NotAllowed."""

    def replace(self, path: str, item: Json) -> None:
        """Write an object, with its resourceVersion as the condition. Raises ChangedError, MendingError."""

    def delete(self, path: str, preconditions: dict[str, str]) -> None:
        """Delete an object under these conditions, if it still exists. Raises ChangedError, MendingError."""

    def run(self, command: EngineCommand) -> None:
        """Run Pulumi on the stack. Raises MendingError."""


Say = Callable[[str], None]


def mend(chosen: Sequence[Finding], writer: ClusterWriter, say: Say) -> tuple[str, ...]:
    """Carry out the steps of damages, in their order, and report each as it was done; gives these reports.

    Raises:
        MendingError: a step failed; those before it were reported.
    """
    reports = list[str]()
    for step in _in_order(chosen):
        done = "mended" if _carry_out(step, writer) else "left as it is, since it changed"
        report = f"{done}: {step.words}"
        reports.append(report)
        say(report)
    return tuple(reports)


def _in_order(chosen: Sequence[Finding]) -> Iterator[Step]:
    """Each step once; those of the engine that come last after all others."""
    found = {_key(step): step for entry in chosen for step in entry.steps}.values()
    yield from (step for step in found if not _is_last(step))
    yield from (step for step in found if _is_last(step))


def _key(step: Step) -> str:
    return f"{type(step).__name__} {step.path} {step.words}" if isinstance(step, ObjectStep) else step.words


def _is_last(step: Step) -> bool:
    return isinstance(step, EngineCommand) and step.is_last


def _carry_out(step: Step, writer: ClusterWriter) -> bool:
    """Do a step; False where its object is not as it was judged."""
    if isinstance(step, EngineCommand):
        writer.run(step)
        return True
    assert isinstance(step, ObjectStep), "no other step is made by a judge"
    for _ in range(_ATTEMPTS):
        try:
            item = writer.read(step.path)
        except NotAllowed as error:
            raise MendingError(str(error)) from None
        if item is None:
            return True
        if uid_of(item) != step.uid or not still_has(item, step.expects):
            return False
        try:
            _write(step, item, writer)
        except ChangedError:
            # Such as the heartbeat of a node: whether it is still the same damage is judged again.
            continue
        return True
    raise MendingError(f"{step.path} changes all the time: {step.words}")


def _write(step: ObjectStep, item: Json, writer: ClusterWriter) -> None:
    if isinstance(step, Edit):
        writer.replace(step.path, merged(item, step.merge))
    else:
        version = field(item, "metadata", "resourceVersion")
        writer.delete(step.path, {"uid": step.uid, **({"resourceVersion": str(version)} if version else {})})
