"""What a preview would take away for good, in words: the engine's own lines name resources, not nodes and GPUs."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

# The CLI knows the option to record its events only with this.
RECORDING = {"PULUMI_DEBUG_COMMANDS": "true"}

Inputs = Mapping[str, Any]

_CLUSTER = "digitalocean:index/kubernetesCluster:KubernetesCluster"
_POOL = "digitalocean:index/kubernetesNodePool:KubernetesNodePool"
_VPC = "digitalocean:index/vpc:Vpc"
# In the order in which they are told: what holds the rest first.
_TOLD = (_VPC, _CLUSTER, _POOL)


class Loss(NamedTuple):
    """A resource that would be deleted, or made `anew`: for the changed inputs `because`, or for what it lies in."""

    kind: str
    inputs: Inputs
    anew: bool
    because: tuple[str, ...]

    def __str__(self) -> str:
        if not self.anew:
            end = "deleted"
        elif self.because:
            end = f"made anew, since {', '.join(self.because)} cannot change in place"
        else:
            end = "made anew with what it lies in"
        return f"{_what(self.kind, self.inputs)}: {end}"


@contextlib.contextmanager
def told_afterwards(verb: str, say: Callable[[str], None]) -> Iterator[list[str]]:
    """Options by which the CLI records a preview, whose losses are said at the end; none for other verbs."""
    if verb != "preview":
        yield []
        return
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events"
        yield ["--event-log", str(log)]
        if log.exists() and (lost := losses(log.read_text().splitlines())):
            say(told(lost))


def losses(events: Iterable[str]) -> list[Loss]:
    """The clouds' resources that the events of a preview, a JSON document a line, delete or replace."""
    found: dict[str, Loss] = {}
    for step in _steps(events):
        if step["op"] in ("replace", "delete") and step["type"] in _TOLD:
            inputs = (step.get("old") or {}).get("inputs") or {}
            anew = step["op"] == "replace"
            found[step["urn"]] = Loss(step["type"], inputs, anew, tuple(step.get("keys") or ()) if anew else ())
    return sorted(found.values(), key=lambda loss: (_TOLD.index(loss.kind), str(loss)))


def told(lost: list[Loss]) -> str:
    """The losses for the person who reads the preview."""
    head = "This change takes away, with every pod and every address in use on it:"
    return "\n".join([head, *(f"  {loss}" for loss in lost)])


def _steps(events: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in events:
        if (event := json.loads(line).get("resourcePreEvent")) is not None:
            yield event["metadata"]


def _what(kind: str, inputs: Inputs) -> str:
    name = inputs.get("name", "")
    if kind == _POOL:
        size, nodes = str(inputs.get("size", "")), int(inputs.get("nodeCount") or 0)
        return f"pool {name}, {nodes} nodes of {size}{_gpus(size, nodes)}"
    if kind == _CLUSTER:
        return f"cluster {name}, all of its nodes and everything that runs there"
    return f"VPC {name}, and what lies in it"


def _gpus(size: str, nodes: int) -> str:
    from fabric.catalog import catalog

    shape = catalog().find(size)
    return f" with {nodes * shape.gpus.count} GPUs" if shape is not None else ""
