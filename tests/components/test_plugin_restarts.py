"""Waiting until device plug-ins run with a changed configuration: what counts as done, and what is said of the rest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fake_api_server import serving
from fast_time import FastTime

from components import plugin_restarts, waiting
from components.plugin_restarts import Look, Plugin, looking, wait_until_restarted
from components.waiting import NodesError
from gpu_fabric.plan.records import PlannedConfiguration

pytestmark = pytest.mark.components

NAME = "network-operator-sriov-device-plugin"
PLANNED = PlannedConfiguration(
    namespace="nvidia-network-operator",
    config_map="network-operator-sriovdp-config",
    daemon_set=NAME,
    text='{"resourceList":[{"resourceName":"rail_00"}]}',
    timeout=30,
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PAUSE", 0.01)
    monkeypatch.setattr(waiting, "time", FastTime())


def daemon_set(generation: int = 2, observed: int = 2, updated: int = 3, wanted: int = 3) -> dict[str, Any]:
    status = {"observedGeneration": observed, "updatedNumberScheduled": updated, "desiredNumberScheduled": wanted}
    return {"metadata": {"generation": generation}, "status": status}


DONE = Plugin(PLANNED.text, daemon_set())


def looks(*answers: Plugin) -> Look:
    rest: Iterator[Plugin] = iter(answers)
    return lambda _: next(rest, answers[-1])


def waited(look: Look, seconds: int = 30) -> list[str]:
    said: list[str] = []
    planned = PLANNED.model_copy(update={"timeout": seconds})
    asyncio.run(wait_until_restarted([planned], look, said.append))
    return said


def test_plug_ins_of_the_planned_configuration_are_not_waited_for_however_it_is_written() -> None:
    spaced = json.dumps(json.loads(PLANNED.text), indent=2)
    assert waited(looks(Plugin(spaced, daemon_set()))) == []


def test_a_node_that_is_away_stops_nothing_that_has_not_changed() -> None:
    away = daemon_set()
    away["status"]["numberUnavailable"] = 1
    assert waited(looks(Plugin(PLANNED.text, away))) == []


@pytest.mark.parametrize(
    ("behind", "why"),
    [
        (Plugin(None, daemon_set()), "the operator has not created network-operator-sriovdp-config"),
        (Plugin(PLANNED.text, None), f"the operator has not created {NAME}"),
        (Plugin('{"resourceList":[]}', daemon_set()), "does not match the policy yet"),
        (Plugin("no JSON", daemon_set()), "does not match the policy yet"),
        (Plugin(PLANNED.text, daemon_set(generation=3)), "Kubernetes has not seen its last change"),
        (Plugin(PLANNED.text, daemon_set(updated=1)), "1 of 3 pods were restarted"),
        (Plugin(None, None, "the cluster gives no answer: refused"), "the cluster gives no answer: refused"),
    ],
)
def test_what_is_behind_is_waited_out_and_named_when_the_time_is_over(behind: Plugin, why: str) -> None:
    assert waited(looks(behind, DONE)) == ["0 of 1 device plug-ins run with the planned configuration"]
    with pytest.raises(NodesError) as raised:
        waited(looks(behind), seconds=1)
    assert f"{NAME}: " in str(raised.value)
    assert why in str(raised.value)


def config_map(*written: timedelta) -> dict[str, Any]:
    """The operator's, with the writes of so long ago."""
    times = [(datetime.now(UTC) - ago).isoformat(timespec="seconds") for ago in written]
    return {"data": {"config.json": PLANNED.text}, "metadata": {"managedFields": [{"time": time} for time in times]}}


@pytest.mark.parametrize(
    ("written", "seen_again"),
    [
        ([timedelta(seconds=1)], True),
        # Somebody wrote it lately; others did so long ago.
        ([timedelta(days=2), timedelta(0), timedelta(hours=3)], True),
        # It says nothing of when it was written.
        ([], True),
        ([timedelta(seconds=10)], False),
        ([timedelta(days=2), timedelta(hours=3)], False),
    ],
)
def test_a_daemon_set_that_seems_done_is_looked_at_again_a_moment_after_its_config_map_was_written(
    written: list[timedelta], seen_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "/namespaces/nvidia-network-operator"
    with serving() as server:
        server.objects[f"/api/v1{place}/configmaps/{PLANNED.config_map}"] = config_map(*written)
        path = f"/apis/apps/v1{place}/daemonsets/{NAME}"
        server.objects[path] = daemon_set()

        # The operator writes the DaemonSet just then.
        monkeypatch.setattr(plugin_restarts.time, "sleep", lambda _: server.objects.update({path: daemon_set(3)}))
        seen = looking(server.kubeconfig("a-token"), None)(PLANNED)

    assert seen == Plugin(PLANNED.text, daemon_set(3) if seen_again else daemon_set())


def test_what_does_not_exist_yet_is_no_error() -> None:
    with serving() as server:
        assert looking(server.kubeconfig("a-token"), None)(PLANNED) == Plugin(None, None)
