"""A stack with its facts, choices and addresses: what rules check, and what the plan is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_fabric.base.registries import pulled
from gpu_fabric.catalog import Catalog, Nic, Shape
from gpu_fabric.catalog.cloud import CloudProfile
from gpu_fabric.catalog.distribution import USUAL_PLUGINS
from gpu_fabric.catalog.release import ReleaseLine, StandaloneName
from gpu_fabric.k8s.core import LocalReference
from gpu_fabric.k8s.scheduling import vendor_label
from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, Refusal, plan_addresses
from gpu_fabric.plan.choices import Choices, choices_of
from gpu_fabric.spec.cluster import PoolSpec, most_nodes
from gpu_fabric.spec.existing import CniFoldersSpec, ExistingClusterSpec
from gpu_fabric.spec.fabric import FabricSpec, PlanesSpec
from gpu_fabric.spec.further_fabric import FurtherFabricSpec, Purpose
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.stack import StackSpec

PREFIX_LABEL = "gpu-fabric/prefix"
"""The label of pods on the nodes with the prefix of their stack."""

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"

PLANE_INTERFACE, PLANE_RDMA_DEVICE = "eth", "roce"
"""How the host's names of a plane's interface and RDMA device begin (k8s-launch-kit, l8k-config.yaml).

The longer names of NVIDIA's quick start, such as net_rail0_plane0, have 16 characters, and Linux takes 15.
"""

MTU_OF_RDMA_4096 = 4200
"""MTU in bytes with room for an RDMA packet of 4096 and its headers, at which both clouds run their fabrics."""


@dataclass(frozen=True)
class NodeGroup:
    """GPU nodes that are alike: the pools of one shape.

    `name` is the first pool's. `shape` includes what the stack file states about single rails. `labels` are those of
    all nodes of the group, with the machine type where the cloud sets that label.
    """

    name: str
    shape: Shape
    labels: dict[str, str]

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select the group's nodes: their own, else the one of nodes with NICs of the shape's vendor.

        Empty where the nodes have no label in common and the NICs' vendor is unknown.
        """
        return self.labels or self.nic_labels

    @property
    def nic_labels(self) -> dict[str, str]:
        """The label by which Node Feature Discovery marks the RDMA NICs' vendor; none where it is unknown."""
        vendor = self.shape.nic_model.vendor_id if self.shape.nic_model else None
        return {vendor_label(vendor): "true"} if vendor else {}


