"""What a run is compared with: the fabric of a stack, or a bar that the user gives."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from gpu_fabric.catalog import Shape
from gpu_fabric.nccl.busbw import Bar, BarUnknownError, Operation, given_bar, shape_bar
from gpu_fabric.nccl.verdict.result import NcclResult


@dataclass(frozen=True)
class Expectation:
    """The expectations on a run.

    `shapes` are those of the stack's nodes, which use `rails` NICs each; empty if no stack was named. `nodes` is the
    minimum number of nodes, `bar` the user's bar in GB/s, `rail_bar` the user's bar for one rail; `bars_from` names the
    place where the user set them. `each_rail`: every rail must have been measured alone, not only those of the run.
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
        """The possible numbers of GPUs of a node; empty if that is not known."""
        return {shape.gpus.count for shape in self.shapes}

    def bar_of(self, result: NcclResult) -> Bar:
        """The bar for a run; with several shapes, the lowest.

        The user's bar replaces the derived one; the maximum of a ring over the rails stays.

        Raises:
            BarUnknownError: no bar can be derived.
        """
        if self.bar is None:
            return self._derived(result)
        most = None
        if result.ring:
            with suppress(BarUnknownError):
                most = self._derived(result).most
        return given_bar(self.bar, self.bars_from).model_copy(update={"most": most})

    def _derived(self, result: NcclResult) -> Bar:
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
