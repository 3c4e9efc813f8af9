"""Compare a file with its machine and with NCCL's dump, and find values that bind it to one machine or job.

NCCL_TOPO_DUMP_FILE writes NCCL's tree of a machine, merged and trimmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from .c_numbers import c_integer
from .dialect import dialect_table
from .elements import IDS, cpus_of, is_hex_id, numa_number, number_of_guid, width_of
from .file import (
    File,
    Published,
    bus_of,
    drop_function,
    is_gpu,
    is_nic,
    link_rate,
    nearest_gpus,
    pci_above,
    quote,
    several,
)
from .machine import Machine
from .problem import Problem
from .reader import Element, Reading


def against_machine(file: File) -> Iterator[Problem]:
    """Differences between the file and the named machine; none without one."""
    if file.machine is None:
        return
    yield from _gpus(file, file.machine)
    yield from _nics(file, file.machine)
    yield from _rails(file, file.machine)
    yield from _speeds(file, file.machine)
    if file.published is not None:
        yield from _cpus(file, file.published)
        yield from _links(file, file.published)
        yield from _switches(file, file.published)


def _gpus(file: File, machine: Machine) -> Iterator[Problem]:
    top = file.line(file.system)
    if not machine.gpus:
        # AMD's accelerators may have another PCI class than displays, so the file may not identify them.
        told_apart = bool(file.gpus) or machine.vendor == "nvidia"
        if told_apart and len(file.gpus) != machine.count:
            message = f"{len(file.gpus)} GPUs; {machine.name} has {machine.count}"
            yield Problem("TOP036", top, message, "write a `pci` of class 0x030200 for each GPU")
        return
    written = {element.get("busid") for element in file.pci}
    for number, busid in enumerate(machine.gpus):
        if busid not in written:
            message = f"GPU {number} of {machine.name} at {busid} is not in the file"
            yield Problem("TOP036", top, message, f"write a `pci` with busid {busid} below its switch")
    for element in file.gpus:
        if element.get("busid") not in machine.gpus:
            message = f"{quote(element.get('busid'))} is not a GPU of {machine.name}"
            yield Problem("TOP036", file.line(element, "busid"), message, f"write one of {', '.join(machine.gpus)}")


def _nics(file: File, machine: Machine) -> Iterator[Problem]:
    top = file.line(file.system)
    place = _Places(machine)
    ports = len(file.reading.of("net"))
    if ports and ports != len(machine.rails):
        message = f"{ports} ports; {machine.name} has {len(machine.rails)}"
        yield Problem("TOP036", top, message, "write one `net` for each rail, or none")
    if not place.rails:
        return
    written = {place.of(element.get("busid")) for element in file.pci if not element.below("pci")}
    for adapter in dict.fromkeys(map(place.of, place.rails)):
        if adapter not in written:
            busid = drop_function(next(address for address in place.rails if place.of(address) == adapter))
            message = f"the NIC of {machine.name} at {busid} is not in the file"
            yield Problem("TOP036", top, message, f"write a `pci` with busid {busid} below its switch")
    known = set(map(place.of, (*place.rails, *place.others)))
    for element in file.nics:
        if place.of(element.get("busid")) not in known:
            message = f"{quote(element.get('busid'))} is not a NIC of {machine.name}"
            yield Problem("TOP036", file.line(element, "busid"), message, f"write one of {', '.join(place.rails)}")


class _Places:
    """Maps addresses to adapters: a whole bus, or only the functions of one device if several share the bus.

    `rails` are the addresses of the RDMA NICs, `others` those of the front-end NICs.
    """

    def __init__(self, machine: Machine) -> None:
        self.rails = [*machine.nics]
        self.others = [*machine.front_end]
        devices = {drop_function(busid) for busid in (*self.rails, *self.others, *machine.gpus)}
        buses = [bus_of(busid) for busid in devices]
        self._shared = {bus for bus in buses if buses.count(bus) > 1}

    def of(self, busid: str) -> str:
        """The adapter at an address."""
        bus = bus_of(busid)
        return drop_function(busid) if bus in self._shared else bus


def _rails(file: File, machine: Machine) -> Iterator[Problem]:
    """NICs whose nearest GPUs are not the machine's; missing and foreign GPUs are findings of their own."""
    written = {element.get("busid") for element in file.gpus} & set(machine.gpus)
    place = _Places(machine)
    numbers = {place.of(pci): gpu for pci, gpu in machine.nics.items()}
    for element in file.nics:
        adapter = place.of(element.get("busid"))
        number = numbers.get(adapter)
        if number is None or not machine.gpus:
            continue
        found = nearest_gpus(element) & written
        wanted = (file.published.nearest[adapter] if file.published else {machine.gpus[number]}) & written
        if wanted and (found != wanted if file.published else not wanted <= found):
            nic = quote(element.get("busid"))
            message = f"nearest to the NIC {nic}: {_list(found)}; on {machine.name}: {_list(wanted)}"
            remedy = "hang the NIC below the lowest switch that it shares with that GPU"
            yield Problem("TOP037", file.line(element, "busid"), message, remedy)


