"""What every tier starts from: the repository and its development stack."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fabric.spec import StackDocument, read_document


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def dev_document(root: Path) -> StackDocument:
    """The development stack as written, before validation."""
    return read_document("dev", root)


# Seconds each, for what a shorter test of the same file shows in part.
SLOW = frozenset(
    {
        "test_a_17_holds_a_31_for_each_of_2048_nodes_and_8_rails_and_nothing_more",
        "test_a_plan_grows_to_its_most_nodes_and_no_further",
        "test_a_stack_imports_its_own_clouds_sdk_alone",
        "test_every_mistake_is_refused_by_its_rule_at_its_place",
        "test_every_remedy_of_a_refusal_fits",
        "test_the_command_line_refuses_one_of_each_kind_on_stderr_without_a_traceback",
    }
)


# Of a test with more cases, `make test-fast` runs so many, spread evenly.
CASES = 12
# Folders whose tests wait for others' processes: begun first, they leave a processor free for the rest, and a long file
# of theirs does not come last, when only one worker has something left to do.
WAITING = ("sandbox", "engine", "cni", "browser")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `make test-fast` leaves to `make test`, and order the files so that workers share them well."""
    # Files that say so themselves have few tests, each of which takes long.
    long = {item.path for item in items if item.get_closest_marker("slow") is not None}
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault((item.path, getattr(item, "originalname", item.name)), []).append(item)
    for (_, name), found in cases.items():
        kept = set() if name in SLOW else {len(found) * case // CASES for case in range(CASES)}
        for place, item in enumerate(found):
            if place not in kept:
                item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        files = Counter(item.path for item in items)
        items.sort(key=lambda item: (item.path.parent.name not in WAITING, item.path not in long, -files[item.path]))
