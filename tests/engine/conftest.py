"""One engine for the whole tier: its workspace takes a while to lay out."""

import pytest
from previews import Engine

from sandbox.failure import SandboxError


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    try:
        return Engine(tmp_path_factory.mktemp("engine"))
    except SandboxError as error:
        pytest.fail(f"the toolchain cannot be had: {error.message} {error.remedy}", pytrace=False)
