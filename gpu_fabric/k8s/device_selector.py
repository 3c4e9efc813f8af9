"""Selectors of DeviceClasses and ResourceClaims, evaluated on a published device as the scheduler does.

Source: the documentation of `CELDeviceSelector` in resource.k8s.io/v1: `device.driver`, `device.attributes` and
`device.capacity` by domain and name; a domain that a device lacks is empty, and to read a name that is not in it is an
error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpu_fabric.base.cel import CelRuntimeError, CelUnknownError, condition

Value = str | int | bool


class NotEvaluated(Exception):
    """The selector has a part of CEL that is not evaluated here, or no value; nothing is known of the device."""


class MissingAttribute(CelRuntimeError):
    """The selector reads an attribute that the device does not have, with which its evaluation ends in an error.

    `name` is the attribute's with its domain.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"no such key: {name}")
        self.name = name


class DeviceFacts(NamedTuple):
    """What selectors read of a device: attributes and capacity by qualified name, `gpu.nvidia.com/type`."""

    driver: str
    attributes: Mapping[str, Value]
    capacity: Mapping[str, str]


def selects(expression: str, device: DeviceFacts, reads: set[str] | None = None) -> bool:
    """Whether a selector selects a device; the qualified names that it reads are added to `reads`.

    Raises:
        MissingAttribute: it reads an attribute that the device lacks.
        NotEvaluated: it is not evaluated here.
    """
    reads = set() if reads is None else reads
    parts = {name: _Domains(getattr(device, name), reads) for name in ("attributes", "capacity")}
    try:
        return condition(expression)({"device": {"driver": device.driver, **parts}})
    except MissingAttribute:
        raise
    except (CelUnknownError, CelRuntimeError, RecursionError) as error:
        raise NotEvaluated(expression) from error


@dataclass(frozen=True)
class _Domains(Mapping[str, Any]):
    """Attributes or capacity by domain: every domain is there, and may have no names."""

    values_: Mapping[str, Value]
    reads: set[str]

    def __getitem__(self, domain: str) -> _Names:
        return _Names(self.values_, domain, self.reads)

    def __iter__(self) -> Iterator[str]:
        return iter({name.partition("/")[0] for name in self.values_})

    def __len__(self) -> int:
        return len(list(iter(self)))


@dataclass(frozen=True)
class _Names(Mapping[str, Any]):
    """The names of a domain, with their values."""

    values_: Mapping[str, Value]
    domain: str
    reads: set[str]

    def __getitem__(self, key: str) -> Value:
        name = f"{self.domain}/{key}"
        self.reads.add(name)
        if name not in self.values_:
            raise MissingAttribute(name)
        return self.values_[name]

    def __contains__(self, key: object) -> bool:
        name = f"{self.domain}/{key}"
        self.reads.add(name)
        return name in self.values_

    def __iter__(self) -> Iterator[str]:
        return (name.partition("/")[2] for name in self.values_ if name.startswith(f"{self.domain}/"))

    def __len__(self) -> int:
        return len(list(iter(self)))
