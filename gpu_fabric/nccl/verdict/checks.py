"""Check that the run is the requested one, and that its table is complete, correct, and fast enough.

A row gives the bandwidth in three ways, out of place and in place; the lowest of them is judged, so an inconsistent
file cannot turn a failure into a pass.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from gpu_fabric.findings import Finding, finding
from gpu_fabric.nccl.busbw import Bar, Operation, bar_table, bus_factor
from gpu_fabric.nccl.verdict.report import printable
from gpu_fabric.nccl.verdict.result import Expectation, Measurement, NcclResult, Row
from gpu_fabric.symptoms import advice
from nccl_topology.c_numbers import c_integer

_SOCKET_SETTINGS: dict[str, Callable[[str], bool]] = {
    "NCCL_IB_DISABLE": lambda value: c_integer(value) != 0,
    "NCCL_NET": lambda value: value.lower() == "socket",
}
"""Settings that disable RDMA in NCCL, each with a test of its value (source: NCCL's manual)."""

_FASTEST_RANK = 2
"""The value of `-a` that reports the shortest of the ranks' times (source: nccl-tests' README)."""


def check_end(result: NcclResult) -> Iterator[Finding]:
    """Check that the run ended without an error of its own."""
    if result.end_time is None:
        yield early_end()
    for error in result.errors:
        if error.strip():
            message = f"NCCL reports: {printable(error.strip())}"
            remedy = advice(error) or "mend what NCCL names, and measure again"
            yield finding("VER002", "run", message, remedy)
    if result.average_bus_bandwidth is not None and result.average_bus_bandwidth.okay is False:
        message = "nccl-tests itself says that the average is below 0.9 x NCCL_TESTS_MIN_BW"
        yield finding("VER003", "run", message)


def early_end() -> Finding:
    """The reason for a run that did not end."""
    message = "the file stops before the end of the run: the test was killed or crashed, or the copy is not whole"
    return finding("VER001", "file", message)


def check_test(result: NcclResult, bar: Bar, expected: Expectation) -> Iterator[Finding]:
    """Check that the bar applies to the test that ran."""
    if result.operation is not expected.operation:
        ran = printable(result.program) or "an unnamed program"
        message = f"{ran} ran, and the bar is for {expected.operation}_perf"
        yield finding("VER004", "run", message, f"run {expected.operation}_perf")
    groups = {device.group for device in result.config.devices}
    if len(groups) > 1:
        message = f"the ranks are split into {len(groups)} groups, each with a part of the NICs"
        yield finding("VER005", "run", message)
    yield from _check_algorithm(result, bar)
    yield from _check_averages(result)
    for name, keeps_from_rdma in _SOCKET_SETTINGS.items():
        value = result.nccl_environment.get(name, "")
        if keeps_from_rdma(value):
            yield finding("VER007", "run", f"{name}={printable(value)} keeps NCCL from RDMA", f"measure without {name}")


def _check_algorithm(result: NcclResult, bar: Bar) -> Iterator[Finding]:
    """Check that NCCL cannot have sent less data than a ring does."""
    needed = bar.ring_or_nodes
    if bar.most is not None and result.reduces_in_switches:
        message = "NCCL may have had the switches add up the data, which sends half of what a ring does"
        remedy = "measure with NCCL_ALGO=RING and without NCCL_COLLNET_ENABLE"
        yield finding("VER006", "run", message, remedy)
        return
    if needed is not None and not result.ring and len(result.nodes) < needed:
        algorithm = result.nccl_environment.get("NCCL_ALGO")
        set_to = f"NCCL_ALGO is {printable(algorithm)}" if algorithm else "NCCL_ALGO is not set"
        message = (
            f"{set_to}: on fewer than {needed} nodes NCCL may use a tree, which shows more than the fabric carries"
        )
        yield finding("VER006", "run", message, f"measure with NCCL_ALGO=RING, or on {needed} nodes or more")


def _check_averages(result: NcclResult) -> Iterator[Finding]:
    """Check that the times are averages over ranks and over enough iterations."""
    if result.option("a", "average") == _FASTEST_RANK:
        message = "the times are those of the fastest rank (`-a 2`), which hides the slow ones"
        yield finding("VER030", "run", message, "measure without `-a`, which gives the average of all ranks")
    least = bar_table().least_iterations
    counts = [result.option("n", "iters"), *(row.actual_iterations for row in result.results)]
    fewest = min((count for count in counts if count is not None), default=least)
    if fewest < least:
        message = f"a row is the average of {fewest} iterations; fewer than {least} say nothing of the next ones"
        yield finding("VER030", "run", message, "measure with `-n 20` or more, nccl-tests' default")


def check_nodes_and_ranks(result: NcclResult, expected: Expectation) -> Iterator[Finding]:
    """Check that every node and every rank took part exactly once."""
    found, wanted = len(result.nodes), expected.nodes or 2
    if found < wanted:
        asked = "were asked for" if expected.nodes else "are the least on which anything crosses the fabric"
        names = ", ".join(map(printable, result.nodes)) or "none"
        yield finding("VER008", "run", f"{found} nodes took part ({names}); {wanted} {asked}")
    yield from _ranks_of_nodes(result, expected)
    yield from _check_rank_numbers(result)


def _ranks_of_nodes(result: NcclResult, expected: Expectation) -> Iterator[Finding]:
    processes = Counter(device.hostname for device in result.config.devices)
    each = result.config.nthreads * result.config.ngpus
    most = max(processes.values(), default=0) * each
    wanted = expected.gpus or {most}
    for node, count in processes.items():
        if count * each not in wanted:
            numbers = " or ".join(map(str, sorted(wanted)))
            source = "the shape has" if expected.gpus else "other nodes have"
            message = f"{count * each} ranks; {source} {numbers}"
            yield finding("VER009", f"node {printable(node)}", message)


def _check_rank_numbers(result: NcclResult) -> Iterator[Finding]:
    devices = result.config.devices
    first_of_each = range(0, result.ranks, result.config.nthreads * result.config.ngpus)
    if missing := sorted(set(first_of_each) - {device.rank for device in devices})[:8]:
        message = f"the file does not show rank {', '.join(map(str, missing))}"
        yield finding("VER010", "run", message, "measure again; every process has to report")
    users = defaultdict(list)
    for device in devices:
        users[device.hostname, device.device_hex or device.device].append(device.rank)
    for (node, gpu), sharing in users.items():
        if len(sharing) > 1:
            message = f"ranks {', '.join(map(str, sharing[:8]))} use the same GPU, {printable(str(gpu))}"
            yield finding("VER010", f"node {printable(node)}", message, "give each rank a GPU of its own")


_ROUNDING = 1.001
"""Tolerance: the bandwidths and times of a row are rounded separately."""

_EVERY_SIZE_FROM = 1 << 20
"""Bytes; below this size, nccl-tests may round a size down to 0, and sizes repeat."""


def check_table(result: NcclResult, least: int) -> Iterator[Finding]:
    """Check that every row that the run was started for is present, up to at least `least` bytes, and complete."""
    largest = _largest(result)
    if largest + _rounded_down(result) < least:
        rows = f"the largest has {largest} bytes" if result.results else "there is none at all"
        message = f"no row of {least} bytes or more; {rows}"
        yield finding("VER011", "table", message)
    elif (missing := _missing_size(result)) is not None:
        message = f"the row of {missing} bytes is missing; the run was started for it"
        yield finding("VER012", f"size {missing}", message)
    for size in _foreign_sizes(result):
        message = f"a row of {size} bytes, which the run was not started for"
        yield finding("VER029", f"size {size}", message)
    for row in result.results:
        for name, values in _columns(row):
            if values is None or values.bus_bw is None or values.alg_bw is None:
                message = f"no bandwidth {name}"
                yield finding("VER013", f"size {row.size}", message, "measure again, out of place and in place")
            elif values.time is None or values.time <= 0:
                message = f"no time {name}"
                remedy = (
                    "take the file as nccl-tests wrote it; measure without `-C`, which gives the CPU's time instead"
                )
                yield finding("VER013", f"size {row.size}", message, remedy)


def check_values(result: NcclResult) -> Iterator[Finding]:
    """Check that the values were compared, and were correct."""
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
        yield finding("VER015", "run")


def check_speed(result: NcclResult, bar: Bar, operation: Operation) -> Iterator[Finding]:
    """Check that the judged bandwidth reaches the bar and is plausible."""
    bandwidth = judged_bandwidth(result, operation)
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
        yield finding("VER018", where, message)
    if bar.most is not None and bandwidth > bar.most * _ROUNDING:
        message = (
            f"{bandwidth:.2f} GB/s is more than the rails carry ({bar.most:g} GB/s): they were not what was measured"
        )
        remedy = (
            "measure with NCCL_ALGO=RING and NCCL_MNNVL_ENABLE=0, without NCCL_COLLNET_ENABLE, and with one pod a host"
        )
        yield finding("VER019", where, message, remedy)
    ways = filter(None, _ways(result, operation))
    if any(max(values) - min(values) > 0.01 * abs(max(values)) for values in ways):
        message = "bus bandwidth, algorithm bandwidth and time of a row do not fit; the lowest counts"
        yield finding("VER020", "table", message)


def judged_bandwidth(result: NcclResult, operation: Operation) -> float | None:
    """The judged bus bandwidth in GB/s: the lowest of the largest size; None if a measurement is missing."""
    ways = _ways(result, operation)
    return min(map(min, ways)) if ways and all(ways) else None


def _ways(result: NcclResult, operation: Operation) -> list[tuple[float, ...]]:
    """The bandwidths of each measurement of the largest size."""
    largest = _largest(result)
    return [
        _bandwidths(row.size, values, result, operation)
        for row in result.results
        if row.size == largest
        for _, values in _columns(row)
    ]


def _bandwidths(size: int, values: Measurement | None, result: NcclResult, operation: Operation) -> tuple[float, ...]:
    """Bus bandwidth as written, from the algorithm bandwidth, and from the time; empty if one of them is missing."""
    if values is None or values.bus_bw is None or values.alg_bw is None or values.time is None or values.time <= 0:
        return ()
    factor = bus_factor(operation, max(result.ranks, 1)) * _ROUNDING
    return (values.bus_bw, values.alg_bw * factor, size / values.time / 1000 * factor)


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
    """Bytes by which nccl-tests may reduce a size, so that every rank has a multiple of 16."""
    return min(16 * result.ranks, _EVERY_SIZE_FROM)


def _missing_size(result: NcclResult) -> int | None:
    """The first size of the sweep without a row."""
    sizes, slack = sorted({row.size for row in result.results}), _rounded_down(result)
    for wanted in _sweep(result):
        place = bisect_right(sizes, wanted)
        if wanted >= _EVERY_SIZE_FROM and (place == 0 or sizes[place - 1] < wanted - slack):
            return wanted
    return None


def _foreign_sizes(result: NcclResult) -> list[int]:
    """Sizes of rows that are not in the sweep; small sizes are skipped, since nccl-tests changes them."""
    wanted, slack = sorted(_sweep(result)), _rounded_down(result)
    found = []
    for size in sorted({row.size for row in result.results if row.size >= _EVERY_SIZE_FROM}):
        place = bisect_left(wanted, size)
        if place == len(wanted) or wanted[place] - slack > size:
            found.append(size)
    return found


def _sweep(result: NcclResult) -> Iterator[int]:
    """The sizes that the run was started for, at most one more than the table has rows."""
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
