"""The engine's plain output, made readable: without a terminal of its own it repeats each step three times."""

from __future__ import annotations

import re

# Colour codes stand at any place of a line.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# A step that has begun and says nothing else; its end is a line of its own. Dots while the engine thinks.
_BEGUN = re.compile(r" (?:creating|updating|replacing|deleting|refreshing|reading) \([0-9.]+s\) *$")
_DOTS = re.compile(r"^@ \w+\.+$")
_AWAITED = re.compile(r" (?:Resource is current|Resource scheduled for deletion) *$")
# What it advises after a destroy is what the sandbox does by itself.
_ADVICE = re.compile(r"^(?:The resources in the stack have been deleted|If you want to remove the stack completely)")
# What it adds to a program's own last word, such as a refusal.
_ENDED = re.compile(r" error: an unhandled error occurred: program exited with non-zero exit code: \d+ *$")
# What a plug-in leaves on its last words when the Go runtime ends it.
_CRASH = re.compile(r"^\s*(?:panic: |fatal error: |goroutine \d+ \[)")


def is_news(line: str) -> bool:
    """Whether a line of the engine tells a person something that no other line does."""
    plain = _COLOUR.sub("", line.rstrip("\r\n"))
    silent = _BEGUN.search(plain) or _AWAITED.search(plain) or _ENDED.search(plain)
    return not (silent or _DOTS.match(plain) or _ADVICE.match(plain))


def is_crash(line: str) -> bool:
    """Whether a line belongs to the trace of a plug-in that crashed."""
    return bool(_CRASH.match(_COLOUR.sub("", line)))
