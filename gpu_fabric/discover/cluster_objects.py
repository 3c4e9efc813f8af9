"""Objects of a cluster as `kubectl get -o json` prints them: nodes, and what operators and DRA drivers saw on each.

Source: the definitions of Node and ServiceCIDR (Kubernetes), SriovNetworkNodeState (sriov-network-operator, in Network
Operator 26.4.1) and NicDevice (nic-configuration-operator, api/v1alpha1/nicdevice_types.go), the configuration that
kubeadm keeps in kube-system, and the labels of NVIDIA's GPU feature discovery and of AMD's node labeller. Attributes of
ResourceSlices: dranet 1.4.0, pkg/inventory/db.go; dra-driver-sriov cd9404f, pkg/devicestate/discovery.go;
dra-driver-nvidia-gpu 0.4.1, cmd/gpu-kubelet-plugin/deviceinfo.go.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Any

import yaml

from gpu_fabric.base.api_objects import condition, mapping, rows
from gpu_fabric.base.grammar import shown
from gpu_fabric.catalog import catalog
from gpu_fabric.discover.devices import device_table
from gpu_fabric.discover.facts import DiscoveryError, Observation, Statements
from gpu_fabric.discover.text import Output, pci_address
from gpu_fabric.k8s.resource_slices import Device, devices_of

COMMAND = "kubectl get nodes,sriovnetworknodestates.sriovnetwork.openshift.io -A -o json"
PATHS = {
    "nodes": "/api/v1/nodes",
    "what the SR-IOV operator saw": "/apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates",
    "NicDevices": "/apis/configuration.net.nvidia.com/v1alpha1/nicdevices",
    "ResourceSlices": "/apis/resource.k8s.io/v1/resourceslices",
    "NicClusterPolicies": "/apis/mellanox.com/v1alpha1/nicclusterpolicies",
    "the range of services": "/apis/networking.k8s.io/v1/servicecidrs",
    "the range of services before Kubernetes 1.33": "/apis/networking.k8s.io/v1beta1/servicecidrs",
    "kubeadm's configuration": "/api/v1/namespaces/kube-system/configmaps/kubeadm-config",
}
"""What is read of a cluster, with the paths of the Kubernetes API; all but the nodes may lack."""

# A network function of any sort, where the type of its link is not known.
_CLASSES = {"ether": "0200", "infiniband": "0207", "": "0280"}
_LINK_TYPES = {"ETH": "ether", "ETHER": "ether", "ETHERNET": "ether", "IB": "infiniband", "INFINIBAND": "infiniband"}
_SPEED = re.compile(r"([0-9]{1,9}) ?Mb/s")
_ID = re.compile(r"[0-9a-f]{4}")
_MOST_GPUS = 64
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_VERSION = re.compile(r"v(1\.[0-9]{1,2})\.")
_HOST_NAME = "kubernetes.io/hostname"
_OF_ITS_STATE = re.compile(r"node\.kubernetes\.io/|node\.cloudprovider\.kubernetes\.io/|ToBeDeletedBy")
# Drivers of which the attributes are known.
_DRANET, _SRIOV, _GPUS = "dra.net", "sriovnetwork.k8snetworkplumbingwg.io", "gpu.nvidia.com"
_TELLING_LABELS = (INSTANCE_TYPE, "nvidia.com/gpu.product", "nvidia.com/gpu.machine", "amd.com/gpu.product-name")
"""Labels that say what a node is, best first."""


@dataclass(frozen=True)
class _Nic:
    """A physical function; `virtual` are its virtual ones by address and device id, `root` is its PCI root.

    Nodes are alike whatever the speed of their links is, since a link that is down has none, and whether or not a DRA
    driver has published what an operator saw.
    """

    pci: str
    interface: str = ""
    vendor: str = ""
    device: str = ""
    driver: str = ""
    link_type: str = ""
    mtu: int | None = None
    virtual: tuple[tuple[str, str], ...] = ()
    rdma_device: str = ""
    is_rdma: bool = field(default=False, compare=False)
    root: str = field(default="", compare=False)
    speed: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class _Gpu:
    """A GPU that a DRA driver publishes: its PCI address, its name, its memory in MiB, its PCI root."""

    pci: str
    name: str
    memory: int | None
    root: str


@dataclass(frozen=True)
class _Machine:
    """What equal nodes have in common; `published` are the GPUs of a DRA driver, by its numbers."""

    vendor: str
    product: str
    gpus: int
    memory: int | None
    instance_type: str
    nics: tuple[_Nic, ...]
    published: tuple[_Gpu, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.gpus} x {self.product or f'GPUs of {self.vendor}'}, {len(self.nics)} NICs"


@dataclass(frozen=True)
class Group:
    """Equal GPU nodes, with their objects by name; `seen` are the NICs of each."""

    machine: _Machine
    nodes: Mapping[str, Mapping[str, Any]]
    seen: Mapping[str, tuple[_Nic, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(sorted(self.nodes))

    @property
    def node_to_look_at(self) -> str | None:
        """The first node that is ready; None if none is."""
        return next((name for name in self.names if _is_ready(self.nodes[name])), None)

    def __str__(self) -> str:
        return f"{self.machine}: {_some(self.names)}"


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:4])}{' …' if len(names) > 4 else ''}"


def is_output(output: Output) -> bool:
    """Whether a text looks like objects of a cluster."""
    return re.match(r'\s*\{\s*"apiVersion"\s*:', output.text) is not None


def groups_in(output: Output) -> tuple[Group, ...]:
    """The groups of equal GPU nodes, in the order of their first names.

    Raises:
        DiscoveryError: not such a list, or no GPU node in it.
    """
    machines: dict[_Machine, list[str]] = defaultdict(list)
    items = _items(output)
    states = {_name(item): item for item in items if item.get("kind") == "SriovNetworkNodeState"}
    nodes = {_name(item): item for item in items if item.get("kind") == "Node"}
    devices: dict[str, list[Device]] = defaultdict(list)
    for device in devices_of(item for item in items if item.get("kind") == "ResourceSlice"):
        devices[device.node].append(device)
    seen = _filled({name: _nics_of(name, states.get(name, {}), items, devices[name]) for name in nodes})
    for name, node in nodes.items():
        if (machine := _machine(node, seen[name], tuple(_published_gpus(devices[name])))) is not None:
            machines[machine].append(name)
    if not machines:
        output.refuse(1, "no node with GPUs is among these objects", f"give the whole output of `{COMMAND}`")
    return tuple(
        Group(machine, {name: nodes[name] for name in names}, {name: seen[name] for name in names})
        for machine, names in sorted(machines.items(), key=lambda entry: min(entry[1]))
    )


def read(output: Output, group: str | None = None) -> Observation:
    """The GPUs and NICs of one group of equal nodes, with the nodes' names and the cluster's ranges.

    Raises:
        DiscoveryError: not such a list, no GPU node in it, or several groups of which none is named.
    """
    groups, items = groups_in(output), _items(output)
    chosen = _chosen(output, groups, group)
    machine, names = chosen.machine, chosen.names
    found, notes = Statements(output.file), list[str]()
    found.add(0, "node", "", names=names, gpuName=machine.product, instanceType=machine.instance_type)
    _add_node_facts(found, chosen, len(groups), items, notes)
    _add_ranges(found, items)
    published = machine.published if len(machine.published) == machine.gpus else ()
    for number in range(machine.gpus):
        found.add(0, "gpu", str(number), listed=1, memory=machine.memory, vendor=machine.vendor)
        if published:
            found.add(0, "gpu", str(number), pci=published[number].pci)
            found.add(0, "pci", published[number].pci, root=published[number].root)
    for place, nic in enumerate(machine.nics):
        for address, device, driver in ((nic.pci, nic.device, nic.driver), *((*each, None) for each in nic.virtual)):
            # The operators list network functions alone.
            found.add(0, "pci", address, **{"class": _CLASSES[nic.link_type]})
            found.add(0, "pci", address, vendor=nic.vendor, device=device, driver=driver)
        found.add(0, "pci", nic.pci, root=nic.root, rdma=int(nic.is_rdma) or None)
        speed = _speed_of(nic, [chosen.seen[name][place] for name in names], names, notes)
        if nic.interface:
            found.add(0, "interface", nic.interface, pci=nic.pci, linkType=nic.link_type, mtu=nic.mtu, speed=speed)
        if nic.rdma_device:
            found.add(0, "rdma", nic.rdma_device, pci=nic.pci, interface=nic.interface)
    if not machine.nics:
        found.add(0, "node", "", unseen=_some(names))
    if any(nic.root for nic in machine.nics) and not any(nic.speed for nics in chosen.seen.values() for nic in nics):
        notes.append(
            "ResourceSlices state no link rate, firmware or PCI switch; a look at a node has them (gpu-fabric discover "
            "--look)"
        )
    return Observation(tuple(found.found), notes=tuple(notes))


def _speed_of(nic: _Nic, alike: list[_Nic], names: tuple[str, ...], notes: list[str]) -> int | None:
    """The speed that this NIC has on all nodes on which its link is up; None where it is known of none, or differs."""
    speeds = {each.speed for each in alike} - {None}
    down = [name for name, each in zip(names, alike, strict=True) if each.speed is None]
    if speeds and down:
        notes.append(f"no link at {nic.pci} on {_some(down)}")
    if len(speeds) > 1:
        notes.append(f"links at {nic.pci} of several speeds: {', '.join(map(str, sorted(filter(None, speeds))))} Gb/s")
    return speeds.pop() if len(speeds) == 1 else None


def _add_node_facts(
    found: Statements, group: Group, groups: int, items: list[dict[str, Any]], notes: list[str]
) -> None:
    nodes = list(group.nodes.values())
    versions = {_VERSION.match(_text(mapping(node, "status", "nodeInfo").get("kubeletVersion"))) for node in nodes}
    known = {each[1] for each in versions if each}
    found.add(0, "node", "", kubernetes=known.pop() if len(known) == 1 and None not in versions else None)
    found.add(0, "node", "", taints=_shared(map(_taints, nodes)))
    own = _label_of_their_own(group, [item for item in items if item.get("kind") == "Node"])
    found.add(0, "node", "", labels=own, groups=groups)
    if groups > 1 and not own:
        notes.append("no label is on these nodes alone; give them one, and write it as the pool's label")
    if away := [_name(node) for node in nodes if mapping(node, "spec").get("unschedulable") is True]:
        notes.append(f"{_some(sorted(away))}: cordoned, and counted among the nodes")
    if away := sorted(name for name, node in group.nodes.items() if not _is_ready(node)):
        notes.append(f"{_some(away)}: not ready, and counted among the nodes")
    policies = sorted(_name(item) for item in items if item.get("kind") == "NicClusterPolicy")
    if policies:
        notes.append(f"the cluster has NVIDIA's Network Operator with NicClusterPolicy {', '.join(policies)}")


def _taints(node: Mapping[str, Any]) -> list[str]:
    """A node's taints as kubectl writes them, without those of its state."""
    return [
        f"{_text(row.get('key'))}={_text(row.get('value'))}:{_text(row.get('effect'))}"
        for row in rows(node, "spec", "taints")
        if not _OF_ITS_STATE.match(_text(row.get("key")))
    ]


