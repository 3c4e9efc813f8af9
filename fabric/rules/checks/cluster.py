"""Checks of the group `cluster`: pools and machines."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog.shape import CLOUD_SHAPES
from fabric.plan.case import Case
from fabric.rules.registry import Problem, check
from fabric.spec.places import dotted


@check("CLU004")
def shape_has_rdma_nics(case: Case) -> Iterator[Problem]:
    """Every pool's machines have RDMA NICs."""
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        if not shape.nics:
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"{pool.shape} has no RDMA NIC",
                "write a shape with a fabric: `python -m fabric shapes --rdma` lists them",
            )


@check("CLU005")
def shape_is_of_the_provider(case: Case) -> Iterator[Problem]:
    """A cloud's pools have that cloud's machines."""
    allowed = CLOUD_SHAPES.get(case.choices.provider)
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        if allowed is not None and shape.provider != allowed:
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"{pool.shape} is no machine type of provider {case.choices.provider}",
                f"`python -m fabric shapes --provider {allowed}` lists those that are",
            )
