"""Steps of a workflow's job, run as they stand: by Bash, in their order, as GitHub's runner does."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
# What the runner makes of the shell `bash`.
_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")


class Ended(NamedTuple):
    """How a step ended: its status, and all that it printed."""

    name: str
    status: int
    output: str


def job_of(workflow: Path, name: str) -> dict[str, Any]:
    """A job as the workflow has it."""
    job: dict[str, Any] = yaml.safe_load(workflow.read_text())["jobs"][name]
    return job


def run_steps(
    job: Mapping[str, Any],
    checkout: Path,
    summary: Path,
    expressions: Mapping[str, str],
    home: Path,
    programs: Path | None = None,
) -> Iterator[Ended]:
    """Run the steps that are shell; actions are skipped. Raises KeyError for an expression that has no value here.

    After a step that fails only those run that say so, as in a run that is not cancelled. `programs` are those of the
    Python that the job has set up, by default of the tests' own.
    """
    failed = False
    script = home / "step.sh"
    for step in job["steps"]:
        if "run" not in step or (failed and step.get("if") != "${{ !cancelled() }}"):
            continue
        script.write_text(step["run"])
        given = {
            name: _EXPRESSION.sub(lambda found: expressions[found[1]], str(value))
            for name, value in step.get("env", {}).items()
        }
        ended = subprocess.run(
            [*_BASH, str(script)],
            cwd=checkout,
            env={
                # The packages are there already, and nothing is fetched.
                "PIP_NO_INDEX": "1",
                "UV_OFFLINE": "1",
                "PATH": f"{programs or Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(home),
                "GITHUB_STEP_SUMMARY": str(summary),
                **given,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        failed = failed or (ended.returncode != 0 and not step.get("continue-on-error"))
        yield Ended(step["name"], ended.returncode, ended.stdout)
