"""promtool, built once; the tests of the tier give it the rules of stacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.failure import SandboxError
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.alarms)


@pytest.fixture(scope="session")
def promtool() -> Path:
    try:
        return ensure(["alarms"], Progress()).folder("promtool") / "promtool"
    except SandboxError as error:
        pytest.fail(f"promtool cannot be had: {error.message} {error.remedy}", pytrace=False)
