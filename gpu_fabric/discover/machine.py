"""The machine of a node's record: a shape of the catalog where it is one, or else a shape of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from gpu_fabric.catalog import Hardware, Nic, Shape
from gpu_fabric.discover.devices import gpu_memory, gpu_model
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.lspci import COMMAND as LSPCI
from gpu_fabric.discover.node import GpuFacts, NicFacts, NodeFacts
from gpu_fabric.discover.rails import RailChoice
from gpu_fabric.discover.tree import host_tree


@dataclass(frozen=True)
class Machine:
    """The fields of a shape as the stack file has them, by camelCase key; those that are not known are left out.

    `missing` says what is not known and which command's output has it; `required` are keys without which the stack
    file cannot be planned; `notes` are remarks on single values.
    """

    fields: dict[str, Any]
    missing: tuple[str, ...]
    required: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class CatalogMatch:
    """Shapes of the catalog with this hardware, and what sets others with the same NICs apart.

    `shape` is the first of `equal`. `undecided` are shapes of which the files do not say which one it is: they differ
    in facts that no file states. `by_label` is true where a label alone says which shape it is, and no NIC was seen at
    an address that the catalog has.
    """

    equal: tuple[str, ...]
    different: dict[str, tuple[str, ...]]
    shape: Shape | None = None
    undecided: tuple[str, ...] = ()
    by_label: bool = False


def machine_of(node: NodeFacts, choice: RailChoice) -> Machine:
    """The shape of its own."""
    fields: dict[str, Any] = {}
    missing: list[str] = []
    required: list[str] = []
    notes = list(node.notes)
    _add_gpus(node, fields, missing, required)
    if choice.rails:
        _add_nic_model(node, choice, fields, missing, required, notes)
        _add_common(choice, fields, missing, notes)
        fields["nics"] = _nics(choice.rails, missing, notes)
        _add_tree(node, choice, fields, missing, notes)
    else:
        missing.append(_ask_for("RDMA NICs", "rdma link` and `lspci -D -nn -k", "nics"))
    if choice.others:
        fields["frontEndNics"] = [_named(nic) for nic in choice.others]
    if each := vfs_per_nic(node, choice):
        fields["vfsPerNic"] = each
        notes.append(
            f"{node.virtual_functions} virtual functions were seen, {each} for each of {len(choice.rails)} rails"
        )
    elif node.virtual_functions:
        notes.append(f"{node.virtual_functions} virtual functions were seen, which are no equal number for each rail")
    _refuse_invalid(fields)
    return Machine(fields, tuple(missing), tuple(required), tuple(notes))


def _ask_for(fact: str, command: str, key: str) -> str:
    """What is not known: the command that says it, and the key of the shape that takes it."""
    return f"{fact}; give the output of `{command}`, or write {key} of the shape"


def _refuse_invalid(fields: dict[str, Any]) -> None:
    """End where a value is none that a stack file takes, such as a name with strange letters in a damaged file."""
    # In the place of what a person must fill in.
    gpus = fields.get("gpus", {"vendor": "nvidia", "count": 1000})
    model = {"linkType": "ether", **fields.get("nicModel", {})}
    try:
        Hardware.model_validate({**fields, "gpus": gpus, "nicModel": model})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DiscoveryError(
            f"a stack file cannot have what the files say: {place}: {first['msg']}; give the whole output of "
            "each tool on one node"
        ) from None


def vfs_per_nic(node: NodeFacts, choice: RailChoice) -> int | None:
    """The virtual functions of each rail, where those seen are an equal number for each."""
    rails = len(choice.rails)
    return node.virtual_functions // rails if rails and node.virtual_functions % rails == 0 else None


def _add_gpus(node: NodeFacts, fields: dict[str, Any], missing: list[str], required: list[str]) -> None:
    if node.unknown_gpu_vendor is not None:
        missing.append(
            f"vendor of the GPUs: PCI vendor {node.unknown_gpu_vendor} is neither NVIDIA (10de) nor AMD (1002), and "
            "this program plans a fabric for no other"
        )
        required.append(f"gpus: {{vendor: nvidia or amd, model: …, count: {len(node.gpus)}}}")
        return
    if not node.gpus or node.gpu_vendor is None:
        missing.append(_ask_for("vendor and number of the GPUs", LSPCI, "gpus"))
        required.append("gpus: {vendor: nvidia, model: …, count: …}")
        return
    models = {gpu.model for gpu in node.gpus} - {None}
    if len(models) > 1:
        raise DiscoveryError(f"GPUs of several models, {', '.join(sorted(map(str, models)))}; a shape has one")
    memories = {gpu.memory_gb for gpu in node.gpus}
    gpus: dict[str, Any] = {"vendor": node.gpu_vendor}
    model = next(iter(models), None) or gpu_model(node.gpu_name)
    if model:
        gpus["model"] = model
    else:
        missing.append(_ask_for("GPU model", LSPCI, "gpus.model"))
    gpus["count"] = len(node.gpus)
    memory = next(iter(memories)) if len(memories) == 1 else None
    if memory or (memory := gpu_memory(node.gpu_name)):
        gpus["memoryGb"] = memory
    if all(gpu.pci for gpu in node.gpus):
        gpus["pci"] = [gpu.pci for gpu in node.gpus]
    else:
        missing.append(_ask_for("PCI addresses of the GPUs", LSPCI, "gpus.pci"))
    fields["gpus"] = gpus


def _common(nics: Iterable[NicFacts], name: str) -> Any:
    """The value that all NICs have; None where one has another or none is known."""
    values = {getattr(nic, name) for nic in nics}
    return values.pop() if len(values) == 1 else None


def _add_nic_model(
    node: NodeFacts,
    choice: RailChoice,
    fields: dict[str, Any],
    missing: list[str],
    required: list[str],
    notes: list[str],
) -> None:
    rails, found = choice.rails, dict[str, Any]()
    vendor, device, driver, link = (_common(rails, name) for name in ("vendor", "device", "driver", "link_type"))
    row = rails[0].known_device if device else None
    if row is not None:
        found["model"] = row.model
    if vendor:
        found["vendorId"] = vendor
    if device:
        found["deviceId"] = device
    if row is not None:
        found["vfDeviceId"] = row.vf
    if driver or row is not None:
        found["driver"] = driver or (row.driver if row else None)
    if not device:
        several = len({nic.device for nic in rails} - {None}) > 1
        missing.append(
            "device ids of the RDMA NICs: they are of several models"
            if several
            else _ask_for("model and device ids of the RDMA NICs", LSPCI, "nicModel.deviceId")
        )
    if link:
        found["linkType"] = link
    else:
        several = len({nic.link_type for nic in rails} - {None}) > 1
        missing.append(
            "link type of the RDMA NICs: they have both; say with --rails which are rails"
            if several
            else _ask_for("link type of the RDMA NICs", "rdma link` or `ibstat", "nicModel.linkType")
        )
        required.append("linkType: ether, or infiniband; in nicModel")
    fields["nicModel"] = found


def _add_common(choice: RailChoice, fields: dict[str, Any], missing: list[str], notes: list[str]) -> None:
    for name, key, words, command in (
        ("mtu", "mtu", "MTU", "ip -d link"),
        ("speed_gbps", "nicSpeedGbps", "line rate", "ibstat"),
    ):
        value = _common(choice.rails, name)
        values = sorted({each for nic in choice.rails if (each := getattr(nic, name)) is not None})
        if value is not None:
            fields[key] = value
        elif len(values) > 1:
            missing.append(f"{words} of the RDMA NICs ({key}): it differs, {', '.join(map(str, values))}")
        elif values:
            missing.append(f"{words} of the RDMA NICs ({key}): known of some alone ({values[0]})")
        else:
            missing.append(_ask_for(f"{words} of the RDMA NICs", command, key))


def _named(nic: NicFacts) -> dict[str, Any]:
    named = {"pci": nic.pci, "rdmaDevice": nic.rdma_device, "interface": nic.interface}
    return {key: value for key, value in named.items() if value is not None}


_ASK = {
    "pci": ("PCI addresses of the RDMA NICs", "ls -l /sys/class/infiniband"),
    "rdmaDevice": ("names of the RDMA devices", "rdma link"),
    "interface": ("interfaces of the RDMA NICs", "rdma link` or `ls -l /sys/class/net"),
}


def _nics(rails: Sequence[NicFacts], missing: list[str], notes: list[str]) -> list[dict[str, Any]]:
    found = [_named(nic) for nic in rails]
    for key, (words, command) in _ASK.items():
        having = [row for row in found if key in row]
        if not having:
            missing.append(_ask_for(words, command, f"nics[].{key}"))
        elif len(having) < len(found):
            # A shape has the fact of all rails or of none.
            lacking = ", ".join(nic.called for nic, row in zip(rails, found, strict=True) if key not in row)
            missing.append(_ask_for(f"{words}: not known of {lacking}", command, f"nics[].{key}"))
            for row in having:
                del row[key]
    for nic, row in zip(rails, found, strict=True):
        if nic.nearest_gpu is not None:
            row["nearestGpu"] = nic.nearest_gpu
    if all(nic.nearest is None for nic in rails):
        missing.append(_ask_for("nearest GPU of the RDMA NICs", "nvidia-smi topo -m", "nics[].nearestGpu"))
    elif without := [nic.called for nic in rails if not nic.nearest]:
        notes.append(f"no GPU shares a PCI switch with {', '.join(without)}")
    return found


def _add_tree(
    node: NodeFacts, choice: RailChoice, fields: dict[str, Any], missing: list[str], notes: list[str]
) -> None:
    if not node.tree:
        missing.append(
            "PCI tree for NCCL; give what NCCL_TOPO_DUMP_FILE writes, if pods cannot see the tree themselves"
        )
        return
    addresses = [nic.pci for nic in choice.rails]
    if not all(addresses) or not all(gpu.pci for gpu in node.gpus):
        missing.append("PCI tree for NCCL: it needs the addresses of all GPUs and rails")
        return
    try:
        tree = host_tree(node.tree, [address for address in addresses if address])
    except ValueError as error:
        notes.append(f"the PCI tree of NCCL's dump is left out: {error}")
        return
    fields["topology"] = tree.model_dump(mode="json", by_alias=True, exclude_none=True)


def catalog_match(node: NodeFacts, choice: RailChoice, shapes: Iterable[Shape]) -> CatalogMatch:
    """The catalog's shapes with the same GPUs and the same NICs at the same addresses; that with most facts first."""
    equal: list[Shape] = []
    different: dict[str, tuple[str, ...]] = {}
    addresses = [nic.pci for nic in choice.rails]
    if not addresses or not all(addresses) or not node.gpus:
        return CatalogMatch((), {})
    for shape in shapes:
        if sorted(nic.pci or "" for nic in shape.nics) != sorted(map(str, addresses)):
            continue
        if found := _differences(node, choice, shape):
            different[shape.name] = found
        else:
            equal.append(shape)
    equal.sort(key=lambda shape: -sum(nic.interface is not None for nic in shape.nics))
    names = tuple(shape.name for shape in equal)
    if any(_are_told_apart(equal[0], other) for other in equal[1:]):
        return CatalogMatch((), different, undecided=names)
    return CatalogMatch(names, different, equal[0] if equal else None)


