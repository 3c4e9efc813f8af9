"""Checks of the group `devices`: what device plug-ins advertise, and that it can be selected on the nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.catalog.shape import LinkType, Nic, Shape
from gpu_fabric.plan.case import Case, NodeGroup, shape_on_nodes
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import one_resource
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.rules.clashes import Stated, clashes
from gpu_fabric.rules.planned_nodes import node_groups
from gpu_fabric.rules.registry import Problem, check, check_each, in_cluster, in_fabric
from gpu_fabric.spec.fabric import RailOverrideSpec, VirtualFunctions
from gpu_fabric.spec.places import Location, dotted

_RESOURCE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_]{0,61}[A-Za-z0-9])?")
_END_OF_A_NAME = re.compile(r"[a-z0-9.-]*[a-z0-9]")
_MOST_VFS = 127
_MOST_RAILS = 32
_USUAL_VFS_ON_INFINIBAND = 16
# How the names of interfaces begin by systemd's scheme (systemd.net-naming-scheme, prefixes of types of interfaces).
_PREFIXES: dict[LinkType, str] = {"ether": "en", "infiniband": "ib"}
_NAME_OF_THE_NODES = "write the name that `ip -br link` prints on the nodes"
# The meaning of the number of virtual functions, by what creates them.
_MADE_BY: dict[VirtualFunctions, str] = {
    "node-image": "the functions of the node image",
    "externally-managed": "what is there",
    "daemon-set": "how many the DaemonSet is to make",
    "sriov-operator": "how many the SR-IOV operator is to make",
}


@check("DEV001")
def rails_have_resources_of_their_own(case: Case) -> Iterator[Problem]:
    """A pod that asks for fewer than all rails gets the ones it asked for.

    AMD's device plug-in knows one pool, so that no layout gives rails resources of their own; its pods take whole
    nodes.
    """
    if one_resource(case) and not case.choices.one_pool:
        yield Problem(
            in_fabric("addressing", "layout"),
            f"all {case.shape.rails} rails share one resource, so only pods that ask for all of them get one of each",
        )


@check_each("DEV002", node_groups)
def nics_can_be_named(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """The shape or the stack file states how to find each rail's NIC."""
    access, choices = case.choices.access, case.choices
    if access is None or manager_of(case).devices_advertised_by is not None or choices.model == "host-network":
        return
    if choices.one_pool:
        # The manager's device plug-in finds them by itself.
        return
    by_interface = access == "shared"
    nics = enumerate(group.shape.nics)
    lacking = [rail for rail, nic in nics if nic.interface is None and (by_interface or nic.pci is None)]
    if not lacking:
        return
    what = "the interface on the host" if by_interface else "neither PCI address nor interface"
    keys = "interface" if by_interface else "pci"
    yield Problem(
        in_fabric("rails"),
        f"{group.shape.name} {'does not state' if by_interface else 'states'} {what} of rail"
        f"{'s' if len(lacking) > 1 else ''} {_numbers(lacking)}",
        f"add rails: one entry {{rail: <number>, {keys}: <as on the nodes>}} for each",
    )


@check("DEV003")
def nodes_have_virtual_functions(case: Case) -> Iterator[Problem]:
    """A model of virtual functions has some to hand out."""
    maker = case.choices.virtual_functions
    if maker is not None and case.shape.nics and not case.shape.vfs_per_nic:
        yield Problem(
            in_fabric("vfsPerNic"),
            f"{case.shape.name} has no virtual functions that the catalog knows of",
            f"add vfsPerNic: {_MADE_BY[maker]} per RDMA NIC{_operator_hint(case)}, or choose a model without virtual "
            "functions",
        )


@check("DEV004")
def rail_entries_are_of_rails(case: Case) -> Iterator[Problem]:
    """Every rail that the stack file describes is one of the shape's."""
    for place, entry in enumerate(case.spec.fabric.rails):
        if entry.rail >= _nics(case):
            last = _nics(case) - 1
            yield Problem(
                in_fabric("rails", place, "rail"),
                f"{case.shape.name} has no rail {entry.rail}",
                f"allowed: 0 to {last}" if last >= 0 else "leave the entry out: the shape has no RDMA NIC",
            )


