"""Explain where and why the library's reader stops; nothing after that place is checked."""

from __future__ import annotations

import re

from gpu_fabric.nccl.lint.report import LineFinding, finding, shown
from gpu_fabric.nccl.reading import ATTRIBUTES, LONGEST, Cause, Reading, Rejection

_MARKS = ("\xef\xbb\xbf", "\xff\xfe", "\xfe\xff")
_BLANKS = {"\t": "a tab", "\n": "a line end", "\r": "a line end", " ": "a space"}
_PLAIN = "leave it out: the file begins with <system ...>"


def rejected(reading: Reading, stop: Rejection) -> LineFinding:
    """The finding that explains why the reader refuses the file."""
    name, line = reading.dialect.name, reading.line(stop.offset)
    about = shown(stop.about)
    match stop.cause:
        case Cause.STRAY:
            return _stray(reading, stop, line)
        case Cause.TAG | Cause.NAME | Cause.CLOSING_TAG:
            return _tag(reading, stop, line)
        case Cause.UNQUOTED:
            message = f"the value of {about} does not begin with a quote right after the equals sign"
            return finding(
                "TOP004", line, message, f'write {stop.about or "name"}="...", with no space around the sign'
            )
        case Cause.TOO_LONG:
            return _too_long(reading, stop, line)
        case Cause.END_OF_FILE:
            return finding("TOP006", line, "the file ends inside this tag", "write the rest of the file")
        case Cause.COMMENT:
            return finding("TOP005", line, "this comment has no end", "end it with -->, or leave it out")
        case Cause.MISMATCH | Cause.UNTERMINATED:
            return _nesting(reading, stop, line)
        case Cause.NODES:
            limit = reading.dialect.reads.nodes
            message = f"more elements than {name} can hold: it stops at {limit}"
            return finding("TOP012", line, message, f"keep to {limit - 1}; leave out what it finds by itself")
        case Cause.CHILDREN:
            limit = reading.dialect.reads.children
            message = f"more than {limit} elements in one {about}: {name} holds no more"
            return finding("TOP013", line, message, "put a PCI switch between, or leave elements out")
        case Cause.VERSION:
            return _version(reading, stop, line)


def _stray(reading: Reading, stop: Rejection, line: int) -> LineFinding:
    if stop.offset == 0 and reading.text.startswith(_MARKS):
        return finding("TOP001", line, "the file begins with a byte-order mark", "save it as plain ASCII text")
    what = _BLANKS.get(stop.about, shown(stop.about))
    message = f"{what} stands where {reading.dialect.name} expects the < of a tag"
    return finding("TOP002", line, message, "leave nothing but spaces and line ends between tags")


def _tag(reading: Reading, stop: Rejection, line: int) -> LineFinding:
    if stop.about.startswith("?"):
        return finding("TOP001", line, "an XML declaration, which stops the reader", _PLAIN)
    if stop.cause is Cause.NAME and stop.about.startswith("!--"):
        message = "an equals sign in the first word of a comment stops the reader"
        return finding("TOP005", line, message, "write a space after <!--")
    if stop.cause is Cause.CLOSING_TAG:
        what = _BLANKS.get(stop.about, shown(stop.about))
        return finding("TOP003", line, f"{what} before the > of a closing tag", "write </name> with nothing in it")
    if stop.cause is Cause.NAME:
        message = f"no space ends the element's name before an equals sign: {shown(stop.about)}"
        return finding("TOP003", line, message, "put one space, and no tab, after the name and between attributes")
    what = _BLANKS.get(stop.about, shown(stop.about))
    message = f"{what} where one space, a slash or the > of the tag is due"
    return finding("TOP003", line, message, "write the whole tag on one line, with one space between attributes")


def _too_long(reading: Reading, stop: Rejection, line: int) -> LineFinding:
    begun = re.compile(r"[^=]*=([\"'])([^\n]*)").match(reading.text, stop.offset) if stop.about else None
    if begun is not None and begun[1] == "'" and not reading.dialect.reads.matching_quotes:
        message = f"the value of {shown(stop.about)} begins with a single quote, but ends only at a double one"
        return finding("TOP004", line, message, 'write double quotes: "..."')
    if begun is not None and len(begun[2]) < LONGEST:
        message = f"the value of {shown(stop.about)} has no closing quote on its line"
        return finding("TOP004", line, message, 'end it with a double quote: "..."')
    message = f"a name or value of more than {LONGEST} characters"
    return finding("TOP007", line, message, f"shorten it to {LONGEST}")


def _nesting(reading: Reading, stop: Rejection, line: int) -> LineFinding:
    # The reader treats a declaration as an ordinary element, and notices the missing end only much later.
    for element in reading.skipped:
        if element.name.startswith(("!", "?")):
            kind = "a CDATA section" if element.name.startswith("![CDATA[") else "a declaration"
            message = f"{kind}, {shown('<' + element.name)}, which the reader takes for an element without an end"
            return finding("TOP001", reading.line(element.offset), message, "leave it out")
    if stop.cause is Cause.UNTERMINATED:
        message = f"the file ends before {shown('</' + stop.about + '>')}, the end of this element"
        return finding("TOP006", line, message, f"write </{stop.about}>, or /> where it holds nothing")
    closed = _word(reading.text[stop.offset :])
    message = f"{shown(closed)} where {shown('</' + stop.about + '>')} is due"
    return finding("TOP006", line, message, f"close {shown(stop.about)} first, or take the tag away")


def _version(reading: Reading, stop: Rejection, line: int) -> LineFinding:
    own = reading.dialect.format.format_version
    name = reading.dialect.name
    last = reading.elements[-1]
    if last.closing:
        return finding("TOP006", line, "`system` is closed, but not open", "take the tag away")
    if "version" not in last.values and any(slot.name == "version" for slot in last.slots):
        message = f"`version` comes after the {ATTRIBUTES}th attribute and is lost"
        return finding("TOP009", line, message, f'write <system version="{own}">')
    if "version" not in last.values:
        message = f"`system` has no version; {name} needs {own}"
        return finding("TOP009", line, message, f'write <system version="{own}">')
    other = "nccl" if own == 2 else "rccl"
    message = f"version {shown(stop.about)}, while {name} takes nothing but {own}"
    return finding(
        "TOP009", line, message, f'write version="{own}", or lint a file of {other.upper()} with --library {other}'
    )


def _word(text: str) -> str:
    return text[: text.find(">") + 1 or 40]
