"""The verdict on results of nccl-tests: healthy ones pass, and every fault is named."""

import re
from typing import Any

import pytest
from each_case import each
from nccl_logs import log_lines
from verdict_faults import FAULTS, Fault
from verdict_results import expectation, file_of, healthy, log_of, measurement

from gpu_fabric.findings import Severity
from gpu_fabric.nccl.busbw import BarUnknownError, Operation
from gpu_fabric.nccl.verdict.judging import judge
from gpu_fabric.nccl.verdict.report import Verdict, verdict_lines
from gpu_fabric.nccl.verdict.result import Expectation, ResultError

MNNVL_OFF = ("NCCL_ALGO=RING", "NCCL_MNNVL_ENABLE=0")


def errors(verdict: Verdict) -> list[str]:
    return [reason.id for reason in verdict.findings if reason.severity is Severity.ERROR]


def warnings(verdict: Verdict) -> list[str]:
    return [reason.id for reason in verdict.findings if reason.severity is Severity.WARNING]


@each(
    ("shape", "run", "bar"),
    [
        ("BM.GPU4.8", {"busbw": 192.0}, 185),
        ("BM.GPU.B4.8", {"busbw": 189.6}, 185),
        ("BM.GPU.A100-v2.8", {"busbw": 187.0, "nodes": 4, "env": ()}, 185),
        ("BM.GPU.H100.8", {"busbw": 386.0}, 368),
        ("BM.GPU.H100.8", {"busbw": 471.0, "env": ()}, 440),
        ("BM.GPU.H200.8", {"busbw": 481.4, "env": ()}, 440),
        ("BM.GPU.H200.8", {"busbw": 388.0, "env": ("NCCL_ALGO=ring",)}, 368),
        ("BM.GPU.B200.8", {"busbw": 389.0, "nodes": 8, "env": ()}, 368),
        ("BM.GPU.B300.8", {"busbw": 770.0}, 736),
        ("BM.GPU.GB200.4", {"busbw": 191.4, "gpus": 4, "nodes": 4, "env": MNNVL_OFF}, 184),
        ("BM.GPU.GB200-v3.4", {"busbw": 882.5, "gpus": 4, "nodes": 4, "env": ()}, 708),
        ("BM.GPU.GB200-v3.4", {"busbw": 770.0, "gpus": 4, "nodes": 18, "env": ()}, 708),
        ("BM.GPU.GB300.4", {"busbw": 923.0, "gpus": 4, "nodes": 8, "env": ("NCCL_MNNVL_ENABLE=1",)}, 823),
        ("BM.GPU.GB300.4", {"busbw": 895.08, "gpus": 4, "nodes": 18, "env": ("NCCL_MNNVL_ENABLE=1",)}, 823),
        ("BM.GPU.RTXPRO.8", {"busbw": 21.0}, 19),
        ("BM.GPU.GB300.4", {"busbw": 387.0, "gpus": 4, "nodes": 2, "env": MNNVL_OFF}, 368),
        ("BM.GPU.MI300X.8", {"busbw": 360.0}, 350),
        ("BM.GPU.MI355X.8", {"busbw": 360.0}, 350),
        ("BM.GPU.MI300X.8", {"busbw": 356.4, "env": ()}, 350),
        ("gpu-h100x8-640gb-contracted", {"busbw": 386.0}, 368),
        ("gpu-h200x8-1128gb-fabric-contracted", {"busbw": 386.0}, 368),
        ("gpu-b300x8-2304gb-lc-fabric-contracted", {"busbw": 800.0}, 736),
        ("server.dgx-a100.8", {"busbw": 191.0, "nodes": 4, "env": ()}, 184),
        ("server.dgx-h100.8", {"busbw": 386.0}, 368),
        ("server.dgx-b300.8", {"busbw": 770.0}, 736),
        ("server.dgx-gb200.4", {"busbw": 191.4, "gpus": 4, "nodes": 4, "env": MNNVL_OFF}, 184),
    ],
)
def test_a_healthy_result_passes_at_the_bar_of_its_shape(shape: str, run: dict[str, Any], bar: float) -> None:
    verdict = judge(file_of(healthy(**run)), expectation(shape))

    assert (verdict.passed, errors(verdict), verdict.bar and verdict.bar.value) == (True, [], bar)
    assert verdict.measured == run["busbw"]


def test_a_bar_of_the_users_own_needs_neither_shape_nor_ring() -> None:
    verdict = judge(file_of(healthy(79.1, operation=Operation.ALL_TO_ALL, env=())), given(Operation.ALL_TO_ALL))

    assert verdict.passed
    assert verdict.bar is not None
    assert "given by --bar" in verdict.bar.explanation


def given(operation: Operation) -> Expectation:
    return Expectation(bar=70.0, operation=operation)