@check("DEV005")
def devices_differ(case: Case) -> Iterator[Problem]:
    """No two devices of a node have one PCI address, interface or RDMA device in common."""
    for field, key in (("pci", "pci"), ("interface", "interface"), ("rdma_device", "rdmaDevice")):
        described = _entries(case)
        stated = [
            Stated(("fabric", "rails", place, key), value, f"rail {entry.rail}")
            for place, entry in described
            if (value := getattr(entry, field)) is not None
        ]
        overruled = {entry.owner for entry in stated}
        fixed = {
            value: f"rail {rail}"
            for rail, nic in enumerate(case.shape.nics[:: case.spec.fabric.planes.shown])
            if (value := getattr(nic, field)) is not None and f"rail {rail}" not in overruled
        }
        fixed |= {value: "a front-end NIC" for nic in case.shape.front_end_nics or () if (value := getattr(nic, field))}
        if field == "pci":
            fixed |= {address: f"GPU {gpu}" for gpu, address in enumerate(case.shape.gpus.pci)}
        for clash in clashes(fixed, stated):
            yield Problem(
                dotted(clash.stated.place),
                f"{clash.stated.value} is {clash.other}'s already",
                f"write {clash.stated.owner}'s own, as on the nodes",
            )


@check("DEV006")
def nearest_gpus_exist(case: Case) -> Iterator[Problem]:
    """The nearest GPU of every rail is one of the node's."""
    for place, entry in _entries(case):
        count = case.shape.gpus.count
        if entry.nearest_gpu is not None and entry.nearest_gpu >= count:
            yield Problem(
                in_fabric("rails", place, "nearestGpu"),
                f"{case.shape.name} has no GPU {entry.nearest_gpu}",
                f"allowed: 0 to {count - 1}",
            )


@check("DEV007")
def resources_differ(case: Case) -> Iterator[Problem]:
    """Every rail has a resource of its own name, unless all rails share one on purpose."""
    if one_resource(case) or case.choices.model == "host-network":
        return
    rails = group_rails(case, case.groups[0])
    networks = [rail.network for rail in rails]
    named = {entry.rail: place for place, entry in _entries(case) if entry.resource or entry.network}
    stated = [
        Stated(("fabric", "rails", place, "resource"), resource, f"rail {number}")
        for number, place in named.items()
        if (resource := rails[number].resource) is not None
        # NET011 reports two rails with one network.
        and (case.spec.fabric.rails[place].resource or networks.count(rails[number].network) == 1)
    ]
    fixed = {rail.resource: f"rail {rail.index}" for rail in rails if rail.resource and rail.index not in named}
    for clash in clashes(fixed, stated):
        yield Problem(dotted(clash.stated.place), f"{clash.other} has the resource {clash.stated.value} already")


@check("DEV008")
def resources_are_legal(case: Case) -> Iterator[Problem]:
    """Every resource is named as all device plug-ins and Kubernetes allow."""
    for place, entry in _entries(case):
        if entry.resource is not None and not _RESOURCE.fullmatch(entry.resource):
            yield Problem(in_fabric("rails", place, "resource"), f"{entry.resource!r} is not a valid resource name")


@check("DEV009")
def infiniband_nics_are_not_split_too_often(case: Case) -> Iterator[Problem]:
    """An InfiniBand NIC has at most as many virtual functions as its vendor recommends."""
    vfs = case.shape.vfs_per_nic
    infiniband = case.choices.access == "virtual" and case.choices.link_type == "infiniband"
    if infiniband and _USUAL_VFS_ON_INFINIBAND < vfs <= _MOST_VFS:
        yield Problem(
            dotted(_vfs_place(case)),
            f"{vfs} virtual functions on an InfiniBand NIC are more than the recommended {_USUAL_VFS_ON_INFINIBAND}",
            f"write {_USUAL_VFS_ON_INFINIBAND} or fewer, or test the fabric with that many first",
        )


@check("DEV010")
def nics_are_not_split_beyond_the_firmware(case: Case) -> Iterator[Problem]:
    """A NIC has at most as many virtual functions as its firmware can create."""
    if case.shape.vfs_per_nic > _MOST_VFS:
        yield Problem(
            dotted(_vfs_place(case)),
            f"a NIC has at most {_MOST_VFS} virtual functions, not {case.shape.vfs_per_nic}",
            f"write {_MOST_VFS} or fewer",
        )


@check("DEV011")
def pods_share_a_nic_where_the_model_does(case: Case) -> Iterator[Problem]:
    """The number of pods per NIC is stated only where pods share NICs."""
    access = case.choices.access
    if access not in (None, "shared") and "pods_per_nic" in case.spec.fabric.model_fields_set:
        yield Problem(
            in_fabric("podsPerNic"),
            f"it has no effect with the model {case.choices.model}",
            "leave it out" + ("; vfsPerNic says how many pods a NIC serves" if access == "virtual" else ""),
        )


