"""The result of reading a topology file as NCCL does: elements with their offsets, and where the reader stopped."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property, lru_cache

from gpu_fabric.nccl.dialect import Dialect

LONGEST = 253
"""The most characters of a name or value that fit in the reader's buffers."""
WORD = rf"[^= >/\n\r\0\"]{{1,{LONGEST}}}"
"""A name in the form that every reader accepts. A name with a quote in it takes the path for unusual input."""
USUAL_SLOT = re.compile(rf' ({WORD})="([^"\0]{{0,{LONGEST}}})"')
"""A space, a name and a value in the form that every reader accepts."""
ATTRIBUTES = 16
"""The most attributes of one element; the reader consumes further ones and drops them."""

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))")


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


def is_misread(text: str) -> bool:
    """Whether C reads another number than people do: decimal digits after a leading zero are octal."""
    written = re.match(r"[ \t\n\v\f\r]*[+-]?(0\d+)", text)
    return written is not None and abs(c_integer(text)) != int(written[1][:20])


@lru_cache(maxsize=1024)
def c_integer(text: str) -> int:
    """The number that C's strtol with base 0 reads, in NCCL's 32 bits; 0 if the text does not begin with a number."""
    found = _NUMBER.match(text)
    if found is None:
        return 0
    sign, hexadecimal, octal, decimal = found.groups()
    # Python refuses to convert thousands of decimal digits; C saturates long before that length.
    number = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else int(decimal[:20])
    number = max(-(2**63), min(2**63 - 1, -number if sign == "-" else number))
    return (number + 2**31) % 2**32 - 2**31
