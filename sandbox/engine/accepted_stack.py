"""A sandbox's engine and cluster as `gpu-fabric acceptance` uses them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_fabric.cli.acceptance import Mode, Trial, accept
from gpu_fabric.cli.kubectl import Kubectl
from gpu_fabric.cli.pulumi_command import PulumiError
from gpu_fabric.live.state import StackState
from gpu_fabric.spec.load import read_file
from ..failure import SandboxError
from ..home import COMMAND
from .commands import SandboxEngine, Stack, announcement


@dataclass(frozen=True)
class AcceptedStack:
    """Pulumi in the sandbox's own workspace, and the cluster of a stack there. Its errors are PulumiErrors.

    `start` starts the sandbox's processes that the stack needs.
    """

    engine: SandboxEngine
    stack: Stack
    start: Callable[[], object]

    def version(self) -> str:
        """The version of the Pulumi that the sandbox has built."""
        with _as_pulumi_error():
            return self.engine.runs.capture(["version"], self.engine.workspace.stacks).strip()

    def create(self) -> None:
        """Start the sandbox; `up` creates the stack."""
        with _as_pulumi_error():
            self.start()

    def state(self) -> StackState:
        """What is recorded of the stack; empty for one that was never created, or is destroyed."""
        workspace, name = self.engine.workspace, self.stack.name
        return workspace.state(name) or StackState(locks=workspace.locks(name))

    def show(self, verb: str, events: Path) -> int:
        """Run `up` or `destroy`, as `make` does; raises KeyboardInterrupt after the end of an interrupted run."""
        with _as_pulumi_error():
            if verb == "destroy":
                return self.engine.destroy(self.stack, events=events)
            return self.engine.up(self.stack, as_json=False, events=events)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secret ones masked."""
        with _as_pulumi_error():
            found: dict[str, Any] = json.loads(self.engine.outputs(self.stack, show_secrets=False))
            return found

    @contextmanager
    def kubectl(self) -> Iterator[Kubectl]:
        """The sandbox's kubectl, on the stack's cluster."""
        with _as_pulumi_error():
            found = self.engine.kubectl(self.stack)
        yield found


def accept_stack(accepted: AcceptedStack, mode: Mode, folder: Path | None, *, yes: bool) -> int:
    """Do what `gpu-fabric acceptance` does, and give the exit status."""
    stack, engine = accepted.stack, accepted.engine
    file = engine.workspace.stack_config(stack.name, stack.file, stack.sections)
    trial = Trial(
        spec=stack.spec,
        plan=stack.plan,
        document=read_file(file),
        folder=folder or Path(f"acceptance-{stack.name}"),
        where=announcement(stack, engine.home) or f"the sandbox in {engine.home.root}",
        is_simulated=True,
        command=f"{COMMAND} acceptance" + (" --sandbox" if stack.simulated else ""),
    )
    return accept(trial, accepted, mode, yes=yes)


@contextmanager
def _as_pulumi_error() -> Iterator[None]:
    try:
        yield
    except SandboxError as error:
        raise PulumiError(" ".join(filter(None, (error.message, error.remedy)))) from None
