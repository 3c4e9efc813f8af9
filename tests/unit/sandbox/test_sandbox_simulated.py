"""Any stack for a cluster of one's own can be tried on the sandbox, and its own cluster is left alone."""

import os
import re
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document, validate
from sandbox.cloud import doctl
from sandbox.cloud.account import account_token
from sandbox.cloud.digitalocean import facts
from sandbox.cloud.digitalocean.cluster_records import new_cluster
from sandbox.cloud.digitalocean.provider import open_api
from sandbox.engine.commands import Stack, on_the_sandbox, run_elsewhere
from sandbox.engine.workspace import Workspace, place_clouds
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root
from sandbox.toolchain.build import built_engine
from sandbox.toolchain.recipes import choose


def committed(name: str) -> Stack:
    document = read_document(name, project_root())
    return Stack(name, project_root() / document.file, validate(document)[0], prepare(document, for_up=False).plan)


def owned(name: str) -> Stack:
    """The stack of an example whose file the user has copied to the top."""
    return replace(committed(name), file=project_root() / f"Pulumi.{name}.yaml")


@pytest.fixture
def home(tmp_path: Path) -> SandboxHome:
    return SandboxHome(tmp_path / "home")


def test_the_users_cluster_and_charts_give_way_to_the_sandboxs(home: SandboxHome) -> None:
    written = read_document("roce-macvlan", project_root())
    tried = on_the_sandbox(written, home)
    assert tried.sections["cluster"] == {**written.sections["cluster"], "kubeconfig": str(home.kubeconfig)}
    assert tried.sections["software"] == {**written.sections["software"], "charts": "bundled"}
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


def test_a_stack_of_a_cloud_keeps_its_cluster_and_one_of_an_unknown_one_is_left_to_be_refused(
    home: SandboxHome,
) -> None:
    written = read_document("doks-h200", project_root())
    tried = on_the_sandbox(written, home)
    assert tried.sections["cluster"] == written.sections["cluster"]
    assert tried.sections["software"] == {**written.sections.get("software", {}), "charts": "bundled"}
    unknown = written.model_copy(update={"sections": {"cluster": {"provider": "oks"}}})
    _, problems = validate(on_the_sandbox(unknown, home))
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
    "PULUMI_CONFIG_PASSPHRASE": "users",
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
    assert environment["PULUMI_BACKEND_URL"] == f"file://{Workspace(home).backend}?metadata=skip"


def test_the_clouds_programs_are_found_by_runs_on_the_sandbox_alone(home: SandboxHome, tmp_path: Path) -> None:
    engine_home, programs = tmp_path / "engine", tmp_path / "programs"
    place_clouds(engine_home, programs)

    version = metadata.version("pulumi-digitalocean")
    plugin = engine_home / "plugins" / f"resource-digitalocean-v{version}" / "pulumi-resource-digitalocean"
    assert os.access(plugin, os.X_OK)
    assert os.access(programs / "doctl", os.X_OK)
    assert str(Workspace(home).cloud_programs) in Workspace(home).environment()["PATH"].split(os.pathsep)


@pytest.mark.parametrize("verb", ["up", "preview", "refresh"])
def test_a_run_of_ones_own_never_writes_into_a_committed_example(home: SandboxHome, verb: str) -> None:
    stack = committed("ipoib")
    before = stack.file.read_bytes()

    with pytest.raises(SandboxError, match="stack ipoib is an example") as refused:
        run_elsewhere(verb, stack, [], [], print)
    assert "cp examples/Pulumi.ipoib.yaml Pulumi.ipoib.yaml" in refused.value.remedy
    assert stack.file.read_bytes() == before