def _list(busids: Iterable[str]) -> str:
    return ", ".join(sorted(busids)) or "none"


def _speeds(file: File, machine: Machine) -> Iterator[Problem]:
    """Ports that are slower than the machine's."""
    published = [c_integer(net.get("speed")) for net in file.published.reading.of("net")] if file.published else []
    lowest = min(published, default=(machine.rate or 0) * 1000)
    for net in file.reading.of("net"):
        text = net.values.get("speed")
        if text is not None and c_integer(text) < lowest:
            message = f"a port at {quote(text)} Mb/s; on {machine.name} it has {lowest}"
            yield Problem("TOP042", file.line(net, "speed"), message, f'write speed="{lowest}", or leave it out')


def _links(file: File, published: Published) -> Iterator[Problem]:
    for element in file.pci:
        twin = published.pci.get(element.get("busid"))
        if twin is None:
            continue
        rate, real = link_rate(element, width_of(element)), link_rate(twin, width_of(twin))
        if rate is not None and real is not None and rate < real:
            message = f"a link of {rate:g} Gb/s; on {published.machine.name} it has {real:g}"
            remedy = f'write link_speed="{twin.get("link_speed")}" link_width="{twin.get("link_width")}"'
            yield Problem("TOP042", file.line(element, "link_speed"), message, remedy)


def _switches(file: File, published: Published) -> Iterator[Problem]:
    """Ids by which NCCL makes one of a switch's two levels, other than the machine's; it reads missing ones itself."""
    merged = dialect_table().merged_switches
    for element in file.bridges:
        twin = published.pci.get(element.get("busid"))
        if twin is None or merged not in (c_integer(twin.get("vendor")), c_integer(element.get("vendor"))):
            continue
        for name in IDS:
            text = element.get(name)
            # Of the last id, NCCL leaves out the lower twelve bits.
            ignored = 12 if name == IDS[-1] else 0
            if is_hex_id(text) and c_integer(text) >> ignored != c_integer(twin.get(name)) >> ignored:
                message = f"{name} {quote(text)}; the switch of {published.machine.name} has {twin.get(name)}"
                remedy = f'write {name}="{twin.get(name)}": NCCL merges the levels of a switch by its ids'
                yield Problem("TOP059", file.line(element, name), message, remedy)


def _cpus(file: File, published: Published) -> Iterator[Problem]:
    name = published.machine.name
    if len(file.cpus) == 1 and len(published.cpus) > 1:
        message = f"one `cpu`; {name} has GPUs on {len(published.cpus)} NUMA nodes"
        remedy = f"write a `cpu` for each of the nodes {', '.join(map(str, sorted(published.cpus)))}"
        yield Problem("TOP047", file.line(file.cpus[0]), message, remedy)
    for cpu in file.cpus:
        number = numa_number(cpu)
        if number is None:
            continue
        twin = published.cpus.get(number)
        if twin is None:
            allowed = ", ".join(map(str, sorted(published.cpus)))
            message = f"{name} has no GPU or NIC on NUMA node {number}"
            yield Problem("TOP024", file.line(cpu, "numaid"), message, f"write one of {allowed}")
            continue
        own, real = cpus_of(cpu.get("affinity")), twin.get("affinity")
        if own is not None and own != cpus_of(real):
            message = f"other CPUs than NUMA node {number} of {name} has"
            yield Problem("TOP027", file.line(cpu, "affinity"), message, f'write affinity="{real}"')
        yield from _cpu_identity(file, cpu, twin, name)


def _cpu_identity(file: File, cpu: Element, twin: Element, machine: str) -> Iterator[Problem]:
    """CPU attributes that differ from the machine's; NCCL reads missing ones from the machine."""
    table = dialect_table()
    vendor = table.cpu_vendor(twin.get("vendor"))
    differs = {
        "arch": cpu.get("arch").startswith(table.cpu_archs) and not cpu.get("arch").startswith(twin.get("arch")),
        "vendor": table.cpu_vendor(cpu.get("vendor")) not in (None, vendor),
    }
    models = None if vendor is None else file.dialect.models_of(vendor)
    if models is not None and not any(differs.values()):
        differs |= {each: c_integer(cpu.get(each)) != c_integer(twin.get(each)) for each in models.reads}
    for attribute in [each for each, other in differs.items() if other and each in cpu.values]:
        real = twin.get(attribute)
        message = f"{attribute} {quote(cpu.get(attribute))}; the CPUs of {machine} have {quote(real)}"
        yield Problem("TOP027", file.line(cpu, attribute), message, f'write {attribute}="{real}"')


