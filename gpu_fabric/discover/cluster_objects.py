"""Objects of a cluster as `kubectl get -o json` prints them: nodes, and what the SR-IOV operator saw on each.

Source: the definitions of Node and SriovNetworkNodeState (sriov-network-operator, in Network Operator 26.4.1), and the
labels of NVIDIA's GPU feature discovery and of AMD's node labeller.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover.facts import DiscoveryError, Observation, Statements
from gpu_fabric.discover.text import Output, pci_address

COMMAND = "kubectl get nodes,sriovnetworknodestates.sriovnetwork.openshift.io -A -o json"

_LINK_TYPES = {"ETH": "ether", "ETHERNET": "ether", "IB": "infiniband", "INFINIBAND": "infiniband"}
_SPEED = re.compile(r"(\d{1,9}) ?Mb/s")
_ID = re.compile(r"[0-9a-f]{4}")
_MOST_GPUS = 64


class _Nic(NamedTuple):
    """A physical function as the operator lists it; `virtual` are its virtual ones by address and device id."""

    pci: str
    interface: str
    vendor: str
    device: str
    driver: str
    link_type: str
    speed: int | None
    mtu: int | None
    virtual: tuple[tuple[str, str], ...]


class _Machine(NamedTuple):
    """What equal nodes have in common."""

    vendor: str
    product: str
    gpus: int
    memory: int | None
    nics: tuple[_Nic, ...]

    def __str__(self) -> str:
        return f"{self.gpus} x {self.product or f'GPUs of {self.vendor}'}, {len(self.nics)} NICs"


def is_output(output: Output) -> bool:
    """Whether a text looks like objects of a cluster."""
    return re.match(r'\s*\{\s*"apiVersion"\s*:', output.text) is not None


def read(output: Output, group: str | None = None) -> Observation:
    """The GPUs and NICs of one group of equal nodes, with the nodes' names.

    Raises:
        DiscoveryError: not such a list, no GPU node in it, or several groups of which none is named.
    """
    machines: dict[_Machine, list[str]] = defaultdict(list)
    items = _items(output)
    states = {_name(item): item for item in items if item.get("kind") == "SriovNetworkNodeState"}
    for node in (item for item in items if item.get("kind") == "Node"):
        if (machine := _machine(node, states.get(_name(node), {}))) is not None:
            machines[machine].append(_name(node))
    if not machines:
        output.refuse(1, "no node with GPUs is among these objects", f"give the whole output of `{COMMAND}`")
    machine, names = _chosen(output, machines, group)
    found = Statements(output.file)
    found.add(0, "node", "", names=tuple(sorted(names)), gpuName=machine.product)
    for number in range(machine.gpus):
        gpu = {"name": machine.product, "memory": machine.memory, "vendor": machine.vendor}
        found.add(0, "gpu", str(number), listed=1, **gpu)
    for nic in machine.nics:
        for address, device, driver in ((nic.pci, nic.device, nic.driver), *((*each, None) for each in nic.virtual)):
            # The operator lists network functions alone.
            found.add(0, "pci", address, **{"class": "0207" if nic.link_type == "infiniband" else "0200"})
            found.add(0, "pci", address, vendor=nic.vendor, device=device, driver=driver)
        if nic.interface:
            facts = {"pci": nic.pci, "linkType": nic.link_type, "mtu": nic.mtu, "speed": nic.speed}
            found.add(0, "interface", nic.interface, **facts)
    missing = sorted(set(names) - set(states))
    notes = [f"no SriovNetworkNodeState of {', '.join(missing)}: their NICs are not known"] if missing else []
    return Observation(tuple(found.found), notes=tuple(notes))


def _items(output: Output) -> list[dict[str, Any]]:
    remedy = f"give the whole output of `{COMMAND}`"
    try:
        document = json.loads(output.text)
    except json.JSONDecodeError as error:
        output.refuse(error.lineno, f"this is not valid JSON ({error.msg})", remedy)
    except (RecursionError, ValueError):
        output.refuse(1, "this is not JSON that a tool prints", remedy)
    items = document.get("items", [document]) if isinstance(document, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        output.refuse(1, "this is not a list of objects", remedy)
    return items


def _chosen(output: Output, machines: dict[_Machine, list[str]], group: str | None) -> tuple[_Machine, list[str]]:
    listed = sorted(machines.items(), key=lambda entry: min(entry[1]))
    if group is None and len(listed) == 1:
        return listed[0]
    lines = [
        f"  {number}: {machine}: {', '.join(sorted(names)[:4])}{' …' if len(names) > 4 else ''}"
        for number, (machine, names) in enumerate(listed, start=1)
    ]
    if group is None:
        raise DiscoveryError(
            "\n".join(
                [
                    f"{output.file}: {len(listed)} groups of nodes, and a stack file has one machine a run; name one "
                    "by its number with --group:",
                    *lines,
                ]
            )
        )
    if group not in (str(number) for number in range(1, len(listed) + 1)):
        raise DiscoveryError("\n".join([f"{output.file}: no group {shown(group)}; --group is one of:", *lines]))
    return listed[int(group) - 1]


def _machine(node: dict[str, Any], state: dict[str, Any]) -> _Machine | None:
    labels, capacity = _mapping(node, "metadata", "labels"), _mapping(node, "status", "capacity")
    for vendor in ("nvidia", "amd"):
        # The label counts GPUs, where the resource counts shares of them.
        count = _number(labels.get(f"{vendor}.com/gpu.count")) or _number(capacity.get(f"{vendor}.com/gpu"))
        if count:
            product = labels.get(f"{vendor}.com/gpu.product") or labels.get(f"{vendor}.com/gpu.product-name")
            memory = _number(labels.get("nvidia.com/gpu.memory"))
            nics = tuple(sorted(_nics(state)))
            return _Machine(vendor, _text(product), min(count, _MOST_GPUS), memory, nics)
    return None


def _nics(state: dict[str, Any]) -> Iterator[_Nic]:
    interfaces = _mapping(state, "status").get("interfaces")
    for entry in interfaces if isinstance(interfaces, list) else ():
        address = pci_address(_text(entry.get("pciAddress"))) if isinstance(entry, dict) else None
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
            speed=int(speed[1]) // 1000 or None if speed else None,
            mtu=_number(entry.get("mtu")) or None,
            virtual=tuple(_virtual(entry.get("Vfs"))),
        )


def _virtual(functions: Any) -> Iterator[tuple[str, str]]:
    for entry in functions if isinstance(functions, list) else ():
        address = pci_address(_text(entry.get("pciAddress"))) if isinstance(entry, dict) else None
        if address is not None:
            yield address, _id(entry.get("deviceID"))


def _mapping(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name(item: dict[str, Any]) -> str:
    return _text(_mapping(item, "metadata").get("name"))


def _number(value: Any) -> int:
    """A count, which labels and resources have as text; 0 for anything else."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _id(value: Any) -> str:
    text = _text(value).lower().removeprefix("0x")
    return text if _ID.fullmatch(text) else ""
