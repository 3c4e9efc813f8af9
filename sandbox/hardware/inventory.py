"""The network devices of a simulated node, as a real one would list them on its PCI bus.

Virtual functions get addresses by the rule that SR-IOV devices use: on a bus with P physical functions, VF i of PF f
has the routing id P + f + i*P, written as device.function (8 functions a device). So two PFs 0c:00.0 and 0c:00.1 with
one VF each have VFs 0c:00.2 and 0c:00.3.

Any shape can be simulated. Values that its vendor does not publish are made up, equal on every node, and recognizable:
rails without a published address are in PCI domain fffe (the bus is the rail's number), front-end NICs in domain ffff;
unpublished ids are `ffff`, which no real device has, and the driver `simulated`; rails without a published interface
are sim0, sim1, …; a node whose front-end NICs are unknown has one, eth0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import TypeAdapter

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.shape import (
    Branch,
    FrontEndNic,
    GpuLeaf,
    HostTree,
    Nic,
    NicLeaf,
    Shape,
    adapter_of,
    branches,
    parse_tree,
)
from gpu_fabric.k8s.base import KubernetesModel, compact_json

INVENTORY_ANNOTATION = "sandbox.gpu-fabric/nics"
"""On a simulated node: its devices as JSON. Real nodes have no such annotation."""

GPU_PLACES_ANNOTATION = "sandbox.gpu-fabric/gpu-places"
"""On a simulated node with GPUs of NVIDIA: their places on the PCI bus as JSON, in GPU order."""

RAIL_DOMAIN, FRONT_END_DOMAIN = "fffe", "ffff"
"""PCI domains of made-up addresses; PCI roots, whose names no vendor publishes, are in the first one."""

MADE_UP_ID, MADE_UP_DRIVER = "ffff", "simulated"
"""Stand for a PCI id or a driver that is not published."""

_FUNCTIONS_ON_A_BUS = 256
_MOST_VFS = 128
"""Virtual functions of one of NVIDIA's NICs at most, if its bus holds them."""


class SimulatedDevice(KubernetesModel):
    """One PCI network function; `root_device` is the PF's address, for a PF its own.

    `mtu` is in bytes, None where the shape states none. `total_vfs` is the maximum number of virtual functions of a
    physical one, `vf_device` their device id. `rdma_device`, `pci_root` and `numa_node` are None where unknown.
    """

    pci: str
    vendor: str
    device: str
    driver: str
    link_type: str
    is_rdma: bool
    interface: str
    root_device: str
    root_interface: str
    is_vf: bool = False
    vf_index: int | None = None
    default_route: bool = False
    mtu: int | None = None
    total_vfs: int = 0
    vf_device: str | None = None
    rdma_device: str | None = None
    pci_root: str | None = None
    numa_node: int | None = None


class SimulatedGpu(KubernetesModel):
    """A GPU; each field is None where it is not known."""

    pci: str | None = None
    pci_root: str | None = None
    numa_node: int | None = None


_GPUS = TypeAdapter(tuple[SimulatedGpu, ...])
_DEVICES = TypeAdapter(tuple[SimulatedDevice, ...])


def inventory(shape: Shape) -> tuple[SimulatedDevice, ...]:
    """All devices of one node of a shape: front-end NICs, RDMA NICs, then each NIC's virtual functions.

    The first front-end NIC carries the default route; front-end NICs have no virtual functions. Raises ValueError where
    a bus cannot hold the virtual functions.
    """
    front_end = tuple(
        _front_end(shape, position, nic) for position, nic in enumerate(shape.front_end_nics or (FrontEndNic(),))
    )
    rails = tuple(_rail(shape, rail, nic) for rail, nic in enumerate(shape.nics))
    functions = Counter(_bus(device.pci) for device in (*front_end, *rails))
    able = tuple(rail.model_copy(update={"total_vfs": _room(rail.pci, functions)}) for rail in rails)
    if shape.vfs_per_nic == 0:
        return (*front_end, *able)
    return with_virtual_functions((*front_end, *able), {rail.pci: shape.vfs_per_nic for rail in able})


