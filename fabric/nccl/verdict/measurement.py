"""Whether the table of the result is whole, right, and fast enough.

The judged value is the lowest of what a row says in three ways, out of place and in place; so no lower value in a file
can turn a failure into a pass.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from fabric.nccl.busbw import Bar, Operation, bar_table, bus_factor
from fabric.nccl.verdict.report import Reason, finding
from fabric.nccl.verdict.result import Measurement, NcclResult, Row

_ROUNDING = 1.001
"""Bandwidths and times of a row are rounded one by one."""

_EVERY_SIZE_FROM = 1 << 20
"""Bytes; below it nccl-tests may round a size down to nothing, and the same one comes more than once."""


def whole_table(result: NcclResult, least: int) -> Iterator[Reason]:
    """Whether every row is there that the run was started for, up to `least` bytes or more, with every measurement."""
    largest = _largest(result)
    if largest + _rounded_down(result) < least:
        rows = f"the largest has {largest} bytes" if result.results else "there is none at all"
        message = f"no row of {least} bytes or more; {rows}"
        yield finding("VER011", "table", message, "measure up to 8 GiB or more, as with `-b 1G -e 8G -f 2`")
    elif (missing := _missing_size(result)) is not None:
        message = f"the row of {missing} bytes is missing; the run was started for it"
        yield finding("VER012", f"size {missing}", message, "measure again; the file is not whole")
    for row in result.results:
        for name, values in _columns(row):
            if values is None or values.bus_bw is None or values.alg_bw is None:
                message = f"no bandwidth {name}"
                yield finding("VER013", f"size {row.size}", message, "measure again, out of place and in place")


def right_values(result: NcclResult) -> Iterator[Reason]:
    """Whether the data were compared, and were right."""
    remedy = "take the nodes out of use until the cause is known, and measure again in smaller groups of nodes"
    unchecked = result.config.validation == 0 or result.out_of_bounds is None
    wrong = False
    for row in result.results:
        for name, values in _columns(row):
            if values is None:
                continue
            unchecked = unchecked or values.nwrong is None
            if values.nwrong:
                wrong = True
                yield finding("VER014", f"size {row.size}", f"{values.nwrong:g} wrong values {name}", remedy)
    bounds = result.out_of_bounds
    if not wrong and bounds is not None and (bounds.count or bounds.okay is False):
        yield finding("VER014", "run", f"{bounds.count} values out of bounds over the run", remedy)
    if unchecked:
        yield finding("VER015", "run", "the values were not compared", "measure with `-c 1`")


def fast_enough(result: NcclResult, bar: Bar, operation: Operation) -> Iterator[Reason]:
    """Whether the judged bandwidth reaches the bar, and what is remarkable about it."""
    bandwidth = measured(result, operation)
    if bandwidth is None:
        return
    where, percent = f"size {_largest(result)}", bar_table().percent
    if bar.limit is not None and bandwidth < bar.limit * percent.sockets / 100:
        message = f"{bandwidth:.2f} GB/s is less than {percent.sockets} % of the line rate: the data went over sockets"
        remedy = "look for NET/Socket in the log of NCCL_DEBUG=INFO: the pods lack RDMA devices, networks or IPC_LOCK"
        yield finding("VER016", where, message, remedy)
    elif bandwidth < bar.value:
        yield finding(
            "VER017", where, f"{bandwidth:.2f} GB/s is below the bar of {bar.value:g} GB/s", _slow(bandwidth, bar)
        )
    elif bar.good is not None and bandwidth < bar.good:
        message = f"{bandwidth:.2f} GB/s reaches the bar, but is below {percent.good} % of the line rate"
        yield finding("VER018", where, message, "look for a NIC with errors or a slower link")
    if bar.limit is not None and bandwidth > bar.limit:
        message = (
            f"{bandwidth:.2f} GB/s is more than the rails carry ({bar.limit:g} GB/s): something else carried a part"
        )
        yield finding("VER019", where, message, "measure with NCCL_ALGO=RING and NCCL_MNNVL_ENABLE=0 to see the rails")
    if _inconsistent(result, operation):
        message = "bus bandwidth, algorithm bandwidth and time of a row do not fit; the lowest counts"
        yield finding("VER020", "table", message, "take the file as nccl-tests wrote it")


def measured(result: NcclResult, operation: Operation) -> float | None:
    """The judged bus bandwidth in GB/s: the lowest of the largest size; None where a measurement is missing."""
    largest = _largest(result)
    lowest = [
        _bandwidths(row.size, values, result, operation)
        for row in result.results
        if row.size == largest
        for _, values in _columns(row)
    ]
    found = [min(values) for values in lowest if values]
    return min(found) if found and len(found) == len(lowest) else None


def _bandwidths(size: int, values: Measurement | None, result: NcclResult, operation: Operation) -> tuple[float, ...]:
    """Bus bandwidth as it is written, by the algorithm bandwidth, and by the time; empty where one is missing."""
    if values is None or values.bus_bw is None or values.alg_bw is None:
        return ()
    factor = bus_factor(operation, max(result.ranks, 1)) * _ROUNDING
    by_time = () if values.time is None or values.time <= 0 else (size / values.time / 1000 * factor,)
    return (values.bus_bw, values.alg_bw * factor, *by_time)


def _inconsistent(result: NcclResult, operation: Operation) -> bool:
    largest = _largest(result)
    ways = [
        _bandwidths(row.size, values, result, operation)
        for row in result.results
        if row.size == largest
        for _, values in _columns(row)
    ]
    return any(max(values) - min(values) > 0.01 * abs(max(values)) for values in ways if values)


def _slow(bandwidth: float, bar: Bar) -> str:
    pairs, broken = "measure pairs of nodes to find the slow one", bar_table().percent.broken
    if bar.limit is None or bandwidth >= bar.limit * broken / 100:
        return pairs
    return f"below {broken} % of the line rate a NIC or link is missing: compare NCCL's list of NICs with the rails"


def _columns(row: Row) -> tuple[tuple[str, Measurement | None], ...]:
    return (("out of place", row.out_of_place), ("in place", row.in_place))


def _largest(result: NcclResult) -> int:
    return max((row.size for row in result.results), default=0)


def _rounded_down(result: NcclResult) -> int:
    """Bytes by which nccl-tests may make a size smaller, so that every rank has a multiple of 16."""
    return min(16 * result.ranks, _EVERY_SIZE_FROM)


def _missing_size(result: NcclResult) -> int | None:
    """The first size of the sweep without a row."""
    sizes, slack = sorted({row.size for row in result.results}), _rounded_down(result)
    for wanted in _sweep(result):
        place = bisect_right(sizes, wanted)
        if wanted >= _EVERY_SIZE_FROM and (place == 0 or sizes[place - 1] < wanted - slack):
            return wanted
    return None


def _sweep(result: NcclResult) -> Iterator[int]:
    """The sizes that the run was started for; no more than one beyond those that the table can hold."""
    config = result.config
    size = config.minimum_bytes
    for _ in range(len(result.results) + 1):
        if size > config.maximum_bytes:
            return
        yield size
        following = size * config.step_factor if config.step_factor else size + (config.step_bytes or 0)
        if following <= size:
            return
        size = following
