"""The verdict on what UCX's test program measured: each rail between neighbouring nodes, one way and the other.

Its CSV has bandwidths in MiB/s (source: openucx/ucx v1.22.0, src/tools/perf/perftest_run.c, print_progress).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from gpu_fabric.base.enumeration import grouped
from gpu_fabric.findings import Finding, finding
from gpu_fabric.nccl.busbw import Bar
from gpu_fabric.nccl.verdict.bundle import Bundle
from gpu_fabric.nccl.verdict.report import RailResult, printable, printable_line
from gpu_fabric.symptoms import advice

_COLUMN, _MIB_A_SECOND = "overall_bw", 2**20 / 1e9
_LINE = re.compile(r"(\d{1,3}) (\d{1,5}) (\d{1,5}) (\S{1,64}) (\S{1,200}) (\S.*)")
# Bandwidths are rounded, and the clocks of two nodes differ.
_ROUNDING = 1.001
# Others that a finding names.
_NAMED = 3


class PointToPoint(NamedTuple):
    """What is asked of such a run: the bar of one rail, one way; the networks of the rails, where pods have any."""

    bar: Bar
    networks: tuple[str | None, ...]
    program: str


class OneWay(NamedTuple):
    """What one node wrote to another; both are given by their places in the run.

    `device` is the first node's RDMA device, `measured` is in GB/s; `words` say why nothing was measured.
    """

    rail: int
    source: int
    target: int
    device: str | None
    measured: float | None
    words: str


def read_point_to_point(text: str) -> tuple[OneWay, ...]:
    """The tests of a run's file; lines of another form are left out, so that what they measured is missing."""
    return tuple(_one_way(match) for line in text.splitlines() if (match := _LINE.fullmatch(line.strip())) is not None)


def _one_way(match: re.Match[str]) -> OneWay:
    rail, source, target, device, heading, rest = match.groups()
    measured = None if heading == "failed" else bandwidth(heading, rest)
    words = rest if heading == "failed" else f"its result is not understood: {rest}" if measured is None else ""
    return OneWay(int(rail), int(source), int(target), None if device == "-" else device, measured, words)


def bandwidth(heading: str, row: str) -> float | None:
    """GB/s of a row of the program's CSV, over the whole test; None if the row has no such number."""
    found = dict(zip(heading.split(","), row.split(","), strict=False))
    try:
        value = float(found[_COLUMN]) * _MIB_A_SECOND
    except (KeyError, ValueError):
        return None
    return round(value, 3) if math.isfinite(value) and heading.count(",") == row.count(",") else None


def neighbours(nodes: int) -> tuple[tuple[int, int], ...]:
    """The pairs of nodes that are measured, one way each, by their places in the run; each node is in one at least."""
    pairs = [(first, first + 1) for first in range(0, nodes - 1, 2)]
    if nodes % 2 and nodes > 1:
        pairs.append((nodes - 1, 0))
    return tuple(ends for first, second in pairs for ends in ((first, second), (second, first)))


def judge_point_to_point(
    bundle: Bundle, expected: PointToPoint, rails: Sequence[int], well: Collection[int]
) -> tuple[tuple[RailResult, ...], tuple[Finding, ...]]:
    """The lowest bandwidth of each rail, and every reason against it.

    `well` are the rails that passed the collective test, which tells where the cause is.
    """
    found = {(test.rail, test.source, test.target): test for test in read_point_to_point(bundle.point_to_point)}
    tests = {
        rail: [found.get((rail, *ends), OneWay(rail, *ends, None, None, "")) for ends in neighbours(len(bundle.nodes))]
        for rail in rails
    }
    reasons = list(_common_failure(tests, expected))
    for rail, own in () if reasons else tests.items():
        reasons += _failures(bundle, expected, rail, own)
        reasons += _speeds(bundle, expected, rail, own, passed=rail in well)
    results = tuple(_result(rail, own, expected.bar) for rail, own in tests.items())
    return results, tuple(reasons)


def _result(rail: int, own: list[OneWay], bar: Bar) -> RailResult:
    values = [test.measured for test in own if test.measured is not None]
    good = [value for value in values if value >= bar.value and not _is_too_much(value, bar)]
    return RailResult(rail=rail, measured=min(values, default=None), passed=bool(own) and len(good) == len(own))


