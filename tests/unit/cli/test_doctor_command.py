"""`gpu-fabric doctor`: by the user's kubectl and pulumi; it changes nothing of others without an answer."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from stand_in_kubectl import StandInKubectl
from stand_in_program import answer_here, started
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.cli.programs import chart_definitions
from gpu_fabric.cli.pulumi_command import Pulumi, PulumiError
from gpu_fabric.live.state import StackState
from gpu_fabric.plan.records import ChartReference

ROOT = Path(__file__).parents[3]
Object = dict[str, Any]
WAIT = "network.nvidia.com/operator.mofed.wait"
NODE = "/api/v1/nodes/gpu-0"
SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1.gone.example"
EMPTY = '{"deployment": {"resources": [], "pending_operations": []}}'


def pulumi(here: Path, words: list[str], _: str) -> tuple[int, str, str]:
    """What Pulumi answers by the file `pulumi.json`; the call goes to `pulumi.jsonl`."""
    arguments = [word for word in words if word != "--non-interactive"]
    with (here / "pulumi.jsonl").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(arguments) + "\n")
    answers = json.loads((here / "pulumi.json").read_text(encoding="utf-8"))
    unknown = "error: no stack named 'dev' found"
    given = next((answer for asked, answer in answers.items() if " ".join(arguments).startswith(asked)), unknown)
    return (255, "", given + "\n") if given.startswith("error") else (0, given + "\n", "")


class StandInPulumi:
    """A program in pulumi's place on PATH: answers by the words that a command begins with."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, str]) -> None:
        answer_here(folder / "pulumi", pulumi, monkeypatch)
        (folder / "pulumi.json").write_text(json.dumps(answers), encoding="utf-8")
        self._calls = folder / "pulumi.jsonl"
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    @property
    def calls(self) -> list[str]:
        return [" ".join(json.loads(line)) for line in self._calls.read_text(encoding="utf-8").splitlines()]


def node(wait: str | None) -> Object:
    labels = {} if wait is None else {WAIT: wait}
    return {"kind": "Node", "metadata": {"name": "gpu-0", "uid": "u1", "resourceVersion": "7", "labels": labels}}


def api_service() -> Object:
    condition = {"type": "Available", "status": "False", "reason": "ServiceNotFound", "message": "not found"}
    metadata = {"name": "v1.gone.example", "uid": "u2", "resourceVersion": "3"}
    return {"metadata": metadata, "status": {"conditions": [condition]}}


def listed(*items: Object) -> Object:
    return {"kind": "List", "items": list(items)}


def cluster(folder: Path, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> StandInKubectl:
    """A cluster of one node, which waits for an operator until that is mended."""
    known = {
        "get /api/v1/nodes": [listed(node("true")), listed(node(None))],
        f"get {NODE}": node("true"),
        f"replace {NODE}": node(None),
        **answers,
    }
    monkeypatch.chdir(ROOT)
    return StandInKubectl(folder / "bin", known, monkeypatch)


def written(kubectl: StandInKubectl) -> list[str]:
    return [f"{call['verb']} {call['path']}" for call in kubectl.calls if call["verb"] != "get"]


def test_without_a_terminal_it_names_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = cluster(tmp_path, monkeypatch)
    StandInPulumi(tmp_path / "bin", monkeypatch, {})

    done = run("doctor", "dev")

    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "stack dev: 1 damaged",
        "warning DOC060: node gpu-0 holds device plug-ins and drivers back until the Network Operator says that its "
        "driver is loaded, and it does not exist any more",
        f"    seen: Node gpu-0, metadata.labels[{WAIT}]: true",
        f"    mends it: take {WAIT} off node gpu-0",
    ]
    # Its state is in the sandbox, where `pulumi` does not look.
    assert "`python -m sandbox doctor -s dev` examines that, too" in done.stderr
    assert written(kubectl) == []


