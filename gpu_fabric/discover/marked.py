"""Files with the outputs of several nodes: each output begins below a line that names its node."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover.facts import DiscoveryError, Observation, Statements
from gpu_fabric.discover.machine import machine_of
from gpu_fabric.discover.node import node_of
from gpu_fabric.discover.rails import chosen_rails
from gpu_fabric.discover.text import Output

LIKE = "===== gpu-0 ====="

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
