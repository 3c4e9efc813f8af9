"""The resources that device plug-ins would advertise on a node: pure matching, no cluster.

The rules are the plug-ins'. Of the SR-IOV one: selectors are ANDed, the values of one selector ORed; a device joins the
first resource that it matches; physical functions with virtual functions and the default route's NIC are never
offered; a resource without devices is not advertised at all. Of the RDMA shared one: a resource is offered as often as
its configuration says, whatever the number of NICs that it matches, and not at all without one.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_fabric.k8s.device_plugin import (
    DeviceSelectors,
    RdmaSelectors,
    RdmaSharedDevicePluginConfig,
    SriovDevicePluginConfig,
    SriovResource,
)
from .inventory import SimulatedDevice


def advertised(config: SriovDevicePluginConfig, devices: Sequence[SimulatedDevice]) -> dict[str, int]:
    """Extended resource -> number of devices, for the devices of one node."""
    with_vfs = {device.root_device for device in devices if device.is_vf}
    free = [device for device in devices if not device.default_route and device.pci not in with_vfs]
    offered: dict[str, int] = {}
    for resource in config.resource_list:
        taken = [device for device in free if _in_resource(device, resource)]
        if taken:
            offered[resource.name] = len(taken)
        free = [device for device in free if device not in taken]
    return offered


def _in_resource(device: SimulatedDevice, resource: SriovResource) -> bool:
    # The simulated devices are plain network functions: no accelerators and no scalable functions.
    return resource.device_type == "netDevice" and any(
        matches(device, selectors) for selectors in resource.alternatives
    )


def matches(device: SimulatedDevice, selectors: DeviceSelectors) -> bool:
    """Whether every selector that is given holds for the device."""
    if selectors.ddp_profiles or selectors.need_vhost_net or selectors.vdpa_type:
        return False  # nothing that mlx5 functions of the catalog have
    return (
        _one_of(device.vendor, selectors.vendors)
        and _one_of(device.device, selectors.devices)
        and _one_of(device.driver, selectors.drivers)
        and _one_of(device.pci, selectors.pci_addresses)
        and _one_of(device.link_type, selectors.link_types)
        and _rooted(device, device.root_interface, selectors.pf_names)
        and _rooted(device, device.root_device, selectors.root_devices)
        and (device.is_rdma or not selectors.is_rdma)
    )


def _one_of(value: str, allowed: Sequence[str] | None) -> bool:
    return not allowed or value in allowed


def _rooted(device: SimulatedDevice, root: str, allowed: Sequence[str] | None) -> bool:
    """Whether a physical function is named, with the virtual function's number in the range after '#', if any."""
    if not allowed:
        return True
    for entry in allowed:
        name, _, ranges = entry.partition("#")
        if name == root and (not ranges or device.vf_index in numbers(ranges)):
            return True
    return False


def numbers(ranges: str) -> set[int]:
    """The numbers of a range as both operators write it: `0-3,5`."""
    found: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def shared(config: RdmaSharedDevicePluginConfig, devices: Sequence[SimulatedDevice]) -> dict[str, int]:
    """Extended resource -> number of pods that may share its NICs; 0 where a resource matches none.

    Only physical functions are shared, those of the node's own network as well if they match.
    """
    physical = [device for device in devices if device.is_rdma and not device.is_vf]
    return {
        resource.name: resource.rdma_hca_max if any(shares(nic, resource.selectors) for nic in physical) else 0
        for resource in config.config_list
    }


def shares(device: SimulatedDevice, selectors: RdmaSelectors) -> bool:
    """Whether every selector of the RDMA shared device plug-in that is given holds for the device."""
    return (
        _one_of(device.vendor, selectors.vendors)
        and _one_of(device.device, selectors.device_ids)
        and _one_of(device.driver, selectors.drivers)
        and _one_of(device.interface, selectors.if_names)
        and _one_of(device.link_type, selectors.link_types)
    )