def against_dump(file: File) -> Iterator[Problem]:
    """PCI elements that only the file or only the dump has, or that have another parent; none without a dump."""
    if file.dump is None:
        return
    dumped = _by_busid(file.dump)
    written = _by_busid(file.reading)
    for busid, element in written.items():
        line = file.line(element, "busid")
        if busid not in dumped:
            message = f"{quote(busid)} is not in the dump: NCCL found no device of the job below"
            yield Problem("TOP046", line, message, "correct the address, or leave the branch out")
        elif (here := _place_above(element)) != (there := _place_above(dumped[busid])):
            message = f"{quote(busid)} is below {here}; in the dump, below {there}"
            yield Problem("TOP046", line, message, "hang it where the dump has it")
    for busid, element in dumped.items():
        if busid not in written and (is_gpu(element) or is_nic(element)):
            message = f"{quote(busid)} of the dump is not in the file: NCCL placed it by itself"
            yield Problem("TOP046", file.line(file.system), message, "write it below its switch")


def _by_busid(reading: Reading) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in reading.of("pci"):
        found.setdefault(element.get("busid"), element)
    return found


def _place_above(element: Element) -> str:
    above = element.parent
    if above is None:
        return "nothing"
    return f"NUMA node {quote(above.get('numaid'))}" if above.name == "cpu" else quote(above.get("busid"))


_FOUND_BY_NCCL = ("gpu", "nic", "net", "nvlink", "c2c", "xgmi", "pcilink")


def _pinned(file: File) -> Iterator[Problem]:
    for name, attributes in dialect_table().pinned.items():
        for attribute in attributes:
            holders = [element for element in file.reading.of(name) if attribute in element.values]
            unlike = [element for element in holders if not _is_as_published(file, element, attribute)]
            if not unlike:
                continue
            message = f"`{attribute}` of `{name}` fixes the file to one machine{several(unlike)}"
            remedy = "leave it out: NCCL fills it in"
            twin = file.published_twin(unlike[0])
            if file.published is not None and twin is not None:
                value = quote(unlike[0].get(attribute))
                message = (
                    f"`{attribute}` of `{name}` is {value}, other than published for {file.published.machine.name}"
                )
            yield Problem("TOP038", file.line(unlike[0], attribute), message, remedy)


def _is_as_published(file: File, element: Element, attribute: str) -> bool:
    twin = file.published_twin(element)
    if twin is None:
        return _is_misplaced(file, element)
    if element.name == "net" and element.parent is not None:
        # The published identifiers of an adapter are generated: any value is good that the same ports have in common.
        alike = {number_of_guid(net.get("guid")) for net in element.parent.below("net") if "guid" in net.values}
        published = {net.get("guid") for container in twin.below("nic") for net in container.below("net")}
        return len(alike) <= len(published)
    return any(each.get(attribute) == element.get(attribute) for each in twin.below(element.name))


def _found_anyway(file: File) -> Iterator[Problem]:
    for name in _FOUND_BY_NCCL:
        unlike = [element for element in file.reading.of(name) if not _has_published_place(file, element)]
        if unlike:
            message = f"`{name}` in the file: NCCL then no longer looks for itself{several(unlike)}"
            remedy = "leave it out; `cpu` and `pci` are all that a file needs"
            yield Problem("TOP039", file.line(unlike[0]), message, remedy)


def _is_misplaced(file: File, element: Element) -> bool:
    """Whether it is below a device address that the machine does not have, which is a finding of its own."""
    return file.published is not None and any(is_gpu(above) or is_nic(above) for above in pci_above(element))


def _has_published_place(file: File, element: Element) -> bool:
    twin = file.published_twin(element)
    if twin is None:
        return _is_misplaced(file, element)
    return _kind(element) in map(_kind, _held(twin))


def _kind(element: Element) -> tuple[str, ...]:
    """The name of an element; for a link also its target and count."""
    if element.name != "nvlink":
        return (element.name,)
    return (element.name, element.get("target"), element.get("count"))


def _held(element: Element) -> Iterator[Element]:
    """The elements below a PCI element, up to the next one."""
    for child in element.children:
        if child.name != "pci":
            yield child
            yield from _held(child)


