"""Check that the run is the requested one: it ended, on all nodes and ranks, with the right operation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from gpu_fabric.nccl.busbw import Bar, bar_table
from gpu_fabric.nccl.reading import c_integer
from gpu_fabric.nccl.verdict.expectation import Expectation
from gpu_fabric.nccl.verdict.report import Reason, finding, shown
from gpu_fabric.nccl.verdict.result import NcclResult

_SOCKET_SETTINGS: dict[str, Callable[[str], bool]] = {
    "NCCL_IB_DISABLE": lambda value: c_integer(value) != 0,
    "NCCL_NET": lambda value: value.lower() == "socket",
}
"""Settings that disable RDMA in NCCL, each with a test of its value (source: NCCL's manual)."""

_FASTEST_RANK = 2
"""The value of `-a` that reports the shortest of the ranks' times (source: nccl-tests' README)."""


def ended(result: NcclResult) -> Iterator[Reason]:
    """Check that the run ended without an error of its own."""
    if result.end_time is None:
        yield ended_early()
    for error in result.errors:
        if error.strip():
            message = f"NCCL reports: {shown(error.strip())}"
            yield finding("VER002", "run", message, "mend what NCCL names, and measure again")
    if result.average_bus_bandwidth is not None and result.average_bus_bandwidth.okay is False:
        message = "nccl-tests itself says that the average is below 0.9 x NCCL_TESTS_MIN_BW"
        yield finding("VER003", "run", message, "mend the fabric, or measure without NCCL_TESTS_MIN_BW")


def ended_early() -> Reason:
    """The reason for a run that did not end."""
    message = "the file stops before the end of the run: the test was killed or crashed, or the copy is not whole"
    return finding("VER001", "file", message, "look at the job's log, and measure again")


def right_test(result: NcclResult, bar: Bar, expected: Expectation) -> Iterator[Reason]:
    """Check that the bar applies to the test that ran."""
    if result.operation is not expected.operation:
        ran = shown(result.program) or "an unnamed program"
        message = f"{ran} ran, and the bar is for {expected.operation}_perf"
        yield finding("VER004", "run", message, f"run {expected.operation}_perf")
    groups = {device.group for device in result.config.devices}
    if len(groups) > 1:
        message = f"the ranks are split into {len(groups)} groups, each with a part of the NICs"
        yield finding("VER005", "run", message, "measure without NCCL_TESTS_SPLIT and NCCL_TESTS_SPLIT_MASK")
    yield from _algorithm(result, bar)
    yield from _averages(result)
    for name, keeps_from_rdma in _SOCKET_SETTINGS.items():
        value = result.nccl_environment.get(name, "")
        if keeps_from_rdma(value):
            yield finding("VER007", "run", f"{name}={shown(value)} keeps NCCL from RDMA", f"measure without {name}")


def _algorithm(result: NcclResult, bar: Bar) -> Iterator[Reason]:
    """Check that NCCL cannot have sent less data than a ring does."""
    needed = bar.ring_or_nodes
    if bar.most is not None and result.reduces_in_switches:
        message = "NCCL may have had the switches add up the data, which sends half of what a ring does"
        remedy = "measure with NCCL_ALGO=RING and without NCCL_COLLNET_ENABLE"
        yield finding("VER006", "run", message, remedy)
        return
    if needed is not None and not result.ring and len(result.nodes) < needed:
        algorithm = result.nccl_environment.get("NCCL_ALGO")
        set_to = f"NCCL_ALGO is {shown(algorithm)}" if algorithm else "NCCL_ALGO is not set"
        message = (
            f"{set_to}: on fewer than {needed} nodes NCCL may use a tree, which shows more than the fabric carries"
        )
        yield finding("VER006", "run", message, f"measure with NCCL_ALGO=RING, or on {needed} nodes or more")


def _averages(result: NcclResult) -> Iterator[Reason]:
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


def all_there(result: NcclResult, expected: Expectation) -> Iterator[Reason]:
    """Check that every node and every rank took part exactly once."""
    found, wanted = len(result.nodes), expected.nodes or 2
    if found < wanted:
        asked = "were asked for" if expected.nodes else "are the least on which anything crosses the fabric"
        names = ", ".join(map(shown, result.nodes)) or "none"
        yield finding("VER008", "run", f"{found} nodes took part ({names}); {wanted} {asked}", "measure on more nodes")
    yield from _ranks_of_nodes(result, expected)
    yield from _numbers(result)


def _ranks_of_nodes(result: NcclResult, expected: Expectation) -> Iterator[Reason]:
    processes = Counter(device.hostname for device in result.config.devices)
    each = result.config.nthreads * result.config.ngpus
    most = max(processes.values(), default=0) * each
    wanted = expected.gpus or {most}
    for node, count in processes.items():
        if count * each not in wanted:
            numbers = " or ".join(map(str, sorted(wanted)))
            source = "the shape has" if expected.gpus else "other nodes have"
            message = f"{count * each} ranks; {source} {numbers}"
            yield finding("VER009", f"node {shown(node)}", message, "run one rank for each GPU of every node")


def _numbers(result: NcclResult) -> Iterator[Reason]:
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
            message = f"ranks {', '.join(map(str, sharing[:8]))} use the same GPU, {shown(str(gpu))}"
            yield finding("VER010", f"node {shown(node)}", message, "give each rank a GPU of its own")
