"""Wrong stacks by the hundred: each is refused by the rule that its kind of mistake names, at the mistake's place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
import yaml
from changes import changed
from each_case import each
from negative.base import Base
from negative.files import UNREADABLE
from negative.kinds import KINDS, wrong_stacks
from negative.mistake import Kind, Mistake
from negative.values import SECRET
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import ConfigurationError, Finding, rules
from gpu_fabric.prepare import prepare, prepare_stack
from gpu_fabric.spec.load import read_document
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
def bases() -> tuple[Base, ...]:
    """The good stacks as mistakes look at them."""
    return tuple(Base(name, document.sections) for name, document in good_stacks().items())


def document_of(base: Base, mistake: Mistake) -> StackDocument:
    return changed(good_stacks()[base.name], mistake.changes)


def refusal(document: StackDocument) -> tuple[Finding, ...] | str:
    """The findings of a stack; in words, what happened instead of a refusal."""
    try:
        prepare(document, for_up=False)
    except ConfigurationError as error:
        return error.findings
    except Exception as error:
        return f"crashed: {type(error).__name__}: {str(error)[:200]}"
    return "accepted"


def fault(kind: Kind, base: Base, mistake: Mistake) -> str | None:
    """What is not as it should be when the program meets a mistake; None when all is well."""
    document = document_of(base, mistake)
    # As text, because to Python true is 1.
    if json.dumps(document.sections) == json.dumps(good_stacks()[base.name].sections):
        return "changes nothing"
    found = refusal(document)
    if isinstance(found, str):
        return found
    said = {(entry.id, entry.path) for entry in found}
    if (kind.rule, f"{NAMESPACE}{mistake.path}") not in said:
        return f"no {kind.rule} at {mistake.path}, but {sorted(said)}"
    for entry in found:
        if not entry.message.strip() or not entry.remedy.strip():
            return f"{entry.id} at {entry.path} says too little: {entry.message!r} -> {entry.remedy!r}"
        text = f"{entry.path} {entry.message} {entry.remedy}"
        if unfit := [word for word in UNFIT if word in text]:
            return f"{entry.id} at {entry.path} says {unfit[0]!r}: {text}"
    return None


def test_no_two_kinds_of_mistakes_have_one_name() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("name", good_stacks(), ids=lambda name: name.replace(" ", "-"))
def test_every_stack_is_accepted_before_the_mistake(name: str) -> None:
    prepare(good_stacks()[name], for_up=False)


def missed(kind: Kind, made: Sequence[tuple[Base, Mistake]]) -> list[str]:
    """What is not as it should be with some mistakes of a kind."""
    said = ((base, mistake, fault(kind, base, mistake)) for base, mistake in made)
    return [f"{base.name} with {mistake}: {wrong}" for base, mistake, wrong in said if wrong is not None]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
def test_every_mistake_is_refused_by_its_rule_at_its_place(kind: Kind) -> None:
    made = wrong_stacks(kind, bases())

    assert made
    assert missed(kind, made) == []


@cache
def stack_with_a_secret() -> StackDocument:
    sealed = {"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access", "access": {"secure": SECRET}}
    return changed(good_stacks()["dev"], sealed)


@cache
def base_with_a_secret() -> Base:
    return Base("dev with a secret", stack_with_a_secret().sections)


def test_a_stack_that_holds_a_secret_is_accepted() -> None:
    assert refusal(stack_with_a_secret()) == "accepted"


@each("kind", KINDS, ids=lambda kind: kind.name)
def test_no_refusal_repeats_the_secret_that_the_stack_holds(kind: Kind) -> None:
    stack = stack_with_a_secret()
    for mistake in islice(kind.mistakes(base_with_a_secret()), 1):
        found = refusal(changed(stack, mistake.changes))

        assert not isinstance(found, str), f"{mistake}: {found}"
        assert SECRET not in str(found), mistake


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=[name.replace(" ", "-") for name in UNREADABLE])
def test_a_file_that_is_no_stack_file_is_refused_as_a_whole(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.wrong.yaml").write_bytes(content)

    with pytest.raises(ConfigurationError) as refused:
        prepare_stack("wrong", tmp_path)

    assert [(entry.id, entry.path) for entry in refused.value.findings] == [("SPC004", "")]


def test_the_command_line_refuses_on_stderr_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missed = []
    # The command line prints what is found, whatever it is: one kind of each group of the rule book shows it.
    one_of_each = {rules()[kind.rule].group: kind for kind in KINDS}
    for number, kind in enumerate(one_of_each.values()):
        base, mistake = wrong_stacks(kind, bases())[0]
        config = {f"{NAMESPACE}{key}": value for key, value in document_of(base, mistake).sections.items()}
        Path(f"Pulumi.wrong-{number}.yaml").write_text(yaml.safe_dump({"config": config}), encoding="utf-8")

        result = CliRunner().invoke(app, ["plan", "-s", f"wrong-{number}"])

        named = f"{NAMESPACE}{mistake.path}: " in result.stderr and f"[{kind.rule}]" in result.stderr
        quiet = not result.stdout and "Traceback" not in result.stderr
        if result.exit_code != 2 or not named or not quiet:
            missed.append(f"{kind.name}: {base.name} with {mistake}: {result.exit_code}: {result.output[:300]}")

    assert not missed, "\n" + "\n".join(missed)
