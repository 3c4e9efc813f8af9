"""Check the elements of an accepted file: NUMA nodes, PCI functions, links and ports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .c_numbers import c_integer, is_misread
from .dialect import Library, dialect_table
from .file import (
    BUS_ID,
    File,
    bus_of,
    drop_function,
    is_bridge,
    is_socket,
    link_rate,
    pci_above,
    quote,
    several,
)
from .problem import Problem
from .reader import Element

# The kernel's format: NCCL compares the text with sysfs.
_NODE = re.compile(r"-1|0|[1-9][0-9]{0,8}")
_NUMBER = re.compile(r"\s*[+-]?[0-9]")
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})*")


def cpus_of(mask: str) -> int | None:
    """A CPU mask as a number, bit n for CPU n; None if it is malformed."""
    return int(mask.replace(",", ""), 16) if _MASK.fullmatch(mask) else None


def numa_number(cpu: Element) -> int | None:
    """The NUMA node; None if it is not in the kernel's format."""
    text = cpu.get("numaid")
    return int(text) if _NODE.fullmatch(text) else None


def _numbers(file: File) -> Iterator[Problem]:
    seen: set[int] = set()
    for cpu in file.cpus:
        number = numa_number(cpu)
        if number is None:
            written = f"numaid {quote(cpu.get('numaid'))}" if "numaid" in cpu.values else "no numaid"
            message = f"{written}: NCCL compares it with the number of the NUMA node as the kernel writes it"
            yield Problem("TOP024", file.line(cpu, "numaid"), message, 'write the node\'s number, such as numaid="0"')
        elif number in seen:
            message = f"NUMA node {number} is there twice"
            yield Problem(
                "TOP024", file.line(cpu, "numaid"), message, "write each node once, with all that hangs below"
            )
        else:
            seen.add(number)


def _masks(file: File) -> Iterator[Problem]:
    masks: list[tuple[Element, int]] = []
    for cpu in file.cpus:
        text = cpu.values.get("affinity")
        if text is None:
            continue
        numbers = cpus_of(text)
        if numbers is None:
            message = f"affinity {quote(text)} is not a CPU mask: helper threads would run anywhere"
            remedy = "write groups of eight hex digits, highest CPUs first, with commas between, as in node*/cpumap"
            yield Problem("TOP025", file.line(cpu, "affinity"), message, remedy)
            continue
        masks.append((cpu, numbers))
    yield from _unlike(file, [cpu for cpu, _ in masks])
    taken: dict[int, str] = {}
    for cpu, mask in masks:
        for other, node in taken.items():
            if other & mask:
                shared = (other & mask).bit_length() - 1
                message = f"CPU {shared} is in the mask of NUMA node {quote(node)}, too"
                yield Problem("TOP026", file.line(cpu, "affinity"), message, "write each CPU into one mask")
                break
        taken[mask] = cpu.get("numaid")


def _unlike(file: File, cpus: list[Element]) -> Iterator[Problem]:
    """Masks with an unusual length: the kernel prints all masks of a machine with the same length."""
    groups = [cpu.get("affinity").split(",") for cpu in cpus]
    # The kernel may write the first group shorter than eight digits.
    lengths = [(len(each), len(each[0])) for each in groups]
    usual = max(lengths, key=lengths.count, default=(0, 0))
    for cpu, length in zip(cpus, lengths, strict=True):
        if length != usual:
            message = (
                f"a mask of {length[0]} groups, {length[1]} digits in the first; the others have {usual[0]} and "
                f"{usual[1]}: a digit or group is missing or too many"
            )
            remedy = "copy the mask as /sys/devices/system/node/node*/cpumap prints it"
            yield Problem("TOP026", file.line(cpu, "affinity"), message, remedy)


