"""Shapes: the hardware of a machine type, one typed record per row of `shapes/*.yaml`.

A fact that the vendor does not publish is absent (None, or an empty tuple), never guessed.

Published PCI trees of shapes are rows of `topologies.yaml`; a stack file may have further ones. In their notation, `XX`
is a bridge at bus XX, `>` precedes the devices below it, `( , )` contains siblings, `NXX` is the RDMA NIC at bus XX,
`Gk` is GPU k, `*` marks a bridge of the GPU board, and `;` separates root ports, as in `08>(0d>G0,0a>N0c);26>G1`.
A bus XX means the address 0000:XX:00.0; any other address is written in full: `0000:02:04.0>G0`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpu_fabric.base.grammar import InterfaceName, PciAddress, PciId, RdmaDevice, Spelled
from gpu_fabric.base.repeats import repeated
from gpu_fabric.model import FrozenModel

_ADDRESS = r"(?:[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[0-9a-f]{2})"
_TOKEN = re.compile(rf"G[0-9]{{1,3}}|N{_ADDRESS}|{_ADDRESS}\*?|[>(),;]")
_DEEPEST = 16
"""Limit of the levels of a tree: twice the limit of the topology linter."""


@dataclass(frozen=True)
class Bridge:
    """A PCI bridge, with the devices below it."""

    address: str
    gpu_board: bool
    children: tuple[Bridge | NicLeaf | GpuLeaf, ...]


@dataclass(frozen=True)
class NicLeaf:
    """An RDMA adapter, with all its ports."""

    address: str


@dataclass(frozen=True)
class GpuLeaf:
    """GPU by its number in the shape."""

    index: int


Branch = Bridge | NicLeaf | GpuLeaf


@lru_cache(maxsize=256)
def parse_tree(text: str) -> tuple[Branch, ...]:
    """The roots of a tree.

    Raises:
        ValueError: the text does not follow the notation.
    """
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise ValueError(f"{text!r} is not a valid PCI tree; write it like 08>(0d>G0,0a>N0c);26>(2b>G1,28>N2a)")
    position = 0

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take(expected: str | None = None) -> str:
        nonlocal position
        token = peek()
        if not token or (expected is not None and token != expected):
            read = "".join(tokens[:position])
            raise ValueError(f"{text!r} is not a valid PCI tree; expected {expected or 'a bus'} after {read!r}")
        position += 1
        return token

    def below(depth: int) -> tuple[Branch, ...]:
        if peek() != "(":
            return (element(depth),)
        take("(")
        elements = [element(depth)]
        while peek() == ",":
            take(",")
            elements.append(element(depth))
        take(")")
        return tuple(elements)

    def element(depth: int) -> Branch:
        token = take()
        if token.startswith("N"):
            return NicLeaf(_full(token[1:]))
        if token.startswith("G"):
            return GpuLeaf(int(token[1:]))
        take(">")
        if depth == _DEEPEST:
            raise ValueError(f"{text!r} is not a valid PCI tree; it has more than {_DEEPEST} levels")
        return Bridge(_full(token.rstrip("*")), token.endswith("*"), below(depth + 1))

    roots = [element(1)]
    while peek() == ";":
        take(";")
        roots.append(element(1))
    if peek():
        raise ValueError(f"{text!r} is not a valid PCI tree; {peek()!r} follows its end")
    return tuple(roots)


def branches(roots: Sequence[Branch], above: tuple[Bridge, ...] = ()) -> Iterator[tuple[Branch, tuple[Bridge, ...]]]:
    """Every element of a tree in order, each with the bridges above it, from the root."""
    for root in roots:
        yield root, above
        if isinstance(root, Bridge):
            yield from branches(root.children, (*above, root))


def adapter_of(address: str) -> str:
    """The part of a PCI address that all functions of an adapter have in common: domain, bus and device."""
    return address.rpartition(".")[0]


def _full(written: str) -> str:
    return written if ":" in written else f"0000:{written}:00.0"


ModelName = Annotated[str, Spelled(r"[!-~]([ -~]*[!-~])?", "model", "letters, digits, blanks and signs, such as H100")]
DriverName = Annotated[
    str, Spelled(r"[A-Za-z0-9_-]+", "driver", "the kernel module's name, such as mlx5_core", repeated=True)
]
PciClass = Annotated[str, Spelled(r"0x[0-9a-f]{6}", "PCI class", "0x and six lower-case hex digits in quotes")]
PrefixedId = Annotated[str, Spelled(r"0x[0-9a-f]{4}", "PCI id", "0x and four lower-case hex digits in quotes")]
CpuNumber = Annotated[int, Field(ge=0, le=8191)]


def _pci_tree(value: str) -> str:
    parse_tree(value)
    return value


class PciIdentity(FrozenModel):
    """Class and ids of one kind of PCI function, in NCCL's form; NCCL reads missing ids from the system."""

    pci_class: PciClass = Field(description="PCI class, such as 0x060400 of a bridge, in quotes")
    vendor: PrefixedId | None = Field(default=None, description="PCI vendor id, such as 0x15b3, in quotes")
    device: PrefixedId | None = Field(default=None, description="PCI device id, in quotes")
    subsystem_vendor: PrefixedId | None = Field(default=None, description="PCI subsystem vendor id, in quotes")
    subsystem_device: PrefixedId | None = Field(default=None, description="PCI subsystem device id, in quotes")


