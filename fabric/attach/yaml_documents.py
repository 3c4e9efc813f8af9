"""YAML documents with the places of everything in them, aliases included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from fabric.attach.problem import InputError
from fabric.yaml_nodes import NodeLoader

# As many places a document may have once its aliases are written out.
_MOST_PLACES = 200_000
_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_MERGE = "tag:yaml.org,2002:merge"


class Alias(yaml.Node):
    """An alias where it stands; PyYAML's own composer gives the node that it refers to, with that one's place."""

    id = "alias"

    def __init__(self, target: yaml.Node, event: Any) -> None:
        super().__init__(target.tag, target, event.start_mark, event.end_mark)
        self.target = target


class _Composer(NodeLoader):
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()
        node: Any = super().compose_node(parent, index)
        return Alias(node, event) if isinstance(event, yaml.AliasEvent) else node


@dataclass(frozen=True)
class YamlDocument:
    """One document: where it is in the text, and what it says."""

    node: yaml.Node
    content: Any


def read_yaml(text: str) -> list[YamlDocument]:
    """The documents of a text, empty ones included.

    Raises:
        InputError: it is no YAML, has a key twice in one mapping, or says what no manifest can.
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
        # What is missing at the end is missing in the last line that there is.
        line = 1 if mark is None else min(mark.line + 1, max(1, len(text.splitlines())))
        raise InputError("ATT001", f"line {line}: no YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError("ATT001", f"no YAML: {' '.join(str(error).split())}") from None


class _Reader:
    """What nodes say, as plain values."""

    def __init__(self) -> None:
        self._places = 0
        self._open: list[yaml.Node] = []
        self._scalars = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node) -> Any:
        if isinstance(node, Alias):
            node = node.target
        self._places += 1
        if any(outer is node for outer in self._open) or self._places > _MOST_PLACES:
            message = f"{_line(node.start_mark)}its aliases lead in a circle, or to too many places"
            raise InputError("ATT001", message)
        if isinstance(node, yaml.ScalarNode):
            return self._scalars.construct_object(node, deep=True)
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
            name = self.value(key)
            if isinstance(name, dict | list):
                raise InputError("ATT001", f"{_line(key.start_mark)}a key must be text")
            if name in own:
                raise InputError("ATT002", f"{_line(key.start_mark)}the key {name} is there twice")
            own[name] = self.value(value)
        return {**merged_in(node, self.value), **own}


def value_of(node: yaml.Node) -> Any:
    """What a node says, as plain values."""
    return _Reader().value(node)


def is_merge_key(key: yaml.Node) -> bool:
    """Whether it is `<<`, whose value is another mapping to take entries from."""
    return key.tag == _MERGE


def merged_in(node: yaml.Node, value_of: Callable[[yaml.Node], Any]) -> dict[Any, Any]:
    """What merge keys bring into a mapping; of several sources the first counts."""
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