def _newer(file: File) -> Iterator[Problem]:
    version = file.dialect.version
    if version is None:
        for name, since in dialect_table().elements_since.items():
            if holders := file.reading.of(name):
                message = f"`{name}` needs {file.dialect.name} {since}: older ones skip it{several(holders)}"
                remedy = "leave it out, or name the release that reads the file with --nccl"
                yield Problem("TOP043", file.line(holders[0]), message, remedy)
    for name, attributes in dialect_table().attributes_since.items():
        for attribute, since in attributes.items():
            holders = [element for element in file.reading.of(name) if attribute in element.values]
            if holders and (version is None or not file.dialect.reaches(since)):
                message = f"`{attribute}` of `{name}` needs {file.dialect.name} {since}{several(holders)}"
                remedy = "leave it out, or name the release that reads the file with --nccl"
                if version is not None:
                    message = f"{message}; {version} does not know it"
                    remedy = "leave it out, or use the newer release"
                yield Problem("TOP043", file.line(holders[0], attribute), message, remedy)


def _unknown(file: File) -> Iterator[Problem]:
    """Attributes that the library does not read, each once per element name."""
    may_stand: dict[str, set[str]] = {}
    for element in file.reading.elements:
        name = element.name
        if name not in may_stand:
            may_stand[name] = {"", "keep", *file.dialect.attributes_of(name)}
        if element.values.keys() <= may_stand[name]:
            continue
        known = file.dialect.attributes_of(name)
        for attribute in sorted(element.values.keys() - may_stand[name]):
            message = f"`{name}` has no attribute {quote(attribute)}: it does nothing"
            remedy = f"{_meant(attribute, known)}allowed: {', '.join(known) or 'none'}"
            yield Problem("TOP049", file.line(element, attribute), message, remedy)
        may_stand[name] |= element.values.keys()


def _meant(attribute: str, known: Iterable[str]) -> str:
    close = get_close_matches(attribute.lower(), known, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def _kept(file: File) -> Iterator[Problem]:
    kept = [element for element in file.reading.elements if "keep" in element.values]
    if kept:
        message = f"`keep` holds a branch that no device of the job uses{several(kept)}"
        yield Problem("TOP045", file.line(kept[0], "keep"), message, "leave it out, and let NCCL trim the tree")


def _required(file: File) -> Iterator[Problem]:
    for name in dialect_table().required:
        for element in file.reading.of(name):
            if missing := [each for each in file.dialect.required_of(name) if each not in element.values]:
                message = f"`{name}` without {', '.join(missing)}: {file.dialect.name} stops there"
                yield Problem("TOP050", file.line(element), message, "write it, or leave the element out")
    for name, needed in dialect_table().needed_unfilled.items():
        for element in file.reading.of(name):
            if id(element) not in file.unfilled:
                continue
            if missing := [each for each in (*needed, *_identity(file, element)) if each not in element.values]:
                message = (
                    f"`{name}` without {', '.join(missing)} above a port with a name: {file.dialect.name} stops there"
                )
                remedy = (
                    "write it, or leave the port's name out: NCCL looks nothing up above a port that it finds by name"
                )
                yield Problem("TOP050", file.line(element), message, remedy)
    for cpu in file.cpus:
        half = "familyid" in cpu.values and "modelid" not in cpu.values and id(cpu) not in file.unfilled
        if half and "modelid" in _identity(file, cpu):
            message = f"`cpu` with familyid and no modelid: {file.dialect.name} fills in both or none, and stops there"
            yield Problem("TOP050", file.line(cpu, "familyid"), message, "write both, or none of them")


def _identity(file: File, element: Element) -> tuple[str, ...]:
    """The attributes that NCCL reads from an x86 CPU; where its vendor is left out, those of the most."""
    if element.name != "cpu" or not element.get("arch", "x86_64").startswith("x86_64"):
        return ()
    models = file.dialect.models_of(element.values.get("vendor", dialect_table().cpu_vendors[0]))
    return ("vendor", *(models.reads if models is not None else ()))


def _port_speeds(file: File) -> Iterator[Problem]:
    published = {net.get("speed") for net in file.published.reading.of("net")} if file.published else set()
    for net in file.reading.of("net"):
        text = net.values.get("speed")
        if text is None or text in published or c_integer(text) in dialect_table().port_speeds:
            continue
        message = f"speed {quote(text)} is not a rate of a port, in Mb/s: NCCL plans with it anyway"
        remedy = "write the port's rate, such as 400000, or leave it out"
        yield Problem("TOP041", file.line(net, "speed"), message, remedy)


PORTABILITY_CHECKS = (_pinned, _found_anyway, _newer, _unknown, _kept, _required, _port_speeds)
"""Checks for values that do not belong in a shared file, unless they are published for the machine."""
