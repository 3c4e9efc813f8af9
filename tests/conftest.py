"""What every tier starts from: the repository and its development stack."""

from __future__ import annotations

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-fast` leaves to `make test`."""
    for item in items:
        if getattr(item, "originalname", None) in SLOW:
            item.add_marker(pytest.mark.slow)
