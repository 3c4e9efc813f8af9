"""What Spiderpool's webhook writes into its objects before they are checked: pure functions."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gpu_fabric.k8s.names import NETWORK_RESOURCE_INJECT_ANNOTATION, RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.spiderpool import AddressRanges
from sandbox.hardware.device_plugins import annotations_of, labels_of
from sandbox.hardware.spiderpool import FINALIZER, SECTIONS

Object = dict[str, Any]

SUBNET_LABEL = "ipam.spidernet.io/ippool-cidr"
INJECT_ANNOTATIONS = (RDMA_RESOURCE_INJECT_ANNOTATION, NETWORK_RESOURCE_INJECT_ANNOTATION)
"""In the order in which they are looked for."""

_RANGES = TypeAdapter(AddressRanges)
_POOLS = {"matchMasterSubnet": False}
_SECTION_DEFAULTS: dict[str, Object] = {
    "macvlan": {"vlanID": 0, "mtu": 0, "rdmaResourceName": ""},
    "sriov": {"vlanID": 0, "mtu": 0, "rdmaIsolation": False},
    "ibsriov": {"linkState": "enable", "rdmaIsolation": True, "enableIbKubernetes": False},
    "ipoib": {},
}
_COORDINATOR: Object = {
    "mode": "auto",
    "tunePodRoutes": True,
    "hostRuleTable": 500,
    "podRPFilter": 0,
    "txQueueLen": 0,
    "podMACPrefix": "",
    "podDefaultRouteNIC": "",
    "vethLinkAddress": "",
}


def with_defaults(item: Mapping[str, Any]) -> Object:
    """An object of Spiderpool as the webhook leaves it; one that is being deleted, or of another kind, as it is."""
    if "deletionTimestamp" in item["metadata"]:
        return dict(item)
    spec = item.get("spec") or {}
    match item["kind"]:
        case "SpiderIPPool":
            return _pool(item, spec)
        case "SpiderReservedIP":
            return {**item, "spec": _ranges(_with_version(spec, next(iter(spec.get("ips") or ()), "")), "ips")}
        case "SpiderCoordinator":
            return _with_finalizer(item)
        case "SpiderMultusConfig":
            return _network(item, spec)
    return dict(item)


def _pool(item: Mapping[str, Any], spec: Mapping[str, Any]) -> Object:
    subnet = spec.get("subnet") or ""
    filled = _ranges(_ranges(_with_version(spec, subnet), "ips"), "excludeIPs")
    changed = _with_finalizer({**item, "spec": filled})
    if "ipVersion" not in filled:
        return changed  # the check reports the error in the subnet
    return _with_labels(changed, {SUBNET_LABEL: subnet.translate(str.maketrans("./:", "---"))})


def _with_version(spec: Mapping[str, Any], address: str) -> Object:
    """The spec with the address family of a subnet, an address or a range, unless it is set or cannot be derived."""
    try:
        version = ipaddress.ip_interface(address.partition("-")[0]).version
    except ValueError:
        return dict(spec)
    return {"ipVersion": version, **spec}


def _ranges(spec: Mapping[str, Any], field: str) -> Object:
    """The spec with several ranges of a field merged and sorted; a single one stays as it is written."""
    written = spec.get(field) or ()
    if len(written) < 2:
        return dict(spec)
    try:
        return {**spec, field: list(_RANGES.validate_python(tuple(written)))}
    except ValidationError:
        return dict(spec)


def _network(item: Mapping[str, Any], spec: Mapping[str, Any]) -> Object:
    kind = spec.get("cniType", "custom")
    filled: Object = {"cniType": kind, "disableIPAM": False, "customCNI": "", **spec}
    filled["enableCoordinator"] = kind != "custom" and spec.get("enableCoordinator", True)
    name = SECTIONS.get(kind, "")
    if isinstance(section := spec.get(name), Mapping):
        filled[name] = {**_SECTION_DEFAULTS[name], **section}
        if isinstance(pools := section.get("ippools"), Mapping):
            filled[name]["ippools"] = {**_POOLS, **pools}
    if filled["enableCoordinator"]:
        filled["coordinator"] = {**_COORDINATOR, **(spec.get("coordinator") or {})}
    groups = {key: value for key, value in annotations_of(item).items() if key in INJECT_ANNOTATIONS}
    return _with_labels({**item, "spec": filled}, groups)


def _with_finalizer(item: Mapping[str, Any]) -> Object:
    metadata = item["metadata"]
    present = metadata.get("finalizers") or []
    if FINALIZER in present:
        return dict(item)
    return {**item, "metadata": {**metadata, "finalizers": [*present, FINALIZER]}}


def _with_labels(item: Mapping[str, Any], labels: Mapping[str, str]) -> Object:
    if not labels:
        return dict(item)
    return {**item, "metadata": {**item["metadata"], "labels": {**labels_of(item), **labels}}}
