"""The JSON Schema of stack files: what an editor underlines, and that every committed file points at it."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from each_case import each

from gpu_fabric.report.pages.schemas import stack_file_schema

ROOT = Path(__file__).resolve().parents[3]
STACK_FILES = sorted(
    path for folder in (ROOT, ROOT / "examples", ROOT / "tests" / "stacks") for path in folder.glob("Pulumi.*.yaml")
)
HINT = "# yaml-language-server: $schema="


@pytest.fixture(scope="module")
def editor() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(stack_file_schema())


def underlined(editor: jsonschema.Draft202012Validator, document: Any) -> list[str]:
    return [error.message for error in editor.iter_errors(document)]


@each("path", STACK_FILES, ids=lambda path: path.name)
def test_an_editor_accepts_every_committed_stack_file(editor: jsonschema.Draft202012Validator, path: Path) -> None:
    assert underlined(editor, yaml.safe_load(path.read_text())) == []


@each("path", STACK_FILES, ids=lambda path: path.name)
def test_every_committed_stack_file_leads_an_editor_to_the_schema(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith(HINT)
    assert (path.parent / first.removeprefix(HINT)).resolve() == ROOT / "docs" / "schema" / "stack.json"


@pytest.mark.parametrize(("section", "key"), [("cluster", "poools"), ("fabric", "modle"), ("software", "release_line")])
def test_an_editor_underlines_a_mistyped_key(editor: jsonschema.Draft202012Validator, section: str, key: str) -> None:
    document = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    document["config"][f"gpu-fabric:{section}"][key] = 1
    assert underlined(editor, document)


def test_an_editor_underlines_a_section_that_is_none_but_not_a_secret(editor: jsonschema.Draft202012Validator) -> None:
    document = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    document["config"]["gpu-fabric:access"] = {"secure": "v1:abc"}
    assert underlined(editor, document) == []
    document["config"]["gpu-fabric:fabrik"] = {"model": "sriov"}
    assert underlined(editor, document)
