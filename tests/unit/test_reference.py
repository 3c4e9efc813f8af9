"""The generated pages under docs/: as fresh as the models they are made from."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fabric.cli import app
from fabric.reference import configuration_reference


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("configuration.md", ["reference"]),
        ("schema/stack.json", ["schema", "stack"]),
        ("schema/contract.json", ["schema", "contract"]),
    ],
)
def test_a_generated_page_is_what_the_program_prints_today(root: Path, page: str, command: list[str]) -> None:
    printed = CliRunner().invoke(app, command).stdout

    assert (root / "docs" / page).read_text(encoding="utf-8") == printed, "run `make docs`"


@pytest.mark.parametrize(
    "row",
    [
        "| `provider` | `existing` | required |",
        "| `pools[].shape` | string | required | machine type from the catalog",
        '| `addressing.layout` | `flat` or `per-rail` | `"per-rail"` |',
        "| `addressing.supernet` | IPv4 CIDR | required | the range all fabric addresses come from |",
        "| `namespaces[].create` | boolean | `false` |",
        '| `releaseLine` | string | `"26.4"` |',
    ],
)
def test_the_reference_has_a_row_for_each_key_with_type_default_and_meaning(row: str) -> None:
    assert f"\n{row}" in configuration_reference()
