"""Which stack a command is about, and the options of the program as a whole."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import refusal_of, result_of, run
from documented_summaries import imported
from each_case import each
from typer.main import get_command
from typer.testing import CliRunner

import gpu_fabric
from gpu_fabric.cli.app import app
from sandbox.cli import app as sandbox_app

JOB = """apiVersion: v1
kind: Pod
metadata: {name: job}
spec:
  containers:
    - {name: main, image: "registry.example/train:1", resources: {limits: {nvidia.com/gpu: 8}}}
"""


@pytest.fixture
def elsewhere(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with no project, and stack files beside it."""
    work, stacks = tmp_path / "work", tmp_path / "stacks"
    work.mkdir()
    stacks.mkdir()
    shutil.copy(root / "Pulumi.dev.yaml", stacks / "some.yaml")
    (work / "job.yaml").write_text(JOB)
    monkeypatch.chdir(work)
    return stacks


@pytest.mark.parametrize("command", ["plan", "images"])
def test_a_stack_is_named_with_or_without_its_option(command: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)

    assert result_of(command, "doks-h200") == result_of(command, "-s", "doks-h200") != result_of(command)


@pytest.mark.parametrize("file", ["../stacks/some.yaml", "../stacks/Pulumi.some.yaml", "../stacks/some.yml"])
def test_a_stack_file_elsewhere_is_planned_under_its_own_name(file: str, elsewhere: Path) -> None:
    (elsewhere / "some.yaml").rename(file)

    assert json.loads(result_of("plan", "-f", file, "--format", "json"))["stack"] == "some"


def test_every_command_that_takes_a_stack_takes_a_file(elsewhere: Path) -> None:
    file = str(elsewhere / "some.yaml")

    assert "Images of stack some" in result_of("images", "-f", file)
    assert "nvidia.com/rail_00" in run("attach", "job.yaml", "-f", file).stdout
    assert "<system" in result_of("topology", "BM.GPU.H100.8", "-f", file)
    assert "stack some" in result_of("explain", "NCCL_IB_HCA", "-f", file)
    job = run("job", "nccl-test", "--image", "registry.example/tests:1", "--scheduler", "volcano", "-f", file)
    assert "all_reduce_perf" in job.stdout


def options_of(command: Any) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_only_what_pulumi_writes_into_takes_a_stack_by_its_name_alone() -> None:
    commands = dict(imported(app).commands)
    commands |= commands.pop("job").commands
    taking = {name for name, command in commands.items() if "--stack" in options_of(command)}

    assert {"plan", "images", "attach", "verdict", "nccl-test"} <= taking
    by_file = {name for name, command in commands.items() if "--stack-file" in options_of(command)}
    # It runs `pulumi up`, which writes the stack's encryption into the file: the project's own, no other.
    assert taking ^ by_file == {"acceptance"}


def test_relative_paths_of_a_file_elsewhere_start_from_its_folder(elsewhere: Path) -> None:
    kubeconfig = elsewhere / ".sandbox" / "kubeconfig"
    kubeconfig.parent.mkdir()
    assert ".sandbox/kubeconfig: no such file" in result_of("plan", "-f", str(elsewhere / "some.yaml"))

    kubeconfig.write_text("{}")

    assert "no such file" not in result_of("plan", "-f", str(elsewhere / "some.yaml"))


