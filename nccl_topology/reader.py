"""Read a topology file exactly as NCCL does: which bytes it accepts, how it interprets them, and where it stops.

NCCL's reader is not an XML parser: each accepts input that the other refuses. This module reproduces it byte for byte,
so that a file is judged by NCCL's real behaviour (source: NCCL's src/graph/xml.cc).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import NoReturn

from .c_numbers import c_integer
from .dialect import Dialect

LONGEST = 253
"""The most characters of a name or value that fit in the reader's buffers."""
WORD = rf"[^= >/\n\r\0\"]{{1,{LONGEST}}}"
"""A name in the form that every reader accepts. A name with a quote in it takes the path for unusual input."""
USUAL_SLOT = re.compile(rf' ({WORD})="([^"\0]{{0,{LONGEST}}})"')
"""A space, a name and a value in the form that every reader accepts."""
ATTRIBUTES = 16
"""The most attributes of one element; the reader consumes further ones and drops them."""


class Cause(Enum):
    """Why the reader stopped."""

    STRAY = auto()  # text outside tags
    TAG = auto()  # a tag without `>` at the expected place
    CLOSING_TAG = auto()
    NAME = auto()  # an equals sign in an element's name
    UNQUOTED = auto()
    TOO_LONG = auto()
    END_OF_FILE = auto()
    COMMENT = auto()
    MISMATCH = auto()
    UNTERMINATED = auto()
    NODES = auto()
    CHILDREN = auto()
    VERSION = auto()


@dataclass(frozen=True)
class Rejection:
    """Where and why the reader stopped; `about` is the name, value or character that caused it."""

    cause: Cause
    offset: int
    about: str = ""


@dataclass(slots=True)
class Attribute:
    """One slot of an element; without an equals sign, `quote` and `value` are empty."""

    name: str
    value: str
    quote: str
    offset: int


@dataclass(slots=True)
class Element:
    """An element as NCCL reads it: `values` are the first 16 slots, and of a repeated name the first.

    `plain`: every slot is a name and a value in double quotes, no name is repeated, and none is lost. `junk` is the
    text between the slash and the `>` of a childless tag. The slots of a usual tag are parsed from its `text` on
    access; `other_slots` are those of any other tag.
    """

    name: str
    offset: int
    values: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    parent: Element | None = None
    closing: bool = False
    single: bool = False
    known: bool = True
    plain: bool = True
    junk: str = ""
    text: str = ""
    text_offset: int = 0
    other_slots: list[Attribute] = field(default_factory=list)

    @property
    def slots(self) -> list[Attribute]:
        """Every slot as written."""
        found = USUAL_SLOT.finditer(self.text)
        usual = [Attribute(slot[1], slot[2], '"', self.text_offset + slot.start(1)) for slot in found]
        return usual or self.other_slots

    def get(self, name: str, default: str = "") -> str:
        """The value that NCCL reads."""
        return self.values.get(name, default)

    def place(self, name: str) -> int:
        """Offset of an attribute, or of the element if it has no attribute of that name."""
        return next((slot.offset for slot in self.slots if slot.name == name), self.offset)

    def below(self, name: str) -> list[Element]:
        """Children with a name."""
        return [child for child in self.children if child.name == name]


@dataclass(slots=True)
class Comment:
    """A comment that the reader skipped: from `offset` up to `end`."""

    offset: int
    end: int