def labelled_match(node: NodeFacts, choice: RailChoice, shape: Shape, found: CatalogMatch) -> CatalogMatch:
    """The match where a label of the nodes names a shape: that one, unless what was seen differs from it."""
    if shape.name in (*found.equal, *found.undecided):
        return CatalogMatch((shape.name,), {}, shape)
    if shape.name in found.different:
        return CatalogMatch((), {shape.name: found.different[shape.name]})
    differences = _gpu_differences(node, shape)
    stated = {nic.pci for nic in shape.nics if nic.pci}
    seen = {nic.pci for nic in node.nics if nic.pci}
    if stated and seen and not stated <= seen:
        differences = (*differences, f"no NIC at {', '.join(sorted(stated - seen))}")
    if differences:
        return CatalogMatch((), {shape.name: differences})
    return CatalogMatch((shape.name,), {}, shape, by_label=True)


def _are_told_apart(one: Shape, other: Shape) -> bool:
    """Whether two shapes with NICs at the same addresses differ in a fact that both have."""
    pairs = zip(sorted(one.nics, key=_address), sorted(other.nics, key=_address), strict=True)
    return any(
        (ours := getattr(nic, name)) is not None and (its := getattr(twin, name)) is not None and ours != its
        for nic, twin in pairs
        for name in ("rdma_device", "interface", "nearest_gpu")
    )


