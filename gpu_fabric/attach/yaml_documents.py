"""YAML documents with the position of every node, aliases included."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from gpu_fabric.attach.yaml_scalars import FLOAT, MERGE, STR, Plain, key_text, read_plain
from gpu_fabric.base.yaml_files import NodeLoader
from gpu_fabric.findings import InputError

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
        for key, value in node.value:
            if is_merge_key(key):
                continue
            name = key_of(key)
            if name in own:
                raise InputError("ATT002", f"{_line(key.start_mark)}the key {name} is there twice")
            own[name] = self.value(value)
        return {**merged_in(node, self.value), **own}


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
    """The entries that merge keys add to a mapping; of several sources, the first wins."""
    result: dict[Any, Any] = {}
    for key, value in node.value:
        if is_merge_key(key):
            listed = isinstance(value, yaml.SequenceNode)
            for source in reversed(value.value) if listed else [value]:
                brought = value_of(source)
                if not isinstance(brought, dict):
                    raise InputError("ATT001", f"{_line(source.start_mark)}a merge key takes a mapping")
                result |= brought
    return result


def _line(mark: Any) -> str:
    return "" if mark is None else f"line {mark.line + 1}: "
