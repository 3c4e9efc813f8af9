"""What the SR-IOV network device plug-in would offer on a node: pure matching, no cluster.

The rules are the plug-in's: selectors are ANDed, the values of one selector ORed; a device joins the first
resource that it matches; physical functions with virtual functions and the default route's NIC are never
offered; a resource without devices is not advertised at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from fabric.k8s.device_plugin import DeviceSelectors, SriovDevicePluginConfig, SriovResource
from fabric.k8s.mellanox import NIC_LABEL
from fabric.k8s.scheduling import NodeSelectorRequirement, NodeSelectorTerm, Toleration
from sandbox.inventory import INVENTORY_ANNOTATION, SimulatedDevice, devices_of

# The operator's own DaemonSets tolerate this taint whatever the policy says.
_GPU_TAINT = Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule")

# Kubernetes adds tolerations for these to every DaemonSet pod.
_DAEMON_TOLERATED = frozenset(
    f"node.kubernetes.io/{name}"
    for name in (
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
        "network-unavailable",
    )
)


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
        if name == root and (not ranges or device.vf_index in _numbers(ranges)):
            return True
    return False


def _numbers(ranges: str) -> set[int]:
    found: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def tolerated(taints: Iterable[Mapping[str, Any]], tolerations: Iterable[Toleration]) -> bool:
    """Whether a DaemonSet pod of the Network Operator may run on a node with these taints."""
    accepted = (*tolerations, _GPU_TAINT)
    return all(
        taint.get("effect") == "PreferNoSchedule"
        or taint["key"] in _DAEMON_TOLERATED
        or any(_tolerates(toleration, taint) for toleration in accepted)
        for taint in taints
    )


def _tolerates(toleration: Toleration, taint: Mapping[str, Any]) -> bool:
    if toleration.effect is not None and toleration.effect != taint["effect"]:
        return False
    if toleration.key is None:
        return toleration.operator == "Exists"
    if toleration.key != taint["key"]:
        return False
    return toleration.operator == "Exists" or (toleration.value or "") == (taint.get("value") or "")


def selected(labels: Mapping[str, str], terms: Sequence[NodeSelectorTerm]) -> bool:
    """Whether one of a required node affinity's terms holds; no terms select every node."""
    return not terms or any(
        all(_holds(labels, requirement) for requirement in term.match_expressions or ()) for term in terms
    )


def _holds(labels: Mapping[str, str], requirement: NodeSelectorRequirement) -> bool:
    value = labels.get(requirement.key)
    values = requirement.values or ()
    match requirement.operator:
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])


class UnusablePolicyError(ValueError):
    """The policy's device-plug-in section cannot be used; the plug-in would crash-loop and offer nothing."""


def resources_for(policy: Mapping[str, Any] | None, node: Mapping[str, Any]) -> dict[str, int]:
    """Extended resources of a node under a NicClusterPolicy object (None: no policy is in effect).

    Raises UnusablePolicyError where the configuration is missing, is not JSON or breaks the plug-in's rules, and
    pydantic.ValidationError (a ValueError, too) for a node whose inventory cannot be read.
    """
    section = ((policy or {}).get("spec") or {}).get("sriovDevicePlugin")
    if policy is None or section is None:
        return {}
    text = section.get("config")
    if not text:
        raise UnusablePolicyError("spec.sriovDevicePlugin.config is missing")
    config = _config(text)
    inventory_text = (node["metadata"].get("annotations") or {}).get(INVENTORY_ANNOTATION, "[]")
    return dict(_offered(config, inventory_text)) if _runs_on(policy["spec"], node) else {}


def _runs_on(spec: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Whether the plug-in's DaemonSet has a pod on a node: label, node affinity and taints."""
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    required = (spec.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [NodeSelectorTerm.model_validate(term) for term in required.get("nodeSelectorTerms") or ()]
    tolerations = [Toleration.model_validate(toleration) for toleration in spec.get("tolerations") or ()]
    return (
        labels.get(NIC_LABEL) == "true"
        and selected(labels, terms)
        and tolerated((node.get("spec") or {}).get("taints") or (), tolerations)
    )


# Nodes of one shape share their inventory's text and all share the configuration's: a few results serve any cluster.
@lru_cache(maxsize=64)
def _offered(config: SriovDevicePluginConfig, inventory_text: str) -> Mapping[str, int]:
    return advertised(config, devices_of({INVENTORY_ANNOTATION: inventory_text}))


@lru_cache(maxsize=8)
def _config(text: str) -> SriovDevicePluginConfig:
    try:
        return SriovDevicePluginConfig.model_validate_json(text)
    except ValidationError as error:
        reasons = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
        raise UnusablePolicyError(f"spec.sriovDevicePlugin.config: {reasons}") from None