# Compared by identity: what follows from a case is kept by it.
@dataclass(frozen=True, eq=False)
class Case:
    """A stack before its plan.

    `shapes` holds each pool's shape, in pool order; `groups` the node groups, of which most stacks have one.
    `addresses` is None where the layout needs a supernet and has none, or where the shape has no RDMA NICs.

    A stack of several fabrics has a case for each, with the nodes of that fabric alone. `fabric` is then the name of a
    further fabric, and empty for that of the section `fabric`. `storage` has the storage fabrics on the nodes of a
    compute fabric, and `compute` the compute fabrics on the nodes of a storage fabric; `rails_before` counts the rails
    of fabrics on the same nodes that come before this one. `all_fabrics` has the cases of all of them, this one's
    among them, for what one chart configures on all nodes; it is empty where the stack has one fabric.
    """

    spec: StackSpec
    known: Catalog
    shapes: tuple[Shape, ...]
    groups: tuple[NodeGroup, ...]
    line: ReleaseLine
    choices: Choices
    demand: AddressDemand
    addresses: AddressPlan | Refusal | None
    fabric: str = ""
    purpose: Purpose = "compute"
    storage: tuple[Case, ...] = ()
    compute: tuple[Case, ...] = ()
    rails_before: int = 0
    all_fabrics: tuple[Case, ...] = ()

    def own_name(self, name: str) -> str:
        """A name that begins with the fabric's, for what each fabric of a stack has: `a100-rail-00`."""
        return self.named(f"{self.fabric}-{name}" if self.fabric else name)

    def own_copy(self, name: str) -> str:
        """A name that ends with the fabric's, for what runs once for each fabric: `fabric-check-a100`."""
        return self.named(f"{name}-{self.fabric}" if self.fabric else name)

    @property
    def fabrics(self) -> tuple[Case, ...]:
        """The cases of all fabrics of the stack, in the order of the stack file."""
        return self.all_fabrics or (self,)

    @property
    def nodes(self) -> int:
        """GPU nodes of the stack."""
        return sum(pool.nodes for pool in self.spec.cluster.pools)

    def named(self, name: str) -> str:
        """A name of something that every stack has, with the prefix that tells the stacks of a cluster apart."""
        return prefixed(self.spec, name)

    @property
    def own_labels(self) -> dict[str, str]:
        """Labels that tell pods of DaemonSets apart from those of another stack; none without a prefix."""
        prefix = self.spec.fabric.prefix
        return {PREFIX_LABEL: prefix} if prefix else {}

    def pulled(self, image: str) -> str:
        """An image, or a place of images, as nodes pull it: from a mirror where the stack file names one."""
        return pulled(self.spec.software.registries, image)

    def standalone_image(self, part: StandaloneName, own: str | None) -> str:
        """The image of a part that no chart installs, as nodes pull it: the stack file's own, else the catalog's.

        The catalog's has its digest, if that is known.
        """
        image = self.line.standalone[part].image
        assert image is not None, "the catalog's row has one"
        return self.pulled(own or self.known.pinned(image.reference))

    @property
    def pull_secrets(self) -> tuple[LocalReference, ...] | None:
        """The Secrets by which nodes pull images, as a pod names them; None without any."""
        return tuple(LocalReference(name=entry.name) for entry in self.spec.software.image_pull_secrets) or None

    @property
    def cloud(self) -> CloudProfile | None:
        """The profile of the cloud that runs the cluster; None without one."""
        cluster = self.spec.cluster
        stated = cluster.profile if isinstance(cluster, ExistingClusterSpec) else None
        return None if stated is None else self.known.clouds.get(stated)

    @property
    def cni_folders(self) -> CniFoldersSpec | None:
        """CNI's folders on the nodes, if the stack file states them."""
        return self.spec.cluster.cni_folders if isinstance(self.spec.cluster, ExistingClusterSpec) else None

    @property
    def cni_plugins_folder(self) -> str:
        """The folder of CNI plug-ins on the nodes."""
        return USUAL_PLUGINS if self.cni_folders is None else self.cni_folders.plugins

    @property
    def mtu(self) -> int | None:
        """MTU of the pods' interfaces in bytes; None where neither stack nor shape states one."""
        return self.spec.fabric.mtu or self.shape.mtu

    @property
    def shape(self) -> Shape:
        """The shape of the first node group; all groups have the same rails and GPUs."""
        return self.groups[0].shape

    @property
    def planes(self) -> PlanesSpec | None:
        """The planes over which each NIC is split; None where a NIC has one."""
        planes = self.spec.fabric.planes
        return None if planes.mode == "none" else planes

    @property
    def node_labels(self) -> dict[str, str]:
        """Labels of the GPU nodes: those that all node groups have in common."""
        first, *others = (group.labels for group in self.groups)
        return _common(first, others)

    @property
    def node_selector(self) -> dict[str, str]:
        """Labels that select the GPU nodes: those in common, else the one for NICs of their vendor."""
        first, *others = (group.nic_labels for group in self.groups)
        return self.node_labels or _common(first, others)

    @property
    def pods_per_nic(self) -> int:
        """Pods that one NIC can serve at a time."""
        return self.demand.addresses_per_nic


def prefixed(spec: StackSpec, name: str) -> str:
    """A name with the stack's prefix; without one, the name itself."""
    return f"{spec.fabric.prefix}-{name}" if spec.fabric.prefix else name


def case_of(
    spec: StackSpec,
    fabric: str = "",
    others: Mapping[str, IPNetwork] | None = None,
    compute: tuple[Case, ...] = (),
    rails_before: int = 0,
) -> Case:
    """The case of a spec with one fabric, up to its addresses; `others` are the ranges of the stack's other fabrics."""
    known = spec.catalog
    physical = tuple(with_own_nics(_found(known, pool.shape), spec.fabric) for pool in spec.cluster.pools)
    groups = _groups(spec, physical)
    shapes = tuple(with_planes(shape, spec.fabric.planes) for shape in physical)
    shape = groups[0].shape
    line = known.releases[spec.software.release_line]
    choices = choices_of(spec, shape, known)
    demand = _demand(spec, shape, line, choices, fabric)
    addressing = spec.fabric.addressing
    missing = demand.layout != "none" and addressing.supernet is None
    return Case(
        spec=spec,
        known=known,
        shapes=shapes,
        groups=groups,
        line=line,
        choices=choices,
        demand=demand,
        addresses=None
        if missing or not demand.rails
        else plan_addresses(addressing, spec.cluster.ranges, demand, spec.cluster.ranges_within, others or {}),
        fabric=fabric,
        purpose=spec.fabric.purpose if isinstance(spec.fabric, FurtherFabricSpec) else "compute",
        compute=compute,
        rails_before=rails_before,
    )