def test_yes_mends_under_the_condition_that_nothing_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = cluster(tmp_path, monkeypatch)
    StandInPulumi(tmp_path / "bin", monkeypatch, {})

    done = run("doctor", "dev", "--yes")

    assert done.exit_code == 0, done.stdout
    assert done.stdout.splitlines()[-2:] == [f"mended: take {WAIT} off node gpu-0", "stack dev: nothing is damaged"]
    assert written(kubectl) == [f"replace {NODE}"]
    (call,) = (call for call in kubectl.calls if call["verb"] == "replace")
    assert json.loads(call["content"])["metadata"] == {
        "name": "gpu-0", "uid": "u1", "resourceVersion": "7", "labels": {},
    }  # fmt: skip


def test_what_is_anothers_needs_an_answer_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = "get /apis/apiregistration.k8s.io/v1/apiservices"
    answers = {services: listed(api_service()), f"get {SERVICE}": api_service(), f"delete {SERVICE}": api_service()}
    kubectl = cluster(tmp_path, monkeypatch, **answers)
    StandInPulumi(tmp_path / "bin", monkeypatch, {})

    assert run("doctor", "dev", "--yes").exit_code == 1
    assert written(kubectl) == [f"replace {NODE}"]

    monkeypatch.setattr("gpu_fabric.cli.doctor.is_terminal", lambda: True)
    done = CliRunner().invoke(app, ["doctor", "dev"], input="n\n")
    assert "delete APIService v1.gone.example\nDo this?" in done.stderr
    assert written(kubectl) == [f"replace {NODE}"]

    CliRunner().invoke(app, ["doctor", "dev"], input="y\n")
    (call,) = (call for call in kubectl.calls if call["verb"] == "delete")
    assert json.loads(call["content"])["preconditions"] == {"uid": "u2", "resourceVersion": "3"}


def test_a_refusal_is_reported_with_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = {"error": 'Error from server (Forbidden): nodes "gpu-0" is forbidden: User "me" cannot update nodes'}
    cluster(tmp_path, monkeypatch, **{f"replace {NODE}": forbidden, "get /api/v1/nodes": listed(node("true"))})
    StandInPulumi(tmp_path / "bin", monkeypatch, {})

    done = run("doctor", "dev", "--yes")

    assert done.exit_code == 1
    assert 'not mended: the cluster forbids to replace /api/v1/nodes/gpu-0: nodes "gpu-0" is forbidden' in done.stderr


def test_json_has_what_was_found_done_and_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster(tmp_path, monkeypatch)
    StandInPulumi(tmp_path / "bin", monkeypatch, {})

    document = json.loads(run("doctor", "dev", "--json", "--yes").stdout)

    (found,) = document["findings"]
    assert set(found) == {"id", "severity", "path", "message", "remedy", "seen", "mends", "own"}
    assert (found["id"], found["mends"], found["own"]) == ("DOC060", [f"take {WAIT} off node gpu-0"], True)
    assert document["mended"] == [f"mended: take {WAIT} off node gpu-0"]
    assert (document["remaining"], document["stateUnread"], document["stack"]) == ([], "", "dev")


def test_a_state_that_cannot_be_read_is_said_and_the_cluster_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(tmp_path, monkeypatch)
    StandInPulumi(tmp_path / "bin", monkeypatch, {"stack export": "error: PULUMI_ACCESS_TOKEN must be set"})
    monkeypatch.setenv("PATH", str(started(tmp_path / "bin" / "pulumi").parent), prepend=os.pathsep)

    done = run("doctor", "dev")

    assert "its state was not judged: `pulumi stack export` failed with exit code 255" in done.stdout
    assert "PULUMI_ACCESS_TOKEN must be set" in done.stdout
    assert "DOC060" in done.stdout


def locked(folder: Path, name: str, **content: Any) -> None:
    place = folder / ".pulumi" / "locks" / "organization" / "gpu-fabric" / "dev"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.json").write_text(json.dumps({"username": "ada", "timestamp": "2026-05-05T10:00:00Z", **content}))


def test_a_lock_is_left_when_its_process_is_gone_from_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    locked(tmp_path, "a", pid=ended.pid, hostname=platform.node())
    # This process runs, and is not Pulumi's: the number was given once more.
    locked(tmp_path, "b", pid=os.getpid(), hostname=platform.node())
    locked(tmp_path, "c", pid=1, hostname="another")
    url = json.dumps({"user": "ada", "url": f"file://{tmp_path}?metadata=skip"})
    StandInPulumi(tmp_path / "bin", monkeypatch, {"stack export": EMPTY, "whoami": url})

    state = Pulumi(ROOT, "dev").state()

    assert [lock.holder for lock in state.locks] == ["gone", "gone", "unknown"]
    assert state.locks[2].taken_by == "process 1 of ada on another since 2026-05-05T10:00:00Z"


