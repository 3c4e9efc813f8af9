"""DRA drivers (`dra_drivers.yaml`): their attributes, opaque configuration, classes and exclusions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpu_fabric.catalog.version import RangeText, Version
from gpu_fabric.model import FrozenModel

UNRELEASED = "unreleased"
"""The version of what is on a driver's main branch and in no tag."""

_TAG = re.compile(r"^v?[0-9]+(\.[0-9]+)*$")


def _since(text: object) -> object:
    if text is None or text == UNRELEASED or (isinstance(text, str) and _TAG.match(text)):
        return text
    raise ValueError(f"{text!r} is neither a tag nor {UNRELEASED}")


class Dated(FrozenModel):
    """A fact that began with a version: `since` is a tag, `unreleased`, or None for every version that was read."""

    since: Annotated[str | None, BeforeValidator(_since)] = None

    def is_in(self, version: str) -> bool:
        """Whether a version of the driver, as its tag has it, has the fact."""
        if self.since is None:
            return True
        return self.since != UNRELEASED and Version.parse(version).has_reached(Version.parse(self.since))


class DraAttribute(Dated):
    """An attribute of a published device: the type of its value, and on which devices it is."""

    type: Literal["string", "int", "bool", "version"]
    when: str | None = None
    source: str = Field(min_length=1)


class DraParameter(Dated):
    """A key of the opaque configuration: type, limits as far as they are numbers or patterns, and the rest in words."""

    type: Literal["string", "int", "bool", "map"]
    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    form: Literal["cidr", "ip", "mac", "quantity"] | None = None
    check: str | None = None


class ParameterKind(FrozenModel):
    """Version and kind that the opaque configuration must state."""

    api_version: str
    kind: str


class DraParameters(FrozenModel):
    """The opaque configuration of a driver's claims.

    `kind` is None where the configuration has no version and kind. With `strict` an unknown key fails the preparation
    of the claim, and its pod stays in ContainerCreating. With `only_first` the first entry of a claim's `config` that
    applies to a request is used alone. Keys are dotted paths; `[]` is an entry of a list. `not_without_interface` are
    the first parts of the keys that a device without network interface refuses.
    """

    kind: ParameterKind | None
    strict: bool
    only_first: bool
    source: str
    keys: dict[str, DraParameter]
    not_without_interface: tuple[str, ...] = ()

    def known_in(self, version: str) -> tuple[str, ...]:
        """The keys that a version knows."""
        return tuple(key for key, parameter in self.keys.items() if parameter.is_in(version))


class DraClass(FrozenModel):
    """A DeviceClass that comes with the driver; `expression` is its CEL selector, None where it was not read."""

    by: Literal["chart"]
    expression: str | None = None
    extended_resource_name: str | None = None


class DraExclusion(FrozenModel):
    """What a driver cannot be combined with, and in which bounds."""

    with_: str = Field(alias="with")
    scope: Literal["cluster", "node", "pod", "claim"]
    why: str
    source: str


class DraGate(FrozenModel):
    """A feature gate: its default, and the gates with which, or without which, the driver does not start."""

    default: bool = False
    excludes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


class DraFloor(FrozenModel):
    """The lowest version that a plan may use, with the reason."""

    version: str
    why: str
    source: str


class DraNeed(FrozenModel):
    """What a driver needs of the node or the cluster."""

    what: str
    source: str


class DraChart(FrozenModel):
    """The driver's chart."""

    name: str
    repository: str
    version: str
    namespace: str | None = None


class DraManaged(FrozenModel):
    """A cloud that runs the driver by itself: the node label or the DeviceClass by which that is seen."""

    cloud: str
    node_label: str | None = None
    device_class: str | None = None
    remedy: str
    source: str


class DraDriver(FrozenModel):
    """A DRA driver; `name` is that in ResourceSlices and claims.

    `read` are the versions that the facts were read in, `pin` the version that a plan installs, `floor` the lowest.
    `images` are the ends of its images' names, without registry and tag; `container` is the one that publishes the
    devices, where pods of these images may lack it. `kept_off` is how some devices are kept from it. `device_name` is
    the form of its devices' names. With `bare_names` its own attributes have no domain in slices, which selectors still
    write. `unknown` are facts that were looked for and not found. `gates` are all that the pinned version knows.
    """

    name: str
    title: str
    hands_out: Literal["nic", "virtual-function", "gpu", "channel"]
    repository: str
    read: tuple[str, ...] = Field(min_length=1)
    pin: str | None = None
    floor: DraFloor | None = None
    chart: DraChart | None = None
    images: tuple[str, ...]
    container: str | None = None
    kept_off: str | None = None
    managed_by: tuple[DraManaged, ...] = ()
    kubernetes: RangeText
    kubernetes_source: str
    needs: tuple[DraNeed, ...] = ()
    pool: Literal["node"]
    device_name: str
    device_name_source: str
    classes: dict[str, DraClass]
    classes_source: str
    attributes: dict[str, DraAttribute]
    bare_names: bool = False
    capacity: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    parameters: DraParameters | None = None
    gates: dict[str, DraGate] = {}
    gates_source: str = ""
    exclusions: tuple[DraExclusion, ...]

    def slice_name(self, attribute: str) -> str:
        """The name of an attribute as the driver's slices have it."""
        return attribute.removeprefix(f"{self.name}/") if self.bare_names else attribute


def unknown_keys(parameters: DraParameters, version: str, document: object) -> Iterator[str]:
    """The dotted paths in an opaque configuration that a version of the driver does not know."""
    known = parameters.known_in(version)
    ends = {key for key in known if parameters.keys[key].type == "map"}
    for path in _paths(document):
        if path not in known and not any(path.startswith(f"{end}.") for end in ends):
            yield path


def values_at(document: object, key: str) -> Iterator[object]:
    """The values at a dotted path of an opaque configuration; several where a list is on the way."""
    first, _, rest = key.partition(".")
    name = first.removesuffix("[]")
    if not isinstance(document, dict) or name not in document:
        return
    found = document[name]
    for value in found if first.endswith("[]") and isinstance(found, list) else [found]:
        if rest:
            yield from values_at(value, rest)
        else:
            yield value


def _paths(document: object, above: str = "") -> Iterator[str]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _paths(value, f"{above}.{key}" if above else key)
    elif isinstance(document, list):
        for value in document:
            yield from _paths(value, f"{above}[]")
    else:
        yield above
