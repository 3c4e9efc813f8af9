"""Images and charts where the stack file has them come from mirrors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabric.plan.case import Case
from fabric.plan.foreign import foreign_images
from fabric.plan.images import unknown_images
from fabric.plan.operators import charts
from fabric.rules.registry import Problem, check
from fabric.spec.places import dotted

_NAMEABLE = re.compile(r"^[a-zA-Z0-9./-]+$")
_REGISTRIES = dotted(("software", "registries"))


@check("IMG004")
def fit_into_the_policy(case: Case) -> Iterator[Problem]:
    """The mirror of the Network Operator's operands is one that its policy can name."""
    if not case.spec.software.registries or "network-operator" not in charts(case):
        return
    images = case.line.images
    places = dict.fromkeys(case.pulled(images.image(component).repository) for component in images.names)
    if wrong := [place for place in places if not _NAMEABLE.match(place)]:
        message = f"the Network Operator's policy cannot name {wrong[0]}: it takes no port and no underscore"
        yield Problem(_REGISTRIES, message, "let the mirror answer on port 443, or give it another name or path")


@check("IMG001")
def lie_in_mirrors(case: Case) -> Iterator[Problem]:
    """With mirrors, every image that is known comes from one of them."""
    registries = case.spec.software.registries
    if not registries or case.plan is None:
        return
    by_registry: dict[str, list[str]] = {}
    for found in foreign_images(case.plan, case.known, registries):
        by_registry.setdefault(found.registry, []).append(f"{found.reference} of {found.where}")
    for registry, images in sorted(by_registry.items()):
        more = f" and {len(images) - 1} more" if len(images) > 1 else ""
        message = f"images of {registry} come from no mirror: {images[0]}{more}"
        yield Problem(_REGISTRIES, message, f"add a line `{registry}:`, or one `'*':` for every registry")


@check("IMG002")
def charts_lie_in_mirrors(case: Case) -> Iterator[Problem]:
    """With mirrors, the charts come from one, too."""
    if not case.spec.software.registries or case.plan is None:
        return
    outside = [
        release.name
        for release in case.plan.releases
        if case.spec.software.charts == "upstream"
        and release.chart.repository is not None
        and not release.chart.repository.startswith("oci://")
    ]
    if outside:
        message = f"{', '.join(outside)} come from repositories of charts that `registries` does not move"
        yield Problem(
            dotted(("software", "charts")),
            message,
            "write the mirror of the charts, such as oci://mirror.example/charts",
        )


@check("IMG003")
def all_images_are_known(case: Case) -> Iterator[Problem]:
    """With mirrors, nothing runs from an image that is not known."""
    if not case.spec.software.registries or case.plan is None:
        return
    for entry in unknown_images(case.plan, case.known):
        message = f"{entry.used_by} runs images that are not known: {entry.what}"
        yield Problem(_REGISTRIES, message, "find them out on a cluster that has them, and let the mirror have them")
