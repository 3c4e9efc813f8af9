"""What the classes of the clouds' SDKs take, read from the packages' source: importing them takes seconds."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


class Argument(NamedTuple):
    """One argument: whether it is required, and the class of its nested arguments, if it has any."""

    required: bool
    nested: str | None


def arguments_of(kind: str) -> dict[str, Argument]:
    """The arguments of a resource's class, such as `core.Vcn` or `digitalocean.Vpc`."""
    module, name = kind.split(".")
    text = (_folder(module) / f"{_file(name)}.py").read_text(encoding="utf-8")
    return _arguments(text, f"{name}Args")


def nested_arguments(kind: str, nested: str) -> dict[str, Argument]:
    """The arguments of a nested class in the module of a resource's class."""
    return _arguments(_inputs(kind.split(".")[0]), nested)


def python_name(name: str) -> str:
    """The name in Python of a property, given the one on the wire."""
    plain = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    return f"{plain}_" if plain == "async" else plain


def wrong_arguments(kind: str, place: str, given: Mapping[str, Any], known: dict[str, Argument]) -> Iterator[str]:
    """What the SDK would refuse, with its place."""
    for name, value in given.items():
        if name not in known:
            yield f"{place}: no argument {name}"
        elif (nested := known[name].nested) is not None:
            for entry in value if isinstance(value, list) else [value]:
                assert isinstance(entry, dict)
                yield from wrong_arguments(kind, f"{place}.{name}", entry, nested_arguments(kind, nested))
    for name, argument in known.items():
        if argument.required and name not in given:
            yield f"{place}: {name} is required"


@cache
def _inputs(module: str) -> str:
    return (_folder(module) / "_inputs.py").read_text(encoding="utf-8")


@cache
def _folder(module: str) -> Path:
    """Where a module's classes are: those of DigitalOcean's package are in no module."""
    alone = module == "digitalocean"
    spec = find_spec("pulumi_digitalocean" if alone else "pulumi_oci")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    return package if alone else package / module


def _file(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _arguments(text: str, name: str) -> dict[str, Argument]:
    # A regular expression takes a moment for each of the thousands of classes before.
    _, begin, rest = text.partition(f"\nclass {name}:\n    def __init__(__self__, *,\n")
    if not begin:
        raise LookupError(f"the SDK has no class {name}")
    found = {}
    for line in rest.partition("):\n")[0].splitlines():
        argument, _, rest = line.strip().partition(": ")
        nested = re.search(r"'(?:\w+\.)?(\w+Args)'", rest)
        found[argument] = Argument(" = None" not in rest, nested[1] if nested else None)
    return found
