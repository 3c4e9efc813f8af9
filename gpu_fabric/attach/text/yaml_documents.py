"""YAML documents with the position of every node, and scalars as kubectl reads them."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from gpu_fabric.base.yaml_files import NodeLoader, PlainDumper
from gpu_fabric.findings import InputError

STR = "tag:yaml.org,2002:str"
NULL = "tag:yaml.org,2002:null"
BOOL = "tag:yaml.org,2002:bool"
INT = "tag:yaml.org,2002:int"
FLOAT = "tag:yaml.org,2002:float"
MERGE = "tag:yaml.org,2002:merge"

Plain = str | int | float | bool | None

_WORDS: dict[str, tuple[str, Plain]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), (BOOL, True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), (BOOL, False)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **{sign + word: (FLOAT, math.inf) for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
    "<<": (MERGE, "<<"),
}
_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_BASES = (16, 8, 2, 10)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def read_plain(text: str) -> tuple[str, Plain]:
    """The tag of a plain scalar, and its value."""
    if (word := _WORDS.get(text)) is not None:
        return word
    if text[0] in "+-.0123456789":
        digits = text if text[0] == "." else text.replace("_", "")
        if (number := _whole(digits)) is not None:
            return INT, number
        if _FLOAT.fullmatch(digits) and math.isfinite(fraction := float(digits)):
            return FLOAT, fraction
    return STR, text


def key_text(value: Plain) -> str | None:
    """A key in its JSON form; None for a key that kubectl refuses."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return None if value is None else str(value)


def _whole(digits: str) -> int | None:
    match = _INT.fullmatch(digits)
    if match is None:
        return None
    sign, *written = match.groups()
    found = next(int(digits, base) for digits, base in zip(written, _BASES, strict=True) if digits is not None)
    number = -found if sign == "-" else found
    return number if -(2**63) <= number < (2**63 if sign else 2**64) else None


# Text that needs no quotes for any reader. This shortcut exists because PyYAML's own analysis is slow.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_QUOTED_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


class _Dumper(PlainDumper):
    lines = '"'


def scalar(value: Any, quote: str | None = None) -> str:
    """A single value outside brackets: text, a number, or an empty mapping or list."""
    if quote is None and isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _QUOTED_WORDS:
        return value
    return entries([value], quote)