def _address(nic: Nic) -> str:
    return nic.pci or ""


def _differences(node: NodeFacts, choice: RailChoice, shape: Shape) -> tuple[str, ...]:
    """What the files state otherwise than the catalog; what either does not know is not a difference."""
    found: list[str] = []
    by_address = {nic.pci: nic for nic in choice.rails}
    rails = [by_address[nic.pci] for nic in shape.nics]
    found += _gpu_differences(node, shape)
    pairs: list[tuple[str, Any, Any]] = [
        ("order of the rails", addresses_of(choice.rails), [nic.pci for nic in shape.nics]),
        ("RDMA devices", _all(nic.rdma_device for nic in rails), _all(nic.rdma_device for nic in shape.nics)),
        ("nearest GPUs", _all(nic.nearest_gpu for nic in rails), _all(nic.nearest_gpu for nic in shape.nics)),
        ("MTU", _common(rails, "mtu"), shape.mtu),
        ("line rate", _common(rails, "speed_gbps"), shape.nic_speed_gbps),
    ]
    if shape.nic_model is not None:
        pairs += [
            ("device id of the NICs", _common(rails, "device"), shape.nic_model.device_id),
        ]
    if shape.nic_model is not None and shape.provider != "server":
        # The ports of a server of one's own run either; the stack file says which.
        pairs.append(("link type", _common(rails, "link_type"), shape.nic_model.link_type))
    found += _unequal(pairs)
    for nic, row in zip(rails, shape.nics, strict=True):
        if nic.interface and row.interface and nic.interface not in (row.interface, row.other_interface):
            found.append(f"interface at {row.pci}: {nic.interface} instead of {row.interface}")
    return tuple(found)


