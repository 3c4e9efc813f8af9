"""A sandbox's cluster and engine as `gpu-fabric doctor` reads and mends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpu_fabric.live.cluster import Json
from gpu_fabric.live.mending import ChangedError, MendingError
from gpu_fabric.live.state import StackState
from gpu_fabric.live.steps import EngineCommand
from ..kubernetes_api import Api, ApiError
from .run import Runs
from .workspace import Workspace

_GONE, _CONFLICT = 404, 409


@dataclass(frozen=True)
class SandboxWriter:
    """The cluster of a stack, if there is one, and Pulumi in the sandbox's own workspace."""

    workspace: Workspace
    runs: Runs
    stack: str
    api: Api | None

    def state(self) -> StackState:
        """What the engine has recorded of the stack; empty for one that was never created."""
        return self.workspace.state(self.stack) or StackState(locks=self.workspace.locks(self.stack))

    def read(self, path: str) -> Json | None:
        """The object or list at a path; None if there is none, or no cluster. Raises ApiError."""
        try:
            return None if self.api is None else self.api.get(path)
        except ApiError as error:
            if error.status == _GONE:
                return None
            raise

    def replace(self, path: str, item: Json) -> None:
        """Raises ChangedError, MendingError."""
        self._write("PUT", path, item)

    def delete(self, path: str, preconditions: dict[str, str]) -> None:
        """Raises ChangedError, MendingError."""
        options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "propagationPolicy": "Background"}
        self._write("DELETE", path, {**options, "preconditions": preconditions})

    def run(self, command: EngineCommand) -> None:
        """Raises MendingError."""
        arguments = [*command.arguments, "--stack", self.stack]
        if command.arguments[0] != "cancel":
            arguments += ["--non-interactive", "--config-file", str(self.workspace.stack_file(self.stack))]
        if self.runs.run(arguments, self.workspace.stacks, quiet=True).status != 0:
            raise MendingError(f"pulumi {arguments[0]} failed (its output is above)")

    def _write(self, method: str, path: str, body: dict[str, Any]) -> None:
        if self.api is None:
            return
        try:
            self.api.request(method, path, body)
        except ApiError as error:
            if error.status == _CONFLICT:
                raise ChangedError(str(error)) from None
            if error.status != _GONE:
                raise MendingError(f"{method} {path}: {error}") from None