def entries(value: Any, quote: str | None = None) -> str:
    """The content of a list or mapping in flow style, without its brackets."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=True,
        default_style=quote,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
    )
    return text.strip()[1:-1]


# The most nodes that a document may have once its aliases are expanded.
_MOST_PLACES = 200_000
_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_AS_WRITTEN = (STR, MERGE, "tag:yaml.org,2002:timestamp")
_BINARY = "tag:yaml.org,2002:binary"


class Alias(yaml.Node):
    """An alias at its own position; PyYAML's composer returns the anchored node, with that node's position."""

    id = "alias"

    def __init__(self, target: yaml.Node, event: Any) -> None:
        super().__init__(target.tag, target, event.start_mark, event.end_mark)
        self.target = target


class _Composer(NodeLoader):
    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """The tag of an untagged node, as kubectl resolves it."""
        if kind is yaml.ScalarNode:
            return read_plain(value)[0] if implicit[0] else STR
        return _COLLECTIONS[kind is yaml.SequenceNode]

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()
        if not isinstance(event, yaml.AliasEvent):
            # An anchor may be redefined: an alias refers to the last definition before it.
            self.anchors.pop(event.anchor, None)
        node: Any = super().compose_node(parent, index)
        return Alias(node, event) if isinstance(event, yaml.AliasEvent) else node


@dataclass(frozen=True)
class YamlDocument:
    """One document: its root node, which has positions in the text, and its content."""

    node: yaml.Node
    content: Any


def read_yaml(text: str) -> list[YamlDocument]:
    """The documents of a text, empty ones included.

    Raises:
        InputError: the text is not valid YAML, a mapping contains a key twice, or a value cannot be in a manifest.
    """
    try:
        loader = _Composer(text)
        documents = []
        while loader.check_node():
            node: Any = loader.get_node()
            documents.append(YamlDocument(node, _Reader().value(node)))
        return documents
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # A token missing at the end of the text is reported in the last line.
        line = 1 if mark is None else min(mark.line + 1, max(1, len(text.splitlines())))
        raise InputError("ATT001", f"line {line}: no YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError("ATT001", f"no YAML: {' '.join(str(error).split())}") from None


class _Reader:
    """Converts nodes to plain values."""

    def __init__(self) -> None:
        self._places = 0
        self._open: list[yaml.Node] = []

    def value(self, node: yaml.Node) -> Any:
        if isinstance(node, Alias):
            node = node.target
        self._places += 1
        if any(outer is node for outer in self._open) or self._places > _MOST_PLACES:
            message = f"{_line(node.start_mark)}its aliases lead in a circle, or to too many places"
            raise InputError("ATT001", message)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if node.tag not in _COLLECTIONS:
            raise InputError("ATT001", f"{_line(node.start_mark)}the tag {node.tag} is not known here")
        self._open.append(node)
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(entry) for entry in node.value]
            return self._mapping(node)
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.Node) -> dict[Any, Any]:
        own: dict[Any, Any] = {}
        merged = merged_in(node, self.value)
        for key, value in node.value:
            if is_merge_key(key):
                # kubectl 1.36 takes the merged value then (sigs.k8s.io/yaml 1.6.0), other readers the one of its own.
                if twice := sorted(own.keys() & merged.keys()):
                    message = (
                        f"what is merged has keys that stand before it: {', '.join(twice)}; put the merge key first"
                    )
                    raise InputError("ATT002", f"{_line(key.start_mark)}{message}")
                continue
            name = key_of(key)
            if name in own:
                raise InputError("ATT002", f"{_line(key.start_mark)}the key {name} is there twice")
            own[name] = self.value(value)
        return {**merged, **own}


def value_of(node: yaml.Node) -> Any:
    """The content of a node as plain values."""
    return _Reader().value(node)


def key_of(node: yaml.Node) -> str:
    """A key in its JSON form.

    Raises:
        InputError: the node is not a valid key.
    """
    value = value_of(node)
    name = None if isinstance(value, dict | list) else key_text(value)
    if name is None:
        raise InputError("ATT001", f"{_line(node.start_mark)}a key must be text")
    return name


def is_merge_key(key: yaml.Node) -> bool:
    """Whether a key is `<<`, whose value is a mapping to merge in."""
    return key.tag == MERGE and isinstance(key, yaml.ScalarNode)


def _scalar(node: yaml.ScalarNode) -> Plain:
    if node.tag in _AS_WRITTEN:
        text: str = node.value
        return text
    tag, value = read_plain(node.value)
    if tag == node.tag:
        return value
    if node.tag == FLOAT and isinstance(value, int):
        return float(value)
    if node.tag == _BINARY:
        return base64.b64decode(node.value).decode()
    raise InputError("ATT001", f"{_line(node.start_mark)}the tag {node.tag} does not fit, or is not known here")


def merged_in(node: yaml.Node, value_of: Callable[[yaml.Node], Any]) -> dict[Any, Any]:
    """The entries that merge keys add to a mapping; of several sources, the first wins.

    Raises:
        InputError: a source is not a mapping.
    """
    result: dict[Any, Any] = {}
    for key, value in node.value:
        if is_merge_key(key):
            listed = isinstance(value, yaml.SequenceNode)
            for source in reversed(value.value) if listed else [value]:
                merged = value_of(source)
                if not isinstance(merged, dict):
                    raise InputError("ATT001", f"{_line(source.start_mark)}a merge key takes a mapping")
                result |= merged
    return result


def _line(mark: Any) -> str:
    return "" if mark is None else f"line {mark.line + 1}: "
