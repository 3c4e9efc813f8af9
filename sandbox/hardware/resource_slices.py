"""The ResourceSlices that DRA drivers publish for simulated nodes.

A pod of a driver's DaemonSet has the driver's name as its operand label; one of NVIDIA's chart is of two drivers if
it has the containers of both. While it runs on a node, the node's devices are published with the names and types of
attributes that `gpu_fabric/catalog/dra_drivers.yaml` has for the driver's version; which devices, and when, is what the
driver's code does (the files that the catalog names). Attributes are left out whose values a simulated node does not
have: MAC addresses, names of PCI vendors and devices, what NVIDIA's driver says of a GPU's model.
"""

from __future__ import annotations

import json
import logging
import math
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpu_fabric.base.cel import CelRuntimeError, CelUnknownError, condition
from gpu_fabric.base.enumeration import grouped
from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.dra_driver import DraDriver
from gpu_fabric.k8s.device_plugin import DeviceSelectors
from ..kubernetes_api import Object
from ..simulated_nodes import NIC_ADDRESSES_ANNOTATION
from .advertise import matches
from .device_plugins import PluginFailureError, annotations_of, labels_of, runs
from .inventory import SimulatedDevice, gpus_of
from .node_records import devices_on
from .operands import OPERAND_LABEL, PLAYED_LABEL
from .views import Views
from .watching import Watched, key_of
from .writing import Complaints, Writer

DRANET, SRIOV, NVIDIA_GPU, COMPUTE_DOMAIN = PLAYED = (
    "dra.net",
    "sriovnetwork.k8snetworkplumbingwg.io",
    "gpu.nvidia.com",
    "compute-domain.nvidia.com",
)
"""The drivers whose slices are published here; each is the operand label of its pods."""

_COMPUTE_DOMAINS = "compute-domains"
"""The container of COMPUTE_DOMAIN in the pods of NVIDIA's chart."""

# The kubelet withdraws the slices of a driver that is gone after 30 s (defaultWipingDelay in its cm/dra/manager.go), so
# that a driver that is only restarted keeps its devices.
WIPED_AFTER_S = 2.0

_VERSION = "resource.k8s.io/v1"
_MOST_DEVICES = 128
"""Devices of one ResourceSlice at most (ResourceSliceMaxDevices in k8s.io/api/resource/v1)."""

# What `--filter` of DRANET keeps by default (cmd/dranet/app.go).
_ALL_BUT_VETH = '!("dra.net/type" in attributes) || attributes["dra.net/type"].StringValue != "veth"'
_LINK_TYPES = {"ether": "ethernet", "infiniband": "infiniband"}

log = logging.getLogger("sandbox.hardware")

Attributes = Mapping[str, str | int | bool | None]
"""Attributes by name, those without a domain being the driver's own; one that a device lacks is None."""

# Every node with pods has such interfaces, and a filter must pass over them.
_VETH: Attributes = {
    "ifName": "veth-simulated",
    "type": "veth",
    "state": "up",
    "virtual": True,
    "rdma": False,
    "ebpf": False,
}


class Found(NamedTuple):
    """A device that a driver publishes; `added` are attributes that others give it, as slices have them."""

    name: str
    attributes: Attributes
    added: Mapping[str, Object] = {}


def devices_of_driver(
    driver: DraDriver, pod: Mapping[str, Any], node: Mapping[str, Any], policies: Sequence[Mapping[str, Any]] = ()
) -> list[Object]:
    """The devices that the pod of a driver publishes for its node, as they are in slices.

    `policies` are the SriovResourcePolicies and DeviceAttributes of the cluster. Raises PluginFailureError where the
    driver does not start.
    """
    match driver.name:
        case "dra.net":
            found = _dranet(pod, node)
        case "gpu.nvidia.com":
            found = _nvidia_gpus(node)
        case "compute-domain.nvidia.com":
            found = _channels()
        case _:
            found = _virtual_functions(pod, node, policies)
    version = _version_of(driver, pod)
    return [{"name": name, "attributes": {**_written(driver, version, own), **added}} for name, own, added in found]


def _written(driver: DraDriver, version: str, attributes: Attributes) -> Object:
    """The attributes that a version publishes, as they are in slices: each under the type that it has."""
    facts = {key: key if "/" in key else f"{driver.name}/{key}" for key in attributes}
    return {
        driver.slice_name(name): {driver.attributes[name].type: attributes[key]}
        for key, name in facts.items()
        if attributes[key] is not None and driver.attributes[name].is_in(version)
    }


