"""Programs that the sandbox's toolchain builds for tests; some read questions as JSON, and write an answer for each."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.failure import SandboxError
from sandbox.toolchain.build import Toolchain, ensure
from sandbox.toolchain.progress import Progress

Json = dict[str, Any]


def programs(group: str) -> Toolchain:
    """The programs of a group, built where they are missing; a test that cannot have them fails."""
    try:
        return ensure([group], Progress())
    except SandboxError as error:
        pytest.fail(f"the programs cannot be had: {error.message} {error.remedy}", pytrace=False)


def ask(program: Path, questions: Sequence[Json]) -> list[Json]:
    """The answers of a program that is started for these questions."""
    text = "\n".join(map(json.dumps, questions))
    result = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(questions)
    return answers
