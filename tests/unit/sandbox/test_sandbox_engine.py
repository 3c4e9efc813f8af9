"""The engine's workspace keeps the committed files as they are, and an interrupted run is put right."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from stub_cluster import KUBECONFIG

from gpu_fabric.live.stack import Stack as JudgedStack
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document, validate
from sandbox.cli import app
from sandbox.cli import main as sandbox_command
from sandbox.cloud.clusters import ControlPlanes
from sandbox.engine.commands import SandboxEngine, Stack, announcement, is_sandbox_stack
from sandbox.engine.display import is_crash, is_news
from sandbox.engine.recovery import recover
from sandbox.engine.run import Ended, Runs
from sandbox.engine.workspace import Workspace, lies_in
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root
from sandbox.kubernetes_api import Api, ApiError
from sandbox.processes import PidFile

URN = "urn:pulumi:dev::gpu-fabric::"


class FakeApi(Api):
    """Answers for Helm's secrets and for a ConfigMap."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}

    def release(self, name: str, status: str, number: int = 1) -> None:
        secret = f"sh.helm.release.v1.{name}.v{number}"
        self.objects[f"/api/v1/namespaces/{name}/secrets/{secret}"] = {
            "metadata": {
                "name": secret,
                "namespace": name,
                "labels": {"owner": "helm", "name": name, "status": status, "version": str(number)},
            }
        }

    def request(self, method: str, path: str, body: Any = None, kind: str = "") -> dict[str, Any]:
        place = urlsplit(path)
        if place.path == "/api/v1":
            return {"resources": [{"kind": "ConfigMap", "name": "configmaps", "namespaced": True}]}
        if place.path in self.objects:
            return self.objects.pop(place.path) if method == "DELETE" else self.objects[place.path]
        if place.path == "/api/v1/secrets":
            rows = [row for key, row in self.objects.items() if "/secrets/" in key]
            return {"items": [row for row in rows if row["metadata"]["labels"]["status"] != "superseded"]}
        raise ApiError(404, "not found")


