"""The NCCL settings of a stack, each with its reason: those of jobs, and further ones of the verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpu_fabric.catalog import Catalog, DeviceAccess, NcclSetting, Shape
from gpu_fabric.catalog.nccl import IpVersion, ResilienceChoice, Scope, Since
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case, plane_names
from gpu_fabric.plan.domains import has_domains
from gpu_fabric.plan.rail import rails_are_routed
from gpu_fabric.spec.fabric import LosslessSpec

TRAFFIC_CLASS = "NCCL_IB_TC"
DEVICES = "NCCL_IB_HCA"
QUEUE_PAIRS = "NCCL_IB_QPS_PER_CONNECTION"


class PlannedSetting(FrozenModel):
    """One variable with its value.

    `stated_by` says whose word it is: the catalog's, or the stack file's. `since` is the release of NCCL (RCCL) that
    brought the variable, or why none can be named.
    """

    variable: str
    value: str
    scope: Scope
    why: str
    source: str
    since: Since
    stated_by: Literal["catalog", "stack"]


@dataclass(frozen=True)
class FabricFacts:
    """What settings depend on besides shape and devices: link layer, family of the addresses, and the stack's own.

    Without a link layer it is the shape's. Without planned addresses there is no address family. `lossless` is what
    hosts are prepared for; a dry run prepares nothing. `storage` are the RDMA devices of storage fabrics that a pod
    sees besides its own virtual functions. `resilience` is the stack file's choice. `channel` is whether jobs have an
    IMEX channel. `planes` are those of each NIC, and `plane_devices` the RDMA devices in pods whose NICs have planes.
    """

    link: LinkType | None = None
    ip_version: IpVersion | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    lossless: LosslessSpec | None = None
    storage: tuple[str, ...] = ()
    resilience: ResilienceChoice = "default"
    channel: bool = False
    planes: int = 1
    plane_devices: tuple[str, ...] = ()


def fabric_facts(case: Case) -> FabricFacts:
    """The facts of a stack."""
    hosts = case.spec.fabric.host_preparation
    lossless = None if hosts.dry_run or case.choices.link_type != "ether" else hosts.lossless
    own, storage = case.spec.fabric.nccl.settings, storage_devices(case)
    choice, channel = case.spec.fabric.resilience, has_domains(case)
    version, planes = _ip_version(case), case.spec.fabric.planes.count
    of_planes = plane_devices(case)
    return FabricFacts(
        case.choices.link_type, version, own, lossless, storage or (), choice, channel, planes, of_planes
    )


def plane_devices(case: Case) -> tuple[str, ...]:
    """The RDMA devices in pods by the names that the Spectrum-X operator gives them; empty without planes."""
    return tuple(f"rdma_{name}" for name in plane_names(case.spec.fabric.planes, case.shape.rails))


def storage_devices(case: Case) -> tuple[str, ...] | None:
    """The RDMA devices of storage fabrics among which a pod's own virtual functions are; None where one has no name.

    Pods that see the nodes' own devices get a list of those of their fabric, and need no list of others.
    """
    if case.choices.access != "virtual":
        return ()
    names: list[str] = []
    for storage in case.storage:
        nics = [nic for group in storage.groups for nic in group.shape.nics]
        if storage.choices.access == "virtual" or not all(nic.rdma_device for nic in nics):
            return None
        names += [nic.rdma_device for nic in nics if nic.rdma_device is not None]
    return tuple(dict.fromkeys(names))


def planned_settings(
    shape: Shape, known: Catalog, devices: DeviceAccess, facts: FabricFacts
) -> tuple[PlannedSetting, ...]:
    """The settings of a stack by name: the catalog's, and the stack file's own in their place."""
    rows = tuple(_planned(known.nccl, "catalog", shape, known, devices, facts))
    settings = (
        _of_cloud(shape, known, devices, facts),
        _chosen(shape, known, devices, facts),
        _of_planes(known, facts),
    )
    for chosen in settings:
        rows = _with(rows, tuple(chosen))
    if facts.lossless is not None:
        marked = _traffic_class(facts.lossless, known)
        rows = (*(row for row in rows if row.variable != TRAFFIC_CLASS), marked)
    if facts.storage:
        rows = (*(row for row in rows if row.variable != DEVICES), _without(facts.storage, known))
    # The settings of the verification stay, whatever those of jobs are.
    kept = [row for row in rows if row.variable not in facts.own or row.scope == "verification"]
    return tuple(sorted((*kept, *_own(facts.own, known)), key=lambda row: (row.variable, row.scope)))


def _with(rows: tuple[PlannedSetting, ...], chosen: tuple[PlannedSetting, ...]) -> tuple[PlannedSetting, ...]:
    """The rows with others in the place of those of the same variables."""
    return (*(row for row in rows if row.variable not in {entry.variable for entry in chosen}), *chosen)


def resilience_settings(case: Case) -> tuple[PlannedSetting, ...]:
    """The settings of the stack file's choice of `fabric.resilience`, before its own settings take their place."""
    return tuple(_chosen(case.shape, case.known, case.choices.access or "physical", fabric_facts(case)))


def environment_of(settings: tuple[PlannedSetting, ...], scope: Scope) -> dict[str, str]:
    """Variables by name: with `training` what jobs get, with `verification` what a measurement sets on top of it."""
    meant = ("verification",) if scope == "verification" else ("both", "training")
    return {row.variable: row.value for row in settings if row.scope in meant}


