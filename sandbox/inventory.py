"""The network devices of a simulated node, as a real one would list them on its PCI bus.

Virtual functions get addresses by the rule that SR-IOV devices use: on a bus with P physical functions,
VF i of PF f lies at routing id P + f + i*P, written as device.function (8 functions a device). So two
PFs 0c:00.0 and 0c:00.1 with one VF each have VFs 0c:00.2 and 0c:00.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pydantic import TypeAdapter

from fabric.catalog.shape import Shape
from fabric.k8s.base import KubernetesModel, compact_json

INVENTORY_ANNOTATION = "sandbox.gpu-fabric/nics"
"""On a simulated node: its devices as JSON. Real nodes have no such annotation."""


class SimulatedDevice(KubernetesModel):
    """One PCI network function; `root_device` is the PF's address, for a PF its own."""

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


_DEVICES = TypeAdapter(tuple[SimulatedDevice, ...])


def inventory(shape: Shape) -> tuple[SimulatedDevice, ...]:
    """All devices of one node of a shape: front-end NICs, RDMA NICs, then each NIC's virtual functions.

    The first front-end NIC carries the default route. Front-end NICs have no virtual functions.
    """
    addresses = [*(nic.pci for nic in shape.nics), *(nic.pci for nic in shape.front_end_nics)]
    functions = Counter(_bus(address) for address in addresses)
    model = shape.nic_model
    front_end = tuple(
        _physical(shape, nic.pci, nic.interface, default_route=position == 0)
        for position, nic in enumerate(shape.front_end_nics)
    )
    rails = tuple(_physical(shape, nic.pci, nic.interface) for nic in shape.nics)
    virtual = tuple(
        SimulatedDevice(
            pci=virtual_function_address(nic.pci, index, functions[_bus(nic.pci)]),
            vendor=model.vendor_id,
            device=model.vf_device_id,
            driver=model.driver,
            link_type=model.link_type,
            is_rdma=True,
            interface=f"{nic.interface}v{index}",
            root_device=nic.pci,
            root_interface=nic.interface,
            is_vf=True,
            vf_index=index,
        )
        for nic in shape.nics
        for index in range(shape.vfs_per_nic)
    )
    return (*front_end, *rails, *virtual)


def virtual_function_address(pf: str, index: int, functions_on_bus: int) -> str:
    """The PCI address of a PF's virtual function (rule in the module's text); the bus must hold it.

    Raises ValueError beyond the 256 functions of a bus.
    """
    bus, device_function = pf[:7], pf[8:]
    device, function = device_function.split(".")
    routing = functions_on_bus + int(device, 16) * 8 + int(function) + index * functions_on_bus
    if routing > 255:
        raise ValueError(f"virtual function {index} of {pf} does not fit on its bus: allowed are 256 functions")
    return f"{bus}:{routing // 8:02x}.{routing % 8}"


def inventory_annotation(shape: Shape) -> dict[str, str]:
    """The annotation that carries a node's devices."""
    return annotation_of(inventory(shape))


def annotation_of(devices: Iterable[SimulatedDevice]) -> dict[str, str]:
    """The annotation for any list of devices, for example one with a NIC missing."""
    return {INVENTORY_ANNOTATION: compact_json([device.to_dict() for device in devices])}


def devices_of(annotations: Mapping[str, str] | None) -> tuple[SimulatedDevice, ...]:
    """The devices that a node's annotations name; none for a node without the annotation.

    Raises pydantic.ValidationError where the annotation is not what `inventory_annotation` writes.
    """
    text = (annotations or {}).get(INVENTORY_ANNOTATION)
    return _DEVICES.validate_json(text) if text else ()


def _bus(pci: str) -> str:
    return pci[:7]


def _physical(shape: Shape, pci: str, interface: str, *, default_route: bool = False) -> SimulatedDevice:
    model = shape.nic_model
    return SimulatedDevice(
        pci=pci,
        vendor=model.vendor_id,
        device=model.device_id,
        driver=model.driver,
        link_type=model.link_type,
        is_rdma=True,
        interface=interface,
        root_device=pci,
        root_interface=interface,
        default_route=default_route,
    )
