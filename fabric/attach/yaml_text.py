"""YAML text with single values added or changed; everything else stays as written, to the byte.

A YAML library that writes a document anew moves comments and breaks lines elsewhere, so what is added is put into the
text at the places that PyYAML's composer names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import yaml

from fabric.attach.problem import InputError
from fabric.attach.yaml_documents import Alias, YamlDocument, is_merge_key, merged_in, read_yaml, value_of
from fabric.attach.yaml_values import entries, scalar

_BLOCK = ("|", ">")


def rewritten(text: str, documents: list[YamlDocument], contents: list[Any]) -> str:
    """The text with other contents, which may add to mappings, add at the end of lists, and change values.

    Raises:
        InputError: a document is written in a way that cannot be added to.
    """
    edits = _Edits(text)
    for document, content in zip(documents, contents, strict=True):
        edits.change(document, content)
    result = edits.applied()
    try:
        same = [document.content for document in read_yaml(result)] == contents
    except InputError:
        same = False
    if not same:
        message = "written in a way that cannot be added to; write the workloads in block style, no merge keys"
        raise InputError("ATT003", message)
    return result


@dataclass
class _Edits:
    """Pieces of a text to put others in the place of."""

    text: str
    pieces: list[tuple[int, int, str]] = field(default_factory=list)
    newline: str = "\n"
    step: int = 2
    dash: int = 0
    gap: int = 2
    becomes: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first, _, _ = self.text.partition("\n")
        self.newline = "\r\n" if first.endswith("\r") else "\n"

    def applied(self) -> str:
        """The text with all pieces replaced."""
        result, position = [], 0
        for start, end, new in sorted(self.pieces, key=lambda piece: piece[:2]):
            result += [self.text[position:start], new.replace("\n", self.newline)]
            position = end
        return "".join([*result, self.text[position:]])

    def change(self, document: YamlDocument, content: Any) -> None:
        """Note what makes a document say something else; nothing where it says that already."""
        if document.content == content:
            return
        self.step, self.dash, self.gap = _indentation(document.node)
        self.becomes = dict(_defined(document.node, content))
        in_flow = not _in_block(document.node)
        self._change(document.node, document.content, content, parent=0, in_flow=in_flow)

    def _change(self, node: yaml.Node, before: Any, after: Any, *, parent: int, in_flow: bool) -> None:
        """`parent` is the column of the mapping or list that the node lies in."""
        if isinstance(node, Alias):
            if after != self._now(node):
                self._replace(node, after, parent, in_flow)
        elif before != after and not in_flow and self._can_be_opened(node, after):
            opened = node
            self._put(node, parent, after, lambda column: self._opened(opened, before, after, column))
        elif isinstance(node, yaml.MappingNode) and isinstance(after, dict) and node.value:
            self._change_mapping(node, before, after, in_flow or bool(node.flow_style))
        elif isinstance(node, yaml.SequenceNode) and isinstance(after, list) and node.value:
            self._change_list(node, before, after, in_flow or bool(node.flow_style))
        elif before != after:
            self._replace(node, after, parent, in_flow)

    def _change_mapping(self, node: yaml.MappingNode, before: Any, after: Any, in_flow: bool) -> None:
        column = node.value[0][0].start_mark.column
        there = merged_in(node, self._now)
        for key, value in node.value:
            if not is_merge_key(key):
                name = value_of(key)
                self._change(value, before[name], after[name], parent=column, in_flow=in_flow)
                there[name] = after[name]
        added = {name: value for name, value in after.items() if name not in there or there[name] != value}
        if added:
            self._add(node.value[-1], entries(added) if in_flow else self._block(added, column))

    def _change_list(self, node: yaml.SequenceNode, before: Any, after: Any, in_flow: bool) -> None:
        column = self._dash_column(node)
        for index, entry in enumerate(node.value):
            self._change(entry, before[index], after[index], parent=column, in_flow=in_flow)
        added = after[len(node.value) :]
        if added:
            self._add((None, node.value[-1]), entries(added) if in_flow else self._block(added, column))

    def _add(self, last: tuple[yaml.Node | None, yaml.Node], new: str | list[str]) -> None:
        """Put something behind the last entry of a mapping or list: text inside brackets, or lines."""
        key, value = last
        end = max(self._end(value), 0 if key is None else self._end(key))
        if isinstance(new, str):
            self.pieces.append((end, end, f", {new}"))
        else:
            self._add_lines(end, new)

    def _add_lines(self, position: int, lines: list[str]) -> None:
        end = self.text.find("\n", position)
        end = len(self.text) if end < 0 else end
        if end > position and self.text[end - 1] == "\r":
            end -= 1
        self.pieces.append((end, end, "".join(f"\n{line}" for line in lines)))

    def _replace(self, node: yaml.Node, after: Any, parent: int, in_flow: bool) -> None:
        start, end = node.start_mark.index, self._end(node)
        if in_flow or not isinstance(after, dict | list) or not after:
            quote = node.style if isinstance(node, yaml.ScalarNode) and node.style == '"' else None
            space = " " if start > 0 and self.text[start - 1] == ":" else ""
            self.pieces.append((start, end, space + scalar(after, quote)))
            return
        self._put(node, parent, after, lambda column: self._block(after, column))

    def _put(self, node: yaml.Node, parent: int, after: Any, lines_at: Callable[[int], list[str]]) -> None:
        """Put lines in the place of a node that lies in a mapping or list in block style."""
        start, end = node.start_mark.index, self._end(node)
        before = self.text[:start].rstrip(" ")
        if before.endswith("-"):
            self.pieces.append((start, end, "\n".join(lines_at(node.start_mark.column)).lstrip(" ")))
            return
        self.pieces.append((len(before), end, ""))
        self._add_lines(end, lines_at(parent + (self.step if isinstance(after, dict) else self.dash)))

    def _can_be_opened(self, node: yaml.Node, after: Any) -> TypeGuard[yaml.CollectionNode]:
        """Whether brackets on one line can be written as lines: what is added would make that line a long one."""
        if not isinstance(node, yaml.CollectionNode) or not node.flow_style or not node.value:
            return False
        return isinstance(after, dict | list) and not set("\n#&*!") & set(self._written(node))

    def _opened(self, node: yaml.CollectionNode, before: Any, after: Any, column: int) -> list[str]:
        """The lines of something in brackets; what does not change in it stays as written."""
        lines: list[str] = []
        in_list = isinstance(node, yaml.SequenceNode)
        for index, entry in enumerate(node.value):
            key, value = (None, entry) if in_list else entry
            name = index if key is None else value_of(key)
            head = " " * column + ("-" if key is None else f"{self._written(key)}:")
            if before[name] == after[name]:
                lines.append(f"{head} {self._written(value)}".rstrip(" "))
                continue

            def lines_of(_: Any, inner: int, value: yaml.Node = value, name: Any = name) -> list[str]:
                if isinstance(value, yaml.CollectionNode) and value.value:
                    return self._opened(value, before[name], after[name], inner)
                return self._block(after[name], inner)

            lines += self._entry(head, after[name], column, lines_of, in_list=in_list)
        added = after[len(node.value) :] if in_list else {name: after[name] for name in after if name not in before}
        return [*lines, *(self._block(added, column) if added else [])]

    def _written(self, node: yaml.Node) -> str:
        return self.text[node.start_mark.index : node.end_mark.index]

    def _now(self, node: yaml.Node) -> Any:
        """What an alias, or the source of a merge, says after all changes."""
        target = node.target if isinstance(node, Alias) else node
        return self.becomes[id(target)] if id(target) in self.becomes else value_of(target)

    def _block(self, value: Any, column: int) -> list[str]:
        """The lines of a mapping or list that is not empty."""
        lines: list[str] = []
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            in_list = isinstance(value, list)
            head = " " * column + ("-" if in_list else f"{scalar(key)}:")
            lines += self._entry(head, inner, column, self._block, in_list=in_list)
        return lines

    def _entry(
        self, head: str, value: Any, column: int, lines_of: Callable[[Any, int], list[str]], *, in_list: bool
    ) -> list[str]:
        """The lines of one entry, whose dash or key is `head`; `lines_of` gives those of a mapping or list."""
        if not isinstance(value, dict | list) or not value:
            return [f"{head} {scalar(value)}"]
        if in_list:
            below = lines_of(value, column + self.gap)
            return [head + " " * (self.gap - 1) + below[0].lstrip(" "), *below[1:]]
        return [head, *lines_of(value, column + (self.step if isinstance(value, dict) else self.dash))]

    def _dash_column(self, node: yaml.SequenceNode) -> int:
        if node.flow_style:
            return 0
        dash = self.text.rfind("-", 0, node.value[0].start_mark.index)
        return dash - (self.text.rfind("\n", 0, dash) + 1)

    def _end(self, node: yaml.Node) -> int:
        """Where a node's own text ends: comments and empty lines behind it are no part."""
        end: int = node.end_mark.index
        if isinstance(node, Alias):
            return end
        if isinstance(node, yaml.ScalarNode):
            if node.style not in _BLOCK:
                return end
            start = node.start_mark.index
            header = self.text[start : self.text.find("\n", start)]
            if "+" in header.partition("#")[0]:
                return end - 1
            return start + len(self.text[start:end].rstrip())
        if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
            return end
        last = node.value[-1]
        return max(map(self._end, last)) if isinstance(last, tuple) else self._end(last)


