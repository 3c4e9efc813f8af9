"""Single values as YAML, in the way that every reader takes for the same."""

from __future__ import annotations

import re
from typing import Any

import yaml

# Text that a parser of YAML 1.2, or of Go, may take for a number or a truth value, and PyYAML does not.
_DOUBTFUL = re.compile(r"[-+]?[0-9._]+([eE][-+]?[0-9]+)?|0[xob].*|[yYnN]")

# Text that is the same without quotes for every reader; the library's own judgement takes most of the time.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        node: yaml.ScalarNode = super().represent_str(data)
        if "\n" in data:
            node.style = '"'
        elif node.style is None and _DOUBTFUL.fullmatch(data):
            node.style = "'"
        return node


_Dumper.add_representer(str, _Dumper.represent_str)


def scalar(value: Any, quote: str | None = None) -> str:
    """A value that is no part of a list in brackets of ours: text, a number, or an empty mapping or list."""
    if quote is None and isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return entries([value], quote)


def entries(value: Any, quote: str | None = None) -> str:
    """What a list or mapping holds, as it stands between brackets."""
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
