"""`gpu-fabric verdict`: the verdict on stdout, refusals on stderr, exit status 0, 1 or 2."""

import shutil
from pathlib import Path

import pytest
from nccl_logs import log_lines
from typer.testing import CliRunner, Result
from verdict_results import file_of, healthy, log_of

from gpu_fabric.cli.app import app
from gpu_fabric.nccl.verdict.report import Verdict

FILES = {
    "good.json": file_of(healthy(386.0)),
    "slow.json": file_of(healthy(192.0)),
    "cut.json": file_of(healthy())[:900],
    "text.txt": b"# nccl-tests version 2.17.6\n",
    "good.log": log_of(log_lines("BM.GPU.H100.8")),
}


@pytest.fixture
def folder(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with results, a log and two stack files, as the current one."""
    monkeypatch.chdir(tmp_path)
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "examples/Pulumi.doks-mi325x.yaml"):
        shutil.copy(root / name, tmp_path)
    return tmp_path


def verdict(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verdict", *arguments])


@pytest.mark.usefixtures("folder")
def test_a_passed_result_is_exit_status_0_and_explains_its_bar() -> None:
    result = verdict("good.json", "-s", "dev", "--log", "good.log")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "bar: 16 NICs x 200 Gb/s / 8 = 400 GB/s; 92 % of it, rounded down, is 368 GB/s "
        "(source: OCI's NCCL sample and bars)",
        "measured: 386.00 GB/s (2 nodes, 16 ranks, 8589934592 bytes)",
        "passed",
    ]


@pytest.mark.usefixtures("folder")
def test_a_failed_one_is_exit_status_1_with_rule_reason_and_remedy() -> None:
    result = verdict("slow.json", "-s", "dev", "--log", "good.log")

    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.splitlines()[2:] == [
        "error VER017 size 8589934592: 192.00 GB/s is below the bar of 368 GB/s",
        "    -> below 85 % of the line rate a NIC or link is missing: compare NCCL's list of NICs with the rails",
        "failed",
    ]


@pytest.mark.usefixtures("folder")
def test_json_says_the_same_in_a_form_of_its_own() -> None:
    result = verdict("slow.json", "-s", "dev", "--json")
    judged = Verdict.model_validate_json(result.stdout)

    assert result.exit_code == 1
    assert (judged.passed, judged.bar and judged.bar.value, judged.measured) == (False, 368, 192.0)
    assert [reason.id for reason in judged.findings] == ["VER017", "VER021"]


@pytest.mark.usefixtures("folder")
def test_a_bar_of_ones_own_needs_no_stack() -> None:
    assert [verdict("slow.json", "--bar", bar).exit_code for bar in ("190", "195")] == [0, 1]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("text.txt", "-s", "dev"), "run the test with `-J FILE`"),
        (("good.json",), "give --bar in GB/s"),
        (("good.json", "-s", "doks-mi325x"), "is not published; give it with --bar"),
        (("good.json", "-s", "absent"), "absent"),
        (("absent.json", "-s", "dev"), "absent.json: No such file"),
        (("good.json", "-s", "dev", "--log", "absent.log"), "absent.log: No such file"),
        (("good.json", "--bar", "0"), "a number above 0"),
        (("good.json", "--bar", "nan"), "a number above 0"),
        (("good.json", "--bar", "380", "--nodes", "1"), "--nodes"),
    ],
)
def test_what_cannot_be_judged_is_exit_status_2_on_stderr(arguments: tuple[str, ...], word: str) -> None:
    result = verdict(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert word in result.stderr


def test_the_bar_is_that_of_the_measured_fabric() -> None:
    result = "examples/results/healthy.json"

    assert "bar: 8 NICs x 400 Gb/s" in verdict(result, "-s", "two-machines", "--group", "main").stdout
    assert "bar: 8 NICs x 200 Gb/s" in verdict(result, "-s", "two-machines", "--group", "a100").stdout
    # Storage is not measured, so that one compute fabric needs no name.
    assert "bar: 8 NICs x 400 Gb/s" in verdict(result, "-s", "storage-fabric").stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("-s", "two-machines"), "name the measured one: --group main, --group a100"),
        (("-s", "two-machines", "--group", "b200"), "no compute fabric b200; choose of: --group main, --group a100"),
        (("-s", "storage-fabric", "--group", "storage"), "no compute fabric storage; choose of: --group main"),
        (("-s", "dev", "--group", "main"), "no compute fabric main; leave --group out"),
    ],
)
def test_a_fabric_that_cannot_be_meant_is_refused(arguments: tuple[str, ...], reason: str) -> None:
    refused = verdict("examples/results/healthy.json", *arguments)

    assert refused.exit_code == 2
    assert reason in " ".join(refused.stderr.split())
