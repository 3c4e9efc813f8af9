"""Each folder of templates/ as `pulumi new` takes it: a project in an empty folder, whose preview has a fabric.

The packages are those of the wheel of this checkout, in the virtual environment that `pulumi new` creates.
"""

from __future__ import annotations

import json

import pytest
import yaml
from new_projects import TEMPLATES, Project, Templates
from previews import Engine, Preview
from stub_cluster import KUBECONFIG, TOKEN

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# What must be answered, beside what the template suggests.
ANSWERS: dict[str, dict[str, str]] = {"existing-python": {"nodes": "3"}}


@pytest.fixture(scope="module")
def templates(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Templates:
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
    assert {path.parent.name for path in TEMPLATES.glob("*/Pulumi.yaml")} == set(ANSWERS)


@pytest.mark.parametrize("template", [name for name in ANSWERS if name.startswith("existing-")])
def test_a_project_for_an_existing_cluster_previews_a_fabric_and_what_a_user_has_beside_it(
    template: str, templates: Templates
) -> None:
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
