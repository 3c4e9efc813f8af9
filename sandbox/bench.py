"""`make bench`: the budgets, as ratios of two things measured in this one run wherever there is a fair second one.

Absolute times depend on the machine and on what else it does; ratios of alternating runs hardly do.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table

from fabric.k8s.apps import DaemonSet
from fabric.plain_console import plain_console
from fabric.plan import HelmRelease, PlannedObject
from fabric.prepare import prepare_stack
from fabric.spec import stack_file
from sandbox.bench_lint import linting
from sandbox.bench_planning import planning, planning_as_a_command, rendering_every_stack
from sandbox.bench_pools import exclusive_pools
from sandbox.bench_report import reporting
from sandbox.budget import Budget
from sandbox.engine.workspace import Workspace
from sandbox.home import HOME_VARIABLE, SandboxHome, project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

STACK = "dev"
ROUNDS = 3
# A preview takes seconds, of which a busy machine adds or takes away a third.
PREVIEW_ROUNDS = 7

_EMPTY_PROGRAM = """import pathlib
import pulumi_kubernetes

pulumi_kubernetes.Provider("cluster", kubeconfig=pathlib.Path({kubeconfig!r}).read_text())
"""


class Bench:
    """A sandbox of the bench's own, with the programs that both sides of a comparison use."""

    def __init__(self, home: Path) -> None:
        self.home = SandboxHome(home)
        self.toolchain = ensure(["core", "helm"], Progress(plain_console(stderr=True)))
        self.helm = str(self.toolchain.folder("helm") / "helm")
        self.control_plane = str(self.toolchain.folder("control-plane") / "control-plane")
        self.environment = {**os.environ, HOME_VARIABLE: str(home)}
        self.plan = prepare_stack(STACK, project_root())
        self.workspace = Workspace(self.home)
        self.workspace.prepare(self.toolchain)

    def sandbox(self, *arguments: str) -> None:
        """A command of the sandbox, quiet unless it fails."""
        self._run([sys.executable, "-m", "sandbox", *arguments], self.environment)

    def engine(self, *arguments: str, stack: str = STACK, sections: Mapping[str, Any] | None = None) -> None:
        """A command of the real CLI on a stack, without the sandbox's own checks and summary around it."""
        file = self.workspace.stack_config(stack, stack_file(stack, project_root()), sections)
        options = ["--non-interactive", "--stack", stack, "--config-file", str(file)]
        self._run([self.workspace.command, *arguments, *options], self.workspace.environment())

    def make_stack(self, stack: str = STACK) -> None:
        """An empty stack to bring up."""
        command = [self.workspace.command, "stack", "init", "--non-interactive", "--stack", stack]
        self._run(command, self.workspace.environment(), cwd=self.workspace.stacks)

    def clear(self) -> None:
        """No cluster, and an engine that has seen nothing yet: what an installation leaves behind shortens the next."""
        self.sandbox("down")
        self.sandbox("reset")
        self.workspace.prepare(self.toolchain)

    def new_cluster(self) -> None:
        """A cluster that has seen nothing yet, with the stack's nodes."""
        self.clear()
        self.sandbox("up", "-s", STACK)

    def kubectl(self, *arguments: str, document: str | None = None) -> None:
        """A kubectl command on the bench's cluster."""
        command = [self.control_plane, "kubectl", "--kubeconfig", str(self.home.kubeconfig), *arguments]
        self._run(command, self.environment, document)

    def release(self, planned: HelmRelease) -> None:
        """`helm install --wait` of a planned release."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as values:
            json.dump(planned.values, values)
            values.flush()
            chart = project_root() / str(planned.chart.path)
            where = ["--namespace", planned.namespace, "--kubeconfig", str(self.home.kubeconfig)]
            install = [self.helm, "install", planned.name, str(chart), *where, "--wait", "--values", values.name]
            self._run(install, self.environment)

    def apply(self, objects: tuple[PlannedObject, ...]) -> None:
        """`kubectl apply` of planned objects in one go, then their waits."""
        manifests = [entry.object.manifest() for entry in objects]
        document = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
        self.kubectl("apply", "--server-side", "-f", "-", document=document)
        for entry in objects:
            if entry.wait_for is not None:
                kind = f"{entry.object.plural}.{entry.object.group()}"
                self.kubectl("wait", kind, entry.name, f"--for={entry.wait_for}", f"--timeout={entry.timeout}s")
            elif isinstance(entry.object, DaemonSet):
                place = ["--namespace", str(entry.object.metadata.namespace)]
                self.kubectl("rollout", "status", f"daemonset/{entry.name}", *place, f"--timeout={entry.timeout}s")

    def by_hand(self) -> None:
        """Everything the stack brings up, in its order, the way a guide tells it."""
        plan = self.plan
        self.apply(plan.namespaces)
        for release in plan.releases:
            self.release(release)
            ready = plan.gpu_operator_ready if release == plan.gpu_operator else None
            if ready is not None:
                self.kubectl("wait", ready.kind, ready.name, f"--for={ready.wait_for}", f"--timeout={ready.timeout}s")
        self.apply((*plan.cni_plugins, *plan.virtual_functions))
        if plan.policy is not None:
            self.apply((plan.policy,))
        self.apply(plan.ip_pools)
        self.apply(plan.networks)
        self.apply(plan.nccl_config_maps)

    def preview_of_nothing(self, project: Path) -> None:
        """A preview of a program that only makes the Kubernetes provider."""
        command = [self.workspace.command, "preview", "--non-interactive", "--stack", "empty"]
        self._run(command, self.workspace.environment(), cwd=project)

    def _run(
        self, command: list[str], environment: dict[str, str], document: str | None = None, cwd: Path | None = None
    ) -> str:
        result = subprocess.run(
            command, cwd=cwd or project_root(), env=environment, input=document or "", text=True, capture_output=True
        )
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command[:4])} … failed:\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
        return result.stdout


def installing(bench: Bench) -> Budget:
    """`up` on a new cluster against the same charts and objects by hand; one unmeasured round warms the caches."""
    up, hand = [], []
    for round_number in range(ROUNDS + 1):
        bench.new_cluster()
        hand.append(_seconds(bench.by_hand))
        bench.new_cluster()
        bench.make_stack()
        up.append(_seconds(lambda: bench.engine("up", "--yes", "--skip-preview")))
        _say(f"  round {round_number or 'to warm up'}: up {up[-1]:.1f} s, by hand {hand[-1]:.1f} s")
    return Budget("up : helm and kubectl by hand", _median(up[1:]), _median(hand[1:]), "s", 1.2)


def previewing(bench: Bench) -> Budget:
    """A preview of the stack before its first `up`, against one of an empty program with the same provider."""
    stack, nothing = [], []
    with _empty_project(bench) as project:
        for round_number in range(PREVIEW_ROUNDS + 1):
            stack.append(_seconds(lambda: bench.engine("preview")))
            nothing.append(_seconds(lambda: bench.preview_of_nothing(project)))
            _say(f"  round {round_number or 'to warm up'}: stack {stack[-1]:.1f} s, empty {nothing[-1]:.1f} s")
    return Budget("preview : preview of an empty program", _median(stack[1:]), _median(nothing[1:]), "s", 1.5)


@contextmanager
def _empty_project(bench: Bench) -> Iterator[Path]:
    workspace = bench.workspace
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "Pulumi.yaml").write_text("name: empty\nruntime: python\n")
        (project / "__main__.py").write_text(_EMPTY_PROGRAM.format(kubeconfig=str(bench.home.kubeconfig)))
        command = [workspace.command, "stack", "init", "empty", "--non-interactive"]
        subprocess.run(command, cwd=project, env=workspace.environment(), check=True, capture_output=True)
        yield project


def _seconds(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _median(values: list[float]) -> float:
    return statistics.median(values)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Measure everything, print the table, and give 1 when a budget is broken."""
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-bench-") as folder:
        bench = Bench(Path(folder))
        try:
            _say("starting a sandbox of the bench's own")
            bench.sandbox("up", "-s", STACK)
            bench.make_stack()
            _say("preview, against an empty program")
            budgets = [previewing(bench)]
            _say("up, against the same by hand")
            budgets.insert(0, installing(bench))
            _say("make up, 256 nodes with pools of their own against 32")
            budgets.append(exclusive_pools(bench))
        finally:
            bench.sandbox("down")
        _say("planning, 128 to 2,048 nodes")
        budgets += [*planning(), *planning_as_a_command()]
        _say("plan --out of every committed stack")
        budgets.append(rendering_every_stack())
        _say("linting 1,000 topology files")
        budgets += linting()
        _say("an HTML report of 2,048 nodes")
        budgets += reporting()
    table = Table("measured : reference", "measured", "reference", "ratio", "at most", "", box=None)
    for budget in budgets:
        table.add_row(*budget.row())
    plain_console(width=120).print(table)
    return 0 if all(budget.kept for budget in budgets) else 1


if __name__ == "__main__":
    sys.exit(main())
