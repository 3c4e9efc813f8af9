"""NCCL's reader, rebuilt: where it agrees with an XML parser they see the same, and C's numbers are C's."""

from xml.etree.ElementTree import Element as XmlElement
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topology_texts import LEAN, is_accepted

from nccl_topology.c_numbers import c_integer
from nccl_topology.dialect import dialect
from nccl_topology.reader import Cause, Element, Reading, read_topology

Tree = tuple[str, dict[str, str], list["Tree"]]


def read(text: str, version: str | None = None) -> Reading:
    return read_topology(text.encode(), dialect(version=version))


def seen(element: Element) -> Tree:
    return element.name, element.values, [seen(child) for child in element.children]


def parsed(element: XmlElement) -> Tree:
    return element.tag, element.attrib, [parsed(child) for child in element]


NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)
VALUES = st.text("0123456789abcdef:., GT/PCIe=>'()", max_size=30)


@st.composite
def elements(draw: st.DrawFn, name: str = "system", depth: int = 0) -> str:
    """An element in the form of the dialect, with any attributes and the children that NCCL looks for."""
    attributes = draw(st.dictionaries(NAMES, VALUES, max_size=5)) | ({"version": "1"} if name == "system" else {})
    tag = " ".join([name, *(f'{key}="{value}"' for key, value in attributes.items())])
    allowed = dialect().children_of(name)
    names = draw(st.lists(st.sampled_from(allowed), max_size=3)) if allowed and depth < 5 else []
    indent = "  " * depth
    if not names and draw(st.booleans()):
        return f"{indent}<{tag}/>\n"
    return f"{indent}<{tag}>\n{''.join(draw(elements(child, depth + 1)) for child in names)}{indent}</{name}>\n"


@given(elements())
@settings(max_examples=60, deadline=None)
def test_any_file_in_the_form_of_the_dialect_is_the_same_tree_for_both(text: str) -> None:
    reading = read(text)

    assert reading.rejection is None or reading.rejection.cause is Cause.NODES
    assert reading.rejection is not None or seen(reading.of("system")[0]) == parsed(fromstring(text))  # noqa: S314


@given(elements(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_file_without_one_of_its_tags_is_refused(text: str, data: st.DataObject) -> None:
    lines = text.splitlines(keepends=True)
    closing = [number for number, line in enumerate(lines) if line.lstrip().startswith("</")]
    if closing:
        lines.pop(data.draw(st.sampled_from(closing)))
        assert not is_accepted("".join(lines).encode())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        (" 1", 1),
        ("\t-7x", -7),
        ("1.0", 1),
        ("0x10", 16),
        ("0X1f", 31),
        ("010", 8),
        ("08", 0),
        ("0x", 0),
        ("", 0),
        ("one", 0),
        ("+3", 3),
        ("4294967297", 1),
        ("2147483648", -2147483648),
        ("9" * 5000, -1),
        ("-" + "9" * 5000, 0),
        ("\xa01", 0),
    ],
)
def test_numbers_are_read_as_c_does(text: str, number: int) -> None:
    """Base 0, up to the first character that does not belong, saturated to 64 bits and cut to 32."""
    assert c_integer(text) == number


@pytest.mark.parametrize("value", ["4294967297", "0x1", "01", "+1", " 1", "1.9", "1\0"])
def test_a_version_counts_as_the_number_that_c_makes_of_it(value: str) -> None:
    assert is_accepted(f'<system version="{value}">\n</system>\n'.encode())


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        ("<system version='1'>\n<cpu>\n</pci>\n", Cause.MISMATCH, 3),
        ("<system version='1'>\n<cpu>\n", Cause.UNTERMINATED, 2),
        ("<system version='1'>\n</system>\nx", Cause.STRAY, 3),
        ("<system version='1'>\n<cpu a='\n", Cause.END_OF_FILE, 2),
        ("<system version='1'>\n\n<cpu a=1/>", Cause.UNQUOTED, 3),
        ("\n</system>", Cause.VERSION, 2),
        ("<system/>", Cause.VERSION, 1),
        ("<!--", Cause.END_OF_FILE, 1),
        ("<!-- ", Cause.COMMENT, 1),
        ("<!-->\n<system/>\n", Cause.COMMENT, 1),
    ],
)
def test_the_reader_stops_where_nccl_does(text: str, cause: Cause, line: int) -> None:
    reading = read(text)

    assert reading.rejection is not None
    assert (reading.rejection.cause, reading.line(reading.rejection.offset)) == (cause, line)


@pytest.mark.parametrize(
    "comment", ["<!---->", "<!--x-->", "<!-- x -- y -->", "<!--/x=y-->", "<!-- <system -->", "<!-- > -->"]
)
def test_comments_that_nccl_skips(comment: str) -> None:
    reading = read(f"{comment}\n{LEAN}{comment}\n")

    assert reading.rejection is None
    assert [reading.line(found.offset) for found in reading.comments] == [1, LEAN.count("\n") + 2]


def test_the_first_of_two_attributes_counts_and_the_17th_is_lost() -> None:
    attributes = " ".join(f'a{number}="{number}"' for number in range(16))
    system = read(f'<system version="1" version="2" {attributes}/>').of("system")[0]

    assert system.get("version") == "1"
    assert "a13" in system.values
    assert "a14" not in system.values


def test_an_empty_slot_takes_the_place_of_an_attribute() -> None:
    spaces, attributes = " " * 14, 'version="1" name="lab"'

    assert read(f"<system {spaces}{attributes}/>").of("system")[0].get("name") == "lab"
    assert "name" not in read(f"<system  {spaces}{attributes}/>").of("system")[0].values


def test_what_is_skipped_takes_its_children_along_and_its_end_has_any_name() -> None:
    reading = read(LEAN.replace("<cpu", "<rack>\n<pci>\n</x>\n</y>\n<cpu", 1))

    assert [element.name for element in reading.skipped] == ["rack"]
    assert len(reading.elements) == len(read(LEAN).elements)


def test_a_text_ends_at_a_nul_as_c_has_it() -> None:
    reading = read('<system\0x version="1\0007"/>')

    assert (reading.elements[0].name, reading.elements[0].values) == ("system", {"version": "1"})


def test_a_quote_in_a_name_is_part_of_it() -> None:
    system = read('<system version="1" a"b="c" d="e"/>').of("system")[0]

    assert system.values == {"version": "1", 'a"b': "c", "d": "e"}