_MADE_UP = PciIdentity(
    pci_class="0x060400", vendor="0x0000", device="0x0000", subsystem_vendor="0x0000", subsystem_device="0x0000"
)


class Cpu(FrozenModel):
    """Identity of the host's CPUs; NCCL reads missing fields from the system."""

    arch: Literal["x86_64", "arm64"] | None = Field(default=None, description="architecture of the CPUs")
    vendor: Literal["GenuineIntel", "AuthenticAMD"] | None = Field(default=None, description="the vendor of x86 CPUs")
    family_id: int | None = Field(default=None, ge=0, le=999, description="`cpu family` of /proc/cpuinfo, decimal")
    model_id: int | None = Field(default=None, ge=0, le=999, description="`model` of /proc/cpuinfo, decimal")


class NumaNode(FrozenModel):
    """One NUMA node: its CPU ranges (inclusive) and the PCI tree below it, in the order of the file.

    `tree` is in the notation of `gpu_fabric.catalog.shape`.
    """

    node: int = Field(ge=0, le=1023, description="number of the NUMA node")
    cpus: tuple[tuple[CpuNumber, CpuNumber], ...] = Field(
        min_length=1, description="its CPUs: pairs of the first and last of a range, such as [[0, 55], [112, 167]]"
    )
    tree: Annotated[str, AfterValidator(_pci_tree)] = Field(
        description="PCI devices below it, such as 08>(0d>G0,0a>N0c): bridges by bus, GPUs by number, NICs by bus"
    )


class HostTree(FrozenModel):
    """NUMA nodes and PCI tree of a host: the content of the lean form of a topology file.

    `bridge_by_depth` is the identity of bridges by depth; the last one applies to all deeper bridges. `cpu_mask_bits`
    is the width of the host kernel's CPU mask.
    """

    cpu: Cpu = Cpu()
    cpu_mask_bits: int = Field(ge=1, le=8192, description="CPUs that the kernel's masks have room for")
    link_speed: str = Field(
        min_length=1, description="speed of the PCI links, as max_link_speed in sysfs: 32.0 GT/s PCIe"
    )
    root_link_speed: str | None = Field(
        default=None, min_length=1, description="that of the uppermost bridges, where it differs"
    )
    link_width: Literal[1, 2, 4, 8, 16] = Field(default=16, description="lanes of the PCI links")
    bridge_by_depth: tuple[PciIdentity, ...] = Field(
        default=(_MADE_UP,),
        min_length=1,
        description="identity of the bridges by depth, the last one repeating; by default made-up bridges, which need "
        "addresses in a PCI domain of their own, such as ffff:01:00.0",
    )
    gpu_board_bridge: PciIdentity | None = Field(
        default=None, description="identity of the bridges that the tree marks with `*`"
    )
    nic: PciIdentity = Field(default=PciIdentity(pci_class="0x020000"), description="identity of the RDMA NICs")
    gpu: PciIdentity = Field(default=PciIdentity(pci_class="0x030200"), description="identity of the GPUs")
    numa: tuple[NumaNode, ...] = Field(min_length=1, description="the NUMA nodes that have GPUs or RDMA NICs")


