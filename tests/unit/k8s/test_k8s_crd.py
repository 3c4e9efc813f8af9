"""The generated CRDs: structural, fresh, and as strict as a user relies on."""

from functools import cache
from pathlib import Path

from each_case import each

from sandbox.crds import CHARTS, crd_files


@cache
def generated() -> dict[Path, str]:
    """The text that belongs in each generated CRD file; made when a test asks, and not to collect the tests."""
    return {path.resolve(): text for path, text in crd_files()}


@each(
    "path",
    # A chart may have the file of another; a definitions.yaml has kinds by name alone.
    sorted({path.resolve() for path in CHARTS.rglob("crds/*_*.yaml")}),
    ids=lambda path: path.name,
)
def test_a_chart_carries_the_crd_that_the_model_says(path: Path) -> None:
    assert path.read_text() == generated()[path], "run: python -m sandbox.crds"
