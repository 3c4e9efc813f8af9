"""NCCL: settings with their reasons, and facts about each variable (`nccl.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field, model_validator

from gpu_fabric.catalog.shape import Audience, LinkType, Shape
from gpu_fabric.catalog.version import Version, VersionText
from gpu_fabric.model import FrozenModel

DeviceAccess = Literal["virtual", "physical", "shared", "host"]
Scope = Literal["training", "verification", "both"]
IpVersion = Literal[4, 6]

UNSET = "unset"
"""The value of a row that leaves its variable alone."""

_PLACE = re.compile(r"\{(\w+)\}")


class NcclSetting(Audience):
    """One environment variable for one group of shapes and fabrics.

    `scope` selects jobs, a measurement in addition to the settings of jobs, or both. `devices` selects how the pod
    accesses the NICs; empty means any way. `virtual`: it has virtual functions. `physical`: it has whole NICs, moved
    into its network namespace. `shared`: it has interfaces on top of the node's NICs, which are not moved. `host`: it
    runs in the node's network namespace. `links` and `ip_versions` are those of the fabric; a fabric without planned
    addresses has no version. `channel` is whether pods have an IMEX channel, by which NVLink between nodes is used.
    Names in braces, such as `{hcaList}`, stand for lists of the shape's RDMA devices (`Hardware.device_lists`), and in
    rows of other libraries for facts of the stack.
    """

    variable: str
    value: str = Field(min_length=1)
    scope: Scope
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)
    devices: tuple[DeviceAccess, ...] = ()
    links: tuple[LinkType, ...] = ()
    ip_versions: tuple[IpVersion, ...] = ()
    channel: bool | None = None

    def applies_to(
        self,
        shape: Shape,
        devices: DeviceAccess,
        link: LinkType | None = None,
        ip_version: IpVersion | None = None,
        *,
        channel: bool = False,
    ) -> bool:
        """Whether the row is for pods on this shape; the link layer is by default the shape's own."""
        link = link or (shape.nic_model.link_type if shape.nic_model else None)
        return (
            self.includes(shape)
            and (not self.devices or devices in self.devices)
            and (not self.links or link in self.links)
            and (not self.ip_versions or ip_version in self.ip_versions)
            and self.channel in (None, channel)
        )

    def value_on(self, shape: Shape, facts: Mapping[str, str] = MappingProxyType({})) -> str | None:
        """The value with the names in braces inserted; None if one of them is not known, or the row says `unset`."""
        if self.value == UNSET:
            return None
        places = _PLACE.findall(self.value)
        # Most values have none, and the lists take longer than all else here.
        known = {**(shape.device_lists if places else {}), **facts}
        if any(known.get(name) is None for name in places):
            return None
        return _PLACE.sub(lambda found: str(known[found[1]]), self.value)

    def serves(self, scope: Scope) -> bool:
        """Whether the row is for jobs (`training`) or for a measurement (`verification`); for either with `both`."""
        return "both" in (scope, self.scope) or scope == self.scope


def nccl_environment(
    rows: Iterable[NcclSetting],
    shape: Shape,
    devices: DeviceAccess,
    *,
    link: LinkType | None = None,
    ip_version: IpVersion | None = None,
    scope: Scope = "training",
) -> dict[str, str]:
    """The variables of one scope for pods on a shape, in the order of the table."""
    meant = (row for row in rows if row.serves(scope) and row.applies_to(shape, devices, link, ip_version))
    found = ((row.variable, row.value_on(shape)) for row in meant)
    return {variable: value for variable, value in found if value is not None}


_INTEGER = re.compile(r"-?(0x[0-9a-fA-F]+|[0-9]+)")


class ValueLimits(FrozenModel):
    """Bounds of a number, or the allowed words of a value.

    `list` allows several words with commas, or after a `^` all except them. `perOperation` also allows such lists for
    single operations, with semicolons: `ring;allreduce:tree`. Case matters only with `exact`. `numbers` also allows a
    number in place of a word.
    """

    least: int | None = None
    most: int | None = None
    words: tuple[str, ...] = ()
    list: bool = False
    per_operation: bool = False
    exact: bool = False
    numbers: bool = False
    source: str = Field(min_length=1)

    @property
    def said(self) -> str:
        """The allowed values, in words."""
        if self.words:
            return f"{'a list of ' if self.list else ''}{', '.join(self.words)}"
        if self.most is None:
            return f"{self.least} or more"
        return f"{self.least} to {self.most}"

    def hold(self, value: str) -> bool:
        """Whether a value is within the limits; a value that is not a number is reported elsewhere."""
        if self.words:
            return self._is_of_words(value)
        if _INTEGER.fullmatch(value) is None:
            return True
        number = int(value, 0) if "x" in value else int(value)
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    def _is_of_words(self, value: str) -> bool:
        if self.numbers and value.isdecimal():
            return True
        known = set(self.words) if self.exact else {word.casefold() for word in self.words}
        lists = [part.rpartition(":")[2] for part in value.split(";")] if self.per_operation else [value]
        words = [word for part in lists for word in (part.removeprefix("^").split(",") if self.list else [part])]
        return all((word if self.exact else word.casefold()) in known for word in words)


