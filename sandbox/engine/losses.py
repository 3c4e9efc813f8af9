"""What a preview would take away for good, in words: the engine's own lines name resources, not nodes and GPUs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sandbox.engine.event_log import recorded

Inputs = Mapping[str, Any]

# By kind: what it is called, where its inputs have name, number of machines and machine type. In the order in which
# they are told: what holds the rest first.
_TOLD: dict[str, tuple[str, str, str, str]] = {
    "digitalocean:index/vpc:Vpc": ("VPC", "name", "", ""),
    "oci:Core/vcn:Vcn": ("VCN", "displayName", "", ""),
    "digitalocean:index/kubernetesCluster:KubernetesCluster": ("cluster", "name", "", ""),
    "oci:ContainerEngine/cluster:Cluster": ("cluster", "name", "", ""),
    "digitalocean:index/kubernetesNodePool:KubernetesNodePool": ("pool", "name", "nodeCount", "size"),
    "oci:ContainerEngine/nodePool:NodePool": ("pool", "name", "nodeConfigDetails.size", "nodeShape"),
    "oci:Core/clusterNetwork:ClusterNetwork": ("cluster network", "displayName", "instancePools.0.size", ""),
    "oci:Core/instancePool:InstancePool": ("pool", "displayName", "size", ""),
    "oci:Core/computeGpuMemoryCluster:ComputeGpuMemoryCluster": ("memory cluster", "displayName", "size", ""),
    "oci:Core/computeCluster:ComputeCluster": ("compute cluster", "displayName", "", ""),
    "oci:Core/instance:Instance": ("machine", "displayName", "", "shape"),
}


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

    def tell(events: list[str]) -> None:
        if lost := losses(events):
            say(told(lost))

    with recorded(tell) as options:
        yield options


def losses(events: Iterable[str]) -> list[Loss]:
    """The clouds' resources that the events of a preview, a JSON document a line, delete or replace."""
    found: dict[str, Loss] = {}
    for step in _steps(events):
        if step["op"] in ("replace", "delete") and step["type"] in _TOLD:
            inputs = (step.get("old") or {}).get("inputs") or {}
            anew = step["op"] == "replace"
            found[step["urn"]] = Loss(step["type"], inputs, anew, tuple(step.get("keys") or ()) if anew else ())
    return sorted(found.values(), key=lambda loss: (list(_TOLD).index(loss.kind), str(loss)))


def told(lost: list[Loss]) -> str:
    """The losses for the person who reads the preview."""
    head = "This change takes away, with every pod and every address in use on it:"
    return "\n".join([head, *(f"  {loss}" for loss in lost)])


def _steps(events: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in events:
        if (event := json.loads(line).get("resourcePreEvent")) is not None:
            yield event["metadata"]


def _what(kind: str, inputs: Inputs) -> str:
    word, name, number, machine = _TOLD[kind]
    text = f"{word} {_at(inputs, name) or ''}".rstrip()
    size, nodes = _at(inputs, machine), _at(inputs, number)
    if nodes is not None:
        text += f", {int(nodes)} {'node' if nodes == 1 else 'nodes'}" + (
            f" of {size}{_gpus(str(size), int(nodes))}" if size else ""
        )
    elif size:
        text += f", {size}{_gpus(str(size), 1)}"
    return f"{text}, all of its nodes and everything that runs there" if word == "cluster" else text


def _gpus(size: str, nodes: int) -> str:
    from fabric.catalog import catalog

    shape = catalog().find(size)
    return f" with {nodes * shape.gpus.count} GPUs" if shape is not None else ""


def _at(inputs: Inputs, path: str) -> Any:
    """What lies at a dotted path, whose numbers are places in lists; None where nothing does."""
    here: Any = inputs
    for step in path.split("."):
        if isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        else:
            here = here.get(step) if isinstance(here, Mapping) else None
    return here
