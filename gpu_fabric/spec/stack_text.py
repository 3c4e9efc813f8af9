"""Stack files as text and as parsed YAML, with the line and column of each value.

The command line parses a stack file with PyYAML (YAML 1.1); Pulumi has a parser of its own (YAML 1.2 with exceptions).
A value that the two parsers read differently is refused here, so that `plan` and `up` use the same values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import Field

from gpu_fabric.base.yaml_files import NodeLoader
from gpu_fabric.findings import Finding, Place
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.places import NAMESPACE, Location, dotted

MOST_REPEATED = 1_000_000
"""Limit of the characters that aliases repeat; the stack file of a large cluster repeats some thousands."""
MOST_DIGITS = 15
"""Limit of the digits of a number: Pulumi has numbers of 64 bits with a point, which do not keep all longer ones."""

_MOST_SHOWN = 60
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
# Tags that PyYAML converts with Python's own functions, whose errors it does not catch.
_CONVERTED = tuple(f"{_TAG}{kind}" for kind in ("int", "float", "bool", "timestamp"))
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
# Forms that some parser reads as a number: digits with underscores, a sign, colons, an exponent, another base.
_NUMERIC = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?0[xob][0-9a-fA-F_]+|[-+]?\.(?:inf|Inf|INF)"
)
_TRUTHS = ("true", "false")
# Tags whose values no JSON has; the engine makes maps, lists and texts of them.
_WITHOUT_JSON = ("set", "omap", "pairs", "binary")
# The engine makes `2026-01-31 00:00:00 +0000 UTC` of a plain date.
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?")
DAYS = frozenset({"asOf", "expires"})
"""The keys that take a day, and read it in each of its forms."""
# Line ends and tabs are part of texts; every other control character can control a terminal and has no use here.
_CONTROL = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\U0010ffff]")


class StackTextError(Exception):
    """A text is not a valid stack file: the problem, the remedy, and the place, where known."""

    def __init__(self, problem: str, remedy: str, place: Place | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.place = place


class Unclear(NamedTuple):
    """A value or key that parsers read differently: its dotted path, the problem and the remedy."""

    path: str
    problem: str
    remedy: str


class StackText(NamedTuple):
    """A parsed stack file: its content, and the values that another parser would read differently."""

    content: Any
    unclear: tuple[Unclear, ...]


class _Loader(NodeLoader):
    """PyYAML's safe loader, which also refuses repeated keys and does not fail on a scalar that cannot be converted.

    A scalar with the form or tag of a number, date or boolean that is not a valid one is read as text (`misfits`).
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.misfits: dict[int, str] = {}
        """The type that a scalar looks like but is not, by the id of its node."""

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """The node of a scalar; text where the scalar cannot be converted to its type."""
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        if node.tag in _CONVERTED and not self._is_convertible(node):
            self.misfits[id(node)] = node.tag.removeprefix(_TAG)
            node.tag = f"{_TAG}str"
        return node

    def _is_convertible(self, node: yaml.ScalarNode) -> bool:
        try:
            self.yaml_constructors[node.tag](self, node)
        except (ValueError, LookupError, AttributeError, OverflowError):
            return False
        return True

    # Checked before merge keys (`<<`) are resolved, because a merged key may be overridden.
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """The node of a mapping; refuses repeated keys."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise StackTextError("a key is a list or a mapping", "write a text for it", _place(key))
            if key.value in seen:
                raise StackTextError(f"the key {_shown(key)} is there twice", "keep one of them", _place(key))
            seen.add(key.value)
        return node


def parsed(text: str) -> StackText:
    """The content of a stack file.

    Raises:
        StackTextError: the text is not YAML, or its aliases repeat too much.
        RecursionError: the text is nested too deeply.
    """
    loader = _Loader(text)
    try:
        node = _composed(loader)
        if node is None:
            return StackText(None, ())
        _check_repetition(node)
        unclear = tuple(_unclear(node, loader))
        return StackText(loader.construct_document(node), unclear)
    except yaml.YAMLError as error:
        raise _not_yaml(error, text) from error
    finally:
        loader.dispose()


def places(text: str) -> dict[str, Place]:
    """Line and column of every value in the sections of a stack file, by dotted path; empty for an invalid file."""
    loader = _Loader(text)
    found: dict[str, Place] = {}
    try:
        root = _composed(loader)
        for location, mark, _ in _located(root):
            found.setdefault(dotted(location), _place(mark))
        for key, _ in _config_entries(root):
            found.setdefault(key.value, _place(key))
    except (yaml.YAMLError, StackTextError, RecursionError):
        # `parsed` reports the whole file, at the place where parsing ended.
        return {}
    finally:
        loader.dispose()
    return found


def _composed(loader: _Loader) -> yaml.Node | None:
    node: yaml.Node | None = loader.get_single_node()
    return node


def _not_yaml(error: yaml.YAMLError, text: str) -> StackTextError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None)
    place = None if mark is None else Place(mark.line + 1, mark.column + 1)
    if place is not None and "\t" in _indentation(text, place):
        return StackTextError("is not YAML: a line is indented with a tab", "indent with spaces", place)
    remedy = "correct it there or in the line before; brackets and quotes may not be closed, or a text may need quotes"
    return StackTextError(f"is not YAML{f': {problem}' if problem else ''}", remedy, place)


def _indentation(text: str, place: Place) -> str:
    line = text.splitlines()[place.line - 1 : place.line]
    return line[0][: len(line[0]) - len(line[0].lstrip())] if line else ""


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _check_repetition(root: yaml.Node) -> None:
    """Refuse aliases (merge keys included) that repeat more than the limit, or that contain themselves."""
    whole: dict[int, int] = {}
    written = 0
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    opened: set[int] = set()
    while waiting:
        node, complete = waiting.pop()
        if complete:
            opened.discard(id(node))
            whole[id(node)] = _own_weight(node) + sum(whole[id(inner)] for inner in _children(node))
        elif id(node) in opened:
            raise StackTextError("holds a value that contains itself", "write the alias (*) out", _place(node))
        elif id(node) not in whole:
            written += _own_weight(node)
            opened.add(id(node))
            waiting.append((node, True))
            waiting.extend((inner, False) for inner in _children(node))
    if whole[id(root)] - written > MOST_REPEATED:
        raise StackTextError(
            f"its aliases (*) repeat more than {MOST_REPEATED:,} characters",
            "write what they repeat out where it is needed",
        )


def _own_weight(node: yaml.Node) -> int:
    # An entry needs memory besides its text.
    return 16 + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)


def _entries(node: yaml.Node | None) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """Keys and values of a mapping, then those of its merge keys (`<<`)."""
    if isinstance(node, yaml.MappingNode):
        yield from ((key, value) for key, value in node.value if key.tag != _MERGE)
        for key, merged in node.value:
            if key.tag == _MERGE:
                for source in merged.value if isinstance(merged, yaml.SequenceNode) else [merged]:
                    yield from _entries(source)


def _config_entries(root: yaml.Node | None) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    for key, config in _entries(root):
        if getattr(key, "value", None) == "config":
            yield from ((name, value) for name, value in _entries(config) if isinstance(name, yaml.ScalarNode))


def _section_entries(root: yaml.Node | None) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    """The keys and values of this program's sections."""
    return ((name, value) for name, value in _config_entries(root) if name.value.startswith(f"{NAMESPACE}:"))


