"""The text of a stack file as YAML, in which no mapping may have a key twice."""

from __future__ import annotations

from typing import Any

import yaml

from fabric.yaml_nodes import NodeLoader


class RepeatedKeyError(yaml.MarkedYAMLError):
    """A mapping has a key twice; `problem_mark` is where it stands the second time."""


class _Loader(NodeLoader):
    """PyYAML's safe loader would silently take the last of several values."""

    # Looked for before merge keys (`<<`) are resolved: what they bring may be overruled.
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """The node of a mapping."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise RepeatedKeyError(problem=f"the key {key.value} is there twice", problem_mark=key.start_mark)
                seen.add(key.value)
        return node


def parsed(text: str) -> Any:
    """The content of a stack file.

    Raises:
        RepeatedKeyError: a mapping has a key twice.
        yaml.YAMLError: the text is no YAML.
        ValueError: it holds a date that does not exist, which PyYAML lets fail outside its own family of errors.
    """
    return yaml.load(text, Loader=_Loader)
