"""Waiting for an object that software of the stack creates, and for the value of its field."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from fast_time import FastTime

from components import waiting
from components.object_states import wait_until_in_state
from components.waiting import NodesError
from gpu_fabric.plan.records import PlannedState

pytestmark = pytest.mark.components

PLANNED = PlannedState(
    api_version="scheduling.volcano.sh/v1beta1",
    kind="Queue",
    plural="queues",
    name="default",
    creator="Volcano's scheduler",
    field="status.state",
    value="Open",
    timeout=3,
)
MISSING = "there is no Queue default yet: Volcano's scheduler creates it"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PAUSE", 0.01)
    monkeypatch.setattr(waiting, "time", FastTime())


def waited(*answers: Mapping[str, Any] | None) -> list[str]:
    """What was said until the wait ended; the last answer is given for ever."""
    said: list[str] = []
    rest = list(answers)
    asyncio.run(wait_until_in_state(PLANNED, lambda: rest.pop(0) if len(rest) > 1 else rest[0], said.append))
    return said


def test_an_object_is_waited_for_until_it_exists_and_has_the_value() -> None:
    said = waited(None, {"metadata": {}}, {"status": {"state": "Closed"}}, {"status": {"state": "Open"}})
    assert said == [MISSING, "0 of 1 queues have status.state Open"]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, MISSING),
        ({}, "default: status.state is not set"),
        ({"status": {"state": "Closed"}}, "default: status.state is Closed"),
    ],
)
def test_after_the_time_limit_the_error_says_what_was_found(found: Mapping[str, Any] | None, message: str) -> None:
    with pytest.raises(NodesError, match="after 3 s") as raised:
        waited(found)
    assert message in str(raised.value)