def _identities(file: File) -> Iterator[Problem]:
    table = dialect_table()
    for cpu in file.cpus:
        arch, vendor = cpu.values.get("arch"), cpu.values.get("vendor")
        if arch is not None and not arch.startswith(table.cpu_archs):
            message = f"arch {quote(arch)}: NCCL knows no such CPU and takes the slowest path between sockets"
            remedy = f"write one of {', '.join(table.cpu_archs)}, or leave it out"
            yield Problem("TOP040", file.line(cpu, "arch"), message, remedy)
        if arch is not None and not arch.startswith("x86_64"):
            continue
        if vendor is not None and table.cpu_vendor(vendor) is None:
            message = f"vendor {quote(vendor)}: NCCL knows no such maker of x86 CPUs"
            remedy = f"write one of {', '.join(map(quote, table.cpu_vendors))}, or leave it out"
            yield Problem("TOP040", file.line(cpu, "vendor"), message, remedy)
        models = file.dialect.models_of(vendor or table.cpu_vendors[0])
        if models is None:
            continue
        for name in models.reads:
            value = cpu.values.get(name)
            if value is None:
                continue
            too_old = name == "familyid" and c_integer(value) < min(models.families, default=0)
            if not _NUMBER.match(value) or is_misread(value) or too_old:
                read = f"NCCL reads {c_integer(value)}, and it selects the speed between sockets"
                remedy = "write the decimal number of /proc/cpuinfo, without a zero before it"
                yield Problem("TOP040", file.line(cpu, name), f"{name} {quote(value)}: {read}", remedy)


# As C reads it: text after the number is ignored.
_ID = re.compile(r"\s*0[xX][0-9a-fA-F]{1,4}(?![0-9a-fA-F])")
_MELLANOX = 0x15B3
IDS = ("vendor", "device", "subsystem_vendor", "subsystem_device")


def is_hex_id(text: str) -> bool:
    """Whether a PCI id is written so that NCCL reads the number that people read."""
    return _ID.match(text) is not None


def _addresses(file: File) -> Iterator[Problem]:
    first: dict[str, Element] = {}
    for element in file.pci:
        busid = element.get("busid")
        # A switch's bus id need not match a device: NCCL uses its position in the tree.
        if not BUS_ID.fullmatch(busid) and not (busid and is_bridge(element)):
            written = f"busid {quote(busid)}" if busid else "no busid"
            message = f"{written}: it never equals a device's, and NCCL drops what hangs here"
            yield Problem(
                "TOP028", file.line(element, "busid"), message, "write dddd:bb:dd.f in lower case, such as 0000:0c:00.0"
            )
        elif busid in first:
            message = f"{busid} is on line {file.line(first[busid])}, too: NCCL finds the first alone"
            yield Problem("TOP029", file.line(element, "busid"), message, "write each PCI function once")
        first.setdefault(busid, element)


def _domains(file: File) -> Iterator[Problem]:
    """Made-up switches must not use the address of a possible device."""
    devices = {element.get("busid")[:4] for element in (*file.gpus, *file.nics)}
    for element in file.bridges:
        domain = element.get("busid")[:4]
        if _is_made_up(element) and domain in devices:
            message = f"a made-up switch in PCI domain {quote(domain)}, where real devices are"
            remedy = "give made-up switches a domain of their own, such as ffff:00:00.0"
            yield Problem("TOP030", file.line(element, "busid"), message, remedy)


def _is_made_up(element: Element) -> bool:
    vendor, device = element.values.get("vendor"), element.values.get("device")
    return vendor is not None and device is not None and c_integer(vendor) == 0 == c_integer(device)


def _classes(file: File) -> Iterator[Problem]:
    without = [element for element in file.pci if not element.get("class") and id(element) not in file.unfilled]
    remedy = "write 0x060400 for a switch, 0x030200 for a GPU, 0x020000 for a NIC"
    unknown = [element for element in without if is_bridge(element) and file.is_made_up(element)]
    if unknown:
        message = f"a made-up switch without a class: NCCL stops there{several(unknown)}"
        yield Problem("TOP031", file.line(unknown[0]), message, remedy)
    from_system = [element for element in without if element not in unknown]
    if from_system:
        message = (
            f"a `pci` without a class: NCCL has it from the system for a device that it sees{several(from_system)}"
        )
        yield Problem("TOP052", file.line(from_system[0]), message, remedy)
    closed = dialect_table().closed_classes
    for element in file.pci:
        written = element.get("class")
        if written.startswith(closed) and element.below("pci"):
            message = f"class {quote(written)} is not a bridge's: NCCL does not look at the devices below"
            yield Problem("TOP031", file.line(element, "class"), message, 'write class="0x060400"')


