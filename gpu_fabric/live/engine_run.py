"""What a run of Pulumi did, by the CLI's own record of its events (`--event-log`): a JSON document a line.

Source of its fields: sdk/go/common/apitype/events.go of pulumi 3.214.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gpu_fabric.model import FrozenModel

if TYPE_CHECKING:
    from gpu_fabric.plan.clouds.doks import DoksResources
    from gpu_fabric.plan.clouds.oke.resources import OkeResources

RECORDING = {"PULUMI_DEBUG_COMMANDS": "true"}
"""The CLI has the option `--event-log` only with this in its environment."""

# What the events have in the place of colours.
_COLOUR = re.compile(r"<\{%.*?%\}>")
# The engine's own resources and the program's components, which take no time.
_NO_WORK = ("pulumi:", "gpu-fabric:")


class ResourceRun(FrozenModel):
    """What a run did with a resource; `seconds` is None where it did not end, `because` are properties that differ."""

    name: str
    type: str
    operation: str
    seconds: int | None = None
    failed: bool = False
    because: tuple[str, ...] = ()


class EngineError(FrozenModel):
    """An error of a run, as Pulumi reported it, the resource that it is of, and advice on a cloud's error."""

    urn: str
    text: str
    advice: str = ""


class EngineRun(FrozenModel):
    """A run: its operations by name (Pulumi's own summary), and its seconds; both empty where it did not end.

    `resources` are those with which something was done, in the order in which it began.
    """

    operations: dict[str, int] = {}
    seconds: int | None = None
    resources: tuple[ResourceRun, ...] = ()
    errors: tuple[EngineError, ...] = ()

    @property
    def changed(self) -> tuple[ResourceRun, ...]:
        """The resources that were not left as they were, without the engine's own."""
        return tuple(entry for entry in self.resources if not entry.type.startswith("pulumi:"))

    @property
    def slowest(self) -> list[ResourceRun]:
        """The resources that took more than a second, slowest first."""
        ended = [entry for entry in self.resources if (entry.seconds or 0) > 1 and not entry.type.startswith(_NO_WORK)]
        return sorted(ended, key=lambda entry: -(entry.seconds or 0))


def engine_run(lines: Iterable[str], planned: DoksResources | OkeResources | None = None) -> EngineRun:
    """The run of an event log; of one that was killed, what is in it. `planned` is what is created at the cloud."""
    began, found = dict[tuple[str, str], int](), dict[tuple[str, str], ResourceRun]()
    summary: dict[str, Any] = {}
    errors = dict[tuple[str, str], EngineError]()
    for event in _events(lines):
        at = int(event.get("timestamp") or 0)
        summary = event.get("summaryEvent") or summary
        for name in ("resourcePreEvent", "resOutputsEvent", "resOpFailedEvent"):
            step = (event.get(name) or {}).get("metadata")
            if step is None or step["op"] == "same":
                continue
            key = (step["urn"], step["op"])
            entry = found.get(key) or _begun(step)
            if name == "resourcePreEvent":
                began.setdefault(key, at)
            else:
                update = {"seconds": at - began.get(key, at), "failed": name == "resOpFailedEvent"}
                entry = entry.model_copy(update=update)
            found[key] = entry
        said = event.get("diagnosticEvent") or {}
        if said.get("severity") == "error":
            urn, text = str(said.get("urn") or ""), _COLOUR.sub("", str(said.get("message") or "")).strip()
            errors[urn, text] = EngineError(urn=urn, text=text, advice=cloud_advice(planned, urn, text) or "")
    return EngineRun(
        operations=summary.get("resourceChanges") or {},
        seconds=summary.get("durationSeconds"),
        resources=tuple(found.values()),
        errors=tuple(errors.values()),
    )


def cloud_advice(planned: DoksResources | OkeResources | None, urn: str, said: str) -> str | None:
    """Advice on the error of a cloud's resource; None where there is none."""
    # Here, since most runs have no error.
    from gpu_fabric.plan.clouds.doks import DoksResources, doks_advice
    from gpu_fabric.plan.clouds.oke.resources import advice_on

    kind, _, name = urn.rpartition("::")
    if isinstance(planned, DoksResources):
        return doks_advice(planned, kind.rpartition(":")[2], said) if "$digitalocean:" in urn else None
    if planned is None or "$oci:" not in urn:
        return None
    advice = advice_on(planned, name, said)
    return None if advice is None else advice.text


def _begun(step: dict[str, Any]) -> ResourceRun:
    because = step.get("keys") or step.get("diffs") or sorted(step.get("detailedDiff") or ())
    return ResourceRun(
        name=str(step["urn"]).rpartition("::")[2], type=step["type"], operation=step["op"], because=tuple(because)
    )


def _events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            # The last line of a run that was killed.
            return