class NcclDefect(FrozenModel):
    """A defect of NCCL releases on some GPUs, in an algorithm that NCCL selects by itself.

    `avoided_by` is a setting that avoids the defect.
    """

    models: tuple[str, ...] = Field(min_length=1)
    since: VersionText
    repaired: VersionText
    what: str = Field(min_length=1)
    algorithm: str = Field(min_length=1)
    avoided_by: str = Field(min_length=1)
    source: str = Field(min_length=1)

    def shows(self, release: Version, model: str | None, algorithms: str | None) -> bool:
        """Whether jobs are affected, by NCCL release, GPU model and the value of NCCL_ALGO."""
        if model not in self.models or not release.has_reached(self.since) or release.has_reached(self.repaired):
            return False
        if algorithms is None:
            return True
        lists = [part.rpartition(":")[2].casefold() for part in algorithms.split(";")]
        return any((self.algorithm.casefold() in part.lstrip("^").split(",")) != part.startswith("^") for part in lists)


ResilienceChoice = Literal["default", "fail-fast", "ride-out-flaps", "port-failover"]


class Resilience(FrozenModel):
    """What a choice of `fabric.resilience` does when a link fails, what it costs, and its settings.

    The settings take the place of the catalog's others for the same variables. `since` is the release of NCCL that the
    choice needs, `second_port` whether each GPU needs two ports on one adapter. `open` is what upstream has not
    repaired.
    """

    does: str = Field(min_length=1)
    cost: str = Field(min_length=1)
    open: str | None = None
    since: VersionText | None = None
    second_port: bool = False
    settings: tuple[NcclSetting, ...] = ()


class ForeignVariables(FrozenModel):
    """Variables that affect more than the library, and therefore are not allowed among its settings."""

    names: tuple[str, ...] = Field(min_length=1)
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)


NcclLibrary = Literal[
    "nccl", "rccl", "nccl-tests", "launcher", "driver", "ucx", "nixl", "nvshmem", "deepep", "mooncake", "gloo"
]
Since = VersionText | Literal["unmarked", "unknown"]
"""Release of NCCL (RCCL); `unmarked` if the manual does not name it, or there is no manual."""

_PLAIN_INTEGER = re.compile(r"-?(0|[1-9][0-9]*|0x[0-9a-fA-F]+)")


class UnfitValues(FrozenModel):
    """Values that are wrong or not recommended in the settings of a stack file.

    These are the values in `values`, all except those in `unless`, or any value, regardless of case. With `links` the
    row is only for fabrics with such a link layer, with `devices` only for pods that access the NICs in this way.
    """

    values: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    links: tuple[LinkType, ...] = ()
    devices: tuple[DeviceAccess, ...] = ()
    why: str = Field(min_length=1)
    instead: str = Field(min_length=1)

    def holds(self, value: str, link: LinkType, devices: DeviceAccess) -> bool:
        """Whether the value is one of them on this fabric."""
        if (self.links and link not in self.links) or (self.devices and devices not in self.devices):
            return False
        listed = {entry.casefold() for entry in self.values or self.unless}
        if not listed:
            return True
        return (value.casefold() in listed) == bool(self.values)


class NcclVariable(FrozenModel):
    """One variable; the comment at the top of `nccl.yaml` explains the fields."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    does: str | None = None
    library: NcclLibrary = "nccl"
    form: Literal["integer", "text"] = "text"
    since: Since
    last: VersionText | None = None
    source: str = Field(min_length=1)
    settings: tuple[NcclSetting, ...] = ()
    derived: str | None = None
    not_set: str | None = None
    refused: tuple[UnfitValues, ...] = ()
    discouraged: tuple[UnfitValues, ...] = ()
    limits: ValueLimits | None = None

    def takes(self, value: str) -> bool:
        """Whether the library accepts the value as written."""
        return self.form == "text" or _PLAIN_INTEGER.fullmatch(value) is not None

    def newer_than(self, release: Version) -> bool:
        """Whether the variable was added after a release of the library; False if its first release is not known."""
        return isinstance(self.since, Version) and not release.has_reached(self.since)

    def older_than(self, release: Version) -> bool:
        """Whether a release of the library no longer has the variable."""
        return self.last is not None and not self.last.has_reached(release)

    @model_validator(mode="before")
    @classmethod
    def _settings_know_their_variable(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("settings"), list):
            return data
        return {**data, "settings": [{"variable": data.get("name"), **row} for row in data["settings"]]}


class FurtherVariables(FrozenModel):
    """Variables of one library that no document recommends, by the release that added them.

    `last` is the last release with a variable that was removed.
    """

    library: NcclLibrary
    source: str = Field(min_length=1)
    since: dict[Since, tuple[str, ...]]
    last: dict[str, VersionText] = {}

    def each(self) -> Iterator[NcclVariable]:
        """One record per variable."""
        for since, names in self.since.items():
            for name in names:
                yield NcclVariable(
                    name=name, library=self.library, since=since, last=self.last.get(name), source=self.source
                )


class NcclTable(FrozenModel):
    """The content of `nccl.yaml`."""

    variables: tuple[NcclVariable, ...]
    further: tuple[FurtherVariables, ...]
    limits: dict[str, ValueLimits] = {}
    defects: tuple[NcclDefect, ...] = ()
    resilience: dict[ResilienceChoice, Resilience] = {}
    foreign: tuple[ForeignVariables, ...] = ()

    @cached_property
    def entries(self) -> tuple[NcclVariable, ...]:
        """Every variable: those with a reason first, then the further ones."""
        every = (*self.variables, *(entry for part in self.further for entry in part.each()))
        return tuple(
            NcclVariable.model_validate({**dict(entry), "limits": self.limits[entry.name]})
            if entry.name in self.limits
            else entry
            for entry in every
        )

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
