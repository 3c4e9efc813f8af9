"""The verdict on one result of nccl-tests, and on a verification: rails, the causes of slow ones, whole fabric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from gpu_fabric.base.enumeration import first_names
from gpu_fabric.findings import Finding, errors, finding
from gpu_fabric.nccl.busbw import Bar, BarUnknownError, bar_table, given_bar, share_of_bar
from gpu_fabric.nccl.verdict.bundle import Bundle
from gpu_fabric.nccl.verdict.checks import (
    check_end,
    check_nodes_and_ranks,
    check_speed,
    check_table,
    check_test,
    check_values,
    early_end,
    judged_bandwidth,
)
from gpu_fabric.nccl.verdict.pairs import Culprits, Pair, culprits
from gpu_fabric.nccl.verdict.point_to_point import judge_point_to_point
from gpu_fabric.nccl.verdict.report import RailResult, Verdict, printable
from gpu_fabric.nccl.verdict.result import EndsTooEarly, Expectation, NcclResult, ResultError, read_result
from gpu_fabric.nccl.verdict.transport import check_transport, known_errors, settings_of
from gpu_fabric.symptoms import advice

_ALL = "the whole fabric"
# A rail is measured with a single size, which takes seconds.
_LEAST_OF_A_RAIL = 1 << 30


def judge(data: bytes, expected: Expectation, log: bytes | None = None) -> Verdict:
    """The verdict on a result file of nccl-tests, and on NCCL's log if there is one.

    Missing evidence counts against the run: it passes only if everything was shown.

    Raises:
        ResultError: the file is not a result of nccl-tests.
        BarUnknownError: no bar can be derived for the run.
    """
    try:
        result = read_result(data)
    except EndsTooEarly:
        return _fail_without_result((early_end(), *known_errors(log, ())), ())
    bar = expected.bar_of(result.with_settings(next(iter(settings_of(log)), {})))
    reasons = tuple(_check_run(result, log, bar, bar_table().least_bytes, expected))
    return Verdict(
        passed=not errors(reasons),
        bar=bar,
        measured=judged_bandwidth(result, expected.operation),
        size=max((row.size for row in result.results), default=None),
        nodes=result.nodes,
        ranks=result.ranks,
        findings=reasons,
    )


def judge_bundle(bundle: Bundle, expected: Expectation) -> Verdict:
    """The verdict on all measurements of a verification.

    A missing measurement fails, and so does a transport that the logs do not prove.

    Raises:
        BarUnknownError: no bar can be derived.
    """
    rails = tuple(range(expected.rails or 0)) if expected.each_rail else bundle.rails
    bar = _rail_bar(expected, len(rails)) if rails else None
    results: list[RailResult] = []
    reasons: list[Finding] = []
    if bar is not None:
        for rail in rails:
            found, against = _judge_rail(bundle, rail, bar, expected)
            results.append(found)
            reasons += against
    between: dict[str, Any] = {}
    if (asked := expected.point_to_point) is not None:
        well = {rail.rail for rail in results if rail.passed}
        lowest, more = judge_point_to_point(bundle, asked, rails, well)
        between = {"point_to_point_bar": asked.bar, "point_to_point": lowest}
        reasons += more
    verdict = _judge_whole(bundle, expected)
    reasons += verdict.findings
    return verdict.model_copy(
        update={
            "passed": not errors(reasons),
            "rail_bar": bar,
            "rails": tuple(results),
            "findings": tuple(reasons),
            **between,
        }
    )


def nothing_measured(reasons: Iterable[str], nodes: Iterable[str] = ()) -> Verdict:
    """The verdict on a run without a result, from the known reasons for its end."""
    remedy = "look at the job's pods and their logs; the next `up` runs it again"
    found = tuple(finding("VFY022", "job", reason, advice(reason) or remedy) for reason in reasons)
    return _fail_without_result(found, tuple(nodes))


def _judge_whole(bundle: Bundle, expected: Expectation) -> Verdict:
    data = bundle.result("all")
    if data is None:
        return _fail_without_result(tuple(_without_result(_ALL, bundle, "all")), bundle.nodes)
    try:
        return judge(data, expected, bundle.log("all"))
    except ResultError as error:
        return _fail_without_result((_unreadable_result(_ALL, error),), bundle.nodes)


def _fail_without_result(reasons: tuple[Finding, ...], nodes: tuple[str, ...]) -> Verdict:
    return Verdict(passed=False, bar=None, measured=None, size=None, nodes=nodes, ranks=0, findings=reasons)


def _judge_rail(bundle: Bundle, rail: int, bar: Bar, expected: Expectation) -> tuple[RailResult, list[Finding]]:
    by_itself = replace(expected, shapes=(), rails=1, nodes=expected.nodes or len(bundle.nodes) or None)
    seen, reasons = _measure(bundle, f"rail-{rail}", f"rail {rail}", bar, by_itself)
    bad = bool(errors(reasons))
    if bad:
        reasons += _find_cause(bundle, rail, bar, by_itself)
    return RailResult(rail=rail, measured=seen, passed=not bad), reasons


def _find_cause(bundle: Bundle, rail: int, bar: Bar, expected: Expectation) -> Iterator[Finding]:
    """The cause of a slow rail, as far as measuring it alone and by pairs of nodes shows it."""
    where = f"rail {rail}"
    if bundle.result(f"alone-{rail}") is not None:
        alone, against = _measure(bundle, f"alone-{rail}", where, bar, expected)
        if not errors(against) and alone is not None:
            message = f"{alone:.2f} GB/s where no other rail is in use: it is slow only among the others"
            remedy = "compare the PCIe topology and the switches that it shares with other rails, then measure again"
            yield finding("VFY024", where, message, remedy)
    pairs = [pair for pair in bundle.pairs if pair.rail == rail]
    if pairs:
        yield from _judge_pairs(bundle, rail, pairs, bar, replace(expected, nodes=2))


def _judge_pairs(bundle: Bundle, rail: int, pairs: list[Pair], bar: Bar, expected: Expectation) -> Iterator[Finding]:
    """The slow pairs of nodes, each with its first reason, then the nodes and paths that explain them."""
    for pair in pairs:
        name = f"pair-{rail}-{pair.first}-{pair.second}"
        if not pair.good and (bundle.result(name) is not None or bundle.log(name)):
            ends = f"{_node(bundle, pair.first)} - {_node(bundle, pair.second)}"
            yield from errors(_measure(bundle, name, f"rail {rail}, {ends}", bar, expected)[1])[:1]
    found = culprits(pairs)
    for place, others in found.nodes.items():
        node = _node(bundle, place)
        proven = " and ".join(_node(bundle, other) for other in others[:2])
        message = f"{node} is too slow with {proven}, which reached the bar with others"
        remedy = f"look at {node}'s NIC, cable and switch port of rail {rail}; take the node out of use until then"
        yield finding("VFY023", f"rail {rail}, node {node}", message, remedy)
    for first, second in found.paths:
        ends = f"{_node(bundle, first)} - {_node(bundle, second)}"
        message = "both nodes reached the bar with others, so the path between them is slow"
        remedy = f"look at the links between the switches of rail {rail} that these two nodes are connected to"
        yield finding("VFY025", f"rail {rail}, {ends}", message, remedy)
    yield from _unexplained(bundle, rail, found)


def _unexplained(bundle: Bundle, rail: int, found: Culprits) -> Iterator[Finding]:
    """What the pairs leave open."""
    if not found.proven:
        message = "no pair of nodes reached the bar: the cause is common to all nodes"
        remedy = "look at the switches of this rail, at the settings of all NICs, and at the image"
    elif found.undecided:
        nodes = first_names([_node(bundle, place) for place in found.undecided], 8)
        message = f"the rounds of pairs ended before it was known whether {nodes} or their partners are slow"
        remedy = "mend what is named, and measure again"
    elif not found.nodes and not found.paths:
        message = "each pair of neighbouring nodes reached the bar: the rail is slow only with all nodes"
        remedy = "look at the switches between all nodes of this rail: their uplinks, ECN and PFC counters"
    else:
        return
    yield finding("VFY026", f"rail {rail}", message, remedy)


def _node(bundle: Bundle, place: int) -> str:
    return printable(bundle.nodes[place]) if place < len(bundle.nodes) else f"node {place}"


def _measure(
    bundle: Bundle, name: str, where: str, bar: Bar, expected: Expectation
) -> tuple[float | None, list[Finding]]:
    """The measured bandwidth of a run, and the reasons why it fails."""
    data = bundle.result(name)
    if data is None:
        return None, _without_result(where, bundle, name)
    try:
        result = read_result(data)
    except EndsTooEarly:
        return None, _without_result(where, bundle, name, _add_place(where, early_end()))
    except ResultError as error:
        return None, [_unreadable_result(where, error)]
    found = [
        _add_place(where, reason) for reason in _check_run(result, bundle.log(name), bar, _LEAST_OF_A_RAIL, expected)
    ]
    return judged_bandwidth(result, expected.operation), found


def _check_run(result: NcclResult, log: bytes | None, bar: Bar, least: int, expected: Expectation) -> Iterator[Finding]:
    """Every reason against a run, whose table must reach `least` bytes, and what else its log says of a failed one."""
    found = list(_reasons(result, log, bar, least, expected))
    yield from found
    if errors(found):
        yield from known_errors(log, found)


def _reasons(result: NcclResult, log: bytes | None, bar: Bar, least: int, expected: Expectation) -> Iterator[Finding]:
    yield from check_end(result)
    # Variables of a file, and those that another program set, are in the log alone.
    logged = [result.with_settings(settings) for settings in settings_of(log)] or [result]
    yield from dict.fromkeys(reason for each in logged for reason in check_test(each, bar, expected))
    yield from check_nodes_and_ranks(result, expected)
    yield from check_table(result, least)
    yield from check_values(result)
    yield from check_speed(result, bar, expected.operation)
    yield from check_transport(result, log, expected)


def _add_place(where: str, reason: Finding) -> Finding:
    return reason.model_copy(update={"path": f"{where}, {reason.path}"})


def _without_result(where: str, bundle: Bundle, name: str, *found: Finding) -> list[Finding]:
    """Why a run has no whole result: what is known of it, the launcher's words, and what its log says."""
    reasons, words = list(found), bundle.words(name)
    if words or not reasons:
        message = f"not measured{''.join(f'; {printable(word)}' for word in words)}"
        remedy = advice("\n".join(words)) or "look at the launcher's log, mend what it names, and run it again"
        reasons.append(finding("VFY020", where, message, remedy))
    return [*reasons, *(_add_place(where, known) for known in known_errors(bundle.log(name), reasons))]


def _unreadable_result(where: str, error: ResultError) -> Finding:
    return finding("VFY021", where, str(error))


def _rail_bar(expected: Expectation, rails: int) -> Bar:
    """The bar of one rail: the user's, or the derived one."""
    if expected.rail_bar is not None:
        own = given_bar(expected.rail_bar, expected.bars_from)
    elif expected.bar is not None:
        own = share_of_bar(given_bar(expected.bar, expected.bars_from), expected.rails or rails)
    else:
        return _derived_rail_bar(expected, rails)
    most = None
    with suppress(BarUnknownError):
        most = _derived_rail_bar(expected, rails).most
    return own.model_copy(update={"most": most})


def _derived_rail_bar(expected: Expectation, rails: int) -> Bar:
    whole = expected.lowest_bar(None, nodes=bar_table().tree_nodes, ring=True, nvlink=False)
    return share_of_bar(whole, expected.rails or rails)
