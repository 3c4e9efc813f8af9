"""Versions and version ranges of charts, images and Kubernetes."""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, PlainSerializer

from gpu_fabric.model import FrozenModel

_VERSION = re.compile(r"^v?(?P<release>[0-9]+(?:\.[0-9]+)*)(?:[-+](?P<suffix>[0-9A-Za-z.+-]+))?$")
# Only these suffixes precede the release; a vendor's suffix (`-do.3`, `-eks-1a2b`, `-thick`) does not.
_CANDIDATE = re.compile(r"^(?:alpha|beta|rc)(?:[.-]?(?P<number>[0-9]+))?")
_STAGES = ("alpha", "beta", "rc")


@total_ordering
class Version(FrozenModel):
    """A version; `release` has its numbers without trailing zeros, so that 24.10 equals 24.10.0.

    `candidate` orders versions before the release: (stage, number), with alpha 0, beta 1 and rc 2.
    """

    release: tuple[int, ...]
    candidate: tuple[int, int] | None = None

    # A plan compares the same few versions thousands of times.
    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> Self:
        """`v26.3.3`, `23.10.0-rc.5`, `1.35.1-do.6`, `1.31`.

        Raises:
            ValueError: the text does not begin with dotted numbers.
        """
        found = _VERSION.match(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not a valid version; write dotted numbers, such as v26.3.3 or 1.35")
        numbers = [int(number) for number in found["release"].split(".")]
        while len(numbers) > 1 and numbers[-1] == 0:
            numbers.pop()
        suffix = found["suffix"] or ""
        candidate = _CANDIDATE.match(suffix)
        if candidate is None:
            return cls(release=tuple(numbers))
        stage = next(place for place, word in enumerate(_STAGES) if suffix.startswith(word))
        return cls(release=tuple(numbers), candidate=(stage, int(candidate["number"] or 0)))

    def __lt__(self, other: Version) -> bool:
        return self._rank() < other._rank()

    def __str__(self) -> str:
        return ".".join(map(str, self.release if len(self.release) > 1 else (*self.release, 0)))

    def has_reached(self, other: Version) -> bool:
        """Whether it is at least the other's release; a candidate of that release counts too."""
        return self.release >= other.release

    def _rank(self) -> tuple[tuple[int, ...], tuple[int, int]]:
        return self.release, self.candidate or (len(_STAGES), 0)


class VersionRange(FrozenModel):
    """From `lowest` up to, but excluding, `below` and its candidates; None means no bound."""

    lowest: Version | None = None
    below: Version | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """`>=1.31,<1.36`, `>=25.3`, `<2`.

        Raises:
            ValueError: another comparison, a repeated one, or an empty range.
        """
        bounds: dict[str, Version] = {}
        for part in text.split(","):
            found = re.fullmatch(r"\s*(>=|<)\s*([^<>=\s]+)\s*", part)
            if found is None or found[1] in bounds:
                raise ValueError(f"{text!r} is not a valid range; write >=LOWEST, <LIMIT, or both with a comma")
            bounds[found[1]] = Version.parse(found[2])
        lowest, below = bounds.get(">="), bounds.get("<")
        if lowest is not None and below is not None and lowest >= below:
            raise ValueError(f"{text!r} holds no version")
        return cls(lowest=lowest, below=below)

    def __contains__(self, version: object) -> bool:
        found = Version.parse(version) if isinstance(version, str) else version
        if not isinstance(found, Version):
            return False
        if self.below is not None and found.has_reached(self.below):
            return False
        return self.lowest is None or found >= self.lowest

    def __and__(self, other: VersionRange) -> VersionRange:
        """The intersection of both ranges."""
        lowest = [bound for bound in (self.lowest, other.lowest) if bound is not None]
        below = [bound for bound in (self.below, other.below) if bound is not None]
        return VersionRange(lowest=max(lowest, default=None), below=min(below, default=None))

    def __str__(self) -> str:
        bounds = ((">=", self.lowest), ("<", self.below))
        return ",".join(f"{sign}{bound}" for sign, bound in bounds if bound is not None) or "any"


def lies_below(version: str, limit: str) -> bool:
    """Whether every version that the text can mean is below the limit; a vendor's build number counts.

    `1.33.1-do.4` and `1.32` are below `1.33.1-do.5`, while `1.33` and `1.33.1` may mean newer versions.
    """
    given, lowest = ([int(number) for number in re.findall(r"[0-9]+", text)] for text in (version, limit))
    return given < lowest[: len(given)]


def _version(value: Any) -> Any:
    return Version.parse(value) if isinstance(value, str) else value


def _range(value: Any) -> Any:
    return VersionRange.parse(value) if isinstance(value, str) else value


VersionText = Annotated[Version, BeforeValidator(_version), PlainSerializer(str, return_type=str, when_used="json")]
RangeText = Annotated[VersionRange, BeforeValidator(_range), PlainSerializer(str, return_type=str, when_used="json")]
