"""The CLI's own record of a run (its events, a JSON document a line), and what is reported from it.

Of a preview: the nodes and GPUs that its changes would delete, since the engine's own lines only name resources. Of a
destroy or refresh: advice on a cloud's errors, since the engine runs no program there that could print it.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpu_fabric.live.engine_run import cloud_advice


@contextlib.contextmanager
def recorded(read: Callable[[list[str]], None]) -> Iterator[list[str]]:
    """Options with which the CLI records a run; `read` gets the lines afterwards, and the record is deleted."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events"
        yield ["--event-log", str(log)]
        if log.exists():
            read(log.read_text().splitlines())


Inputs = Mapping[str, Any]

# By kind: its name in the report, and the paths of name, number of machines and machine type in its inputs. The order
# is that of the report: a resource comes before those inside it.
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
    """A resource that would be deleted, or `replaced`: for its inputs `because`, or with its parent resource."""

    kind: str
    inputs: Inputs
    replaced: bool
    because: tuple[str, ...]

    def __str__(self) -> str:
        if not self.replaced:
            end = "deleted"
        elif self.because:
            end = f"replaced, since {', '.join(self.because)} cannot change in place"
        else:
            end = "replaced with its parent resource"
        return f"{_what(self.kind, self.inputs)}: {end}"


@contextlib.contextmanager
def told_afterwards(verb: str, say: Callable[[str], None]) -> Iterator[list[str]]:
    """Options with which the CLI records a preview, whose losses are reported at the end; none for other verbs."""
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
            replaced = step["op"] == "replace"
            found[step["urn"]] = Loss(step["type"], inputs, replaced, tuple(step.get("keys") or ()) if replaced else ())
    return sorted(found.values(), key=lambda loss: (list(_TOLD).index(loss.kind), str(loss)))


def told(lost: list[Loss]) -> str:
    """The losses as text."""
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
    from gpu_fabric.catalog import catalog

    shape = catalog().find(size)
    return f" with {nodes * shape.gpus.count} GPUs" if shape is not None else ""


def _at(inputs: Inputs, path: str) -> Any:
    """The value at a dotted path, whose numbers are indices of lists; None where the path does not exist."""
    here: Any = inputs
    for step in path.split("."):
        if isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        else:
            here = here.get(step) if isinstance(here, Mapping) else None
    return here


if TYPE_CHECKING:
    from gpu_fabric.plan.clouds.doks import DoksResources
    from gpu_fabric.plan.clouds.oke.resources import OkeResources

    Planned = DoksResources | OkeResources

_WITHOUT_PROGRAM = ("destroy", "refresh")


@contextlib.contextmanager
def advised_afterwards(verb: str, planned: Planned | None, say: Callable[[str], None]) -> Iterator[list[str]]:
    """Options with which the CLI records a destroy or refresh of a cloud's stack, to explain its errors at the end."""
    if verb not in _WITHOUT_PROGRAM or planned is None:
        yield []
        return
    cloud = planned

    def explain(events: list[str]) -> None:
        for advice in advice_on_errors(cloud, events):
            say(advice)

    with recorded(explain) as options:
        yield options


def advice_on_errors(planned: Planned, events: Iterable[str]) -> list[str]:
    """Advice on the errors among the events of a run, each once."""
    found: dict[str, None] = {}
    for line in events:
        event = json.loads(line).get("diagnosticEvent") or {}
        if event.get("severity") == "error":
            advice = cloud_advice(planned, event.get("urn", ""), event.get("message", ""))
            if advice is not None:
                found[advice] = None
    return list(found)
