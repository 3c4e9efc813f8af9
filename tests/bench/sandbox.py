"""The sandbox of `make bench`'s own, and the programs that both sides of a comparison use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpu_fabric.k8s.apps import DaemonSet
from gpu_fabric.plan.records import HelmRelease, PlannedObject, PlannedReadiness
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document, stack_file
from sandbox.engine.commands import on_the_sandbox
from sandbox.engine.workspace import Workspace
from sandbox.home import HOME_VARIABLE, SandboxHome, project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

STACK = "dev"


class Bench:
    """A sandbox of the bench's own, with the programs that both sides of a comparison use."""

    def __init__(self, home: Path) -> None:
        self.home = SandboxHome(home)
        self.toolchain = ensure(["core", "helm"], Progress())
        self.helm = str(self.toolchain.folder("helm") / "helm")
        self.kubectl_command = self.toolchain.role("kubectl")
        self.environment = {**os.environ, HOME_VARIABLE: str(home)}
        self.plan = prepare(read_document(STACK, project_root()), for_up=False).plan
        self.workspace = Workspace(self.home)
        self.workspace.prepare(self.toolchain)
        self.first_on_path: Path | None = None

    def sandbox(self, *arguments: str) -> None:
        """A command of the sandbox, quiet unless it fails."""
        self._run([sys.executable, "-m", "sandbox", *arguments], self.environment)

    def engine(self, *arguments: str, stack: str = STACK, sections: Mapping[str, Any] | None = None) -> None:
        """A command of the real CLI on a stack, without the sandbox's own checks and summary around it."""
        file = self.workspace.stack_config(stack, stack_file(stack, project_root()), sections)
        options = ["--stack", stack, "--config-file", str(file)]
        self.pulumi(*arguments, *options)

    def pulumi(self, *arguments: str, project: Path | None = None) -> None:
        """A command of the real CLI in a project's folder, by default this one's."""
        environment = self.workspace.environment()
        if self.first_on_path is not None:
            environment["PATH"] = f"{self.first_on_path}{os.pathsep}{environment['PATH']}"
        self._run([self.workspace.command, *arguments, "--non-interactive"], environment, cwd=project)

    def with_sections(self, changed: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The sections of the bench's stack, with what some say otherwise."""
        sections = on_the_sandbox(read_document(STACK, project_root()), self.home).sections
        return {**sections, **{name: {**sections.get(name, {}), **section} for name, section in changed.items()}}

    def make_preview(self) -> None:
        """What `make preview` runs."""
        self.sandbox("pulumi", "preview", "-s", STACK, "--start")

    def make_stack(self, stack: str = STACK) -> None:
        """An empty stack to bring up."""
        self.pulumi("stack", "init", "--stack", stack, project=self.workspace.stacks)

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
        command = [*self.kubectl_command, "--kubeconfig", str(self.home.kubeconfig), *arguments]
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
        self.apply(plan.applied("namespaces"))
        for release in plan.releases:
            self.release(release)
            ready = (
                plan.record(PlannedReadiness, "gpu-operator-ready") if release == plan.release("gpu-operator") else None
            )
            if ready is not None:
                for condition in ready.conditions:
                    self.kubectl("wait", ready.kind, ready.name, f"--for={condition}", f"--timeout={ready.timeout}s")
        self.apply(plan.applied("cni-plugins", "virtual-functions"))
        self.apply(plan.applied("nic-policies"))
        self.apply(plan.applied("ip-pools"))
        self.apply(plan.applied("networks"))
        self.apply(plan.applied("nccl"))

    def _run(
        self, command: list[str], environment: dict[str, str], document: str | None = None, cwd: Path | None = None
    ) -> str:
        result = subprocess.run(
            command, cwd=cwd or project_root(), env=environment, input=document or "", text=True, capture_output=True
        )
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command[:4])} … failed:\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
        return result.stdout
