"""`gpu-fabric lint` and the linter's own command: findings on stdout, refusals on stderr, exit status 0, 1 or 2."""

import json
from pathlib import Path

import pytest
from topology_texts import LEAN, full, put
from typer.testing import CliRunner, Result

from gpu_fabric.cli.app import app
from gpu_fabric.nccl.machines import machines_json
from nccl_topology.cli import main
from nccl_topology.machine import machines_in
from nccl_topology.problem import rules

BAD = put("0000:0f", "0000:0F")(put(' arch="', '  arch="')(LEAN))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good, a bad and a refused file, as the current one."""
    monkeypatch.chdir(tmp_path)
    texts = {"good": LEAN, "bad": BAD, "refused": f"<?xml version='1.0'?>\n{LEAN}", "h100": full("BM.GPU.H100.8")}
    for name, text in texts.items():
        (tmp_path / f"{name}.xml").write_text(text, encoding="utf-8")
    return tmp_path


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lint", *arguments])


def status_of(*arguments: str) -> int:
    """Exit status of the linter's own command."""
    try:
        return main(arguments)
    except SystemExit as ended:
        return int(str(ended.code))


@pytest.mark.usefixtures("folder")
def test_a_good_file_is_exit_status_0() -> None:
    result = lint("good.xml")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "1 file: no findings\n", "")


@pytest.mark.usefixtures("folder")
def test_findings_are_exit_status_1_each_with_file_line_rule_and_remedy() -> None:
    result = lint("good.xml", "bad.xml", "refused.xml")

    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.splitlines() == [
        "bad.xml:2: warning TOP020: a space too many in <cpu> takes the place of an attribute",
        "    -> write one space between attributes and none before the end",
        "bad.xml:4: error TOP028: busid '0000:0F:00.0': it never equals a device's, and NCCL drops what hangs here",
        "    -> write dddd:bb:dd.f in lower case, such as 0000:0c:00.0",
        "refused.xml:1: error TOP001: an XML declaration, which stops the reader",
        "    -> leave it out: the file begins with <system ...>",
        "3 files: 2 errors, 1 warning",
    ]


@pytest.mark.usefixtures("folder")
def test_json_says_the_same_in_a_form_of_its_own() -> None:
    result = lint("bad.xml", "good.xml", "--json", "--nccl", "2.27.3", "--library", "nccl")
    report = json.loads(result.stdout)
    bad, good = report.pop("files")

    assert (result.exit_code, result.stderr) == (1, "")
    assert report == {
        **{"schemaVersion": "v1", "library": "nccl", "nccl": "2.27.3", "newerThan": None, "shape": None},
        **{"errors": 1, "warnings": 1},
    }
    assert good == {"file": "good.xml", "accepted": True, "nodes": 9, "findings": []}
    assert [(found["file"], found["line"], found["id"]) for found in bad["findings"]] == [
        ("bad.xml", 2, "TOP020"),
        ("bad.xml", 4, "TOP028"),
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["good.xml", "bad.xml", "refused.xml", "h100.xml"],
        ["good.xml", "--nccl", "v2.31.2", "--library", "rccl"],
        ["h100.xml", "--shape", "BM.GPU.H100.8", "--dump", "h100.xml"],
        ["h100.xml", "--shape", "BM.GPU.B4.8"],
    ],
)
def test_the_linters_own_command_prints_the_same(
    arguments: list[str], form: str, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("nccl_topology.cli.known_machines", lambda: machines_in(machines_json()))
    ours, status = lint(*arguments, "--format", form), main(["lint", *arguments, "--format", form])

    assert (status, capsysbinary.readouterr().out.decode()) == (ours.exit_code, ours.stdout)


def test_the_linters_own_command_explains_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    for name in rules():
        assert main(["explain", name]) == 0
        assert f"{name} ({rules()[name].severity}): {rules()[name].title}\n" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("version", "said"), [("2.31.2", True), ("2.30.8", True), ("2.30.7", False), ("2.18.1", False)]
)
def test_a_release_that_is_newer_than_the_facts_is_said(version: str, said: bool) -> None:
    text, form = lint("good.xml", "--nccl", version), lint("good.xml", "--nccl", version, "--json")

    assert (text.exit_code, form.exit_code) == (0, 0)
    assert (f"note: NCCL {version} is newer than this program's facts, which end with 2.30.7" in text.stdout) is said
    assert json.loads(form.stdout)["newerThan"] == ("2.30.7" if said else None)


@pytest.mark.usefixtures("folder")
def test_a_shape_and_a_dump_are_compared_with() -> None:
    assert lint("h100.xml", "--shape", "BM.GPU.H100.8", "--dump", "h100.xml").exit_code == 0
    assert "TOP036" in lint("h100.xml", "--shape", "BM.GPU.B4.8").stdout
    assert "TOP046" in lint("good.xml", "--dump", "h100.xml").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.xml"], "nothing.xml: No such file or directory"),
        (["good.xml", "."], ".: Is a directory"),
        (["good.xml", "--dump", "nothing.xml"], "nothing.xml: No such file or directory"),
        (["good.xml", "--dump", "refused.xml"], "the dump is not a topology file of NCCL"),
        (["good.xml", "--nccl", "latest"], "'latest' is not a valid version"),
        (["good.xml", "--nccl", "27"], "write 2.MINOR.PATCH"),
        (["good.xml", "--shape", "BM.GPU.H100"], "did you mean 'BM.GPU.H100.8'?"),
        (["good.xml", "--library", "mpi"], "nccl"),
        ([], "Missing argument"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_bad_input_is_exit_status_2_and_said_on_stderr(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = lint(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert (status_of("lint", *arguments), capsys.readouterr().out) == (2, "")


def test_a_file_whose_name_is_no_text_is_judged(folder: Path) -> None:
    name = b"caf\xe9.xml".decode("utf-8", "surrogateescape")
    (folder / name).write_text(BAD, encoding="utf-8")

    assert lint(name).stdout.startswith("caf\\udce9.xml:2: warning TOP020")