def _version_of(driver: DraDriver, pod: Mapping[str, Any]) -> str:
    """The tag of a pod's image, if the facts were read in that version; else the one that plans install."""
    images = (item["image"].partition("@")[0].rpartition(":") for item in pod["spec"]["containers"])
    tags = (tag for image, _, tag in images if image.endswith(driver.images) and tag in driver.read)
    return next(tags, driver.pin or driver.read[-1])


def slices_of(driver: str, node: Mapping[str, Any], devices: Sequence[Object], generation: int) -> list[Object]:
    """The slices of a pool, which is a node; one without devices where there are none."""
    name = node["metadata"]["name"]
    parts = [devices[start : start + _MOST_DEVICES] for start in range(0, max(1, len(devices)), _MOST_DEVICES)]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"], "controller": True}
    return [
        {
            "apiVersion": _VERSION,
            "kind": "ResourceSlice",
            "metadata": {
                "name": f"{name}-{driver}-{number}",
                "labels": {PLAYED_LABEL: "dra-driver"},
                "ownerReferences": [owner],
            },
            "spec": {
                "driver": driver,
                "nodeName": name,
                "pool": {"name": name, "generation": generation, "resourceSliceCount": len(parts)},
                "devices": list(part),
            },
        }
        for number, part in enumerate(parts)
    ]


_Pool = tuple[str, str]
"""A driver and a node."""


def _pool_of(item: Object) -> _Pool:
    return item["spec"]["driver"], item["spec"]["pool"]["name"]


class ResourceSlices:
    """Publishes what the drivers' pods find on their nodes, and withdraws it when they are gone."""

    def __init__(self, views: Views, writer: Writer, complaints: Complaints) -> None:
        self._views, self._writer, self._complaints = views, writer, complaints
        self._seen: tuple[int, ...] = ()
        self._done: dict[_Pool, tuple[object, ...]] = {}
        self._gone: dict[_Pool, float] = {}

    def again(self) -> None:
        """Look at everything again the next time."""
        self._seen = ()
        self._done.clear()

    def reconcile(self, now: float) -> float:
        """Write what is missing; gives the time (monotonic clock) at which to look again, infinite for none."""
        views = self._views
        seen = tuple(item.version() for item in (views.operand_pods, views.nodes, views.slices, *self._policies()))
        if seen == self._seen and not self._gone:
            return math.inf
        self._seen = seen
        pools = grouped(views.slices.objects().values(), _pool_of)
        pods = self._pods()
        for pool, pod in pods.items():
            self._publish(pool, pod, pools.get(pool, []))
        return self._withdraw({pool: items for pool, items in pools.items() if pool not in pods}, now)

    def _policies(self) -> tuple[Watched, Watched]:
        return self._views.resource_policies, self._views.device_attributes

    def _pods(self) -> dict[_Pool, Object]:
        nodes = self._views.nodes.objects()
        return {
            (driver, pod["spec"]["nodeName"]): pod
            for pod in self._views.operand_pods.objects().values()
            for driver in _drivers_of(pod)
            if runs(pod) and pod["spec"]["nodeName"] in nodes
        }

    def _publish(self, pool: _Pool, pod: Object, present: Sequence[Object]) -> None:
        driver, node = catalog().dra_drivers[pool[0]], self._views.nodes.objects()[pool[1]]
        versions = (item["metadata"]["resourceVersion"] for item in (pod, *present))
        policies = self._policies()
        state = (*versions, *map(str, (annotations_of(node), labels_of(node))), *(item.version() for item in policies))
        if self._done.get(pool) == state:
            return
        self._done[pool] = state
        try:
            asked = [item for collection in policies for item in collection.objects().values()]
            devices = devices_of_driver(driver, pod, node, asked)
        except ValueError as problem:
            self._complaints.note(key_of(pod), str(problem))
            return
        self._complaints.note(key_of(pod), "")
        if present and [device for item in present for device in item["spec"].get("devices", ())] == devices:
            return
        # A pool counts once all slices of its newest generation are there.
        last = max((item["spec"]["pool"]["generation"] for item in present), default=0)
        by_name = {item["metadata"]["name"]: item for item in present}
        for item in slices_of(driver.name, node, devices, last + 1):
            self._writer.write(self._views.slices, item, by_name.pop(item["metadata"]["name"], None))
        for item in by_name.values():
            self._writer.delete(item)
        log.info("%s publishes %d devices of %s", node["metadata"]["name"], len(devices), driver.name)

    def _withdraw(self, pools: Mapping[_Pool, Iterable[Object]], now: float) -> float:
        self._gone = {pool: self._gone.get(pool, now) for pool in pools}
        for pool, since in self._gone.items():
            self._done.pop(pool, None)
            if now - since >= WIPED_AFTER_S:
                for item in pools[pool]:
                    self._writer.delete(item)
        return min((max(now, since + WIPED_AFTER_S) for since in self._gone.values()), default=math.inf)


