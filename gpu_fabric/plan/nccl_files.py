"""What a job's NCCL reads: a settings file and, where the shape's PCI tree is known and hidden, a topology file."""

from __future__ import annotations

from typing import NamedTuple

from gpu_fabric.catalog import Catalog, DeviceAccess, Shape
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.topology import Form, topology_xml
from gpu_fabric.nccl.tree_problems import tree_problems
from gpu_fabric.plan.nccl_settings import FabricFacts, PlannedSetting, cloud_settings, environment_of, planned_settings
from gpu_fabric.plan.records import PlannedObject, config_map_name
from gpu_fabric.spec.fabric import TopologyWish


class TopologyChoice(FrozenModel):
    """The form of the topology file, None for no file, and the reason in words."""

    form: Form | None
    reason: str


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
    prefix: str = "",
) -> NcclFiles:
    """Settings and topology for pods that come by a shape's NICs in one way.

    A ConfigMap's name begins with the prefix and carries its content's hash, so new content rolls pods.
    """
    settings = planned_settings(shape, known, devices, facts or FabricFacts())
    environment = environment_of(settings, "training")
    # Neither comments nor blanks: RCCL takes them for part of a name or value.
    # What a cloud sets for other libraries is in the container's environment alone.
    others = {row.variable for row in cloud_settings(shape, known)} - known.nccl_variables.keys()
    text = "".join(f"{variable}={value}\n" for variable, value in environment.items() if variable not in others)
    files = [_file(f"{prefix}nccl-settings-{_label(shape)}", SETTINGS_PLACES[shape.gpus.vendor], text)]
    choice = choose_topology(topology, shape, known, devices)
    if choice.form is not None:
        xml = topology_xml(shape, known.topologies[shape.name], choice.form)
        files.append(_file(f"{prefix}nccl-topology-{_label(shape)}", TOPOLOGY_PLACE, xml))
    return NcclFiles(
        environment=environment,
        verification_environment=environment_of(settings, "verification"),
        settings=settings,
        files=tuple(files),
        topology=choice,
    )


def no_nccl_files() -> NcclFiles:
    """Those of a storage fabric, which NCCL leaves alone."""
    return NcclFiles(
        environment={},
        verification_environment={},
        settings=(),
        files=(),
        topology=_none("NCCL uses no storage fabric"),
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


def _file(name: str, place: FilePlace, content: str) -> NcclFile:
    return NcclFile(config_map=config_map_name(name, content), **place._asdict(), content=content)


def _label(shape: Shape) -> str:
    return shape.name.lower().replace(".", "-").replace("_", "-")


def choose_topology(wish: TopologyWish, shape: Shape, known: Catalog, devices: DeviceAccess) -> TopologyChoice:
    """The file for pods that come by a shape's NICs in one way; a wish that cannot be met is for the rules to refuse.

    Virtual functions are what hides the tree. NCCL looks for one at function 0 of its adapter since 2.18.1
    (NCCL_IB_MERGE_VFS, on by default), where the lean form has it; the full form depends on how hosts number virtual
    functions, and serves older releases. Pods that hold a physical function or the host's own network see the tree.
    """
    tree = known.topologies.get(shape.name)
    virtual = devices == "virtual"
    if wish == "none":
        return _none("the stack file says so")
    if tree is None:
        return _none(f"no PCI tree of {shape.name} is published or in the stack file, and none is guessed")
    if not _is_published(shape, known) and tree_problems(shape, tree):
        return _none(f"the PCI tree of {shape.name} is not that of the NICs in the stack file")
    if tree.full is None:
        if wish == "full":
            return _none("a tree in the stack file has no full form")
        return TopologyChoice(form=Form.LEAN, reason="the tree is in the stack file")
    if wish == "lean":
        return TopologyChoice(form=Form.LEAN, reason="the stack file says so")
    if virtual and wish == "full":
        return TopologyChoice(
            form=Form.FULL, reason="the stack file says so; it names ports by their virtual functions"
        )
    if virtual:
        reason = "NCCL since 2.18.1 looks for a virtual function at function 0 of its adapter, which the tree has"
        return TopologyChoice(form=Form.LEAN, reason=reason)
    return _none("pods see the NICs where they are in the host's PCI tree")


def _is_published(shape: Shape, known: Catalog) -> bool:
    """Whether a shape is the catalog's row as it stands there: the tests show that its published tree fits it."""
    return shape.name not in known.own_shapes and shape == known.find(shape.name)


def _none(reason: str) -> TopologyChoice:
    return TopologyChoice(form=None, reason=reason)
