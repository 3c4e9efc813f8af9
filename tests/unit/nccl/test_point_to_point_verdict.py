"""The verdict on what UCX measured between nodes: nothing missing passes, and a slow rail is named whole."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from test_verification_verdict import EXPECTED, alone, run, said

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.busbw import BarUnknownError, point_to_point_bar
from gpu_fabric.nccl.verdict.judging import judge_bundle
from gpu_fabric.nccl.verdict.point_to_point import PointToPoint, bandwidth, neighbours
from gpu_fabric.nccl.verdict.report import Verdict, verdict_lines

HEADING = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
SHAPE = catalog().find("BM.GPU.H200.8")
assert SHAPE is not None
BETWEEN = PointToPoint(point_to_point_bar(SHAPE, 92), tuple(f"rail-{rail}" for rail in range(8)), "ucx_perftest")
# Gb/s of the bar and of the NIC are 368 and 400: 43,869 and 47,683 MiB/s.
HEALTHY, SLOW = 46700.0, 22888.18


def row(mib: float) -> str:
    return f"{HEADING} 23841,80.100,80.100,80.100,{mib:.2f},{mib:.2f},11675,11675"


def lines(changes: dict[tuple[int, int, int], str] | None = None, device: str = "mlx5_{rail}") -> list[str]:
    """What a healthy run of three nodes leaves, with other texts for some tests; an empty one leaves a test out."""
    tests = [(rail, *ends) for rail in range(8) for ends in neighbours(3)]
    texts = {test: row(HEALTHY) for test in tests} | (changes or {})
    found = [(test, device.format(rail=test[0], node=test[1])) for test in tests]
    return [f"{test[0]} {test[1]} {test[2]} {name} {texts[test]}" for test, name in found if texts[test]]


def judged(content: Iterable[str], **changes: bytes | None) -> Verdict:
    text = "".join(f"{line}\n" for line in content).encode()
    return judge_bundle(run(point_to_point=text, **changes), replace(EXPECTED, point_to_point=BETWEEN))


NO_PROGRAM = "failed the image has no program ucx_perftest"
EVERY_TEST = [(rail, *ends) for rail in range(8) for ends in neighbours(3)]


def test_a_healthy_run_passes_and_has_the_lowest_bandwidth_of_each_rail() -> None:
    found = judged(lines({(2, 0, 1): row(44000)}))
    assert (found.passed, said(found)) == (True, [])
    assert [round(rail.measured or 0, 2) for rail in found.point_to_point] == [48.97, 48.97, 46.14, *[48.97] * 5]
    text = list(verdict_lines(found))
    assert "rail between two nodes: 400 Gb/s / 8 = 50 GB/s; 92 % of it is 46 GB/s (source: " in "".join(text)
    assert (
        "rails between two nodes, by UCX: 8 of 8 are as they should be; the slowest is rail 2 with 46.14 GB/s" in text
    )


def test_nothing_of_it_is_in_the_verdict_where_it_is_not_asked_for() -> None:
    found = judge_bundle(run(point_to_point=b"0 0 1 - failed words\n"), EXPECTED)
    assert found.passed
    assert not {key for key in found.model_dump() if key.startswith("point")}


def test_a_slow_rail_is_named_with_its_device_and_network_and_both_nodes() -> None:
    found = judged(lines({(3, 0, 1): row(SLOW), (3, 1, 0): row(SLOW + 1)}))
    assert said(found) == [
        "VFY027 rail 3 (mlx5_3, network rail-3): gpu-a -> gpu-b: 24.00 GB/s is below the bar of 46 GB/s; "
        "also gpu-b -> gpu-a: 24.00 GB/s"
    ]
    assert "ucx_info -v" in (found.findings[0].remedy or "")
    assert [rail.rail for rail in found.point_to_point if not rail.passed] == [3]


def test_a_rail_that_is_slow_for_nccl_too_is_not_laid_on_ucx() -> None:
    found = judged(lines({(3, 0, 1): row(SLOW)}), rail_3__json=alone(24.0))
    (remedy,) = (reason.remedy for reason in found.findings if reason.id == "VFY027")
    assert "collective test either" in (remedy or "")


def test_virtual_functions_are_named_by_node() -> None:
    found = judged(lines({(3, 2, 0): row(SLOW)}, device="mlx5_{node}{rail}"))
    assert said(found) == [
        "VFY027 rail 3 (network rail-3): gpu-c (mlx5_23) -> gpu-a: 24.00 GB/s is below the bar of 46 GB/s"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("failed no end within 60 s", "; no end within 60 s"),
        ("failed Destination is unreachable", "; Destination is unreachable"),
        (f"{HEADING} 23841,80.1", "; its result is not understood: 23841,80.1"),
        (row(HEALTHY).replace("46700.00", "nan"), "; its result is not understood: 23841"),
    ],
)
def test_what_was_not_measured_fails_with_its_reason(text: str, words: str) -> None:
    found = judged(lines({(5, 1, 0): text}))
    (reason,) = said(found)
    where = "rail 5 (mlx5_5, network rail-5), gpu-b -> gpu-a"
    assert reason.startswith(f"VFY028 {where}: not measured by ucx_perftest{words}")
    assert found.point_to_point[5].passed is False


@pytest.mark.parametrize(
    ("content", "words"),
    [([], ""), (lines(dict.fromkeys(EVERY_TEST, NO_PROGRAM)), f"; {NO_PROGRAM.partition(' ')[2]}")],
    ids=["no file", "no program"],
)
def test_what_no_test_could_do_is_said_once(content: list[str], words: str) -> None:
    found = judged(content)
    assert said(found) == [f"VFY028 every rail: not measured by ucx_perftest{words}"]
    assert ("ucx-utils" in (found.findings[0].remedy or "")) == bool(words)


def test_more_than_the_nic_carries_went_another_way() -> None:
    found = judged(lines({(1, 0, 1): row(60000)}))
    assert said(found) == [
        "VFY029 rail 1 (mlx5_1, network rail-1): gpu-a -> gpu-b: 62.91 GB/s are more than the 50 GB/s that the NIC "
        "carries"
    ]


def test_the_unit_is_mebibytes_and_a_row_must_fit_its_heading() -> None:
    assert bandwidth(HEADING, "1,1,1,1,1,1000.00,1,1") == 1.049
    # Of UCX 1.10: another name for the first column alone.
    assert bandwidth(HEADING.replace("50.0_percentile", "typical"), "1,1,1,1,1,1000.00,1,1") == 1.049
    assert bandwidth(HEADING, "1,1,1,1000.00") is None
    assert bandwidth("a,b", "1,2") is None


def test_a_bar_is_a_share_of_a_known_line_rate() -> None:
    shape = catalog().find("BM.GPU4.8")
    unknown = catalog().find("gpu-mi325x8-2048gb-fabric-contracted")
    assert shape is not None
    assert unknown is not None
    assert (point_to_point_bar(shape, 92).value, point_to_point_bar(shape, 85).value) == (11.5, 10.62)
    with pytest.raises(BarUnknownError, match="line rate"):
        point_to_point_bar(unknown, 92)
