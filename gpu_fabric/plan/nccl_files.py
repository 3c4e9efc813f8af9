"""What a job's NCCL reads: a settings file and, where the shape's PCI tree is known and hidden, a topology file."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from gpu_fabric.catalog import Catalog, DeviceAccess, Shape
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.topology import topology_xml
from gpu_fabric.plan.nccl_settings import FabricFacts, PlannedSetting, environment_of, planned_settings
from gpu_fabric.plan.nccl_topology import TopologyChoice, choose_topology
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.fabric import TopologyWish


class FilePlace(NamedTuple):
    """A file's key in its ConfigMap, its path in a pod, and the variable that leads NCCL there."""

    key: str
    mount_path: str
    variable: str | None


# Each library reads its own file by itself, in every process that sees it (source: src/misc/param.cc of NCCL and of
# RCCL, and RCCL's reference of variables). A topology file at another path than the variable says is ignored without a
# word.
SETTINGS_PLACES = {
    "nvidia": FilePlace("nccl.conf", "/etc/nccl.conf", None),
    "amd": FilePlace("nccl.conf", "/etc/rccl.conf", None),
}
TOPOLOGY_PLACE = FilePlace("topo.xml", "/etc/nccl/topo.xml", "NCCL_TOPO_FILE")


class NcclFile(FrozenModel):
    """One file: the ConfigMap and key that hold it, and the path at which a pod mounts it.

    `variable` names the environment variable that leads NCCL to the path; None when NCCL looks there by itself.
    """

    config_map: str
    key: str
    mount_path: str
    variable: str | None
    content: str


class NcclFiles(FrozenModel):
    """The files of a stack, the settings as environment variables, and why there is a topology file, or none.

    `environment` is what jobs get, and what the settings file has. `verification_environment` is what a measurement
    sets on top of it, and no job gets. `settings` has the reason of each.
    """

    environment: dict[str, str]
    verification_environment: dict[str, str]
    settings: tuple[PlannedSetting, ...]
    files: tuple[NcclFile, ...]
    topology: TopologyChoice


def plan_nccl_files(
    shape: Shape,
    known: Catalog,
    *,
    devices: DeviceAccess = "virtual",
    topology: TopologyWish = "auto",
    facts: FabricFacts | None = None,
) -> NcclFiles:
    """Settings and topology for pods that come by a shape's NICs in one way.

    A ConfigMap's name carries its content's hash, so new content rolls pods.
    """
    settings = planned_settings(shape, known, devices, facts or FabricFacts())
    environment = environment_of(settings, "training")
    # Neither comments nor blanks: RCCL takes them for part of a name or value.
    text = "".join(f"{variable}={value}\n" for variable, value in environment.items())
    files = [_file(f"nccl-settings-{_label(shape)}", SETTINGS_PLACES[shape.gpus.vendor], text)]
    choice = choose_topology(topology, shape, known, devices)
    if choice.form is not None:
        xml = topology_xml(shape, known.topologies[shape.name], choice.form)
        files.append(_file(f"nccl-topology-{_label(shape)}", TOPOLOGY_PLACE, xml))
    return NcclFiles(
        environment=environment,
        verification_environment=environment_of(settings, "verification"),
        settings=settings,
        files=tuple(files),
        topology=choice,
    )


def nccl_config_maps(nccl: NcclFiles, namespaces: tuple[str, ...]) -> tuple[PlannedObject, ...]:
    """Every file in every namespace in which jobs may run."""
    return tuple(
        PlannedObject(
            object=ConfigMap(
                metadata=ObjectMeta(name=file.config_map, namespace=namespace),
                immutable=True,
                data={file.key: file.content},
            )
        )
        for namespace in namespaces
        for file in nccl.files
    )


def config_map_name(name: str, content: str) -> str:
    """A name that carries the content's hash, so that new content rolls pods."""
    return f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def _file(name: str, place: FilePlace, content: str) -> NcclFile:
    return NcclFile(config_map=config_map_name(name, content), **place._asdict(), content=content)


def _label(shape: Shape) -> str:
    return shape.name.lower().replace(".", "-")
