"""Every image and every chart of a plan, and what cannot be known: the list that an air gap is filled from.

Where the stack file has mirrors, also the registries that the plan names nevertheless, found in all that it applies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpu_fabric.base.registries import is_mirrored, pulled, pulled_chart, registry_of
from gpu_fabric.catalog import Catalog
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.operators.releases import run_images
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.records import PlannedVerification

_OFED = "ofedDriver"
_BY_NODE = "the operator completes the tag with each node's operating system"
_CLOUDS = {
    "doks": "what DigitalOcean runs on the nodes of its clusters, its managed plug-ins among them",
    "oke": "what Oracle runs on the nodes of its clusters, its add-ons among them",
}


class UsedImage(FrozenModel):
    """An image. `reference` is where it is published, `pulled_as` where nodes find it; `digest` is None if unknown.

    The digest of an image with a tag is in `digest` alone, also where pods ask for it.
    """

    reference: str
    pulled_as: str
    digest: str | None
    used_by: tuple[str, ...]
    notes: tuple[str, ...]


class UsedChart(FrozenModel):
    """A chart at its exact version. `source` is where it is published, `pulled_from` where it is taken from.

    `pulled_from` is a folder of this repository for a stand-in.
    """

    name: str
    version: str
    source: str
    pulled_from: str
    stand_in: bool
    digest: str | None


class UnknownImages(FrozenModel):
    """Who runs images that are not known, and what."""

    used_by: str
    what: str


class ImageList(FrozenModel):
    """All images and charts of a stack, each once, and what else runs."""

    stack: str
    release_line: str
    images: tuple[UsedImage, ...]
    charts: tuple[UsedChart, ...]
    unknown: tuple[UnknownImages, ...]


def image_list(plan: Plan, known: Catalog, registries: Mapping[str, str]) -> ImageList:
    """What a plan uses that was made without `registries`, and where nodes find it with them."""
    users: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    digests: dict[str, str] = {}
    applied = _applied(plan, with_values=False)
    of_objects = (found for user, manifest in applied for found in _manifest_images(manifest, user))
    for named, user, note in (*of_objects, *_chart_images(plan, known)):
        tagged, _, digest = named.partition("@")
        reference = tagged if ":" in tagged.rpartition("/")[2] else named
        users.setdefault(reference, []).append(user)
        notes.setdefault(reference, []).extend([note] if note else [])
        if found := digest or known.image_digests.get(reference):
            digests[reference] = found
    return ImageList(
        stack=plan.stack,
        release_line=plan.release_line,
        images=tuple(
            UsedImage(
                reference=reference,
                pulled_as=pulled(registries, reference),
                digest=digests.get(reference),
                used_by=tuple(dict.fromkeys(users[reference])),
                notes=tuple(dict.fromkeys(notes[reference])),
            )
            for reference in sorted(users)
        ),
        charts=tuple(_charts(plan, known, registries)),
        unknown=tuple(unknown_images(plan, known)),
    )


_Found = tuple[str, str, str | None]


def _applied(plan: Plan, *, with_values: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every manifest, and the values of charts if they are asked for, with their names in messages."""
    for entry in plan.objects:
        yield f"{entry.object.kind} {entry.name}", entry.object.manifest()
    for release in plan.releases if with_values else ():
        yield f"the chart {release.name}", release.values
    for run in plan.records(PlannedVerification):
        for manifest in run.manifests:
            yield f"{manifest['kind']} of the verification", manifest


def _manifest_images(value: Any, user: str, key: str = "") -> Iterator[_Found]:
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _manifest_images(inner, user)
    if isinstance(value, str) and key.endswith(".json"):
        # A file in a ConfigMap, such as the pods that the pods which prove nodes create.
        yield from _manifest_images(json.loads(value), user)
    if not isinstance(value, dict):
        return
    image, place, tag = (value.get(name) for name in ("image", "repository", "version"))
    if isinstance(image, str) and isinstance(place, str) and isinstance(tag, str):
        join = "@" if tag.startswith("sha256:") else ":"
        yield f"{place}/{image}{join}{tag}", user, _BY_NODE if key == _OFED else None
    elif isinstance(image, str):
        yield image, user, None
    for name, inner in value.items():
        if isinstance(inner, str) and name.endswith("Image"):
            # Operands of AMD's operators, such as devicePluginImage.
            yield inner, user, None
        yield from _manifest_images(inner, user, name)


def _chart_images(plan: Plan, known: Catalog) -> Iterator[_Found]:
    for release in plan.releases:
        table = known.chart_versions[release.name][release.chart.version]
        for reference, row in run_images(table, release.values):
            yield reference, f"chart {release.name}", row.note


def _charts(plan: Plan, known: Catalog, registries: Mapping[str, str]) -> Iterator[UsedChart]:
    published = {str(name): chart for name, chart in known.releases[plan.release_line].charts.items()}
    for release in plan.releases:
        chart, source = release.chart, published[release.name].repository
        taken = pulled_chart(registries, source) if chart.repository == source else chart.repository
        yield UsedChart(
            name=chart.name,
            version=chart.version,
            source=source,
            pulled_from=chart.path or taken or source,
            stand_in=chart.path is not None,
            digest=known.chart_versions[release.name][chart.version].digest,
        )


def unknown_images(plan: Plan, known: Catalog) -> Iterator[UnknownImages]:
    """What charts and clouds run from images that are not known."""
    for release in plan.releases:
        for row in known.chart_versions[release.name][release.chart.version].unknown:
            if row.runs(release.values):
                yield UnknownImages(used_by=f"chart {release.name}", what=row.what)
    if (what := _CLOUDS.get(plan.cluster.provider)) is not None:
        yield UnknownImages(used_by=f"provider {plan.cluster.provider}", what=what)


# A registry and a path anywhere in a text, but not within an address of the web.
_PLACED = re.compile(
    r"(?<![\w./:@-])((?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::[0-9]+)?/[\w./-]+(?::[\w.-]+)?(?:@sha256:\w+)?)"
)
_TAGGED = re.compile(
    r"^(?:[\w-]+\.)+[\w-]+(?::[0-9]+)?/[\w./-]+(?::[\w.-]+(?:@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$"
)
_REGISTRY_KEYS = re.compile(r"^(registry|repository|.*_registry|imageRegistryOverride)$")
_HOSTED = re.compile(r"^(?:[\w-]+\.)+[\w-]+(?::[0-9]+)?(?:/|$)")


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
    applied = _applied(plan, with_values=True)
    named = ((place, reference) for place, value in applied for reference in _references(value, hosts))
    found = (*named, *((f"the {user}", reference) for reference, user, _ in _chart_images(plan, known)))
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
