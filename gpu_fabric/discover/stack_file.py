"""The stack file of a machine: ready to plan, with comments where a choice was made or a fact is missing."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from typing import Any, get_args

from gpu_fabric.base.enumeration import first_to_last
from gpu_fabric.catalog import Shape
from gpu_fabric.discover.cluster_objects import INSTANCE_TYPE
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.machine import CatalogMatch, Machine
from gpu_fabric.discover.node import ClusterFacts, NodeFacts
from gpu_fabric.discover.rails import RailChoice
from gpu_fabric.k8s.mellanox import NVIDIA
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.fabric import Model
from gpu_fabric.spec.network_types import IPNetwork

_SUPERNETS = ("172.16.0.0/16", "172.24.0.0/16", "10.224.0.0/16", "192.168.0.0/16", "10.96.0.0/12", "100.96.0.0/16")
"""Private ranges for the fabric, of which the first is taken that no stated range overlaps."""
_NODES = 2
_RAIL_SLOTS = AddressingSpec().rail_slots
_WIDTH = 118
_CHOOSE = "CHOOSE"
CHECK = "PLEASE CHECK:"
"""Begins a choice that a person should look at."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9]+)*")
_MODELS = tuple(name for name in get_args(Model) if name != "rdma-device")
"""Models in which the stack attaches the NICs itself."""
# Who hands out NICs of other makers than NVIDIA: by the vendor's PCI id, and for all others (docs/amd.md).
_MANAGERS = {"1dd8": "amd-network-operator"}
_FOR_OTHERS = "spiderpool"
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


@dataclass(frozen=True)
class StackFileOptions:
    """What the user says of the stack; None where nothing is said. `ranges` are those of pods, services and nodes.

    `kubeconfig` and `context` are those by which the cluster was read.
    """

    name: str | None = None
    nodes: int | None = None
    supernet: IPNetwork | None = None
    ranges: dict[str, IPNetwork] = field(default_factory=dict)
    own_shape: bool = False
    kubeconfig: str | None = None
    context: str | None = None

    def with_ranges_of(self, cluster: ClusterFacts) -> StackFileOptions:
        """These, with the ranges that the cluster's objects state where the user states none."""
        seen = {"pods": cluster.pods, "services": cluster.services}
        found = {key: ip_network(text) for key, text in seen.items() if text is not None}
        return replace(self, ranges={**found, **self.ranges})


@dataclass(frozen=True)
class Discovered:
    """Everything that was found; `sources` are the files with their kinds."""

    node: NodeFacts
    choice: RailChoice
    machine: Machine
    match: CatalogMatch
    sources: Sequence[tuple[str, str]]

    @property
    def catalog_shape(self) -> str | None:
        """The catalog's shape that the machine is."""
        return next(iter(self.match.equal), None)

    @property
    def places(self) -> list[dict[str, Any]]:
        """The rails as they were seen, where a label alone says the shape and each of its rails was found."""
        rails, shape = self.machine.fields.get("nics", []), self.match.shape
        if not self.match.by_label or shape is None or len(rails) != len(shape.nics):
            return []
        return [{"rail": number, **row} for number, row in enumerate(rails) if "pci" in row]


@dataclass(frozen=True)
class StackText:
    """The file, and what its reader must know: what is not known, and what was chosen."""

    text: str
    missing: tuple[str, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True)
class _Part:
    """A group of nodes in the file: its pool, its shape, and what else its fabric must leave free."""

    found: Discovered
    options: StackFileOptions
    pool: str
    shape: str
    by_catalog: bool

    @property
    def cloud(self) -> str | None:
        """The profile of which the pool's machine type is; None where it is of none."""
        shape = self.found.match.shape
        return shape.cloud if self.by_catalog and shape is not None else None

    @property
    def supernet(self) -> IPNetwork | None:
        return self.options.supernet or _free_supernet(self.options, self.found.node.cluster.addresses)


