"""Whatever the bytes, the verdict is a verdict or a refusal; and no lower bandwidth makes a failed run pass."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from nccl_logs import log_lines
from verdict_results import expectation, file_of, healthy, log_of

from gpu_fabric.nccl.verdict.judging import judge
from gpu_fabric.nccl.verdict.report import Verdict
from gpu_fabric.nccl.verdict.result import Expectation, ResultError

WHOLE = file_of(healthy(nodes=2, gpus=2))
GIVEN = Expectation(bar=368.0)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
bandwidths = st.floats(min_value=300, max_value=400, allow_nan=False)


def verdict_or_refusal(data: bytes, log: bytes | None = None) -> Verdict | None:
    try:
        return judge(data, GIVEN, log)
    except ResultError:
        return None


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document, by its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in [(*path, key), *places(value[key], (*path, key))]]


@given(data=st.binary(max_size=200))
def test_any_bytes_are_judged_or_refused_and_never_pass(data: bytes) -> None:
    verdict = verdict_or_refusal(data)

    assert verdict is None or not verdict.passed


@given(at=st.integers(0, len(WHOLE) - 1), byte=st.integers(0, 255))
def test_any_byte_changed_is_judged_or_refused(at: int, byte: int) -> None:
    verdict_or_refusal(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_value_anywhere_is_judged_or_refused(data: st.DataObject) -> None:
    document = healthy(nodes=2, gpus=2)
    *path, key = data.draw(st.sampled_from(places(document)))
    holder: Any = document
    for step in path:
        holder = holder[step]
    holder[key] = data.draw(values)

    verdict_or_refusal(file_of(document))


@given(log=st.binary(max_size=300))
def test_any_log_is_judged_and_proves_nothing(log: bytes) -> None:
    assert not judge(file_of(healthy()), expectation(), log).passed


@given(at=st.integers(0, 20), line=st.text(max_size=60))
def test_any_further_line_of_a_log_is_judged(at: int, line: str) -> None:
    lines = log_lines()
    lines.insert(at, f"worker-0:1:2 [0] NCCL INFO {line}".encode("utf-8", "replace").decode())

    judge(file_of(healthy()), expectation(), log_of(lines))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_lower_bandwidth_never_makes_a_failed_run_pass(data: st.DataObject) -> None:
    document = healthy()
    row = document["results"][data.draw(st.integers(0, 3))]
    for column in ("out_of_place", "in_place"):
        for key in ("bus_bw", "alg_bw"):
            row[column][key] = data.draw(bandwidths)
    before = judge(file_of(document), expectation()).passed
    column, key = data.draw(
        st.sampled_from([(c, k) for c in ("out_of_place", "in_place") for k in ("bus_bw", "alg_bw")])
    )
    row[column][key] = data.draw(st.floats(min_value=0, max_value=row[column][key], allow_nan=False))

    assert before or not judge(file_of(document), expectation()).passed
