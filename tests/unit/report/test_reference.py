"""The generated pages under docs/: as fresh as the models and tables they are made from."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpu_fabric.cli.app import app


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("configuration.md", ["reference"]),
        ("configuration.md", ["reference", "configuration"]),
        ("rules.md", ["reference", "rules"]),
        ("support.md", ["reference", "support"]),
        ("nccl-settings.md", ["reference", "nccl"]),
        ("schema/stack.json", ["schema", "stack"]),
        ("schema/contract.json", ["schema", "contract"]),
        ("schema/cluster.json", ["schema", "cluster"]),
    ],
)
def test_a_generated_page_is_what_the_program_prints_today(root: Path, page: str, command: list[str]) -> None:
    printed = CliRunner().invoke(app, command).stdout

    assert (root / "docs" / page).read_text(encoding="utf-8") == printed, "run `make docs`"
