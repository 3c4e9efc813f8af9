"""One record of a node, from the statements of all files; what they contradict each other in is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpu_fabric.catalog.shape import LINE_RATE_LIMIT, LinkType, Vendor
from gpu_fabric.discover.devices import NicDevice, device_table, gpu_memory, gpu_model, gpu_vendor, is_gpu
from gpu_fabric.discover.facts import CpuElement, DiscoveryError, Observation, Origin, Statement, Subject, Value

_LINKS = {("rdma", "pci"): "pci", ("rdma", "interface"): "interface", ("interface", "pci"): "pci"}
"""The fields whose value names another subject: the same NIC."""
_ETHERNET, _INFINIBAND = "0200", "0207"
_BOND = "_bond_"
"""What mlx5 has in the name of the one RDMA device of two ports in a bond."""
_PATH_NAME = re.compile(r"(?:en|ib|roce)(?:P([0-9]{1,5}))?p([0-9]{1,3})s([0-9]{1,2})(?:f([0-9]))?(?:np[0-9]|d[0-9])?")
_WORDS = {
    "pci": "PCI address",
    "device": "device id",
    "vendor": "vendor id",
    "mtu": "MTU",
    "speed": "rate",
    "linkType": "link type",
}
"""Fields in the words of a message, where those differ."""


@dataclass
class NicFacts:
    """What is known of one port; `nearest` are numbers of GPUs, of which several may be equally near.

    `path` are the bridges above it, from the root, of which `root` alone may be known; `adapter` is the address that
    NCCL writes for all of its ports.
    """

    pci: str | None = None
    rdma_device: str | None = None
    interface: str | None = None
    link_type: LinkType | None = None
    speed_gbps: int | None = None
    mtu: int | None = None
    vendor: str | None = None
    device: str | None = None
    driver: str | None = None
    name: str = ""
    path: tuple[str, ...] | None = None
    root: str | None = None
    is_rdma: bool = False
    adapter: str | None = None
    traffic: str | None = None
    pci_class: str | None = None
    rail: int | None = None
    nearest: tuple[int, ...] | None = None
    nearest_gpu: int | None = None

    @property
    def known_device(self) -> NicDevice | None:
        """The row of its device in the table."""
        return device_table().nic(self.vendor, self.device)

    @property
    def is_bond(self) -> bool:
        """Whether its RDMA device is that of two ports in a bond."""
        return _BOND in (self.rdma_device or "")

    @property
    def is_able(self) -> bool:
        """Whether it is an RDMA NIC: by its RDMA device or, where that is not known, as stated or by its model."""
        return self.rdma_device is not None or self.is_rdma or self.known_device is not None

    @property
    def called(self) -> str:
        """Its name for messages and for `--rails`."""
        return self.rdma_device or self.pci or self.interface or "?"

    def is_called(self, name: str) -> bool:
        """Whether a name or address is that of this NIC."""
        return name in (self.rdma_device, self.pci, self.interface)


@dataclass
class GpuFacts:
    """What is known of one GPU."""

    pci: str | None = None
    model: str | None = None
    memory_gb: int | None = None


@dataclass(frozen=True)
class ClusterFacts:
    """What the objects of a cluster state of these nodes and of it; the fields of statements about a node."""

    instance_type: str = ""
    kubernetes: str | None = None
    taints: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    groups: int = 1
    pods: str | None = None
    pods_by: str = ""
    services: str | None = None
    addresses: tuple[str, ...] = ()
    unseen: str = ""


@dataclass
class NodeFacts:
    """What is known of a node. `gpus` is empty where no file lists them, `gpu_name` is then from elsewhere.

    `unknown_gpu_vendor` is the GPUs' PCI vendor where it is none of those that are known.

    `virtual_functions` are those seen, which are no NICs here. `notes` are things that were left out, and
    `inferred` are facts that no file states, with the reason. `cluster` is what the objects of its cluster state.
    """

    gpus: list[GpuFacts] = field(default_factory=list)
    gpu_vendor: Vendor | None = None
    unknown_gpu_vendor: str | None = None
    gpu_name: str = ""
    nics: list[NicFacts] = field(default_factory=list)
    virtual_functions: int = 0
    machine: str = ""
    names: tuple[str, ...] = ()
    tree: tuple[CpuElement, ...] = ()
    notes: list[str] = field(default_factory=list)
    inferred: list[str] = field(default_factory=list)
    cluster: ClusterFacts = field(default_factory=ClusterFacts)


def node_of(observations: Sequence[Observation]) -> NodeFacts:
    """The record of a node.

    Raises:
        DiscoveryError: the files contradict each other; with every contradiction.
    """
    facts = _Facts([statement for each in observations for statement in each.statements])

    def stated(name: str) -> Any:
        return facts.get(Subject("node", ""), name)

    node = NodeFacts(
        machine=str(stated("machine") or ""),
        names=tuple(stated("names") or ()),
        gpu_name=str(stated("gpuName") or ""),
        cluster=ClusterFacts(
            instance_type=str(stated("instanceType") or ""),
            kubernetes=stated("kubernetes"),
            taints=tuple(stated("taints") or ()),
            labels=tuple(stated("labels") or ()),
            groups=int(stated("groups") or 1),
            pods=stated("pods"),
            pods_by=str(stated("podsBy") or ""),
            services=stated("services"),
            addresses=tuple(stated("addresses") or ()),
            unseen=str(stated("unseen") or ""),
        ),
        tree=next((each.tree for each in observations if each.tree), ()),
        notes=list(dict.fromkeys(note for each in observations for note in each.notes)),
    )
    _add_gpus(node, facts)
    _add_nics(node, facts)
    _add_nearest(node, facts)
    if node.cluster.unseen and not node.nics:
        node.notes.append(
            f"no SriovNetworkNodeState and no NicDevice of {node.cluster.unseen}: their NICs are not known; a look at "
            "a node has them (gpu-fabric discover --look)"
        )
    if facts.contradictions:
        raise DiscoveryError(
            "the files contradict each other; give the output of one node, taken at one time:\n"
            + "\n".join(f"  {each}" for each in dict.fromkeys(facts.contradictions))
        )
    return node


class _Facts:
    """The statements by subject and field; a second value for one is a contradiction."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._of: dict[Subject, dict[str, list[Statement]]] = defaultdict(lambda: defaultdict(list))
        for statement in statements:
            self._of[statement.subject][statement.field].append(statement)
        self.contradictions: list[str] = []

    def subjects(self, kind: str) -> list[Subject]:
        """All subjects of a kind, in the order in which the files name them."""
        return [subject for subject in self._of if subject.kind == kind]

    def all(self, subject: Subject, name: str) -> list[Statement]:
        """Every statement of a field."""
        return self._of[subject][name] if subject in self._of and name in self._of[subject] else []

    def get(self, subject: Subject, name: str) -> Any:
        """The value of a field; None where no file states it."""
        found = self.all(subject, name)
        return self.agreed(f"{_WORDS.get(name, name)} of {subject}", [(each.value, each.origin) for each in found])

    def agreed(self, what: str, found: Sequence[tuple[Value, Origin]]) -> Any:
        """The one value of several statements; the first, and a contradiction, where they differ."""
        for value, origin in found[1:]:
            if value != found[0][0]:
                self.contradictions.append(
                    f"{what}: {_shown(found[0][0])} in {found[0][1]}, {_shown(value)} in {origin}"
                )
        return found[0][0] if found else None


