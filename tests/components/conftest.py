"""Every committed stack, recorded once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from programs import DOKS, OKE, PARTS, STACKS, run_program, stack_config
from recording import Recording
from stub_cluster import KUBECONFIG


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


@pytest.fixture(scope="session")
def recorded(kubeconfig: Path) -> Callable[[str], Recording]:
    @cache
    def recorded_stack(name: str) -> Recording:
        return run_program(name, stack_config(STACKS[name], kubeconfig))

    return recorded_stack


@pytest.fixture(scope="session", params=sorted(STACKS))
def stack(request: pytest.FixtureRequest, recorded: Callable[[str], Recording]) -> Recording:
    """Each committed stack in turn."""
    return recorded(request.param)


@pytest.fixture(scope="session", params=sorted(set(STACKS) - {*DOKS, *OKE, *PARTS}))
def on_existing(request: pytest.FixtureRequest, recorded: Callable[[str], Recording]) -> Recording:
    """Each committed stack on a cluster that exists, in turn."""
    return recorded(request.param)


@pytest.fixture(scope="session", params=OKE)
def on_oke(request: pytest.FixtureRequest, recorded: Callable[[str], Recording]) -> Recording:
    """Each committed stack on a cluster that Oracle makes, in turn."""
    return recorded(request.param)


@pytest.fixture(scope="session")
def dev(recorded: Callable[[str], Recording]) -> Recording:
    return recorded("dev")
