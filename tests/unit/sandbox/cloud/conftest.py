"""Simulated clouds for the tests of them, each with its plug-in served in the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud_engine import Engine, engine_on
from oracle_engine import OracleEngine, oracle_on


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """DigitalOcean's."""
    with engine_on(tmp_path) as made:
        yield made


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[OracleEngine]:
    """Oracle's."""
    with oracle_on(tmp_path) as made:
        yield made


@pytest.fixture
def oci(oracle: OracleEngine) -> OracleEngine:
    """Oracle's with a VCN, a subnet and a security group."""
    return oracle.with_network()


@pytest.fixture
def oke(oracle: OracleEngine) -> OracleEngine:
    """Oracle's with a cluster in such a network."""
    return oracle.with_cluster()
