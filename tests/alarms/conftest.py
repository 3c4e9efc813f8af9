"""promtool, built once; the tests of the tier give it the rules of stacks."""

from pathlib import Path

import pytest
from asked_programs import programs


@pytest.fixture(scope="session")
def promtool() -> Path:
    return programs("alarms").folder("promtool") / "promtool"
