"""The guard in a run of the program: what would be lost is refused before any resource, unless it is acknowledged."""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from datetime import date
from typing import Any

import grpc
import pulumi
import pytest
from programs import ANSWERS, ROOT, STACKS, Config, cluster_stacks_outputs, run_program, stack_config
from recording import Recording, UnknownStack, World

from gpu_fabric.changes.footprint import unpack

pytestmark = pytest.mark.components

STACK, PLATFORM = "doks-h200", "doks-split-platform"
TODAY = date(2026, 11, 22)


def stack_with(nodes: int, *acknowledged: dict[str, Any]) -> Config:
    """The stack with so many nodes, and with entries of its guard."""
    config = deepcopy(stack_config(STACKS[STACK], ROOT))
    config["gpu-fabric:cluster"]["pools"][0]["nodes"] = nodes  # type: ignore[index]
    return {**config, "gpu-fabric:guard": {"acknowledge": list(acknowledged)}}


def agreed(expires: str, resource: str = "cluster-pool-gpu") -> dict[str, Any]:
    return {"resource": resource, "expires": expires, "reason": "the bookkeeper said so"}


@pytest.fixture(scope="module")
def last() -> dict[str, Any]:
    """The outputs of the last run, which made four nodes."""
    return opened(run_program(STACK, stack_with(4)).outputs)


def opened(outputs: dict[str, Any]) -> dict[str, Any]:
    """Outputs with objects in the place of packed ones, as older versions gave them out."""
    return {**outputs, **{key: unpack(outputs[key]) for key in ("applied", "addressPlan") if key in outputs}}


def run(config: Config, outputs: dict[str, Any], *, preview: bool = False) -> Recording:
    """A run of the stack after one that left these outputs."""
    return run_program(STACK, config, world=World(ANSWERS, outputs), today=TODAY, preview=preview)


def refused(config: Config, outputs: dict[str, Any]) -> str:
    """Why such a run is refused; it must not have come to any resource."""
    recording = Recording()
    with pytest.raises(pulumi.RunError) as refusal:
        run_program(STACK, config, world=World(ANSWERS, outputs), today=TODAY, recording=recording)
    assert (recording.resources, recording.outputs, recording.looked_up) == ([], {}, [])
    return str(refusal.value)


def test_fewer_nodes_are_refused_before_any_resource_is_registered(last: dict[str, Any]) -> None:
    text = refused(stack_with(2), last)
    assert text.startswith("Pulumi.doks-h200.yaml: 1 change loses what may be in use")
    assert "cluster-pool-gpu: would get smaller" in text
    assert "2 nodes with 16 GPUs" in text
    assert "    - resource: cluster-pool-gpu" in text
    assert 'expires: "2026-11-29"' in text


def test_a_preview_registers_everything_and_is_refused_at_its_end(last: dict[str, Any]) -> None:
    recording, world = Recording(), World(ANSWERS, last)
    with pytest.raises(pulumi.RunError, match="cluster-pool-gpu: would get smaller"):
        run_program(STACK, stack_with(2), world=world, today=TODAY, recording=recording, preview=True)
    planned = run(stack_with(4), last, preview=True).resources
    # In any order: the engine hears of independent resources as they come.
    assert sorted(entry.name for entry in recording.resources) == sorted(entry.name for entry in planned)
    assert recording["cluster-pool-gpu"].inputs["nodeCount"] == 2


