"""What is known of each variable of NCCL, RCCL and those around them: the tables of `nccl.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any, Literal, Self, get_args

from pydantic import Field, model_validator

from fabric.catalog.nccl_setting import DeviceAccess, NcclSetting
from fabric.catalog.shape import LinkType
from fabric.catalog.version import Version, VersionText
from fabric.model import FrozenModel

NcclLibrary = Literal["nccl", "rccl", "nccl-tests", "launcher", "driver"]
Since = VersionText | Literal["unmarked", "unknown"]
"""Release of NCCL (RCCL); `unmarked` in the manual, or in no manual at all."""

_INTEGER = re.compile(r"-?(0|[1-9]\d*|0x[0-9a-fA-F]+)")


class UnfitValues(FrozenModel):
    """Values that a stack file's own settings cannot have, or had better not.

    Those in `values`, or all but those in `unless`, or any; capital letters make no difference. With `links` only on
    fabrics with such a link layer, with `devices` only for pods that come by the NICs so.
    """

    values: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    links: tuple[LinkType, ...] = ()
    devices: tuple[DeviceAccess, ...] = ()
    why: str = Field(min_length=1)
    instead: str = Field(min_length=1)

    def holds(self, value: str, link: LinkType, devices: DeviceAccess) -> bool:
        """Whether the value is one of them on such a fabric."""
        if (self.links and link not in self.links) or (self.devices and devices not in self.devices):
            return False
        listed = {entry.casefold() for entry in self.values or self.unless}
        if not listed:
            return True
        return (value.casefold() in listed) == bool(self.values)

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.values and self.unless:
            raise ValueError("values and unless say different things; give one of them")
        return self


class NcclVariable(FrozenModel):
    """One variable; see the head of `nccl.yaml` for what the fields mean."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    does: str | None = None
    library: NcclLibrary = "nccl"
    form: Literal["integer", "text"] = "text"
    since: Since
    source: str = Field(min_length=1)
    settings: tuple[NcclSetting, ...] = ()
    derived: str | None = None
    not_set: str | None = None
    refused: tuple[UnfitValues, ...] = ()
    discouraged: tuple[UnfitValues, ...] = ()

    def takes(self, value: str) -> bool:
        """Whether the library reads the value as it is written."""
        return self.form == "text" or _INTEGER.fullmatch(value) is not None

    def newer_than(self, release: Version) -> bool:
        """Whether a release of the library came before the variable; what is not known is taken to be old enough."""
        return isinstance(self.since, Version) and not release.has_reached(self.since)

    @model_validator(mode="before")
    @classmethod
    def _settings_know_their_variable(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("settings"), list):
            return data
        return {**data, "settings": [{"variable": data.get("name"), **row} for row in data["settings"]]}

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        for row in self.settings:
            if row.variable != self.name:
                raise ValueError(f"a setting of {row.variable} under {self.name}")
            if not self.takes(row.value):
                raise ValueError(f"{self.name}={row.value} is no whole number")
            fabrics = product(self.refused, row.links or get_args(LinkType), row.devices or get_args(DeviceAccess))
            if any(unfit.holds(row.value, link, devices) for unfit, link, devices in fabrics):
                raise ValueError(f"{self.name}={row.value} is set here and refused in stack files")
        if self.does is not None and not self.settings and self.not_set is None:
            raise ValueError(f"{self.name} is never set, and notSet does not say why")
        return self


class FurtherVariables(FrozenModel):
    """Variables of one library that no document asks for, with the release that brought each."""

    library: NcclLibrary
    source: str = Field(min_length=1)
    variables: dict[str, Since]

    def each(self) -> Iterator[NcclVariable]:
        """One record a variable."""
        for name, since in self.variables.items():
            yield NcclVariable(name=name, library=self.library, since=since, source=self.source)


class NcclTable(FrozenModel):
    """The whole of `nccl.yaml`."""

    variables: tuple[NcclVariable, ...]
    further: tuple[FurtherVariables, ...]

    @property
    def entries(self) -> tuple[NcclVariable, ...]:
        """Every variable: those with a reason first, then the further ones."""
        return (*self.variables, *(entry for part in self.further for entry in part.each()))

    @cached_property
    def known(self) -> dict[str, NcclVariable]:
        """Every variable by name."""
        return {entry.name: entry for entry in self.entries}

    @cached_property
    def settings(self) -> tuple[NcclSetting, ...]:
        """Every row, in the order of the file."""
        return tuple(row for entry in self.variables for row in entry.settings)

    @model_validator(mode="before")
    @classmethod
    def _names_are_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("variables"), dict):
            return data
        return {**data, "variables": [{"name": name, **row} for name, row in data["variables"].items()]}

    @model_validator(mode="after")
    def _each_variable_once(self) -> Self:
        names = [entry.name for entry in self.entries]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(repeated)} is listed twice")
        return self
