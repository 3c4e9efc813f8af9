"""`lspci`: PCI functions with class, ids and driver; short, -nn, -n, -D, -k, -v, and -vmm.

Source: lspci's manual page (pciutils 3.9): the order of the fields, and that the domain is left out where it is 0.
"""

from __future__ import annotations

import re

from gpu_fabric.discover.devices import device_table, is_gpu
from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.text import Output, pci_address

NAME = "lspci"
COMMAND = "lspci -D -nn -k"
LIKE = "0000:18:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]"

_SLOT = re.compile(r"(?:[0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]")
_SHORT = re.compile(rf"({_SLOT.pattern})\s+([^:]+?)(?: \[([0-9a-fA-F]{{4}})\])?: (.+)")
_IDS = re.compile(r"\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\]")
_PLAIN_IDS = re.compile(r"([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\b")
_CODE = re.compile(r"(?:^| \[)([0-9a-fA-F]{4})\]?$")
_DETAIL = re.compile(r"\s+Kernel driver in use: (\S+)")
_FIELD = re.compile(r"(\w+):\s*(.*)")
_FIELDS = {"Slot", "Class", "Vendor", "Device", "SVendor", "SDevice", "PhySlot", "Rev", "ProgIf", "Driver", "Module"}
_FIELDS |= {"NUMANode", "IOMMUGroup", "DTNode"}


def is_output(output: Output) -> bool:
    """Whether a text looks like the output of lspci."""
    return any(_SHORT.match(line) or re.match(r"Slot:\s", line) for _, line in output.lines())


def read(output: Output) -> Observation:
    """The network functions and GPUs."""
    if any(line.startswith("Slot:") for _, line in output.lines()):
        return _read_fields(output)
    found = Statements(output.file)
    address: str | None = None
    for number, line in output.lines():
        if line[0].isspace():
            if address and (detail := _DETAIL.match(line)):
                found.add(number, "pci", address, driver=detail[1])
            continue
        short = _SHORT.fullmatch(line)
        if short is None:
            output.refuse_line(number, line, LIKE, COMMAND)
        slot, class_name, code, name = short.groups()
        ids = _PLAIN_IDS.match(name) if _CODE.match(class_name) else None
        ids = ids or next(reversed(list(_IDS.finditer(name))), None)
        vendor, device = (ids[1], ids[2]) if ids else (None, None)
        address = _add(found, number, slot, code or _class_code(class_name), name, (vendor, device))
    return Observation(tuple(found.found))


def _read_fields(output: Output) -> Observation:
    found = Statements(output.file)
    records: list[dict[str, tuple[int, str]]] = []
    for number, line in output.lines():
        pair = _FIELD.fullmatch(line)
        if pair is None or pair[1] not in _FIELDS or (pair[1] != "Slot" and not records):
            output.refuse_line(number, line, "Slot:, Class:, Vendor: and Device:", "lspci -D -vmm -nn -k")
        if pair[1] == "Slot":
            records.append({})
        records[-1][pair[1]] = (number, pair[2])
    for record in records:
        number, slot = record["Slot"]
        missing = [key for key in ("Class", "Vendor", "Device") if key not in record]
        if missing or not _SLOT.fullmatch(slot):
            output.refuse(
                number,
                f"a device of `lspci -vmm` without {', '.join(missing)}"
                if missing
                else f"{slot!r} is not a PCI address",
                "give the whole output of `lspci -D -vmm -nn -k`",
            )
        texts = {key: text for key, (_, text) in record.items()}
        codes = {key: _CODE.search(texts[key]) for key in ("Class", "Vendor", "Device")}
        vendor, device = codes["Vendor"], codes["Device"]
        address = _add(
            found,
            number,
            slot,
            _class_code(texts["Class"]),
            f"{texts['Vendor']} {texts['Device']}",
            (vendor[1] if vendor else None, device[1] if device else None),
        )
        if address and "Driver" in texts:
            found.add(record["Driver"][0], "pci", address, driver=texts["Driver"])
    return Observation(tuple(found.found))


def _class_code(text: str) -> str | None:
    code = _CODE.search(text)
    return code[1].lower() if code else device_table().classes.get(text)


def _add(
    found: Statements, line: int, slot: str, code: str | None, name: str, ids: tuple[str | None, str | None]
) -> str | None:
    """Add a function that is a NIC or a GPU; returns its address, or None for any other."""
    table, address = device_table(), pci_address(slot)
    vendor, device = (part.lower() if part else None for part in ids)
    vendor = vendor or table.vendor_of(name)
    if address is None or code is None or not (code.startswith("02") or is_gpu(vendor, code)):
        return None
    if device is None and (row := table.nic_printed(vendor, name)) is not None:
        device = row.device
    found.add(line, "pci", address, **{"class": code.lower(), "vendor": vendor, "device": device, "name": name})
    return address
