"""What the command line prints is whole, or the command fails: full disks, narrow encodings, interrupts."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DOCUMENTS = (["plan", "--format", "html"], ["plan", "--format", "json"], ["schema", "stack"], ["reference", "rules"])
FEW_BYTES = 2048


def _small_files() -> None:
    # Plays the full disk: a write beyond this size fails, after a partial one.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FEW_BYTES, FEW_BYTES))


# Documents are written in one way and text in another; each is tried with and without a buffer.
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [(DOCUMENTS[0], ""), (DOCUMENTS[1], "1"), (DOCUMENTS[2], ""), (DOCUMENTS[3], "1"), (["plan"], ""), (["plan"], "1")],
    ids=str,
)
def test_a_full_disk_ends_with_an_error_and_no_traceback(
    root: Path, tmp_path: Path, command: list[str], unbuffered: str
) -> None:
    with (tmp_path / "out").open("wb") as out:
        ended = subprocess.run(
            [sys.executable, "-m", "gpu_fabric", *command],
            cwd=root,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_small_files,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    written = (tmp_path / "out").stat().st_size

    assert (ended.returncode, written) == (2, FEW_BYTES)
    assert ended.stderr.startswith("standard output: File too large; what was written there is not complete")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("plan >&-", 2),
        ("plan --format json >&-", 2),
        ("plan -s nowhere >&- 2>&-", 2),
        ("plan 2>&-", 0),
        ("plan -s nowhere 2>&-", 2),
        ("plan --out FOLDER >&-", 0),
        ("attach - -s dev <&-", 0),
        ("plan <&- >&- 2>&-", 2),
    ],
)
def test_a_closed_stream_is_no_traceback_and_no_file_gets_its_number(
    root: Path, tmp_path: Path, command: str, status: int
) -> None:
    line = f"{sys.executable} -m gpu_fabric {command.replace('FOLDER', str(tmp_path / 'out'))}"
    ended = subprocess.run(["bash", "-c", line], cwd=root, capture_output=True, text=True)
    assert ended.returncode == status, ended.stderr
    assert "Traceback" not in ended.stderr
    if status and ">&-" in command and "2>&-" not in command:
        assert ended.stderr.endswith("standard output: It is closed; what was written there is not complete\n")


# ASCII has the fewest letters; CP1252 has the one of the wrong name.
@pytest.mark.parametrize(
    ("encoding", "commands"),
    [
        ("ascii", [["plan"], ["shapes"], ["explain", "ADR001"], ["plan", "-s", "…"]]),
        ("iso-8859-1", [["plan"]]),
        ("cp1252", [["plan", "-s", "…"]]),
    ],
)
def test_every_encoding_of_a_terminal_is_printed_to(root: Path, encoding: str, commands: list[list[str]]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for command in commands:
        ended = subprocess.run(
            [sys.executable, "-m", "gpu_fabric", *command], cwd=root, env=environment, capture_output=True
        )

        assert ended.returncode == (2 if "…" in command else 0)
        assert b"Traceback" not in ended.stderr
        assert (ended.stdout + ended.stderr).decode(encoding)


def test_documents_are_utf_8_whatever_the_terminal_has(root: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for command in DOCUMENTS:
        ended = subprocess.run(
            [sys.executable, "-m", "gpu_fabric", *command], cwd=root, env=environment, capture_output=True, check=True
        )

        assert ended.stdout.decode("utf-8")
        if "json" in command or "schema" in command:
            assert json.loads(ended.stdout)


def test_a_reader_that_leaves_is_no_error(root: Path) -> None:
    ended = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m gpu_fabric reference rules | head -1"],
        cwd=root,
        capture_output=True,
        text=True,
    )

    assert ended.stderr == ""
    assert len(ended.stdout.splitlines()) == 1


@pytest.mark.parametrize("after_s", [0.05, 0.15, 0.3])
def test_an_interrupt_at_any_moment_ends_without_a_traceback(root: Path, after_s: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gpu_fabric", "plan", "--format", "json"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()

    # The command may have ended. 1 is Python's own status where it had not read the first line of this program yet: it
    # was in `site`, which reads what an installation from a clone adds to Python's path.
    assert process.returncode in (130, -signal.SIGINT, 0, 1)
    assert "gpu_fabric" not in errors or process.returncode == 0 or "init_import_site" in errors