@each("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_fault_of_the_result_fails_with_its_reason(fault: Fault) -> None:
    document = healthy()
    fault.spoil(document)
    shape = "server.dgx-h200.8" if fault.rule == "VER006" else "BM.GPU.H200.8"
    verdict = judge(file_of(document), expectation(shape))
    said = [f"{reason.path}: {reason.message}" for reason in verdict.findings if reason.id == fault.rule]

    assert not verdict.passed
    assert any(all(word in text for word in fault.words) for text in said), verdict.findings


def odd_sizes() -> dict[str, Any]:
    """Sizes that do not divide by the ranks, as nccl-tests rounds them."""
    document = healthy(nodes=3, operation=GATHER)
    for row in document["results"]:
        row["size"] -= row["size"] % (16 * 24)
    return document


def of_format_3() -> dict[str, Any]:
    """What the format has beside what is read."""
    document = healthy() | {"version": 3}
    document["config"]["per_iter_skip"] = 0
    document["results"][0]["out_of_place_per_iter"] = {"min_us": 1.0, "times_us": [1.0]}
    return document


GATHER, SCATTER = Operation.ALL_GATHER, Operation.REDUCE_SCATTER
PROGRAM, *OPTIONS = healthy()["args"]
SOUND = {
    "all-gather that was asked for": (healthy(operation=GATHER), expectation(operation=GATHER)),
    "reduce-scatter that was asked for": (healthy(operation=SCATTER), expectation(operation=SCATTER)),
    "sizes that do not divide": (odd_sizes(), expectation(operation=GATHER)),
    "the line rate itself": (healthy(400.0), expectation()),
    "a ring for the operation alone": (
        healthy(env=("NCCL_ALGO=tree;allreduce:ring",)),
        expectation("server.dgx-h200.8"),
    ),
    "format 2": (healthy() | {"version": 2}, expectation()),
    "format 3": (of_format_3(), expectation()),
    # A suffix is the builder's own.
    **{
        name: (healthy() | {"args": [f"/usr/bin/{name}", *OPTIONS]}, expectation())
        for name in ("all_reduce_perf_mpi", "all_reduce_perf-cuda12", "all_reduce_perf.mpi")
    },
    # Options that hide nothing.
    **{
        words: (healthy() | {"args": [PROGRAM, *OPTIONS, *words.split()]}, expectation())
        for words in ("-a 1", "-a 3", "-n 50 -w 10", "-n 1 -n 20")
    },
}


@each("name", SOUND)
def test_a_sound_result_passes_however_it_is_written(name: str) -> None:
    document, wanted = SOUND[name]

    assert judge(file_of(document), wanted).passed


LOG = log_lines()
SOUND_LOGS = {
    "words of the launcher before each line": [f"[1,0]<stdout>:{line}" for line in LOG],
    "a connection through a neighbour's NIC": [
        line.replace("NET/IB/3/GDRDMA", "NET/IB/3(11)/GDRDMA/Shared") for line in LOG
    ],
    "virtual functions with names of their own": [re.sub(r"(?<=]mlx5_)\d+", r"10\g<0>", line) for line in LOG],
    # NVIDIA's plug-ins for RDMA.
    **{
        name: [line.replace("via NET/IB/", f"via NET/{name}/") for line in LOG]
        for name in ("IBext_v8", "NCCL RDMA Plugin v10")
    },
    # No warnings of the network.
    **{
        line: [*LOG, line]
        for line in (
            "worker-0:200:300 [0] init.cc:1700 NCCL WARN Missing iommu=pt from kernel command line",
            "[2026-03-03 12:11:38] worker-0:200:300 [0] transport/nvls.cc:82 NCCL WARN Failed to bind NVLink SHARP",
            "worker-0:200:300 [0] NCCL INFO transport/net_ib.cc:1134 -> 6",
            "worker-0:200:300 [0] transport/net_ib.cc:300 NCCL WARN NET/IB : Unable to open device mlx5_2",
            "worker-0:200:300 [0] misc/ibvwrap.cc:113 NCCL WARN Call to ibv_open_device failed",
        )
    },
}


@each("name", SOUND_LOGS)
def test_a_sound_log_speaks_against_nothing(name: str) -> None:
    assert judge(file_of(healthy()), expectation(), log_of(SOUND_LOGS[name])).findings == ()


def test_fewer_nodes_than_asked_for_fail() -> None:
    verdict = judge(file_of(healthy()), expectation(nodes=3))

    assert errors(verdict) == ["VER008"]
    assert "2 nodes took part (worker-0, worker-1); 3 were asked for" in verdict.findings[0].message


def test_two_nodes_without_a_ring_are_held_to_the_bar_for_two_nodes() -> None:
    verdict = judge(file_of(healthy(388.0, env=())), expectation())

    assert (errors(verdict), verdict.bar and verdict.bar.value) == (["VER017"], 440)


def test_a_result_between_bar_and_common_is_remarked_on() -> None:
    verdict = judge(file_of(healthy(370.0)), expectation())

    assert (verdict.passed, warnings(verdict)) == (True, ["VER018", "VER021"])


@pytest.mark.parametrize(("busbw", "passed"), [(749.0, True), (760.0, False), (1e5, False)])
def test_a_tree_between_two_nodes_shows_at_most_what_its_formula_makes_of_the_rails(busbw: float, passed: bool) -> None:
    verdict = judge(file_of(healthy(busbw, env=())), expectation())

    assert (verdict.passed, "VER019" in errors(verdict)) == (passed, not passed)


@pytest.mark.parametrize(("env", "passed"), [(("NCCL_ALGO=RING",), False), ((), True)])
def test_a_bar_of_the_users_own_leaves_what_the_rails_carry_in_a_ring(env: tuple[str, ...], passed: bool) -> None:
    verdict = judge(file_of(healthy(480.0, env=env)), expectation(bar=300.0))

    assert (verdict.passed, "VER019" in errors(verdict)) == (passed, not passed)


def test_a_nic_of_the_node_network_that_nccl_lists_and_leaves_alone_does_no_harm() -> None:
    listed = [line.replace("[RO]", "[8]mlx5_2:1/RoCE [RO]") for line in log_lines()]
    used = [*listed, *(line.replace("via NET/IB/3/", "via NET/IB/8/") for line in listed if "via NET/IB/3/" in line)]

    assert judge(file_of(healthy()), expectation(), log_of(listed)).findings == ()
    assert set(errors(judge(file_of(healthy()), expectation(), log_of(used)))) == {"VER027"}


def test_nodes_of_two_shapes_are_each_held_to_the_names_of_their_own() -> None:
    both = expectation("BM.GPU.H200.8").shapes + expectation("BM.GPU.H100.8").shapes
    names = [sorted({nic.rdma_device for nic in shape.nics}) for shape in both]
    assert names[0] != names[1]

    for shape in both:
        verdict = judge(file_of(healthy()), expectation(shapes=both), log_of(log_lines(shape.name)))
        assert "VER027" not in errors(verdict)


def test_figures_that_do_not_fit_are_remarked_on_and_the_lowest_counts() -> None:
    document = healthy()
    document["results"][3]["out_of_place"]["bus_bw"] = 999.0
    verdict = judge(file_of(document), expectation())

    assert (verdict.passed, warnings(verdict)) == (True, ["VER020", "VER021"])
    assert verdict.measured == 388.0


def test_every_beginning_of_a_result_is_a_failed_run() -> None:
    whole = file_of(healthy(nodes=2, gpus=2))
    beginnings = [whole[:length] for length in range(1, len(whole))]

    assert {tuple(errors(judge(part, expectation()))) for part in beginnings} == {("VER001",)}


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xff\xfe", "UTF-8"),
        (b"# nThread 1 nGpus 1 minBytes 8\n", "-J FILE"),
        (b"job started\n# nccl-tests version 2.17.6\n", "-J FILE"),
        (b"[]", "nccl_version"),
        (b"{}", "nccl_version"),
        (b"{'a': 1}", "no JSON"),
        (b'{"version": 1, "version": 1}', "twice"),
        (b'{"a": NaN}', "not finite"),
        (b"[" * 100_000, "no JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "no JSON"),
    ],
)
def test_what_is_no_result_is_refused_with_the_reason(data: bytes, word: str) -> None:
    with pytest.raises(ResultError, match=word):
        judge(data, expectation())


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("version", 4, "format 1, 2 or 3"),
        ("version", 0, "format 1, 2 or 3"),
        ("version", "3", "format 1, 2 or 3"),
        ("config", [], "config"),
        ("results", "none", "results"),
        ("nccl_version", "x", "nccl"),
    ],
)
def test_another_form_of_the_file_is_refused_with_the_place(key: str, value: Any, word: str) -> None:
    with pytest.raises(ResultError, match=word):
        judge(file_of(healthy() | {key: value}), expectation())


