"""What the NIC Configuration Operator and the Spectrum-X operator make of their objects: pure functions.

The first splits the NICs of a node over planes and names their functions; the second makes policies, networks and a
pool of nodes for the SR-IOV operator, which really runs. The pattern is the branch network-operator-26.7.x of both:
nic-configuration-operator 3f85cf1 (internal/controller, pkg/udev, pkg/maintenance) and spectrum-x-operator 47f931e
(internal/controller). Fields that the SR-IOV operator of the sandbox does not know (devlinkParams and groupingPolicy,
which NVIDIA's fork has) are dropped by the API server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from gpu_fabric.k8s.spectrum_x import RAILS_LABEL
from gpu_fabric.plan.case import function_of
from .device_plugins import labels_of, runs
from .inventory import SimulatedDevice, virtual_function_counts, with_virtual_functions
from .operands import OPERAND_LABEL, PLAYED_LABEL, owner_reference, with_revision

Object = dict[str, Any]

NIC_DAEMON, FLOW_CONTROLLER = "nic-configuration-daemon", "spectrum-x-flowcontroller"
"""Operands of the Network Operator's policy: what configures a node's NICs, and the operator of its rails."""

SPECTRUM_X = "spectrum-x-operator"
"""Whose the objects are that are made of a SpectrumXRailPoolConfig."""

WAIT_LABEL = "network.nvidia.com/operator.nic-configuration.wait"
"""On a node with the daemon: `true` until its NICs are as the templates want them, then `false`."""

FINALIZER = "spectrumx.nvidia.com/spectrumxrailpoolconfig"
XPLANE = "xplane-ds"

_SRIOV = "sriovnetwork.openshift.io/v1"
_DOCA = "doca"
_TRAFFIC_CLASS = 96


def configured(
    devices: Sequence[SimulatedDevice],
    labels: Mapping[str, str],
    configurations: Iterable[Object],
    namings: Iterable[Object],
) -> tuple[SimulatedDevice, ...]:
    """The devices of a node with these labels, as the templates want its NICs; of two for a NIC neither counts.

    A NIC has one physical function for each plane. Without a naming its functions keep the NIC's name.
    """
    wanted = [each["spec"] for each in configurations if _selects(each, labels)]
    named = [each["spec"] for each in namings if _selects(each, labels)]
    names = _names(named[0]) if len(named) == 1 else {}
    physical = {device.pci: device for device in devices if not device.is_vf}
    split: dict[str, SimulatedDevice] = {}
    for device in physical.values():
        if device.pci in split:
            continue
        matching = [spec for spec in wanted if _is_meant(spec["nicSelector"], device)]
        if len(matching) != 1:
            split[device.pci] = device
            continue
        template = matching[0]["template"]
        for plane in range(_planes(template)):
            pci = function_of(device.pci, plane)
            present = physical.get(pci, device)
            changes = {"pci": pci, "root_device": pci, "total_vfs": template["numVfs"], **names.get(pci, {})}
            split[pci] = present.model_copy(update=changes)
    return with_virtual_functions(tuple(split.values()), virtual_function_counts(devices))


def waiting(node: Mapping[str, Any], *, changes: bool) -> dict[str, str | None]:
    """The label by which the SR-IOV operator's daemon waits for the NICs, where it is to change.

    The daemon sets it when it starts and when it asks for a maintenance of the node, and takes it back afterwards.
    """
    present = labels_of(node).get(WAIT_LABEL)
    wanted = "true" if changes or present is None else "false"
    return {} if present == wanted else {WAIT_LABEL: wanted}


def _selects(item: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    selector: dict[str, str] = item["spec"].get("nodeSelector") or {}
    return selector.items() <= labels.items()


def _is_meant(selector: Mapping[str, Any], device: SimulatedDevice) -> bool:
    addresses = selector.get("pciAddresses")
    return device.device == selector["nicType"] and (not addresses or device.pci in addresses)


def _planes(template: Mapping[str, Any]) -> int:
    optimized = template.get("spectrumXOptimized") or {}
    return int(optimized["numberOfPlanes"]) if optimized.get("enabled") else 1


def _names(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The names of a node's interfaces and RDMA devices, by the PCI address of their function.

    Without %plane_id% in the prefix of RDMA devices the functions of a NIC share one.
    """
    names, nic = {}, 0
    for rail, addresses in enumerate(spec["railPciAddresses"]):
        for position, address in enumerate(addresses):
            for function in range(spec["pfsPerNic"]):
                ids = {"nic_id": nic, "rail_id": rail, "plane_id": position * spec["pfsPerNic"] + function}
                interface = _filled(spec["netDevicePrefix"], ids)
                rdma = spec.get("rdmaDevicePrefix")
                names[function_of(address, function)] = {
                    "interface": interface,
                    "root_interface": interface,
                    **({"rdma_device": _filled(rdma, ids)} if rdma else {}),
                }
            nic += 1
    return names


