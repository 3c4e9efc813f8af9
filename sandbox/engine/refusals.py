"""What Oracle's refusals to a destroy mean, in words: the engine runs no program then, and so none of its advice."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from sandbox.engine.event_log import recorded

if TYPE_CHECKING:
    from fabric.plan.clouds.oke import OkeResources


@contextlib.contextmanager
def advised_afterwards(verb: str, planned: OkeResources | None, say: Callable[[str], None]) -> Iterator[list[str]]:
    """Options by which the CLI records a destroy, whose errors at Oracle are explained at the end; none otherwise."""
    if verb != "destroy" or planned is None:
        yield []
        return
    oracle = planned

    def explain(events: list[str]) -> None:
        for advice in advice_on_errors(oracle, events):
            say(advice)

    with recorded(explain) as options:
        yield options


def advice_on_errors(planned: OkeResources, events: Iterable[str]) -> list[str]:
    """Advice on the errors among the events of a run, each once."""
    from fabric.plan.clouds.oke import advice_on

    found: dict[str, None] = {}
    for line in events:
        event = json.loads(line).get("diagnosticEvent") or {}
        urn = event.get("urn", "")
        if event.get("severity") == "error" and "$oci:" in urn:
            advice = advice_on(planned, urn.rpartition("::")[2], event.get("message", ""))
            if advice is not None:
                found[advice.text] = None
    return list(found)
