"""`gpu-fabric discover`: a stack file from the output of tools that ran on a node."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.conversation import refuse, say
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.sources import SOURCES, Source, source_named
from gpu_fabric.discover.stack_file import CHECK, StackText, Wishes, stack_text
from gpu_fabric.discover.text import MOST_BYTES
from gpu_fabric.spec.network_types import IPNetwork, parse_network
from gpu_fabric.spec.places import printable

_KINDS = ", ".join(source.name for source in SOURCES)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def discover(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="outputs of one node; - for standard input")],
    kinds: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="[FILE=]KIND", help=f"the kind of a file, if it is not recognised: {_KINDS}"),
    ] = None,
    rails: Annotated[
        str | None,
        typer.Option(metavar="NIC,…", help="which NICs are rails, in order: RDMA devices, interfaces, PCI addresses"),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, max=8192, help="number of such nodes")] = None,
    supernet: Annotated[str | None, typer.Option(metavar="CIDR", help="range of the fabric's addresses")] = None,
    pods: Annotated[str | None, typer.Option(metavar="CIDR", help="the cluster's pod range")] = None,
    services: Annotated[str | None, typer.Option(metavar="CIDR", help="its service range")] = None,
    node_range: Annotated[str | None, typer.Option(metavar="CIDR", help="its node network's range")] = None,
    name: Annotated[str | None, typer.Option(help="name of the shape; by default from the GPUs")] = None,
    group: Annotated[
        str | None,
        typer.Option(help="which of several groups of nodes, in a cluster-config.yaml or a cluster's objects"),
    ] = None,
    own_shape: Annotated[
        bool, typer.Option("--own-shape", help="write the shape out although the catalog has it")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="write it into this file")] = None,
    force: Annotated[bool, typer.Option("--force", help="with --out: replace an existing file")] = False,
) -> None:
    """Write a stack file for a machine, from what lspci, nvidia-smi and other tools print on it."""
    if name is not None and not _NAME.fullmatch(name):
        refuse("--name: write letters, digits, '.', '_' and '-', at most 63")
    if out is not None and out.exists() and not force:
        refuse(f"{out}: the file exists; write another one, or replace it by --force")
    stated = {"pods": _network("--pods", pods), "services": _network("--services", services)}
    stated["nodes"] = _network("--node-range", node_range)
    wishes = Wishes(
        name=name,
        nodes=nodes,
        supernet=_network("--supernet", supernet),
        ranges={key: network for key, network in stated.items() if network is not None},
        own_shape=own_shape,
    )
    wanted = [part.strip() for part in (rails or "").split(",") if part.strip()]
    try:
        contents = {printable(file): _content(file) for file in files}
        reading = read_files(contents, _kinds(kinds or [], list(contents)), group)
        written = stack_text(discovered(reading, catalog(), wanted), wishes)
    except DiscoveryError as error:
        refuse(str(error))
    for file in reading.empty:
        say(f"{file}: empty, left out")
    _report(written)
    if out is None:
        print_document(written.text)
        return
    try:
        out.write_text(written.text, encoding="utf-8")
    except OSError as error:
        refuse(f"{out}: {error.strerror}")
    say(f"{out}: written; next: gpu-fabric plan -f {out}")


def _network(option: str, text: str | None) -> IPNetwork | None:
    try:
        return None if text is None else parse_network(text)
    except ValueError as error:
        refuse(f"{option}: {error}")


def _content(file: str) -> bytes:
    """The bytes of a file, and one more than is allowed of a larger one."""
    try:
        if file == "-":
            return sys.stdin.buffer.read(MOST_BYTES + 1)
        with Path(file).open("rb") as stream:
            return stream.read(MOST_BYTES + 1)
    except OSError as error:
        refuse(f"{printable(file)}: {error.strerror}")
    except ValueError:
        refuse("a file's name has a NUL character; name a file")


def _kinds(said: list[str], files: list[str]) -> dict[str, Source]:
    """The kinds that the user says, by file."""
    found: dict[str, Source] = {}
    for each in said:
        file, _, kind = each.rpartition("=")
        if not file and len(files) > 1:
            refuse(f"--as {each}: which of the {len(files)} files is it? Write --as FILE={kind}")
        if file and file not in files:
            refuse(f"--as {each}: {file} is not among the files")
        found[file or files[0]] = source_named(kind)
    return found


def _report(written: StackText) -> None:
    """Say beside the file what was chosen and what is missing."""
    for choice in written.choices:
        say(choice if choice.startswith(CHECK) else f"chosen: {choice}")
    for missing in written.missing:
        say(f"not known: {missing}")