@pytest.mark.parametrize("verb", ["up", "preview", "refresh", "destroy"])
def test_a_users_stack_whose_file_an_update_has_moved_to_the_examples_is_run_with_that_file(
    home: SandboxHome, users_pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Its file has the encryption of its secrets, which no committed example has."""
    users_pulumi.with_suffix(".status").write_text("0")
    monkeypatch.setattr("sandbox.engine.commands.project_root", lambda: tmp_path)
    stack = replace(committed("oke-h100"), file=tmp_path / "examples/Pulumi.oke-h100.yaml")
    stack.file.parent.mkdir()
    stack.file.write_text(f"encryptionsalt: v1:abc\n{committed('oke-h100').file.read_text()}")

    assert run_elsewhere(verb, stack, [home.bin], [], print) == 0
    (asked,) = users_pulumi.read_text().splitlines()
    assert f"--stack oke-h100 --config-file {stack.file}" in asked


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
    stack = owned("doks-h200")

    assert run_elsewhere("preview", stack, [home.bin], [], print) == 0

    environment = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert environment["DIGITALOCEAN_TOKEN"] == "dop_v1_users"
    assert "PULUMI_HOME" not in environment
    assert environment["doctl"] == ""


@pytest.fixture
def users_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `pulumi` of the user's that writes its arguments into the file given, and ends as the file beside it says."""
    programs, asked = tmp_path / "users", tmp_path / "asked"
    programs.mkdir()
    (programs / "pulumi").write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexit `cat {asked}.status`\n')
    (programs / "pulumi").chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return asked


@pytest.mark.parametrize(
    ("verb", "wishes", "ended", "summed_up"),
    [
        ("up", ["--yes"], 0, True),
        ("up", ["--yes", "--json"], 0, False),
        ("up", ["--yes"], 255, False),
        ("preview", [], 0, False),
        ("refresh", ["--yes"], 0, False),
        ("destroy", ["--yes"], 0, False),
        ("destroy", ["--yes"], 255, False),
    ],
)
def test_a_run_of_ones_own_prints_no_outputs_and_up_ends_with_how_to_see_them(
    home: SandboxHome,
    users_pulumi: Path,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    wishes: list[str],
    ended: int,
    summed_up: bool,
) -> None:
    stack = owned("doks-h200")
    users_pulumi.with_suffix(".status").write_text(str(ended))

    assert run_elsewhere(verb, stack, [home.bin], wishes, print) == min(ended, 1)

    (asked,) = users_pulumi.read_text().splitlines()
    assert "--suppress-outputs" in asked.split()
    said = capsys.readouterr().out
    assert ("Stack doks-h200 is up" in said) == summed_up
    assert ("make outputs STACK=doks-h200\n" in said) == summed_up
    purpose = " --for destroy" if verb == "destroy" else ""
    assert (f"what mends it: gpu-fabric doctor -s doks-h200{purpose}\n" in said) == (ended != 0)


def test_a_run_of_ones_own_takes_the_pulumi_that_it_asked_to_build(
    home: SandboxHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"/usr/bin{os.pathsep}/bin")
    stack = owned("doks-h200")
    assert built_engine() == []
    with pytest.raises(SandboxError, match="there is no `pulumi` on PATH") as refused:
        run_elsewhere("preview", stack, built_engine(), [], print)
    # The command that it names builds these, into these folders.
    names = refused.value.remedy.rpartition("python -m sandbox build ")[2].split()
    for recipe in choose(names):
        folder = tmp_path / "gpu-fabric" / "toolchain" / recipe.name / "key"
        folder.mkdir(parents=True)
        for output in recipe.outputs:
            (folder / output).write_text("#!/bin/sh\ncommand -v pulumi-language-python > /dev/null\n")
            (folder / output).chmod(0o700)

    assert run_elsewhere("preview", stack, built_engine(), [], print) == 0


@pytest.mark.parametrize("verb", ["outputs", "kubeconfig"])
def test_what_prints_outputs_still_does(home: SandboxHome, users_pulumi: Path, verb: str) -> None:
    users_pulumi.with_suffix(".status").write_text("0")
    assert run_elsewhere(verb, owned("doks-h200"), [home.bin], [], print) == 0
    assert "--suppress-outputs" not in users_pulumi.read_text()


def test_the_stand_in_for_doctl_refuses_any_other_account_and_command(home: SandboxHome) -> None:
    command = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1", "id"]
    with pytest.raises(SandboxError, match="simulated account"):
        doctl.answer(command, {"DIGITALOCEAN_ACCESS_TOKEN": "dop_v1_users"}, home)
    with pytest.raises(SandboxError, match="no other command"):
        doctl.answer(["compute", "droplet", "list"], {"DIGITALOCEAN_ACCESS_TOKEN": account_token(home)}, home)


def test_the_stand_in_for_doctl_lists_and_deletes_what_messages_send_the_user_to(home: SandboxHome) -> None:
    def doctl_says(command: str) -> str:
        return doctl.answer(command.split(), {"DIGITALOCEAN_ACCESS_TOKEN": account_token(home)}, home)

    api = open_api(home)
    with api.store.lock():
        pool = {"name": "system", "size": "s-4vcpu-8gb", "nodeCount": 1}
        inputs = {"name": "one", "region": "nyc2", "version": "1.36.1-do.0", "nodePool": pool}
        cluster, made = new_cluster(api, inputs)
    listed = doctl_says("kubernetes cluster list").splitlines()[1]
    assert listed.split()[:3] == [cluster["id"], "one", "nyc2"]
    assert made["id"] in doctl_says("kubernetes cluster node-pool list one")
    assert "1.36.1-do.0" in doctl_says("kubernetes options versions")
    assert "gpu-h200x8-1128gb-fabric-contracted" in doctl_says("compute size list")
    doctl_says("kubernetes cluster update one --surge-upgrade=false")
    newer = facts.next_version("1.36.1-do.0") or "1.36.1-do.0"
    doctl_says(f"kubernetes cluster upgrade one --version {newer}")
    assert newer in doctl_says("kubernetes cluster list")
    with pytest.raises(SandboxError, match="invalid version slug"):
        doctl_says("kubernetes cluster upgrade one --version 9.9")
    doctl_says(f"kubernetes cluster node-pool delete one {made['id']}")
    assert api.pools(cluster["id"]) == []
    with pytest.raises(SandboxError, match="no cluster two"):
        doctl_says("kubernetes cluster delete two --force")
    doctl_says("kubernetes cluster delete one --force")
    assert api.store.list("clusters") == []


def test_every_command_of_doctl_that_a_message_names_is_known(home: SandboxHome) -> None:
    root = project_root()
    texts = [
        file.read_text()
        for folder in ("components", "gpu_fabric", "docs")
        for file in (root / folder).rglob("*.*")
        # What error texts of the real cloud lead to is asked of the real one.
        if file.suffix in (".py", ".yaml", ".md") and "symptoms" not in str(file.relative_to(root))
    ]
    named = {found for text in texts for found in re.findall(r"doctl ((?:kubernetes|compute) [a-z][^`\"\n]*)", text)}
    assert len(named) >= 6
    for command in named:
        words = re.sub(r"\{[^}]*\}", "NAME", command).split()
        with pytest.raises(SandboxError, match="simulated account"):
            doctl.answer(words, {"DIGITALOCEAN_ACCESS_TOKEN": "another"}, home)
