"""That every test is collected: pytest takes one file of a name, and leaves out another of the same in a run of all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def test_no_two_test_files_share_a_name(root: Path) -> None:
    names = Counter(file.name for file in (root / "tests").rglob("test_*.py"))

    assert [name for name, count in names.items() if count > 1] == []
