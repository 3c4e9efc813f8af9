"""A look at a node: what `look.sh` prints there, with the marks of its first and its last line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.text import Output, pci_address
from gpu_fabric.on_nodes import program

COMMAND = "gpu-fabric discover --look"
LIKE = "rdma mlx5_0 port=1 pci=0000:18:00.0 layer=InfiniBand, with tabs"

_FIRST = "gpu-fabric-look\t1"
_RATE = re.compile(r"([0-9]{1,5})(?:\.[0-9]+)? Gb/sec.*")
_ID = re.compile(r"0x([0-9a-f]{4})")
_LAYERS = {"InfiniBand": "infiniband", "Ethernet": "ether"}
_TYPES = {"1": "ether", "32": "infiniband"}
"""Types of interfaces: ARPHRD_ETHER and ARPHRD_INFINIBAND of the kernel's if_arp.h."""
_RECORDS = ("gpu-fabric-look", "node", "pci", "rdma", "net", "gpu", "acs", "end")


def script() -> str:
    """The script that looks at a node."""
    return program("look.sh")


def is_output(output: Output) -> bool:
    """Whether a text is what the script prints."""
    return output.text.lstrip().startswith(_FIRST)


def is_whole(text: str) -> bool:
    """Whether a text is all that the script prints, and no part of it."""
    last = text.rstrip("\n").rpartition("\n")[2]
    return last.startswith("end\t")


def read(output: Output) -> Observation:
    """GPUs, NICs and RDMA devices of the node, with the PCI tree above them.

    Raises:
        DiscoveryError: a line is none of the script's, or lines lack.
    """
    found, notes = Statements(output.file), list[str]()
    controlled, last = list[str](), ""
    versions: dict[str, str] = {}
    count = 0
    for number, (kind, name, fields) in _records(output):
        count += 1
        last = f"{kind} {name}"
        address = pci_address(fields.get("pci", "")) if "pci" in fields else None
        if kind == "node":
            found.add(number, "node", "", machine=fields.get("product"))
            notes += _versions(fields)
        elif kind == "pci":
            _add_function(output, found, number, name, fields)
        elif kind == "rdma" and address is not None:
            _add_device(found, notes, number, name, address, fields)
            if fields.get("abi"):
                versions.setdefault(fields["abi"], name)
        elif kind == "net" and address is not None:
            speed = fields.get("speed", "")
            found.add(number, "interface", name, pci=address, linkType=_TYPES.get(fields.get("type", "")))
            found.add(number, "interface", name, mtu=_number(fields.get("mtu", "")))
            found.add(number, "interface", name, speed=(_number(speed) or 0) // 1000 or None)
        elif kind == "gpu" and name.isdecimal():
            memory = _number(fields.get("memory", ""))
            # The look has nvidia-smi's list alone.
            facts = {"name": fields.get("name"), "memory": memory, "vendor": "nvidia"}
            found.add(number, "gpu", str(int(name)), listed=1, pci=address, **facts)
        elif kind == "acs":
            controlled.append(name)
    if last != f"end {count - 1}":
        output.refuse(count, "the end of this look is missing", f"give the whole output of `{COMMAND}`")
    if controlled and controlled != ["unknown"]:
        notes.append(
            f"ACS is on at {len(controlled)} PCI functions, so NICs and GPUs may reach each other by way of the CPU: "
            "hostPreparation.disableAcs turns it off"
        )
    if versions:
        each = " and ".join(f"{version} (as of {device})" for version, device in versions.items())
        notes.append(f"drivers of RDMA devices have ABI {each}: `gpu-fabric image-check --abi` compares images with it")
    return Observation(tuple(found.found), notes=tuple(notes))


def _records(output: Output) -> Iterator[tuple[int, tuple[str, str, dict[str, str]]]]:
    for number, line in output.lines():
        kind, *rest = line.split("\t")
        name = rest[0] if rest and "=" not in rest[0] else ""
        pairs = [each.partition("=") for each in (rest[1:] if name else rest)]
        if kind not in _RECORDS or not rest or not all(mark for _, mark, _ in pairs):
            output.refuse_line(number, line, LIKE, COMMAND)
        yield number, (kind, name, {key: value.strip() for key, _, value in pairs})


def _add_function(output: Output, found: Statements, number: int, name: str, fields: dict[str, str]) -> None:
    address = pci_address(name)
    if address is None:
        output.refuse(number, f"{shown(name)} is not a PCI address", f"give the whole output of `{COMMAND}`")
    ids = {key: match[1] for key in ("vendor", "device") if (match := _ID.fullmatch(fields.get(key, "")))}
    bridges = [part for part in fields.get("path", "").split(",") if part]
    found.add(number, "pci", address, driver=fields.get("driver"), physical=fields.get("physical"), **ids)
    found.add(number, "pci", address, **{"class": fields.get("class")})
    found.add(number, "pci", address, path=tuple(each for part in bridges if (each := pci_address(part))))


def _add_device(
    found: Statements, notes: list[str], number: int, name: str, address: str, fields: dict[str, str]
) -> None:
    if fields.get("port", "1") != "1":
        notes.append(f"port {fields['port']} of {name} is left out: an RDMA device has one port here")
        return
    rate = _RATE.fullmatch(fields.get("rate", ""))
    is_up = "ACTIVE" in fields.get("state", "")
    found.add(number, "rdma", name, pci=address, linkType=_LAYERS.get(fields.get("layer", "")))
    found.add(number, "rdma", name, speed=int(rate[1]) if rate and is_up else None)
    if not is_up:
        notes.append(f"{name} has no link ({fields.get('state') or 'its state is not known'})")


def _versions(fields: dict[str, str]) -> Iterator[str]:
    """What the node runs, as a remark."""
    seen = [f"{key} {fields[key]}" for key in ("kernel", "mlx5_core", "nvidia", "amdgpu") if fields.get(key)]
    mode = [f"RDMA mode {fields['rdma']}"] if fields.get("rdma") else []
    if seen or mode:
        yield f"the node runs {', '.join([*seen, *mode])}"


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