@pytest.mark.parametrize(
    ("shape", "word"),
    [
        ("BM.GPU.GM4.8", "line rate of the RDMA NICs of BM.GPU.GM4.8 is not published"),
        ("BM.GPU.H100T.8", "is not published"),
        ("gpu-mi325x8-2048gb-fabric-contracted", "is not published"),
        ("server.hgx-h100.8", "is not published"),
        ("BM.GPU.GB200.4", "NCCL_MNNVL_ENABLE=0"),
    ],
)
def test_no_bar_is_guessed_where_a_fact_is_not_published(shape: str, word: str) -> None:
    with pytest.raises(BarUnknownError, match=word):
        judge(file_of(healthy()), expectation(shape))


def test_the_environment_of_the_job_is_never_shown() -> None:
    document = healthy()
    document["env"] = ["TOKEN=do-not-show-me", "NCCL_ALGO=TREE"]
    verdict = judge(file_of(document), expectation("server.dgx-h200.8"))

    assert "do-not-show-me" not in verdict.model_dump_json() + "\n".join(verdict_lines(verdict))


def test_a_row_of_its_own_speed_is_judged_by_its_lowest_column() -> None:
    document = healthy()
    document["results"].append(
        {**document["results"][3], "in_place": measurement(8 << 30, 350.0, 16, Operation.ALL_REDUCE)}
    )

    assert judge(file_of(document), expectation()).measured == 350.0
