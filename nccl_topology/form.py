"""Check the form of a file: why the reader stops, and what it skips, loses or misreads in an accepted file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import Library, dialect_table
from .file import quote, several
from .problem import Problem
from .reader import ATTRIBUTES, LONGEST, Cause, Element, Reading, Rejection

_MARKS = ("\xef\xbb\xbf", "\xff\xfe", "\xfe\xff")
_BLANKS = {"\t": "a tab", "\n": "a line end", "\r": "a line end", " ": "a space"}
_PLAIN = "leave it out: the file begins with <system ...>"


def explain_rejection(reading: Reading, stop: Rejection) -> Problem:
    """The finding that explains why the reader refuses the file."""
    name, line = reading.dialect.name, reading.line(stop.offset)
    about = quote(stop.about)
    match stop.cause:
        case Cause.STRAY:
            return _stray(reading, stop, line)
        case Cause.TAG | Cause.NAME | Cause.CLOSING_TAG:
            return _tag(reading, stop, line)
        case Cause.UNQUOTED:
            message = f"the value of {about} does not begin with a quote right after the equals sign"
            return Problem(
                "TOP004", line, message, f'write {stop.about or "name"}="...", with no space around the sign'
            )
        case Cause.TOO_LONG:
            return _too_long(reading, stop, line)
        case Cause.END_OF_FILE:
            return Problem("TOP006", line, "the file ends inside this tag", "write the rest of the file")
        case Cause.COMMENT:
            return Problem("TOP005", line, "this comment has no end", "end it with -->, or leave it out")
        case Cause.MISMATCH | Cause.UNTERMINATED:
            return _nesting(reading, stop, line)
        case Cause.NODES:
            limit = reading.dialect.reads.nodes
            message = f"more elements than {name} can hold: it stops at {limit}"
            return Problem("TOP012", line, message, f"keep to {limit - 1}; leave out what it finds by itself")
        case Cause.CHILDREN:
            limit = reading.dialect.reads.children
            message = f"more than {limit} elements in one {about}: {name} holds no more"
            return Problem("TOP013", line, message, "put a PCI switch between, or leave elements out")
        case Cause.VERSION:
            return _version(reading, stop, line)


def _stray(reading: Reading, stop: Rejection, line: int) -> Problem:
    if stop.offset == 0 and reading.text.startswith(_MARKS):
        return Problem("TOP001", line, "the file begins with a byte-order mark", "save it as plain ASCII text")
    what = _BLANKS.get(stop.about, quote(stop.about))
    message = f"{what} stands where {reading.dialect.name} expects the < of a tag"
    return Problem("TOP002", line, message, "leave nothing but spaces and line ends between tags")


def _tag(reading: Reading, stop: Rejection, line: int) -> Problem:
    if stop.about.startswith("?"):
        return Problem("TOP001", line, "an XML declaration, which stops the reader", _PLAIN)
    if stop.cause is Cause.NAME and stop.about.startswith("!--"):
        message = "an equals sign in the first word of a comment stops the reader"
        return Problem("TOP005", line, message, "write a space after <!--")
    if stop.cause is Cause.CLOSING_TAG:
        what = _BLANKS.get(stop.about, quote(stop.about))
        return Problem("TOP003", line, f"{what} before the > of a closing tag", "write </name> with nothing in it")
    if stop.cause is Cause.NAME:
        message = f"no space ends the element's name before an equals sign: {quote(stop.about)}"
        return Problem("TOP003", line, message, "put one space, and no tab, after the name and between attributes")
    what = _BLANKS.get(stop.about, quote(stop.about))
    message = f"{what} where one space, a slash or the > of the tag is due"
    return Problem("TOP003", line, message, "write the whole tag on one line, with one space between attributes")


def _too_long(reading: Reading, stop: Rejection, line: int) -> Problem:
    begun = re.compile(r"[^=]*=([\"'])([^\n]*)").match(reading.text, stop.offset) if stop.about else None
    if begun is not None and begun[1] == "'" and not reading.dialect.reads.matching_quotes:
        message = f"the value of {quote(stop.about)} begins with a single quote, but ends only at a double one"
        return Problem("TOP004", line, message, 'write double quotes: "..."')
    if begun is not None and len(begun[2]) < LONGEST:
        message = f"the value of {quote(stop.about)} has no closing quote on its line"
        return Problem("TOP004", line, message, 'end it with a double quote: "..."')
    message = f"a name or value of more than {LONGEST} characters"
    return Problem("TOP007", line, message, f"shorten it to {LONGEST}")


def _nesting(reading: Reading, stop: Rejection, line: int) -> Problem:
    # The reader treats a declaration as an ordinary element, and notices the missing end only much later.
    for element in reading.skipped:
        if element.name.startswith(("!", "?")):
            kind = "a CDATA section" if element.name.startswith("![CDATA[") else "a declaration"
            message = f"{kind}, {quote('<' + element.name)}, which the reader takes for an element without an end"
            return Problem("TOP001", reading.line(element.offset), message, "leave it out")
    if stop.cause is Cause.UNTERMINATED:
        message = f"the file ends before {quote('</' + stop.about + '>')}, the end of this element"
        return Problem("TOP006", line, message, f"write </{stop.about}>, or /> where it holds nothing")
    rest = reading.text[stop.offset :]
    closed = rest[: rest.find(">") + 1 or 40]
    message = f"{quote(closed)} where {quote('</' + stop.about + '>')} is due"
    return Problem("TOP006", line, message, f"close {quote(stop.about)} first, or take the tag away")


def _version(reading: Reading, stop: Rejection, line: int) -> Problem:
    own = reading.dialect.format.format_version
    name = reading.dialect.name
    last = reading.elements[-1]
    if last.closing:
        return Problem("TOP006", line, "`system` is closed, but not open", "take the tag away")
    if "version" not in last.values and any(slot.name == "version" for slot in last.slots):
        message = f"`version` comes after the {ATTRIBUTES}th attribute and is lost"
        return Problem("TOP009", line, message, f'write <system version="{own}">')
    if "version" not in last.values:
        message = f"`system` has no version; {name} needs {own}"
        return Problem("TOP009", line, message, f'write <system version="{own}">')
    other = "nccl" if own == 2 else "rccl"
    message = f"version {quote(stop.about)}, while {name} takes nothing but {own}"
    return Problem(
        "TOP009", line, message, f'write version="{own}", or lint a file of {other.upper()} with --library {other}'
    )


_ENTITY = re.compile(r"&(#[0-9]+|#x[0-9a-fA-F]+|[A-Za-z]\w*);")
_SUSPECT = re.compile(r"[\x00-\x1f\x7f&]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_JOINED = re.compile(r"> *<")
_DEPTH = 8
_ROOM = 56


def _root(reading: Reading) -> Iterator[Problem]:
    name, systems = reading.dialect.name, reading.of("system")
    graphs = next((element for element in reading.skipped if element.name == "graphs"), None)
    if graphs is not None:
        message = "a graph file: it forces rings and trees for exactly the ranks of one job"
        yield Problem("TOP011", reading.line(graphs.offset), message, "do not set NCCL_GRAPH_FILE at all")
    elif not systems:
        message = f"no `system`: {name} takes the file for empty, says nothing, and detects the topology itself"
        number = reading.dialect.format.format_version
        yield Problem("TOP008", 1, message, f'write <system version="{number}">...</system>, or set no NCCL_TOPO_FILE')
    for further in systems[1:]:
        message = f"a second `system`: {name} looks at the first alone"
        yield Problem("TOP010", reading.line(further.offset), message, "move its `cpu` elements into the first")


def _skipped(reading: Reading) -> Iterator[Problem]:
    """One finding for all skipped elements with the same name and parent name."""
    groups: dict[tuple[str, str], list[Element]] = {}
    for element in reading.skipped:
        above = element.parent.name if element.parent is not None else ""
        if (above, element.name) != ("", "graphs"):
            groups.setdefault((above, element.name), []).append(element)
    for (above, name), elements in groups.items():
        place = f"in `{above}`" if above else "outside `system`"
        allowed = ", ".join(reading.dialect.children_of(above)) or "nothing"
        message = f"{reading.dialect.name} skips {quote(name)} {place} with all that it holds{several(elements)}"
        remedy = f"take it away; `{above}` may hold {allowed}" if above else "keep nothing but one `system` at the top"
        if name == "xgmi" and reading.dialect.library is Library.NCCL:
            remedy = "take it away, or lint a file of RCCL with --library rccl"
        yield Problem("TOP016", reading.line(elements[0].offset), message, remedy)


def _sizes(reading: Reading) -> Iterator[Problem]:
    holds, name = reading.dialect.holds, reading.dialect.name
    count, systems = len(reading.elements), reading.of("system")
    if count > holds.nodes - _ROOM:
        message = f"{count} elements; {name} holds {holds.nodes} together with those it adds"
        remedy = f"keep to {holds.nodes - _ROOM}: leave out what NCCL finds by itself, such as `net` and `nvlink`"
        yield Problem("TOP014", reading.line(systems[0].offset), message, remedy)
    # In NCCL's graph an element is also linked to its parent, and a CPU to all other CPUs.
    above = {"cpu": len(reading.of("cpu")) - 1, "pci": 1, "nic": 1}
    for element in reading.elements:
        links = len(element.children) + above.get(element.name, 0)
        limited = element.name in above and links > holds.links
        if len(element.children) > holds.children or limited:
            held = f"{len(element.children)} elements in one `{element.name}`"
            message = f"{held}; not every {name} of these versions holds more than {min(holds.children, holds.links)}"
            if reading.dialect.version is not None:
                message = f"{held} make {links} links; {name} {reading.dialect.version} holds {holds.links}"
            remedy = "put PCI switches between; or name the version that reads the file with --nccl"
            yield Problem("TOP013", reading.line(element.offset), message, remedy)
    levels: dict[int, int] = {}
    for element in reading.of("pci"):
        # A parent comes before its children.
        levels[id(element)] = levels.get(id(element.parent), 0) + 1
        if levels[id(element)] != _DEPTH + 1:
            continue
        message = f"a `pci` at level {_DEPTH + 1} below its `cpu`"
        yield Problem("TOP015", reading.line(element.offset), message, f"write at most {_DEPTH} levels of switches")


def _slots(reading: Reading) -> Iterator[Problem]:
    added = dialect_table().added
    for element in reading.elements:
        adds = added.get(element.name, ())
        if element.plain and not element.junk and len(element.values) + len(adds) <= ATTRIBUTES:
            continue
        line = reading.line(element.offset)
        missing = [name for name in adds if name not in element.values]
        if len(element.slots) <= ATTRIBUTES < len(element.slots) + len(missing):
            counted = f"{len(element.slots)} attributes, spaces included"
            further = f"{reading.dialect.name} adds {', '.join(missing)}, has room for {ATTRIBUTES}, and may crash"
            message = f"{counted}: {further}"
            yield Problem("TOP017", line, message, f"write at most {ATTRIBUTES - len(missing)}")
        if len(element.slots) > ATTRIBUTES:
            lost = ", ".join(quote(slot.name) for slot in element.slots[ATTRIBUTES:] if slot.name) or "empty ones"
            message = f"{len(element.slots)} attributes; {reading.dialect.name} keeps {ATTRIBUTES} and loses {lost}"
            yield Problem("TOP017", line, message, f"write at most {ATTRIBUTES}; a further space counts as one")
        named = [slot.name for slot in element.slots if slot.name]
        for name in sorted({name for name in named if named.count(name) > 1}):
            message = f"{quote(name)} is written twice; the first one counts"
            yield Problem("TOP018", line, message, "take the second away")
        half = [slot for slot in element.slots if bool(slot.name) != bool(slot.quote)]
        if half:
            missing_part = f"{quote(half[0].name)} has no value" if half[0].name else "a value has no name"
            message = f"{missing_part} in <{element.name}>: a space before the equals sign ends the name"
            yield Problem("TOP019", line, message, 'write name="value" with no space in it')
        elif any(not slot.name and not slot.quote for slot in element.slots):
            message = f"a space too many in <{element.name}> takes the place of an attribute"
            yield Problem("TOP020", line, message, "write one space between attributes and none before the end")
        if element.junk:
            message = f"{quote(element.junk)} after the slash of <{element.name}> is lost"
            yield Problem("TOP003", line, message, "end the tag with />")


def _quotes(reading: Reading) -> Iterator[Problem]:
    single = [
        element
        for element in reading.elements
        if not element.plain and any(slot.quote == "'" for slot in element.slots)
    ]
    if single and not reading.dialect.holds.matching_quotes:
        message = f"single quotes: NCCL before 2.27 reads on to the next double quote{several(single)}"
        remedy = "write double quotes, or name the version that reads the file with --nccl"
        yield Problem("TOP004", reading.line(single[0].offset), message, remedy)


def _layout(reading: Reading) -> Iterator[Problem]:
    joined = _JOINED.search(_blank_comments(reading))
    if joined is not None:
        yield Problem("TOP021", reading.line(joined.start()), "two tags on one line", "give each tag a line")
    for comment in reading.comments:
        if not reading.text.startswith("<!-- ", comment.offset):
            message = (
                "a comment without a space after its <!--: one equals sign in its first word would stop the reader"
            )
            yield Problem("TOP022", reading.line(comment.offset), message, "write a space after <!--, or leave it out")


def _blank_comments(reading: Reading) -> str:
    """The text with every comment blanked out; offsets stay the same."""
    parts, at = [], 0
    for comment in reading.comments:
        parts += [reading.text[at : comment.offset], "\0" * (comment.end - comment.offset)]
        at = comment.end
    return "".join([*parts, reading.text[at:]])


def _characters(reading: Reading) -> Iterator[Problem]:
    if not reading.text.isascii():
        offset = next(place for place, character in enumerate(reading.text) if not character.isascii())
        yield Problem("TOP023", reading.line(offset), "a character that is not ASCII", "write plain ASCII")
    suspects = [element for element in reading.elements if not element.text]
    # Nearly every file has none: one search over all tags is faster than one search per tag.
    if _SUSPECT.search("".join([element.text for element in reading.elements])):
        suspects = reading.elements
    for element in suspects:
        if not _SUSPECT.search(element.text or "".join(element.values.values())):
            continue
        for slot in element.slots:
            if _CONTROL.search(slot.value):
                message = f"a tab, line end or other control character in the value of {quote(slot.name)}"
                yield Problem("TOP023", reading.line(slot.offset), message, "write the value on one line, without it")
            elif _ENTITY.search(slot.value):
                message = f"{quote(slot.value)}: {reading.dialect.name} does not decode entities"
                yield Problem("TOP023", reading.line(slot.offset), message, "write the character itself")


FORM_CHECKS = (_root, _skipped, _sizes, _slots, _quotes, _layout, _characters)
"""Checks of the form of an accepted file."""
