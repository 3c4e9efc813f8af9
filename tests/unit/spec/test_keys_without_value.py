"""A key with nothing behind it is refused wherever it is in a stack file: it could mean the defaults, or "no"."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import Changes
from jsonschema import Draft202012Validator
from schema_values import forms, schemas_at

from gpu_fabric.plan import Plan
from gpu_fabric.report.pages.schemas import stack_file_schema
from gpu_fabric.spec.load import SECTIONS, document_of, validate
from gpu_fabric.spec.places import Location, dotted

MARK = "nothing-is-here"


def _below(place: Location, form: dict[str, Any]) -> Iterator[Location]:
    """Every place of a stack file below one of this form; nothing below what takes a value of any form."""
    inner = dict(form.get("properties", {}))
    if isinstance(others := form.get("additionalProperties"), dict):
        inner["some-name"] = others
    # Entries of a list have no key; what is in them has.
    entries = [((*place, 0), form["items"], False)] if form.get("items") else []
    for here, schema, is_key in [*(((*place, key), schema, True) for key, schema in inner.items()), *entries]:
        found = list(forms(schema))
        if is_key and found != [{}]:
            yield here
        for each in found:
            yield from _below(here, each)


def _places() -> list[tuple[str, Location]]:
    """Every key of the schema, with a provider that has it."""
    found: dict[Location, str] = {}
    for section in SECTIONS:
        for form in schemas_at((section,)):
            named = form.get("properties", {}).get("provider", {}).get("const", "existing")
            for place in ((section,), *_below((section,), form)):
                found.setdefault(place, named)
    return [(provider, place) for place, provider in found.items()]


PLACES = _places()


def _holding(place: Location, value: Any) -> Any:
    for part in reversed(place):
        value = [value] if isinstance(part, int) else {part: value}
    return value


def _written(provider: str, place: Location, nothing: str) -> str:
    """A stack file with one key that has nothing behind it; the rest of the file may be missing."""
    sections = _holding(place, MARK)
    if place[0] == "cluster" and len(place) > 1 and place[1] != "provider":
        sections["cluster"]["provider"] = provider
    content = {"config": {f"gpu-fabric:{key}": value for key, value in sections.items()}}
    return yaml.safe_dump(content).replace(f": {MARK}", f": {nothing}".rstrip())


@pytest.mark.parametrize("nothing", ["", "null", "~"])
def test_every_key_of_the_schema_that_has_no_value_is_refused_with_its_line_and_what_to_write(nothing: str) -> None:
    passed = []
    for provider, place in PLACES:
        text = _written(provider, place, nothing)
        document = document_of(text, "s", Path(), "Pulumi.s.yaml")
        _, problems = validate(document)
        here = [entry for entry in problems if entry.path == dotted(place)]
        line = document.places[dotted(place)].line
        right = (
            len(here) == 1
            and here[0].message == "this key has no value"
            and here[0].remedy.startswith("write ")
            and here[0].remedy.endswith(", or take the key out")
            and text.splitlines()[line - 1].strip().startswith((str(place[-1]), f"- {place[-1]}", "gpu-fabric:"))
        )
        if not right:
            passed.append((dotted(place), here))
    assert passed == []


def test_the_schema_for_editors_allows_null_in_values_of_charts_alone(root: Path) -> None:
    validator = Draft202012Validator(stack_file_schema())
    content = yaml.safe_load((root / "Pulumi.dev.yaml").read_text())
    software = content["config"]["gpu-fabric:software"]
    software["gpuOperator"] = {"values": {"operator": {"resources": None}}}
    assert validator.is_valid(content)
    software["schedulers"] = {"kueue": None}
    assert not validator.is_valid(content)
    assert "null" not in json.dumps(stack_file_schema())


def test_a_key_of_which_everything_is_optional_takes_an_empty_mapping_instead(
    plan_with: Callable[[Changes], Plan],
) -> None:
    keys = (
        "software.schedulers.kueue",
        "software.schedulers.volcano",
        "software.schedulers.mpiOperator",
        "fabric.readiness",
    )
    for key in keys:
        document = document_of(_written("existing", tuple(key.split(".")), ""), "s", Path(), "s")
        (problem,) = (entry for entry in validate(document)[1] if entry.path == f"gpu-fabric:{key}")
        assert problem.remedy == "write {} for the defaults, or take the key out"
        assert plan_with({key: {}}).steps != plan_with({}).steps


def test_helm_removes_a_charts_default_by_null_so_values_of_charts_keep_it(
    plan_with: Callable[[Changes], Plan],
) -> None:
    values = {"operator": {"resources": None}, "extra": [None]}
    (release,) = (
        entry for entry in plan_with({"software.gpuOperator.values": values}).releases if entry.name == "gpu-operator"
    )
    assert release.values["operator"]["resources"] is None  # type: ignore[index, call-overload]
    assert release.values["extra"] == [None]