def machine_inventory(shapes: Sequence[Shape]) -> tuple[SimulatedDevice, ...]:
    """All devices of one node with several fabrics: those of the first shape, and the RDMA NICs of each further one.

    A front-end NIC of the first shape that is an RDMA NIC of another is that. Raises ValueError as `inventory`.
    """
    first, *further = shapes
    rails = {nic.pci for shape in further for nic in shape.nics}
    others = first.front_end_nics and tuple(nic for nic in first.front_end_nics if nic.pci not in rails)
    devices = inventory(first.model_copy(update={"front_end_nics": others}))
    return (*devices, *(device for shape in further for device in inventory(shape) if device.root_device in rails))


def with_virtual_functions(
    devices: Sequence[SimulatedDevice], counts: Mapping[str, int]
) -> tuple[SimulatedDevice, ...]:
    """The devices when the named physical functions have so many virtual ones; those of others stay as they are.

    Raises ValueError where a bus cannot hold them.
    """
    physical = [device for device in devices if not device.is_vf]
    functions = Counter(_bus(device.pci) for device in physical)
    present = Counter(device.root_device for device in devices if device.is_vf)
    virtual = (
        _virtual(device, index, functions[_bus(device.pci)])
        for device in physical
        for index in range(counts.get(device.pci, present[device.pci]))
    )
    return (*physical, *virtual)


def virtual_function_counts(devices: Iterable[SimulatedDevice]) -> dict[str, int]:
    """How many virtual functions each physical one has that has any."""
    return dict(Counter(device.root_device for device in devices if device.is_vf))


def virtual_function_address(pf: str, index: int, functions_on_bus: int) -> str:
    """The PCI address of a PF's virtual function (rule in the module's text); the bus must hold it.

    Raises ValueError beyond the 256 functions of a bus.
    """
    bus, device_function = pf[:7], pf[8:]
    device, function = device_function.split(".")
    routing = functions_on_bus + int(device, 16) * 8 + int(function) + index * functions_on_bus
    if routing >= _FUNCTIONS_ON_A_BUS:
        raise ValueError(f"virtual function {index} of {pf} does not fit on its bus: allowed are 256 functions")
    return f"{bus}:{routing // 8:02x}.{routing % 8}"


def inventory_annotation(shape: Shape) -> dict[str, str]:
    """The annotations that carry the devices of a node of the catalog."""
    return machine_annotation(shape, inventory(shape), catalog().topologies.get(shape.name))


def machine_annotation(shape: Shape, devices: Iterable[SimulatedDevice], tree: HostTree | None) -> dict[str, str]:
    """The annotations for a node with these network devices and a shape's GPUs, and their places in a PCI tree.

    GPUs of other vendors than NVIDIA are left out: their DRA drivers are not played.
    """
    known, addresses = _places(tree), shape.gpus.pci or (None,) * shape.gpus.count
    near = {nic.nearest_gpu for nic in shape.nics}
    places = (
        known.get(GpuLeaf(gpu), _Place(_root_by(shape, gpu if gpu in near else None)))
        for gpu in range(shape.gpus.count)
    )
    gpus = [_written(SimulatedGpu(pci=pci, **place._asdict())) for pci, place in zip(addresses, places, strict=True)]
    nvidia = {GPU_PLACES_ANNOTATION: compact_json(gpus)} if shape.gpus.vendor == "nvidia" else {}
    return {**annotation_of(placed(devices, tree)), **nvidia}


def annotation_of(devices: Iterable[SimulatedDevice]) -> dict[str, str]:
    """The annotation for any list of devices, for example one with a NIC missing."""
    return {INVENTORY_ANNOTATION: compact_json([_written(device) for device in devices])}


def devices_of(annotations: Mapping[str, str] | None) -> tuple[SimulatedDevice, ...]:
    """The devices that a node's annotations name; none for a node without the annotation.

    Raises pydantic.ValidationError where the annotation is not what `inventory_annotation` writes.
    """
    text = (annotations or {}).get(INVENTORY_ANNOTATION)
    return _DEVICES.validate_json(text) if text else ()


class _Place(NamedTuple):
    """Where a device is; None where that is not known."""

    pci_root: str | None = None
    numa_node: int | None = None


def placed(devices: Iterable[SimulatedDevice], tree: HostTree | None) -> tuple[SimulatedDevice, ...]:
    """The devices with their places in a PCI tree; virtual functions are where their physical one is."""
    known = _places(tree)
    places = ((device, known.get(NicLeaf(_first_port(device.root_device)))) for device in devices)
    return tuple(device.model_copy(update=place._asdict()) if place else device for device, place in places)


