"""Writes data as YAML in a way that nobody would: every form that means the same, drawn by chance."""

import random
from collections.abc import Callable
from typing import Any


class Raw(str):
    """A scalar whose text is written as it is, whatever a reader makes of it."""

    __slots__ = ()


Lines = list[str]


class OddWriter:
    """Writes one document; equal parts may be aliases of the first."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._anchors: dict[str, str] = {}

    def text(self, content: Any) -> str:
        """The document: with a mark, a head or comments in front, and any end."""
        start = self.chance.choice(["", "", "---\n", "# said first\n", "--- # said\n", "\ufeff", "\ufeff---\n"])
        end = self.chance.choice(["\n", "\n", "", "\n...\n", "\n# said last\n", "\n\n\n"])
        return start + "\n".join(self._block(content, 0)) + end

    def _block(self, content: Any, column: int) -> Lines:
        lines: Lines = []
        step = self.chance.choice([2, 2, 4])
        if isinstance(content, dict):
            for key, value in content.items():
                explicit = self._rarely() and not isinstance(value, Raw)
                heads = [f"? {self._key(key)}", ":"] if explicit else [f"{self._key(key)}:"]
                lines += [" " * column + head for head in heads[:-1]]
                lines += self._value(value, column, heads[-1], step)
        else:
            for value in content:
                lines += self._value(value, column, "-", step)
        return lines

    def _value(self, value: Any, column: int, head: str, step: int) -> Lines:
        place = " " * column + head
        if not isinstance(value, dict | list) or not value:
            return [f"{place} {self._flow(value)}{self._comment()}"]
        known = self._anchors.get(repr(value))
        if known is not None and self.chance.random() < 0.7:
            return [f"{place} *{known}{self._comment()}"]
        before = self._properties(value)
        if self.chance.random() < 0.3:
            return [f"{place} {before}{self._flow(value)}{self._comment()}"]
        deeper = (
            column
            if isinstance(value, list) and head not in ("-", ":") and self.chance.random() < 0.5
            else column + step
        )
        return [f"{place} {before}".rstrip() + self._comment(), *self._block(value, deeper)]

    def _flow(self, value: Any) -> str:
        if isinstance(value, dict):
            inner = [f"{self._key(key)}: {self._flow(part)}" for key, part in value.items()]
            return "{" + self._joined(inner) + "}"
        if isinstance(value, list):
            return "[" + self._joined([self._flow(part) for part in value]) + "]"
        if isinstance(value, Raw):
            return str(value)
        return self._scalar(value)

    def _joined(self, parts: list[str]) -> str:
        last = "," if parts and self._rarely() else ""
        return self.chance.choice([", ", " , "]).join(parts) + last

    def _scalar(self, value: Any) -> str:
        if value is None:
            return self.chance.choice(["null", "~"])
        if isinstance(value, bool):
            return self.chance.choice(["true", "True"] if value else ["false", "FALSE"])
        if not isinstance(value, str):
            return str(value)
        forms: list[Callable[[str], str]] = [_double, _single]
        if value and all(letter.isalnum() or letter in "-_/." for letter in value) and value[0].isalpha():
            forms += [str, str, str] if value.lower() not in ("y", "n", "yes", "no", "on", "off", "true") else []
        return ("!!str " if self._rarely() else "") + self.chance.choice(forms)(value)

    def _key(self, key: str) -> str:
        return _double(key) if self._rarely() else key

    def _properties(self, value: Any) -> str:
        tag = ("!!map " if isinstance(value, dict) else "!!seq ") if self._rarely() else ""
        if self.chance.random() < 0.3:
            name = self.chance.choice(["a", "b", f"n{len(self._anchors)}"])
            self._anchors = {key: other for key, other in self._anchors.items() if other != name}
            self._anchors[repr(value)] = name
            return f"{tag}&{name} "
        return tag

    def _comment(self) -> str:
        return "   # said" if self._rarely() else ""

    def _rarely(self) -> bool:
        return self.chance.random() < 0.1


def _double(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _single(value: str) -> str:
    return "'" + value.replace("'", "''") + "'" if "\n" not in value else _double(value)
