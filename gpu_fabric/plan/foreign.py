"""Registries that a plan still names although the stack file has mirrors: found by looking at all it applies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpu_fabric.base.registries import is_mirrored, registry_of
from gpu_fabric.catalog import Catalog
from gpu_fabric.plan.operators.chart_images import run_images
from gpu_fabric.plan.plan import Plan

# A registry and a path anywhere in a text, but not within an address of the web.
_PLACED = re.compile(
    r"(?<![\w./:@-])((?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::\d+)?/[\w./-]+(?::[\w.-]+)?(?:@sha256:\w+)?)"
)
_TAGGED = re.compile(r"^(?:[\w-]+\.)+[\w-]+(?::\d+)?/[\w./-]+(?::[\w.-]+|@sha256:[0-9a-f]{64})$")
_REGISTRY_KEYS = re.compile(r"^(registry|repository|.*_registry|imageRegistryOverride)$")
_HOSTED = re.compile(r"^(?:[\w-]+\.)+[\w-]+(?::\d+)?(?:/|$)")


class Foreign(NamedTuple):
    """An image, or a repository of images, that is in no mirror, and what names it."""

    where: str
    reference: str

    @property
    def registry(self) -> str:
        """Its registry."""
        return registry_of(self.reference)


def foreign_images(plan: Plan, known: Catalog, registries: Mapping[str, str]) -> tuple[Foreign, ...]:
    """Every image of a plan's objects and chart values that is in none of the mirrors.

    Texts count, too: what names one of the catalog's registries within a script or a file is found. So do the images
    that a chart takes by its own defaults.
    """
    hosts = known_registries(known)
    named = ((where, reference) for where, value in _parts(plan) for reference in _references(value, hosts))
    found = (*named, *_of_charts(plan, known))
    return tuple(dict.fromkeys(Foreign(*entry) for entry in found if not is_mirrored(registries, entry[1])))


def known_registries(known: Catalog) -> frozenset[str]:
    """The registries of every image in the catalog."""
    charts = (
        row.image[0] for versions in known.chart_versions.values() for one in versions.values() for row in one.images
    )
    alone = (
        part.image.reference for line in known.releases.values() for part in line.standalone.values() if part.image
    )
    operands = (
        line.images.image(component).repository for line in known.releases.values() for component in line.images.names
    )
    return frozenset(map(registry_of, (*charts, *alone, *operands)))


def _parts(plan: Plan) -> Iterator[tuple[str, Any]]:
    for entry in plan.objects:
        yield f"{entry.object.kind} {entry.name}", entry.object.manifest()
    for release in plan.releases:
        yield f"the chart {release.name}", release.values
    run = plan.verification
    for manifest in run.manifests if run is not None else ():
        yield f"{manifest['kind']} of the verification", manifest


def _of_charts(plan: Plan, known: Catalog) -> Iterator[tuple[str, str]]:
    for release in plan.releases:
        table = known.chart_versions[release.name][release.chart.version]
        for image in run_images(table, release.values):
            yield f"the chart {release.name}", image.reference


def _references(value: Any, hosts: frozenset[str]) -> Iterator[str]:
    if isinstance(value, dict):
        place = value.get("repository")
        for key, inner in value.items():
            if not isinstance(inner, str):
                yield from _references(inner, hosts)
            elif (key == "image" and place is None and inner) or (_REGISTRY_KEYS.match(key) and _HOSTED.match(inner)):
                yield inner
            else:
                yield from _within(inner, hosts)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _references(inner, hosts)
    elif isinstance(value, str):
        yield from _within(value, hosts)


def _within(text: str, hosts: frozenset[str]) -> Iterator[str]:
    if _TAGGED.match(text) or text in hosts:
        yield text
        return
    yield from (found for found in _PLACED.findall(text) if registry_of(found) in hosts)