def _gpu_differences(node: NodeFacts, shape: Shape) -> tuple[str, ...]:
    model, memory = _gpu_of(shape)
    gpu = node.gpus[0] if node.gpus else GpuFacts()
    found = _unequal(
        [
            ("GPU vendor", node.gpu_vendor, shape.gpus.vendor),
            ("GPU model", gpu.model or gpu_model(node.gpu_name), model),
            ("number of GPUs", len(node.gpus) or None, shape.gpus.count),
            ("PCI addresses of the GPUs", _all(gpu.pci for gpu in node.gpus), list(shape.gpus.pci) or None),
        ]
    )
    if memory and gpu.memory_gb and abs(memory - gpu.memory_gb) > memory // 20:
        found.append(f"GPU memory: {gpu.memory_gb} GB instead of {memory}")
    return tuple(found)


def _unequal(pairs: Iterable[tuple[str, Any, Any]]) -> list[str]:
    """Words for each pair of known values that differ."""
    return [
        f"{what}: {_shown(ours)} instead of {_shown(its)}"
        for what, ours, its in pairs
        if ours is not None and its is not None and ours != its
    ]


def addresses_of(nics: Iterable[NicFacts]) -> list[str | None]:
    """The PCI addresses of NICs, in their order."""
    return [nic.pci for nic in nics]


def _gpu_of(shape: Shape) -> tuple[str | None, int | None]:
    """Model and memory of a shape's GPUs: Oracle's names have the memory in the model, as A100-80."""
    model, _, memory = (shape.gpus.model or "").partition("-")
    return model or None, shape.gpus.memory_gb or (int(memory) if memory.isdigit() else None)


def _all(values: Iterable[Any]) -> list[Any] | None:
    found = list(values)
    return found if found and all(value is not None for value in found) else None


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
