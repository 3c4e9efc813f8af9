"""The text of a stack file with another release line; everything else stays as it is written, comments included."""

from __future__ import annotations

import yaml

from gpu_fabric.base.yaml_files import NodeLoader
from gpu_fabric.spec.places import NAMESPACE
from gpu_fabric.spec.stack_text import StackTextError, parsed

_SECTION, _KEY = f"{NAMESPACE}:software", "releaseLine"


def with_release_line(text: str, line: str) -> str | None:
    """The text with that line; None where it cannot be written without changing something else, as through an alias."""
    changed = _changed(text, f'"{line}"')
    if changed is None:
        return None
    try:
        before, after = parsed(text).content, parsed(changed).content
    except StackTextError:
        return None
    before["config"].setdefault(_SECTION, {})[_KEY] = line
    return changed if before == after else None


def _changed(text: str, value: str) -> str | None:
    loader = NodeLoader(text)
    try:
        config = _value(loader.get_single_node(), "config")
    finally:
        loader.dispose()
    if not isinstance(config, yaml.MappingNode) or not config.value:
        return None
    section = _value(config, _SECTION)
    if section is None:
        return _inserted(text, config, _SECTION, f"{{{_KEY}: {value}}}")
    if not isinstance(section, yaml.MappingNode) or not section.value:
        return None
    written = _value(section, _KEY)
    if written is None:
        return _inserted(text, section, _KEY, value)
    return text[: written.start_mark.index] + value + text[written.end_mark.index :]


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    entries = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in entries if name.value == key), None)


def _inserted(text: str, mapping: yaml.MappingNode, key: str, value: str) -> str:
    """The text with an entry before the first of a mapping."""
    mark = mapping.value[0][0].start_mark
    end = ", " if mapping.flow_style else "\n" + " " * mark.column
    return f"{text[: mark.index]}{key}: {value}{end}{text[mark.index :]}"