def _ids(file: File) -> Iterator[Problem]:
    needed = set(IDS)
    incomplete = [element for element in file.bridges if not needed <= element.values.keys()]
    for name in IDS:
        bridges = [element for element in incomplete if name not in element.values]
        if bridges:
            message = f"a switch without `{name}`: releases of NCCL fail on switches that the system does not know"
            yield Problem("TOP044", file.line(bridges[0]), f"{message}{several(bridges)}", f'write {name}="0x0000"')


def _values_of_ids(file: File) -> Iterator[Problem]:
    for element in file.pci:
        for name in IDS:
            text = element.get(name)
            if not text and (name not in element.values or not any(c_integer(element.get(each)) for each in IDS)):
                continue
            if not is_hex_id(text) and not _is_read_as_published(file, element, name):
                message = f"{name} {quote(text)}: NCCL reads {c_integer(text):#x}"
                remedy = f'write four hex digits behind 0x, such as {name}="0x1000"'
                yield Problem("TOP053", file.line(element, name), message, remedy)


def _is_read_as_published(file: File, element: Element, name: str) -> bool:
    """Whether NCCL reads the id that is published for the machine, however it is written."""
    twin = file.published_twin(element)
    return twin is not None and name in twin.values and c_integer(element.get(name)) == c_integer(twin.get(name))


def _numbers_of_gpus(file: File) -> Iterator[Problem]:
    most = dialect_table().gpu_numbers - 1
    for gpu in file.reading.of("gpu"):
        if "dev" in gpu.values and not -1 <= c_integer(gpu.get("dev")) <= most:
            message = f"dev {quote(gpu.get('dev'))}: NCCL has room for GPUs 0 to {most}, and reads other memory beyond"
            yield Problem("TOP058", file.line(gpu, "dev"), message, "leave it out: NCCL fills it in")


def _functions_of_nics(file: File) -> Iterator[Problem]:
    """NCCL looks for a port at its device's address with function 0, and for NVIDIA's NICs also with device 0."""
    for element in file.nics:
        busid = element.get("busid")
        ports = [net for container in element.below("nic") for net in container.below("net")]
        # Only the transport over InfiniBand and RoCE looks elsewhere than where the system has the NIC.
        if not BUS_ID.fullmatch(busid) or (ports and all(map(is_socket, ports))):
            continue
        remedy = f"write busid {busid[:8]}00.0, where NCCL merges the adapter's ports and virtual functions"
        if busid != drop_function(busid):
            message = f"a NIC at {busid}: NCCL looks for it at {drop_function(busid)}"
        elif c_integer(element.get("vendor")) == _MELLANOX and busid[8:10] != "00":
            message = f"a NIC at {busid}: NCCL since 2.18.1 looks for it at device 00"
            remedy = f"{remedy}; or have jobs set NCCL_IB_MERGE_VFS=0"
        else:
            continue
        yield Problem("TOP054", file.line(element, "busid"), message, remedy)


def _functions_of_gpus(file: File) -> Iterator[Problem]:
    parts = dialect_table().gpu_parts
    if file.dialect.library is Library.RCCL or not file.dialect.reaches(parts.since):
        return
    for element in file.gpus:
        busid = element.get("busid")
        if BUS_ID.fullmatch(busid) and int(busid[-1]) & parts.mask:
            message = (
                f"a GPU at {busid}: NCCL since {parts.since} keeps these bits of the function for its own, and stops"
            )
            yield Problem("TOP055", file.line(element, "busid"), message, "write the GPU's address, with function 0")