def measurement_environment(case: Case) -> dict[str, str]:
    """Everything that a measurement on a stack tells NCCL, without the files' paths: what jobs get, and what is on top.

    A model that the support matrix does not have is taken to hold whole NICs.
    """
    settings = planned_settings(case.shape, case.known, case.choices.access or "physical", fabric_facts(case))
    return environment_of(settings, "training") | environment_of(settings, "verification")


def _chosen(shape: Shape, known: Catalog, devices: DeviceAccess, facts: FabricFacts) -> Iterator[PlannedSetting]:
    """The settings of the stack file's choice of `fabric.resilience`."""
    return _planned(known.nccl_resilience[facts.resilience].settings, "stack", shape, known, devices, facts)


def cloud_settings(shape: Shape, known: Catalog) -> tuple[NcclSetting, ...]:
    """The variables of the cloud whose machine a shape is, which take the place of the catalog's; empty elsewhere."""
    return () if shape.cloud is None else known.clouds[shape.cloud].settings


def _of_cloud(shape: Shape, known: Catalog, devices: DeviceAccess, facts: FabricFacts) -> Iterator[PlannedSetting]:
    return _planned(cloud_settings(shape, known), "catalog", shape, known, devices, facts)


def _planned(
    rows: Iterable[NcclSetting],
    stated_by: Literal["catalog", "stack"],
    shape: Shape,
    known: Catalog,
    devices: DeviceAccess,
    facts: FabricFacts,
) -> Iterator[PlannedSetting]:
    for row in rows:
        if not row.applies_to(shape, devices, facts.link, facts.ip_version, channel=facts.channel):
            continue
        if (value := row.value_on(shape)) is not None:
            yield PlannedSetting(
                variable=row.variable,
                value=value,
                scope=row.scope,
                why=row.why,
                source=row.source,
                since="unknown" if row.variable not in known.variables else known.variables[row.variable].since,
                stated_by=stated_by,
            )


def traffic_class_of(dscp: int) -> int:
    """The byte that NCCL_IB_TC is, for packets of a DSCP: its upper six bits (source: RFC 2474, section 3)."""
    return 4 * dscp


def dscp_of(traffic_class: int) -> int:
    """The DSCP of packets with a traffic class; its lower two bits are for congestion notification (RFC 3168)."""
    return traffic_class // 4


def _traffic_class(lossless: LosslessSpec, known: Catalog) -> PlannedSetting:
    dscp, _ = lossless.marks
    return PlannedSetting(
        variable=TRAFFIC_CLASS,
        value=str(traffic_class_of(dscp)),
        scope="both",
        why=f"The hosts pause DSCP {dscp} in priority {lossless.priority}, so jobs mark their packets with it.",
        source="the stack file, fabric.hostPreparation.lossless",
        since=known.nccl_variables[TRAFFIC_CLASS].since,
        stated_by="stack",
    )


def _of_planes(known: Catalog, facts: FabricFacts) -> Iterator[PlannedSetting]:
    """Devices by their names in the pod, and a queue pair for each plane of a NIC."""
    if not facts.plane_devices:
        return
    source = "NVIDIA/nccl issue 2035; NCCL manual"
    named = "The pod's devices have the names of their rails and planes, and none begins with mlx5."
    enough = (
        "A queue pair uses one plane: with fewer than there are planes a connection reaches a part of the NIC's rate."
    )
    operator = (
        "spectrum-x-operator 47f931e, generateOVSNetwork; rdma-cni, branch network-operator-26.7.x, cmd/rdma/main.go"
    )
    for variable, value, why, origin in (
        (DEVICES, f"={','.join(facts.plane_devices)}", named, operator),
        (QUEUE_PAIRS, str(facts.planes), enough, source),
    ):
        yield PlannedSetting(
            variable=variable,
            value=value,
            scope="both",
            why=why,
            source=origin,
            since=known.nccl_variables[variable].since,
            stated_by="stack",
        )


def _without(storage: tuple[str, ...], known: Catalog) -> PlannedSetting:
    return PlannedSetting(
        variable=DEVICES,
        # One `^` before the list excludes, and `=` has each name match as a whole (source: NCCL manual, NCCL_IB_HCA).
        value=f"^={','.join(storage)}",
        scope="both",
        why="A pod may see the devices of storage as well, and its own virtual functions have no lasting names.",
        source="the stack file, fabrics",
        since=known.nccl_variables[DEVICES].since,
        stated_by="stack",
    )


def _own(own: Mapping[str, str], known: Catalog) -> Iterator[PlannedSetting]:
    for name, value in own.items():
        variable = known.variables.get(name)
        yield PlannedSetting(
            variable=name,
            value=value,
            scope="both",
            why="The stack file says so.",
            source="the stack file, fabric.nccl.settings",
            since="unknown" if variable is None else variable.since,
            stated_by="stack",
        )


def _ip_version(case: Case) -> IpVersion | None:
    """The family of the addresses that the stack plans; on rail-optimized DigitalOcean fabrics, of the provider's."""
    if rails_are_routed(case):
        # A unique local IPv6 network per NIC (source: DigitalOcean's documentation of rail-optimized fabrics).
        return 6
    supernet = case.spec.fabric.addressing.supernet
    return None if supernet is None or case.choices.layout == "none" else supernet.version
