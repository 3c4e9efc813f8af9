"""The verdict on one result of nccl-tests."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.nccl.busbw import Bar, bar_table
from fabric.nccl.verdict.expectation import Expectation
from fabric.nccl.verdict.measurement import fast_enough, measured, right_values, whole_table
from fabric.nccl.verdict.report import Reason, Verdict
from fabric.nccl.verdict.result import EndsTooEarly, NcclResult, read_result
from fabric.nccl.verdict.run import all_there, ended, ended_early, right_test
from fabric.nccl.verdict.transport import transport
from fabric.rules import Severity


def judge(data: bytes, expected: Expectation, log: bytes | None = None) -> Verdict:
    """The verdict on a result file of nccl-tests, with NCCL's log where there is one.

    Whatever is missing counts against the run: it passes only where everything was shown.

    Raises:
        ResultError: the file is no result of nccl-tests.
        BarUnknownError: no bar can be derived for the run.
    """
    try:
        result = read_result(data)
    except EndsTooEarly:
        return Verdict(passed=False, bar=None, measured=None, size=None, nodes=(), ranks=0, reasons=(ended_early(),))
    bar = expected.bar_of(result)
    reasons = tuple(_reasons(result, bar, expected, log))
    return Verdict(
        passed=not any(reason.severity is Severity.ERROR for reason in reasons),
        bar=bar,
        measured=measured(result, expected.operation),
        size=max((row.size for row in result.results), default=None),
        nodes=result.nodes,
        ranks=result.ranks,
        reasons=reasons,
    )


def _reasons(result: NcclResult, bar: Bar, expected: Expectation, log: bytes | None) -> Iterator[Reason]:
    yield from ended(result)
    yield from right_test(result, bar, expected)
    yield from all_there(result, expected)
    yield from whole_table(result, bar_table().least_bytes)
    yield from right_values(result)
    yield from fast_enough(result, bar, expected.operation)
    yield from transport(result, log, expected)