def _located(root: yaml.Node | None) -> Iterator[tuple[Location, yaml.Node, yaml.Node]]:
    """Every value in this program's sections: its location, the node to point at, and the value's node.

    A value that an alias repeats has the place of its anchor. Own keys precede the merged keys that they override.
    """
    sections = [((key.value.removeprefix(f"{NAMESPACE}:"),), key, value) for key, value in _section_entries(root)]
    waiting: list[tuple[Location, yaml.Node, yaml.Node]] = list(reversed(sections))
    while waiting:
        here, mark, value = waiting.pop()
        yield here, mark, value
        if isinstance(value, yaml.MappingNode):
            inside = [((*here, str(key.value)), key, inner) for key, inner in _entries(value)]
            waiting.extend(reversed(inside))
        elif isinstance(value, yaml.SequenceNode):
            waiting.extend(((*here, index), inner, inner) for index, inner in reversed(list(enumerate(value.value))))


def _unclear(root: yaml.Node, loader: _Loader) -> Iterator[Unclear]:
    """Values that parsers read differently, or that cannot be constructed; the latter become text."""
    seen = set()
    for location, mark, value in _located(root):
        for node, of_key in ((mark, True), (value, False)) if mark is not value else ((value, False),):
            if id(node) in seen:
                continue
            seen.add(id(node))
            problem = _unclear_key(node) if of_key and isinstance(node, yaml.ScalarNode) else None
            if problem is None and node.tag.removeprefix(_TAG) in _WITHOUT_JSON:
                problem = f"has the tag !!{node.tag.removeprefix(_TAG)}", "write the value without a tag"
            elif problem is None and isinstance(node, yaml.ScalarNode):
                problem = _unclear_scalar(node, loader, of_day=location[-1] in DAYS)
            if problem is not None:
                yield Unclear(dotted(location), *problem)


