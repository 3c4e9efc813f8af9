"""Wrong stacks by the hundred: each is refused by the rule that its mistake breaks, at the mistake's place."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import changed
from each_case import each
from negative.base import Base
from negative.forms import SECRET, Wrong, wrong
from negative.kinds import Mistake, bad_cases, wrong_stacks
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import ConfigurationError, Finding, rules
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.parts import part_of
from gpu_fabric.spec.stack_text import StackDocument

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = "gpu-fabric:"

# What a user must never read: a program's inner words, or what was encrypted.
UNFIT = ("Traceback", "pydantic", "ValidationError", "errors.pydantic.dev", "type=", "input_value", SECRET)


@cache
def good_stacks() -> dict[str, StackDocument]:
    """The good stacks by name: the development stack, the examples, and one per provider, manager and model.

    A stack of hundreds of nodes can have no other mistakes than a small one, only slower ones. Of two stacks that are
    one neither has all sections; tests of split stacks have their mistakes.
    """
    folders = {"": ROOT, "example ": ROOT / "examples", "test ": ROOT / "tests" / "stacks"}
    files = [(kind, file) for kind, folder in folders.items() for file in sorted(folder.glob("Pulumi.*.yaml"))]
    read = {}
    for kind, file in files:
        name = file.name.removeprefix("Pulumi.").removesuffix(".yaml")
        document = read_document(name, ROOT if kind == "example " else file.parent)
        if part_of(document.sections) == "all":
            read[f"{kind}{name}"] = document
    return {name: document for name, document in read.items() if Base(name, document.sections).nodes <= 256}


@cache
def made(rule: str) -> list[tuple[str, Mistake]]:
    """The wrong stacks of a rule, by the name of the good stack in which each is made."""
    bases = tuple(Base(name, document.sections) for name, document in good_stacks().items())
    return [(base.name, mistake) for base, mistake in wrong_stacks(rule, bases)]


def missing(found: tuple[Finding, ...], expected: set[tuple[str, str]]) -> str | None:
    """What is not as it should be with the findings of a wrong stack; None when all is well."""
    said = {(entry.id, entry.path) for entry in found}
    if not expected <= said:
        return f"no {sorted(expected - said)}, but {sorted(said)}"
    for entry in found:
        if not entry.message.strip() or not entry.remedy.strip():
            return f"{entry.id} at {entry.path} says too little: {entry.message!r} -> {entry.remedy!r}"
        text = f"{entry.path} {entry.message} {entry.remedy}"
        if unfit := [word for word in UNFIT if word in text]:
            return f"{entry.id} at {entry.path} says {unfit[0]!r}: {text}"
    return None


def fault(rule: str, stack: str, mistake: Mistake) -> str | None:
    """What is not as it should be when the program meets a mistake."""
    document = changed(good_stacks()[stack], mistake.changes)
    # As text, because to Python true is 1.
    if json.dumps(document.sections) == json.dumps(good_stacks()[stack].sections):
        return "changes nothing"
    try:
        prepare(document, for_up=False)
    except ConfigurationError as error:
        return missing(error.findings, {(rule, f"{NAMESPACE}{mistake.path}")})
    return "accepted"


@pytest.mark.parametrize("name", good_stacks(), ids=lambda name: name.replace(" ", "-"))
def test_every_stack_is_accepted_before_the_mistake(name: str) -> None:
    prepare(good_stacks()[name], for_up=False)


@pytest.mark.parametrize("rule", bad_cases())
def test_every_mistake_is_refused_by_its_rule_at_its_place(rule: str) -> None:
    said = [(stack, mistake, fault(rule, stack, mistake)) for stack, mistake in made(rule)]

    assert said
    assert [entry for entry in said if entry[2] is not None] == []


def test_what_the_schema_does_not_allow_is_refused_at_every_key() -> None:
    said: list[tuple[Wrong, str | None]] = [
        (entry, missing(validate(entry.document())[1], {*entry.findings})) for entry in wrong()
    ]

    assert {entry.way for entry, _ in said} == {"unknown", "missing", "type", "bounds", "word"}
    assert [entry for entry in said if entry[1] is not None] == []


_GUIDS = {"guidRangeStart": "02:ff:ff:ff:ff:ff:ff:ff", "guidRangeEnd": "02:00:00:00:00:00:00:00"}


@each(
    ("place", "value", "below"),
    [
        ("cluster.prices", {"a-size": {"hourly": 2, "hourlyMost": 1}}, ".a-size"),
        *(("fabric.nccl.settings", {"NCCL_PXN_DISABLE": text}, ".NCCL_PXN_DISABLE") for text in ("", " 1", "x" * 1024)),
        ("fabric.hostPreparation.lossless", {"priority": 3, "cnpPriority": 3}, ""),
        ("fabric.hostPreparation.lossless", {"priority": 3, "cnpDscp": 40}, ""),
        ("monitoring.cables", {"gpu-1": "port {port}"}, ".gpu-1"),
        ("software.spiderpool.tls", {"method": "provided"}, ""),
        ("software.networkOperator.partitionKeys", {"ufmSecret": "ufm", **_GUIDS}, ""),
    ],
)
def test_a_form_that_the_schema_cannot_say_is_refused_at_its_place(place: str, value: Any, below: str) -> None:
    found = validate(changed(good_stacks()["dev"], {place: value}))[1]

    assert missing(found, {("SPC002", f"{NAMESPACE}{place}{below}")}) is None


def test_the_command_line_refuses_on_stderr_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missed = []
    # The command line prints what is found, whatever it is: one rule of each group of the rule book shows it.
    for group, rule in {rules()[rule].group: rule for rule in bad_cases()}.items():
        stack, mistake = made(rule)[0]
        sections = changed(good_stacks()[stack], mistake.changes).sections
        config = {f"{NAMESPACE}{key}": value for key, value in sections.items()}
        Path(f"Pulumi.{group}.yaml").write_text(yaml.safe_dump({"config": config}), encoding="utf-8")

        result = CliRunner().invoke(app, ["plan", "-s", group])

        named = f" error {rule} {NAMESPACE}{mistake.path}: " in result.stderr
        quiet = not result.stdout and "Traceback" not in result.stderr
        if result.exit_code != 2 or not named or not quiet:
            missed.append(f"{stack} with {mistake}: {result.exit_code}: {result.output[:300]}")

    assert missed == []
