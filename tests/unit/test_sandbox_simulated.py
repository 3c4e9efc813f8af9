"""Any stack for a cluster of one's own can be tried on the sandbox, and its own cluster is left alone."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from fabric.prepare import prepare
from fabric.spec import StackDocument, read_document, validate
from sandbox.cloud import doctl
from sandbox.cloud.account import account_token
from sandbox.engine.commands import Stack, run_elsewhere
from sandbox.engine.launchers import place_clouds
from sandbox.engine.simulated import on_the_sandbox
from sandbox.engine.workspace import Workspace
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root


@pytest.fixture
def home(tmp_path: Path) -> SandboxHome:
    return SandboxHome(tmp_path / "home")


def test_the_users_cluster_and_charts_give_way_to_the_sandboxs(home: SandboxHome) -> None:
    written = read_document("roce-macvlan", project_root())
    tried = on_the_sandbox(written, home)
    assert tried.sections["cluster"] == {**written.sections["cluster"], "kubeconfig": str(home.kubeconfig)}
    assert tried.sections["software"] == {"charts": "bundled"}
    assert tried.sections["fabric"] == written.sections["fabric"]


def test_nothing_that_leads_to_the_users_cluster_is_kept(home: SandboxHome) -> None:
    written = read_document("oke-guide", project_root())
    own = {"kubeconfigSecret": "kubeconfig", "context": "production", "id": "ocid1.cluster"}
    cluster = {**written.sections["cluster"], **own}
    cluster.pop("kubeconfig")
    document = written.model_copy(update={"sections": {**written.sections, "cluster": cluster}})
    tried = on_the_sandbox(document, home)
    assert not own.keys() & tried.sections["cluster"].keys()
    assert tried.sections["software"] == {"releaseLine": "23.10", "charts": "bundled"}


def test_a_stack_of_a_simulated_cloud_keeps_its_cluster_and_gets_the_sandboxs_charts(home: SandboxHome) -> None:
    written = read_document("doks-h200", project_root())
    tried = on_the_sandbox(written, home)
    assert tried.sections["cluster"] == written.sections["cluster"]
    assert tried.sections["software"] == {**written.sections.get("software", {}), "charts": "bundled"}


def test_a_provider_that_nobody_knows_is_left_to_be_refused_with_the_other_mistakes(home: SandboxHome) -> None:
    document = StackDocument(
        name="cloud", file="Pulumi.cloud.yaml", root=project_root(), sections={"cluster": {"provider": "oks"}}
    )
    _, problems = validate(on_the_sandbox(document, home))

    assert any(problem.path.endswith("cluster.provider") for problem in problems)


def test_a_tried_stack_brings_none_of_its_users_secrets_and_cloud_settings(home: SandboxHome, tmp_path: Path) -> None:
    committed = tmp_path / "Pulumi.mine.yaml"
    settings = {"digitalocean:token": {"secure": "v1:x"}, "digitalocean:spacesAccessId": "A", "oci:tenancyOcid": "o"}
    own = {"gpu-fabric:password": {"secure": "v1:y"}, "pulumi:tags": {"team": "a"}}
    file = {"secretsprovider": "awskms://k", "encryptionsalt": "v1:z", "config": {**settings, **own}}
    committed.write_text(yaml.safe_dump(file))
    workspace = Workspace(home)
    workspace.stacks.mkdir(parents=True)
    copy = yaml.safe_load(workspace.stack_config("mine", committed, {"software": {}}).read_text())
    assert copy == {"config": {"pulumi:tags": {"team": "a"}, "gpu-fabric:software": {}}}


USERS = {
    "DIGITALOCEAN_TOKEN": "dop_v1_users",
    "DIGITALOCEAN_ACCESS_TOKEN": "dop_v1_users",
    "DIGITALOCEAN_API_URL": "https://api.digitalocean.com",
    "SPACES_ACCESS_KEY_ID": "users",
    "OCI_CLI_KEY_CONTENT": "users",
    "TF_VAR_private_key": "users",
    "KUBECONFIG": "/users",
    "PULUMI_ACCESS_TOKEN": "pul-users",
}


def test_no_credential_of_the_user_reaches_a_run_on_the_sandbox(
    home: SandboxHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in USERS.items():
        monkeypatch.setenv(name, value)

    environment = Workspace(home).environment()

    assert not [value for value in environment.values() if "users" in value]
    assert "DIGITALOCEAN_API_URL" not in environment
    assert environment["DIGITALOCEAN_TOKEN"] == environment["DIGITALOCEAN_ACCESS_TOKEN"] == account_token(home)
    assert environment["GPU_FABRIC_SANDBOX"] == str(home.root)


def test_the_clouds_programs_are_found_by_runs_on_the_sandbox_alone(home: SandboxHome, tmp_path: Path) -> None:
    engine_home, programs = tmp_path / "engine", tmp_path / "programs"
    place_clouds(engine_home, programs)

    version = metadata.version("pulumi-digitalocean")
    plugin = engine_home / "plugins" / f"resource-digitalocean-v{version}" / "pulumi-resource-digitalocean"
    assert os.access(plugin, os.X_OK)
    assert os.access(programs / "doctl", os.X_OK)
    assert str(Workspace(home).cloud_programs) in Workspace(home).environment()["PATH"].split(os.pathsep)


def test_a_run_with_the_users_account_sees_nothing_of_the_sandbox(
    home: SandboxHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, seen = tmp_path / "users", tmp_path / "seen"
    programs.mkdir()
    (programs / "pulumi").write_text(f"#!/bin/sh\n{{ env; echo doctl=`command -v doctl`; }} > {seen}\n")
    (programs / "pulumi").chmod(0o700)
    workspace = Workspace(home)
    place_clouds(workspace.engine_home, workspace.cloud_programs)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", "dop_v1_users")
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    document = read_document("doks-h200", project_root())
    stack = Stack("doks-h200", project_root() / document.file, validate(document)[0], prepare(document, for_up=False))

    assert run_elsewhere("preview", stack, home.bin, [], print) == 0

    environment = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert environment["DIGITALOCEAN_TOKEN"] == "dop_v1_users"
    assert "PULUMI_HOME" not in environment
    assert environment["doctl"] == ""


def test_the_stand_in_for_doctl_refuses_any_other_account_and_command(home: SandboxHome) -> None:
    command = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1", "id"]
    with pytest.raises(SandboxError, match="simulated account"):
        doctl.answer(command, {"DIGITALOCEAN_ACCESS_TOKEN": "dop_v1_users"}, home)
    with pytest.raises(SandboxError, match="no other command"):
        doctl.answer(["compute", "droplet", "list"], {"DIGITALOCEAN_ACCESS_TOKEN": account_token(home)}, home)


def test_the_engine_gets_the_tried_sections_and_the_committed_file_stays(home: SandboxHome) -> None:
    committed = project_root() / "examples" / "Pulumi.ipoib.yaml"
    before = committed.read_text()
    workspace = Workspace(home)
    workspace.stacks.mkdir(parents=True)
    sections = on_the_sandbox(read_document("ipoib", project_root()), home).sections
    copy = yaml.safe_load(workspace.stack_config("ipoib", committed, sections).read_text())
    assert copy["config"]["gpu-fabric:cluster"]["kubeconfig"] == str(home.kubeconfig)
    assert copy["config"]["gpu-fabric:software"] == {"charts": "bundled"}
    assert committed.read_text() == before
