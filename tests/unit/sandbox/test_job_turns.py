"""How the turns of the controllers of jobs are written, and what a refused one leaves undone."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from job_objects import Object, job

from sandbox.hardware.jobs.controller import TurnWriter
from sandbox.hardware.jobs.turns import Turn
from sandbox.kubernetes_api import Api, ApiError

POD = job("Pod", "v1", {}, "worker")
GROUP = job("PodGroup", "scheduling.volcano.sh/v1beta1", {}, "group")


class Refusing(Api):
    """An API server that notes what it is asked, and answers some of it with an error."""

    def __init__(self, **errors: int) -> None:
        self.errors = errors
        self.asked: list[str] = []

    def request(self, method: str, path: str, body: Any = None, kind: str = "") -> Object:
        self.asked.append(f"{method} {path}")
        if method in self.errors:
            raise ApiError(self.errors[method], f"{method} is refused")
        return {}


def written(api: Refusing) -> bool:
    turn = Turn(creates=[POD], deletes=[{**POD, "metadata": {**POD["metadata"], "name": "old"}}])
    turn.status(GROUP, {"phase": "Inqueue"})
    return TurnWriter(api).write(turn)


def test_a_status_is_written_last_and_a_pod_groups_with_the_rest_of_it() -> None:
    api = Refusing()

    assert written(api)
    assert api.asked == [
        "DELETE /api/v1/namespaces/default/pods/old?propagationPolicy=Background",
        "POST /api/v1/namespaces/default/pods",
        "PUT /apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/group",
    ]


def test_what_is_there_or_gone_already_is_no_failure() -> None:
    assert written(Refusing(POST=409, DELETE=404))


def test_a_pod_that_is_refused_keeps_the_status_from_saying_that_it_was_made(caplog: pytest.LogCaptureFixture) -> None:
    api = Refusing(POST=422)
    with caplog.at_level(logging.WARNING):
        assert not written(api)

    assert [line for line in api.asked if line.startswith("PUT")] == []
    assert "POST is refused" in caplog.text


def test_an_object_that_others_have_changed_is_looked_at_again_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert not written(Refusing(PUT=409))

    assert caplog.text == ""
