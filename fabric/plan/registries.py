"""Image references, and the registries that they are pulled from instead: `software.registries`."""

from __future__ import annotations

import re
from collections.abc import Mapping

EVERY = "*"
"""Key of the mirror of every registry that has no line of its own."""

_HOST = re.compile(r"^(localhost|[a-zA-Z0-9.-]+(\.[a-zA-Z0-9-]+|:[0-9]{1,5}))$")
# Of references that name no registry.
_DOCKER = "docker.io"


def registry_of(reference: str) -> str:
    """The registry of an image, or of a place of images; Docker's own where none is named."""
    return _split(reference)[0]


def pulled(registries: Mapping[str, str], reference: str) -> str:
    """An image, or a place of images, as nodes pull it: from a mirror where there is one for its registry.

    What lies in one of the mirrors already stays as it is.
    """
    if not registries or is_mirrored(registries, reference):
        return reference
    registry, rest = _split(reference)
    mirror = registries.get(registry, registries.get(EVERY))
    if mirror is None:
        return reference
    return f"{mirror}/{rest}" if rest else mirror


def pulled_chart(registries: Mapping[str, str], repository: str) -> str:
    """A repository of charts: from a mirror where it is a registry of images itself, and there is one for it."""
    scheme, _, place = repository.partition("://")
    return f"{scheme}://{pulled(registries, place)}" if scheme == "oci" else repository


def is_mirrored(registries: Mapping[str, str], reference: str) -> bool:
    """Whether an image, or a place of images, lies in one of the mirrors."""
    return any(reference == place or reference.startswith(f"{place}/") for place in registries.values())


def _split(reference: str) -> tuple[str, str]:
    first, slash, rest = reference.partition("/")
    # A name with a colon and no path is an image with its tag; one with a dot and no colon a registry.
    if _HOST.match(first) and (slash or ":" not in first):
        return first, rest
    return _DOCKER, reference if slash else f"library/{reference}"
