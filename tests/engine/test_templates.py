"""Each folder of templates/ as `pulumi new` takes it: a project in an empty folder, whose preview has a fabric.

The packages are those of the wheel of this checkout, in the virtual environment that `pulumi new` creates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from previews import Engine, Preview
from stub_cluster import KUBECONFIG, TOKEN

from sandbox.home import project_root

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TEMPLATES = project_root() / "templates"
NAMES = sorted(path.parent.name for path in TEMPLATES.glob("*/Pulumi.yaml"))


class Templates:
    """`pulumi new` with a store for states of its own, and a folder with the wheel for pip."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        (folder / "states").mkdir()
        build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheel")]
        subprocess.run([sys.executable, *build], cwd=project_root(), check=True, capture_output=True)

    def new(self, template: str, *options: str) -> Project:
        """A project of a template, with its stack and the packages that it needs."""
        project = Project(self, self.folder / template)
        project.root.mkdir()
        if (shared := self.folder / "venv").exists():
            # Installed by the first project.
            (project.root / ".venv").symlink_to(shared)
        names = ["--name", f"my-{template}", "--description", "a project of mine", "--stack", "dev"]
        done = project.pulumi("new", str(TEMPLATES / template), "--yes", "--force", *names, *options)
        if "No matching distribution found" in done.stdout + done.stderr:
            pytest.skip(f"pip reaches no index of packages: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stdout + done.stderr
        if not shared.exists():
            (project.root / ".venv").rename(shared)
            (project.root / ".venv").symlink_to(shared)
        return project


class Project:
    """A project that `pulumi new` has made."""

    def __init__(self, templates: Templates, root: Path) -> None:
        self.templates = templates
        self.root = root

    def pulumi(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command as a user types it in the project's folder."""
        workspace = self.templates.engine.workspace
        path = [str(workspace.home.bin), str(Path(sys.base_prefix) / "bin")]
        path += [place for place in os.environ["PATH"].split(os.pathsep) if not place.startswith(sys.prefix)]
        return subprocess.run(
            ["pulumi", *arguments],
            cwd=self.root,
            env={
                **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
                "PATH": os.pathsep.join(path),
                "PULUMI_HOME": str(workspace.engine_home),
                "PULUMI_BACKEND_URL": f"file://{self.templates.folder / 'states'}?metadata=skip",
                "PULUMI_CONFIG_PASSPHRASE": "the passphrase of this test",
                "PULUMI_SKIP_UPDATE_CHECK": "true",
                "PIP_FIND_LINKS": str(self.templates.folder / "wheel"),
                "PIP_NO_COMPILE": "1",
            },
            input=given,
            capture_output=True,
            text=True,
            timeout=500,
        )

    def set(self, *arguments: str, given: str = "") -> None:
        """Set a key of the configuration."""
        done = self.pulumi("config", "set", *arguments, given=given)
        assert done.returncode == 0, done.stderr

    def preview(self) -> Preview:
        """A preview with the charts of the sandbox, since those of vendors need a network."""
        (self.root / "sandbox").symlink_to(project_root() / "sandbox")
        self.set("--path", "software.charts", "bundled")
        return Preview(self.pulumi("preview", "--json", "--non-interactive", "--stack", "dev"))

    @property
    def configuration(self) -> dict[str, Any]:
        """The stack's configuration as `pulumi new` wrote it."""
        found: dict[str, Any] = yaml.safe_load((self.root / "Pulumi.dev.yaml").read_text())["config"]
        return found


@pytest.fixture(scope="module")
def templates(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return Templates(engine, tmp_path_factory.mktemp("templates"))


def types(preview: Preview) -> dict[str, str]:
    """The type of each resource of a preview, by its name."""
    states = [step["newState"] for step in preview.digest["steps"]]
    return {state["urn"].rpartition("::")[2]: state["type"] for state in states}


def test_a_template_for_an_existing_cluster_previews_a_fabric_and_what_a_user_has_beside_it(
    templates: Templates,
) -> None:
    project = templates.new("existing-python", "--config", "nodes=3")
    project.set("--secret", "kubeconfig", given=KUBECONFIG)
    preview = project.preview()

    assert preview.status == 0, preview.printed
    found = types(preview)
    assert found["fabric"] == "gpu-fabric:index:GpuFabric"
    assert found["contract"] == "kubernetes:core/v1:ConfigMap"
    assert len([name for name in found if name.startswith("fabric-networks-")]) == 16
    assert set(preview.steps.values()) == {"create"}
    assert TOKEN not in preview.printed
    assert project.configuration["my-existing-python:nodes"] == "3"
    assert project.configuration["my-existing-python:shape"] == "BM.GPU.H100.8"


def test_a_project_has_the_answers_and_none_of_the_template(templates: Templates) -> None:
    project = yaml.safe_load((templates.folder / NAMES[-1] / "Pulumi.yaml").read_text())

    assert "template" not in project
    assert "${" not in json.dumps(project)
