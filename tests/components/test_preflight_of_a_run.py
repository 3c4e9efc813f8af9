"""Before a run registers anything the plan is compared with the cluster as it is."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pulumi
import pytest
from fake_api_server import FakeApiServer, serving
from lived_in_clusters import lived_in, planned
from programs import ANSWERS, STACKS, run_program, stack_config
from recording import Recording, World, record

from gpu_fabric.live.cluster import NotAllowed
from gpu_fabric.live.judging import differences
from gpu_fabric.live.stack import STACK_ANNOTATION as MARK
from gpu_fabric.live.stack import Stack
from gpu_fabric.spec.load import read_document, validate
from stacks.live_cluster import cluster_refusal
from tests.support.played_cluster import PULUMI, PlayedCluster
from tests.support.stub_cluster import KUBECONFIG

ROOT = Path(__file__).parents[2]


class Served(FakeApiServer):
    """A played cluster behind HTTP; `busy` are statuses of its first answers."""

    def __init__(self, cluster: PlayedCluster) -> None:
        super().__init__()
        self.cluster = cluster
        self.busy: list[int] = []

    def answer(self, method: str, target: str, body: Any, bearer: str) -> tuple[int, Any]:
        self.requests.append((method, target))
        if self.busy:
            return self.busy.pop(0), {"kind": "Status", "message": "storage is (re)initializing"}
        try:
            found = self.cluster.read(target) if method == "GET" else self.cluster.create(target, body)
        except NotAllowed as refused:
            return 403, {"kind": "Status", "message": str(refused)}
        return (404, {"kind": "Status", "message": "not found"}) if found is None else (200, found)


@pytest.fixture
def served() -> Iterator[Served]:
    spec, _ = validate(read_document("dev", ROOT))
    assert spec is not None
    with serving(found := Served(PlayedCluster(spec))):
        yield found


def run(folder: Path, kubeconfig: str, recording: Recording, *, preview: bool = False, **guard: Any) -> None:
    file = folder / "kubeconfig"
    file.write_text(kubeconfig)
    config = deepcopy(stack_config(STACKS["dev"], file))
    config["gpu-fabric:guard"] = guard
    run_program("dev", config, world=World(ANSWERS, {}), recording=recording, preview=preview)


def test_a_clean_cluster_is_read_and_nothing_else(tmp_path: Path, served: Served, caplog: Any) -> None:
    # The last `up` has created this one.
    served.cluster.namespace("gpu-operator", PULUMI)
    recording = Recording()
    run(tmp_path, served.kubeconfig("a-token"), recording)

    assert recording.resources
    assert "PRE" not in caplog.text
    # Reviews of access are answered and not stored.
    assert {method for method, _ in served.requests} == {"GET", "POST"}


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_errors_end_a_run_in_one_message_before_anything_is_registered(
    tmp_path: Path, served: Served, preview: bool
) -> None:
    served.cluster.namespace("gpu-operator")
    for node in served.cluster.nodes:
        node["spec"]["taints"].append({"key": "reserved", "value": "", "effect": "NoSchedule"})
    recording = Recording()

    with pytest.raises(pulumi.RunError) as refusal:
        run(tmp_path, served.kubeconfig("a-token"), recording, preview=preview)

    text = str(refusal.value)
    assert "Pulumi.dev.yaml: 2 problems, nothing was created." in text
    assert "error PRE040" in text
    assert "error PRE056" in text
    assert "seen: Node gpu-0, spec.taints: reserved=:NoSchedule" in text
    assert "guard: {preflight: false}" in text
    assert "gpu-fabric doctor" not in text, "nobody has left these behind"
    # A preview shows what it would create, and fails at its end.
    assert bool(recording.resources) == preview


def test_what_an_ended_operator_left_is_refused_with_the_command_that_mends_it(tmp_path: Path, served: Served) -> None:
    served.cluster.namespace("gpu-operator")
    leaving = served.cluster.namespace("nvidia-network-operator", PULUMI, team="fabric")
    leaving["metadata"]["deletionTimestamp"] = "2026-05-05T10:00:00Z"
    leaving["status"] = {"phase": "Terminating"}

    with pytest.raises(pulumi.RunError) as refusal:
        run(tmp_path, served.kubeconfig("a-token"), Recording())

    assert "error PRE041" in str(refusal.value)
    assert "`gpu-fabric doctor -s dev` names and mends it" in str(refusal.value)


def test_warnings_are_logged_and_the_run_goes_on(tmp_path: Path, served: Served, caplog: Any) -> None:
    served.cluster.nodes[0]["spec"]["unschedulable"] = True
    served.cluster.forbidden.add("/api/v1/resourcequotas")
    recording = Recording()
    run(tmp_path, served.kubeconfig("a-token"), recording)

    assert "warning PRE059" in caplog.text
    assert "warning PRE101" in caplog.text
    assert "/api/v1/resourcequotas" in caplog.text
    assert recording.resources


def test_the_switch_leaves_the_cluster_alone(tmp_path: Path, served: Served) -> None:
    served.cluster.namespace("gpu-operator")
    recording = Recording()
    run(tmp_path, served.kubeconfig("a-token"), recording, preflight=False)

    assert recording.resources
    assert served.requests == []


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_a_cluster_that_is_not_reached_is_a_warning(tmp_path: Path, preview: bool, caplog: Any) -> None:
    recording = Recording()
    run(tmp_path, KUBECONFIG, recording, preview=preview)

    assert "the plan was not compared with the cluster as it is: the API server was not reached" in caplog.text
    assert recording.resources


def test_a_busy_cluster_is_asked_again(tmp_path: Path, served: Served, caplog: Any) -> None:
    served.busy = [429, 503, 429]
    served.cluster.namespace("gpu-operator")
    with pytest.raises(pulumi.RunError, match="error PRE040"):
        run(tmp_path, served.kubeconfig("a-token"), Recording())

    assert "not compared" not in caplog.text


@pytest.mark.parametrize("machines", [False, True])
def test_waves_that_replace_machines_need_oracles_command_before_anything_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: bool
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config = deepcopy(stack_config(STACKS["oke-h200"], tmp_path / "kubeconfig"))
    del config["gpu-fabric:cluster"]["pools"][0]["cycling"]
    config["gpu-fabric:fabric"]["readiness"] = {}
    config["gpu-fabric:upgrade"] = {"machines": machines}
    recording = Recording()

    def preview() -> None:
        run_program("oke-h200", config, world=World(ANSWERS, {}), recording=recording, preview=True)

    if not machines:
        preview()
        return
    with pytest.raises(pulumi.RunError, match="oci is not on PATH, by which the waves replace machines"):
        preview()


@pytest.mark.parametrize("preflight", [True, False], ids=["compared", "not-compared"])
def test_what_another_stack_has_on_a_shared_cluster_is_named_by_up_as_by_the_command(
    tmp_path: Path, preflight: bool
) -> None:
    spec, plan = planned("dev", {"fabric": {"prefix": "team"}, "guard": {"preflight": preflight}})
    cluster = lived_in(spec, plan)
    for item in (item for items in cluster.objects.values() for item in items):
        if MARK in (item["metadata"].get("annotations") or {}):
            item["metadata"]["annotations"][MARK] = "other"
    named = {seen for entry in differences(Stack(spec, plan), cluster.cluster) for seen in entry.seen}
    said: list[str] = []
    with serving(Served(cluster)) as server:
        file = tmp_path / "kubeconfig"
        file.write_text(server.kubeconfig("a-token"))
        there = plan.model_copy(update={"cluster": plan.cluster.model_copy(update={"kubeconfig": str(file)})})
        record(lambda: said.append(cluster_refusal(spec, there, ROOT)), stack="dev", world=World(ANSWERS, {}))

    marked = {seen for seen in named if MARK in seen.field}
    assert len(marked) == 38
    assert all(f"seen: {seen}" in said[0] for seen in marked)
    assert ("guard: {preflight: false}" in said[0]) == preflight
