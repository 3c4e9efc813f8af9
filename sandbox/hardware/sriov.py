"""What the SR-IOV operator decides for one node: pure functions from node policies and devices to interfaces.

The records are those of SriovNetworkNodeState, as the operator writes them: `spec.interfaces` is what the policies ask
of a node, `status.interfaces` is what the node has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sandbox.hardware.advertise import numbers
from sandbox.hardware.inventory import SimulatedDevice, virtual_function_counts, with_virtual_functions

Object = dict[str, Any]

LOWEST_PRIORITY = 99
_LINK_TYPES = {"ether": "ETH", "infiniband": "IB"}


class SyncError(ValueError):
    """What the policies ask of a node cannot be done there; nothing is changed."""


def wanted_interfaces(
    policies: Iterable[Mapping[str, Any]], labels: Mapping[str, str], devices: Sequence[SimulatedDevice]
) -> list[Object]:
    """`spec.interfaces` for a node: every NIC that a policy selects, with the virtual functions each policy gets.

    Of two policies for one NIC the one with the lower priority number decides; virtual functions that it has taken
    are left out of the other's share, and the NIC gets the larger number of them.
    """
    found: dict[str, Object] = {}
    for policy in sorted(policies, key=_precedence):
        spec = policy["spec"]
        if not spec["nodeSelector"].items() <= labels.items():
            continue
        for device in devices:
            chosen = _chosen_range(spec["nicSelector"], device)
            if chosen is None:
                continue
            interface = found.setdefault(device.pci, _interface(spec, device))
            interface["numVfs"] = max(interface["numVfs"], spec["numVfs"])
            group = _group(policy, chosen or f"0-{spec['numVfs'] - 1}")
            if not any(_overlap(group, other) for other in interface["vfGroups"]):
                interface["vfGroups"].append(group)
    return [found[device.pci] for device in devices if device.pci in found]


def _precedence(policy: Mapping[str, Any]) -> tuple[int, str]:
    return policy["spec"].get("priority", LOWEST_PRIORITY), policy["metadata"]["name"]


def _chosen_range(selector: Mapping[str, Any], device: SimulatedDevice) -> str | None:
    """The virtual functions of a device that a nicSelector means; empty for all, None for no match."""
    if device.is_vf or device.total_vfs == 0:
        return None
    for key, value in (("vendor", device.vendor), ("deviceID", device.device)):
        if selector.get(key) not in (None, "", value):
            return None
    if (addresses := selector.get("rootDevices")) and device.pci not in addresses:
        return None
    ranges = dict(entry.partition("#")[::2] for entry in selector.get("pfNames") or ())
    return ranges.get(device.interface) if ranges else ""


def _interface(spec: Mapping[str, Any], device: SimulatedDevice) -> Object:
    interface: Object = {"pciAddress": device.pci, "name": device.interface, "numVfs": 0, "vfGroups": []}
    for field in ("mtu", "linkType", "externallyManaged"):
        if spec.get(field):
            interface[field] = spec[field]
    return interface


def _group(policy: Mapping[str, Any], chosen: str) -> Object:
    spec = policy["spec"]
    group = {"policyName": policy["metadata"]["name"], "resourceName": spec["resourceName"], "vfRange": chosen}
    group["deviceType"] = spec.get("deviceType", "netdevice")
    return {**group, **{field: spec[field] for field in ("isRdma", "mtu") if spec.get(field)}}


def _overlap(group: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(numbers(group["vfRange"]) & numbers(other["vfRange"]))


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
        # The daemon raises a NIC's MTU and never lowers it, on which `components/node_states.py` relies.
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


def offered_resources(
    interfaces: Iterable[Mapping[str, Any]], devices: Sequence[SimulatedDevice], prefix: str
) -> dict[str, int]:
    """Extended resource -> number of virtual functions, as the operator's own device plug-in offers them."""
    offered: dict[str, int] = {}
    for interface in interfaces:
        for group in interface["vfGroups"]:
            numbers_meant = numbers(group["vfRange"])
            count = sum(
                device.is_vf
                and device.root_device == interface["pciAddress"]
                and device.vf_index in numbers_meant
                and (device.is_rdma or not group.get("isRdma"))
                for device in devices
            )
            if count:
                name = f"{prefix}/{group['resourceName']}"
                offered[name] = offered.get(name, 0) + count
    return offered


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
    counted: Object = {"totalvfs": physical.total_vfs}
    return {**counted, "numVfs": len(own), "Vfs": functions} if own else counted


def rdma_mode(pools: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> str | None:
    """The RDMA mode that SriovNetworkPoolConfigs give a node; None where none sets one.

    A node that two of them select gets none: the operator then leaves the node alone.
    """
    chosen = [pool["spec"] for pool in pools if selects(pool["spec"].get("nodeSelector"), labels)]
    return chosen[0].get("rdmaMode") if len(chosen) == 1 else None


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector holds; one that is left out or empty selects everything."""
    selector = selector or {}
    return (selector.get("matchLabels") or {}).items() <= labels.items() and all(
        _holds(labels, requirement) for requirement in selector.get("matchExpressions") or ()
    )


def _holds(labels: Mapping[str, str], requirement: Mapping[str, Any]) -> bool:
    value = labels.get(requirement["key"])
    match requirement["operator"]:
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "In":
            return value in requirement["values"]
        case _:
            return value not in requirement["values"]