def stack_text(found: Discovered, options: StackFileOptions, *others: Discovered) -> StackText:
    """The stack file: of a machine, or of all groups of a cluster's nodes, each with a pool and a fabric of its own.

    Of several groups those without a NIC that was seen, such as nodes for inference, are left out.

    Raises:
        DiscoveryError: the stated supernet overlaps a stated range, or none of several groups has a NIC.
    """
    groups, left = dict(enumerate((found, *others), start=1)), list[str]()
    for number, group in list(groups.items()):
        if others and not group.choice.rails and not group.match.by_label:
            del groups[number]
            left.append(f"{CHECK} {first_to_last(group.node.names)} are left out: no RDMA NIC was seen on them")
    if not groups:
        raise DiscoveryError("no RDMA NIC was seen in any group of nodes; --look looks at one node of each")
    parts = _parts(groups, options, several=bool(others))
    marks = [f"{part.pool}: " if others else "" for part in parts]
    missing = [
        f"{mark}{line}"
        for part, mark in zip(parts, marks, strict=True)
        for line in (() if part.by_catalog else part.found.machine.missing)
    ]
    choices = left + [
        f"{CHECK} {mark}{line.removeprefix(CHECK).lstrip()}" if line.startswith(CHECK) else f"{mark}{line}"
        for part, mark in zip(parts, marks, strict=True)
        for line in _choices(part.found, part.shape, part.by_catalog)
    ]
    first, *rest = parts
    own = [part for part in parts if not part.by_catalog]
    lines = [
        *_comment(f"By `gpu-fabric discover` from {', '.join(dict.fromkeys(map(_source, found.sources)))}."),
        *([] if not choices else ["#", "# Chosen or inferred:", *_list(choices)]),
        *([] if not missing else ["#", "# Not known:", *_list(missing)]),
        "#",
        *_comment(f"What you must decide is marked {_CHOOSE}. Next: gpu-fabric plan -f THIS-FILE"),
        "config:",
        "  gpu-fabric:cluster:",
        "    provider: existing",
        *(f"    profile: {name}" for name in dict.fromkeys(filter(None, (part.cloud for part in parts)))),
        *_access(found, options),
        *(["    shapes:"] if own else []),
        *(line for part in own for line in (f"      {_flow(part.shape)}:", *_shape(part.found.machine))),
        "    pools:",
        *(line for part in parts for line in _pool(part)),
        *_ranges(found, options.with_ranges_of(found.node.cluster), options.ranges),
        "  gpu-fabric:fabric:",
        *_fabric(first),
        *(["  gpu-fabric:fabrics:"] if rest else []),
        *(
            line
            for part in rest
            for line in (f"    {part.pool}:", f"      pools: [{part.pool}]", *(f"  {each}" for each in _fabric(part)))
        ),
    ]
    return StackText("\n".join(lines) + "\n", tuple(missing), tuple(choices))


def _parts(groups: dict[int, Discovered], options: StackFileOptions, *, several: bool) -> list[_Part]:
    """The groups as parts of one file: names and supernets differ from one to the next."""
    parts = list[_Part]()
    for number, found in groups.items():
        by_catalog = found.catalog_shape is not None and not options.own_shape
        shape = found.catalog_shape if by_catalog and found.catalog_shape else options.name or _name(found)
        if not by_catalog and shape in (part.shape for part in parts):
            shape = f"{shape}-{number}"
        taken = {f"fabric of {part.pool}": part.supernet for part in parts if part.supernet is not None}
        own = replace(options, supernet=None if parts else options.supernet).with_ranges_of(found.node.cluster)
        own = replace(own, ranges={**own.ranges, **taken})
        parts.append(_Part(found, own, f"gpu-{number}" if several else "gpu", shape, by_catalog))
    return parts