def _copies(file: File) -> Iterator[Problem]:
    first: dict[tuple[str, ...], Element] = {}
    of_bridges = {id(element) for element in file.bridges}
    for element in file.bridges:
        below = [child for child in element.below("pci") if id(child) not in of_bridges]
        if not below:
            continue
        devices = tuple(sorted(child.get("busid") for child in below))
        if devices in first:
            message = f"the same devices as below the switch on line {file.line(first[devices])}: a copy left as it was"
            yield Problem("TOP048", file.line(element), message, "write the addresses of the devices that are here")
        first.setdefault(devices, element)


_DEFAULT_PORT = 10_000
"""Mb/s that NCCL assumes for a port whose speed is not above 0."""


def width_of(element: Element) -> int:
    """Lanes as NCCL reads them: 16 by default."""
    return c_integer(element.get("link_width")) or 16


def nic_speed(file: File, nic: Element) -> int | None:
    """Mb/s of the fastest port of a NIC: from the file, or from the machine; None if neither gives it."""
    ports = [net for container in nic.below("nic") for net in container.below("net")]
    speeds = [c_integer(net.get("speed")) for net in ports if "speed" in net.values]
    if speeds:
        return max(speed if speed > 0 else _DEFAULT_PORT for speed in speeds)
    machine = file.machine
    if machine is None or machine.rate is None:
        return None
    rails = set(map(bus_of, machine.nics))
    return machine.rate * 1000 if bus_of(nic.get("busid")) in rails else None


def _links(file: File) -> Iterator[Problem]:
    table = dialect_table()
    for element in file.pci:
        # NCCL completes a switch that the system has; above a port that it finds by name it stops, which is a finding
        # of its own.
        completed = id(element) in file.unfilled or not is_bridge(element) or not file.is_made_up(element)
        speed, width = element.values.get("link_speed"), element.values.get("link_width")
        if speed is None and not completed:
            message = "a made-up switch without link_speed: NCCL takes it for Gen3"
            remedy = 'write link_speed="16.0 GT/s PCIe", or what the host has'
            yield Problem("TOP032", file.line(element), message, remedy)
        elif speed is not None and _gt_in(speed) != table.link_speed(speed):
            message = f"link_speed {quote(speed)} is none that NCCL knows; it reads {table.link_speed(speed):g} GT/s"
            yield Problem("TOP032", file.line(element, "link_speed"), message, f'write link_speed="{_meant(speed)}"')
        if width is None and not completed:
            message = "a made-up switch without link_width: NCCL takes 16"
            yield Problem("TOP033", file.line(element), message, 'write link_width="16"')
        elif width is not None and (c_integer(width) not in table.link_widths or is_misread(width)):
            message = f"link_width {quote(width)} is not a width of a PCI link; NCCL reads {width_of(element)} lanes"
            remedy = f"write one of {', '.join(map(str, table.link_widths))}"
            yield Problem("TOP033", file.line(element, "link_width"), message, remedy)


def _gt_in(text: str) -> float | None:
    """The number of GT/s that a text states."""
    number = re.match(r"\s*([0-9]{1,4}(?:\.[0-9]{1,4})?) *GT/s", text)
    return None if number is None else float(number[1])


def _meant(text: str) -> str:
    """NCCL's spelling of a speed; an example for a text without a known number."""
    number = re.match(r"\s*([0-9]{1,4}(?:\.[0-9]{1,4})?)", text)
    known = {speed: spelling for spelling, speed in dialect_table().link_speeds.items() if spelling.endswith("PCIe")}
    return known.get(float(number[1]) if number else 0.0, known[16.0])


def _bottlenecks(file: File) -> Iterator[Problem]:
    needed: dict[int, tuple[int, Element]] = {}
    for nic in file.nics:
        speed = nic_speed(file, nic) or 0
        for link in (nic, *pci_above(nic)):
            if speed > needed.get(id(link), (0, nic))[0]:
                needed[id(link)] = (speed, nic)
    for element in file.pci:
        speed, nic = needed.get(id(element), (0, element))
        rate = link_rate(element, width_of(element)) if speed else None
        if rate is not None and rate * 1000 < speed and not _is_published(file, element):
            message = (
                f"a link of {rate:g} Gb/s above the NIC {quote(nic.get('busid'))}, which runs at {speed // 1000} Gb/s"
            )
            remedy = "write the link's real speed and width, if these are not"
            yield Problem("TOP034", file.line(element, "link_speed"), message, remedy)
        above = element.parent
        if above is not None and above.name == "pci" and "link_width" in above.values:
            wide, narrow = width_of(element), width_of(above)
            if "link_width" in element.values and narrow < wide:
                message = f"{wide} lanes below a switch with {narrow}"
                remedy = "write the switch's real number of lanes, if this is not"
                yield Problem("TOP035", file.line(above, "link_width"), message, remedy)


