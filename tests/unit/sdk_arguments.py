"""What the classes of pulumi-oci take, read from the package's source: importing it takes seconds and memory."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Argument(NamedTuple):
    """One argument: whether it is required, and the class of its nested arguments, if it has any."""

    required: bool
    nested: str | None


def arguments_of(kind: str) -> dict[str, Argument]:
    """The arguments of a resource's class, such as `core.Vcn`."""
    module, name = kind.split(".")
    text = (_package() / module / f"{_file(name)}.py").read_text(encoding="utf-8")
    return _arguments(text, f"{name}Args")


def nested_arguments(kind: str, nested: str) -> dict[str, Argument]:
    """The arguments of a nested class in the module of a resource's class."""
    return _arguments(_inputs(kind.split(".")[0]), nested)


def python_name(name: str) -> str:
    """The name in Python of a property, given the one on the wire."""
    plain = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    return f"{plain}_" if plain == "async" else plain


@cache
def _inputs(module: str) -> str:
    return (_package() / module / "_inputs.py").read_text(encoding="utf-8")


@cache
def _package() -> Path:
    spec = find_spec("pulumi_oci")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _file(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _arguments(text: str, name: str) -> dict[str, Argument]:
    # A regular expression takes a moment for each of the thousands of classes before.
    _, begin, rest = text.partition(f"\nclass {name}:\n    def __init__(__self__, *,\n")
    if not begin:
        raise LookupError(f"pulumi-oci has no class {name}")
    found = {}
    for line in rest.partition("):\n")[0].splitlines():
        argument, _, rest = line.strip().partition(": ")
        nested = re.search(r"'(?:\w+\.)?(\w+Args)'", rest)
        found[argument] = Argument(" = None" not in rest, nested[1] if nested else None)
    return found