class FullForm(FrozenModel):
    """Further content of the full form of a topology file; `net_speed` is in Mb/s.

    It is published for few shapes and not valid for others, because machines must number their devices alike.
    `nic_order` lists NIC buses in the order of their network device numbers. `nvlinks` has `bus:links` pairs per GPU;
    one entry applies to all GPUs.
    """

    gpu_sm: int
    net_speed: int
    first_vf_device: int
    nic_order: tuple[str, ...]
    nvlink_class: str
    nvlinks: tuple[str, ...] = Field(min_length=1)


class Topology(HostTree):
    """The tree of a shape; `full` is None if only the lean form can be written."""

    shape: str
    full: FullForm | None = None


CLOUD_SHAPES = {"doks": "doks", "oke": "oci"}
"""The provider of the machine types in each provider's clusters; an existing cluster may have any."""

ShapeProvider = Literal["oci", "doks", "cloud", "server", "inline"]
Vendor = Literal["nvidia", "amd"]
LinkType = Literal["ether", "infiniband"]


class Gpus(FrozenModel):
    """The GPUs of one node. `pci` has one address per GPU, in GPU order; empty if they are not published."""

    vendor: Vendor = Field(description="the vendor of the GPUs")
    model: ModelName | None = Field(default=None, description="GPU model, such as H100")
    count: int = Field(ge=1, description="GPUs per node")
    memory_gb: int | None = Field(default=None, ge=1, description="memory of one GPU in GB")
    pci: tuple[PciAddress, ...] = Field(default=(), description="PCI address of each GPU, in GPU order")

    @property
    def resource(self) -> str:
        """The extended resource that the vendor's device plug-in advertises."""
        return f"{self.vendor}.com/gpu"


class NicModel(FrozenModel):
    """Common facts of all RDMA NICs of a shape; ids are the PCI ids by which device plug-ins select NICs."""

    model: ModelName | None = Field(default=None, description="NIC model, such as ConnectX-7")
    vendor_id: PciId | None = Field(default=None, description="PCI vendor id, four hex digits")
    device_id: PciId | None = Field(default=None, description="PCI device id of a physical function")
    vf_device_id: PciId | None = Field(default=None, description="PCI device id of a virtual function")
    driver: DriverName | None = Field(default=None, description="kernel driver, such as mlx5_core")
    link_type: LinkType = Field(description="`ether` (RoCE) or `infiniband`")


class Nic(FrozenModel):
    """One RDMA physical function: the k-th of a shape is rail k on every node of that shape."""

    pci: PciAddress | None = Field(default=None, description="PCI address")
    rdma_device: RdmaDevice | None = Field(default=None, description="RDMA device, such as mlx5_0")
    interface: InterfaceName | None = Field(default=None, description="network interface on the host")
    other_interface: InterfaceName | None = Field(
        default=None, description="network interface on the host where the ports run the other link type"
    )
    nearest_gpu: int | None = Field(default=None, ge=0, description="number of the GPU it shares a PCI switch with")
    numa_node: int | None = Field(
        default=None, ge=0, description="its NUMA node, where `topologies.yaml` has no tree of the machine"
    )


class FrontEndNic(FrozenModel):
    """A NIC of the cloud network, which is never a rail and must never be given to a pod."""

    pci: PciAddress | None = Field(default=None, description="PCI address")
    rdma_device: RdmaDevice | None = Field(default=None, description="RDMA device, such as mlx5_2")
    interface: InterfaceName | None = Field(default=None, description="network interface on the host")


# Gb/s of one NIC. The slowest RDMA NIC in Mb/s instead, 10,000, is not below it.
LINE_RATE_LIMIT = 10_000