def _found(known: Catalog, name: str) -> Shape:
    shape = known.find(name)
    if shape is None:
        raise LookupError(f"the spec was validated against another catalog: it has no shape {name!r}")
    return shape


def with_own_nics(shape: Shape, fabric: FabricSpec) -> Shape:
    """The shape with a fabric's own NICs in the place of its RDMA NICs; their names are those on the nodes."""
    if not isinstance(fabric, FurtherFabricSpec) or not fabric.nics:
        return shape
    model = fabric.nic_model or shape.nic_model
    if model is not None and fabric.link_type is not None:
        model = model.model_copy(update={"link_type": fabric.link_type})
    speed = fabric.nic_speed_gbps or (shape.nic_speed_gbps if fabric.nic_model is None else None)
    # A NIC of the node network that is listed here is one no more.
    listed = {nic.pci for nic in fabric.nics}
    others = shape.front_end_nics and tuple(nic for nic in shape.front_end_nics if nic.pci not in listed)
    changes = {"nics": fabric.nics, "nic_model": model, "nic_speed_gbps": speed, "front_end_nics": others}
    return shape.model_copy(update=changes)


def _groups(spec: StackSpec, shapes: Sequence[Shape]) -> tuple[NodeGroup, ...]:
    by_shape: dict[str, list[PoolSpec]] = {}
    known = {}
    for pool, shape in zip(spec.cluster.pools, shapes, strict=True):
        by_shape.setdefault(shape.name, []).append(pool)
        known[shape.name] = shape_on_nodes(shape, spec.fabric)
    return tuple(
        NodeGroup(name=pools[0].name, shape=known[name], labels=_labels(known[name], pools))
        for name, pools in by_shape.items()
    )


def _labels(shape: Shape, pools: Sequence[PoolSpec]) -> dict[str, str]:
    first, *others = (pool.labels for pool in pools)
    return {**type_labels(shape), **_common(first, others)}


def type_labels(shape: Shape) -> dict[str, str]:
    """The label in which nodes have their machine type, where their cloud sets one; empty elsewhere."""
    key = INSTANCE_TYPE_LABEL if shape.provider in ("oci", "doks") else shape.type_label
    return {} if key is None else {key: shape.name}


def _common(first: dict[str, str], others: Sequence[dict[str, str]]) -> dict[str, str]:
    return {key: text for key, text in sorted(first.items()) if all(labels.get(key) == text for labels in others)}


def shape_on_nodes(shape: Shape, fabric: FabricSpec) -> Shape:
    """The shape with what the stack file states about its NICs; entries for rails it lacks are left to the rules."""
    model, link_type = shape.nic_model, fabric.link_type
    nics = list(shape.nics)
    if model is not None and link_type is not None and link_type != model.link_type:
        # The system names an interface by its link type, so the other type's names are not on these nodes.
        model = model.model_copy(update={"link_type": link_type})
        swapped = ({"interface": nic.other_interface, "other_interface": nic.interface} for nic in nics)
        nics = [nic.model_copy(update=names) for nic, names in zip(nics, swapped, strict=True)]
    for entry in fabric.rails:
        if entry.rail < len(nics):
            facts = entry.model_dump(include={"pci", "interface", "rdma_device", "nearest_gpu"}, exclude_none=True)
            nics[entry.rail] = Nic(**{**dict(nics[entry.rail]), **facts})
    vfs = fabric.vfs_per_nic
    changed = {"nic_model": model, "nics": tuple(nics), "vfs_per_nic": shape.vfs_per_nic if vfs is None else vfs}
    return with_planes(shape.model_copy(update=changed), fabric.planes)


