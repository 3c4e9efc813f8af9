"""`make bench`: the budgets, each as a ratio of two things measured in this one run.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fabric.plan import HelmRelease, PlannedObject
from fabric.prepare import prepare_stack
from sandbox.engine.workspace import Workspace
from sandbox.home import HOME_VARIABLE, SandboxHome, project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

STACK = "dev"
ROUNDS = 3

_EMPTY_PROGRAM = """import pathlib
import pulumi_kubernetes

pulumi_kubernetes.Provider("cluster", kubeconfig=pathlib.Path({kubeconfig!r}).read_text())
"""

_PLANNING = """import json, resource, sys, time
from pathlib import Path
from fabric.plan import build
from fabric.spec import load_stack

spec = load_stack(sys.argv[1], Path.cwd())
pool = spec.cluster.pools[0].model_copy(update={"nodes": int(sys.argv[2])})
spec = spec.model_copy(update={"cluster": spec.cluster.model_copy(update={"pools": (pool,)})})
build(spec)
times = []
for _ in range(15):
    began = time.perf_counter()
    json.dumps(build(spec).model_dump(mode="json", by_alias=True))
    times.append(time.perf_counter() - began)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": sorted(times)[len(times) // 2], "peak_mib": peak}))
"""


@dataclass(frozen=True)
class Budget:
    """One line of the result: what was compared, both figures, their ratio, and the most it may be."""

    name: str
    measured: float
    reference: float
    unit: str
    limit: float

    @property
    def ratio(self) -> float:
        """How many times the reference was taken."""
        return self.measured / self.reference

    @property
    def kept(self) -> bool:
        """Whether the budget holds."""
        return self.ratio <= self.limit


class Bench:
    """A sandbox of the bench's own, with the programs that both sides of a comparison use."""

    def __init__(self, home: Path) -> None:
        self.home = SandboxHome(home)
        toolchain = ensure(["core", "helm"], Progress(Console(stderr=True)))
        self.helm = str(toolchain.folder("helm") / "helm")
        self.control_plane = str(toolchain.folder("control-plane") / "control-plane")
        self.environment = {**os.environ, HOME_VARIABLE: str(home)}
        self.plan = prepare_stack(STACK, project_root())

    def sandbox(self, *arguments: str) -> None:
        """A command of the sandbox, quiet unless it fails."""
        self._run([sys.executable, "-m", "sandbox", *arguments], self.environment)

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

    def by_hand(self) -> None:
        """Everything the stack brings up, in its order, the way a guide tells it."""
        plan = self.plan
        self.apply(plan.namespaces)
        self.release(plan.gpu_operator)
        ready = plan.gpu_operator_ready
        self.kubectl("wait", ready.kind, ready.name, f"--for={ready.wait_for}", f"--timeout={ready.timeout}s")
        self.release(plan.network_operator)
        self.apply((plan.policy,))
        self.apply(plan.ip_pools)
        self.apply(plan.networks)
        self.apply(plan.nccl_config_maps)

    def undo_by_hand(self) -> None:
        """The reverse of `by_hand`."""
        plan = self.plan
        for entry in reversed(plan.objects[len(plan.namespaces) :]):
            place = ["--namespace", entry.object.metadata.namespace] if entry.object.metadata.namespace else []
            self.kubectl("delete", f"{entry.object.plural}.{entry.object.group()}".rstrip("."), entry.name, *place)
        for release in (plan.network_operator, plan.gpu_operator):
            where = ["--namespace", release.namespace, "--kubeconfig", str(self.home.kubeconfig)]
            self._run([self.helm, "uninstall", release.name, *where, "--wait"], self.environment)
        self.kubectl("delete", "namespace", *(entry.name for entry in plan.namespaces))

    def preview_of_nothing(self, project: Path) -> None:
        """A preview of a program that only makes the Kubernetes provider."""
        workspace = Workspace(self.home)
        command = [workspace.command, "preview", "--non-interactive", "--stack", "empty"]
        self._run(command, workspace.environment(), cwd=project)

    def _run(
        self, command: list[str], environment: dict[str, str], document: str | None = None, cwd: Path | None = None
    ) -> None:
        result = subprocess.run(
            command, cwd=cwd or project_root(), env=environment, input=document or "", text=True, capture_output=True
        )
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command[:4])} … failed:\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}")


def installing(bench: Bench) -> Budget:
    """`up` against the same charts and objects by hand; one unmeasured round each brings the CRDs and warms caches."""
    up, hand = [], []
    for round_number in range(ROUNDS + 1):
        hand.append(_seconds(bench.by_hand))
        bench.undo_by_hand()
        up.append(_seconds(lambda: bench.sandbox("pulumi", "up", "-s", STACK)))
        bench.sandbox("pulumi", "destroy", "-s", STACK)
        _say(f"  round {round_number or 'to warm up'}: up {up[-1]:.1f} s, by hand {hand[-1]:.1f} s")
    return Budget("up : helm and kubectl by hand", _median(up[1:]), _median(hand[1:]), "s", 1.2)


def previewing(bench: Bench) -> Budget:
    """A preview of the stack before its first `up`, against one of an empty program with the same provider."""
    stack, nothing = [], []
    with _empty_project(bench) as project:
        for round_number in range(ROUNDS + 1):
            stack.append(_seconds(lambda: bench.sandbox("pulumi", "preview", "-s", STACK)))
            nothing.append(_seconds(lambda: bench.preview_of_nothing(project)))
            _say(f"  round {round_number or 'to warm up'}: stack {stack[-1]:.1f} s, empty {nothing[-1]:.1f} s")
    return Budget("preview : preview of an empty program", _median(stack[1:]), _median(nothing[1:]), "s", 1.5)


def planning() -> tuple[Budget, float]:
    """Planning 2,048 nodes against 16, and the peak memory of the larger in MiB."""
    small, large = _planned(16), _planned(2048)
    budget = Budget("plan of 2,048 nodes : of 16", large["seconds"] * 1000, small["seconds"] * 1000, "ms", 3.0)
    return budget, large["peak_mib"]


def _planned(nodes: int) -> dict[str, float]:
    command = [sys.executable, "-c", _PLANNING, STACK, str(nodes)]
    result = subprocess.run(command, cwd=project_root(), capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(result.stdout)
    return figures


@contextmanager
def _empty_project(bench: Bench) -> Iterator[Path]:
    workspace = Workspace(bench.home)
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
            _say("up, against the same by hand")
            installed = installing(bench)
            _say("preview, against an empty program")
            previewed = previewing(bench)
        finally:
            bench.sandbox("down")
        _say("planning, 2,048 nodes against 16")
        planned, peak = planning()
    table = Table("measured : reference", "measured", "reference", "ratio", "at most", "", box=None)
    budgets = [installed, previewed, planned, Budget("peak memory of planning 2,048 nodes", peak, 1, "MiB", 200)]
    for budget in budgets:
        reference = "" if budget.reference == 1 else f"{budget.reference:.1f} {budget.unit}"
        ratio = "" if budget.reference == 1 else f"{budget.ratio:.2f}"
        limit = f"{budget.limit:g} MiB" if budget.reference == 1 else f"{budget.limit:g}"
        verdict = "kept" if budget.kept else "BROKEN"
        table.add_row(budget.name, f"{budget.measured:.1f} {budget.unit}", reference, ratio, limit, verdict)
    Console().print(table)
    return 0 if all(budget.kept for budget in budgets) else 1


if __name__ == "__main__":
    sys.exit(main())
