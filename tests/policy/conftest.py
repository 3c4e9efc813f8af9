"""The committed stacks' registrations, recorded once, as a policy gets to see them."""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

# The recording monitor is the components tier's.
sys.path.append(str(Path(__file__).parents[1] / "components"))

from programs import STACKS, run_program, stack_config
from recording import Registration
from stub_cluster import KUBECONFIG


@pytest.fixture(scope="session")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Registration, ...]]:
    """What a committed stack registers, by the stack's name."""
    kubeconfig = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)

    @cache
    def registrations(name: str) -> tuple[Registration, ...]:
        return tuple(run_program(name, stack_config(STACKS[name], kubeconfig)).resources)

    return registrations
