"""Projects of the folders in templates/, made by the real `pulumi new` beside this checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from installed_wheel import Installed, built_wheel, install_in_environment
from plugin_crashes import has_crashed

from sandbox.engine.python_programs import AMBIENT_PYTHON
from sandbox.engine.workspace import Workspace
from sandbox.home import project_root

TEMPLATES = project_root() / "templates"
ANSWERS: dict[str, dict[str, str]] = {
    "existing-python": {"nodes": "3"},
    "doks-python": {"nodes": "2"},
    "oke-python": {
        "nodes": "2",
        "compartmentId": "ocid1.compartment.oc1..aaaaaaaaexample",
        "tenancyId": "ocid1.tenancy.oc1..aaaaaaaaexample",
        "imageId": "ocid1.image.oc1.iad.aaaaaaaaexample",
    },
}
"""What must be answered, beside what the template suggests."""
_OF_STACKS = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE")


def user_environment(workspace: Workspace, states: Path) -> dict[str, str]:
    """A user's, in which no virtual environment is active: the sandbox's programs, and the Python of this test's one.

    States are stored in a folder.
    """
    others = [place for place in os.environ["PATH"].split(os.pathsep) if not place.startswith(sys.prefix)]
    return {
        **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
        "PATH": os.pathsep.join([str(workspace.home.bin), str(Path(sys.base_prefix) / "bin"), *others]),
        # Where the plug-in for Kubernetes is, which Pulumi would download.
        "PULUMI_HOME": str(workspace.engine_home),
        "PULUMI_BACKEND_URL": f"file://{states}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": "the passphrase of this test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PIP_NO_COMPILE": "1",
    }


class Templates:
    """`pulumi new` in a prepared workspace, with a store for states of its own, and the checkout beside projects."""

    def __init__(self, workspace: Workspace, folder: Path, installed: Installed | None = None) -> None:
        self.workspace = workspace
        self.folder = folder
        self.installed = installed
        (folder / "states").mkdir(parents=True)
        (folder / "gpu-fabric").symlink_to(project_root())
        self.wheel = built_wheel(project_root())

    def new(self, template: str, *, installs: bool = False, **answers: str) -> Project:
        """A project of a template in a folder of its own, with the stack `dev` and the packages that it needs.

        Where `pulumi new` does not install these, they are the ones that tests share.
        """
        project = Project(self, self.folder / template)
        project.root.mkdir()
        options = [word for key, value in answers.items() for word in ("--config", f"{key}={value}")]
        names = ["--name", f"my-{template}", "--description", "a project of mine", "--stack", "dev"]
        if not installs:
            shared = self.installed or install_in_environment(self.wheel, self.folder, extra="[pulumi]")
            (project.root / ".venv").symlink_to(shared.programs.parent)
            # pip finds none here, and so changes nothing: `pulumi new` ends after it has done all else.
            project.environment |= {"PIP_NO_INDEX": "1"}
            options.append("--force")
        done = project.run("new", str(TEMPLATES / template), "--yes", *names, *options)
        printed = done.stdout + done.stderr
        if installs and "No matching distribution found" in printed:
            pytest.skip(f"pip reaches no index of packages: {done.stderr.strip().splitlines()[-1]}")
        assert "Created stack 'dev'" in printed
        ended_without = not installs and "Run `pulumi install` to complete the installation." in printed
        assert done.returncode == 0 or ended_without, printed
        return project

    def generate(self, template: str) -> Project:
        """A project of a template in another language than Python, with its stack and the package of the components.

        Pulumi runs what is written in Python with this test's environment, as the sandbox's own commands do.
        """
        project = Project(self, self.folder / template)
        project.root.mkdir()
        kept = {name: project.environment[name] for name in _OF_STACKS}
        project.environment = {**self.workspace.environment(), **kept}
        names = ["--name", f"my-{template}", "--description", "a project of mine"]
        project.pulumi("new", str(TEMPLATES / template), "--yes", "--generate-only", *names)
        (project.root / ".venv").symlink_to(sys.prefix)
        project.pulumi("package", "add", str(project_root() / "components"))
        project.pulumi("stack", "init", "dev")
        return project


class Project:
    """A project that `pulumi new` has made."""

    def __init__(self, templates: Templates, root: Path) -> None:
        self.templates = templates
        self.root = root
        self.environment = user_environment(templates.workspace, templates.folder / "states")

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command as a user types it in the project's folder."""
        command = ["pulumi", *arguments]
        return subprocess.run(command, cwd=self.root, env=self.environment, input=given, capture_output=True, text=True)

    def pulumi(self, *arguments: str, given: str = "") -> str:
        """What a command prints, which must end well; run once more where the sandbox's plug-in crashed."""
        done = self.run(*arguments, "--non-interactive", given=given)
        if has_crashed(done.stdout + done.stderr):
            done = self.run(*arguments, "--non-interactive", given=given)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def use_simulated_clouds(self) -> None:
        """Lead plug-ins and the command `oci` to the sandbox's clouds; both find Oracle's account by variables."""
        workspace = self.templates.workspace
        kept = {
            key: value
            for key, value in workspace.environment().items()
            if key.startswith(("TF_VAR_", "OCI_", "GPU_FABRIC_")) and key != AMBIENT_PYTHON
        }
        programs = os.pathsep.join([str(workspace.cloud_programs), self.environment["PATH"]])
        self.environment |= kept | {"PATH": programs}

    def use_charts_of_the_sandbox(self) -> None:
        """Take charts from the sandbox: those of vendors need a network."""
        if self.templates.installed is None:
            (self.root / "sandbox").symlink_to(project_root() / "sandbox")
        self.pulumi("config", "set", "--path", "software.charts", "bundled")

    @property
    def configuration(self) -> dict[str, Any]:
        """The stack's configuration, by keys without the project's name."""
        written = yaml.safe_load((self.root / "Pulumi.dev.yaml").read_text())["config"]
        return {key.removeprefix(f"my-{self.root.name}:"): value for key, value in written.items()}

    def assert_nothing_of_the_template_is_left(self) -> None:
        """The project's file has the answers in the place of what the template has."""
        made = yaml.safe_load((self.root / "Pulumi.yaml").read_text())
        assert "template" not in made
        assert (made["name"], made["description"]) == (f"my-{self.root.name}", "a project of mine")
        assert "${PROJECT}" not in json.dumps(made)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs."""
        found: dict[str, Any] = json.loads(self.pulumi("stack", "output", "--json"))
        return found
