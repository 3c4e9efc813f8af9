"""`gpu-fabric discover`: a stack file from a cluster, or from the output of tools that ran on a node."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.base.user_files import open_file
from gpu_fabric.catalog import catalog
from gpu_fabric.cli.conversation import refuse, say
from gpu_fabric.cli.kubectl import ClusterError, Kubectl
from gpu_fabric.cli.node_look import cluster_text, default_image, look_at
from gpu_fabric.cli.stack_choice import StackChoice, StackFile, named_stack, planning, stack_option
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.discover.cluster_objects import groups_in
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.look_job import NAMESPACE
from gpu_fabric.discover.sources import SOURCES, Source, source_named
from gpu_fabric.discover.stack_file import CHECK, Discovered, StackFileOptions, StackText, stack_text
from gpu_fabric.discover.text import MOST_BYTES, decode
from gpu_fabric.spec.network_types import IPNetwork, parse_network
from gpu_fabric.spec.places import printable

_ALL = "all"
_KINDS = ", ".join(source.name for source in SOURCES)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def discover(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]…", help="outputs of one node; - for standard input")
    ] = None,
    kubeconfig: Annotated[
        str | None, typer.Option(metavar="FILE", help="read the cluster of this kubeconfig, by kubectl")
    ] = None,
    context: Annotated[str | None, typer.Option(help="its context; by default the current one")] = None,
    stack: Annotated[str | None, stack_option("read the cluster of this stack's kubeconfig", default=False)] = None,
    stack_file: StackFile = None,
    look: Annotated[
        bool, typer.Option("--look", help="run a privileged Job on one node of each group, and remove it afterwards")
    ] = False,
    look_namespace: Annotated[
        str, typer.Option(metavar="NAME", help="its namespace; one that does not exist is created, and removed")
    ] = NAMESPACE,
    look_image: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="its image, which needs chroot alone; by default the catalog's")
    ] = None,
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
        typer.Option(
            help="which of several groups of nodes, in a cluster-config.yaml or a cluster's objects; of a live cluster "
            "also all, each with a pool and a fabric of its own"
        ),
    ] = None,
    own_shape: Annotated[
        bool, typer.Option("--own-shape", help="write the shape out although the catalog has it")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="write it into this file")] = None,
    force: Annotated[bool, typer.Option("--force", help="with --out: replace an existing file")] = False,
) -> None:
    """Write a stack file for the machines of a cluster, or from what lspci, nvidia-smi and other tools print."""
    if name is not None and not _NAME.fullmatch(name):
        refuse("--name: write letters, digits, '.', '_' and '-', at most 63")
    stated = {"pods": _network("--pods", pods), "services": _network("--services", services)}
    stated["nodes"] = _network("--node-range", node_range)
    options = StackFileOptions(
        name=name,
        nodes=nodes,
        supernet=_network("--supernet", supernet),
        ranges={key: network for key, network in stated.items() if network is not None},
        own_shape=own_shape,
    )
    cluster, options = _cluster(kubeconfig, context, named_stack(stack, stack_file), options)
    if cluster is None and not files:
        refuse("Missing argument FILE, the output of a tool, or a cluster by --kubeconfig or -s; see docs/discover.md")
    if cluster is None and look:
        refuse("--look runs a Job in a cluster: name one by --kubeconfig or -s")
    if cluster is None and group == _ALL:
        refuse("--group all reads every group of a live cluster: name one by --kubeconfig or -s")
    if out is not None and out.exists() and not force:
        refuse(f"{out}: the file exists; write another one, or replace it by --force")
    wanted = [part.strip() for part in (rails or "").split(",") if part.strip()]
    contents = {printable(file): _content(file) for file in files or []}
    try:
        named = _kinds(kinds or [], list(contents))
        live = None if cluster is None else _LiveCluster(cluster, options, look, look_namespace, look_image)
        chosen: list[str | None] = [group] if live is None else live.chosen(group)
        found = list[Discovered]()
        for number in chosen:
            reading = read_files({**({} if live is None else live.texts(number)), **contents}, named, number)
            for file in reading.empty:
                say(f"{file}: empty, left out")
            found.append(discovered(reading, catalog(), wanted))
        written = stack_text(found[0], options, *found[1:])
        _report(written)
        _write(written, out)
    except (DiscoveryError, ClusterError) as error:
        refuse(str(error))


class _LiveCluster:
    """A cluster that was read, with a look at a node of each group where that was asked for."""

    def __init__(
        self, kubectl: Kubectl, options: StackFileOptions, look: bool, in_namespace: str, image: str | None
    ) -> None:
        self._kubectl, self._look, self._namespace, self._image = kubectl, look, in_namespace, image
        self._name = f"the cluster of {options.kubeconfig or 'the kubeconfig'}"
        self._text, forbidden = cluster_text(kubectl)
        for each in forbidden:
            say(each)
        self._groups = groups_in(decode(self._name, self._text.encode()))

    def chosen(self, group: str | None) -> list[str | None]:
        """The numbers of the groups that are wanted; None stands for the only one."""
        return [str(number) for number in range(1, len(self._groups) + 1)] if group == _ALL else [group]

    def texts(self, group: str | None) -> dict[str, bytes]:
        """The cluster's objects, and what a look at a node of the group printed."""
        found = {self._name: self._text.encode()}
        # Of a group that cannot be chosen the reader of the objects says so.
        numbered = {str(number): each for number, each in enumerate(self._groups, start=1)}
        chosen = self._groups[0] if group is None and len(self._groups) == 1 else numbered.get(group or "")
        if not self._look or chosen is None:
            return found
        node = chosen.node_to_look_at
        if node is None:
            raise DiscoveryError(f"{chosen}: no node is ready, so none can be looked at")
        image = self._image or default_image()
        return {**found, f"look at {node}": look_at(self._kubectl, node, self._namespace, image, say).encode()}


def _cluster(
    kubeconfig: str | None, context: str | None, stack: StackChoice | None, options: StackFileOptions
) -> tuple[Kubectl | None, StackFileOptions]:
    """The cluster that the user names, and the options with its kubeconfig."""
    if stack is not None and (kubeconfig is not None or context is not None):
        refuse("the cluster is named twice, by a stack and by --kubeconfig or --context: leave one out")
    if stack is not None:
        with planning():
            path, kubeconfig, context = stack.kubeconfig()
        return Kubectl(path, context), replace(options, kubeconfig=kubeconfig, context=context)
    if kubeconfig is None and context is None:
        return None, options
    file = None if kubeconfig is None else Path(kubeconfig).expanduser()
    return Kubectl(file, context), replace(options, kubeconfig=kubeconfig, context=context)


def _write(written: StackText, target: Path | None) -> None:
    if target is None:
        print_document(written.text)
        return
    try:
        target.write_text(written.text, encoding="utf-8")
    except OSError as error:
        refuse(f"{target}: {error.strerror}")
    say(f"{target}: written; next: gpu-fabric plan -f {target}")


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
        with open_file(Path(file), pipes=True) as stream:
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
    """Say in addition to the file what was chosen and what is missing."""
    for choice in written.choices:
        say(choice if choice.startswith(CHECK) else f"chosen: {choice}")
    for missing in written.missing:
        say(f"not known: {missing}")