def _filled(prefix: str, ids: Mapping[str, int]) -> str:
    for name, number in ids.items():
        prefix = prefix.replace(f"%{name}%", str(number))
    return prefix


def controlled_nodes(pods: Iterable[Mapping[str, Any]]) -> dict[str, Object]:
    """The running pods of the Spectrum-X operator by their nodes; each speaks for its node alone."""
    ours = (pod for pod in pods if labels_of(pod).get(OPERAND_LABEL) == FLOW_CONTROLLER and runs(pod))
    return {pod["spec"]["nodeName"]: dict(pod) for pod in ours}


def rail_objects(config: Object, pools: Mapping[str, Object], xplane: str | None) -> list[Object]:
    """Everything that is made of a SpectrumXRailPoolConfig; `pools` are the CIDRPools of its namespace by name.

    `xplane` is the image of the service that moves flows between the planes of NICs that balance the load themselves;
    None while a selected node has no state of the SR-IOV operator's.
    """
    found = [_pool_config(config)]
    for rail in config["spec"]["railTopology"]:
        found += _rail(config, rail, pools.get(rail.get("cidrPoolRef", "")))
    is_split = any(_is_multiplane(rail) for rail in config["spec"]["railTopology"])
    if is_split and xplane is not None:
        found.append(_xplane(config, xplane))
    return [with_revision(item) for item in found]


def _rail(config: Object, rail: Object, pool: Object | None) -> Iterator[Object]:
    spec, labels = config["spec"], {"spectrumx.nvidia.com/rail-topology-name": rail["name"]}
    first, *others = rail["nicSelector"]["pfNames"]
    if others:
        labels["spectrumx.nvidia.com/multiplane"] = "true"
    yield _policy(config, rail, rail["name"], [first], spec["numVfs"], labels)
    if others:
        # The functions of the other planes are made and not offered, since no resource may be without a name.
        yield _policy(config, rail, f"{rail['name']}-unused", others, 1, labels)
    ipam = f'{{"type": "nv-ipam","poolName": "{rail["cidrPoolRef"]}", "poolType": "cidrpool"}}'
    plugins = (
        f'{{"type": "rdma", "rdmaQoS": {{"tos": {_TRAFFIC_CLASS},"tc": {_TRAFFIC_CLASS}}}, '
        f'"args": {{"cni": {{"rdmaDeviceName": "rdma_{rail["name"]}"}}}}}}'
    )
    if pool is not None and ip_network(pool["spec"]["cidr"]).version == 6:
        plugins += f', {{"type": "vrf", "vrfname": "{rail["name"]}"}}'
    yield {
        **_head("OVSNetwork", config, rail["name"], labels),
        "spec": {
            "resourceName": rail["name"],
            "interfaceType": _DOCA,
            "networkNamespace": spec["networkNamespace"],
            "mtu": rail["mtu"],
            "ipam": ipam,
            "metaPlugins": plugins,
            **({"bridge": f"br-rail-{rail['name']}"} if others else {}),
        },
    }


def _policy(
    config: Object, rail: Object, name: str, interfaces: list[str], functions: int, labels: Mapping[str, str]
) -> Object:
    balances = _is_multiplane(rail)
    parameters = ("esw_multiport", "true"), ("flow_steering_mode", "hmfs")
    uplink = {"interface": {"type": _DOCA, "mtuRequest": rail["mtu"]}}
    bridge = {"groupingPolicy": "perPF", "ovs": {"bridge": {"datapathType": "netdev"}, "uplink": uplink}}
    return {
        **_head("SriovNetworkNodePolicy", config, name, labels),
        "spec": {
            "resourceName": name,
            "mtu": rail["mtu"],
            "numVfs": functions,
            "nicSelector": {"pfNames": interfaces},
            "nodeSelector": config["spec"].get("nodeSelector") or {},
            "isRdma": functions > 0,
            "eSwitchMode": "switchdev",
            "devlinkParams": {
                "params": [
                    {"name": key, "value": value, "cmode": "runtime", "applyOn": "PF"}
                    for key, value in parameters[0 if balances else 1 :]
                ]
            },
            **({} if balances or not functions else {"bridge": bridge}),
        },
    }


