"""Scalars: read as kubectl reads plain ones, and written in a form that every reader reads alike.

kubectl uses Go's YAML library, which follows neither YAML 1.1 nor 1.2: a time such as 12:30:00 and a date are text,
0o14 is a number, and `y` is true.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

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


# Text that a YAML 1.2 parser, or Go's, may read as a number or a boolean, and PyYAML does not.
_DOUBTFUL = re.compile(r"[-+]?[0-9._]+([eE][-+]?[0-9]+)?|[-+]?0[xobXOB].*|[yYnN]")

# Text that needs no quotes for any reader. This shortcut exists because PyYAML's own analysis is slow.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_QUOTED_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


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
