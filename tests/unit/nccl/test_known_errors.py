"""The verdict on a failed run takes what mends it from the table of error texts."""

from nccl_logs import log_lines
from verdict_results import expectation, file_of, healthy, log_of

from gpu_fabric.nccl.log_lines import Writer, log_table
from gpu_fabric.nccl.verdict.judging import judge, nothing_measured
from gpu_fabric.symptoms import advice, first_step, symptoms

VALUES = {"address": "10.0.0.1<4711>", "device": "mlx5_3", "gid": "::ffff:10.0.0.1", "errno": 19}


def test_every_warning_of_every_release_has_a_row_of_error_texts_that_knows_its_cause() -> None:
    table = log_table()
    reasons = {"unreachable": "Connection timed out", "no_gid": "No such device", "wrong_argument": "Invalid argument"}
    texts = {
        writer.text(kind, **VALUES | {"reason": reasons.get(kind, "")})
        for writer in map(Writer, table.releases)
        for kind in filter(writer.has, table.warnings.kinds)
    }

    assert len(texts) > 30
    assert [text for text in texts if advice(text) is None] == []


SHARED_MEMORY = (
    "worker-1:77:80 [3] misc/shmutils.cc:72 NCCL WARN Call to posix_fallocate failed : No space left on device"
)
LIBRARY = "/opt/nccl-tests/all_reduce_perf: error while loading shared libraries: libmpi.so.40: cannot open"


def notes(data: bytes, *lines: str) -> list[tuple[str, str, str]]:
    found = judge(data, expectation(), "\n".join(lines).encode()).findings
    return [(one.path, one.message, one.remedy) for one in found if one.id == "VER031"]


def test_an_error_text_of_any_program_in_the_log_of_a_failed_run_leads_to_its_row() -> None:
    slow, sound = file_of(healthy(100.0)), "\n".join(log_lines())
    ((place, text, remedy), *others) = notes(
        slow, sound, "all is well", SHARED_MEMORY, SHARED_MEMORY.replace("77", "9")
    )

    assert others == []
    assert (place, text) == (f"line {len(sound.splitlines()) + 2} of the log", SHARED_MEMORY)
    assert remedy == first_step(symptoms()["nccl-shared-memory-full"])
    assert "`gpu-fabric explain nccl-shared-memory-full` has more" in remedy
    # A run that died before its end has no other evidence.
    assert [line for _, line, _ in notes(file_of(healthy())[:200], LIBRARY)] == [LIBRARY]


def test_a_text_without_a_row_or_in_the_log_of_a_passed_run_is_not_noted() -> None:
    sound = log_of(log_lines()).decode()

    assert notes(file_of(healthy(100.0)), sound, "worker-0: the trainer gave up: reason 7") == []
    assert notes(file_of(healthy()), sound, SHARED_MEMORY) == []


def test_what_a_reason_says_already_is_not_noted_again() -> None:
    lines = Writer("2.30.7").line("no_memory", "worker-0").split("\n")
    found = judge(file_of(healthy()), expectation(), log_of([*log_lines(), *lines])).findings

    assert [one.id for one in found if "nccl-memory-not-pinned" in one.remedy] == ["VER026"]


def test_why_pods_of_a_verification_did_not_run_leads_to_the_row_as_well() -> None:
    reasons = (
        'pod run-3 on node gpu-a: RunContainerError: no runtime for "nvidia" is configured',
        "the job is Failed: DeadlineExceeded",
    )
    known, unknown = nothing_measured(reasons).findings

    assert known.remedy == first_step(symptoms()["nvidia-runtime-not-configured"])
    assert unknown.remedy.startswith("look at the job's pods and their logs")
