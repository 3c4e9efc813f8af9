"""`up`, `preview`, `destroy` and `outputs` of a stack, whichever cluster it is for."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.cloud.clusters import ControlPlanes
from sandbox.cloud.oci.nodes import remember_image
from sandbox.engine.event_log import RECORDING
from sandbox.engine.losses import told_afterwards
from sandbox.engine.recovery import recover
from sandbox.engine.refusals import advised_afterwards
from sandbox.engine.run import Runs
from sandbox.engine.workspace import Workspace, lies_in
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, default_home, project_root
from sandbox.kubernetes_api import Api
from sandbox.toolchain.build import Toolchain

if TYPE_CHECKING:
    from fabric.plan import Plan
    from fabric.spec import StackSpec

Say = Callable[[str], None]


@dataclass(frozen=True)
class Stack:
    """A stack by name, its committed file, and what that says; `sections` where it is tried with other ones."""

    name: str
    file: Path
    spec: StackSpec
    plan: Plan
    sections: Mapping[str, Any] | None = None

    @property
    def simulated(self) -> bool:
        """Whether it is tried on the sandbox, wherever it is meant for."""
        return self.sections is not None

    @property
    def cloud(self) -> str | None:
        """The name of the cloud that makes its cluster, None for a cluster that exists."""
        return _CLOUDS.get(self.spec.cluster.provider)


_CLOUDS = {"doks": "DigitalOcean", "oke": "Oracle Cloud Infrastructure"}


def announcement(stack: Stack, home: SandboxHome) -> str | None:
    """Which cloud a command on the stack talks to, in a line; None where there is no cloud."""
    if stack.cloud is None:
        return None
    if stack.spec.split.part == "platform" and not stack.simulated:
        return f"the cluster of stack {stack.spec.cluster_stack}, with its kubeconfig"
    return f"simulated {stack.cloud} in {home.root}" if stack.simulated else f"{stack.cloud}, with your account"


def is_sandbox_stack(stack: Stack, home: SandboxHome) -> bool:
    """Whether the stack is brought up inside the sandbox: it is tried there, or its kubeconfig lies in its folder."""
    from fabric.spec import ExistingCluster

    cluster = stack.spec.cluster
    kubeconfig = cluster.kubeconfig if isinstance(cluster, ExistingCluster) else None
    found = kubeconfig is not None and any(lies_in(kubeconfig, folder) for folder in (home.root, default_home()))
    return found or stack.simulated


class SandboxEngine:
    """The engine on a stack whose cluster is the sandbox, or a simulated cloud's."""

    def __init__(self, home: SandboxHome, toolchain: Toolchain, say: Say) -> None:
        self.home = home
        self.say = say
        self.planes = ControlPlanes(home, say)
        self.workspace = Workspace(home)
        self.workspace.prepare(toolchain)
        self.runs = Runs(self.workspace)

    def up(self, stack: Stack, *, as_json: bool) -> int:
        """Create or update the stack, then print its summary; gives the exit status."""
        self._require_clusters(stack)
        with self._owned():
            remember_image(self.home, stack.spec)
            options = self._options(stack)
            self._create(stack)
            arguments = ["up", "--yes", "--skip-preview", "--suppress-outputs", *options]
            status = self._converge(stack, [*arguments, *(["--json"] if as_json else [])], destroying=False)
        if status == 0 and not as_json:
            _print_summary(stack)
        return _status(status)

    def preview(self, stack: Stack, *, as_json: bool) -> int:
        """Show what `up` would do; needs no cluster."""
        with self._owned():
            options = self._options(stack)
            self._create(stack)
            arguments = ["preview", "--suppress-outputs", *options, *(["--json"] if as_json else [])]
            with told_afterwards("preview", self.say) as recording:
                return _status(self.runs.run([*arguments, *recording], project_root()).status)

    def refresh(self, stack: Stack) -> int:
        """Read everything anew that the stack knows of, and take it over into its state."""
        self._require_clusters(stack)
        with self._owned():
            options = self._options(stack)
            self._create(stack)
            return _status(self.runs.run(["refresh", "--yes", "--skip-preview", *options], project_root()).status)

    def destroy(self, stack: Stack) -> int:
        """Delete everything the stack created, then its state."""
        if self.workspace.state(stack.name) is None:
            self.say(f"there is no stack {stack.name} in the sandbox: nothing to destroy")
            return 0
        self._require_clusters(stack)
        with self._owned():
            options = self._options(stack)
            arguments = ["destroy", "--yes", "--skip-preview", *options]
            with advised_afterwards("destroy", stack.plan.cluster.oke, self.say) as recording:
                status = self._converge(stack, [*arguments, *recording], destroying=True)
            if status == 0:
                remove = ["stack", "rm", "--yes", "--preserve-config", "--non-interactive", "--stack", stack.name]
                status = self.runs.run(remove, self.workspace.stacks, quiet=True).status
                # the salt belongs to the state that is gone
                self.workspace.stack_file(stack.name).unlink(missing_ok=True)
        return _status(status)

    def outputs(self, stack: Stack, *, show_secrets: bool) -> str:
        """The stack's outputs as JSON; raises SandboxError when it is not up."""
        if self.workspace.state(stack.name) is None:
            raise SandboxError(
                f"stack {stack.name} has not been brought up",
                f"Bring it up: python -m sandbox pulumi up -s {stack.name}{' --sandbox' if stack.simulated else ''}",
            )
        arguments = ["stack", "output", "--json", "--stack", stack.name]
        return self.runs.capture([*arguments, *(["--show-secrets"] if show_secrets else [])], self.workspace.stacks)

    def _converge(self, stack: Stack, arguments: list[str], *, destroying: bool) -> int:
        """Repair what an earlier run left, then run; once more if a plug-in crashed under the run.

        Seen about once in forty times with the Kubernetes plug-in 4.25: it dies in the middle of a destroy, and the
        same command then goes on where it stopped.
        """
        self._recover(stack, destroying=destroying)
        ended = self.runs.run(arguments, project_root())
        if ended.status != 0 and ended.crashed:
            self.say("a plug-in crashed (its last words are above): once more, from where it stopped")
            self._recover(stack, destroying=destroying)
            ended = self.runs.run(arguments, project_root())
        return ended.status

    def _options(self, stack: Stack) -> list[str]:
        file = self.workspace.stack_config(stack.name, stack.file, stack.sections)
        color = "always" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else "never"
        return ["--non-interactive", "--stack", stack.name, "--config-file", str(file), "--color", color]

    def _create(self, stack: Stack) -> None:
        if self.workspace.state(stack.name) is None:
            arguments = ["stack", "init", "--non-interactive", "--stack", stack.name]
            if self.runs.run(arguments, self.workspace.stacks, quiet=True).status != 0:
                raise SandboxError(f"the engine could not create stack {stack.name} (its output is above)")
            # it rewrites the file, numbers as text; what it must keep of that is its salt
            self.workspace.stack_config(stack.name, stack.file, stack.sections)

    def _recover(self, stack: Stack, *, destroying: bool) -> None:
        recover(self.workspace, self.runs, self._apis(stack), stack.name, self.say, destroying=destroying)

    def _apis(self, stack: Stack) -> list[Api]:
        """The stack's clusters: the sandbox, or those of a simulated cloud that the engine knows of."""
        if stack.cloud is None:
            return [Api(self.home.kubeconfig)]
        state = self.workspace.state(stack.spec.cluster_stack)
        known = {resource.get("id") for resource in state.resources} if state else set()
        return [Api(self.planes.kubeconfig(cluster)) for cluster in self.planes.ids() if cluster in known]

    def _require_clusters(self, stack: Stack) -> None:
        if stack.cloud is not None:
            self.planes.start_all()
        elif not self.home.kubeconfig.exists() or not Api(self.home.kubeconfig).is_ready():
            raise SandboxError("the sandbox is not running", "Start it: python -m sandbox up (see also: status)")

    def _owned(self) -> _Owned:
        return _Owned(self.runs)


