"""Repair what an interrupted run left, before the next one: nothing is created twice, nothing is lost.

A killed run leaves up to four things: processes, a lock, pending operations (their outcome is unknown to the engine),
and Helm releases with a pending operation. The processes are the sandbox's own; the rest is judged and mended as
`gpu-fabric doctor` does. In the sandbox no other run can be at work, so that nothing is waited for or asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpu_fabric.base import clock
from gpu_fabric.base.enumeration import quantity
from gpu_fabric.live.cluster import Cluster, Json
from gpu_fabric.live.drift_and_damages import run_damages
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.mending import MendingError, mend
from gpu_fabric.live.stack import Stack
from ..failure import SandboxError
from ..home import COMMAND
from ..kubernetes_api import Api
from .cluster_writer import SandboxWriter
from .run import Runs
from .workspace import Workspace

Say = Callable[[str], None]


def recover(workspace: Workspace, runs: Runs, apis: Sequence[Api], stack: Stack, say: Say, *, destroying: bool) -> None:
    """Mend what an earlier run on the stack left in its clusters; prints what is damaged and what was done.

    Raises SandboxError when the engine or the cluster refuses a repair.
    """
    if count := runs.end_leftovers():
        say(f"mended: ended {quantity(count, 'process')} of an interrupted run")
    for api in apis or (None,):
        writer = SandboxWriter(workspace, runs, stack.plan.stack, api)
        state = writer.state()
        if workspace.state(stack.plan.stack) is None and not state.locks:
            continue
        case = Examination(
            stack=stack,
            cluster=Cluster(writer.read, _nothing_is_created),
            state=state,
            at_s=clock.seconds(),
            purpose="destroy" if destroying else "up",
            is_settled=True,
        )
        # What a simulated cloud may have created costs nothing, so that it needs no question either.
        found = [entry for entry in run_damages(case) if entry.is_own or entry.id == "DOC002"]
        for entry in found:
            say(entry.text)
        try:
            mend(found, writer, say)
        except MendingError as error:
            raise SandboxError(
                f"an interrupted run could not be repaired: {error}",
                f"If it stays so: `{COMMAND} reset` deletes the simulated cluster and its state, then start again.",
            ) from None


def _nothing_is_created(path: str, manifest: Json) -> Json:
    raise AssertionError(f"an examination creates nothing, and asked for {manifest.get('kind')} in {path}")
