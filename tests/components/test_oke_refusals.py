"""What the program does about Oracle's refusals: the engine asks it after every error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pulumi
import pytest
from recording import Recording

from gpu_fabric.base.cloud_time import MINUTE_VARIABLE

pytestmark = pytest.mark.components

BUSY = "409-IncorrectState, the cluster is being updated"
NO_HOSTS = "500-InternalError, Out of host capacity."


class Said:
    """What the program logs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.errors: list[str] = []
        self.lines: list[str] = []
        monkeypatch.setattr(pulumi.log, "error", self.errors.append)
        monkeypatch.setattr(pulumi.log, "info", self.lines.append)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    # A pause that is over at once.
    monkeypatch.setenv(MINUTE_VARIABLE, "0")
    return Said(monkeypatch)


@pytest.fixture(scope="module")
def h100(recorded: Callable[[str], Recording]) -> Recording:
    return recorded("oke-h100")


def asked_again(recording: Recording, name: str, *errors: str) -> bool:
    """Whether the program wants the operation tried once more; errors are the newest first."""
    (hook,) = recording.hooks.values()
    failure = pulumi.ErrorHookArgs("urn", "", name, "oci", failed_operation="create", errors=list(errors))

    async def answer() -> bool:
        return await cast(Awaitable[bool], hook(failure))

    return asyncio.run(answer())


def test_everything_at_oracle_has_the_one_hook(on_oke: Recording) -> None:
    at_oracle = {entry.error_hooks for entry in on_oke.resources if entry.type.startswith("oci:")}
    assert at_oracle == {tuple(on_oke.hooks)}
    assert len(on_oke.hooks) == 1


def test_what_passes_by_itself_is_tried_again_and_given_up_with_advice_in_the_end(h100: Recording, said: Said) -> None:
    tries = [asked_again(h100, "cluster-cluster", *[BUSY] * number) for number in range(1, 12)]
    assert tries == [True] * 10 + [False]
    assert said.lines[0].endswith("which cluster has to wait for: trying again in 30 s (1 of 10)")
    assert len(said.errors) == 1
    assert "run `up` again" in said.errors[0]


def test_what_does_not_pass_is_explained_and_not_tried_again(h100: Recording, said: Said) -> None:
    assert asked_again(h100, "cluster-pool-gpu", NO_HOSTS) is False
    assert said.lines == []
    assert len(said.errors) == 1
    assert said.errors[0].startswith(
        "Oracle has no free hosts for pool gpu (4 of BM.GPU.H100.8) now. What to do:\n  - "
    )


def test_an_error_of_which_nothing_is_known_stays_oracles_own(h100: Recording, said: Said) -> None:
    assert asked_again(h100, "cluster-vcn", "something new") is False
    assert said.errors == []
