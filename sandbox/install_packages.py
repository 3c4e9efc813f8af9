"""`python sandbox/install_packages.py ARGUMENTS`: `pip install` with a progress line.

Runs before any package is installed, so it imports only the standard library. Exit status: pip's own; pip's output is
printed if it failed.
"""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

# Seconds between two checks, and between two lines without a terminal, where a line cannot be rewritten.
_LOOK, _LINE = 1.0, 15.0
_WIDTH = 79


def main(arguments: Sequence[str], out: TextIO) -> int:
    """Install into the environment of this interpreter what the arguments of `pip install` name."""
    command = [sys.executable, "-u", "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    # Python compiles what is imported. Compiling all of it takes a third of the time and of the space.
    process = subprocess.Popen(
        [*command, "--no-compile", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    said = show(arriving(process.stdout), out, out.isatty())
    status = process.wait()
    if status != 0:
        out.write("".join(said))
    return status


def arriving(lines: Iterable[str]) -> Iterator[str]:
    """Lines as they come, and an empty one in each second without any."""
    found: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        for line in lines:
            found.put(line)
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = found.get(timeout=_LOOK)
        except queue.Empty:
            yield ""
            continue
        if line is None:
            return
        yield line


def show(lines: Iterable[str], out: TextIO, is_terminal: bool) -> list[str]:
    """Print what pip is doing, on a terminal in one line that is rewritten; returns pip's whole output."""
    began = last = time.monotonic()
    said: list[str] = []
    packages, stage = 0, "starting"
    for line in lines:
        if line:
            said.append(line)
        is_end = line.startswith("Successfully installed")
        word, _, rest = line.strip().partition(" ")
        if word == "Collecting":
            packages += 1
            stage = f"package {packages}: {rest.split(' ')[0]}"
        elif line.startswith("Installing collected packages"):
            stage = f"writing {rest.count(',') + 1} packages"
        elif is_end:
            stage = f"{len(rest.split()) - 1} packages installed"
        now = time.monotonic()
        text = f"  {stage}, {now - began:.0f} s"
        if is_terminal:
            out.write(f"\r{text[:_WIDTH]:{_WIDTH}}")
            out.flush()
        elif now - last >= _LINE or is_end:
            last = now
            print(text, file=out, flush=True)
    if is_terminal:
        out.write("\n")
    return said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdout))
