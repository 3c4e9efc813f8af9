"""Checks of the group `cluster`: pools and machines."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.shape import CLOUD_SHAPES
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted


@check("CLU004")
def shape_has_rdma_nics(case: Case) -> Iterator[Problem]:
    """Every pool's machines have RDMA NICs."""
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        if not shape.nics:
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"{pool.shape} has no RDMA NIC",
                "write a shape with a fabric: `gpu-fabric shapes --rdma` lists them",
            )


@check("CLU005")
def shape_is_of_the_provider(case: Case) -> Iterator[Problem]:
    """A cloud's pools have that cloud's machines."""
    allowed = CLOUD_SHAPES.get(case.choices.provider)
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        if allowed is not None and shape.provider != allowed:
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"{pool.shape} is not a machine type of provider {case.choices.provider}",
                f"`gpu-fabric shapes --provider {allowed}` lists those that are",
            )
