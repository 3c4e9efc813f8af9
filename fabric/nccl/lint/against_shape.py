"""A file against the shape it is for: its GPUs, NICs and CPUs, and which GPU is nearest to each NIC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabric.catalog import Shape
from fabric.nccl.lint.cpus import cpus_of, numa_number
from fabric.nccl.lint.file import File, Published, bus_of, link_rate, nearest_gpus
from fabric.nccl.lint.links import width_of
from fabric.nccl.lint.report import LineFinding, finding, shown
from fabric.nccl.reading import c_integer


def against_shape(file: File) -> Iterator[LineFinding]:
    """Where the file and the named shape differ; nothing where none is named."""
    if file.shape is None:
        return
    yield from _gpus(file, file.shape)
    yield from _nics(file, file.shape)
    yield from _rails(file, file.shape)
    yield from _speeds(file, file.shape)
    if file.published is not None:
        yield from _cpus(file, file.published)
        yield from _links(file, file.published)


def _gpus(file: File, shape: Shape) -> Iterator[LineFinding]:
    top = file.line(file.system)
    if not shape.gpus.pci:
        # AMD's accelerators need not be of a display's class, so a file may have them and not show it.
        told_apart = bool(file.gpus) or shape.gpus.vendor == "nvidia"
        if told_apart and len(file.gpus) != shape.gpus.count:
            message = f"{len(file.gpus)} GPUs; {shape.name} has {shape.gpus.count}"
            yield finding("TOP036", top, message, "write a `pci` of class 0x030200 for each GPU")
        return
    written = {element.get("busid") for element in file.pci}
    for number, busid in enumerate(shape.gpus.pci):
        if busid not in written:
            message = f"GPU {number} of {shape.name} at {busid} is not in the file"
            yield finding("TOP036", top, message, f"write a `pci` with busid {busid} below its switch")
    for element in file.gpus:
        if element.get("busid") not in shape.gpus.pci:
            message = f"{shown(element.get('busid'))} is no GPU of {shape.name}"
            yield finding("TOP036", file.line(element, "busid"), message, f"write one of {', '.join(shape.gpus.pci)}")


def _nics(file: File, shape: Shape) -> Iterator[LineFinding]:
    top = file.line(file.system)
    addresses = [nic.pci for nic in shape.nics if nic.pci is not None]
    ports = len(file.reading.of("net"))
    if ports and ports != shape.rails:
        message = f"{ports} ports; {shape.name} has {shape.rails}"
        yield finding("TOP036", top, message, "write one `net` for each rail, or none")
    if not addresses:
        return
    written = {bus_of(element.get("busid")) for element in file.pci if not element.below("pci")}
    for bus in dict.fromkeys(map(bus_of, addresses)):
        if bus not in written:
            busid = next(address for address in addresses if bus_of(address) == bus)
            message = f"the NIC of {shape.name} at {busid} is not in the file"
            yield finding("TOP036", top, message, f"write a `pci` with busid {busid} below its switch")
    others = [nic.pci for nic in shape.front_end_nics or () if nic.pci is not None]
    for element in file.nics:
        if bus_of(element.get("busid")) not in map(bus_of, (*addresses, *others)):
            message = f"{shown(element.get('busid'))} is no NIC of {shape.name}"
            yield finding("TOP036", file.line(element, "busid"), message, f"write one of {', '.join(addresses)}")


def _rails(file: File, shape: Shape) -> Iterator[LineFinding]:
    """NICs with other GPUs near than on the shape; GPUs that are missing or foreign are findings of their own."""
    written = {element.get("busid") for element in file.gpus} & set(shape.gpus.pci)
    numbers = {bus_of(nic.pci): nic.nearest_gpu for nic in shape.nics if nic.pci is not None}
    for element in file.nics:
        bus = bus_of(element.get("busid"))
        number = numbers.get(bus)
        if number is None or not shape.gpus.pci:
            continue
        found = nearest_gpus(element) & written
        wanted = (file.published.nearest[bus] if file.published else {shape.gpus.pci[number]}) & written
        if wanted and (found != wanted if file.published else not wanted <= found):
            nic = shown(element.get("busid"))
            message = f"nearest to the NIC {nic}: {_list(found)}; on {shape.name}: {_list(wanted)}"
            remedy = "hang the NIC below the lowest switch that it shares with that GPU"
            yield finding("TOP037", file.line(element, "busid"), message, remedy)


def _list(busids: Iterable[str]) -> str:
    return ", ".join(sorted(busids)) or "none"


def _speeds(file: File, shape: Shape) -> Iterator[LineFinding]:
    """Ports that are slower in the file than on the shape."""
    published = [c_integer(net.get("speed")) for net in file.published.reading.of("net")] if file.published else []
    lowest = min(published, default=(shape.nic_speed_gbps or 0) * 1000)
    for net in file.reading.of("net"):
        text = net.values.get("speed")
        if text is not None and c_integer(text) < lowest:
            message = f"a port at {shown(text)} Mb/s; on {shape.name} it has {lowest}"
            yield finding("TOP042", file.line(net, "speed"), message, f'write speed="{lowest}", or leave it out')


def _links(file: File, published: Published) -> Iterator[LineFinding]:
    for element in file.pci:
        twin = published.pci.get(element.get("busid"))
        if twin is None:
            continue
        rate, real = link_rate(element, width_of(element)), link_rate(twin, width_of(twin))
        if rate is not None and real is not None and rate < real:
            message = f"a link of {rate:g} Gb/s; on {published.shape.name} it has {real:g}"
            remedy = f'write link_speed="{twin.get("link_speed")}" link_width="{twin.get("link_width")}"'
            yield finding("TOP042", file.line(element, "link_speed"), message, remedy)


def _cpus(file: File, published: Published) -> Iterator[LineFinding]:
    name = published.shape.name
    if len(file.cpus) == 1 and len(published.cpus) > 1:
        message = f"one `cpu`; {name} has GPUs on {len(published.cpus)} NUMA nodes"
        remedy = f"write a `cpu` for each of the nodes {', '.join(map(str, sorted(published.cpus)))}"
        yield finding("TOP047", file.line(file.cpus[0]), message, remedy)
    for cpu in file.cpus:
        number = numa_number(cpu)
        if number is None:
            continue
        twin = published.cpus.get(number)
        if twin is None:
            allowed = ", ".join(map(str, sorted(published.cpus)))
            message = f"{name} has no GPU or NIC on NUMA node {number}"
            yield finding("TOP024", file.line(cpu, "numaid"), message, f"write one of {allowed}")
            continue
        own, real = cpus_of(cpu.get("affinity")), twin.get("affinity")
        if own is not None and own != cpus_of(real):
            message = f"other CPUs than NUMA node {number} of {name} has"
            yield finding("TOP027", file.line(cpu, "affinity"), message, f'write affinity="{real}"')
