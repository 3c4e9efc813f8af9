"""promtool, built once; the tests of the tier give it the rules of stacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.failure import SandboxError
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress


@pytest.fixture(scope="session")
def promtool() -> Path:
    try:
        return ensure(["alarms"], Progress()).folder("promtool") / "promtool"
    except SandboxError as error:
        pytest.fail(f"promtool cannot be had: {error.message} {error.remedy}", pytrace=False)