@dataclass
class Reading:
    """The content that the reader found in a file.

    `elements` are those that it keeps, in the order of the file; `skipped` are the outermost of those that it ignores.
    """

    text: str
    dialect: Dialect
    elements: list[Element] = field(default_factory=list)
    skipped: list[Element] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    rejection: Rejection | None = None

    def line(self, offset: int) -> int:
        """Number of the line at an offset, from 1."""
        return bisect_right(self._line_starts, offset)

    def of(self, name: str) -> list[Element]:
        """Elements with a name; call it only after the reading is complete."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[Element]]:
        found: dict[str, list[Element]] = {}
        for element in self.elements:
            found.setdefault(element.name, []).append(element)
        return found

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]


_TOKEN = re.compile(r"[^= >/\n\r]*")
_GAP = re.compile(r"[ \n\r]*")
# Fast path: a usual tag with its attributes and the blanks before it. All other tags are read part by part.
_USUAL_TAG = re.compile(rf'[ \n\r]*<(?:/({WORD})>|(?!!--)({WORD})((?: {WORD}="[^"\0]{{0,{LONGEST}}}")*)(/?)>)')
_CLOSED, _NAME, _SLOTS = 1, 2, 3


def read_topology(data: bytes, by: Dialect) -> Reading:
    """Read a file as the library does; never raises, for any bytes."""
    reading = Reading(data.decode("latin-1"), by)
    try:
        _Reader(reading).read()
    except _StopReading as stop:
        reading.rejection = stop.rejection
    return reading


class _StopReading(Exception):
    def __init__(self, rejection: Rejection) -> None:
        super().__init__()
        self.rejection = rejection


def _stop(cause: Cause, offset: int, about: str = "") -> NoReturn:
    raise _StopReading(Rejection(cause, offset, about))


class _Reader:
    """One pass over a text; `_at` is the offset of the next character."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._text = reading.text
        self._limits = reading.dialect.reads
        self._children = reading.dialect.children
        self._at = 0

    def read(self) -> None:
        elements, room, text = self._reading.elements, self._limits.nodes, self._text
        open_elements: list[Element] = []
        head: Element | None = None
        while True:
            if len(elements) == room:
                _stop(Cause.NODES, min(self._at, max(len(text) - 1, 0)))
            usual = _USUAL_TAG.match(text, self._at)
            closes = usual is not None and usual.lastindex == _CLOSED
            if usual is not None and closes and head is not None:
                self._at = usual.end()
                self._close(head, usual[_CLOSED], usual.start(_CLOSED) - 2)
            else:
                element = self._element() if usual is None or closes else self._usual(usual)
                if element is None:
                    if head is not None:
                        _stop(Cause.UNTERMINATED, head.offset, head.name)
                    return
                if head is None or not element.closing:
                    self._place(element, head)
                    if not element.single:
                        open_elements.append(element)
                        head = element
                    continue
                self._close(head, element.name, element.offset)
            open_elements.pop()
            head = open_elements[-1] if open_elements else None

    @staticmethod
    def _close(head: Element, name: str, offset: int) -> None:
        # NCCL reads the next tag into the slot of a skipped element, so any closing name matches it.
        if head.known and head.name != name:
            _stop(Cause.MISMATCH, offset, head.name)

    def _place(self, element: Element, head: Element | None) -> None:
        if head is None:
            element.known = element.name == "system"
        else:
            element.known = head.known and element.name in self._children.get(head.name, ())
        if not element.known:
            if head is None or head.known:
                element.parent = head
                self._reading.skipped.append(element)
            return
        if head is not None:
            if len(head.children) == self._limits.children:
                _stop(Cause.CHILDREN, element.offset, head.name)
            head.children.append(element)
        element.parent = head
        self._reading.elements.append(element)
        if element.name == "system":
            version = element.values.get("version")
            if version is None or c_integer(version) != self._reading.dialect.format.format_version:
                _stop(Cause.VERSION, element.place("version"), version or "")

    def _element(self) -> Element | None:
        """The next tag that is not a comment; None at the end of the file."""
        while True:
            gap = _GAP.match(self._text, self._at)
            begin = gap.end() if gap else self._at
            if begin == len(self._text):
                return None
            if self._text[begin] != "<":
                _stop(Cause.STRAY, begin, self._text[begin])
            usual = _USUAL_TAG.match(self._text, begin)
            if usual is not None and usual.lastindex != _CLOSED:
                return self._usual(usual)
            self._at = begin + 1
            name, last = self._name()
            if not name.startswith("!--"):
                break
            self._skip_comment(begin, name.removeprefix("!--") + last)
        if name == "" and last == "/":
            name, last = self._name()
            if last != ">":
                _stop(Cause.CLOSING_TAG, begin, last)
            return Element(name, begin, closing=True)
        element = Element(name, begin)
        while last == " ":
            last = self._attribute(element)
        if last == "/":
            element.single = True
            element.junk, last = self._name()
        if last != ">":
            _stop(Cause.TAG, self._at - 1, name if name.startswith("?") else last)
        return element

    def _usual(self, found: re.Match[str]) -> Element:
        """A tag in the form that every reader accepts."""
        self._at = found.end()
        _, name, text, slash = found.groups()
        # Quotes only delimit values here: neither names nor values contain one.
        parts = text.split('"')
        names = [part[1:-1] for part in parts[:-1:2]]
        values = dict(zip(names, parts[1::2], strict=True))
        plain = len(values) == len(names) <= ATTRIBUTES
        if not plain:
            kept = list(zip(names, parts[1::2], strict=True))[:ATTRIBUTES]
            values = dict(reversed(kept))
        offset, place = found.start(_NAME) - 1, found.start(_SLOTS)
        return Element(name, offset, values, single=slash == "/", plain=plain, text=text, text_offset=place)

    def _skip_comment(self, begin: int, read: str) -> None:
        if not ("..." + read).endswith("-->"):
            end = self._text.find("-->", self._at)
            if end < 0:
                _stop(Cause.COMMENT, begin)
            self._at = end + 3
        self._reading.comments.append(Comment(begin, self._at))

    def _name(self) -> tuple[str, str]:
        """A name without a value, and the character after it."""
        begin, end = self._token()
        name = _as_c(self._text[begin:end])
        if self._text[end] == "=":
            _stop(Cause.NAME, begin, name)
        self._at = end + 1
        return name, self._text[end]

    def _attribute(self, element: Element) -> str:
        """Add a slot to an element; returns the character after it."""
        element.plain = False
        begin, end = self._token()
        slot = Attribute(_as_c(self._text[begin:end]), "", "", begin)
        self._at = end + 1
        if self._text[end] == "=":
            slot.quote, slot.value = self._value(slot)
            end = self._at
            self._at += 1
            if end >= len(self._text):
                _stop(Cause.END_OF_FILE, element.offset)
        if len(element.other_slots) < ATTRIBUTES:
            element.values.setdefault(slot.name, slot.value)
        element.other_slots.append(slot)
        return self._text[end]

    def _value(self, slot: Attribute) -> tuple[str, str]:
        begin = self._at + 1
        quote = self._text[self._at : begin]
        if not quote:
            _stop(Cause.END_OF_FILE, slot.offset)
        if quote not in "\"'":
            _stop(Cause.UNQUOTED, slot.offset, slot.name)
        end = self._text.find(quote if self._limits.matching_quotes else '"', begin, begin + LONGEST + 1)
        if end < 0:
            too_long = len(self._text) - begin > LONGEST + 1
            _stop(Cause.TOO_LONG if too_long else Cause.END_OF_FILE, slot.offset, slot.name)
        self._at = end + 1
        return quote, _as_c(self._text[begin:end])

    def _token(self) -> tuple[int, int]:
        """Start and end offset of the characters before the next separator; stops the reading if there is none."""
        begin = self._at
        found = _TOKEN.match(self._text, begin)
        end = found.end() if found else begin
        # NCCL checks for an equals sign before it checks the buffer's size, so an attribute name may be one longer.
        room = LONGEST + 1 if self._text[end : end + 1] in ("=", "") else LONGEST
        if end - begin > room:
            _stop(Cause.TOO_LONG, begin)
        if end == len(self._text):
            _stop(Cause.END_OF_FILE, begin)
        return begin, end


def _as_c(text: str) -> str:
    """A text as a C string, which ends at NUL."""
    return text.partition("\0")[0] if "\0" in text else text
