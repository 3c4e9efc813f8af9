"""Every image and every chart of a plan, and what cannot be known: the list that an air gap is filled from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_fabric.base.registries import pulled, pulled_chart
from gpu_fabric.catalog import Catalog
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.operators.chart_images import run_images
from gpu_fabric.plan.plan import Plan

_OFED = "ofedDriver"
_BY_NODE = "the operator completes the tag with each node's operating system"
_CLOUDS = {
    "doks": "what DigitalOcean runs on the nodes of its clusters, its managed plug-ins among them",
    "oke": "what Oracle runs on the nodes of its clusters, its add-ons among them",
}


class UsedImage(FrozenModel):
    """An image. `reference` is where it is published, `pulled_as` what nodes ask for; `digest` is None if unknown."""

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
    for reference, user, note, digest in (*_of_objects(plan), *_of_charts(plan, known)):
        users.setdefault(reference, []).append(user)
        notes.setdefault(reference, []).extend([note] if note else [])
        if digest is not None:
            digests[reference] = digest
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


_Found = tuple[str, str, str | None, str | None]


def _of_objects(plan: Plan) -> Iterator[_Found]:
    for entry in plan.objects:
        yield from _of_manifest(entry.object.manifest(), f"{entry.object.kind} {entry.name}")
    run = plan.verification
    for manifest in run.manifests if run is not None else ():
        yield from _of_manifest(manifest, f"{manifest['kind']} of the verification")


def _of_manifest(value: Any, user: str, key: str = "") -> Iterator[_Found]:
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _of_manifest(inner, user)
    if not isinstance(value, dict):
        return
    image, place, tag = (value.get(name) for name in ("image", "repository", "version"))
    if isinstance(image, str) and isinstance(place, str) and isinstance(tag, str):
        join = "@" if tag.startswith("sha256:") else ":"
        yield from _found(f"{place}/{image}{join}{tag}", user, _BY_NODE if key == _OFED else None)
    elif isinstance(image, str):
        yield from _found(image, user, None)
    for name, inner in value.items():
        yield from _of_manifest(inner, user, name)


def _found(reference: str, user: str, note: str | None) -> Iterator[_Found]:
    yield reference, user, note, _own_digest(reference)


def _of_charts(plan: Plan, known: Catalog) -> Iterator[_Found]:
    for release in plan.releases:
        table = known.chart_versions[release.name][release.chart.version]
        for reference, row, digest in run_images(table, release.values):
            yield reference, f"chart {release.name}", row.note, digest or _own_digest(reference)


def _own_digest(reference: str) -> str | None:
    _, at, digest = reference.partition("@")
    return digest if at else None


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