class RecordedRuns(Runs):
    """Writes down what the engine would be asked."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.asked: list[list[str]] = []

    def run(self, arguments: Any, cwd: Path, *, quiet: bool = False) -> Ended:
        self.asked.append(list(arguments))
        return Ended(status=0, crashed=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = Workspace(SandboxHome(tmp_path / "home"))
    found.__dict__["project"] = "gpu-fabric"
    return found


def _checkpoint(workspace: Workspace, resources: list[dict[str, Any]], pending: list[dict[str, Any]]) -> None:
    file = workspace.checkpoint("dev")
    file.parent.mkdir(parents=True, exist_ok=True)
    latest = {"resources": resources, "pending_operations": pending}
    file.write_text(json.dumps({"version": 3, "checkpoint": {"latest": latest}}))


def _release(name: str) -> dict[str, Any]:
    kind = "kubernetes:helm.sh/v3:Release"
    return {"urn": f"{URN}{kind}::{name}", "type": kind, "inputs": {"namespace": name, "name": name}}


def _stack(name: str, root: Path, sections: dict[str, Any] | None = None) -> Stack:
    document = read_document(name, root)
    spec, _ = validate(document)
    assert spec is not None
    return Stack(name, root / document.file, spec, prepare(document, for_up=False).plan, sections)


def _recover(workspace: Workspace, api: FakeApi, *, destroying: bool = False) -> tuple[list[list[str]], list[str]]:
    runs, said = RecordedRuns(workspace), []
    stack = _stack("dev", project_root())
    recover(workspace, runs, [api], JudgedStack(stack.spec, stack.plan), said.append, destroying=destroying)
    return runs.asked, said


@pytest.mark.parametrize(
    ("written", "taken"), [(".sandbox/kubeconfig", "the sandbox's"), ("~/.kube/config", "~/.kube/config")]
)
def test_a_committed_stack_file_is_copied_with_the_engines_salt_for_this_sandboxs_cluster(
    workspace: Workspace, tmp_path: Path, written: str, taken: str
) -> None:
    committed = tmp_path / "Pulumi.dev.yaml"
    # An environment at Pulumi's service is not the sandbox's, whose state is in a folder.
    text = f"environment: [gpu/train]\nconfig:\n  gpu-fabric:cluster: {{kubeconfig: {written}}}\n"
    committed.write_text(text)
    workspace.stack_config("dev", committed)
    workspace.stack_file("dev").write_text("encryptionsalt: v1:abc\nconfig: {}\n")

    copy = yaml.safe_load(workspace.stack_config("dev", committed).read_text())

    kubeconfig = str(workspace.home.kubeconfig) if taken == "the sandbox's" else taken
    assert copy == {"config": {"gpu-fabric:cluster": {"kubeconfig": kubeconfig}}, "encryptionsalt": "v1:abc"}
    assert committed.read_text() == text


def test_a_kubeconfig_lies_in_the_sandbox_when_the_project_root_says_so() -> None:
    assert lies_in(".sandbox/kubeconfig", project_root() / ".sandbox")
    assert not lies_in(".sandbox/../kubeconfig", project_root() / ".sandbox")


def test_after_a_clean_run_there_is_nothing_to_repair(workspace: Workspace) -> None:
    api = FakeApi()
    api.release("gpu-operator", "deployed")
    _checkpoint(workspace, [_release("gpu-operator")], [])

    assert _recover(workspace, api) == ([], [])


def test_a_release_of_an_interrupted_run_is_mended_without_waiting_for_its_limit(workspace: Workspace) -> None:
    api = FakeApi()
    api.release("gpu-operator", "superseded", 1)
    api.release("gpu-operator", "pending-upgrade", 2)
    _checkpoint(workspace, [], [])

    asked, said = _recover(workspace, api)

    assert [path.rpartition(".")[2] for path in api.objects] == ["v1"]
    assert [command[0] for command in asked] == ["refresh"]
    assert said[0].startswith("error DOC010: release gpu-operator in namespace gpu-operator is pending-upgrade")
    assert _recover(workspace, api) == ([], [])


@pytest.mark.parametrize(
    ("kind", "name", "option", "told"),
    [
        ("kubernetes:core/v1:Namespace", "ops", "--clear-pending-creates",
            "error DOC002: ops was interrupted while creating: whether it was done is not recorded"),
        ("digitalocean:index/vpc:Vpc", "cluster-vpc", "refresh",
            "error DOC002: cluster-vpc was interrupted while creating: its cloud may have it"),
    ],
)  # fmt: skip
def test_an_operation_of_unknown_outcome_is_told_and_read_from_the_cluster(
    workspace: Workspace, kind: str, name: str, option: str, told: str
) -> None:
    resource = {"urn": f"{URN}{kind}::{name}", "type": kind, "inputs": {}}
    _checkpoint(workspace, [], [{"type": "creating", "resource": resource}])
    asked, said = _recover(workspace, FakeApi())
    assert (asked[0][0], option in asked[0], said[0][: len(told)]) == ("refresh", True, told)


def test_before_a_destroy_what_was_being_created_is_deleted(workspace: Workspace) -> None:
    api = FakeApi()
    api.objects["/api/v1/namespaces/train/configmaps/nccl-conf"] = {}
    metadata = {"namespace": "train", "name": "nccl-conf"}
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    resource = {"urn": f"{URN}kubernetes:core/v1:ConfigMap::nccl", "type": "kubernetes:core/v1:ConfigMap"}
    _checkpoint(workspace, [], [{"type": "creating", "resource": {**resource, "inputs": inputs}}])

    _recover(workspace, api, destroying=True)

    assert api.objects == {}


def test_a_stale_lock_is_released_and_a_second_run_refused_while_the_first_one_lives(workspace: Workspace) -> None:
    lock = workspace.backend / ".pulumi/locks/organization/gpu-fabric/dev/1.json"
    lock.parent.mkdir(parents=True)
    lock.write_text("{}")
    assert workspace.state("dev") is None
    assert _recover(workspace, FakeApi())[0] == [["cancel", "--yes", "--stack", "dev"]]

    PidFile(workspace.home.pulumi / "run-owner.json").write(1)
    with pytest.raises(SandboxError, match="process 1 is running Pulumi"):
        Runs(workspace).require_none()


@pytest.mark.parametrize(
    ("line", "news"),
    [
        (" +  kubernetes:core/v1:ConfigMap nccl-default creating (0s) \n", False),
        ("@ updating....\n", False),
        (" -  kubernetes:k8s.cni.cncf.io/v1:Network rail-00 deleting (0s) Resource scheduled for deletion\n", False),
        (" +  kubernetes:core/v1:ConfigMap nccl-default created (0.04s) \n", True),
        (" +  kubernetes:mellanox.com/v1alpha1:NicClusterPolicy nic creating (5s) waiting for state ready\n", True),
        ("    error: the server rejected our request\n", True),
        ("    error: an unhandled error occurred: program exited with non-zero exit code: 1\n", False),
        ("    pulumi:pulumi:Stack gpu-fabric-dev  info: cluster: context prod, server https://10.0.0.1:6443\n", False),
        (" +  kubernetes:a/v1:B c creating (0s) Found {.metadata.annotations['gpu-fabric/awaited']}=698d\n", False),
        (" +  kubernetes:a/v1:B c creating (0s) Found {.status.state}=ready\n", True),
        ("Resources:\n", True),
    ],
)
def test_of_the_engines_lines_only_those_that_say_something_new_are_shown(line: str, news: bool) -> None:
    assert is_news(line) is news


def test_a_plug_in_that_died_is_told_from_a_resource_that_failed() -> None:
    died = [
        "panic: runtime error: invalid memory address",
        "fatal error: concurrent map writes",
        "goroutine 60 [running]:",
    ]
    assert [is_crash(f"    {line}\n") for line in (*died, "error: release gpu-operator failed: timed out")] == [
        *[True] * 3,
        False,
    ]


class EndingRuns(RecordedRuns):
    """Ends each run as told, one after the other."""

    def __init__(self, workspace: Workspace, *ends: Ended) -> None:
        super().__init__(workspace)
        self.ends = list(ends)

    def run(self, arguments: Any, cwd: Path, *, quiet: bool = False, total: int | None = None) -> Ended:
        super().run(arguments, cwd, quiet=quiet)
        return self.ends.pop(0)


@pytest.mark.parametrize(
    ("ends", "status", "runs"),
    [
        ((Ended(255, crashed=True), Ended(0, crashed=False)), 0, 2),
        ((Ended(255, crashed=True), Ended(255, crashed=True)), 255, 2),
        ((Ended(255, crashed=False),), 255, 1),
        ((Ended(0, crashed=False),), 0, 1),
    ],
    ids=["crashed once", "crashed twice", "failed for a reason", "went well"],
)
def test_only_a_crashed_plug_in_makes_a_run_start_once_more(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, ends: tuple[Ended, ...], status: int, runs: int
) -> None:
    engine = SandboxEngine.__new__(SandboxEngine)
    engine.workspace, engine.say = workspace, lambda line: None
    engine.runs = recorded = EndingRuns(workspace, *ends)
    monkeypatch.setattr(engine, "_apis", lambda stack: [FakeApi()])

    assert engine._converge(_stack("dev", project_root()), ["up"], destroying=False) == status
    assert recorded.asked == [["up"]] * runs


@pytest.mark.parametrize("command", [["up"], ["pulumi", "up"], ["pulumi", "preview"]])
def test_a_stack_that_this_version_can_only_plan_is_refused_before_anything_starts(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    document = yaml.safe_load((project_root() / "examples/Pulumi.oke-h100.yaml").read_text())
    document["config"]["gpu-fabric:fabric"]["model"] = "macvlan"
    (tmp_path / "Pulumi.oke-h100.yaml").write_text(yaml.safe_dump(document))
    monkeypatch.setattr("sandbox.cli.project_root", lambda: tmp_path)
    with pytest.raises(SystemExit) as ended:
        sandbox_command(lambda: app([*command, "-s", "oke-h100"], standalone_mode=False))

    assert ended.value.code == 2
    assert "error SUP007" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "sections", "line"),
    [
        ("doks-h200", None, "DigitalOcean, with your account"),
        ("doks-h200", {}, "simulated DigitalOcean in {home}"),
        ("dev", None, "cluster: context stub, server https://127.0.0.1:1 ({home}/kubeconfig)"),
    ],
)
def test_a_command_says_which_cloud_or_cluster_it_talks_to(
    name: str, sections: dict[str, Any] | None, line: str, tmp_path: Path
) -> None:
    home, stack = SandboxHome(tmp_path), _stack(name, project_root(), sections)
    # Before there is a kubeconfig, nothing is announced.
    assert name != "dev" or announcement(stack, home) is None
    home.kubeconfig.write_text(KUBECONFIG)
    assert announcement(stack, home) == line.format(home=tmp_path)
    assert name == "dev" or is_sandbox_stack(stack, home) is (sections is not None)


def test_a_kubeconfig_of_a_secret_is_announced_by_its_key(tmp_path: Path) -> None:
    stack = _stack("dev", project_root())
    cluster = stack.spec.cluster.model_copy(update={"kubeconfig": None, "kubeconfig_secret": "access"})
    stack = replace(stack, spec=stack.spec.model_copy(update={"cluster": cluster}))
    assert "secret access" in str(announcement(stack, SandboxHome(tmp_path)))


def test_a_stack_of_a_simulated_cloud_is_repaired_in_its_own_clusters_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SandboxEngine.__new__(SandboxEngine)
    engine.home, engine.workspace, engine.planes = workspace.home, workspace, ControlPlanes(workspace.home)
    for cluster in ("of-the-stack", "of-another"):
        home = workspace.home.cluster(cluster)
        home.create()
        home.save_state({"ports": {}})
        home.kubeconfig.write_text("")
    asked: list[Path] = []
    monkeypatch.setattr("sandbox.engine.commands.Api", asked.append)
    stack = _stack("doks-h200", project_root(), {})

    engine._apis(stack)
    assert asked == []

    file = workspace.checkpoint("doks-h200")
    file.parent.mkdir(parents=True)
    latest = {"resources": [{"type": "t", "urn": "u"}, {"type": "t", "urn": "v", "id": "of-the-stack"}]}
    file.write_text(json.dumps({"version": 3, "checkpoint": {"latest": latest}}))
    engine._apis(stack)
    assert asked == [workspace.home.cluster("of-the-stack").kubeconfig]


def _failing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, asked: list[list[str]]) -> SandboxEngine:
    """An engine on a cluster that needs nothing, each run of which fails once it has noted what it was asked."""
    engine = SandboxEngine.__new__(SandboxEngine)
    engine.home, engine.workspace, engine.say = workspace.home, workspace, lambda line: None
    engine.runs = Runs(workspace)
    _checkpoint(workspace, [], [])
    monkeypatch.setattr(engine, "_require_clusters", lambda stack: None)
    monkeypatch.setattr(engine, "_recover", lambda stack, *, destroying: None)
    monkeypatch.setattr(
        engine.runs, "run", lambda arguments, *_, **__: asked.append(list(arguments)) or Ended(1, crashed=False)
    )
    return engine


def test_controllers_are_built_before_the_engine_starts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr("sandbox.engine.commands.ensure", lambda names, progress: asked.append(names))
    engine = _failing(workspace, monkeypatch, asked)
    engine.up(replace(_stack("dranet-kueue", root / "tests" / "stacks"), name="dev"), as_json=False)
    assert [arguments[0] for arguments in asked][-2:] == ["kueue", "up"]


@pytest.mark.parametrize("verb", ["up", "preview", "refresh", "destroy"])
def test_no_run_prints_all_outputs_whether_they_changed_or_not(
    verb: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    engine = _failing(workspace, monkeypatch, asked)
    stack = _stack("dev", project_root())

    command = getattr(engine, verb)
    assert command(stack, as_json=False) if verb in ("up", "preview") else command(stack)

    assert [arguments[0] for arguments in asked] == [verb]
    assert "--suppress-outputs" in asked[0]
