"""The images in manifests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def find_images(value: Any) -> Iterator[tuple[str, str, str]]:
    """Images anywhere in a manifest: reference, name and version, which is empty where none is named.

    A policy of an operator splits a reference into three fields.
    """
    if isinstance(value, list):
        for inner in value:
            yield from find_images(inner)
    if not isinstance(value, dict):
        return
    image, repository, version = (value.get(field) for field in ("image", "repository", "version"))
    if isinstance(image, str) and repository and version:
        yield f"{repository}/{image}:{version}", f"{repository}/{image}", version
    elif isinstance(image, str):
        # A tag says more than the digest behind it.
        name, _, version = image.partition("@")
        if ":" in name.rpartition("/")[2]:
            name, _, version = name.rpartition(":")
        yield image, name, version
    for inner in value.values():
        yield from find_images(inner)
