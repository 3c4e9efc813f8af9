"""From files to a stack file: read each, bring them into one record, choose the rails, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_fabric.catalog import Catalog
from gpu_fabric.discover.facts import DiscoveryError, Observation
from gpu_fabric.discover.machine import catalog_match, machine_of
from gpu_fabric.discover.node import node_of
from gpu_fabric.discover.rails import chosen_rails
from gpu_fabric.discover.sources import Source, observed, recognised
from gpu_fabric.discover.stack_file import Discovered
from gpu_fabric.discover.text import decode


@dataclass(frozen=True)
class Reading:
    """Files that were read; `empty` are those without content, which are left out."""

    observations: tuple[Observation, ...]
    sources: tuple[tuple[str, str], ...]
    empty: tuple[str, ...]


def read_files(
    files: Mapping[str, bytes], kinds: Mapping[str, Source] | None = None, group: str | None = None
) -> Reading:
    """What each file states; `kinds` are those that the user says.

    Raises:
        DiscoveryError: a file cannot be read, or all are empty.
    """
    observations, sources, empty = list[Observation](), list[tuple[str, str]](), list[str]()
    grouped = False
    for file, data in files.items():
        output = decode(file, data)
        if not output.text.strip():
            empty.append(file)
            continue
        source = (kinds or {}).get(file) or recognised(output)
        observations.append(observed(output, source, group))
        sources.append((file, source.name))
        grouped |= source.groups
    if not observations:
        raise DiscoveryError(f"{', '.join(empty)}: empty; run the commands on a GPU node, see docs/discover.md")
    if group is not None and not grouped:
        raise DiscoveryError(
            f"--group {group}: it names a group in a cluster-config.yaml or in a cluster's objects, and no such file "
            "was given"
        )
    return Reading(tuple(observations), tuple(sources), tuple(empty))


def discovered(reading: Reading, catalog: Catalog, rails: Sequence[str] = ()) -> Discovered:
    """The machine that the files describe.

    Raises:
        DiscoveryError: they contradict each other, or `rails` names what they do not have.
    """
    node = node_of(reading.observations)
    if not node.gpus and not node.nics:
        files = ", ".join(file for file, _ in reading.sources)
        raise DiscoveryError(
            f"{files}: no GPU and no NIC; give the output of `lspci -D -nn -k` and `rdma link` of a node"
        )
    choice = chosen_rails(node, rails)
    match = catalog_match(node, choice, catalog.shapes.values())
    return Discovered(node, choice, machine_of(node, choice), match, reading.sources)