def with_planes(shape: Shape, planes: PlanesSpec) -> Shape:
    """The shape whose NICs are split over planes: with swplb each plane is a NIC of its own, with its part of the rate.

    With hwplb the NIC is its first function. The names are those that the NIC Configuration Operator gives.
    """
    if planes.mode == "none":
        return shape
    shown, speed = planes.shown, shape.nic_speed_gbps
    nics = tuple(
        nic.model_copy(
            update={
                "pci": nic.pci and function_of(nic.pci, plane),
                "interface": plane_interface(rail, plane),
                "other_interface": None,
                "rdma_device": f"{PLANE_RDMA_DEVICE}_p{plane}_r{rail}" if shown > 1 else f"{PLANE_RDMA_DEVICE}_r{rail}",
            }
        )
        for rail, nic in enumerate(shape.nics)
        for plane in range(shown)
    )
    # Each physical function has the one virtual function that Spectrum-X's configuration of the NICs allows.
    changed = {"nics": nics, "nic_speed_gbps": speed and speed // shown, "vfs_per_nic": 1}
    return shape.model_copy(update=changed)


def function_of(address: str, number: int) -> str:
    """The PCI address of a function of an adapter, counted from the function of the address.

    Source: NIC Configuration Operator, pkg/udev/manager.go of the branch network-operator-26.7.x.
    """
    adapter, _, first = address.rpartition(".")
    return f"{adapter}.{int(first, 16) + number:x}"


def plane_interface(rail: int, plane: int) -> str:
    """The interface of a rail's plane on the host."""
    return f"{PLANE_INTERFACE}_p{plane}_r{rail}"


def plane_names(planes: PlanesSpec, rails: int) -> tuple[str, ...]:
    """The names of networks, resources and pools of the rails of a plan, by NVIDIA's scheme; empty without planes."""
    if planes.mode == "none":
        return ()
    if planes.mode == "hwplb":
        return tuple(f"rail{rail}" for rail in range(rails))
    return tuple("rail{}p{}".format(*divmod(rail, planes.count)) for rail in range(rails))


def _demand(spec: StackSpec, shape: Shape, line: ReleaseLine, choices: Choices, fabric: str) -> AddressDemand:
    names = _node_names(spec)
    pods = {"virtual": max(1, shape.vfs_per_nic), "shared": spec.fabric.pods_per_nic}
    return AddressDemand(
        layout=choices.layout,
        ipam=choices.ipam or "host",
        rails=shape.rails,
        addresses_per_nic=pods.get(choices.access or "physical", 1),
        # A pool that scales counts with its most nodes, so that the proof holds whatever size it has.
        nodes=len(names) or sum(map(most_nodes, spec.cluster.pools)),
        node_names=names,
        node_numbers=_node_numbers(spec),
        names=dict(enumerate(plane_names(spec.fabric.planes, shape.rails)))
        or {entry.rail: entry.network for entry in spec.fabric.rails if entry.network},
        prefix=prefixed(spec, f"{fabric}-" if fabric else ""),
        smallest_block=line.nv_ipam_smallest_block,
        passes_over=line.nv_ipam_passes_over,
    )


def _node_names(spec: StackSpec) -> tuple[str, ...]:
    """Names of all nodes in pool order; empty unless every pool lists its own."""
    pools = spec.cluster.pools
    return tuple(name for pool in pools for name in pool.named_nodes) if all(p.node_names for p in pools) else ()


def has_lasting_nodes(case: Case) -> bool:
    """Whether there is a node at all times: a pool that scales may have none."""
    return any(getattr(pool, "auto_scale", None) is None and pool.nodes for pool in case.spec.cluster.pools)


def pool_shares(pools: Sequence[PoolSpec]) -> Iterator[tuple[PoolSpec, int, tuple[int, ...]]]:
    """Every pool with its first number, and the numbers of its nodes.

    The first is the pool's `firstShare`, or follows the pools before it. The number of a removed node stays unused.
    """
    free = 0
    for pool in pools:
        first = free if pool.first_share is None else pool.first_share
        places = len(pool.node_names) or most_nodes(pool)
        yield (
            pool,
            first,
            tuple(first + place for place in range(places) if not pool.node_names or pool.node_names[place]),
        )
        free = max(free, first + places)


def _node_numbers(spec: StackSpec) -> tuple[int, ...]:
    """The number of every node in pool order; empty where they are simply 0, 1, 2, …."""
    pools = spec.cluster.pools
    if all(pool.first_share is None and "" not in pool.node_names for pool in pools):
        return ()
    return tuple(number for _, _, numbers in pool_shares(pools) for number in numbers)
