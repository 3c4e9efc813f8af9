"""At every key of the schema what the schema does not allow there: keys that it does not have, keys left out, values.

A stack file with one of them may lack all else: validation says everything at once.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from schema_values import forms, schemas_at

from gpu_fabric.spec.load import SECTIONS
from gpu_fabric.spec.places import Location, dotted
from gpu_fabric.spec.stack_text import StackDocument

Json = dict[str, Any]

SECRET = "tok-4f1c9e-secret"
# A value of each type, such as people write for one of another: quoted numbers, 1 for true, and what was encrypted.
_OF_TYPES = {"boolean": True, "integer": 1, "number": 1.5, "string": "1", "array": [], "object": {"secure": SECRET}}
_NO_WORD = "\0é \n"
# Texts that may be anything here: names of nodes, speeds of links and reasons are judged by rules, labels together.
_ANY_TEXT = (
    *("model", "driver", "linkSpeed", "rootLinkSpeed", "source", "beforeJoin", "afterJoin", "configurations.*"),
    *("grafanaLabels.*", "labels.*", "resource", "reason", "nodeNames", "nodeNames[0]", "namespaces[0]"),
)


class Wrong(NamedTuple):
    """What is wrong with a value, the value at its place, and the findings that it must give."""

    way: str
    provider: str
    place: Location
    value: Any
    findings: frozenset[tuple[str, str]]

    def document(self) -> StackDocument:
        sections = self.value
        for part in reversed(self.place):
            sections = [sections] if isinstance(part, int) else {part: sections}
        if self.place[0] == "cluster" and isinstance(sections["cluster"], dict):
            sections["cluster"].setdefault("provider", self.provider)
        return StackDocument(name="wrong", file="Pulumi.wrong.yaml", root=Path(), sections=sections)


@cache
def _places() -> dict[Location, dict[str, list[Json]]]:
    """Every place of the schema with its forms, by provider."""
    found: dict[Location, dict[str, list[Json]]] = {}
    for section in SECTIONS:
        for form in schemas_at((section,)):
            provider = form.get("properties", {}).get("provider", {}).get("const", "existing")
            for place, below in _below((section,), form):
                found.setdefault(place, {}).setdefault(provider, []).append(below)
    return found


def _below(place: Location, form: Json) -> Iterator[tuple[Location, Json]]:
    yield place, form
    inner: list[tuple[Location, Json]] = [((*place, key), schema) for key, schema in form.get("properties", {}).items()]
    others, entries = form.get("additionalProperties"), form.get("items")
    inner += [((*place, "*"), others)] if isinstance(others, dict) else []
    inner += [((*place, 0), entries)] if entries else []
    for here, schema in inner:
        # What has the form {} takes anything: the values of charts.
        for found in filter(None, forms(schema)):
            yield from _below(here, found)


def wrong() -> Iterator[Wrong]:
    """Everything that is wrong, once for the providers that have a key in common."""
    for place, by_provider in _places().items():
        seen: list[list[Json]] = []
        for provider, here in by_provider.items():
            yield from _keys(place, provider, here)
            if here not in seen:
                seen.append(here)
                yield from _values(place, provider, here)


def _keys(place: Location, provider: str, here: list[Json]) -> Iterator[Wrong]:
    mappings = [form for form in here if form.get("additionalProperties") is False]
    known = {key for form in mappings for key in form["properties"]}
    elsewhere = {key for forms in _places()[place].values() for form in forms for key in form.get("properties", {})}
    if mappings and place[-1] != "configurations":
        others = sorted({f"{key}x" for key in known} | elsewhere - known)
        yield Wrong("unknown", provider, place, dict.fromkeys(others, 1), _at("SPC001", place, others))
    required = {key for form in mappings for key in form.get("required", ()) if key != "provider"}
    if required and len(here) == 1:
        yield Wrong("missing", provider, place, {}, _at("SPC003", place, required))


def _at(rule: str, place: Location, keys: Any) -> frozenset[tuple[str, str]]:
    return frozenset((rule, dotted((*place, key))) for key in keys)


def _values(place: Location, provider: str, here: list[Json]) -> Iterator[Wrong]:
    at = frozenset({("SPC002", dotted(place))})
    types = {form.get("type", "string") for form in here}
    types |= {"integer"} if "number" in types else set()
    for of, value in _OF_TYPES.items():
        # To Python true is 1, and may be one of some numbers.
        if of not in types and not any(value in form.get("enum", ()) for form in here):
            yield Wrong("type", provider, place, value, at)
    for form in here:
        for value in _out_of_bounds(form):
            yield Wrong("bounds", provider, place, value, at)
        if form.get("type") == "string" and not dotted(place).endswith(tuple(f".{key}" for key in _ANY_TEXT)):
            yield Wrong("word", provider, place, _NO_WORD, at)


def _out_of_bounds(form: Json) -> Iterator[Any]:
    if "minimum" in form:
        yield form["minimum"] - 1
    if "exclusiveMinimum" in form:
        yield form["exclusiveMinimum"]
    if "maximum" in form:
        yield form["maximum"] + 1
    if form.get("minItems") and "prefixItems" not in form:
        yield []
    if form.get("minLength"):
        yield ""
