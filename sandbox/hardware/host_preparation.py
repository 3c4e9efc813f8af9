"""What this stack's DaemonSets for the hosts do on a node, read from their pods: pure functions.

Each has a pod label of its own. Its pod is ready where what it asks for is possible: the NICs are there and of the
right link type, the tables of addresses name the node. Of all that they set, the node shows the RDMA mode and the
addresses; one that only reports is ready where these are right already.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Mapping
from typing import Any

from gpu_fabric.k8s.base import compact_json
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from ..simulated_nodes import NIC_ADDRESSES_ANNOTATION, RDMA_MODE_ANNOTATION
from .device_plugins import annotations_of, labels_of
from .inventory import SimulatedDevice
from .node_records import World, devices_on
from .virtual_functions import COMPONENT_LABEL, NodeSetupError, environment_of

CHECK = "fabric-check"
PREPARATIONS = ("fabric-rule", "nic-addresses", "lossless", "acs", "rdma-mode", "link-type", "ipoib", CHECK)
"""Values of the pods' label. A pod with one of them is not ready by itself."""

_REPORT = "report"


def prepared(pod: Mapping[str, Any], node: Mapping[str, Any], world: World) -> dict[str, str]:
    """The annotations that a pod's work changes on its node.

    Raises NodeSetupError where the work cannot be done on this node, or is only reported as not done; pydantic's
    ValidationError (a ValueError) for a node whose inventory cannot be read.
    """
    component, environment = labels_of(pod)[COMPONENT_LABEL], environment_of(pod)
    if component == CHECK:
        _require_networks(pod, world.networks)
        return {}
    physical = [device for device in devices_on(node) if not device.is_vf]
    interfaces = {device.interface: device for device in physical}
    wanted = _require(environment.get("INTERFACES", "").split(), interfaces)
    shown: dict[str, str] = {}
    match component:
        case "lossless":
            _require_type(wanted, "ether")
        case "ipoib":
            _require_type(wanted, "infiniband")
        case "link-type":
            _link_type(environment, {device.pci: device for device in physical})
        case "rdma-mode":
            shown[RDMA_MODE_ANNOTATION] = _mode(environment)
        case "nic-addresses":
            rows = [_row(text) for text in _tables(pod, node["metadata"]["name"], world.config_maps)]
            _require((row["interface"] for row in rows), interfaces)
            shown[NIC_ADDRESSES_ANNOTATION] = compact_json(rows)
    present = annotations_of(node)
    changes = {name: text for name, text in shown.items() if present.get(name) != text}
    if changes and _only_reports(pod):
        raise NodeSetupError(f"dry run: {', '.join(f'{name} would be {text}' for name, text in changes.items())}")
    return changes


def _require(names: Iterable[str], present: Mapping[str, SimulatedDevice]) -> list[SimulatedDevice]:
    """The NICs of these names or addresses."""
    wanted = list(names)
    missing = [name for name in wanted if name not in present]
    if missing:
        raise NodeSetupError(f"the node has no NIC {', '.join(missing)}")
    return [present[name] for name in wanted]


def _require_type(nics: Iterable[SimulatedDevice], link_type: str) -> None:
    other = [nic.interface for nic in nics if nic.link_type != link_type]
    if other:
        raise NodeSetupError(f"not of link type {link_type}: {', '.join(other)}")


def _link_type(environment: Mapping[str, str], nics: Mapping[str, SimulatedDevice]) -> None:
    # firmware settings take effect at the node's next boot, and no node is rebooted here
    addresses = environment.get("PCI_ADDRESSES", "").split()
    if not addresses:
        raise NodeSetupError("PCI_ADDRESSES is empty")
    _require_type(_require(addresses, nics), environment.get("LINK_TYPE", ""))


def _mode(environment: Mapping[str, str]) -> str:
    mode = environment.get("RDMA_MODE", "")
    if mode not in ("shared", "exclusive"):
        raise NodeSetupError(f"RDMA_MODE is {mode!r}: allowed are shared and exclusive")
    return mode


def _tables(pod: Mapping[str, Any], node: str, config_maps: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The node's text in each table that the pod mounts below the folder of its variable ADDRESSES."""
    folder = environment_of(pod).get("ADDRESSES", "").rstrip("/")
    mounts = [mount for container in pod["spec"]["containers"] for mount in container.get("volumeMounts") or ()]
    mounted = {mount["name"] for mount in mounts if folder and f"{folder}/" in mount["mountPath"]}
    volumes = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] in mounted]
    names = [volume["configMap"]["name"] for volume in volumes if "configMap" in volume]
    if not names:
        raise NodeSetupError("the pod mounts no table of addresses")
    texts = []
    for name in names:
        found = config_maps.get(f"{pod['metadata']['namespace']}/{name}")
        if found is None:
            raise NodeSetupError(f"there is no ConfigMap {name}")
        text = (found.get("data") or {}).get(node, "")
        if not text.strip():
            raise NodeSetupError(f"ConfigMap {name} has no line for node {node}")
        texts.append(text)
    return texts


def _row(text: str) -> dict[str, str]:
    """A table's INTERFACE ADDRESS/LENGTH [GATEWAY]."""
    interface, *words = text.split()
    try:
        if len(words) not in (1, 2) or "/" not in words[0]:
            raise ValueError("write INTERFACE ADDRESS/LENGTH [GATEWAY]")
        address = ipaddress.ip_interface(words[0])
        row = {"interface": interface, "address": str(address)}
        if words[1:]:
            if ipaddress.ip_address(words[1]) not in address.network:
                raise ValueError(f"the gateway is outside {address.network}")
            row["gateway"] = words[1]
    except ValueError as problem:
        raise NodeSetupError(f"the table's line {text!r} cannot be used: {problem}") from None
    return row


def _require_networks(pod: Mapping[str, Any], networks: frozenset[str]) -> None:
    missing = [name for name in attached_networks(pod) if name not in networks]
    if missing:
        raise NodeSetupError(f"there is no network {', '.join(missing)}")


def attached_networks(pod: Mapping[str, Any]) -> list[str]:
    """The networks that a pod's annotation attaches, as namespace/name.

    Raises NodeSetupError where it cannot be read.
    """
    own, text = pod["metadata"]["namespace"], annotations_of(pod).get(NETWORKS_ANNOTATION, "").strip()
    if text.startswith("["):
        try:
            return [f"{item.get('namespace') or own}/{item['name']}" for item in json.loads(text)]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NodeSetupError(f"the networks cannot be read: {text[:100]!r}") from None
    # namespace/name@interface, of which all but the name may be missing
    names = (part.strip().partition("@")[0] for part in text.split(",") if part.strip())
    return [name if "/" in name else f"{own}/{name}" for name in names]


def _only_reports(pod: Mapping[str, Any]) -> bool:
    """Whether the mode `report` is among the words of a container's command."""
    containers = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
    lines = (line for item in containers for line in (*(item.get("command") or ()), *(item.get("args") or ())))
    return any(_REPORT in line.split() for line in lines)