def _drivers_of(pod: Mapping[str, Any]) -> list[str]:
    """The played drivers whose pod it is."""
    operand = labels_of(pod)[OPERAND_LABEL]
    has_both = operand == NVIDIA_GPU and any(item["name"] == _COMPUTE_DOMAINS for item in pod["spec"]["containers"])
    return [driver for driver in PLAYED if driver == operand or (has_both and driver == COMPUTE_DOMAIN)]


def _dranet(pod: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Found]:
    """Every network device but the one with the default route, as far as the filter keeps it (pkg/inventory/db.go)."""
    options = _options(pod)
    moves_ipoib = options.get("move-ib-interfaces", "true") != "false"
    rows = json.loads(annotations_of(node).get(NIC_ADDRESSES_ANNOTATION, "[]"))
    addresses = {row["interface"]: row["address"] for row in rows}
    devices = devices_on(node)
    functions = Counter(device.root_device for device in devices if device.is_vf)
    found: list[Found] = [
        Found(f"pci-{_dashed(device.pci)}", _dranet_attributes(device, functions[device.pci], moves_ipoib, addresses))
        for device in devices
        if not device.default_route
    ]
    text = options.get("filter", _ALL_BUT_VETH)
    try:
        keeps = condition(text)
    except CelUnknownError as problem:
        raise PluginFailureError(f"--filter: {problem}") from None
    for device in (*found, Found("veth-simulated", _VETH)):
        try:
            kept = keeps({"attributes": _as_filtered(device.attributes)})
        except CelRuntimeError:
            kept = True  # the driver publishes what its filter fails on (pkg/filter/filter.go)
        if kept:
            yield device


def _dranet_attributes(
    device: SimulatedDevice, functions: int, moves_ipoib: bool, addresses: Mapping[str, str]
) -> Attributes:
    is_ipoib = device.link_type == "infiniband"
    on_pci: Attributes = {
        "pciAddress": device.pci,
        "numaNode": device.numa_node,
        "resource.kubernetes.io/pcieRoot": device.pci_root,
        "rdma": device.is_rdma,
    }
    if is_ipoib and not moves_ipoib:
        return {**on_pci, "rdmaDevice": device.rdma_device}
    return {
        **on_pci,
        "ifName": device.interface,
        "mtu": device.mtu,
        "encapsulation": device.link_type,
        "alias": "",
        "state": "up",
        "type": "ipoib" if is_ipoib else "device",
        "ipv4": addresses.get(device.interface),
        "sriov": device.total_vfs > 0,
        "sriovVfs": functions if device.total_vfs > 0 else None,
        "isSriovVf": device.is_vf or None,
        "virtual": False,
        "ebpf": False,
    }


def _as_filtered(attributes: Attributes) -> Mapping[str, Mapping[str, object]]:
    """Attributes as DRANET's filter reads them: each with one field, named after its type."""
    fields = {str: "StringValue", int: "IntValue", bool: "BoolValue"}
    return {
        key if "/" in key else f"{DRANET}/{key}": {fields[type(value)]: value}
        for key, value in attributes.items()
        if value is not None
    }


def _nvidia_gpus(node: Mapping[str, Any]) -> Iterator[Found]:
    """Whole GPUs (cmd/gpu-kubelet-plugin/deviceinfo.go); their identifiers are made up, and stay the same on a node."""
    for number, gpu in enumerate(gpus_of(annotations_of(node))):
        attributes: Attributes = {
            "type": "gpu",
            "uuid": f"GPU-{uuid.uuid5(uuid.UUID(node['metadata']['uid']), str(number))}",
            "resource.kubernetes.io/pciBusID": gpu.pci,
            "resource.kubernetes.io/pcieRoot": gpu.pci_root,
            "resource.kubernetes.io/numaNode": gpu.numa_node,
        }
        yield Found(f"gpu-{number}", attributes)


