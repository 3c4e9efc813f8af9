"""What a run is held against: the fabric of a stack, or a bar that the user gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from fabric.catalog import Shape
from fabric.nccl.busbw import Bar, BarUnknownError, Operation, given_bar, shape_bar
from fabric.nccl.verdict.result import NcclResult
from fabric.plan.verification import PlannedVerification
from fabric.prepare import prepare_stack
from fabric.progress import UNHEARD, Progress
from fabric.spec import read_document, validate


@dataclass(frozen=True)
class Expectation:
    """What is expected of a run.

    `shapes` are those of the stack's nodes, which use `rails` NICs each; empty where no stack was named. `nodes` is
    the least number of nodes, `bar` the user's own in GB/s, `rail_bar` that of a rail alone; `bars_from` says where the
    user has written them. `each_rail`: every rail must have been measured alone; else only those that were to be.
    """

    shapes: tuple[Shape, ...] = ()
    rails: int | None = None
    nodes: int | None = None
    bar: float | None = None
    operation: Operation = Operation.ALL_REDUCE
    rail_bar: float | None = None
    bars_from: str = "--bar"
    each_rail: bool = False

    @property
    def gpus(self) -> set[int]:
        """GPUs that a node may have; empty where that is not known."""
        return {shape.gpus.count for shape in self.shapes}

    def bar_of(self, result: NcclResult) -> Bar:
        """The bar for a run; with several shapes that of the weakest.

        Raises:
            BarUnknownError: no bar can be derived.
        """
        if self.bar is not None:
            return given_bar(self.bar, self.bars_from)
        bars = [
            shape_bar(
                shape,
                shape.rails if self.rails is None else self.rails,
                nodes=len(result.nodes),
                ring=result.ring,
                nvlink=result.nvlink,
                operation=self.operation,
            )
            for shape in self.shapes
        ]
        if not bars:
            raise BarUnknownError("no stack was named")
        return min(bars, key=lambda bar: bar.value)


def stack_expectation(
    stack: str | None,
    *,
    root: Path,
    nodes: int | None,
    bar: float | None,
    operation: Operation,
    progress: Progress = UNHEARD,
) -> Expectation:
    """What a stack's fabric, or the user's bar, asks of a run.

    Raises:
        ConfigurationError: the stack cannot be planned.
    """
    if stack is None:
        return Expectation((), None, nodes, bar, operation)
    plan = prepare_stack(stack, root, progress=progress)
    if plan.verification is not None:
        expected = planned_expectation(plan.verification)
        wanted = replace(expected, nodes=nodes or expected.nodes, operation=operation)
        return wanted if bar is None else replace(wanted, bar=bar, bars_from="--bar")
    spec, _ = validate(read_document(stack, root))
    known = [] if spec is None else [spec.catalog.find(pool.shape) for pool in plan.cluster.pools]
    shapes = {shape.name: shape for shape in known if shape is not None}
    return Expectation(tuple(shapes.values()), len(plan.rails), nodes, bar, operation)


def planned_expectation(planned: PlannedVerification) -> Expectation:
    """What a stack's own verification asks of its run."""
    return Expectation(
        shapes=planned.shapes,
        rails=planned.rails,
        nodes=planned.nodes,
        bar=planned.own_bar,
        rail_bar=planned.own_rail_bar,
        bars_from="the stack file",
        each_rail=planned.each_rail,
    )
