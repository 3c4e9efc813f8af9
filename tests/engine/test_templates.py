"""Each folder of templates/ for Python as `pulumi new` takes it: a project whose preview has a fabric.

The packages are those of the wheel of this checkout; for one, in the virtual environment that `pulumi new` creates.
"""

from __future__ import annotations

import pytest
from new_projects import ANSWERS, TEMPLATES, Project, Templates
from previews import Engine, Preview
from stub_cluster import KUBECONFIG, TOKEN

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module")
def templates(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return Templates(engine.workspace, tmp_path_factory.mktemp("templates") / "projects")


def preview_of(project: Project) -> Preview:
    project.use_charts_of_the_sandbox()
    return Preview(project.run("preview", "--json", "--non-interactive", "--stack", "dev"))


def test_every_template_in_python_is_tested() -> None:
    assert {path.parent.name for path in TEMPLATES.glob("*-python/Pulumi.yaml")} == set(ANSWERS)


def test_a_project_for_an_existing_cluster_previews_a_fabric_and_what_a_user_has_beside_it(
    templates: Templates,
) -> None:
    project = templates.new("existing-python", installs=True, **ANSWERS["existing-python"])
    project.pulumi("config", "set", "--secret", "kubeconfig", given=KUBECONFIG)
    preview = preview_of(project)

    assert preview.status == 0, preview.printed
    assert preview.types["fabric"] == "gpu-fabric:index:GpuFabric"
    assert preview.types["contract"] == "kubernetes:core/v1:ConfigMap"
    assert len([name for name in preview.types if name.startswith("fabric-networks-")]) == 16
    assert set(preview.steps.values()) == {"create"}
    assert TOKEN not in preview.printed
    assert project.configuration["nodes"] == "3"
    assert project.configuration["shape"] == "BM.GPU.H100.8"
    project.assert_nothing_of_the_template_is_left()


@pytest.mark.parametrize("template", ["doks-python", "oke-python"])
def test_a_project_for_a_cloud_previews_a_cluster_a_fabric_and_what_a_user_has_beside_them(
    template: str, templates: Templates
) -> None:
    project = templates.new(template, **ANSWERS[template])
    account = templates.workspace.environment()
    project.use_simulated_clouds()
    if template == "doks-python":
        project.pulumi("config", "set", "--secret", "token", given=account["DIGITALOCEAN_TOKEN"])
    preview = preview_of(project)

    assert preview.status == 0, preview.printed
    assert preview.types["gpu"] == "gpu-fabric:index:GpuCluster"
    assert preview.types["contract"] == "kubernetes:core/v1:ConfigMap"
    assert set(preview.steps.values()) == {"create"}
    assert account["DIGITALOCEAN_TOKEN"] not in preview.printed
    project.assert_nothing_of_the_template_is_left()