def test_what_is_wrong_is_said_of_the_file_as_it_was_named(elsewhere: Path) -> None:
    file = elsewhere / "some.yaml"
    file.write_text(file.read_text().replace("nodes: 3", "nodes: 0"))

    for command in (["plan"], ["images"], ["attach", "job.yaml"], ["topology", "BM.GPU.H100.8"]):
        text = refusal_of(*command, "-f", "../stacks/some.yaml")
        assert text.startswith("../stacks/some.yaml: ")
        assert "../stacks/some.yaml:" in text
        assert "nodes" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "dev", "-s", "prod"), "named twice"),
        (("plan", "dev", "-f", "some.yaml"), "named twice"),
        (("images", "-s", "dev", "-f", "some.yaml"), "named twice"),
        (("verdict", "result.json", "-s", "dev", "-f", "some.yaml"), "named twice"),
        (("explain", "NCCL_IB_HCA", "-s", "dev", "-f", "some.yaml"), "named twice"),
        (("topology", "BM.GPU.H100.8", "-s", "dev", "-f", "some.yaml"), "named twice"),
        (("attach", "job.yaml", "-s", "dev", "-f", "some.yaml"), "named twice"),
        (("attach", "job.yaml", "--contract", "-", "-f", "some.yaml"), "not from both"),
        (("job", "nccl-test", "--image", "i", "--contract", "-", "-f", "some.yaml"), "not from both"),
        (("plan", "dev", "--all", "--out", "plans"), "--all is every stack"),
        (("plan", "-f", "some.yaml", "--all", "--out", "plans"), "--all is every stack"),
        (("plan", "-f", "some.yaml", "--summary"), "--summary"),
        (("plan", "-f", "nowhere.yaml"), "there is no such file"),
        (("plan", "-f", "."), "has no name for a stack"),
        (("plan", "-f", "../work"), "Is a directory"),
        (("plan", "-f", "../stacks/Pulumi...yaml"), "has no name for a stack"),
        (("plan", "../stacks/some.yaml"), "write -f ../stacks/some.yaml"),
        (("plan",), "-f FILE"),
    ],
)
@pytest.mark.usefixtures("elsewhere")
def test_what_does_not_go_together_or_is_not_there_is_refused(arguments: tuple[str, ...], said: str) -> None:
    assert said in " ".join(refusal_of(*arguments).split())


def test_the_version_is_the_packages() -> None:
    assert result_of("--version") == f"gpu-fabric {gpu_fabric.__version__}\n"


def test_help_is_asked_for_in_short_everywhere() -> None:
    groups = [get_command(app), get_command(sandbox_app)]
    lines = [[], *([name] for group in groups[:1] for name in group.commands), ["job", "nccl-test"]]  # type: ignore[attr-defined]

    for words in lines:
        assert result_of(*words, "-h") == result_of(*words, "--help")
    for name in groups[1].commands:  # type: ignore[attr-defined]
        assert CliRunner().invoke(sandbox_app, [name, "-h"]).exit_code == 0


COMPLETE = "_GPU_FABRIC_COMPLETE"


@each(
    ("line", "offered"),
    [
        ("gpu-fabric pl", "plan"),
        ("gpu-fabric plan doks-h", "doks-h200"),
        ("gpu-fabric attach job.yaml -s doks-h", "doks-h200"),
        ("gpu-fabric explain NCCL_IB_HC", "NCCL_IB_HCA"),
        ("gpu-fabric explain ADR00", "ADR001"),
        ("gpu-fabric topology BM.GPU.H1", "BM.GPU.H100.8"),
        ("gpu-fabric plan --form", "--format"),
        ("gpu-fabric plan --format mark", "markdown"),
    ],
)
def test_a_shell_completes_commands_stacks_and_names(
    line: str, offered: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    asked = {COMPLETE: "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = CliRunner().invoke(app, [], env=asked, prog_name="gpu-fabric")

    assert offered in done.stdout.split()


def test_a_shell_asks_the_program_itself(root: Path) -> None:
    asked = {COMPLETE: "complete_bash", "COMP_WORDS": "gpu-fabric pl", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "gpu_fabric"], cwd=root, env={**os.environ, **asked}, capture_output=True, text=True
    )

    assert "plan" in done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("upgrade dev --to 26.", {"26.4", "26.7"}),
        ("attach job.yaml -s two-machines --group ", {"main"}),
        ("verdict result.json -f examples/Pulumi.two-machines.yaml --group m", {"main"}),
        ("verdict result.json -s no-such-stack --group ", set()),
    ],
)
def test_the_shell_completes_release_lines_and_fabrics(words: str, offered: set[str], root: Path) -> None:
    environment = {**os.environ, "_GPU_FABRIC_COMPLETE": "complete_bash", "COMP_WORDS": f"gpu-fabric {words}"}
    environment["COMP_CWORD"] = str(len(words.split(" ")))
    program = [sys.executable, "-c", "from gpu_fabric.cli.app import app; app(prog_name='gpu-fabric')"]
    done = subprocess.run(program, cwd=root, env=environment, capture_output=True, text=True)

    names = set(done.stdout.split())
    assert names >= offered, done.stderr
    assert bool(names) is bool(offered)
