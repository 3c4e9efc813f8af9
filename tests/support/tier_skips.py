"""A tier that cannot run is skipped once: one of its tests stands for all, with the reason and their number."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


def skip_once(items: list[pytest.Item], folder: Path, why: Callable[[], str], fixture: str | None = None) -> None:
    """Leave one of a folder's tests, skipped, where there is a reason why they cannot run.

    With `fixture`, only the tests that need it. `why` is asked only where such tests are collected.
    """
    # Paths as texts: each tier looks at all tests, in every worker.
    within = f"{folder}{os.sep}"
    held = [
        item
        for item in items
        if str(item.path).startswith(within) and (fixture is None or fixture in getattr(item, "fixturenames", ()))
    ]
    if not held or not (reason := why()):
        return
    first, *others = held
    first.add_marker(pytest.mark.skip(reason=f"{len(held)} tests of {folder.name}: {reason}"))
    taken = {*others}
    items[:] = [item for item in items if item not in taken]
