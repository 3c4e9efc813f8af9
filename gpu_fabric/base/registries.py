"""Image references and their registry mirrors (`software.registries`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

EVERY = "*"
"""Key of the mirror for every registry without an entry of its own."""

_HOST = re.compile(r"^(localhost|[a-zA-Z0-9.-]+(\.[a-zA-Z0-9-]+|:[0-9]{1,5}))$")
# The registry of references without one.
_DOCKER = "docker.io"


def registry_of(reference: str) -> str:
    """The registry of an image or repository; Docker Hub if none is named."""
    return _split(reference)[0]


def pulled(registries: Mapping[str, str], reference: str) -> str:
    """An image or repository as nodes pull it: from the mirror of its registry, if there is one.

    A reference that is already in a mirror does not change.
    """
    if not registries or is_mirrored(registries, reference):
        return reference
    registry, rest = _split(reference)
    mirror = registries.get(registry, registries.get(EVERY))
    if mirror is None:
        return reference
    return f"{mirror}/{rest}" if rest else mirror


def pulled_chart(registries: Mapping[str, str], repository: str) -> str:
    """A chart repository: from the mirror of its registry, if it is an OCI registry that has a mirror."""
    scheme, _, place = repository.partition("://")
    return f"{scheme}://{pulled(registries, place)}" if scheme == "oci" else repository


def is_mirrored(registries: Mapping[str, str], reference: str) -> bool:
    """Whether an image or repository is in one of the mirrors."""
    return any(reference == place or reference.startswith(f"{place}/") for place in registries.values())


def _split(reference: str) -> tuple[str, str]:
    first, slash, rest = reference.partition("/")
    # A name without a path is an image with its tag if it has a colon, and a registry if it has a dot.
    if _HOST.match(first) and (slash or ":" not in first):
        return first, rest
    return _DOCKER, reference if slash else f"library/{reference}"
