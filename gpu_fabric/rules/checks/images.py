"""Images and charts where the stack file has them come from mirrors."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.base.grammar import moves
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.foreign import foreign_images
from gpu_fabric.plan.images import unknown_images
from gpu_fabric.rules.registry import Problem, check, check_plan
from gpu_fabric.spec.places import dotted

_REGISTRIES = dotted(("software", "registries"))


@check_plan("IMG001")
def lie_in_mirrors(case: Case, plan: Plan) -> Iterator[Problem]:
    """With mirrors, every image that is known comes from one of them."""
    registries = case.spec.software.registries
    if not registries:
        return
    by_registry: dict[str, list[str]] = {}
    for found in foreign_images(plan, case.known, registries):
        by_registry.setdefault(found.registry, []).append(f"{found.reference} of {found.where}")
    for registry, images in sorted(by_registry.items()):
        more = f" and {len(images) - 1} more" if len(images) > 1 else ""
        message = f"images of {registry} come from no mirror: {images[0]}{more}"
        yield Problem(_REGISTRIES, message, f"add a line `{registry}:`, or one `'*':` for every registry")


@check_plan("IMG002")
def charts_lie_in_mirrors(case: Case, plan: Plan) -> Iterator[Problem]:
    """With mirrors, the charts come from one, too."""
    if not case.spec.software.registries:
        return
    outside = [
        release.name
        for release in plan.releases
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


@check_plan("IMG003")
def all_images_are_known(case: Case, plan: Plan) -> Iterator[Problem]:
    """With mirrors, nothing runs from an image that is not known."""
    if not case.spec.software.registries:
        return
    for entry in unknown_images(plan, case.known):
        message = f"{entry.used_by} runs images that are not known: {entry.what}"
        yield Problem(_REGISTRIES, message, "find them out on a cluster that has them, and let the mirror have them")


@check("IMG005")
def images_are_certain_ones(case: Case) -> Iterator[Problem]:
    """Every image that the stack file names is a certain one; Multus' has a rule of its own."""
    software, fabric = case.spec.software, case.spec.fabric
    mpi = software.schedulers.mpi_operator
    stated = {
        ("verification", "image"): case.spec.verification.image if case.spec.verification.enabled else None,
        ("software", "hostImage"): software.host_image,
        ("software", "schedulers", "mpiOperator", "image"): mpi.image if mpi else None,
        ("fabric", "check", "image"): fabric.check.image if fabric.check else None,
    }
    for place, image in stated.items():
        if image is not None and moves(image):
            yield Problem(
                dotted(place),
                f"{image} may be another image tomorrow, and on the next node",
                "write a release's tag, or a digest",
            )
