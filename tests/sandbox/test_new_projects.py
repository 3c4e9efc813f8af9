"""A project of each template, made by `pulumi new`, brought up on the sandbox and destroyed; TypeScript's compiles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cloud_driver import CloudSandbox
from driver import STACK, Sandbox
from language_hosts import place_language_hosts
from new_projects import ANSWERS, TEMPLATES, Project, Templates
from npm import npm_environment, shown

from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
CONTRACT = "/api/v1/namespaces/default/configmaps/fabric-contract"


def test_every_template_is_tested() -> None:
    # The team's repository is made by `init` and has tests of its own (tests/package/test_team_repository.py).
    others = {"existing-typescript", "existing-yaml", "repository"}
    assert {path.parent.name for path in TEMPLATES.glob("*/Pulumi.yaml")} == {*ANSWERS} | others


def assert_it_comes_up_and_is_destroyed(project: Project, sandbox: Sandbox, secret: str) -> None:
    """`up` makes the fabric and what a user has beside it, another changes nothing, and `destroy` leaves nothing."""
    project.assert_nothing_of_the_template_is_left()
    project.use_charts_of_the_sandbox()
    printed = project.pulumi("up", "--yes", "--skip-preview")
    assert secret not in printed

    contract = project.outputs()["fabric"]
    networks = {item["metadata"]["name"] for item in sandbox.items(NETWORKS)}
    assert {entry["network"] for entry in contract["networks"]} == networks != set()
    assert json.loads(sandbox.api.get(CONTRACT)["data"]["fabric.json"]) == contract

    project.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")
    project.pulumi("destroy", "--yes", "--skip-preview")


@pytest.mark.parametrize("template", ["existing-python", "existing-yaml"])
def test_a_project_for_an_existing_cluster_comes_up_changes_nothing_afterwards_and_is_destroyed(
    cluster: Sandbox, template: str, tmp_path: Path
) -> None:
    cluster.run("up", "-s", STACK)
    cluster.workspace.prepare(ensure(["core"], Progress()))
    templates = Templates(cluster.workspace, tmp_path / "projects")
    if template == "existing-python":
        project = templates.new(template, installs=True, **ANSWERS[template])
    else:
        place_language_hosts(cluster.workspace)
        project = templates.generate(template)
        project.pulumi("config", "set", "nodes", "3")
    kubeconfig = cluster.home.kubeconfig.read_text()
    project.pulumi("config", "set", "--secret", "kubeconfig", given=kubeconfig)
    assert project.configuration["nodes"] == "3"
    assert_it_comes_up_and_is_destroyed(project, cluster, kubeconfig.partition("token:")[2].split()[0])
    assert cluster.items(NETWORKS) == []


@pytest.mark.parametrize("template", ["doks-python", "oke-python"])
def test_a_project_for_a_cloud_comes_up_and_is_destroyed(
    cloud: Callable[..., CloudSandbox], template: str, tmp_path: Path
) -> None:
    sandbox = cloud("mine", "oci" if template == "oke-python" else "digitalocean")
    sandbox.workspace.prepare(ensure(["core"], Progress()))
    token = sandbox.workspace.environment()["DIGITALOCEAN_TOKEN"]
    project = Templates(sandbox.workspace, tmp_path / "projects").new(template, **ANSWERS[template])
    project.use_simulated_clouds()
    if template == "doks-python":
        project.pulumi("config", "set", "--secret", "token", given=token)
    assert_it_comes_up_and_is_destroyed(project, sandbox, token)
    assert not any(sandbox.everything.values())


def test_a_project_in_typescript_compiles_with_the_sdk_of_the_components(cluster: Sandbox, tmp_path: Path) -> None:
    cluster.workspace.prepare(ensure(["core"], Progress()))
    place_language_hosts(cluster.workspace)
    project = Templates(cluster.workspace, tmp_path / "projects").generate("existing-typescript")
    environment = npm_environment()

    # What `pulumi package add` does where the vendor's host for Node.js is.
    installed = shown(["npm", "install", "--no-audit", "--no-fund", "./sdks/gpu-fabric"], project.root, environment)
    if "ENOTFOUND" in installed.stderr or "ECONNREFUSED" in installed.stderr:
        pytest.skip("npm reaches no registry of packages")
    assert installed.returncode == 0, installed.stderr
    compiled = shown(["npx", "tsc", "--noEmit"], project.root, environment)

    assert compiled.returncode == 0, compiled.stdout
    project.assert_nothing_of_the_template_is_left()
