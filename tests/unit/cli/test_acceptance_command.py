"""`gpu-fabric acceptance`: a stack's life by played commands, its record, its report, and what it refuses."""

import json
import os
import platform
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from command_line import refusal_of, run
from lived_in_clusters import LivedInCluster, lived_in
from stand_in_kubectl import StandInKubectl
from stand_in_program import answer_here, write_program
from typer import Abort, Exit

from gpu_fabric.cli.acceptance import Trial, accept
from gpu_fabric.cli.kubectl import ClusterError
from gpu_fabric.discover.look import script
from gpu_fabric.discover.look_job import NAMESPACE
from gpu_fabric.live.state import StackState, UnreadStateError
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from sandbox.hardware.looks import printed

ROOT = Path(__file__).parents[3]
TENANT = "ocid1.tenancy.oc1..aaaaaaaab5xq"


def event(name: str, at: int, **content: Any) -> str:
    return json.dumps({"sequence": 1, "timestamp": at, name: content})


def step(name: str, at: int, op: str, **more: Any) -> str:
    kind = "kubernetes:helm.sh/v3:Release"
    urn = f"urn:pulumi:own::gpu-fabric::{kind}::gpu-operator-gpu-operator"
    return event(name, at, metadata={"op": op, "urn": urn, "type": kind, **more})


def changed(op: str, seconds: int, **more: Any) -> list[str]:
    ends = [step("resourcePreEvent", 100, op, **more), step("resOutputsEvent", 100 + seconds, op, **more)]
    return [*ends, event("summaryEvent", 200, durationSeconds=seconds, resourceChanges={op: 1})]


NOTHING = [event("summaryEvent", 200, durationSeconds=3, resourceChanges={"same": 1})]
REFUSED = [
    step("resourcePreEvent", 100, "create"),
    step("resOpFailedEvent", 700, "create"),
    event(
        "diagnosticEvent",
        700,
        severity="error",
        urn="urn:pulumi:own::gpu-fabric::kubernetes:helm.sh/v3:Release::gpu-operator-gpu-operator",
        message=f"<{{%reset%}}>the stack is currently locked by 1 lock(s); asked by ada@example.org of {TENANT}",
    ),
]


class PlayedEngine:
    """Pulumi and a cluster, by what each run of a verb does: its exit status and events, or an interrupt."""

    def __init__(self, plan: Any, cluster: LivedInCluster, **runs: list[tuple[int, list[str]] | None]) -> None:
        whole = {"up": [(0, changed("create", 63)), (0, NOTHING)], "destroy": [(0, changed("delete", 7))]}
        self.runs = {**whole, **runs}
        self.known: tuple[dict[str, Any], ...] = ()
        self.said: list[str] = []
        self.contract = plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.cluster = cluster
        self.unread, self.refuses = "", False

    def version(self) -> str:
        return "v3.214.0"

    def create(self) -> None:
        self.said.append("create")

    def state(self) -> StackState:
        if self.unread:
            raise UnreadStateError(self.unread)
        return StackState(self.known)

    def show(self, verb: str, events: Path) -> int:
        self.said.append(verb)
        done = self.runs[verb].pop(0)
        kind = "digitalocean:index/kubernetesCluster:KubernetesCluster"
        self.known = ({"urn": f"urn:pulumi:own::p::{kind}::gpu", "type": kind, "custom": True},)
        status, lines = done or (0, changed("create", 5)[:2])
        if verb == "destroy" and status == 0:
            self.known = ()
        events.write_text("\n".join(lines), encoding="utf-8")
        if done is None:
            raise KeyboardInterrupt
        return status

    def outputs(self) -> dict[str, Any]:
        return {"fabric": self.contract, "verification": None}

    @contextmanager
    def kubectl(self) -> Iterator[Any]:
        """The played cluster, in which the Job that looks at a node ends at once."""
        nodes = {node["metadata"]["name"]: node for node in self.cluster.nodes}
        looked: list[str] = []

        def create(path: str, manifest: dict[str, Any]) -> dict[str, Any]:
            if manifest["kind"] == "Job":
                looked.append(manifest["spec"]["template"]["spec"]["nodeName"])
            return self.cluster.create(path, manifest) if "selfsubject" in path else manifest

        def get(path: str) -> dict[str, Any] | None:
            if "job-name" in path:
                return {"items": [{"metadata": {"name": "look"}, "status": {"phase": "Succeeded"}}]}
            return self.cluster.read(path)

        def logs(namespace: str, *_: object, **__: object) -> str:
            if namespace != NAMESPACE or self.refuses:
                raise ClusterError("the cluster forbids logs", "Forbidden")
            return printed(script(), nodes[looked[-1]])

        kubectl = {"get": get, "create": create, "apply_dry": self.cluster.apply, "logs": logs, "delete": len}
        yield SimpleNamespace(**kubectl)


