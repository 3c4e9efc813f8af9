"""What a plan decides other than its resources and the guard judges: versions, root on nodes, eviction, NICs' owner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpu_fabric.catalog import Catalog, catalog
from gpu_fabric.catalog.chart import value_at
from gpu_fabric.k8s.images import find_images
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.operators.network_operator import DRA_GATE
from gpu_fabric.plan.operators.releases import run_images
from gpu_fabric.plan.records import Way
from gpu_fabric.plan.waves import HOOK, WAVES
from gpu_fabric.plan.ways import WAYS
from gpu_fabric.render.model import RenderedPlan, RenderedResource
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import KEPT_OBJECTS
from gpu_fabric.resources.order import CLUSTER


class Program(FrozenModel):
    """A container that has root on its node; `command` is JSON, and empty where it is this program's own.

    A pod has root if a container is privileged, if it sees the host's processes, or if it mounts a path of the host.
    The record of a run has only image and command.
    """

    resource: str = ""
    identity: str = ""
    image: str
    command: str = ""


class NicOwner(FrozenModel):
    """What hands out the fabric's NICs: the manager, and in it a device plug-in or a DRA driver (`devices`).

    While waves take nodes from one manager to another, `from_manager` is that of nodes without the label.
    """

    manager: str
    devices: Way = "plugin"
    from_manager: str | None = None

    @property
    def of_unlabelled(self) -> str:
        """The manager of nodes without the label."""
        return self.from_manager or self.manager


class Software(FrozenModel):
    """What a plan decides other than its resources and the guard judges.

    `release_line` is empty for a stack that installs nothing. `charts` are versions by release, `drivers` tags of
    images whose change empties nodes, `registries` the mirrors of the stack file. `evicts_after`: minutes after which
    waves evict the jobs that remain on a node; None if they never do. `owner` is None in records of versions without.
    """

    release_line: str = ""
    charts: dict[str, str] = {}
    drivers: dict[str, str] = {}
    registries: tuple[str, ...] = ()
    programs: tuple[Program, ...] = ()
    evicts_after: int | None = None
    owner: NicOwner | None = None


# Components whose programs come with an operator or a measurement: their command is this program's own and follows the
# version, the rails and the nodes, so that their image alone counts.
_OF_OPERATORS = frozenset({"multus", "cni-plugins", "verification"})
# The chart value by which the SR-IOV operator starts a DRA driver in the place of its device plug-in.
_DRA_SWITCH = f"sriov-network-operator.sriovOperatorConfig.featureGates.{DRA_GATE}"


def software_of(plan: RenderedPlan) -> Software:
    """What a rendered plan decides."""
    registries = plan.contract.get("imageRegistries", {}).values()
    manager = plan.decisions.get("choices", {}).get("manager")
    return software(plan.release_line, registries, plan.resources, [wait.record for wait in plan.waits], manager)


def software(
    line: str,
    registries: Iterable[str],
    resources: Iterable[RenderedResource],
    waits: Iterable[Mapping[str, Any]],
    manager: str | None,
) -> Software:
    """What resources and waits say of versions, programs and evictions.

    A stack that only creates a cluster installs nothing, so that its release line has no effect.
    """
    known = catalog()
    charts: dict[str, str] = {}
    drivers: dict[str, str] = {}
    programs: list[Program] = []
    devices: Way = "plugin"
    on_cluster = [entry for entry in resources if entry.component != CLUSTER and entry.type != KEPT_OBJECTS]
    for entry in on_cluster:
        if _is_chart(entry):
            charts[entry.properties["name"]] = entry.properties["version"]
            if value_at(entry.properties["values"], _DRA_SWITCH) is True:
                devices = "claims"
        for name, tag in _images(entry, known):
            if name in known.upgrades.effects and known.upgrades.effects[name].kind == "drains":
                drivers[name] = tag
        programs += _programs(entry.name, entry.identity, entry.component, entry.properties)
    evicts_after, home = None, None
    for record in waits:
        if way := record.get("way"):
            home = next((name for name, hands_out in WAYS.items() if hands_out == way["home"]), None)
        if record.get("evict"):
            evicts_after = record["jobSeconds"] // 60
        programs += _programs(HOOK, "the hook of the waves", WAVES, record.get("hook") or {})
    return Software(
        release_line=line if on_cluster else "",
        charts=charts,
        drivers=drivers,
        registries=tuple(sorted(set(registries))),
        programs=tuple(programs),
        evicts_after=evicts_after,
        owner=NicOwner(manager=manager, devices=devices, from_manager=home) if manager and on_cluster else None,
    )


def _images(entry: RenderedResource, known: Catalog) -> Iterator[tuple[str, str]]:
    """The last name and the tag of every image that a release's chart or an object names."""
    properties = entry.properties
    if _is_chart(entry):
        table = known.chart_versions.get(properties["name"], {}).get(properties["version"])
        references = [] if table is None else [image.reference for image in run_images(table, properties["values"])]
        found = find_images([{"image": reference} for reference in references])
    else:
        found = find_images(properties)
    for _, name, tag in found:
        yield name.rpartition("/")[2], tag


def _is_chart(entry: RenderedResource) -> bool:
    """Whether a resource is a release with its values, which the record of a run leaves out."""
    return entry.type == RELEASE and "values" in entry.properties


def _programs(name: str, identity: str, component: str, value: Any) -> Iterator[Program]:
    """The containers of every pod with root on its node: privileged, in the host's processes, or with a host's path."""
    if isinstance(value, list):
        for inner in value:
            yield from _programs(name, identity, component, inner)
    if not isinstance(value, dict):
        return
    if isinstance(value.get("containers"), list) and _has_root(value):
        for container in _containers(value):
            command = [*(container.get("command") or ()), *(container.get("args") or ())]
            text = "" if component in _OF_OPERATORS else json.dumps(command, ensure_ascii=False)
            yield Program(resource=name, identity=identity, image=str(container.get("image")), command=text)
    for key, inner in value.items():
        # A file in a ConfigMap, such as a pod that a program of the stack creates.
        is_file = isinstance(inner, str) and key.endswith(".json")
        yield from _programs(name, identity, component, _document(inner) if is_file else inner)


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*(pod.get("initContainers") or ()), *pod["containers"]]


def _has_root(pod: Mapping[str, Any]) -> bool:
    privileged = any((entry.get("securityContext") or {}).get("privileged") for entry in _containers(pod))
    return privileged or bool(pod.get("hostPID")) or any("hostPath" in entry for entry in pod.get("volumes") or ())