def gpus_of(annotations: Mapping[str, str] | None) -> tuple[SimulatedGpu, ...]:
    """The GPUs that a node's annotations name. Raises pydantic.ValidationError as `devices_of`."""
    text = (annotations or {}).get(GPU_PLACES_ANNOTATION)
    return _GPUS.validate_json(text) if text else ()


def _places(tree: HostTree | None) -> dict[Branch, _Place]:
    """PCI root and NUMA node of each GPU and RDMA NIC of a tree.

    A tree begins below the root ports, so that a root has a made-up name after its uppermost bridge.
    """
    return {
        leaf: _Place(f"pci{RAIL_DOMAIN}:{above[0].address[5:7]}" if above else None, numa.node)
        for numa in (tree.numa if tree else ())
        for leaf, above in branches(parse_tree(numa.tree))
    }


def _root_by(shape: Shape, gpu: int | None) -> str | None:
    """A made-up name for the PCI root of a GPU and the NICs at its switch, where no tree says more."""
    from gpu_fabric.plan.claims import APART

    return None if gpu is None or shape.gpus.model in APART else f"pci{RAIL_DOMAIN}:{gpu:02x}"


def _first_port(address: str) -> str:
    """The address that stands for an adapter with all its ports."""
    return f"{adapter_of(address)}.0"


def _written(device: SimulatedDevice | SimulatedGpu) -> dict[str, object]:
    # a node is written often, and what is as usual need not be in it
    return device.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _bus(pci: str) -> str:
    return pci[:7]


def _front_end(shape: Shape, position: int, nic: FrontEndNic) -> SimulatedDevice:
    # The node network is Ethernet on every shape, whatever the fabric is.
    return _physical(
        shape,
        nic.pci or f"{FRONT_END_DOMAIN}:{position:02x}:00.0",
        nic.interface or f"eth{position}",
        link_type="ether",
        is_rdma=nic.rdma_device is not None,
        default_route=position == 0,
        rdma_device=nic.rdma_device,
    )


def _rail(shape: Shape, rail: int, nic: Nic) -> SimulatedDevice:
    link_type = shape.nic_model.link_type if shape.nic_model else "ether"
    pci = nic.pci or f"{RAIL_DOMAIN}:{rail:02x}:00.0"
    device = _physical(
        shape, pci, nic.interface or f"sim{rail}", link_type=link_type, mtu=shape.mtu, rdma_device=nic.rdma_device
    )
    return device.model_copy(update={"pci_root": _root_by(shape, nic.nearest_gpu), "numa_node": nic.numa_node})


def _physical(
    shape: Shape,
    pci: str,
    interface: str,
    *,
    link_type: str,
    is_rdma: bool = True,
    default_route: bool = False,
    mtu: int | None = None,
    rdma_device: str | None = None,
) -> SimulatedDevice:
    model = shape.nic_model
    return SimulatedDevice(
        pci=pci,
        vendor=(model and model.vendor_id) or MADE_UP_ID,
        device=(model and model.device_id) or MADE_UP_ID,
        driver=(model and model.driver) or MADE_UP_DRIVER,
        link_type=link_type,
        is_rdma=is_rdma,
        interface=interface,
        root_device=pci,
        root_interface=interface,
        default_route=default_route,
        mtu=mtu,
        rdma_device=rdma_device,
        vf_device=model and model.vf_device_id,
    )


def _room(pci: str, functions: Mapping[str, int]) -> int:
    """Virtual functions that fit on a bus next to its physical ones, for each of them the same number."""
    on_bus = functions[_bus(pci)]
    device, function = pci[8:].split(".")
    first = on_bus + int(device, 16) * 8 + int(function)
    return min(_MOST_VFS, max(0, (_FUNCTIONS_ON_A_BUS - 1 - first) // on_bus + 1))


def _virtual(physical: SimulatedDevice, index: int, functions_on_bus: int) -> SimulatedDevice:
    return physical.model_copy(
        update={
            "pci": virtual_function_address(physical.pci, index, functions_on_bus),
            "device": physical.vf_device or MADE_UP_ID,
            "interface": f"{physical.interface}v{index}",
            "is_vf": True,
            "vf_index": index,
            "total_vfs": 0,
            "vf_device": None,
            "rdma_device": None,
        }
    )
