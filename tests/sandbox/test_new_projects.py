"""A project of a template, brought up on the sandbox and destroyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cloud_driver import CloudSandbox
from driver import STACK, Sandbox
from new_projects import ANSWERS, Templates

from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.sandbox

NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
CONTRACT = "/api/v1/namespaces/default/configmaps/fabric-contract"


def test_a_project_for_an_existing_cluster_comes_up_changes_nothing_afterwards_and_is_destroyed(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "sandbox")
    try:
        sandbox.run("up", "-s", STACK)
        sandbox.workspace.prepare(ensure(["core"], Progress()))
        project = Templates(sandbox.workspace, tmp_path / "projects").new(
            "existing-python", **ANSWERS["existing-python"]
        )
        project.pulumi("config", "set", "--secret", "kubeconfig", given=sandbox.home.kubeconfig.read_text())
        project.use_charts_of_the_sandbox()

        project.pulumi("up", "--yes", "--skip-preview")

        contract = project.outputs()["fabric"]
        networks = {item["metadata"]["name"] for item in sandbox.items(NETWORKS)}
        assert {entry["network"] for entry in contract["networks"]} == networks != set()
        assert json.loads(sandbox.api.get(CONTRACT)["data"]["fabric.json"]) == contract

        project.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")
        project.pulumi("destroy", "--yes", "--skip-preview")

        assert sandbox.items(NETWORKS) == []
    finally:
        sandbox.run("down")


@pytest.mark.parametrize("template", ["doks-python", "oke-python"])
def test_a_project_for_a_cloud_comes_up_and_is_destroyed(template: str, tmp_path: Path) -> None:
    sandbox = CloudSandbox(tmp_path / "sandbox", "mine", *(["oci"] if template == "oke-python" else []))
    try:
        sandbox.workspace.prepare(ensure(["core"], Progress()))
        account = sandbox.workspace.environment()
        project = Templates(sandbox.workspace, tmp_path / "projects").new(template, **ANSWERS[template])
        project.use_simulated_clouds()
        if template == "doks-python":
            project.pulumi("config", "set", "--secret", "token", given=account["DIGITALOCEAN_TOKEN"])
        project.use_charts_of_the_sandbox()

        project.pulumi("up", "--yes", "--skip-preview")

        contract = project.outputs()["fabric"]
        networks = {item["metadata"]["name"] for item in sandbox.api.get(NETWORKS)["items"]}
        assert {entry["network"] for entry in contract["networks"]} == networks != set()
        assert json.loads(sandbox.api.get(CONTRACT)["data"]["fabric.json"]) == contract

        project.pulumi("destroy", "--yes", "--skip-preview")

        assert not any(sandbox.everything.values())
    finally:
        sandbox.clean_up()
