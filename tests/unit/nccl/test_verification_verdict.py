"""The verdict on a whole verification: each rail alone, pairs of nodes, and the fabric; nothing missing passes."""

import base64
import gzip
import hashlib
import io
import tarfile
from dataclasses import replace

import pytest
from nccl_logs import log_lines
from verdict_results import GIB, expectation, file_of, healthy, log_of

from gpu_fabric.nccl.verdict.bundle import Bundle, BundleError, join_parts, read_bundle, script_messages
from gpu_fabric.nccl.verdict.judging import judge_bundle, nothing_measured
from gpu_fabric.nccl.verdict.report import Verdict, verdict_lines

RAILS = range(8)
EXPECTED = replace(expectation(), nodes=3, each_rail=True)


def alone(busbw: float = 48.0, nodes: int = 3) -> bytes:
    """A rail's own result: one GPU a node, one size."""
    document = healthy(busbw, nodes=nodes, gpus=1)
    document["config"] |= {"minimum_bytes": GIB, "maximum_bytes": GIB}
    document["results"] = document["results"][:1]
    return file_of(document)


def rail_log(nodes: int = 3) -> bytes:
    return log_of(
        [
            line
            for node in range(nodes)
            for line in (
                f"worker-{node}:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]",
                f"worker-{node}:1:2 [0] NCCL INFO Channel 00/0 : {node}[0] -> 0[0] [send] via NET/IB/0/GDRDMA",
            )
        ]
    )


def run(**changes: bytes | None) -> Bundle:
    """What a healthy run leaves; files by name, with `_` for `-` and `__` for the dot, changed or left out (None)."""
    files: dict[str, bytes] = {
        "nodes": b"worker-0 gpu-a\nworker-1 gpu-b\nworker-2 gpu-c\n",
        "rails": b"".join(b"%d net%d - 0\n" % (rail, rail + 1) for rail in RAILS),
        "all.json": file_of(healthy(nodes=3)),
        "all.log": log_of(log_lines(nodes=3)),
    }
    for rail in RAILS:
        files |= {f"rail-{rail}.json": alone(), f"rail-{rail}.log": rail_log()}
    for name, data in changes.items():
        key = name.replace("__", ".").replace("_", "-")
        if data is None:
            del files[key]
        else:
            files[key] = data
    return Bundle(files)


def verdict(**changes: bytes | None) -> Verdict:
    return judge_bundle(run(**changes), EXPECTED)


def said(found: Verdict) -> list[str]:
    return [f"{reason.id} {reason.path}: {reason.message}" for reason in found.findings]


def test_a_healthy_run_passes_with_every_rails_bandwidth() -> None:
    found = verdict()
    assert (found.passed, found.measured, said(found)) == (True, 388.0, [])
    assert [rail.measured for rail in found.rails] == [48.0] * 8
    assert found.rail_bar is not None
    assert found.rail_bar.value == 46


def test_nodes_have_their_own_names_wherever_their_pods_are_named() -> None:
    found = verdict(all__json=file_of(healthy(nodes=3, gpus=7)))
    assert found.nodes == ("gpu-a", "gpu-b", "gpu-c")
    assert [reason.path for reason in found.findings] == ["node gpu-a", "node gpu-b", "node gpu-c"]


def test_a_name_that_begins_another_is_not_taken_for_it() -> None:
    bundle = Bundle({"nodes": b"w-1 gpu-a\nw-10 gpu-b\n", "all.log": b"w-10:1 w-1:1 w-100:1 xw-1:1"})
    assert bundle.log("all") == b"gpu-b:1 gpu-a:1 w-100:1 xw-1:1"


def test_a_slow_rail_fails_although_the_whole_fabric_passes() -> None:
    found = verdict(rail_3__json=alone(24.0))
    assert not found.passed
    assert said(found) == [f"VER017 rail 3, size {GIB}: 24.00 GB/s is below the bar of 46 GB/s"]
    assert [rail.rail for rail in found.rails if not rail.passed] == [3]


