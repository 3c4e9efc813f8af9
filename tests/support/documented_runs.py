"""Runs what pages show: this program's commands in this process, others by the shell, in a folder made for it."""

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan

ROOT = Path(__file__).parents[2]
FABRIC = "gpu-fabric "
# Programs whose commands run as they are written; they change nothing but the folder that they run in.
SHELL = ("sed", "diff", "cat", "grep", "jq", "cp", "mkdir", "find")
# What stands in for programs that are no part of this: they give a manifest, or take what they get.
STAND_INS = {"kustomize": "cat examples/workloads/mpijob.yaml"}
# By these `make` knows that it was started by another one, and says so.
_OF_MAKE = ("MAKELEVEL", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES")
# The next lines of a page are cut, or a part of this one.
CUT = "…"


@dataclass
class Result:
    """What commands printed and how the first that failed ended; `everything` is in the order of a terminal."""

    status: int = 0
    everything: str = ""
    errors: str = ""


def prepare(folder: Path, plan: Plan) -> None:
    """What commands on pages read: committed files at their places in a checkout, and a plan's outputs."""
    for path in (*ROOT.glob("Pulumi*.yaml"), ROOT / "Makefile"):
        shutil.copy(path, folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    contract = plan.workload.model_dump_json(by_alias=True, exclude_none=True)
    (folder / "outputs.json").write_text(f'{{"fabric": {contract}}}', encoding="utf-8")


def made(target: str, folder: Path) -> list[str]:
    """The commands that `make TARGET` runs, as `python -m …`; preparing the virtual environment left out."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
    told = subprocess.run(
        ["make", "-n", "-o", "setup", *shlex.split(target)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.removeprefix(".venv/bin/") for line in told.stdout.splitlines()]
    return [line.replace("python -m gpu_fabric", "gpu-fabric") for line in lines]


def stages(command: str) -> list[str]:
    """The commands of a pipeline. No argument on our pages has a bar within it."""
    return [stage.strip() for stage in re.split(r" \| ", command)]


def run(command: str, folder: Path) -> Result:
    """Run a pipeline; a stage that another program would have to run ends it, and gets what came before."""
    result, text = Result(), ""
    for stage in stages(command):
        program, _, place = re.sub(r"2>&1", "", stage).partition(" >")
        if stage.startswith(FABRIC):
            # In bash, whatever has started the tests; `--install-completion` writes into the home folder.
            with mock.patch("shellingham.detect_shell", return_value=("bash", "bash")):
                ran = CliRunner(env={"HOME": str(folder)}).invoke(app, _words(program, folder)[1:], input=text)
            if ran.exception is not None and not isinstance(ran.exception, SystemExit):
                raise ran.exception
            result.errors += ran.stderr
            result.status = result.status or ran.exit_code
            both, text = ran.output, ran.stdout
        else:
            name = stage.split()[0]
            if name not in SHELL and name not in STAND_INS:
                both = text = ""
                break
            shell = subprocess.run(
                ["bash", "-c", STAND_INS.get(name, program)], cwd=folder, input=text, capture_output=True, text=True
            )
            result.errors += shell.stderr
            both, text = shell.stderr + shell.stdout, shell.stdout
        if place:
            target = folder / place.lstrip(">").strip().strip('"').replace("$", "")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            text = both = ""
    result.everything = both if len(stages(command)) == 1 and not place else result.errors + text
    return result


def _words(command: str, folder: Path) -> list[str]:
    """The words of a command; names of files with a star are those that there are, as a shell gives them."""
    found: list[str] = []
    for word in shlex.split(command):
        found += sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else [word]
    return found


def fits(shown: tuple[str, ...], printed: str) -> bool:
    """Whether the output is what a page shows; `…` alone is any number of lines, within a line any text."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == CUT else ".*".join(map(re.escape, line.rstrip().split(CUT))) + r"\n"
        for line in shown
    )
    text = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None
