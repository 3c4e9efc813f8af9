"""A report's page as its elements, for tests: what a reader finds in it, whatever the layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "input", "br"})


@dataclass
class Element:
    """An element with its attributes, its own and its descendants' text, and its children."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str, kind: str = "") -> list[Element]:
        """Every descendant of a tag and, if given, a class."""
        return [
            found
            for child in self.children
            for found in (child, *child.all(""))
            if tag in ("", found.tag) and (not kind or kind in found.attributes.get("class", "").split())
        ]

    def one(self, identity: str) -> Element:
        """The descendant of an id."""
        (found,) = (part for part in self.all("") if part.attributes.get("id") == identity)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def page_of(text: str) -> Element:
    """The root of a page, whose elements are all closed in order."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"left open: {[element.tag for element in reader.open[1:]]}"
    return reader.open[0]