def _is_too_much(value: float, bar: Bar) -> bool:
    return bar.most is not None and value > bar.most * _ROUNDING


def _common_failure(tests: dict[int, list[OneWay]], expected: PointToPoint) -> Iterator[Finding]:
    """What no test could do, once."""
    every = [test for own in tests.values() for test in own]
    words = {test.words for test in every if test.measured is None}
    if len(words) <= 1 and all(test.measured is None for test in every):
        yield _failure("every rail", next(iter(words), ""), expected)


def _failures(bundle: Bundle, expected: PointToPoint, rail: int, own: list[OneWay]) -> Iterator[Finding]:
    """A finding for each cause."""
    missing = (test for test in own if test.measured is None)
    for words, failed in grouped(missing, attrgetter("words")).items():
        ends = [_ends(bundle, own, test) for test in failed]
        more = f" and {len(ends) - 1} more" if len(ends) > 1 else ""
        yield _failure(f"{_where(expected, rail, own)}, {ends[0]}{more}", words, expected)


def _failure(where: str, words: str, expected: PointToPoint) -> Finding:
    message = f"not measured by {printable(expected.program)}{f'; {printable_line(words)}' if words else ''}"
    remedy = advice(words) or "look at the launcher's log, mend what it names, and measure again"
    if words.startswith("the image has no program"):
        remedy = (
            "take an image with UCX's tools (Debian: ucx-utils), write the program's path as "
            "verification.pointToPoint.program, or leave pointToPoint out"
        )
    elif words.lower().startswith("unsupported memory type"):
        remedy = "take an image whose UCX is built for the GPUs (`ucx_info -v`), or write pointToPoint.memory: host"
    return finding("VFY028", where, message, remedy)


def _speeds(bundle: Bundle, expected: PointToPoint, rail: int, own: list[OneWay], *, passed: bool) -> Iterator[Finding]:
    bar, where = expected.bar, _where(expected, rail, own)
    measured = [(test.measured, test) for test in own if test.measured is not None]
    values = sorted(measured, key=lambda entry: entry[0])
    slow = [(value, test) for value, test in values if value < bar.value]
    if slow:
        remedy = "mend the rail as its other findings say: it did not pass the collective test either"
        if passed:
            remedy = (
                "the rail passed the collective test: look for CUDA or ROCm and verbs in `ucx_info -v` of the image, "
                "and at GPUDirect; with pointToPoint.memory: host the NIC alone is measured"
            )
        named = [f"{_ends(bundle, own, test)}: {value:.2f} GB/s" for value, test in slow[: 1 + _NAMED]]
        rest = f"; also {', '.join(named[1:])}" if named[1:] else ""
        more = f" and {len(slow) - len(named)} more" if len(slow) > len(named) else ""
        yield finding("VFY027", where, f"{named[0]} is below the bar of {bar.value:g} GB/s{rest}{more}", remedy)
    if values and _is_too_much(values[-1][0], bar):
        value, test = values[-1]
        ends = _ends(bundle, own, test)
        message = f"{ends}: {value:.2f} GB/s are more than the {bar.most:g} GB/s that the NIC carries"
        yield finding("VFY029", where, message)


def _where(expected: PointToPoint, rail: int, own: list[OneWay]) -> str:
    """The rail with its device, if all nodes name it alike, and its network."""
    network = expected.networks[rail] if rail < len(expected.networks) else None
    known = [printable(device) for device in _devices(own) if len(_devices(own)) == 1]
    known += [f"network {network}"] if network else []
    return f"rail {rail} ({', '.join(known)})" if known else f"rail {rail}"


def _devices(own: list[OneWay]) -> set[str]:
    return {test.device for test in own if test.device is not None}


def _ends(bundle: Bundle, own: list[OneWay], test: OneWay) -> str:
    """Both nodes by name; the first one with its device where that is not the same on all nodes."""
    source, target = (printable(bundle.nodes[place]) for place in (test.source, test.target))
    device = f" ({printable(test.device)})" if test.device is not None and len(_devices(own)) > 1 else ""
    return f"{source}{device} -> {target}"