def _pool_config(config: Object) -> Object:
    options = {"doca-init": "true", "hw-offload": "true", "hw-offload-ct-size": "0", "max-idle": "300000"}
    unavailable = config["spec"].get("maxUnavailable")
    return {
        **_head("SriovNetworkPoolConfig", config, config["metadata"]["name"], {}),
        "spec": {
            "nodeSelector": {"matchLabels": config["spec"].get("nodeSelector") or {}},
            "rdmaMode": "exclusive",
            **({} if unavailable is None else {"maxUnavailable": unavailable}),
            "ovsHardwareOffloadConfig": {"ovsConfig": options},
        },
    }


def _xplane(config: Object, image: str) -> Object:
    labels = {"name": "xplane"}
    pod = {
        "hostNetwork": True,
        "nodeSelector": config["spec"].get("nodeSelector") or {},
        "containers": [{"name": "xplane", "image": image, "securityContext": {"privileged": True}}],
    }
    metadata = {"labels": {"tier": "node", "app": "xplane", **labels}}
    head = _head("DaemonSet", config, XPLANE, metadata["labels"], api_version="apps/v1")
    head["metadata"]["ownerReferences"] = [owner_reference(config)]
    return {**head, "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": metadata, "spec": pod}}}


def _head(kind: str, config: Object, name: str, labels: Mapping[str, str], api_version: str = _SRIOV) -> Object:
    own = {RAILS_LABEL: config["metadata"]["name"]} if api_version == _SRIOV else {}
    marked = {**own, **labels, PLAYED_LABEL: SPECTRUM_X}
    metadata = {"name": name, "namespace": config["metadata"]["namespace"], "labels": marked}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _is_multiplane(rail: Mapping[str, Any]) -> bool:
    return len(rail["nicSelector"]["pfNames"]) > 1


def selected_nodes(config: Mapping[str, Any], nodes: Mapping[str, Object]) -> list[str]:
    """The names of the nodes that a SpectrumXRailPoolConfig selects."""
    return sorted(name for name, node in nodes.items() if _selects(config, labels_of(node)))


def rail_pool_patch(
    config: Mapping[str, Any], selected: Sequence[str], speaking: Iterable[str], states: Mapping[str, Object]
) -> Object:
    """The merge patch of a SpectrumXRailPoolConfig's status; empty where nothing has changed.

    A node is as the SR-IOV operator's state of it says, if a pod of the operator runs there; what others said before
    stays. `states` are by the node's name, in the namespace of the SpectrumXRailPoolConfig.
    """
    generation, status = config["metadata"]["generation"], config.get("status") or {}
    entries = {entry["name"]: entry for entry in status.get("nodeStates") or ()}
    for name in sorted({*speaking} & {*selected}):
        entries[name] = {"name": name, "state": _state(states.get(name)), "observedGeneration": generation}
    current = [
        entries[name]["state"] if entries.get(name, {}).get("observedGeneration") == generation else "InProgress"
        for name in selected
    ]
    whole = "Failed" if "Failed" in current else "Succeeded" if {*current} == {"Succeeded"} else "InProgress"
    body = {"syncStatus": whole, "observedGeneration": generation, "nodeStates": [*entries.values()]}
    return {} if all(status.get(key) == value for key, value in body.items()) else {"status": body}


def _state(state: Mapping[str, Any] | None) -> str:
    said = ((state or {}).get("status") or {}).get("syncStatus")
    has_interfaces = bool(((state or {}).get("spec") or {}).get("interfaces"))
    if said == "Failed" or (said == "Succeeded" and has_interfaces):
        return str(said)
    return "InProgress"


def finalizer_patch(config: Mapping[str, Any]) -> Object:
    """The merge patch by which the operator holds an object that lasts and lets go of one that is deleted."""
    metadata = config["metadata"]
    others = [name for name in metadata.get("finalizers") or () if name != FINALIZER]
    wanted = others if "deletionTimestamp" in metadata else [*others, FINALIZER]
    return {} if wanted == (metadata.get("finalizers") or []) else {"metadata": {"finalizers": wanted}}


def xplane_image(policies: Iterable[Mapping[str, Any]]) -> str | None:
    """The image of the service xPlane that a policy names."""
    sections = ((policy["spec"].get("spectrumXOperator") or {}).get("xPlane") for policy in policies)
    section = next((each for each in sections if each), None)
    return None if section is None else f"{section['repository']}/{section['image']}:{section['version']}"