def _shared(of_each: Iterable[list[str]]) -> tuple[str, ...] | None:
    """What all nodes have, in the order of the first; None if nothing."""
    first, *others = of_each
    return tuple(each for each in first if all(each in other for other in others)) or None


def _label_of_their_own(group: Group, nodes: list[dict[str, Any]]) -> tuple[str, ...] | None:
    """A label that all nodes of a group have and no other node has, as key=value; None if there is none."""
    labels = [_labels(node) for node in group.nodes.values()]
    others = [_labels(node) for node in nodes if _name(node) not in group.nodes]
    own = [
        (key, value)
        for key, value in labels[0].items()
        if all(each.get(key) == value for each in labels) and not any(each.get(key) == value for each in others)
    ]
    preferred = {key: place for place, key in enumerate(_TELLING_LABELS)}
    own.sort(key=lambda label: (preferred.get(label[0], len(preferred)), label))
    return next(((f"{key}={value}",) for key, value in own if key != _HOST_NAME), None)


def _labels(node: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in mapping(node, "metadata", "labels").items() if isinstance(value, str)}


def _add_ranges(found: Statements, items: list[dict[str, Any]]) -> None:
    """The cluster's ranges, as far as one object or all nodes state them."""
    kubeadm = _kubeadm_networking(items)
    nodes = [item for item in items if item.get("kind") == "Node"]
    services = [
        cidr
        for item in items
        if item.get("kind") == "ServiceCIDR"
        for cidr in _listed(mapping(item, "spec").get("cidrs"))
        if _name(item) == "kubernetes"
    ]
    of_nodes = [_listed(mapping(node, "spec").get("podCIDRs")) for node in nodes]
    pods = _first_network(_text(kubeadm.get("podSubnet")).split(","))
    pods_by = "as kubeadm's configuration says"
    if pods is None and of_nodes and all(of_nodes):
        pods = _covering(cidr for listed in of_nodes for cidr in listed)
        pods_by = f"CHOOSE: the cluster's whole range; the podCIDRs of {len(nodes)} nodes are in this part of it"
    found.add(0, "node", "", pods=pods, podsBy=pods_by if pods else None)
    by_api = _first_network(services)
    stated = by_api or _first_network(_text(kubeadm.get("serviceSubnet")).split(","))
    found.add(0, "node", "", services=stated)
    addresses = sorted({address for node in nodes if (address := _internal_address(node))}, key=ip_address)
    found.add(0, "node", "", addresses=tuple(addresses) or None)