def slow_rail(*outcomes: str, alone_again: float = 24.0) -> Verdict:
    """Rail 3 is slow; alone, and in these pairs."""
    slow = {}
    for first, second in (outcome.split()[:2] for outcome in outcomes if outcome.endswith("bad")):
        slow |= {f"pair_3_{first}_{second}__json": alone(24.0, nodes=2), f"pair_3_{first}_{second}__log": rail_log(2)}
    return verdict(
        rail_3__json=alone(24.0),
        alone_3__json=alone(alone_again),
        alone_3__log=rail_log(),
        pairs="".join(f"3 {outcome}\n" for outcome in outcomes).encode(),
        **slow,
    )


def causes(found: Verdict) -> list[str]:
    assert not found.passed
    return [line for line in said(found) if line.startswith("VFY02")]


def test_a_node_that_is_slow_with_two_of_which_one_is_proven_is_named() -> None:
    found = slow_rail("0 1 bad", "1 2 bad", "2 0 good")
    wheres = [reason.path for reason in found.findings]
    assert f"rail 3, gpu-a - gpu-b, size {GIB}" in wheres
    assert not any("gpu-c - gpu-a" in where for where in wheres)
    assert causes(found) == [
        "VFY023 rail 3, node gpu-b: gpu-b is too slow with gpu-a and gpu-c, which reached the bar with others"
    ]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ("bad good good", "VFY025 rail 3, gpu-a - gpu-b: both nodes reached the bar with others"),
        ("bad bad bad", "VFY026 rail 3: no pair of nodes reached the bar"),
        ("good good good", "VFY026 rail 3: each pair of neighbouring nodes reached the bar"),
    ],
)
def test_no_node_is_blamed_but_a_path_where_both_of_its_nodes_are_fast_with_others(pairs: str, said: str) -> None:
    between = zip(("0 1", "1 2", "2 0"), pairs.split(), strict=True)
    (cause,) = causes(slow_rail(*(f"{nodes} {found}" for nodes, found in between)))

    assert cause.startswith(said)


def test_a_node_of_which_the_rounds_showed_too_little_is_called_undecided() -> None:
    (cause,) = causes(slow_rail("0 1 good", "1 2 bad"))
    assert "before it was known whether gpu-c or their partners are slow" in cause


def test_a_rail_that_is_slow_only_among_others_fails_and_is_told_from_a_slow_one() -> None:
    found = slow_rail(alone_again=48.0)
    assert causes(found) == [
        "VFY024 rail 3: 48.00 GB/s where no other rail is in use: it is slow only among the others"
    ]
    assert [rail.measured for rail in found.rails if not rail.passed] == [24.0]


def test_a_rail_that_was_not_measured_fails_with_the_launchers_words() -> None:
    words = b"gpu-fabric: rail 2: no RDMA device behind net3 on node gpu-b\ngpu-fabric: rail-2 ended with status 1\n"
    found = verdict(rail_2__json=None, rail_2__log=words)
    assert said(found) == [
        "VFY020 rail 2: not measured; rail 2: no RDMA device behind net3 on node gpu-b; rail-2 ended with status 1"
    ]


def test_a_fabric_that_was_not_measured_as_a_whole_fails_although_every_rail_passes() -> None:
    found = verdict(all__json=None, all__log=b"gpu-fabric: all did not end within 60 s\n")
    assert not found.passed
    assert "VFY020 the whole fabric: not measured; all did not end within 60 s" in said(found)


@pytest.mark.parametrize("name", ["rail_5__json", "all__json"])
def test_a_result_that_cannot_be_read_fails_with_its_place(name: str) -> None:
    found = verdict(**{name: b"# nccl-tests version 2.13"})
    assert not found.passed
    assert [reason.id for reason in found.findings] == ["VFY021"]


@pytest.mark.parametrize("name", ["rail_5__json", "all__json"])
def test_a_result_that_stops_early_fails(name: str) -> None:
    found = verdict(**{name: alone()[:200]})
    assert "VER001" in [reason.id for reason in found.findings]


@pytest.mark.parametrize("name", ["rail_5__log", "all__log"])
def test_a_transport_that_no_log_proves_fails(name: str) -> None:
    found = verdict(**{name: None})
    assert {reason.id for reason in found.findings} == {"VER024"}
    assert not found.passed


def test_a_rail_that_too_few_nodes_took_part_in_fails() -> None:
    found = verdict(rail_0__json=alone(nodes=2), rail_0__log=rail_log(2))
    assert "VER008" in [reason.id for reason in found.findings]