def _shown(key: yaml.ScalarNode) -> str:
    """A key as a message shows it: shortened, and escaped where it has control characters."""
    text = key.value if len(key.value) <= _MOST_SHOWN else f"{key.value[:_MOST_SHOWN]}…"
    return repr(text) if _CONTROL.search(text) or not text.isprintable() else text


def _unclear_key(key: yaml.ScalarNode) -> tuple[str, str] | None:
    if key.tag == f"{_TAG}str":
        return None
    # Continue with text: sections cannot be serialized with a date or bytes as a key.
    key.tag = f"{_TAG}str"
    return _control(key.value) or ("a key must be a text", f'write "{_shown(key)}" in quotes')


def _control(text: str) -> tuple[str, str] | None:
    character = _CONTROL.search(text)
    return None if character is None else (f"holds the control character {character[0]!r}", "take it out")


def _unclear_scalar(node: yaml.ScalarNode, loader: _Loader, of_day: bool) -> tuple[str, str] | None:
    text, kind = node.value, node.tag.removeprefix(_TAG)
    if control := _control(text):
        return control
    if misfit := loader.misfits.get(id(node)):
        return _unclear_misfit(text, misfit)
    if node.style:
        return None
    if kind in ("int", "float") or (kind == "str" and _NUMERIC.fullmatch(text.replace("_", ""))):
        return _unclear_number(node, kind)
    if kind == "bool" and text.lower() not in _TRUTHS:
        meant = "true" if text.lower() in ("yes", "on") else "false"
        problem = "this word is true or false to some readers of YAML, and a text to others"
        return problem, f"write {meant}, or quotes around the text"
    if _DATE.fullmatch(text) and not of_day:
        return "is a date to some readers of YAML, and a text to others", "write quotes around the text"
    return None


def _unclear_misfit(text: str, kind: str) -> tuple[str, str]:
    if kind == "timestamp":
        return "is a date that does not exist", "write a date of the calendar, or quotes around the text"
    if kind in ("int", "float"):
        return _too_long(text) or ("is marked as a number and is none", "write the number in plain digits")
    return "is marked as a truth value and is none", "write true or false"


def _too_long(text: str) -> tuple[str, str] | None:
    if sum(character.isdigit() for character in text) <= MOST_DIGITS:
        return None
    return f"is a number of more than {MOST_DIGITS} digits", "write a smaller one, or quotes around the text"


def _unclear_number(node: yaml.ScalarNode, kind: str) -> tuple[str, str] | None:
    text = node.value
    if too_long := _too_long(text):
        node.tag = f"{_TAG}str"
        return too_long
    if kind != "str" and _DECIMAL.fullmatch(text):
        return None
    # The message does not repeat the value, which may be a secret in the wrong place.
    problem = "is not a plain decimal number, and different readers of YAML take it for different values"
    return problem, "write the number in plain digits, or quotes around the text"


class StackDocument(FrozenModel):
    """A stack's configuration as written, before validation. Relative paths start from the folder `root`.

    `text` is the content of the file, empty where the configuration does not come from a file. `unclear` reports the
    values that parsers read differently. `null_is_absent`: the arguments of a component, in whose languages null stands
    for an argument that is not given; a file with such a key is refused.
    """

    name: str
    file: str
    root: Path
    sections: dict[str, Any]
    text: str = Field("", repr=False)
    unclear: tuple[Finding, ...] = ()
    null_is_absent: bool = False
    plain_settings: tuple[str, ...] = ()
    """Keys of provider settings that hold a secret in plain text."""

    @cached_property
    def places(self) -> dict[str, Place]:
        """Line and column of every value, by dotted path."""
        return places(self.text)