def test_a_lock_of_pulumi_that_runs_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "pulumi-sleeps"
    program.symlink_to("/bin/sleep")
    running = subprocess.Popen([str(program), "60"])
    try:
        locked(tmp_path, "a", pid=running.pid, hostname=platform.node())
        url = json.dumps({"user": "ada", "url": f"file://{tmp_path}"})
        StandInPulumi(tmp_path / "bin", monkeypatch, {"stack export": EMPTY, "whoami": url})

        assert [lock.holder for lock in Pulumi(ROOT, "dev").state().locks] == ["runs"]
    finally:
        running.kill()
        running.wait()


def test_an_update_in_progress_at_pulumis_service_is_a_lock_of_unknown_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"name": "ada/dev", "updateInProgress": True}, {"name": "ada/prod", "updateInProgress": True}]
    url = json.dumps({"user": "ada", "url": "https://app.pulumi.com/ada"})
    StandInPulumi(tmp_path, monkeypatch, {"stack export": EMPTY, "whoami": url, "stack ls": json.dumps(rows)})

    assert [lock.holder for lock in Pulumi(ROOT, "dev").state().locks] == ["unknown"]


def test_without_a_stack_its_state_is_empty_and_without_pulumi_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StandInPulumi(tmp_path, monkeypatch, {})
    assert Pulumi(ROOT, "dev").state() == StackState()

    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(PulumiError, match="there is no pulumi on PATH"):
        Pulumi(ROOT, "dev").state()
    # Nor is anything known of an upstream chart's definitions without helm; one of this project has them in its folder.
    chart = ChartReference(name="network-operator", version="26.4.1", repository="https://charts.example")
    assert chart_definitions(chart, ROOT) == ()
    ours = ChartReference(name="network-operator", version="26.4.1", path="sandbox/charts/26.4/network-operator")
    names = [item["metadata"]["name"] for item in chart_definitions(ours, ROOT)]
    assert "nicclusterpolicies.mellanox.com" in names


def test_a_repair_names_the_stack_and_where_it_is_elsewhere_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulumi = StandInPulumi(tmp_path, monkeypatch, {"cancel": "", "refresh": "error: it failed"})
    elsewhere = Pulumi(ROOT, "dev", tmp_path / "Pulumi.dev.yaml")

    elsewhere.run(("cancel", "--yes"))
    with pytest.raises(PulumiError, match="`pulumi refresh --yes` failed with exit code 255:\nerror: it failed"):
        elsewhere.run(("refresh", "--yes"))

    assert pulumi.calls == [
        "cancel --yes --stack dev",
        f"refresh --yes --stack dev --config-file {tmp_path / 'Pulumi.dev.yaml'}",
    ]


_HELM = """\
#!/bin/sh
echo "$@" >> "$(dirname "$0")/helm.calls"
printf 'kind: CustomResourceDefinition\\nmetadata: {name: ippools.nv-ipam.nvidia.com}\\n---\\nkind: ConfigMap\\n'
"""


@pytest.mark.parametrize(
    ("repository", "source"),
    [
        ("https://helm.ngc.nvidia.com/nvidia", "network-operator --repo https://helm.ngc.nvidia.com/nvidia"),
        ("oci://mirror.example/charts", "oci://mirror.example/charts/network-operator"),
    ],
)
def test_the_definitions_of_an_upstream_chart_are_read_by_helm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: str, source: str
) -> None:
    (tmp_path / "helm").write_text(_HELM, encoding="utf-8")
    (tmp_path / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    found = chart_definitions(ChartReference(name="network-operator", version="26.4.1", repository=repository), ROOT)

    assert [item["metadata"]["name"] for item in found] == ["ippools.nv-ipam.nvidia.com"]
    assert (tmp_path / "helm.calls").read_text() == f"show crds {source} --version 26.4.1\n"