@check("DEV012")
def virtual_functions_are_counted_where_they_matter(case: Case) -> Iterator[Problem]:
    """The number of virtual functions is stated only where they are handed out or in the way."""
    access = case.choices.access
    if access is None or case.spec.fabric.vfs_per_nic is None:
        return
    if access in ("shared", "host") or manager_of(case).nics_configured_by is not None:
        remedy = "leave it out" + ("; podsPerNic says how many pods a NIC serves" if access == "shared" else "")
        yield Problem(in_fabric("vfsPerNic"), f"it has no effect with the model {case.choices.model}", remedy)


@check("DEV013")
def whole_nics_have_no_virtual_functions(case: Case) -> Iterator[Problem]:
    """NICs that are handed out whole have no virtual functions."""
    vfs, by_cloud = case.shape.vfs_per_nic, manager_of(case).nics_configured_by is not None
    if case.choices.access == "physical" and not by_cloud and vfs:
        stated = case.spec.fabric.vfs_per_nic is not None
        yield Problem(
            in_fabric("vfsPerNic"),
            f"the NICs have {quantity(vfs, 'virtual function')} each"
            + ("" if stated else f", as {case.shape.name} comes")
            + ", and a NIC that has any is never offered whole",
        )


@check("DEV014")
def nearest_gpus_are_known(case: Case) -> Iterator[Problem]:
    """For every NIC it is known which GPU is nearest, except for those that a cloud hands out by themselves."""
    if case.cloud is not None:
        return
    unknown = sorted(
        {rail for group in case.groups for rail, nic in enumerate(group.shape.nics) if nic.nearest_gpu is None}
    )
    if unknown:
        yield Problem(
            in_fabric("rails"),
            f"the GPU nearest to rail{'s' if len(unknown) > 1 else ''} {_numbers(unknown)} is not known, so affinity "
            "of GPU and NIC is unknown",
        )


@check("DEV015")
def names_of_rails_have_an_effect(case: Case) -> Iterator[Problem]:
    """A rail is given names only where it has a network and a resource of its own."""
    for place, entry in _entries(case):
        for key, reason in _useless_names(case, entry):
            yield Problem(in_fabric("rails", place, key), f"it has no effect: {reason}")


@check("DEV016")
def nccl_uses_all_rails(case: Case) -> Iterator[Problem]:
    """A node has no more rails than NCCL uses."""
    if case.shape.rails > _MOST_RAILS:
        yield Problem(
            in_cluster("pools", 0, "shape"),
            f"{case.shape.name} has {case.shape.rails} RDMA NICs, and NCCL uses {_MOST_RAILS} of them at most",
            f"list the {_MOST_RAILS} that jobs should use",
        )


def _useless_names(case: Case, entry: RailOverrideSpec) -> Iterator[tuple[str, str]]:
    choices, manager = case.choices, manager_of(case)
    if choices.model == "host-network":
        reasons = dict.fromkeys(("network", "resource"), "pods on the host's network attach to no network")
    elif one_resource(case):
        reasons = {"resource": "all rails share one resource"}
        if choices.one_pool:
            reasons["network"] = "all rails share one network"
        elif entry.rail:
            reasons["network"] = "all rails share one network, which rail 0 names"
    elif manager.devices_advertised_by is not None:
        reasons = {"resource": f"{manager.devices_advertised_by} names its resources itself"}
    elif choices.model in manager.models_without_rdma:
        reasons = {"resource": f"{choices.model} by {manager.title} needs no resource"}
    else:
        reasons = {}
    for key, reason in reasons.items():
        if getattr(entry, key) is not None:
            yield key, reason


def _operator_hint(case: Case) -> str:
    """The other maker for machines that come without functions."""
    other = case.choices.virtual_functions in ("node-image", "daemon-set") and case.shape.vf_support == "host"
    return " (virtualFunctions: sriov-operator has the SR-IOV operator make them)" if other else ""


def _entries(case: Case) -> list[tuple[int, RailOverrideSpec]]:
    """The stack file's entries for rails that exist, with their places."""
    return [(place, entry) for place, entry in enumerate(case.spec.fabric.rails) if entry.rail < _nics(case)]