def _access(found: Discovered, options: StackFileOptions) -> Iterator[str]:
    if options.kubeconfig is None:
        yield f"    kubeconfig: ~/.kube/config  # {_CHOOSE}: the kubeconfig of the cluster"
    else:
        yield f"    kubeconfig: {_flow(options.kubeconfig)}"
    if options.context is not None:
        yield f"    context: {_flow(options.context)}"
    if found.node.cluster.kubernetes is not None:
        yield f'    kubernetes: "{found.node.cluster.kubernetes}"'


def _name(found: Discovered) -> str:
    gpus = found.machine.fields.get("gpus", {})
    if not gpus:
        return "gpu-node"
    model = "".join(letter for letter in str(gpus.get("model", "gpu")).lower() if letter.isalnum())
    return f"{model}x{gpus['count']}"


def _choices(found: Discovered, shape: str, by_catalog: bool) -> Iterator[str]:
    if by_catalog and found.match.by_label:
        seen = "where its rails are is as seen" if found.places else "no NIC was seen where the catalog has one"
        yield f"{CHECK} the machine is the catalog's {shape} by its label {INSTANCE_TYPE}; {seen}"
    elif by_catalog:
        others = [name for name in found.match.equal if name != shape]
        yield (
            f"the machine has the hardware of the catalog's {shape} (`gpu-fabric shapes {shape}`)"
            + (f", and of {', '.join(others)}" if others else "")
            + "; if it is another provider's machine, write its shape out with --own-shape"
        )
    if found.match.undecided and not by_catalog:
        yield (
            f"the NICs are where {' and '.join(found.match.undecided)} of the catalog have them; which one it is the "
            "output of `rdma link` or `nvidia-smi topo -m` would tell"
        )
    for name, differences in found.match.different.items():
        if name == found.node.cluster.instance_type:
            yield f"{CHECK} the label {INSTANCE_TYPE} says {name}, but: {'; '.join(differences)}"
        elif not found.match.equal:
            yield f"the NICs are where {name} has them, but: {'; '.join(differences)}"
    yield from found.choice.reasons
    for doubt in found.choice.doubts:
        yield f"{CHECK} {doubt}"
    if by_catalog:
        yield from found.node.notes
    else:
        yield from found.node.inferred
        yield from found.machine.notes


def _source(source: tuple[str, str]) -> str:
    file, kind = source
    return f"{'standard input' if file == '-' else file} ({kind})"


