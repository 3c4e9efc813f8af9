"""From files to a stack file: read each, bring them into one record, choose the rails, write."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpu_fabric.base.grammar import shown
from gpu_fabric.catalog import Catalog
from gpu_fabric.discover.facts import DiscoveryError, Observation, Statements
from gpu_fabric.discover.machine import CatalogMatch, addresses_of, catalog_match, labelled_match, machine_of
from gpu_fabric.discover.node import NodeFacts, node_of
from gpu_fabric.discover.rails import RailChoice, chosen_rails, rails_of
from gpu_fabric.discover.sources import Source, observed, recognised
from gpu_fabric.discover.stack_file import Discovered
from gpu_fabric.discover.text import Output, decode


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


# Such as ===== gpu-0 =====
_MARK = re.compile(r"[ \t]*={5} ([A-Za-z0-9][A-Za-z0-9._-]{0,252}) ={5}[ \t]*")


def marked_parts(output: Output) -> tuple[tuple[str, Output], ...]:
    """The outputs in a text, with the name of the node of each; none if its first line names no node."""
    lines = output.text.split("\n")
    marks = [(number, match[1]) for number, line in enumerate(lines) if (match := _MARK.fullmatch(line))]
    if not marks or any(line.strip() for line in lines[: marks[0][0]]):
        return ()
    ends = [*(number for number, _ in marks[1:]), len(lines)]
    return tuple(
        # Blank lines in the place of what is before, so that messages have the file's own line numbers.
        (node, replace(output, text="\n" * (number + 1) + "\n".join(lines[number + 1 : end])))
        for (number, node), end in zip(marks, ends, strict=True)
    )


def one_group(
    by_node: Mapping[str, Sequence[Observation]], of_all: Sequence[Observation], group: str | None
) -> tuple[Observation, ...]:
    """What is stated of one node of a group of equal ones, with the names of all of them.

    Raises:
        DiscoveryError: several groups of which none is named, or what is stated of a node contradicts itself.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    words: dict[str, str] = {}
    for name, observations in by_node.items():
        fields = _machine([*of_all, *observations], name)
        key = json.dumps(fields, sort_keys=True)
        groups[key].append(name)
        words[key] = f"{fields.get('gpus', {}).get('count', 'no')} GPUs, {len(fields.get('nics', ()))} rails"
    lines = [f"  {number}: {words[key]}: {', '.join(names)}" for number, (key, names) in enumerate(groups.items(), 1)]
    if group is None and len(groups) > 1:
        said = f"{len(groups)} groups of nodes, and a stack file has one machine a run; name one with --group:"
        raise DiscoveryError("\n".join([said, *lines]))
    if group is not None and group not in (str(number) for number in range(1, len(groups) + 1)):
        raise DiscoveryError("\n".join([f"no group {shown(group)}; --group is one of:", *lines]))
    names = list(groups.values())[int(group or 1) - 1]
    found = Statements("the marks of nodes")
    # The objects of a cluster list all of its nodes, also those of which no output was taken.
    if not any(statement.field == "names" for each in of_all for statement in each.statements):
        found.add(0, "node", "", names=tuple(sorted(names)))
    return (*of_all, *by_node[names[0]], Observation(tuple(found.found)))


def _machine(observations: Sequence[Observation], name: str) -> dict[str, Any]:
    """What makes a node's machine equal to others; the speed does not, since a link that is down has none."""
    try:
        node = node_of(observations)
        fields = machine_of(node, chosen_rails(node)).fields
    except DiscoveryError as error:
        raise DiscoveryError(f"{name}: {error}") from None
    return {key: value for key, value in fields.items() if key != "nicSpeedGbps"}