def _nics(case: Case) -> int:
    """The NICs that the stack file can describe: each once, however many planes it is split over."""
    return case.shape.rails // case.spec.fabric.planes.shown


def _vfs_place(case: Case) -> Location:
    """Where the number of virtual functions is stated."""
    own = case.shapes[0].provider == "inline" and case.spec.fabric.vfs_per_nic is None
    return ("cluster", "shapes", case.shape.name, "vfsPerNic") if own else ("fabric", "vfsPerNic")


def _numbers(rails: list[int]) -> str:
    if len(rails) > 2 and rails == list(range(rails[0], rails[-1] + 1)):
        return f"{rails[0]} to {rails[-1]}"
    return ", ".join(map(str, rails))


@check("DEV017")
def nics_serve_no_more_pods_than_nodes_run(case: Case) -> Iterator[Problem]:
    """A NIC is shared by no more pods than a node may run."""
    wanted = case.spec.fabric.pods_per_nic
    usual = case.known.address_limits.pods_per_node.value
    pods = min(getattr(pool, "max_pods", usual) for pool in case.spec.cluster.pools)
    if wanted > pods and case.choices.access == "shared":
        yield Problem(
            in_fabric("podsPerNic"),
            f"{wanted} pods a NIC, where a node runs {pods}"
            + (
                "" if hasattr(case.spec.cluster.pools[0], "max_pods") else " unless its kubelet is configured otherwise"
            ),
            f"write {pods} or fewer",
        )


@check_each("DEV018", node_groups)
def interfaces_are_named_by_their_link_type(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """No interface that the stack file names has the name that its port has with the other link type."""
    model = group.shape.nic_model
    for place, nic in _interface_places(case, group):
        if model is None or nic.interface is None or not _is_of_other_type(nic.interface, group.shape):
            continue
        right = _catalog_interface(case, group, place)
        yield Problem(
            dotted(place),
            f"{nic.interface} is how the interface is named with "
            f"{'InfiniBand' if model.link_type == 'ether' else 'Ethernet'} ports, and the fabric's link type is "
            f"{model.link_type}",
            (f"write {right}, or leave it out: the catalog knows the name" if right else _NAME_OF_THE_NODES)
            + "; or correct fabric.linkType",
        )


@check_each("DEV019", node_groups)
def interfaces_can_be_part_of_names(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """An interface after which a network is named has a name that Kubernetes' objects may have."""
    if manager_of(case).devices_advertised_by is None:
        return
    for place, nic in _interface_places(case, group):
        if nic.interface is not None and not _END_OF_A_NAME.fullmatch(nic.interface):
            yield Problem(
                dotted(place),
                f"the network of the rail is named after {nic.interface}, and names of objects have only lower-case "
                "letters, digits, '-' and '.'",
            )


def _interface_places(case: Case, group: NodeGroup) -> Iterator[tuple[Location, Nic]]:
    """The NICs of a group whose interface the stack file names, and where: of a rail, else of its own shape."""
    described = {entry.rail: place for place, entry in _entries(case) if entry.interface is not None}
    own = case.spec.cluster.shapes.get(group.shape.name)
    for rail, nic in enumerate(group.shape.nics):
        if rail in described:
            yield ("fabric", "rails", described[rail], "interface"), nic
        elif own is not None and own.nic_model is not None and group.shape.nic_model is not None:
            as_stated = own.nic_model.link_type == group.shape.nic_model.link_type
            key = "interface" if as_stated else "otherInterface"
            yield ("cluster", "shapes", group.shape.name, "nics", rail, key), nic


def _is_of_other_type(name: str, shape: Shape) -> bool:
    """Whether a port of the shape has the name with the other link type, by the catalog or by systemd's scheme."""
    link_type = shape.nic_model.link_type if shape.nic_model else "ether"
    if any(name == nic.other_interface for nic in shape.nics):
        return True
    return any(name.startswith(prefix) for kind, prefix in _PREFIXES.items() if kind != link_type)


def _catalog_interface(case: Case, group: NodeGroup, place: Location) -> str | None:
    """What the catalog calls the interface of a rail that the stack file describes, with the fabric's link type."""
    if place[0] != "fabric" or not isinstance(place[2], int):
        return None
    fabric = case.spec.fabric.model_copy(update={"rails": ()})
    shape = next(shape for shape in case.shapes if shape.name == group.shape.name)
    published = shape_on_nodes(shape, fabric)
    return published.nics[case.spec.fabric.rails[place[2]].rail].interface
