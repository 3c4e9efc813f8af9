"""The generated pages under docs/: as fresh as the models and tables they are made from."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.app import app
from gpu_fabric.findings import groups, rules
from gpu_fabric.report.pages.references import configuration_reference, rules_reference, support_reference


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


@pytest.mark.parametrize(
    "row",
    [
        "| `provider` | `existing` | required |",
        "| `provider` | `doks` | required |",
        "| `pools[].shape` | string | required | machine type from the catalog",
        "| `pools[].placement` | `cluster-network` or `compute-cluster` or ",
        "| `addressing.layout` | `none` or `flat` or `per-rail` or `per-node` | none |",
        "| `addressing.supernet` | string | none | the range all fabric addresses come from",
        "| `namespaces[].create` | boolean | `false` |",
        '| `releaseLine` | string | `"26.4"` |',
    ],
)
def test_the_reference_has_a_row_for_each_key_with_type_default_and_meaning(row: str) -> None:
    assert f"\n{row}" in configuration_reference()


def test_the_page_of_rules_has_every_rule_once_under_its_group() -> None:
    page = rules_reference()

    for name, rule in rules().items():
        section = page.partition(f"\n## {rule.group}\n")[2].partition("\n## ")[0]
        assert section.count(f"\n| {name} | {rule.severity.value} | ") == 1
        assert page.count(f"\n| {name} |") == 1
    assert all(subject in page for subject in groups().values())


def test_every_row_of_the_page_of_rules_has_five_cells() -> None:
    rows = [line for line in rules_reference().splitlines() if line.startswith("| ")]

    assert {line.replace("\\|", "").count("|") for line in rows} == {6}


def test_the_page_of_support_has_every_row_of_the_matrix_with_its_reason() -> None:
    page = support_reference()

    for row in catalog().support:
        assert page.count(f"| `{row.manager}` | `{row.model}` |") == 1
        assert row.why in page
