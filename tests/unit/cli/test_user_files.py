"""Every file that a command reads is read within a bound, and a file that never ends or begins is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run

from gpu_fabric.spec.kubeconfig import file_findings
from gpu_fabric.spec.load import MOST_BYTES

MEMORY, SECONDS = 3 << 30, 240
RESULT = '{"config": {}}'
# Each command reads one file FILE; the others in it are sound.
ARGUMENTS = {
    "attach": ["attach", "FILE", "-s", "dev"],
    "lint": ["lint", "FILE"],
    "lint --dump": ["lint", "sound", "--shape", "BM.GPU.H100.8", "--dump", "FILE"],
    "verdict": ["verdict", "FILE", "--bar", "100"],
    "verdict --log": ["verdict", "sound", "--bar", "100", "--log", "FILE"],
    "verdict --key": ["verdict", "--verify", "sound", "--key", "FILE"],
    "discover": ["discover", "FILE"],
}
# What a stack's file or a folder of somebody's pull request can lead to.
OTHERS = {
    "plan -f": ["plan", "-f", "FILE"],
    "plan -s": ["plan", "-s", "link"],
    "plan --all": ["plan", "--all", "--out", "out"],
    "diff": ["diff", "before", "after"],
    "review": ["review", "before", "after"],
}


SAID = (
    "ot a regular file",
    "s a directory",
    "arger than",
    "more than 16 MiB",
    "that is not a file",
    "it has no index.json of",
)


# All commands in one process of little memory: the status of each, and what it says.
PROGRAM = """
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from typer.testing import CliRunner
from gpu_fabric.cli.app import app
ended = {name: CliRunner().invoke(app, arguments) for name, arguments in json.load(sys.stdin).items()}
said = lambda one: one.output if one.exception is None or isinstance(one.exception, SystemExit) else repr(one.exception)
print(json.dumps({name: [one.exit_code, said(one)] for name, one in ended.items()}))
"""


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """A project in which FILE is a stack's file, and the index of a rendered plan."""
    (tmp_path / "Pulumi.dev.yaml").write_text((root / "Pulumi.dev.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "sound").write_text(RESULT, encoding="utf-8")
    (tmp_path / "Pulumi.link.yaml").symlink_to("FILE")
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.json").symlink_to("../FILE")
    return tmp_path


def _file(project: Path, kind: str) -> None:
    file = project / "FILE"
    match kind:
        case "device":
            file.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "huge":
            with file.open("wb") as stream:
                stream.truncate(1 << 40)


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "huge"])
def test_a_file_that_has_no_end_or_no_beginning_is_refused_in_one_message(root: Path, project: Path, kind: str) -> None:
    _file(project, kind)
    # A pipe that an argument names is another command's output, and `attach` goes through a folder.
    commands = OTHERS if kind == "pipe" else OTHERS | ARGUMENTS
    tried = {name: each for name, each in commands.items() if (kind, name) != ("folder", "attach")}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(MEMORY)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(root)},
        input=json.dumps(tried),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    wrong = {
        name: found
        for name, found in json.loads(ended.stdout).items()
        if found[0] != 2 or not any(words in found[1] for words in SAID)
    }
    assert wrong == {}


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "huge"])
def test_so_is_a_kubeconfig_that_a_stack_file_names(project: Path, kind: str) -> None:
    _file(project, kind)
    (problem,) = file_findings("FILE", None, project)
    assert problem.message.startswith("FILE: cannot be read: ")


def test_the_output_of_another_command_can_be_an_argument(project: Path, root: Path) -> None:
    program = f"{sys.executable} -m gpu_fabric lint <({sys.executable} -m gpu_fabric topology BM.GPU.H100.8)"
    ended = subprocess.run(["bash", "-c", program], cwd=root, capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_stack_file_up_to_the_limit_is_read(project: Path) -> None:
    file = project / "Pulumi.long.yaml"
    text = (project / "Pulumi.dev.yaml").read_text(encoding="utf-8") + "\n"
    for more, status in ((0, 0), (1, 2)):
        file.write_text(f"{text}#{' ' * (MOST_BYTES - len(text) - 1 + more)}", encoding="utf-8")
        assert run("plan", "-f", str(file)).exit_code == status