def test_every_rail_of_the_stack_is_asked_for_even_where_the_run_was_to_measure_fewer() -> None:
    found = verdict(rails=b"0 net1 - 0\n", rail_7__json=None, rail_7__log=None)
    assert said(found) == ["VFY020 rail 7: not measured"]


def test_without_a_stack_the_rails_are_those_that_the_run_was_to_measure() -> None:
    found = judge_bundle(run(rail_7__json=None), replace(EXPECTED, shapes=(), rails=None, bar=380.0, each_rail=False))
    assert "VFY020 rail 7: not measured" in said(found)
    assert found.rail_bar is not None
    assert found.rail_bar.value == 47.5


def test_a_bar_of_ones_own_for_rails_is_explained_by_who_gave_it() -> None:
    found = judge_bundle(run(), replace(EXPECTED, rail_bar=49.0, bars_from="the stack file"))
    assert found.rail_bar is not None
    assert found.rail_bar.explanation == "49 GB/s, given by the stack file"
    assert len(found.findings) == 8


@pytest.mark.parametrize("changes", [{}, {"rail_bar": 40.0}, {"bar": 320.0}])
def test_a_rail_that_shows_more_than_it_carries_was_not_measured(changes: dict[str, float]) -> None:
    found = judge_bundle(run(rail_3__json=alone(53.0)), replace(EXPECTED, **changes))
    assert [reason.id for reason in found.findings if reason.path.startswith("rail 3")] == ["VER019"]


def test_the_lines_for_people_count_the_rails_and_name_the_slowest() -> None:
    lines = list(verdict_lines(verdict(rail_3__json=alone(24.0))))
    assert "rails: 7 of 8 are as they should be; the slowest is rail 3 with 24.00 GB/s" in lines
    assert lines[-1] == "failed"


def test_a_run_without_any_result_says_what_is_known_of_its_end() -> None:
    found = nothing_measured(["the job is Failed: DeadlineExceeded", "pod x: Insufficient nvidia.com/gpu"])
    assert not found.passed
    assert [reason.id for reason in found.findings] == ["VFY022", "VFY022"]


# How results leave the pods


def packed(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def parts_of(data: bytes, count: int) -> list[str]:
    text = base64.b64encode(data).decode()
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    size = -(-len(text) // count)
    return [
        f"gpu-fabric {number + 1}/{count} {digest}\n{text[number * size : (number + 1) * size]}"
        for number in range(count)
    ]


def test_parts_are_joined_in_whatever_order_the_pods_come() -> None:
    data = packed({"all.json": b"x" * 5000})
    assert join_parts(["Killed", *reversed(parts_of(data, 3))]) == data


@pytest.mark.parametrize(
    ("messages", "word"),
    [
        ([], "no pod left a result"),
        (["gpu-fabric error: gpu-1 does not answer"], "no pod left a result"),
        (parts_of(packed({"all.json": b"1"}), 3)[1:], "part 1 of 3"),
        ([*parts_of(packed({"a": b"1"}), 1), *parts_of(packed({"b": b"2"}), 1)], "several results"),
        ([part.replace("A", "B", 1) for part in parts_of(packed({"all.json": b"1"}), 1)], "do not fit together"),
    ],
)
def test_parts_that_are_missing_or_changed_are_refused(messages: list[str], word: str) -> None:
    with pytest.raises(BundleError, match=word):
        join_parts(messages)


def test_errors_that_pods_left_are_heard() -> None:
    assert script_messages(["gpu-fabric error: gpu-1 does not answer within 600 s", "oom"]) == (
        "gpu-1 does not answer within 600 s",
    )


def test_only_files_of_a_run_are_taken_from_an_archive() -> None:
    bundle = read_bundle(packed({"../all.json": b"1", "/etc/passwd": b"2", "./all.json": b"3", "rail-0.txt": b"4"}))
    assert bundle.result("all") == b"3"


@pytest.mark.parametrize("data", [b"", b"{}", b"\x1f\x8b", gzip.compress(b"no archive", mtime=0)[:-5]])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(BundleError):
        read_bundle(data)


def test_an_archive_that_unpacks_to_far_too_much_is_refused() -> None:
    with pytest.raises(BundleError, match="larger than 64 MiB"):
        read_bundle(gzip.compress(bytes(65 << 20), compresslevel=1))
