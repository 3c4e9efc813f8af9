"""Versions that differ: the release line, Kubernetes, charts, and images that the stack names itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabric.diff.model import VersionDiff
from fabric.render import RenderedPlan
from fabric.resources.charts import RELEASE
from fabric.resources.dynamic import KEPT_OBJECTS

# Where the version of Kubernetes stands.
_KUBERNETES = {
    "digitalocean:index/kubernetesCluster:KubernetesCluster": "version",
    "oci:ContainerEngine/cluster:Cluster": "kubernetesVersion",
    "oci:ContainerEngine/nodePool:NodePool": "kubernetesVersion",
}
_Versions = dict[tuple[str, str], str]


def version_diffs(base: RenderedPlan, head: RenderedPlan) -> tuple[VersionDiff, ...]:
    """Every version that differs; a chart or an image that is new or gone has none on the other side."""
    before, after = _versions(base), _versions(head)
    return tuple(
        VersionDiff.model_validate({"kind": kind, "name": name, "old": old, "new": new})
        for kind, name in dict.fromkeys([*before, *after])
        if (old := before.get((kind, name))) != (new := after.get((kind, name)))
    )


def _versions(plan: RenderedPlan) -> _Versions:
    found: _Versions = {("release line", ""): plan.release_line}
    images: dict[str, set[str]] = {}
    for resource in plan.resources:
        properties = resource.properties
        if (place := _KUBERNETES.get(resource.type)) is not None:
            found["Kubernetes", resource.identity] = str(properties.get(place))
        elif resource.type == RELEASE:
            found["chart", str(properties["name"])] = f"{properties['version']} of {properties['chart']}"
        elif resource.type != KEPT_OBJECTS:
            for image, version in _images(properties):
                images.setdefault(image, set()).add(version)
    for image in sorted(images):
        found["image", image] = ", ".join(sorted(images[image]))
    return found


def _images(value: Any) -> Iterator[tuple[str, str]]:
    """Images within an object, each with its tag or digest."""
    if isinstance(value, list):
        for entry in value:
            yield from _images(entry)
    if not isinstance(value, dict):
        return
    image, place, version = (value.get(key) for key in ("image", "repository", "version"))
    if isinstance(image, str) and isinstance(place, str) and isinstance(version, str):
        yield f"{place}/{image}", version
    elif isinstance(image, str):
        name, mark, version = image.partition("@")
        if not mark and ":" in image.rpartition("/")[2]:
            name, _, version = image.rpartition(":")
        yield name, version or "no tag"
    for entry in value.values():
        yield from _images(entry)