def test_the_plan_that_is_up_and_more_nodes_pass_without_a_word(
    last: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert len(run(stack_with(4), last).resources) == len(run(stack_with(5), last).resources) > 0
    assert told(caplog) == []


def test_what_is_acknowledged_passes_and_is_said_with_entry_and_day(
    last: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert opened(run(stack_with(2, agreed("2026-11-22")), last).outputs)["applied"]["pools"][0]["nodes"] == 2
    ((level, text),) = told(caplog)
    assert level == logging.WARNING
    assert text.startswith("cluster-pool-gpu: would get smaller (nodeCount: 4 → 2).")
    assert text.endswith("entry cluster-pool-gpu, until 2026-11-22: the bookkeeper said so")


def test_an_acknowledgement_does_not_count_on_the_day_after_its_last(last: dict[str, Any]) -> None:
    assert "its acknowledgement expired on 2026-11-21" in refused(stack_with(2, agreed("2026-11-21")), last)


def test_an_acknowledgement_of_something_else_does_not_count(last: dict[str, Any]) -> None:
    assert "it is not acknowledged" in refused(stack_with(2, agreed("2026-11-30", "cluster-vpc")), last)


@pytest.mark.parametrize(
    ("resource", "remark"),
    [
        ("cluster-pool-gpu", "loses nothing: remove the entry"),
        ("multus-multus-kube-system", "loses nothing: remove the entry"),
        ("cluster-pool-gqu", "did you mean 'cluster-pool-gpu'?"),
    ],
)
def test_an_acknowledgement_that_is_left_over_is_remarked(
    last: dict[str, Any], caplog: pytest.LogCaptureFixture, resource: str, remark: str
) -> None:
    run(stack_with(4, agreed("2026-11-30", resource)), last)
    ((level, text),) = told(caplog)
    assert level == logging.INFO
    assert remark in text


def test_a_stack_from_before_the_record_passes_and_is_told_so_once(
    last: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    before = {key: value for key, value in last.items() if key != "applied"}
    first = run(stack_with(2), before)
    ((level, text),) = told(caplog)
    assert (level, "left no record of what it applied" in text) == (logging.INFO, True)
    caplog.clear()
    run(stack_with(2), first.outputs)
    assert told(caplog) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda outputs: outputs["applied"].pop("resources"),
        lambda outputs: outputs["applied"].update(resources=[{"type": "a"}]),
        lambda outputs: outputs["addressPlan"].pop("proof"),
        lambda outputs: outputs.update(fabric="gone"),
    ],
    ids=["no resources", "a strange resource", "no number of nodes", "no contract"],
)
def test_a_record_that_cannot_be_read_is_said_and_written_anew(
    last: dict[str, Any], caplog: pytest.LogCaptureFixture, spoil: Callable[[dict[str, Any]], Any]
) -> None:
    outputs = deepcopy(last)
    spoil(outputs)
    assert opened(run(stack_with(4), outputs).outputs)["applied"] == last["applied"]
    ((level, text),) = told(caplog)
    assert (level, "cannot be read by this version" in text) == (logging.WARNING, True)


def test_what_a_run_gives_out_is_read_packed_as_well(last: dict[str, Any]) -> None:
    given = run(stack_with(4), last).outputs
    assert all(isinstance(given[key], str) for key in ("applied", "addressPlan"))
    assert refused(stack_with(2), given) == refused(stack_with(2), last)


def test_a_text_that_is_no_packed_record_is_said_and_written_anew(
    last: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert opened(run(stack_with(2), {**last, "applied": "bm90IHBhY2tlZA=="}).outputs)["applied"]["pools"]
    ((level, text),) = told(caplog)
    assert (level, "cannot be read by this version" in text) == (logging.WARNING, True)


def test_a_first_run_has_nothing_to_be_held_against(caplog: pytest.LogCaptureFixture) -> None:
    assert run(stack_with(2), {}).resources
    assert told(caplog) == []


def test_an_engine_that_does_not_say_what_was_applied_ends_the_run(last: dict[str, Any]) -> None:
    class Silent(World):
        def outputs_of(self, stack: str) -> dict[str, Any]:
            raise UnknownStack(stack)

    recording = Recording()
    with pytest.raises(pulumi.RunError, match="cannot tell what was applied last, and so nothing was changed"):
        run_program(STACK, stack_with(4), world=Silent(ANSWERS, last), recording=recording)
    assert recording.resources == []


class Unloadable(grpc.RpcError):
    """What the engine answers where it finds a state that is half written."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return "failed to load checkpoint: EOF"


class HalfWritten(World):
    """A world whose engine cannot load the stack's state the first times that it is asked."""

    def __init__(self, outputs: dict[str, Any], times: int) -> None:
        super().__init__(ANSWERS, outputs)
        self.times, self.asked = times, 0

    def outputs_of(self, stack: str) -> dict[str, Any]:
        self.asked += 1
        if self.asked <= self.times:
            raise Unloadable
        return super().outputs_of(stack)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the program makes, none of which is waited for."""
    made: list[float] = []
    monkeypatch.setattr("components.stack_outputs.time.sleep", made.append)
    return made


def test_a_state_that_is_just_being_written_is_asked_for_again(last: dict[str, Any], pauses: list[float]) -> None:
    world = HalfWritten(last, times=2)
    recording = Recording()
    with pytest.raises(pulumi.RunError, match="would get smaller"):
        run_program(STACK, stack_with(2), world=world, today=TODAY, recording=recording)
    assert (world.asked, len(pauses), recording.resources) == (3, 2, [])


def test_a_state_that_stays_broken_ends_the_run(last: dict[str, Any], pauses: list[float]) -> None:
    world = HalfWritten(last, times=99)
    recording = Recording()
    with pytest.raises(pulumi.RunError, match=r"nothing was changed: .*failed to load checkpoint: EOF"):
        run_program(STACK, stack_with(4), world=world, today=TODAY, recording=recording)
    assert (world.asked, recording.resources) == (5, [])
    assert 1 < sum(pauses) < 10


@pytest.fixture(scope="module")
def platform() -> dict[str, Any]:
    """The outputs of the last run of a platform, on the cluster that its cluster stack has made."""
    return opened(run_program(PLATFORM, stack_config(STACKS[PLATFORM], ROOT)).outputs)


def platform_of(acknowledged: tuple[dict[str, Any], ...] = (), **split: str) -> Config:
    """The platform with other words on whose cluster it lies."""
    config = stack_config(STACKS[PLATFORM], ROOT)
    named = {**config["gpu-fabric:split"], **split}
    return {**config, "gpu-fabric:split": named, "gpu-fabric:guard": {"acknowledge": list(acknowledged)}}


def on_cluster(last: dict[str, Any], cluster_id: str, config: Config, recording: Recording | None = None) -> Recording:
    """A run of the platform after one that left these outputs, where the cluster stack's cluster has such an id."""
    made = deepcopy(cluster_stacks_outputs(stack_config(STACKS[PLATFORM], ROOT)))
    made["doks-split-cluster"]["cluster"]["clusterId"] = cluster_id
    world = World(ANSWERS, last, made)
    return run_program(PLATFORM, config, world=world, today=TODAY, environment={}, recording=recording)


def test_the_record_of_a_platform_says_whose_cluster_it_lies_on(platform: dict[str, Any]) -> None:
    split = {"part": "platform", "clusterStack": "doks-split-cluster"}
    assert (platform["applied"]["split"], platform["applied"]["clusterId"]) == (split, "cluster-doks-id")


def test_a_platform_is_refused_where_the_cluster_stack_has_made_another_cluster(platform: dict[str, Any]) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError) as refusal:
        on_cluster(platform, "another-id", platform_of(), recording)
    assert recording.resources == []
    assert "clusterId: cluster-doks-id → another-id: its stack has created another cluster" in str(refusal.value)
    assert "    - resource: cluster-kubernetes" in str(refusal.value)


def test_a_platform_on_another_cluster_passes_once_it_is_acknowledged_and_is_then_on_record_there(
    platform: dict[str, Any],
) -> None:
    entry = agreed("2026-11-30", "cluster-kubernetes")
    moved = on_cluster(platform, "another-id", platform_of((entry,)))
    assert opened(moved.outputs)["applied"]["clusterId"] == "another-id"
    assert on_cluster(moved.outputs, "another-id", platform_of()).resources


def test_a_platform_of_another_organization_is_the_same_by_the_same_id_and_another_by_another(
    platform: dict[str, Any],
) -> None:
    theirs = platform_of(organization="cluster-team")
    theirs_now = opened(on_cluster(platform, "cluster-doks-id", theirs).outputs)
    assert theirs_now["applied"]["split"]["organization"] == "cluster-team"
    with pytest.raises(pulumi.RunError, match=r"split\.organization: not stated → cluster-team"):
        on_cluster(platform, "another-id", theirs)


def test_a_platform_from_before_clusters_were_on_record_passes_on_whatever_cluster(platform: dict[str, Any]) -> None:
    older = deepcopy(platform)
    del older["applied"]["split"], older["applied"]["clusterId"]
    assert on_cluster(older, "another-id", platform_of()).resources


def test_a_platform_whose_cluster_stack_is_gone_is_told_to_bring_that_up(platform: dict[str, Any]) -> None:
    with pytest.raises(pulumi.RunError, match="run `up` of that stack first"):
        run_program(PLATFORM, platform_of(), world=World(ANSWERS, platform, {"another": {}}), today=TODAY)


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    """What the program told its user, each with how grave it is; warnings on the plan left out."""
    records = [record for record in caplog.records if record.levelno >= logging.INFO and record.name == "root"]
    return [(record.levelno, record.getMessage()) for record in records if " -> " not in record.getMessage()]


@pytest.fixture(autouse=True)
def _everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
