"""A stack that a checkout has brought up is run from a team's repository, and from the checkout once more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from driver import Sandbox
from installed_wheel import Installed, built_wheel, install_in_environment
from new_projects import Project, Templates

from gpu_fabric.spec.load import stack_file
from sandbox.engine.python_programs import DYNAMIC
from sandbox.home import project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

ROOT = project_root()
STACK = "externally-managed"
# What a checkout's program is of; the sandbox's charts are at one place in both projects.
PROGRAM = ("components", "stacks", "gpu_fabric", "sandbox", "__main__.py", "Pulumi.yaml")
# As the CLI's distributions have it: the sandbox's own leads each project to this checkout.
PLUG_IN = '#!/bin/sh\nexec "${PULUMI_RUNTIME_VIRTUALENV%/}/bin/python" -u -m pulumi.dynamic "$@"\n'


def checkout(templates: Templates) -> Project:
    """A checkout with a stack whose kubeconfig is a secret, and which has a resource of a class of the program's."""
    project = Project(templates, templates.folder / "checkout")
    project.root.mkdir()
    for name in PROGRAM:
        (project.root / name).symlink_to(ROOT / name)
    (project.root / ".venv").symlink_to(sys.prefix)
    text = stack_file(STACK, ROOT).read_text(encoding="utf-8")
    text = text.replace("kubeconfig: ~/.kube/config", "kubeconfigSecret: kubeconfig")
    (project.root / "Pulumi.train.yaml").write_text(text, encoding="utf-8")
    project.pulumi("stack", "init", "train")
    return project


def repository(templates: Templates, installed: Installed) -> Project:
    """A team's repository, with the packages of the wheels."""
    project = Project(templates, templates.folder / "acme")
    installed.output("init", "--repository", str(project.root))
    (project.root / ".venv").symlink_to(installed.programs.parent)
    (project.root / "sandbox").symlink_to(ROOT / "sandbox")
    return project


def move(here: Project, there: Project) -> str:
    command = [here.root / ".venv/bin/gpu-fabric", "move", "train", "--from", str(there.root)]
    done = subprocess.run(command, cwd=here.root, env=here.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    wheels = built_wheel(ROOT), str(built_wheel(ROOT / "sandbox"))
    return install_in_environment(*wheels[:1], tmp_path, *wheels[1:], extra="[sandbox]")


def test_a_moved_stack_previews_no_change_and_is_destroyed_from_its_new_place(
    cluster: Sandbox, installed: Installed, tmp_path: Path
) -> None:
    cluster.run("up", "-s", STACK, "--sandbox")
    cluster.workspace.prepare(ensure(["core", "sriov-network-operator"], Progress()))
    (cluster.home.bin / DYNAMIC).write_text(PLUG_IN)
    templates = Templates(cluster.workspace, tmp_path / "projects")
    there, here = checkout(templates), repository(templates, installed)
    there.pulumi("config", "set", "--secret", "gpu-fabric:kubeconfig", given=cluster.home.kubeconfig.read_text())
    there.pulumi("config", "set", "--path", "gpu-fabric:software.charts", "bundled")
    there.pulumi("up", "--yes", "--skip-preview")
    there.pulumi("preview", "--expect-no-changes")

    assert "2 names of classes" in move(here, there)
    here.pulumi("preview", "--stack", "train", "--expect-no-changes")
    steps = json.loads(there.pulumi("preview", "--json"))["steps"]
    assert ["$pulumi-python:dynamic" in step["urn"] for step in steps if step["op"] != "same"] == [True]

    move(there, here)
    there.pulumi("preview", "--expect-no-changes")
    move(here, there)
    here.pulumi("destroy", "--yes", "--skip-preview", "--stack", "train")