def _is_published(file: File, element: Element) -> bool:
    """Whether the link is the same as in the file published for the machine, which has root ports at 5 GT/s."""
    twin = file.published_twin(element)
    return twin is not None and all(twin.get(name) == element.get(name) for name in ("link_speed", "link_width"))


_HEX = re.compile(r"\s*[+-]?(?:0[xX])?([0-9a-fA-F]{1,64})")


def _names(file: File) -> Iterator[Problem]:
    first: dict[str, Element] = {}
    for net in file.reading.of("net"):
        name = net.get("name")
        if name and name in first:
            message = f"{quote(name)} is on line {file.line(first[name])}, too: NCCL finds the first alone"
            yield Problem("TOP051", file.line(net, "name"), message, "name each port once")
        first.setdefault(name, net)


def _same_ports(file: File) -> Iterator[Problem]:
    """Ports that NCCL treats as one: it distinguishes them by adapter (`guid`) and number (`port`)."""
    first: dict[tuple[int, int], Element] = {}
    adapters: dict[int, Element] = {}
    for net in file.reading.of("net"):
        adapter = next(pci_above(net), None)
        # A port without an adapter above it is an interface for sockets.
        if "guid" not in net.values or adapter is None:
            continue
        guid, port = number_of_guid(net.get("guid")), c_integer(net.get("port"))
        if adapters.setdefault(guid, adapter) is not adapter:
            message = (
                f"guid {quote(net.get('guid'))} is that of the adapter on line {file.line(adapters[guid])}, too: NCCL "
                "takes their ports for those of one"
            )
            yield Problem("TOP057", file.line(net, "guid"), message, "leave guid out, or give each adapter its own")
        elif (guid, port) in first:
            number = f"port {port}" if "port" in net.values else "no port"
            message = (
                f"{number}, as on line {file.line(first[guid, port])} on the same adapter: NCCL takes both for one"
            )
            yield Problem(
                "TOP057", file.line(net, "port"), message, "number the ports of an adapter from 1, or leave guid out"
            )
        first.setdefault((guid, port), net)


def number_of_guid(text: str) -> int:
    """The number that C's strtoull with base 16 reads."""
    found = _HEX.match(text)
    return min(int(found[1], 16), 2**64 - 1) if found else 0


def _gpudirect(file: File) -> Iterator[Problem]:
    for name in ("net", "gpu"):
        every = (each for each in file.reading.of(name) if "gdr" in each.values and any(pci_above(each)))
        held = [each for each in every if name == "gpu" or not is_socket(each)]
        off = [each for each in held if c_integer(each.get("gdr")) == 0]
        if off:
            message = f"gdr {quote(off[0].get('gdr'))}: NCCL does without GPUDirect there{several(off)}"
            remedy = 'leave it out: NCCL asks the driver; gdr="1" is the value of a good one'
            yield Problem("TOP056", file.line(off[0], "gdr"), message, remedy)


_CPUS = (_numbers, _masks, _identities)
_GPUS = (_functions_of_gpus, _numbers_of_gpus)
_PCI = (_addresses, _domains, _classes, _ids, _values_of_ids, _copies, _functions_of_nics, *_GPUS)
_LINKS = (_links, _bottlenecks)
_PORTS = (_names, _same_ports, _gpudirect)
ELEMENT_CHECKS = (*_CPUS, *_PCI, *_LINKS, *_PORTS)
"""Every check of this module, each a generator of findings about a file."""