class Hardware(FrozenModel):
    """The hardware of a machine.

    `mtu` is the MTU of the RDMA interfaces on the host in bytes; `nic_speed_gbps` is the line rate of one RDMA NIC in
    Gb/s; `vfs_per_nic` is the number of virtual functions per RDMA NIC when a node joins.
    """

    gpus: Gpus
    nic_model: NicModel | None = Field(default=None, description="the RDMA NICs' common facts")
    vfs_per_nic: int = Field(default=0, ge=0, le=128, description="virtual functions per RDMA NIC on a fresh node")
    mtu: int | None = Field(default=None, ge=1280, le=9216, description="bytes; MTU of the RDMA interfaces on the host")
    nic_speed_gbps: int | None = Field(
        default=None, ge=1, lt=LINE_RATE_LIMIT, description="line rate of one RDMA NIC in Gb/s"
    )
    nics: tuple[Nic, ...] = Field(default=(), description="the RDMA NICs; the k-th is rail k")
    front_end_nics: tuple[FrontEndNic, ...] | None = Field(
        default=None, description="NICs of the node network; left out where unknown"
    )
    topology: HostTree | None = Field(
        default=None, description="NUMA nodes and PCI tree of the host, from which the NCCL topology file is written"
    )

    @model_validator(mode="after")
    def _rows_agree(self) -> Self:
        every: list[Nic | FrontEndNic] = [*self.nics, *(self.front_end_nics or ())]
        for field in ("pci", "rdma_device", "interface", "other_interface"):
            values = [value for nic in every if (value := getattr(nic, field, None)) is not None]
            if found := repeated(values):
                raise ValueError(f"{field} given to two NICs: {', '.join(found)}")
            on_rails = [getattr(nic, field) for nic in self.nics]
            if any(on_rails) and not all(on_rails):
                raise ValueError(f"{field} is given for some RDMA NICs only; give it for all or for none")
        if clash := sorted({nic.pci for nic in every if nic.pci} & set(self.gpus.pci)):
            raise ValueError(f"PCI address of a GPU and of a NIC: {', '.join(clash)}")
        if self.gpus.pci and len(set(self.gpus.pci)) != self.gpus.count:
            raise ValueError(f"{len(set(self.gpus.pci))} different PCI addresses for {self.gpus.count} GPUs")
        for rail, nic in enumerate(self.nics):
            if nic.nearest_gpu is not None and nic.nearest_gpu >= self.gpus.count:
                raise ValueError(f"rail {rail} names GPU {nic.nearest_gpu} of {self.gpus.count}, counted from 0")
        if self.nics and self.nic_model is None:
            raise ValueError("RDMA NICs are listed, but nicModel is missing")
        if self.vfs_per_nic and not self.nics:
            raise ValueError("virtual functions without RDMA NICs")
        return self

    @property
    def rails(self) -> int:
        """RDMA NICs per node."""
        return len(self.nics)

    @property
    def hca_list(self) -> str | None:
        """`NCCL_IB_HCA` for a pod that sees the physical functions: exact names in rail order after one `=`.

        None if the names of the RDMA devices are not published. Without the `=`, NCCL matches prefixes, and mlx5_1
        would also match mlx5_10 to mlx5_19 (source: NCCL manual, NCCL_IB_HCA).
        """
        names = [nic.rdma_device for nic in self.nics if nic.rdma_device is not None]
        return "=" + ",".join(names) if names else None

    @property
    def gpu_rails(self) -> tuple[tuple[int, ...], ...] | None:
        """For each GPU the rails whose NICs share a PCI switch with it; None if that is not published."""
        nearest = [nic.nearest_gpu for nic in self.nics]
        if not nearest or None in nearest:
            return None
        return tuple(tuple(rail for rail, near in enumerate(nearest) if near == gpu) for gpu in range(self.gpus.count))

    @property
    def device_lists(self) -> dict[str, str | None]:
        """Lists of the RDMA devices in the forms of libraries, by the names that rows have for them; None if unknown.

        `ports` has the one port of each device, which every NIC here has; `gpuToNic` the first NIC of each GPU.
        """
        names = [nic.rdma_device for nic in self.nics if nic.rdma_device is not None]
        rails = self.gpu_rails if len(names) == self.rails else None
        pairs = [f"{gpu}:{names[own[0]]}:1" for gpu, own in enumerate(rails or ()) if own]
        return {
            "hcaList": self.hca_list,
            "ports": ",".join(f"{name}:1" for name in names) or None,
            "devices": ",".join(names) or None,
            "gpuToNic": ",".join(pairs) if len(pairs) == self.gpus.count else None,
        }


