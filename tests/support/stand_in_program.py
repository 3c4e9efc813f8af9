"""Programs in the place of others (kubectl, pulumi, a cloud's command line), which a function answers for.

Each is a file that any process can start. Where the product starts it in the tests' own process by `subprocess.run`,
the function answers at once: the start of an interpreter takes longer than most commands that make ten of them.
"""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Answering = Callable[[Path, list[str], str], tuple[int, str, str]]
"""Exit status, output and error output, by the folder of the program's file, its arguments and its standard input.

It may use `json` and `Path`, and nothing else of its module: the program's file has its source.
"""

_PROGRAM = """\
#!{python} -IS
from __future__ import annotations
import json, sys
from pathlib import Path

{source}
given = "" if sys.stdin.isatty() else sys.stdin.read()
status, printed, refused = {name}(Path(__file__).parent, sys.argv[1:], given)
sys.stdout.write(printed)
sys.stderr.write(refused)
sys.exit(status)
"""
# How a program may be started for the function to answer: nothing else of the process is seen by who asks.
_KNOWN = {"input", "stdin", "capture_output", "timeout", "check", "text", "errors", "cwd"}


def write_program(path: Path, answering: Answering) -> None:
    """Write the program's file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source, name = inspect.getsource(answering), answering.__name__
    path.write_text(_PROGRAM.format(python=sys.executable, source=source, name=name), encoding="utf-8")
    path.chmod(0o755)


def started(path: Path) -> Path:
    """The same program at another path, by which no function answers for it: it is started, as a user's is."""
    link = path.parent.with_name(f"{path.parent.name}-itself")
    link.symlink_to(path.parent)
    return link / path.name


def answer_here(path: Path, answering: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the program's file, and answer in this process where it is started by `subprocess.run`, for one test."""
    write_program(path, answering)
    start = subprocess.run

    def run(command: Any, **options: Any) -> Any:
        program = command[0] if isinstance(command, list) else command
        if os.fspath(program) != str(path) or not options.get("capture_output") or not options.keys() <= _KNOWN:
            return start(command, **options)
        given = options.get("input") or ""
        text = given.decode() if isinstance(given, bytes) else given
        status, *said = answering(path.parent, command[1:], text)
        printed, refused = said if options.get("text") else (part.encode() for part in said)
        done = subprocess.CompletedProcess(command, status, printed, refused)
        if options.get("check"):
            done.check_returncode()
        return done

    monkeypatch.setattr(subprocess, "run", run)
