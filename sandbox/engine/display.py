"""The engine's output during a run: lines are filtered, and progress is printed while there are none.

The plain output repeats each step three times when stdout is not a terminal, and a Helm release takes most of a minute
without output.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from types import TracebackType

from gpu_fabric.base.enumeration import first_names

# Colour codes may be anywhere in a line.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# A step that has only begun; its end is a line of its own. Dots are printed while the engine waits.
_STEP_BEGUN = re.compile(r" (?:creating|updating|replacing|deleting|refreshing|reading) \([0-9.]+s\) *$")
_DOTS = re.compile(r"^@ \w+\.+$")
_AWAITED = re.compile(r" (?:Resource is current|Resource scheduled for deletion) *$")
# The advice after a destroy; the sandbox follows it by itself.
_ADVICE = re.compile(r"^(?:The resources in the stack have been deleted|If you want to remove the stack completely)")
# The engine adds this line after a program's own error message.
_ENDED = re.compile(r" error: an unhandled error occurred: program exited with non-zero exit code: \d+ *$")
# The program prints its cluster; the command has printed it first.
_REACHED = re.compile(r" cluster: context .*, server \S+ *$")
# The annotation that marks a finished wait; not a condition of the object itself.
_MARK = re.compile(r" Found \{\.metadata\.annotations\['gpu-fabric/awaited'\]\}=\w+ *$")
# The Go runtime's output when a plug-in crashes.
_CRASH = re.compile(r"^\s*(?:panic: |fatal error: |goroutine \d+ \[)")


def plain(line: str) -> str:
    """A line without colours and line end."""
    return _COLOUR.sub("", line.rstrip("\r\n"))


def is_news(line: str) -> bool:
    """Whether a line of the engine contains something that no other line does."""
    text = plain(line)
    silent = (
        _STEP_BEGUN.search(text)
        or _AWAITED.search(text)
        or _ENDED.search(text)
        or _REACHED.search(text)
        or _MARK.search(text)
    )
    return not (silent or _DOTS.match(text) or _ADVICE.match(text))


def is_crash(line: str) -> bool:
    """Whether a line belongs to the trace of a plug-in that crashed."""
    return bool(_CRASH.match(_COLOUR.sub("", line)))


_STEP = re.compile(
    r"^ *(?:[+~-]+) +(?P<type>\S+:\S+) (?P<name>\S+) "
    r"(?P<word>creating|updating|replacing|deleting|created|updated|replaced|deleted)\b"
)
_BEGUN = frozenset({"creating", "updating", "replacing", "deleting"})
# The engine's own resources and the program's components, which take no time.
_NO_WORK = ("pulumi:pulumi:", "pulumi:providers:", "gpu-fabric:")
_SILENT_S = 10.0
_NAMED = 3


def is_work(resource_type: str) -> bool:
    """Whether a resource of a type is created in a cloud or on a cluster, and so takes time."""
    return not resource_type.startswith(_NO_WORK)


class Heartbeat:
    """Prints progress after every ten seconds without output; `total` is the number of resources.

    Without a `total` only the number of finished ones is shown: an update may change any number of resources.
    """

    def __init__(
        self, say: Callable[[str], None], total: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._total = total
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, float] = {}
        self._done: set[str] = set()
        self._last = clock()
        self._ended = threading.Event()

    def heard(self, line: str, *, shown: bool) -> None:
        """Record a line of the engine, in plain text."""
        with self._lock:
            if shown:
                self._last = self._clock()
            found = _STEP.match(line)
            if found is None or not is_work(found["type"]):
                return
            if found["word"] in _BEGUN:
                self._open.setdefault(found["name"], self._clock())
            else:
                self._open.pop(found["name"], None)
                self._done.add(found["name"])

    def look(self) -> None:
        """Print the progress if it is due."""
        with self._lock:
            now = self._clock()
            if now - self._last < _SILENT_S or not self._open:
                return
            self._last = now
            done = f"{len(self._done)} of {self._total}" if self._total else str(len(self._done))
            oldest = sorted(self._open.items(), key=lambda entry: entry[1])
            names = first_names([f"{name} ({now - began:.0f} s)" for name, began in oldest], _NAMED)
            self._say(f"  … {done} done; at work: {names}")

    def __enter__(self) -> Heartbeat:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(1.0):
            self.look()
