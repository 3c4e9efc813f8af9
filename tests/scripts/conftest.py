"""The node made of files that most scripts run on."""

from pathlib import Path

import pytest
from fake_host import FakeHost


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path)
