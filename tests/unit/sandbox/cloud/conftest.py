"""Simulated clouds for the tests of them, each with its plug-in served in the test's own process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud_engine import Engine, Resource, engine_on
from digitalocean_inputs import INPUTS
from oracle_engine import OracleEngine, oracle_on


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """DigitalOcean's."""
    with engine_on(tmp_path) as made:
        yield made


@pytest.fixture
def cluster(engine: Engine) -> Resource:
    """A cluster of DigitalOcean's."""
    return engine.up("KubernetesCluster", "one", INPUTS)


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[OracleEngine]:
    """Oracle's."""
    with oracle_on(tmp_path) as made:
        yield made


@pytest.fixture
def oke(oracle: OracleEngine) -> OracleEngine:
    """Oracle's with a cluster in a network of its own."""
    return oracle.with_cluster()