def _comment(text: str, first: str = "# ", rest: str = "# ") -> list[str]:
    return textwrap.wrap(
        "".join(letter if letter.isprintable() else "?" for letter in text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _list(entries: Iterable[str]) -> list[str]:
    return [line for entry in entries for line in _comment(entry, "# - ", "#   ")]


def _flow(value: Any) -> str:
    """A value in one line. Whatever a reader of YAML could take for a number or a word of its own is in quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and not (_PLAIN.fullmatch(value) and value.casefold() not in _WORDS):
        return json.dumps(value)
    return str(value)


def _shape(machine: Machine) -> Iterator[str]:
    for line in machine.required:
        yield f"        # {_CHOOSE}: {line}"
    for key, value in machine.fields.items():
        if key in ("nics", "frontEndNics"):
            yield f"        {key}:"
            yield from (f"          - {_flow(row)}" for row in value)
        elif key == "topology":
            yield f"        {key}:"
            yield from (f"          {line}" for line in _block(value))
        else:
            yield f"        {key}: {_flow(value)}"


def _block(value: dict[str, Any]) -> Iterator[str]:
    for key, part in value.items():
        if isinstance(part, list):
            yield f"{key}:"
            yield from (f"  - {_flow(row)}" for row in part)
        else:
            yield f"{key}: {_flow(part)}"


def _pool(part: _Part) -> Iterator[str]:
    found, by_catalog = part.found, part.by_catalog
    nodes, note = part.options.nodes, ""
    if nodes is None and found.node.names:
        nodes, note = len(found.node.names), "  # as the files list them"
    if nodes is None:
        nodes, note = _NODES, f"  # {_CHOOSE}: the number of such nodes (--nodes)"
    yield f"      - name: {part.pool}"
    yield f"        shape: {_flow(part.shape)}"
    yield f"        nodes: {nodes}{note}"
    taints, labels = found.node.cluster.taints, _labels(found, by_catalog)
    if labels:
        yield f"        labels: {_flow(dict(label.split('=', 1) for label in labels))}  # of these nodes alone"
    if taints and taints != (f"{found.node.gpu_vendor}.com/gpu=present:NoSchedule",):
        yield f"        taints: {_flow([_taint(each) for each in taints])}"
    if not by_catalog and not labels:
        vendor = _vendor(found, by_catalog)
        what = {
            NVIDIA: "else nodes are selected by their NICs' vendor",
            None: "required, since the NICs' vendor is not known",
        }.get(vendor, f"needed unless Node Feature Discovery labels nodes with NICs of vendor {vendor}")
        yield f"        # labels: {{KEY: VALUE}}  # {_CHOOSE}: labels of these nodes alone; {what}"


def _labels(found: Discovered, by_catalog: bool) -> tuple[str, ...]:
    """Labels by which the nodes are selected, where neither the NICs' vendor nor the machine type would do."""
    if by_catalog and found.match.shape is not None and found.match.shape.type_label is not None:
        return ()
    selected = found.node.cluster.groups == 1 and _vendor(found, by_catalog) == NVIDIA
    return () if selected else found.node.cluster.labels


def _vendor(found: Discovered, by_catalog: bool) -> str | None:
    """The PCI id of the RDMA NICs' maker, where it is known."""
    if by_catalog and found.match.shape is not None:
        model = found.match.shape.nic_model
        return None if model is None else model.vendor_id
    vendor: str | None = found.machine.fields.get("nicModel", {}).get("vendorId")
    return vendor


def _manager(found: Discovered, by_catalog: bool) -> str | None:
    """What hands out the NICs, where it is not what the program takes by itself."""
    vendor = _vendor(found, by_catalog)
    return None if vendor in (None, NVIDIA) else _MANAGERS.get(vendor, _FOR_OTHERS)


def _taint(written: str) -> dict[str, str]:
    """A taint as kubectl writes it, as the stack file's keys."""
    pair, _, effect = written.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def _ranges(found: Discovered, options: StackFileOptions, stated: dict[str, IPNetwork]) -> Iterator[str]:
    cluster = found.node.cluster
    if options.ranges:
        by = cluster.pods_by if "pods" in options.ranges and "pods" not in stated else ""
        note = f"  # pods: {by}" if by else ""
        yield f"    ranges: {_flow({key: str(network) for key, network in options.ranges.items()})}{note}"
    if len(options.ranges) < 3:
        lacking = [key for key in ("pods", "services", "nodes") if key not in options.ranges]
        more = f"; nodes have {first_to_last(cluster.addresses)}" if cluster.addresses and "nodes" in lacking else ""
        yield f"    # ranges: {{{', '.join(f'{key}: …' for key in lacking)}}}  # {_CHOOSE}: what the cluster uses{more}"


def _fabric(part: _Part) -> Iterator[str]:
    found, by_catalog = part.found, part.by_catalog
    if part.cloud is not None:
        words = "The cloud hands out its NICs: see docs/clouds.md, also for `devices: claims`."
        yield from (f"    {line}" for line in _comment(words))
        yield "    manager: cloud"
        return
    if by_catalog and found.match.by_label and not found.places:
        models = ", ".join(_MODELS)
        words = f"{_CHOOSE}: model: {models}; by default the one that the shape's nodes are for."
        yield from (f"    {line}" for line in _comment(words))
        yield from _addressing(part)
        return
    model, why = _model(found)
    manager = None if model == "host-network" else _manager(found, by_catalog)
    if manager is not None:
        yield f"    manager: {manager}  # NVIDIA's plug-ins run on nodes with NVIDIA's NICs alone"
    others = [each for each in _MODELS if each != model]
    if manager == _FOR_OTHERS:
        others.remove("macvlan" if model == "host-device" else "host-device")
        if model == "host-device":
            model, why = "macvlan", "it needs no virtual functions, and the pods of a node share its RDMA NICs"
    # Of AMD's operator pods get NICs whole, with the addresses that they have on the node.
    whole = manager in _MANAGERS.values()
    if not whole:
        yield from (f"    {line}" for line in _comment(f"{model}: {why}. Other models: {', '.join(others)}."))
        yield f"    model: {model}"
    if by_catalog and found.match.shape is not None:
        yield from (f"    {key}: {value}  # as seen on the node" for key, value in _overrules(found, found.match.shape))
    if by_catalog and found.places:
        yield "    rails:"
        yield from (f"      - {_flow(place)}" for place in found.places)
    if model != "host-network" and not whole:
        yield from _addressing(part)


def _addressing(part: _Part) -> Iterator[str]:
    options, supernet = part.options, part.supernet
    if options.supernet is not None:
        _refuse_overlap(options)
    if supernet is None:
        yield f"    # {_CHOOSE}: addressing: {{supernet: …}}; the stated ranges leave none of the usual ones free"
        return
    yield "    addressing:"
    note = "" if options.supernet is not None else f"  # {_CHOOSE}: a range that nothing else uses (--supernet)"
    yield f"      supernet: {supernet}{note}"
    if (rails := len(part.found.choice.rails)) > _RAIL_SLOTS:
        yield f"      railSlots: {1 << (rails - 1).bit_length()}  # for {rails} rails"


def _overrules(found: Discovered, shape: Shape) -> Iterator[tuple[str, Any]]:
    """What the files state of the machine and the catalog does not have, or has otherwise."""
    fields, model = found.machine.fields, shape.nic_model
    usual = model.link_type if model is not None else None
    link_type = fields["nicModel"].get("linkType") or usual
    if link_type != usual:
        yield "linkType", link_type
    # On InfiniBand the subnet manager sets the MTU.
    if "mtu" in fields and shape.mtu is None and link_type == "ether":
        yield "mtu", fields["mtu"]
    functions = fields.get("vfsPerNic", 0)
    if functions != shape.vfs_per_nic:
        yield "vfsPerNic", functions


def _model(found: Discovered) -> tuple[Model, str]:
    """How pods get at the NICs, and why."""
    rails = found.machine.fields.get("nics", [])
    if not rails:
        return "host-network", "no RDMA NIC is known, and pods see the NICs as the host does"
    if not all("pci" in row or "interface" in row for row in rails):
        return "host-network", "where the NICs are is not known, which other models need"
    seen = found.node.virtual_functions
    if seen and not found.machine.fields.get("vfsPerNic"):
        return "host-network", "the NICs have virtual functions, but not each as many, as other models need"
    if seen:
        is_infiniband = found.machine.fields["nicModel"].get("linkType") == "infiniband"
        return "ib-sriov" if is_infiniband else "sriov", "the NICs have virtual functions, of which a pod gets one each"
    return "host-device", "it needs no virtual functions, and a pod gets every RDMA NIC of its node whole"


def _free_supernet(options: StackFileOptions, addresses: Iterable[str]) -> IPNetwork | None:
    candidates = (ip_network(each) for each in _SUPERNETS)
    nodes = [ip_address(each) for each in addresses]
    free = (each for each in candidates if not _overlapping(each, options))
    return next((each for each in free if not any(node in each for node in nodes)), None)


def _overlapping(network: IPNetwork, options: StackFileOptions) -> list[str]:
    return [
        f"{key} ({other})"
        for key, other in options.ranges.items()
        if other.version == network.version and other.overlaps(network)
    ]


def _refuse_overlap(options: StackFileOptions) -> None:
    if options.supernet is not None and (clash := _overlapping(options.supernet, options)):
        raise DiscoveryError(
            f"--supernet {options.supernet} overlaps the range of {', '.join(clash)}; give one that is free"
        )
