"""Property values as the engine sends them: protobuf structures to and from plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import struct_pb2  # type: ignore[import-untyped]

Properties = dict[str, Any]
"""Property names to values: None, bool, int, float, str, lists and dicts of these, UNKNOWN and Secret."""

_UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"


class Unknown:
    """A value that is known only after an update; UNKNOWN is the one instance."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value that the engine is to encrypt wherever it keeps it."""

    value: Any

    def __repr__(self) -> str:
        return "Secret"


def read_properties(struct: Any) -> Properties:
    """The properties of a message; secrets are unwrapped, and whole numbers become ints."""
    return {name: _read(value) for name, value in struct.fields.items()}


def write_properties(properties: Mapping[str, Any]) -> Any:
    """A message of these properties; None is sent as null, which the engine treats as no value."""
    struct = struct_pb2.Struct()
    for name, value in properties.items():
        struct.fields[name].CopyFrom(_write(value))
    return struct


def has_unknown(value: Any) -> bool:
    """Whether a value is unknown, in whole or in part."""
    if isinstance(value, dict):
        return any(has_unknown(part) for part in value.values())
    if isinstance(value, list):
        return any(has_unknown(part) for part in value)
    return value is UNKNOWN


def _read(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        fields = value.struct_value.fields
        if _SIGNATURE in fields and fields[_SIGNATURE].string_value == _SECRET:
            return _read(fields["value"])
        return {name: _read(part) for name, part in fields.items()}
    if kind == "list_value":
        return [_read(part) for part in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "string_value":
        return UNKNOWN if value.string_value == _UNKNOWN_TEXT else value.string_value
    if kind == "bool_value":
        return value.bool_value
    return None


def _write(value: Any) -> Any:
    if value is None:
        return struct_pb2.Value(null_value=0)
    if value is UNKNOWN:
        return struct_pb2.Value(string_value=_UNKNOWN_TEXT)
    if isinstance(value, Secret):
        wrapped = {_SIGNATURE: _SECRET, "value": value.value}
        return struct_pb2.Value(struct_value=write_properties(wrapped))
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, list | tuple):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[_write(part) for part in value]))
    return struct_pb2.Value(struct_value=write_properties(value))
