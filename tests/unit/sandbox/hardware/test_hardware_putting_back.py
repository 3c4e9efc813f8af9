"""When the simulated operator of line 23.10 puts a DaemonSet back that others have changed."""

from __future__ import annotations

import math

from played_objects import Object

from sandbox.hardware.putting_back import PUT_BACK_S, Changed


def daemon_set(generation: int, uid: str = "a") -> Object:
    return {"metadata": {"uid": uid, "generation": generation}}


def test_one_that_is_as_it_was_written_is_left_alone() -> None:
    changed = Changed()
    changed.wrote(daemon_set(1))
    assert changed.due([daemon_set(1)], 1000.0) == []
    assert changed.next() == math.inf


def test_one_that_others_have_changed_is_put_back_some_seconds_later_and_each_time_anew() -> None:
    changed, now = Changed(), 1000.0
    changed.wrote(daemon_set(1))
    for generation in (2, 4):
        assert changed.due([daemon_set(generation)], now) == []
        assert changed.next() == now + PUT_BACK_S
        assert changed.due([daemon_set(generation)], now + PUT_BACK_S) == ["a"]
        changed.wrote(daemon_set(generation + 1))
        now += 100
        assert changed.due([daemon_set(generation + 1)], now) == []
        assert changed.next() == math.inf


def test_one_whose_write_failed_stays_due() -> None:
    changed = Changed()
    changed.wrote(daemon_set(1))
    changed.due([daemon_set(2)], 0.0)
    assert changed.due([daemon_set(2)], PUT_BACK_S) == ["a"]
    assert changed.due([daemon_set(2)], PUT_BACK_S + 1) == ["a"]


def test_one_of_before_this_process_counts_as_changed_and_one_that_is_gone_no_longer() -> None:
    changed = Changed()
    assert changed.due([daemon_set(7), daemon_set(7, "b")], 0.0) == []
    assert changed.due([daemon_set(7, "b")], PUT_BACK_S) == ["b"]
    assert changed.due([], PUT_BACK_S + 1) == []
    assert changed.next() == math.inf
