"""The verdict on a verification: each rail alone, pairs of nodes on those that are slow, and the whole fabric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fabric.nccl.busbw import Bar, bar_table, given_bar, shape_bar, share_of_bar
from fabric.nccl.verdict.bundle import Bundle
from fabric.nccl.verdict.expectation import Expectation
from fabric.nccl.verdict.judging import judge
from fabric.nccl.verdict.measurement import fast_enough, measured, right_values, whole_table
from fabric.nccl.verdict.report import RailResult, Reason, Verdict, finding, shown
from fabric.nccl.verdict.result import EndsTooEarly, NcclResult, ResultError, read_result
from fabric.nccl.verdict.run import all_there, ended, ended_early, right_test
from fabric.nccl.verdict.transport import transport
from fabric.rules import Severity

_ALL = "the whole fabric"
# A rail alone is measured with one size, which takes seconds.
_LEAST_OF_A_RAIL = 1 << 30


def judge_bundle(bundle: Bundle, expected: Expectation) -> Verdict:
    """The verdict on everything that a verification has measured.

    What was to be measured and is not there fails, and so does a transport that the logs do not prove.

    Raises:
        BarUnknownError: no bar can be derived.
    """
    rails = tuple(range(expected.rails or 0)) if expected.each_rail else bundle.rails
    bar = _rail_bar(expected, len(rails)) if rails else None
    results: list[RailResult] = []
    reasons: list[Reason] = []
    if bar is not None:
        for rail in rails:
            found, against = _rail(bundle, rail, bar, expected)
            results.append(found)
            reasons += against
    verdict = _whole(bundle, expected)
    reasons += verdict.reasons
    return verdict.model_copy(
        update={
            "passed": not any(reason.severity is Severity.ERROR for reason in reasons),
            "rail_bar": bar,
            "rails": tuple(results),
            "reasons": tuple(reasons),
        }
    )


def nothing_measured(reasons: Iterable[str], nodes: Iterable[str] = ()) -> Verdict:
    """The verdict on a run that left no result, by what is known of its end."""
    remedy = "look at the job's pods and their logs; the next `up` runs it again"
    found = tuple(finding("VFY022", "job", reason, remedy) for reason in reasons)
    return _without_result(found, tuple(nodes))


def _whole(bundle: Bundle, expected: Expectation) -> Verdict:
    data = bundle.result("all")
    if data is None:
        return _without_result((_missing(_ALL, bundle.words("all")),), bundle.nodes)
    try:
        return judge(data, expected, bundle.log("all"))
    except ResultError as error:
        return _without_result((_unreadable(_ALL, error),), bundle.nodes)


def _without_result(reasons: tuple[Reason, ...], nodes: tuple[str, ...]) -> Verdict:
    return Verdict(passed=False, bar=None, measured=None, size=None, nodes=nodes, ranks=0, reasons=reasons)


def _rail(bundle: Bundle, rail: int, bar: Bar, expected: Expectation) -> tuple[RailResult, list[Reason]]:
    alone = replace(expected, shapes=(), rails=1, nodes=expected.nodes or len(bundle.nodes) or None)
    seen, reasons = _measured(bundle, f"rail-{rail}", f"rail {rail}", bar, alone)
    bad = [reason for reason in reasons if reason.severity is Severity.ERROR]
    if bad:
        reasons += _pairs(bundle, rail, bar, replace(alone, nodes=2))
    return RailResult(rail=rail, measured=seen, passed=not bad), reasons


def _pairs(bundle: Bundle, rail: int, bar: Bar, expected: Expectation) -> Iterator[Reason]:
    """Which pairs of nodes are bad on a rail, each with its first reason; and the node that all of them share."""
    bad: list[set[str]] = []
    for number, *places in bundle.pairs:
        if number != rail:
            continue
        ends = [_node(bundle, place) for place in places]
        name = "-".join(map(str, ("pair", rail, *places)))
        against = _measured(bundle, name, f"rail {rail}, {' - '.join(ends)}", bar, expected)[1]
        errors = [reason for reason in against if reason.severity is Severity.ERROR]
        if errors:
            bad.append(set(ends))
            yield errors[0]
    shared = set.intersection(*bad) if len(bad) > 1 else set()
    for node in sorted(shared):
        message = f"every pair of nodes that is too slow on this rail has {node} in it"
        remedy = f"look at {node}'s NIC, cable and switch port of rail {rail}; take the node out of use until then"
        yield finding("VFY023", f"rail {rail}, node {node}", message, remedy)


def _node(bundle: Bundle, place: int) -> str:
    return shown(bundle.nodes[place]) if place < len(bundle.nodes) else f"node {place}"


def _measured(
    bundle: Bundle, name: str, where: str, bar: Bar, expected: Expectation
) -> tuple[float | None, list[Reason]]:
    """The bandwidth that a run shows, and what speaks against it."""
    data = bundle.result(name)
    if data is None:
        return None, [_missing(where, bundle.words(name))]
    try:
        result = read_result(data)
    except EndsTooEarly:
        return None, [_at(where, ended_early()), *_said(where, bundle.words(name))]
    except ResultError as error:
        return None, [_unreadable(where, error)]
    found = [_at(where, reason) for reason in _reasons(result, bundle.log(name), bar, expected)]
    return measured(result, expected.operation), found


def _reasons(result: NcclResult, log: bytes, bar: Bar, expected: Expectation) -> Iterator[Reason]:
    yield from ended(result)
    yield from right_test(result, bar, expected)
    yield from all_there(result, expected)
    yield from whole_table(result, _LEAST_OF_A_RAIL)
    yield from right_values(result)
    yield from fast_enough(result, bar, expected.operation)
    yield from transport(result, log, expected)


def _at(where: str, reason: Reason) -> Reason:
    return reason.model_copy(update={"where": f"{where}, {reason.where}"})


def _missing(where: str, words: tuple[str, ...]) -> Reason:
    message = f"not measured{''.join(f'; {shown(word)}' for word in words)}"
    return finding("VFY020", where, message, "look at the launcher's log, mend what it names, and run it again")


def _said(where: str, words: tuple[str, ...]) -> list[Reason]:
    return [_missing(where, words)] if words else []


def _unreadable(where: str, error: ResultError) -> Reason:
    return finding("VFY021", where, str(error), "take an image with nccl-tests 2.17.3 or later")


def _rail_bar(expected: Expectation, rails: int) -> Bar:
    """The bar of one rail, as the plan derives it."""
    if expected.rail_bar is not None:
        return given_bar(expected.rail_bar, expected.bars_from)
    if expected.bar is not None:
        return share_of_bar(given_bar(expected.bar, expected.bars_from), expected.rails or rails)
    nodes = bar_table().tree_nodes
    found = [
        shape_bar(shape, shape.rails, nodes=nodes, ring=True, nvlink=False, operation=expected.operation)
        for shape in expected.shapes
    ]
    return share_of_bar(min(found, key=lambda bar: bar.value), expected.rails or rails)