@pytest.fixture(scope="module")
def planned() -> Any:
    document = read_document("dev", ROOT)
    return document, *prepare(document, for_up=False)


@pytest.fixture
def played(planned: Any, tmp_path: Path) -> Callable[..., tuple[Trial, PlayedEngine]]:
    document, spec, plan = planned

    def make(**runs: Any) -> tuple[Trial, PlayedEngine]:
        trial = Trial(spec, plan, document, tmp_path / "acceptance-dev", "the cluster of a test")
        return trial, PlayedEngine(plan, lived_in(spec, plan), **runs)

    return make


def report_of(trial: Trial) -> str:
    return (trial.folder / "report.md").read_text(encoding="utf-8")


def test_a_stack_that_comes_as_planned_is_reported_with_versions_durations_and_nodes(
    played: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    trial, engine = played()

    assert accept(trial, engine, "new", yes=True) == 0, report_of(trial)

    assert engine.said == ["create", "up", "up", "destroy"]
    said, report = capsys.readouterr().out, report_of(trial)
    assert re.search(r"^cost of an hour +unknown", said, re.MULTILINE)
    assert "all steps were done, and nothing differs from the plan" in said
    assert "nothing is left of the stack" in said
    assert "On a cluster that exists: all steps were done, and nothing differs from the plan." in report
    assert "| gpu-operator-gpu-operator | kubernetes:helm.sh/v3:Release | create | 63 s | 1800 s |" in report
    assert "gpu-0, gpu-1, gpu-2: the catalog's BM.GPU.H100.8\n" in report
    assert '"rdmaDevice": "mlx5_0"' in report
    assert "| Kubernetes | v1.3" in report
    assert "| second up: done |" in report
    assert {file.name: oct(file.stat().st_mode & 0o777) for file in trial.folder.iterdir()} == dict.fromkeys(
        ("record.json", "report.md", "bundle.zip"), "0o600"
    )


def test_what_a_second_up_changes_and_what_is_changed_in_the_cluster_are_differences(played: Any) -> None:
    trial, engine = played(up=[(0, changed("create", 63)), (0, changed("update", 2, diffs=["values"]))])
    engine.contract = {**engine.contract, "nodes": 2}
    engine.refuses = True
    del engine.cluster.objects["apis/nv-ipam.nvidia.com/v1alpha1/ippools"][0]
    for node in engine.cluster.nodes:
        node["status"]["capacity"]["nvidia.com/gpu"] = "7"

    assert accept(trial, engine, "new", yes=True) == 1

    report = report_of(trial)
    assert engine.said[-1] == "destroy"
    assert (
        "the second up: update of kubernetes:helm.sh/v3:Release gpu-operator-gpu-operator, since values differ"
        in report
    )
    assert "output fabric.nodes: planned 3, and it is 2" in report
    assert "DRI001" in report
    assert "the cluster forbids logs" in report
    assert "nodes of shape BM.GPU.H100.8: number of GPUs: 7 instead of 8" in report


def test_a_failed_up_is_reported_explained_and_says_what_costs_money_until_it_is_destroyed(
    played: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    trial, engine = played(up=[(1, REFUSED)])

    assert accept(trial, engine, "new", yes=True) == 1

    said, report = capsys.readouterr().out, report_of(trial)
    assert "left at the cloud, and paid for: KubernetesCluster gpu" in said
    assert "destroy it: gpu-fabric acceptance -s dev --destroy" in said
    assert "helm.sh/v3:Release gpu-operator-gpu-operator: the stack is currently locked by 1 lock(s)" in report
    assert "pulumi-stack-locked (Pulumi)" in report
    assert TENANT not in report
    assert "ada@example.org" not in report
    assert "asked by [e mail 1] of [ocid1.tenancy 1]" in report
    # What came of it was examined: the error is not all that is known.
    assert "the catalog's BM.GPU.H100.8" in report

    assert accept(trial, engine, "destroy", yes=True) == 1
    assert engine.said == ["create", "up", "create", "destroy"]
    assert "On a cluster that exists: not done: up, examination, second up; 0 differences" in report_of(trial)


def test_an_interrupted_step_is_done_again_by_resume_and_by_nothing_else(
    played: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    trial, engine = played(up=[None, (0, changed("create", 63)), (0, NOTHING)])

    assert accept(trial, engine, "new", yes=True) == 130
    assert "| create | 5 s |" in report_of(trial)
    with pytest.raises(Exit) as refused:
        accept(trial, engine, "new", yes=True)
    assert refused.value.exit_code == 2
    assert "go on with it: gpu-fabric acceptance -s dev --resume" in capsys.readouterr().err

    assert accept(trial, engine, "resume", yes=True) == 0
    assert engine.said == ["create", "up", "create", "up", "up", "destroy"]
    assert "| up: interrupted |" in report_of(trial)


def test_what_is_left_after_a_destroy_is_a_failure_of_it_and_an_unread_state_is_said(
    played: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    trial, engine = played(destroy=[(1, [])])
    assert accept(trial, engine, "new", yes=True) == 1
    assert "`pulumi destroy` ended with 1" in report_of(trial)

    engine.runs["destroy"] = [(1, [])]
    engine.unread = "passphrase must be set"
    assert accept(trial, engine, "resume", yes=True) == 1
    assert "what is left is not known, since the state was not read: passphrase must be set" in capsys.readouterr().out


def test_nothing_begins_without_an_answer_or_on_a_stack_that_is_up(
    played: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trial, engine = played()

    def refused(mode: str, *, yes: bool = False) -> str:
        with pytest.raises(Exit) as ended:
            accept(trial, engine, mode, yes=yes)
        assert ended.value.exit_code == 2
        return capsys.readouterr().err

    assert "there is no terminal to ask on: repeat the command with --yes" in refused("new")
    assert "no acceptance of stack dev has begun" in refused("destroy", yes=True)
    engine.known = ({"urn": "urn:x::a", "type": "kubernetes:core/v1:Namespace", "custom": True},)
    assert "stack dev is up, with 1 resources, which an acceptance would destroy" in refused("new", yes=True)
    assert (engine.said, trial.folder.exists()) == ([], False)


@pytest.mark.parametrize(("answer", "status", "said"), [(False, 1, []), (None, 130, []), (True, 0, ["create", "up"])])
def test_it_begins_only_after_a_yes(
    played: Any, monkeypatch: pytest.MonkeyPatch, answer: bool | None, status: int, said: list[str]
) -> None:
    trial, engine = played()
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        if answer is None:
            raise Abort
        return answer

    monkeypatch.setattr("gpu_fabric.cli.acceptance.is_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", confirm)
    try:
        ended = accept(trial, engine, "new", yes=False)
    except Exit as refused:
        ended = refused.exit_code

    assert (ended, engine.said[:2], trial.folder.exists()) == (status, said, bool(said))
    assert asked == ["Create this, and destroy it at the end?"]


def pulumi(here: Path, words: list[str], _: str) -> tuple[int, str, str]:
    """Pulumi on a stack that is created, comes up and goes; what it was asked goes to `pulumi.calls`."""
    with (here / "pulumi.calls").open("a", encoding="utf-8") as calls:
        calls.write(" ".join(words) + "\n")
    up, verb = here / "up", " ".join(words[:2])
    resource = dict(urn="urn:pulumi:own::p::a:b:C::gpu", type="kubernetes:core/v1:Namespace", custom=True)
    if words[0] in ("up", "destroy"):
        (up.touch if words[0] == "up" else up.unlink)()
        summary = dict(summaryEvent=dict(durationSeconds=1, resourceChanges={"same" if up.exists() else "delete": 1}))
        Path(words[words.index("--event-log") + 1]).write_text(json.dumps(summary), encoding="utf-8")
        return 0, "", ""
    if verb == "stack export" and not (here / "exists").exists():
        return 255, "", "error: no stack named 'own' found\n"
    if verb == "stack init":
        (here / "exists").touch()
    resources = [resource] if up.exists() else []
    answers = {
        "stack export": dict(deployment=dict(resources=resources, pending_operations=[])),
        "stack output": dict(fabric=dict(nodes=3)) if up.exists() else {},
        "whoami --json": dict(user="ada", url=f"file://{here}"),
    }
    return 0, json.dumps(answers.get(verb, "v3.259.0")) + "\n", ""


def test_the_users_own_pulumi_and_kubectl_are_run_on_a_stack_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_stack(tmp_path)
    answer_here(tmp_path / "bin" / "pulumi", pulumi, monkeypatch)
    node = {"kind": "Node", "metadata": {"name": f"{platform.node()}-0", "labels": {}}, "status": {}}
    answers = {
        "get /api/v1/nodes": {"kind": "NodeList", "items": [node]},
        "create /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {"status": {"allowed": True}},
    }
    StandInKubectl(tmp_path / "bin", answers, monkeypatch)
    monkeypatch.chdir(tmp_path)

    assert refusal_of("acceptance", "own", "--yes").startswith(
        "the state of stack own was not read: there is no pulumi"
    )
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    done = run("acceptance", "own", "--yes")

    assert done.exit_code == 1, done.output
    calls = (tmp_path / "bin" / "pulumi.calls").read_text().splitlines()
    ran = [line.split(" --event-log")[0] for line in calls if line.startswith(("up", "destroy", "stack init"))]
    options = "--yes --skip-preview --suppress-outputs"
    assert ran == ["stack init --no-select --stack own --non-interactive", *[f"up {options}"] * 2, f"destroy {options}"]
    assert all(line.endswith("--stack own") for line in calls if line.startswith(("up", "destroy")))
    report = (tmp_path / "acceptance-own" / "report.md").read_text()
    assert "DRI009" in report
    assert "no node with GPUs is among these objects" in report
    assert "nothing is left of the stack" in done.stdout
    assert refusal_of("acceptance", "own", "--yes").startswith(
        "acceptance-own has the report of an acceptance that has"
    )


def own_stack(folder: Path) -> None:
    """A project with the stack `own`, on a cluster that exists."""
    document = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    document["config"]["gpu-fabric:cluster"]["kubeconfig"] = "kubeconfig"
    document["config"]["gpu-fabric:software"]["charts"] = "upstream"
    (folder / "Pulumi.own.yaml").write_text(yaml.safe_dump(document))
    (folder / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    named = {"name": "lab"}
    cluster = {**named, "cluster": {"server": "https://192.0.2.7:6443"}}
    context = {**named, "context": {"cluster": "lab", "user": "lab"}}
    config = {"current-context": "lab", "clusters": [cluster], "contexts": [context], "users": [{**named, "user": {}}]}
    (folder / "kubeconfig").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **config}))


def test_an_example_a_protected_stack_and_half_a_pair_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert "stack ib-sriov is an example" in refusal_of("acceptance", "ib-sriov", "--yes")
    assert "leave one out" in refusal_of("acceptance", "doks-h200", "--resume", "--destroy")

    document = yaml.safe_load((ROOT / "examples/Pulumi.doks-h200.yaml").read_text())
    document["config"]["gpu-fabric:cluster"]["protect"] = True
    (tmp_path / "Pulumi.own.yaml").write_text(yaml.safe_dump(document))
    write_program(tmp_path / "bin" / "pulumi", pulumi)
    StandInKubectl(tmp_path / "bin", {}, monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert "stack own is protected from being destroyed" in refusal_of("acceptance", "own", "--yes")


def test_a_run_that_gets_a_signal_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulumi finishes what is under way; only then the command goes on."""
    from gpu_fabric.cli.pulumi_command import Pulumi

    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nkill -INT {os.getpid()}\nsleep 0.2\ntouch {tmp_path}/ended\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        Pulumi(tmp_path, "own").show("up", tmp_path / "events")

    assert (tmp_path / "ended").exists()
    assert signal.getsignal(signal.SIGINT) is before
