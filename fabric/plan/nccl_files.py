"""What a job's NCCL reads: a settings file and, where the shape's PCI tree is published, a topology file."""

from __future__ import annotations

import hashlib

from fabric.catalog import Catalog, DeviceAccess, Shape, nccl_environment
from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import ConfigMap
from fabric.model import FrozenModel
from fabric.nccl.topology import topology_xml
from fabric.plan.records import PlannedObject


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
    """The files of a stack, and the settings as environment variables."""

    environment: dict[str, str]
    files: tuple[NcclFile, ...]


def plan_nccl_files(shape: Shape, known: Catalog, *, devices: DeviceAccess = "virtual") -> NcclFiles:
    """Settings and topology for pods that come by a shape's NICs in one way.

    A ConfigMap's name carries its content's hash, so new content rolls pods.
    """
    settings = nccl_environment(known.nccl, shape, devices)
    text = "".join(f"{variable}={value}\n" for variable, value in sorted(settings.items()))
    # NCCL reads /etc/nccl.conf by itself, in every process that sees it.
    files = [_file(f"nccl-settings-{_label(shape)}", "nccl.conf", "/etc/nccl.conf", None, text)]
    # A tree names the devices of virtual functions; a pod with physical ones sees their place in the tree itself.
    if devices == "virtual" and (topology := known.topologies.get(shape.name)):
        xml = topology_xml(shape, topology)
        files.append(_file(f"nccl-topology-{_label(shape)}", "topo.xml", "/etc/nccl/topo.xml", "NCCL_TOPO_FILE", xml))
    return NcclFiles(environment=settings, files=tuple(files))


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


def _file(name: str, key: str, mount_path: str, variable: str | None, content: str) -> NcclFile:
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    return NcclFile(config_map=f"{name}-{digest}", key=key, mount_path=mount_path, variable=variable, content=content)


def _label(shape: Shape) -> str:
    return shape.name.lower().replace(".", "-")