def _defined(node: yaml.Node, after: Any) -> Iterator[tuple[int, Any]]:
    """What the nodes of a document say afterwards, each where it is written, by identity."""
    if isinstance(node, Alias):
        return
    yield id(node), after
    if isinstance(node, yaml.MappingNode) and isinstance(after, Mapping):
        for key, value in node.value:
            if not is_merge_key(key):
                yield from _defined(value, after[value_of(key)])
    elif isinstance(node, yaml.SequenceNode) and isinstance(after, list):
        for entry, value in zip(node.value, after, strict=False):
            yield from _defined(entry, value)


def _indentation(root: yaml.Node) -> tuple[int, int, int]:
    """How many columns mappings and dashes lie to the right of their keys, and what is in a list of its dash."""
    steps: dict[str, int] = {}
    queue = [root]
    while queue:
        node = queue.pop(0)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if _in_block(value) and value.start_mark.line > key.start_mark.line:
                    steps.setdefault(value.id, value.start_mark.column - key.start_mark.column)
                queue.append(value)
        elif isinstance(node, yaml.SequenceNode):
            if _in_block(node) and _in_block(node.value[0]) and node.value[0].start_mark.line == node.start_mark.line:
                steps.setdefault("entry", node.value[0].start_mark.column - node.start_mark.column)
            queue += node.value
    return max(1, steps.get("mapping", 2)), max(0, steps.get("sequence", 0)), max(2, steps.get("entry", 2))


def _in_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)
