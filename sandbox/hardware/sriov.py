"""What the SR-IOV operator's daemon does to a node's NICs: pure functions.

The records are those of SriovNetworkNodeState, as the operator writes them: `spec.interfaces` is what the policies ask
of a node, `status.interfaces` is what the node has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_fabric.k8s.mellanox import NVIDIA
from .inventory import SimulatedDevice, virtual_function_counts, with_virtual_functions

Object = dict[str, Any]

_LINK_TYPES = {"ether": "ETH", "infiniband": "IB"}


class SyncError(ValueError):
    """What the policies ask of a node cannot be done there; nothing is changed."""


def synced(
    wanted: Iterable[Mapping[str, Any]], previous: Iterable[Mapping[str, Any]], devices: Sequence[SimulatedDevice]
) -> tuple[SimulatedDevice, ...]:
    """The devices after a sync: `wanted` and `previous` are the interfaces in the node's state now and before.

    A NIC that no policy selects any more loses its virtual functions, unless the operator had not created them.
    Raises SyncError where it cannot be done.
    """
    physical = {device.pci: device for device in devices if not device.is_vf}
    present = virtual_function_counts(devices)
    counts = {
        interface["pciAddress"]: 0
        for interface in previous
        if interface["pciAddress"] in physical and not interface.get("externallyManaged")
    }
    for interface in wanted:
        device = physical[interface["pciAddress"]]
        _check(interface, device, present.get(device.pci, 0))
        counts.pop(device.pci, None)
        if not interface.get("externallyManaged"):
            counts[device.pci] = interface["numVfs"]
        # The daemon raises a NIC's MTU and never lowers it, on which `components/engine/node_states.py` relies.
        if interface.get("mtu", 0) > (device.mtu or 0):
            physical[device.pci] = device.model_copy(update={"mtu": interface["mtu"]})
    return with_virtual_functions([physical.get(device.pci, device) for device in devices], counts)


def _check(interface: Mapping[str, Any], device: SimulatedDevice, present: int) -> None:
    count, name = interface["numVfs"], f"{device.interface} ({device.pci})"
    if count > device.total_vfs:
        raise SyncError(f"{name}: {count} virtual functions asked for, the NIC has at most {device.total_vfs}")
    if not interface.get("externallyManaged"):
        return
    if present < count:
        raise SyncError(f"{name}: {count} virtual functions asked for, and the NIC's manager created {present}")
    if device.mtu is not None and interface.get("mtu", 0) > device.mtu:
        raise SyncError(f"{name}: MTU {interface['mtu']} asked for, and the NIC's manager set {device.mtu}")
    link_type = interface.get("linkType", "").upper()
    if link_type not in ("", _LINK_TYPES[device.link_type]):
        raise SyncError(f"{name}: link type {link_type} asked for, the NIC's is {_LINK_TYPES[device.link_type]}")


def observed_interfaces(devices: Sequence[SimulatedDevice]) -> list[Object]:
    """`status.interfaces` of a node: its NICs as they are, each with its virtual functions."""
    return [
        {
            **_listed(device),
            "linkType": _LINK_TYPES[device.link_type],
            **({} if device.mtu is None else {"mtu": device.mtu}),
            **_virtual(device, devices),
        }
        for device in devices
        if not device.is_vf
    ]


def _listed(device: SimulatedDevice) -> Object:
    return {
        "pciAddress": device.pci,
        "name": device.interface,
        "vendor": device.vendor,
        "deviceID": device.device,
        "driver": device.driver,
    }


def _virtual(physical: SimulatedDevice, devices: Sequence[SimulatedDevice]) -> Object:
    if physical.total_vfs == 0:
        return {}
    own = [device for device in devices if device.is_vf and device.root_device == physical.pci]
    functions = [{"vfID": device.vf_index, **_listed(device)} for device in own]
    # The operator writes the number that is asked for into the firmware of NVIDIA's NICs (1.6.0, HandleTotalVfs).
    counted: Object = {"totalvfs": len(own) if own and physical.vendor == NVIDIA else physical.total_vfs}
    return {**counted, "numVfs": len(own), "Vfs": functions} if own else counted
