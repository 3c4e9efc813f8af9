"""Selectors of DeviceClasses and ResourceClaims, evaluated on a published device as the scheduler does.

A selector is an expression in CEL. The part of CEL in which drivers and plans write them is evaluated: attributes and
capacity of the device, comparisons, `in`, `has`, logic, and functions of texts, quantities and versions. Source: the
documentation of `CELDeviceSelector` in resource.k8s.io/v1; CEL's language definition.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

Value = str | int | bool
_OPERATORS = re.compile(r"""r?"(?:\\.|[^"\\])*"|r?'(?:\\.|[^'\\])*'|&&|\|\||!(?!=)""")
_PYTHON = {"&&": " and ", "||": " or ", "!": " ~"}
_NAMES = {"true": True, "false": False, "null": None}
_UNITS = {"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(10**3)}
_UNITS |= {letter: Decimal(1000**power) for power, letter in enumerate("MGTPE", start=2)}
_UNITS |= {f"{letter}i": Decimal(1024**power) for power, letter in enumerate("KMGTPE", start=1)}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]{0,2})")
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)\.([0-9]+)")


class NotEvaluated(Exception):
    """An expression with a part of CEL that is not evaluated here; nothing is known of the device."""


class MissingAttribute(Exception):
    """The selector reads an attribute that the device does not have, with which its evaluation ends in an error.

    `name` is the attribute's with its domain.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class DeviceFacts(NamedTuple):
    """What selectors read of a device: attributes and capacity by qualified name, `gpu.nvidia.com/type`."""

    driver: str
    attributes: Mapping[str, Value]
    capacity: Mapping[str, str]


class _Domains(NamedTuple):
    """All attributes, or the capacity, by domain."""

    values: Mapping[str, Value]


class _Names(NamedTuple):
    """Those of one domain, which may have none."""

    values: Mapping[str, Value]
    domain: str


def selects(expression: str, device: DeviceFacts) -> bool:
    """Whether a selector selects a device.

    Raises:
        MissingAttribute: it reads an attribute that the device lacks.
        NotEvaluated: it has a part of CEL that is not evaluated here.
    """
    try:
        return _truth(_value(_parsed(expression), device))
    except RecursionError as error:
        raise NotEvaluated(expression) from error


def attributes_read(expression: str) -> tuple[str, ...]:
    """The qualified names of the attributes and capacities that a selector reads, in its order."""
    try:
        tree = _parsed(expression)
    except NotEvaluated:
        return ()
    return tuple(dict.fromkeys(_read(tree)))


def _read(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Subscript(slice=ast.Constant(value=str(domain))), attr=name):
                yield f"{domain}/{name}"
            case ast.Subscript(
                value=ast.Subscript(slice=ast.Constant(value=str(domain))), slice=ast.Constant(value=str(name))
            ):
                yield f"{domain}/{name}"


@cache
def _parsed(expression: str) -> ast.expr:
    """The expression as a tree. CEL has the syntax of Python's expressions but for the signs of logic.

    `~` stands for CEL's `!`, since it binds as tightly.
    """
    text = _OPERATORS.sub(lambda found: _PYTHON.get(found[0], found[0]), expression)
    try:
        return ast.parse(f"({text.strip()}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotEvaluated(expression) from error


def _value(node: ast.expr, device: DeviceFacts) -> Any:
    match node:
        case ast.Constant(value=value) if isinstance(value, str | int):
            return value
        case ast.Name(id="device"):
            return device
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.List(elts=entries):
            return [_value(entry, device) for entry in entries]
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return not _truth(_value(operand, device))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case ast.BoolOp(op=operator, values=values):
            return _joined(values, device, ends_with=isinstance(operator, ast.Or))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _compared(operator, _value(left, device), _value(right, device))
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return _entry(_value(value, device), key)
        case ast.Attribute(value=value, attr=key):
            return _entry(_value(value, device), key)
        case ast.Call(func=ast.Name(id="has"), args=[ast.Attribute(value=value, attr=key)]):
            return _has(_value(value, device), key)
        case ast.Call(func=ast.Name(id="quantity" | "semver" as kind), args=[argument]):
            return _amount(_value(argument, device), kind)
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[argument]):
            return _called(name, _value(value, device), _value(argument, device))
    raise NotEvaluated(ast.unparse(node))


def _joined(values: Sequence[ast.expr], device: DeviceFacts, *, ends_with: bool) -> bool:
    """The value of `&&` or `||`: either side decides, even if the other ends in an error (CEL, logical operators)."""
    error: Exception | None = None
    for value in values:
        try:
            if _truth(_value(value, device)) is ends_with:
                return ends_with
        except (MissingAttribute, NotEvaluated) as raised:
            error = error or raised
    if error is not None:
        raise error
    return not ends_with


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NotEvaluated(str(value))
    return value


def _compared(operator: ast.cmpop, left: Any, right: Any) -> bool:
    match operator:
        case ast.Eq() | ast.NotEq():
            # Python takes true for 1.
            equal = left == right and isinstance(left, bool) == isinstance(right, bool)
            return equal == isinstance(operator, ast.Eq)
        case ast.In():
            return _has(right, left) if isinstance(right, _Names) else isinstance(right, list) and left in right
    if type(left) is not type(right) or isinstance(left, bool):
        raise NotEvaluated(f"{left} and {right} are compared")
    match operator:
        case ast.Lt():
            return bool(left < right)
        case ast.LtE():
            return bool(left <= right)
        case ast.Gt():
            return bool(left > right)
        case ast.GtE():
            return bool(left >= right)
    raise NotEvaluated(type(operator).__name__)


def _entry(value: Any, key: str) -> Any:
    if isinstance(value, DeviceFacts):
        if key == "driver":
            return value.driver
        if key in ("attributes", "capacity"):
            return _Domains(value.attributes if key == "attributes" else value.capacity)
    elif isinstance(value, _Domains):
        return _Names(value.values, key)
    elif isinstance(value, _Names):
        if not _has(value, key):
            raise MissingAttribute(f"{value.domain}/{key}")
        return value.values[f"{value.domain}/{key}"]
    raise NotEvaluated(key)


def _has(value: Any, key: Any) -> bool:
    if not isinstance(value, _Names):
        raise NotEvaluated(f"has {key}")
    return f"{value.domain}/{key}" in value.values


def _amount(value: Any, kind: str) -> tuple[Decimal, ...]:
    """A quantity as a number, a version as its three."""
    form = _QUANTITY if kind == "quantity" else _VERSION
    found = form.fullmatch(value) if isinstance(value, str) else None
    if found is None or (kind == "quantity" and found[2] not in _UNITS):
        raise NotEvaluated(f"{kind}({value!r})")
    return (Decimal(found[1]) * _UNITS[found[2]],) if kind == "quantity" else tuple(map(Decimal, found.groups()))


def _called(name: str, value: Any, argument: Any) -> Any:
    if isinstance(value, str) and isinstance(argument, str):
        match name:
            case "startsWith":
                return value.startswith(argument)
            case "endsWith":
                return value.endswith(argument)
            case "contains":
                return argument in value
    if isinstance(argument, tuple):
        if isinstance(value, str):
            # A value of a device: a quantity is one number, a version three.
            value = _amount(value, "quantity" if len(argument) == 1 else "semver")
        order = (value > argument) - (value < argument)
        known = {"compareTo": order, "isGreaterThan": order > 0, "isLessThan": order < 0}
        if name in known:
            return known[name]
    raise NotEvaluated(name)
