"""The text of a tool's output: decoded, without colours, by numbered lines."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover.facts import DiscoveryError

MOST_BYTES = 16 * 1024 * 1024
"""Limit of one file: many times the longest output of `lspci -vv`."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PROMPT = re.compile(r"\s*(?:\[?[\w.-]+@[^\s$#]*[^$#]{0,80}[$#]|[$#])(?:\s|$)")
_ADDRESS = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{2}):([01][0-9a-fA-F])\.([0-7])")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Output:
    """The output of one tool in a file; `data` are the bytes."""

    file: str
    data: bytes
    text: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line with its number, without blank lines and shell prompts."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip() and not _PROMPT.match(line):
                yield number, line.rstrip()

    def json(self, remedy: str) -> Any:
        """The text as JSON. Raises DiscoveryError."""
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            self.refuse(error.lineno, f"this is not valid JSON ({error.msg})", remedy)
        except (RecursionError, ValueError):
            # ValueError: a number with thousands of digits.
            self.refuse(1, "this is not JSON that a tool prints", remedy)

    def refuse(self, line: int, problem: str, remedy: str) -> NoReturn:
        """End with what is wrong in a line, and what to do.

        Raises:
            DiscoveryError: always.
        """
        raise DiscoveryError(f"{self.file}:{line}: {problem}; {remedy}")

    def refuse_line(self, number: int, line: str, expected: str, command: str) -> NoReturn:
        """End with a line that the output of a command does not have."""
        self.refuse(
            number,
            f"{shown(line.strip())} is not a line of `{command}`, which has lines like {expected}",
            f"give the whole output of `{command}`, and nothing else, in this file",
        )


def decode(file: str, data: bytes) -> Output:
    """The output in a file, which is UTF-8, or UTF-16 with a byte order mark.

    Raises:
        DiscoveryError: it is neither, or too large.
    """
    if len(data) > MOST_BYTES:
        raise DiscoveryError(
            f"{file}: more than {MOST_BYTES // 1024**2} MiB, which no tool prints for one node; "
            "give the output of a command on one node"
        )
    encoding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DiscoveryError(
            f"{file}:{line}: this is not UTF-8 text; give the output of a command, as `command > file` writes it"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DiscoveryError(f"{file}:{line}: a NUL character, which no tool prints; give the output of a command")
    return Output(file, data, _COLOURS.sub("", text.replace("\r\n", "\n")))


def pci_address(written: str) -> str | None:
    """A PCI address in full and in lower case; None if the text is none, or is in a domain above ffff.

    Tools leave the domain out where the machine has domain 0 alone (lspci's manual page), and nvidia-smi writes it with
    eight digits.
    """
    found = _ADDRESS.fullmatch(written.strip())
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    number = int(domain or "0", 16)
    return None if number > 0xFFFF else f"{number:04x}:{bus}:{device}.{function}".lower()
