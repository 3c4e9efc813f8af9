"""Find values that bind a file to one machine, job or release, and attributes without effect."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.nccl.dialect import attributes_since, dialect_table
from gpu_fabric.nccl.lint.file import File, is_gpu, is_nic, kind_of, pci_above, several
from gpu_fabric.nccl.lint.report import LineFinding, finding, shown
from gpu_fabric.nccl.reader import Element, c_integer
from gpu_fabric.spec.suggestion import nearest

_FOUND_BY_NCCL = ("gpu", "nic", "net", "nvlink", "c2c", "xgmi", "pcilink")


def portability(file: File) -> Iterator[LineFinding]:
    """Findings about values that do not belong in a shared file, unless they are published for the machine."""
    yield from _pinned(file)
    yield from _found_anyway(file)
    yield from _newer(file)
    yield from _unknown(file)
    yield from _kept(file)
    yield from _required(file)
    yield from _port_speeds(file)


def _pinned(file: File) -> Iterator[LineFinding]:
    for name, attributes in dialect_table().pinned.items():
        for attribute in attributes:
            holders = [element for element in file.reading.of(name) if attribute in element.values]
            unlike = [element for element in holders if not _as_published(file, element, attribute)]
            if not unlike:
                continue
            message = f"`{attribute}` of `{name}` fixes the file to one machine{several(unlike)}"
            remedy = "leave it out: NCCL fills it in"
            twin = file.published_twin(unlike[0])
            if file.published is not None and twin is not None:
                value = shown(unlike[0].get(attribute))
                message = f"`{attribute}` of `{name}` is {value}, other than published for {file.published.shape.name}"
            yield finding("TOP038", file.line(unlike[0], attribute), message, remedy)


def _as_published(file: File, element: Element, attribute: str) -> bool:
    twin = file.published_twin(element)
    if twin is None or file.published is None:
        return _is_misplaced(file, element)
    if element.name == "net":
        # The published identifiers of an adapter are generated, so any value that is unique is good.
        return True
    return any(each.get(attribute) == element.get(attribute) for each in twin.below(element.name))


def _found_anyway(file: File) -> Iterator[LineFinding]:
    for name in _FOUND_BY_NCCL:
        unlike = [element for element in file.reading.of(name) if not _has_published_place(file, element)]
        if unlike:
            message = f"`{name}` in the file: NCCL then no longer looks for itself{several(unlike)}"
            remedy = "leave it out; `cpu` and `pci` are all that a file needs"
            yield finding("TOP039", file.line(unlike[0]), message, remedy)


def _is_misplaced(file: File, element: Element) -> bool:
    """Whether it is below a device address that the shape does not have, which is a finding of its own."""
    return file.published is not None and any(is_gpu(above) or is_nic(above) for above in pci_above(element))


def _has_published_place(file: File, element: Element) -> bool:
    twin = file.published_twin(element)
    if twin is None or file.published is None:
        return _is_misplaced(file, element)
    return kind_of(element) in file.published.held[twin.get("busid")]


def _newer(file: File) -> Iterator[LineFinding]:
    version = file.dialect.version
    if version is None:
        for name, since in dialect_table().elements_since.items():
            if holders := file.reading.of(name):
                message = f"`{name}` needs {file.dialect.name} {since}: older ones skip it{several(holders)}"
                remedy = "leave it out, or name the release that reads the file with --nccl"
                yield finding("TOP043", file.line(holders[0]), message, remedy)
    for name in ("net", "gpu"):
        for attribute, since in attributes_since(name).items():
            holders = [element for element in file.reading.of(name) if attribute in element.values]
            if holders and (version is None or not version.has_reached(since)):
                message = f"`{attribute}` of `{name}` needs {file.dialect.name} {since}{several(holders)}"
                remedy = "leave it out, or name the release that reads the file with --nccl"
                if version is not None:
                    message = f"{message}; {version} does not know it"
                    remedy = "leave it out, or use the newer release"
                yield finding("TOP043", file.line(holders[0], attribute), message, remedy)


def _unknown(file: File) -> Iterator[LineFinding]:
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
            message = f"`{name}` has no attribute {shown(attribute)}: it does nothing"
            remedy = f"{nearest(attribute, known)}allowed: {', '.join(known) or 'none'}"
            yield finding("TOP049", file.line(element, attribute), message, remedy)
        may_stand[name] |= element.values.keys()


def _kept(file: File) -> Iterator[LineFinding]:
    kept = [element for element in file.reading.elements if "keep" in element.values]
    if kept:
        message = f"`keep` holds a branch that no device of the job uses{several(kept)}"
        yield finding("TOP045", file.line(kept[0], "keep"), message, "leave it out, and let NCCL trim the tree")


def _required(file: File) -> Iterator[LineFinding]:
    for name, needed in dialect_table().required.items():
        for element in file.reading.of(name):
            if missing := [attribute for attribute in needed if attribute not in element.values]:
                message = f"`{name}` without {', '.join(missing)}: {file.dialect.name} stops there"
                yield finding("TOP050", file.line(element), message, "write it, or leave the element out")
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
                yield finding("TOP050", file.line(element), message, remedy)
    for cpu in file.cpus:
        half = "familyid" in cpu.values and "modelid" not in cpu.values and id(cpu) not in file.unfilled
        if half and "modelid" in _identity(file, cpu):
            message = f"`cpu` with familyid and no modelid: {file.dialect.name} fills in both or none, and stops there"
            yield finding("TOP050", file.line(cpu, "familyid"), message, "write both, or none of them")


def _identity(file: File, element: Element) -> tuple[str, ...]:
    """The attributes that NCCL reads from an x86 CPU."""
    if element.name != "cpu" or not element.get("arch", "x86_64").startswith("x86_64"):
        return ()
    vendor = element.values.get("vendor")
    if vendor is not None and not file.dialect.reads_model_of(vendor):
        return ("vendor",)
    return ("vendor", "familyid", "modelid")


def _port_speeds(file: File) -> Iterator[LineFinding]:
    published = {net.get("speed") for net in file.published.reading.of("net")} if file.published else set()
    for net in file.reading.of("net"):
        text = net.values.get("speed")
        if text is None or text in published or c_integer(text) in dialect_table().port_speeds:
            continue
        message = f"speed {shown(text)} is not a rate of a port, in Mb/s: NCCL plans with it anyway"
        remedy = "write the port's rate, such as 400000, or leave it out"
        yield finding("TOP041", file.line(net, "speed"), message, remedy)