def _channels() -> Iterator[Found]:
    """A channel, the first of 2,048, and a daemon (cmd/compute-domain-kubelet-plugin/driver.go)."""
    for kind in ("channel", "daemon"):
        yield Found(f"{kind}-0", {"type": kind, "id": 0})


def _virtual_functions(
    pod: Mapping[str, Any], node: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]
) -> Iterator[Found]:
    """Virtual functions that a policy of the driver's namespace selects, each with that policy's attributes.

    Of several policies the first by name has a device (pkg/controller/resourcepolicycontroller.go). A filter's
    `drivers` is not looked at, there as here.
    """
    devices = devices_on(node)
    physical = {device.pci: device for device in devices if not device.is_vf}
    own = [item for item in policies if item["metadata"]["namespace"] == pod["metadata"]["namespace"]]
    offered = sorted((item for item in own if item["kind"] == "DeviceAttributes"), key=key_of)
    configs = [
        config
        for policy in sorted((item for item in own if item["kind"] == "SriovResourcePolicy"), key=key_of)
        if _selects_node(policy["spec"].get("nodeSelector"), labels_of(node))
        for config in policy["spec"].get("configs") or ()
    ]
    for device in devices:
        config = next((config for config in configs if device.is_vf and _selects(config, device)), None)
        if config is None:
            continue
        parent = physical[device.root_device]
        attributes: Attributes = {
            "pciAddress": device.pci,
            "PFName": parent.interface,
            "EswitchMode": "legacy",
            "vendor": parent.vendor,
            "deviceID": device.device,
            "pfDeviceID": parent.device,
            "vfID": device.vf_index,
            "pfPciAddress": parent.pci,
            "linkType": _LINK_TYPES[parent.link_type],
            "rdmaCapable": device.is_rdma,
            "k8s.cni.cncf.io/deviceID": device.pci,
            "dra.net/numaNode": -1 if device.numa_node is None else device.numa_node,
            "resource.kubernetes.io/pciBusID": device.pci,
            "resource.kubernetes.io/pcieRoot": parent.pci_root,
        }
        yield Found(_dashed(device.pci), attributes, _added(config, offered, attributes))


def _selects(config: Mapping[str, Any], device: SimulatedDevice) -> bool:
    filters = config.get("resourceFilters") or [{}]
    return any(
        matches(
            device,
            DeviceSelectors(
                vendors=asked.get("vendors"),
                devices=asked.get("devices"),
                pci_addresses=asked.get("pciAddresses"),
                pf_names=asked.get("pfNames"),
                root_devices=asked.get("pfPciAddresses"),
                link_types=_plain_link_types(asked.get("linkType")),
            ),
        )
        for asked in filters
    )


def _plain_link_types(asked: str | None) -> list[str] | None:
    if not asked:
        return None
    return ["ether"] if asked.lower() in ("eth", "ethernet") else ["infiniband"]


def _added(
    config: Mapping[str, Any], offered: Iterable[Mapping[str, Any]], attributes: Attributes
) -> Mapping[str, Object]:
    """Attributes of the DeviceAttributes that a config selects, the last by name first; none of the driver's own."""
    selector, found = config.get("deviceAttributesSelector"), dict[str, Object]()
    for item in offered:
        if selector is not None and _matches_labels(selector, labels_of(item)):
            found.update(item["spec"].get("attributes") or {})
    own = {key if "/" in key else f"{SRIOV}/{key}" for key in attributes}
    return {key: value for key, value in found.items() if key not in own}


def _selects_node(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    terms = (selector or {}).get("nodeSelectorTerms")
    return not terms or any(_matches_labels(term, labels) for term in terms)


def _matches_labels(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    if not selector.get("matchLabels", {}).items() <= labels.items():
        return False
    for asked in selector.get("matchExpressions") or ():
        key, values = asked["key"], asked.get("values") or ()
        holds = key in labels if asked["operator"] in ("Exists", "DoesNotExist") else labels.get(key) in values
        if holds is (asked["operator"] in ("NotIn", "DoesNotExist")):
            return False
    return True


def _options(pod: Mapping[str, Any]) -> dict[str, str]:
    """The options of the pod's containers that are given as `--name=value`."""
    words = [word for item in pod["spec"]["containers"] for word in (*item.get("command", ()), *item.get("args", ()))]
    pairs = (word.removeprefix("--").partition("=") for word in words if word.startswith("--"))
    return {name: value for name, _, value in pairs}


def _dashed(pci: str) -> str:
    return pci.replace(":", "-").replace(".", "-")