class _Owned:
    """While this lasts no other command runs the engine on the sandbox."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def __enter__(self) -> None:
        self._runs.require_none()
        self._runs.own()

    def __exit__(self, *_: object) -> None:
        self._runs.release()


def run_elsewhere(verb: str, stack: Stack, toolchain_bin: Path | None, extra: list[str], say: Say) -> int:
    """Run the engine on a stack that is not the sandbox's, with the user's own login, passphrase and terminal.

    Raises SandboxError when there is no Pulumi CLI on PATH and none was built.
    """
    path = os.environ.get("PATH", "") + (f"{os.pathsep}{toolchain_bin}" if toolchain_bin else "")
    command = shutil.which("pulumi", path=path)
    if command is None:
        raise SandboxError(
            "there is no `pulumi` on PATH", "Install the Pulumi CLI, or build it: python -m sandbox build pulumi"
        )
    arguments = [*(["stack", "output"] if verb == "outputs" else [verb]), "--stack", stack.name, *extra]
    if stack.file.parent != project_root() and verb != "outputs":
        arguments += ["--config-file", str(stack.file)]
    environment = {**os.environ, **RECORDING, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{path}"}
    with told_afterwards(verb, say) as losses, advised_afterwards(verb, stack.plan.cluster.oke, say) as refusals:
        process = subprocess.Popen([command, *arguments, *losses, *refusals], cwd=project_root(), env=environment)
        # the terminal's Ctrl-C reaches the engine by itself, which stops in its own time; we only wait for it
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return _status(process.wait())
        finally:
            signal.signal(signal.SIGINT, before)


def _print_summary(stack: Stack) -> None:
    from fabric.report import print_report, summary

    sys.stdout.flush()
    file = stack.file.relative_to(project_root())
    print_report(summary(stack.plan, str(file), "" if stack.sections is None else " SANDBOX=1"))


def _status(code: int) -> int:
    return 0 if code == 0 else 1