def _shown(value: Value) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _add_gpus(node: NodeFacts, facts: _Facts) -> None:
    functions = sorted(
        subject.name
        for subject in facts.subjects("pci")
        if is_gpu(facts.get(subject, "vendor"), facts.get(subject, "class"))
    )
    numbered = {int(subject.name): subject for subject in facts.subjects("gpu")}
    count = max(len(functions), len(numbered), max(numbered, default=-1) + 1)
    stated = [facts.get(numbered[number], "pci") if number in numbered else None for number in range(count)]
    if numbered and functions and len(functions) != count:
        first = facts.all(numbered[min(numbered)], "listed")[0].origin
        other = facts.all(Subject("pci", functions[0]), "class")[0].origin
        facts.contradictions.append(f"number of GPUs: {count} in {first.file}, {len(functions)} in {other.file}")
    elif functions and any(stated) and set(filter(None, stated)) - set(functions):
        strange = ", ".join(sorted(set(filter(None, stated)) - set(functions)))
        other = facts.all(Subject("pci", functions[0]), "class")[0].origin
        facts.contradictions.append(f"GPU at {strange}, which is not among the GPUs of {other.file}")
    if functions and len(functions) == count and not all(stated):
        stated = list(functions)
        if count > 1:
            node.inferred.append("GPUs are numbered by their PCI addresses, as nvidia-smi and amd-smi do")
    for number, address in enumerate(stated):
        subject = numbered.get(number)
        gpu = GpuFacts(pci=address)
        name = str(facts.get(subject, "name") or "") if subject else ""
        memory = facts.get(subject, "memory") if subject else None
        _name_gpu(gpu, name, memory, facts, node)
        node.gpus.append(gpu)
    if node.gpu_vendor is None and node.unknown_gpu_vendor is None:
        stated_vendors = (facts.get(subject, "vendor") for subject in numbered.values())
        node.gpu_vendor = next(filter(None, stated_vendors), None)


