"""The real engine, asked for previews in a workspace of its own; no cluster is running."""

import json
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import yaml
from stack_plans import stack_plan
from stub_cluster import KUBECONFIG

from gpu_fabric.base.yaml_files import as_yaml
from gpu_fabric.contract.cluster import cluster_contract
from sandbox.engine.workspace import Workspace
from sandbox.home import SandboxHome, project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

# By these the engine knows a secret value in a state.
_SIGNATURE, _SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"


class Preview:
    """What a preview said: exit status, the digest of its steps, and everything it printed; `file` is what it read."""

    def __init__(self, result: subprocess.CompletedProcess[str], file: Path | None = None) -> None:
        self.file = file
        self.status = result.returncode
        self.printed = result.stdout + result.stderr
        start = result.stdout.find("{")
        self.digest: dict[str, Any] = json.loads(result.stdout[start:]) if start >= 0 else {}

    @property
    def steps(self) -> dict[str, str]:
        """Operation by resource name, without the stack itself."""
        return {
            step["urn"].rpartition("::")[2]: step["op"]
            for step in self.digest.get("steps", [])
            if "pulumi:pulumi:Stack" not in step["urn"]
        }

    @property
    def types(self) -> dict[str, str]:
        """Type of each resource by its name."""
        states = [step["newState"] for step in self.digest.get("steps", [])]
        return {state["urn"].rpartition("::")[2]: state["type"] for state in states}


class Engine:
    """Previews stack files as committed, but for what needs a network: cluster, cloud and chart repository."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(SandboxHome(folder / "home"))
        self.workspace.prepare(ensure(["core"], Progress()))
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(KUBECONFIG)
        self.folder = folder
        self.committed = cache(self.preview)

    def preview(self, file: Path, change: Callable[[dict[str, Any]], None] | None = None, *more: str) -> Preview:
        """A preview of a stack file; `change` edits the sections before, `more` are options. `committed` makes one.

        Each preview reads a file of its own, since others go on with the file of a `committed` one.
        """
        stack = file.name.removeprefix("Pulumi.").removesuffix(".yaml")
        document = yaml.safe_load(file.read_text())
        cluster = document["config"].get("gpu-fabric:cluster", {})
        if cluster.get("provider") == "existing":
            cluster["kubeconfig"] = str(self.kubeconfig)
        part = document["config"].get("gpu-fabric:split", {}).get("part")
        if part == "platform":
            self.bring_up_the_cluster_of(stack)
        if part != "cluster":
            document["config"].setdefault("gpu-fabric:software", {})["charts"] = "bundled"
        if change is not None:
            change(document["config"])
        copy = Path(mkdtemp(dir=self.folder)) / file.name
        copy.write_text(as_yaml(document))
        self.create(stack)
        options = ["--json", "--non-interactive", "--stack", stack, "--config-file", str(copy), *more]
        return Preview(self.run(["preview", *options], project_root()), copy)

    def create(self, stack: str) -> None:
        """A stack that holds nothing, where there is none of that name."""
        if self.workspace.state(stack) is None:
            self.run(["stack", "init", stack, "--non-interactive"], self.workspace.stacks)

    def bring_up_the_cluster_of(self, platform: str) -> None:
        """The state of a platform's cluster stack as its `up` would leave it, with the outputs alone."""
        split = stack_plan(platform, project_root()).split
        assert split is not None
        kubeconfig = {_SIGNATURE: _SECRET, "plaintext": json.dumps(KUBECONFIG)}
        outputs = {"cluster": cluster_contract(split.cluster, "the-clusters-id"), "kubeconfig": kubeconfig}
        project, stack = self.workspace.project, split.cluster_stack
        kind = "pulumi:pulumi:Stack"
        urn = f"urn:pulumi:{stack}::{project}::{kind}::{project}-{stack}"
        self.create(stack)
        exported = json.loads(self.run(["stack", "export", "--stack", stack], self.workspace.stacks).stdout)
        exported["deployment"]["resources"] = [{"urn": urn, "custom": False, "type": kind, "outputs": outputs}]
        file = self.folder / f"{stack}.json"
        file.write_text(json.dumps(exported))
        imported = self.run(["stack", "import", "--stack", stack, "--file", str(file)], self.workspace.stacks)
        assert imported.returncode == 0, imported.stderr

    def run(self, arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        """A command of the real CLI."""
        return subprocess.run(
            [self.workspace.command, *arguments],
            cwd=cwd,
            env=self.workspace.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