class DoksSize(FrozenModel):
    """DigitalOcean's facts about a GPU size. `regions` are the regions seen; empty means not published."""

    offer: Literal["on-demand", "contracted", "spot"]
    multi_node: bool
    liquid_cooled: bool = False
    fabric: Literal["rail-only", "rail-optimized"] | None = None
    regions: tuple[str, ...] = ()
    vcpus: int | None = Field(default=None, ge=1)
    memory_gib: int | None = Field(default=None, ge=1)


def _is_missing(value: object) -> bool:
    return value is None


PlaneMode = Literal["none", "swplb", "hwplb"]
PlaneCount = Literal[1, 2, 4]


class PlanesOfShape(FrozenModel):
    """The numbers of planes over which the NICs of a shape are split, by mode."""

    swplb: tuple[PlaneCount, ...] = ()
    hwplb: tuple[PlaneCount, ...] = ()
    source: str = Field(min_length=1)


class Shape(Hardware):
    """A machine type of the catalog.

    `vf_support` is the vendor's support of virtual functions: `preview` (shipped, off by default), `experimental` (only
    in a branch), `none`, or `host` (the machine's administrator creates them). `known` is False for a size that fits
    the provider's grammar but does not have a row. `notes` are corrected errors of the sources, `advice` is for authors
    of jobs. `cloud` is the profile of which it is a machine type (`clouds/`), `type_label` the label in which that
    cloud's nodes have the name, and `bar_unknown` why no bar follows from the line rate of its NICs. `planes` is None
    where a NIC has one plane.
    """

    name: str
    provider: ShapeProvider
    vf_support: Literal["preview", "experimental", "none", "host"] = "none"
    doks: DoksSize | None = None
    cloud: str | None = Field(default=None, exclude_if=_is_missing)
    type_label: str | None = Field(default=None, exclude_if=_is_missing)
    bar_unknown: str | None = Field(default=None, exclude_if=_is_missing)
    planes: PlanesOfShape | None = Field(default=None, exclude_if=_is_missing)
    known: bool = True
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _provider_fits(self) -> Self:
        if (self.provider == "doks") != (self.doks is not None):
            raise ValueError(f"{self.name}: the section `doks` belongs to provider doks, and to no other")
        if self.vfs_per_nic and self.vf_support == "none":
            raise ValueError(f"{self.name}: virtual functions are counted, but vfSupport is none")
        return self


class NvlinkDomain(FrozenModel):
    """The GPUs that NVLink connects across nodes; `preview` says what is not known of machines that no source has."""

    gpus: int = Field(ge=2)
    preview: str | None = None
    source: str = Field(min_length=1)

    def nodes(self, shape: Shape) -> int:
        """The most nodes of a domain."""
        return self.gpus // shape.gpus.count


Provider = Literal["oci", "doks", "cloud", "server", "inline"]


class Audience(FrozenModel):
    """The shapes to which a row applies; an empty list does not restrict them.

    `vendors` and `models` are those of the GPUs. `drivers` are kernel drivers of the RDMA NICs; they exclude a shape
    whose driver is not known, since its NICs may be from any vendor.
    """

    shapes: tuple[str, ...] = ()
    providers: tuple[Provider, ...] = ()
    vendors: tuple[Vendor, ...] = ()
    models: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()

    def includes(self, shape: Shape) -> bool:
        """Whether the row applies to this shape."""
        driver = shape.nic_model.driver if shape.nic_model is not None else None
        return (
            (not self.shapes or shape.name in self.shapes)
            and (not self.providers or shape.provider in self.providers)
            and (not self.vendors or shape.gpus.vendor in self.vendors)
            and (not self.models or shape.gpus.model in self.models)
            and (not self.drivers or driver in self.drivers)
        )