def _name_gpu(gpu: GpuFacts, name: str, memory: int | None, facts: _Facts, node: NodeFacts) -> None:
    row = None
    if gpu.pci is not None:
        function = Subject("pci", gpu.pci)
        vendor = facts.get(function, "vendor")
        row = device_table().gpu(vendor, facts.get(function, "device"))
        name = name or str(facts.get(function, "name") or "")
        if vendor is not None:
            node.gpu_vendor = gpu_vendor(vendor)
            node.unknown_gpu_vendor = None if node.gpu_vendor else vendor
    gpu.model = gpu_model(name) or (row.model if row else None)
    # nvidia-smi reports less than the data sheet's memory; rounded up it is that of most models.
    gpu.memory_gb = gpu_memory(name) or (row.memory_gb if row else None) or (-(-memory // 1024) if memory else None)


def _add_nics(node: NodeFacts, facts: _Facts) -> None:
    table, groups = device_table(), _same_nics(facts)
    for subjects in groups:
        functions = [subject for subject in subjects if subject.kind == "pci"]
        function = functions[0] if functions else None
        vendor, device = (facts.get(function, key) if function else None for key in ("vendor", "device"))
        name = str(facts.get(function, "name") or "") if function else ""
        code = facts.get(function, "class") if function else None
        if is_gpu(vendor, code) or (function and len(subjects) == 1 and not _is_network(facts, function)):
            continue
        nic = NicFacts(
            pci=function.name if function else None,
            rdma_device=next((subject.name for subject in subjects if subject.kind == "rdma"), None),
            interface=next((subject.name for subject in subjects if subject.kind == "interface"), None),
            vendor=vendor,
            device=device or _agreed(facts, subjects, "device"),
            driver=facts.get(function, "driver") if function else None,
            name=name,
            speed_gbps=_line_rate(facts, subjects),
            mtu=_agreed(facts, subjects, "mtu"),
            link_type=_link_type(facts, subjects),
            path=facts.get(function, "path") if function else None,
            root=facts.get(function, "root") if function else None,
            is_rdma=bool(function and facts.get(function, "rdma")),
            adapter=_agreed(facts, subjects, "adapter"),
            traffic=facts.get(function, "traffic") if function else None,
            pci_class=None if code is None else str(code),
            rail=facts.get(function, "rail") if function else None,
        )
        if nic.vendor is None and (nic.rdma_device or "").startswith("mlx"):
            nic.vendor = "15b3"
        if table.is_virtual(nic.vendor, nic.device, name) or (function and facts.get(function, "physical")):
            node.virtual_functions += 1
        elif nic.pci or nic.rdma_device:
            node.nics.append(nic)
    _complete_addresses(node, facts)
    _place_by_name(node)
    _spread_link_type(node)


def _spread_link_type(node: NodeFacts) -> None:
    """Give functions without a known RDMA device the link type that every RDMA device without an address has."""
    types = {nic.link_type for nic in node.nics if nic.rdma_device and not nic.pci}
    without = [nic for nic in node.nics if nic.known_device and not nic.rdma_device and nic.link_type is None]
    if without and len(types) == 1 and (link_type := types.pop()) is not None:
        for nic in without:
            nic.link_type = link_type
        node.inferred.append(f"the link type is that of every RDMA device: {link_type}")
    # A NIC with an InfiniBand port shows class 0207; that none ever shows 0200 is not published.
    by_class = [nic for nic in node.nics if nic.known_device and not nic.link_type and nic.pci_class == _ETHERNET]
    for nic in by_class:
        nic.link_type = "ether"
    if by_class:
        node.inferred.append("NICs of PCI class 0200 (Ethernet controller) have Ethernet ports; `rdma link` states it")


def _place_by_name(node: NodeFacts) -> None:
    """Join devices of unknown address with the function that their name encodes, where that function was seen.

    Source: systemd.net-naming-scheme(7), whose path names rdma-core's udev rules also give to RDMA devices.
    """
    functions = {nic.pci: nic for nic in node.nics if nic.pci and not nic.rdma_device and not nic.interface}
    joined = []
    for nic in [each for each in node.nics if each.pci is None]:
        encoded = {address for name in (nic.interface, nic.rdma_device) if name and (address := _encoded(name))}
        function = functions.pop(encoded.pop(), None) if len(encoded) == 1 else None
        if function is None:
            continue
        node.nics.remove(function)
        nic.pci, nic.path, nic.driver, nic.name = function.pci, function.path, function.driver, function.name
        nic.vendor, nic.device = function.vendor, nic.device or function.device
        nic.link_type, nic.pci_class = nic.link_type or function.link_type, function.pci_class
        joined.append(nic.called)
    if joined:
        node.inferred.append(f"{', '.join(joined)} are at the PCI addresses that the names of their interfaces encode")


def _encoded(name: str) -> str | None:
    """The PCI address in a name such as enp24s0np0, ibp24s0 or rocep26s0f0; None if there is none."""
    found = _PATH_NAME.fullmatch(name)
    if found is None:
        return None
    domain, bus, slot, function = (int(part or 0) for part in found.groups())
    is_one = domain <= 0xFFFF and bus <= 0xFF and slot <= 0x1F and function <= 7
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function}" if is_one else None


def _is_network(facts: _Facts, function: Subject) -> bool:
    code = facts.get(function, "class")
    return (code is not None and str(code).startswith("02")) or bool(facts.all(function, "traffic"))


def _agreed(facts: _Facts, subjects: list[Subject], name: str) -> Any:
    called = next((each for each in subjects if each.kind == "rdma"), subjects[0])
    found = [(each.value, each.origin) for subject in subjects for each in facts.all(subject, name)]
    return facts.agreed(f"{_WORDS.get(name, name)} of {called}", found)


def _line_rate(facts: _Facts, subjects: list[Subject]) -> int | None:
    """Gb/s; the largest numbers are of no NIC: Linux can write an unknown speed as 4294967295 Mb/s (SPEED_UNKNOWN)."""
    # The speed in NCCL's files is at times another than the port's, and what a vendor wants it to be.
    found: int | None = _agreed(facts, subjects, "speed") or _agreed(facts, subjects, "ncclSpeed")
    return found if found is not None and found < LINE_RATE_LIMIT else None


def _link_type(facts: _Facts, subjects: list[Subject]) -> LinkType | None:
    """The link type that a tool states, or the one that the PCI class has: ConnectX show 0207 with InfiniBand ports."""
    agreed: LinkType | None = _agreed(facts, subjects, "linkType")
    if agreed is None and any(each.value == _INFINIBAND for one in subjects for each in facts.all(one, "class")):
        return "infiniband"
    return agreed


def _same_nics(facts: _Facts) -> list[list[Subject]]:
    """PCI functions, RDMA devices and interfaces, together where they are one NIC; each kind once in it."""
    group_of: dict[Subject, list[Subject]] = {}
    for kind in ("pci", "rdma", "interface"):
        # Of several interfaces of one function, that with the shortest name is the port's own.
        for subject in sorted(facts.subjects(kind), key=lambda each: len(each.name) if each.kind == "interface" else 0):
            group_of.setdefault(subject, [subject])
            for (of_kind, name), target_kind in _LINKS.items():
                if of_kind != kind or not (value := facts.get(subject, name)):
                    continue
                if name == "interface" and _BOND in subject.name:
                    # The bond's interface; its ports have their own.
                    continue
                target = Subject(target_kind, str(value))  # type: ignore[arg-type]
                one, other = group_of[subject], group_of.setdefault(target, [target])
                if one is other or (kind == "interface" and _has_its_interface(facts, other, target)):
                    continue
                _refuse_two_of_a_kind(facts, one, other, facts.all(subject, name)[0])
                one += other
                group_of.update(dict.fromkeys(other, one))
    unique = {id(group): group for group in group_of.values()}
    return list(unique.values())


def _has_its_interface(facts: _Facts, group: list[Subject], function: Subject) -> bool:
    """Whether a NIC has an interface that is known to be at this function: then others there are its children.

    Such are representors of virtual functions, and interfaces of InfiniBand's partitions.
    """
    return any(facts.get(each, "pci") == function.name for each in group if each.kind == "interface")


def _refuse_two_of_a_kind(facts: _Facts, one: list[Subject], other: list[Subject], said: Statement) -> None:
    for first in one:
        for second in other:
            if first.kind == second.kind and first != second:
                facts.contradictions.append(
                    f"{first} and {second} would be one NIC: {said.subject} is at {said.value} in {said.origin}"
                )


def _complete_addresses(node: NodeFacts, facts: _Facts) -> None:
    """Give NICs that NCCL's dump alone places the adapter's address, where the adapter has one port."""
    known = {nic.pci for nic in node.nics if nic.pci and nic.rdma_device}
    ports = defaultdict(list)
    for nic in node.nics:
        if nic.adapter:
            ports[nic.adapter].append(nic)
    for adapter, nics in ports.items():
        without = [nic for nic in nics if nic.pci is None]
        function = next((nic for nic in node.nics if nic.pci == adapter and nic.rdma_device is None), None)
        for nic in without:
            nic.path = facts.get(Subject("pci", adapter), "path")
            nic.vendor, nic.device = (facts.get(Subject("pci", adapter), key) for key in ("vendor", "device"))
        if len(nics) == len(without) == 1 and adapter not in known:
            nic = without[0]
            nic.pci = adapter
            node.inferred.append(f"{nic.called} is at {adapter}: NCCL's dump writes function 0 of the adapter")
        if function is not None and (without or len(nics) > 1):
            node.nics.remove(function)
            if len(without) == 1 and without[0].pci == adapter:
                without[0].driver, without[0].name = function.driver, function.name
                without[0].link_type = without[0].link_type or function.link_type
                without[0].pci_class = function.pci_class


def _add_nearest(node: NodeFacts, facts: _Facts) -> None:
    paths: dict[int, tuple[str, ...]] = {}
    for number, gpu in enumerate(node.gpus):
        if gpu.pci and (path := facts.get(Subject("pci", gpu.pci), "path")) is not None:
            paths[number] = path
    roots: dict[int, tuple[str, ...]] = {
        number: (root,)
        for number, gpu in enumerate(node.gpus)
        if gpu.pci and (root := facts.get(Subject("pci", gpu.pci), "root"))
    }
    for nic in node.nics:
        stated: list[tuple[tuple[int, ...], str]] = []
        for subject in (Subject("rdma", nic.rdma_device or ""), Subject("pci", nic.pci or "")):
            stated += [(each.value, str(each.origin)) for each in facts.all(subject, "nearest")]  # type: ignore[misc]
        if nic.path is not None and paths:
            stated.append((_nearest_by_path(nic.path, paths), "the PCI paths"))
        elif not stated and nic.root and roots:
            stated.append((_nearest_by_path((nic.root,), roots), "the PCI roots"))
        nic.nearest = _common(nic, stated, facts)
    _choose_nearest(node)


def _nearest_by_path(path: tuple[str, ...], paths: dict[int, tuple[str, ...]]) -> tuple[int, ...]:
    shared = {number: _shared(path, other) for number, other in paths.items()}
    most = max(shared.values())
    return tuple(number for number, depth in shared.items() if depth == most) if most else ()


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    depth = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        depth += 1
    return depth


def _common(nic: NicFacts, stated: list[tuple[tuple[int, ...], str]], facts: _Facts) -> tuple[int, ...] | None:
    """GPUs that all sources find nearest: the paths tell apart what nvidia-smi has in one rank."""
    if not stated:
        return None
    common = set(stated[0][0])
    for gpus, origin in stated[1:]:
        if not common & set(gpus) and (common or gpus):
            first, second = (", ".join(map(str, sorted(each))) or "none" for each in (common, gpus))
            facts.contradictions.append(f"nearest GPU of {nic.called}: {first} in {stated[0][1]}, {second} by {origin}")
            return None
        common &= set(gpus)
    return tuple(sorted(common))


def _choose_nearest(node: NodeFacts) -> None:
    """One GPU for each NIC; NICs that are equally near to several are spread over them in order of their addresses."""
    ties: dict[tuple[int, ...], list[NicFacts]] = defaultdict(list)
    for nic in sorted(node.nics, key=lambda each: (each.pci is None, each.pci or "", each.called)):
        if nic.nearest and len(nic.nearest) == 1:
            nic.nearest_gpu = nic.nearest[0]
        elif nic.nearest:
            ties[nic.nearest].append(nic)
    for gpus, nics in ties.items():
        for place, nic in enumerate(nics):
            nic.nearest_gpu = gpus[place * len(gpus) // len(nics)]
        node.inferred.append(
            f"GPUs {', '.join(map(str, gpus))} are equally near to {', '.join(nic.called for nic in nics)}: "
            "nearestGpu spreads them in the order of the addresses"
        )
