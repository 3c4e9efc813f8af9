"""That every test is collected, and that tests which begin early need nothing that is still being built.

pytest takes one file of a name, and leaves out another of the same in a run of all.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from committed_stacks import folder_of, stack_names

from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from sandbox.controllers.table import binaries_for, controllers
from tests.conftest import BUILT_FOR, CORE_ALONE


def test_no_two_test_files_share_a_name(root: Path) -> None:
    names = Counter(file.name for file in (root / "tests").rglob("test_*.py"))

    assert [name for name, count in names.items() if count > 1] == []


def test_no_file_that_begins_early_names_a_controller_or_a_stack_with_one(root: Path) -> None:
    files = {file.stem: file for folder in BUILT_FOR for file in (root / "tests" / folder).glob("test_*.py")}
    plans = {name: prepare(read_document(name, folder_of(name)), for_up=False) for name in stack_names()}
    late = {name for name, plan in plans.items() if binaries_for(release.name for release in plan.releases)}
    late |= {name for row in controllers() for name in (row.name, row.binary, row.release) if name}

    assert late & plans.keys()
    for stem in CORE_ALONE:
        text = files[stem].read_text(encoding="utf-8")
        assert "language_hosts" not in text, stem
        # A preview starts no controller.
        if files[stem].parent.name == "sandbox":
            assert late.isdisjoint(re.findall(r'"([\w-]+)"', text)), stem
