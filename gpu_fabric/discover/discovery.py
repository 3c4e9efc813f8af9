"""From files to a stack file: read each, bring them into one record, choose the rails, write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_fabric.catalog import Catalog
from gpu_fabric.discover.facts import DiscoveryError, Observation
from gpu_fabric.discover.machine import CatalogMatch, addresses_of, catalog_match, labelled_match, machine_of
from gpu_fabric.discover.marked import marked_parts, one_group
from gpu_fabric.discover.node import NodeFacts, node_of
from gpu_fabric.discover.rails import RailChoice, chosen_rails, rails_of
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
    of_all, by_node = list[Observation](), defaultdict[str, list[Observation]](list)
    sources, empty = list[tuple[str, str]](), list[str]()
    grouped = False
    for file, data in files.items():
        output = decode(file, data)
        if not output.text.strip():
            empty.append(file)
            continue
        parts = marked_parts(output)
        for node, part in parts or (("", output),):
            if not part.text.strip():
                continue
            source = (kinds or {}).get(file) or recognised(part)
            (by_node[node] if node else of_all).append(observed(part, source, group))
            grouped |= source.groups or bool(node)
            if (file, source.name) not in sources:
                sources.append((file, source.name))
    if not of_all and not by_node:
        without = ", ".join(empty or files)
        raise DiscoveryError(f"{without}: empty; run the commands on a GPU node, see docs/discover.md")
    if group is not None and not grouped:
        raise DiscoveryError(
            f"--group {group}: it names a group in a cluster-config.yaml or in a cluster's objects, or of nodes that "
            "one file has, and no such file was given"
        )
    observations = one_group(by_node, of_all, group) if by_node else of_all
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
    choice, match = _rails_and_match(node, catalog, rails)
    return Discovered(node, choice, machine_of(node, choice), match, reading.sources)


def _rails_and_match(node: NodeFacts, catalog: Catalog, wanted: Sequence[str]) -> tuple[RailChoice, CatalogMatch]:
    """The rails and the catalog's shape: by the label of the machine type, by likeness, or by their places."""
    shapes, named = catalog.shapes.values(), catalog.find(node.cluster.instance_type)
    if named is not None:
        choice = (None if wanted else rails_of(node, named)) or chosen_rails(node, wanted)
        return choice, labelled_match(node, choice, named, catalog_match(node, choice, shapes))
    choice = chosen_rails(node, wanted)
    match = catalog_match(node, choice, shapes)
    if wanted or match.equal or match.undecided:
        return choice, match
    # The rails' likeness may not tell them from other NICs, and their places do.
    by_place = [(shape, found) for shape in shapes if (found := rails_of(node, shape)) is not None]
    placed = [found for shape, found in by_place if catalog_match(node, found, [shape]).equal]
    if len({frozenset(addresses_of(found.rails)) for found in placed}) != 1:
        return choice, match
    return placed[0], catalog_match(node, placed[0], shapes)
