"""Images that charts run, and the chart values that name them: `chart_images.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from fabric.model import FrozenModel

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """What chart values hold at a dotted path; None where there is nothing."""
    found: Any = values
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


class Part(FrozenModel):
    """Something that a chart runs where the values of `when` are all true, and one of `any_of` is, if there are any.

    Both hold dotted paths with the chart's own defaults.
    """

    when: dict[str, bool] = {}
    any_of: dict[str, bool] = {}

    def runs(self, values: Mapping[str, JsonValue]) -> bool:
        """Whether it runs with these values."""
        return all(map(bool, _settings(values, self.when))) and (not self.any_of or any(_settings(values, self.any_of)))


class ChartImage(Part):
    """An image: the parts of its reference, and the value of the chart that holds each.

    The first part begins with the registry. Of several the last is the tag, which is empty where it is not known. With
    `at` the chart's own `keys` lie below that path. `digest` is that of exactly this image; `digest_key` a value that
    replaces the tag. `note` says what the reference leaves open.
    """

    image: tuple[str, ...] = Field(min_length=1, max_length=3)
    at: str | None = None
    keys: tuple[str, ...] = ()
    digest: Digest | None = None
    digest_key: str | None = None
    note: str | None = None


class UnknownImage(Part):
    """What a chart runs from an image that is not known here, in words."""

    what: str


class ChartImages(FrozenModel):
    """The images of one version of a chart. `digest` is the chart's own. `override` is a value that, where it is set,
    stands for the first part of every image."""

    source: str
    digest: Digest | None = None
    keys: tuple[str, ...] = ()
    override: str | None = None
    images: tuple[ChartImage, ...]
    unknown: tuple[UnknownImage, ...] = ()

    @model_validator(mode="after")
    def _every_part_has_its_key(self) -> Self:
        for row in self.images:
            if len(self.keys_of(row)) != len(row.image):
                raise ValueError(f"{'/'.join(row.image)}: {len(row.image)} parts and {len(self.keys_of(row))} keys")
        return self

    def keys_of(self, row: ChartImage) -> tuple[str, ...]:
        """The dotted paths of the values that hold the image's parts."""
        return row.keys if row.at is None else tuple(f"{row.at}.{key}" for key in self.keys)


ChartImageTable = dict[str, dict[str, ChartImages]]
"""Chart, version of the chart, and its images."""


def _settings(values: Mapping[str, JsonValue], defaults: Mapping[str, bool]) -> list[bool]:
    found = ((value_at(values, path), default) for path, default in defaults.items())
    return [default if value is None else value is True for value, default in found]
