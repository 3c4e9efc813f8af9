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
