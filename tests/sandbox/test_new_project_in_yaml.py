"""A project of the template in YAML, brought up on the sandbox and destroyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driver import STACK, Sandbox
from language_hosts import place_language_hosts
from new_projects import Templates

from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.sandbox

NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
CONTRACT = "/api/v1/namespaces/default/configmaps/fabric-contract"


def test_a_project_in_yaml_comes_up_changes_nothing_afterwards_and_is_destroyed(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "sandbox")
    try:
        sandbox.run("up", "-s", STACK)
        sandbox.workspace.prepare(ensure(["core"], Progress()))
        place_language_hosts(sandbox.workspace)
        project = Templates(sandbox.workspace, tmp_path / "projects").generate("existing-yaml")
        project.pulumi("config", "set", "nodes", "3")
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