def _kubeadm_networking(items: list[dict[str, Any]]) -> Mapping[str, Any]:
    for item in items:
        if item.get("kind") == "ConfigMap" and _name(item) == "kubeadm-config":
            try:
                written = yaml.safe_load(_text(mapping(item, "data").get("ClusterConfiguration")))
            except (yaml.YAMLError, RecursionError):
                return {}
            return mapping(written, "networking")
    return {}


def _listed(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _first_network(written: Iterable[str]) -> str | None:
    """The first IPv4 range, which the fabric has too; None if there is none."""
    return next((each for text in written if (each := _network(text)) is not None), None)


def _network(text: str) -> str | None:
    try:
        network = ip_network(text.strip())
    except ValueError:
        return None
    return str(network) if network.version == 4 else None


def _covering(written: Iterable[str]) -> str | None:
    """The smallest range that has all IPv4 ranges in it."""
    networks = [IPv4Network(each) for text in written if (each := _network(text)) is not None]
    if not networks:
        return None
    covering = networks[0]
    while not all(each.subnet_of(covering) for each in networks):
        covering = covering.supernet()
    return str(covering)


def _internal_address(node: dict[str, Any]) -> str | None:
    for row in rows(node, "status", "addresses"):
        if row.get("type") == "InternalIP":
            try:
                return str(ip_address(_text(row.get("address")))) if ":" not in _text(row.get("address")) else None
            except ValueError:
                return None
    return None


def _is_ready(node: Mapping[str, Any]) -> bool:
    """Whether a node is Ready; one whose object has no conditions counts as ready."""
    return bool(condition(node, "Ready").get("status", "True") == "True")


def _items(output: Output) -> list[dict[str, Any]]:
    remedy = f"give the whole output of `{COMMAND}`"
    document = output.json(remedy)
    items = document.get("items", [document]) if isinstance(document, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        output.refuse(1, "this is not a list of objects", remedy)
    return items


def _chosen(output: Output, groups: tuple[Group, ...], wanted: str | None) -> Group:
    if wanted is None and len(groups) == 1:
        return groups[0]
    lines = [f"  {number}: {each}" for number, each in enumerate(groups, start=1)]
    if wanted is None:
        raise DiscoveryError(
            "\n".join(
                [
                    f"{output.file}: {len(groups)} groups of nodes; name one by its number with --group, or of a live "
                    "cluster all of them with --group all:",
                    *lines,
                ]
            )
        )
    if wanted not in (str(number) for number in range(1, len(groups) + 1)):
        raise DiscoveryError("\n".join([f"{output.file}: no group {shown(wanted)}; --group is one of:", *lines]))
    return groups[int(wanted) - 1]


def _machine(node: dict[str, Any], nics: tuple[_Nic, ...], gpus: tuple[_Gpu, ...]) -> _Machine | None:
    labels, capacity = _labels(node), mapping(node, "status", "capacity")
    for vendor in ("nvidia", "amd"):
        # The label counts GPUs, where the resource counts shares of them, or is missing where claims take their place.
        count = _number(labels.get(f"{vendor}.com/gpu.count")) or _number(capacity.get(f"{vendor}.com/gpu"))
        published = gpus if vendor == "nvidia" else ()
        count = count or len(published)
        if count:
            product = labels.get(f"{vendor}.com/gpu.product") or labels.get(f"{vendor}.com/gpu.product-name") or ""
            product = product or (published[0].name if published else "")
            memory = (
                _number(labels.get("nvidia.com/gpu.memory")) or (published[0].memory if published else None) or None
            )
            # What feature discovery adds where GPUs are shared.
            product = product.removesuffix("-SHARED")
            return _Machine(vendor, product, min(count, _MOST_GPUS), memory, _machine_type(labels), nics, published)
    return None


def _machine_type(labels: Mapping[str, str]) -> str:
    """The machine type by the label of a cloud's own, or by the usual one; empty without either."""
    own = (cloud.machine_label for cloud in catalog().clouds.values() if cloud.machine_label != INSTANCE_TYPE)
    return next((labels[key] for key in (*own, INSTANCE_TYPE) if key is not None and key in labels), "")


def _nics_of(
    node: str, state: dict[str, Any], items: list[dict[str, Any]], devices: Sequence[Device]
) -> tuple[_Nic, ...]:
    """What operators and DRA drivers saw on a node, each NIC once, by address; operators know more of it."""
    nics = {nic.pci: nic for nic in _published_nics(devices)}
    for nic in _of_state(state):
        nics[nic.pci] = replace(nic, root=nics[nic.pci].root) if nic.pci in nics else nic
    for item in items:
        status = mapping(item, "status")
        if item.get("kind") != "NicDevice" or status.get("node") != node:
            continue
        for port in rows(status, "ports"):
            address = pci_address(_text(port.get("pci")))
            if address is None:
                continue
            # The operator of NicDevices looks after NVIDIA's NICs alone.
            nic = nics.get(address) or _Nic(address, vendor="15b3")
            nics[address] = replace(
                nic,
                interface=nic.interface or _text(port.get("networkInterface")),
                device=nic.device or _id(status.get("type")),
                rdma_device=_text(port.get("rdmaInterface")),
            )
    return tuple(nics[address] for address in sorted(nics))


def _published_nics(devices: Sequence[Device]) -> Iterator[_Nic]:
    """Physical functions that DRANET publishes, and those of the virtual ones that the SR-IOV driver publishes."""
    physical: dict[str, _Nic] = {}
    for device in devices:

        def stated(name: str, device: Device = device) -> Any:
            return device.facts.attributes.get(f"{device.id.driver}/{name}", "")

        root = device.text("resource.kubernetes.io/pcieRoot")
        link = _LINK_TYPES.get(str(stated("encapsulation") or stated("linkType")).upper(), "")
        if device.id.driver == _DRANET and (address := pci_address(str(stated("pciAddress")))):
            vendor = device_table().vendor_of(str(stated("pciVendor")))
            row = device_table().nic_printed(vendor, str(stated("pciDevice")))
            mtu = stated("mtu") if isinstance(stated("mtu"), int) else None
            if stated("isSriovVf") is not True:
                yield _Nic(
                    pci=address, interface=str(stated("ifName")), vendor=vendor or "", device=row.device if row else "",
                    link_type=link, mtu=mtu or None, rdma_device=str(stated("rdmaDevice")),
                    is_rdma=stated("rdma") is True, root=root,
                )  # fmt: skip
        elif device.id.driver == _SRIOV and (address := pci_address(str(stated("pfPciAddress")))):
            nic = physical.get(address) or _Nic(
                pci=address, interface=str(stated("PFName")), vendor=_id(stated("vendor")),
                device=_id(stated("pfDeviceID")), link_type=link, is_rdma=stated("rdmaCapable") is True, root=root,
            )  # fmt: skip
            own = pci_address(str(stated("pciAddress")))
            more = ((own, _id(stated("deviceID"))),) if own else ()
            physical[address] = replace(nic, virtual=(*nic.virtual, *more))
    yield from physical.values()


def _published_gpus(devices: Sequence[Device]) -> Iterator[_Gpu]:
    """The whole GPUs that NVIDIA's driver publishes, in the order of its numbers."""
    whole = [device for device in devices if device.text(f"{_GPUS}/type") == "gpu"]
    for device in sorted(whole, key=lambda device: (len(device.id.name), device.id.name)):
        if address := pci_address(device.text("resource.kubernetes.io/pciBusID")):
            memory = re.fullmatch(r"([0-9]{1,6})(Mi|Gi)", device.facts.capacity.get(f"{_GPUS}/memory", ""))
            yield _Gpu(
                pci=address,
                name=device.text(f"{_GPUS}/productName"),
                memory=int(memory[1]) * (1024 if memory[2] == "Gi" else 1) if memory else None,
                root=device.text("resource.kubernetes.io/pcieRoot"),
            )


def _filled(seen: dict[str, tuple[_Nic, ...]]) -> dict[str, tuple[_Nic, ...]]:
    """What DRANET does not publish of a NIC that is in a pod, from a node with NICs at the same addresses."""
    known = {(tuple(one.pci for one in nics), nic.pci): nic for nics in seen.values() for nic in nics if nic.interface}
    return {
        name: tuple(
            replace(known.get((tuple(one.pci for one in nics), nic.pci), nic), root=nic.root)
            if nic.root and not nic.interface and not nic.rdma_device
            else nic
            for nic in nics
        )
        for name, nics in seen.items()
    }


def _of_state(state: dict[str, Any]) -> Iterator[_Nic]:
    for entry in rows(state, "status", "interfaces"):
        address = pci_address(_text(entry.get("pciAddress")))
        if address is None:
            continue
        speed = _SPEED.fullmatch(_text(entry.get("linkSpeed")))
        yield _Nic(
            pci=address,
            interface=_text(entry.get("name")),
            vendor=_id(entry.get("vendor")),
            device=_id(entry.get("deviceID")),
            driver=_text(entry.get("driver")),
            link_type=_LINK_TYPES.get(_text(entry.get("linkType")).upper(), ""),
            mtu=_number(entry.get("mtu")) or None,
            virtual=tuple(_virtual(rows(entry, "Vfs"))),
            speed=int(speed[1]) // 1000 or None if speed else None,
        )


def _virtual(functions: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for entry in functions:
        if (address := pci_address(_text(entry.get("pciAddress")))) is not None:
            yield address, _id(entry.get("deviceID"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name(item: Mapping[str, Any]) -> str:
    return _text(mapping(item, "metadata").get("name"))


def _number(value: Any) -> int:
    """A count, which labels and resources have as text; 0 for anything else."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _id(value: Any) -> str:
    text = _text(value).lower().removeprefix("0x")
    return text if _ID.fullmatch(text) else ""
