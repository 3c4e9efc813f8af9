"""Pools of every node on the real engine: a refused one, and one that somebody took away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from driver import Sandbox, said_of

from sandbox.engine.commands import Stack
from sandbox.simulated_nodes import desired_nodes, reconcile_nodes
from tests.bench.pools import stack_of

POOLS = "/apis/spiderpool.spidernet.io/v2beta1/spiderippools"


@pytest.fixture
def up(trying: Callable[[str], Sandbox]) -> Sandbox:
    """Two nodes with pools of their own, and a third that has none yet."""
    sandbox = trying("spiderpool-sriov")
    sandbox.run("up", *sandbox.options)
    reconcile_nodes(sandbox.api, desired_nodes(nodes(sandbox, 3).spec))
    assert sandbox.engine.up(nodes(sandbox, 2), as_json=False) == 0
    return sandbox


def nodes(sandbox: Sandbox, number: int, *, preflight: bool = True) -> Stack:
    """The stack for so many nodes, with little beside its pools."""
    stack = stack_of(number, sandbox.home, bare=True)
    return replace(stack, sections={**(stack.sections or {}), "guard": {"preflight": preflight}})


def versions(sandbox: Sandbox) -> dict[str, str]:
    """Every pool with the version that the cluster gives it anew when it is written."""
    return {entry["metadata"]["name"]: entry["metadata"]["resourceVersion"] for entry in sandbox.items(POOLS)}


def test_a_refused_pool_ends_the_run_with_its_reason_and_destroy_leaves_nothing(up: Sandbox) -> None:
    pool = {"kind": "SpiderIPPool", "metadata": {"name": "foreign"}, "spec": {"subnet": "172.17.96.64/28"}}
    up.api.post(POOLS, {"apiVersion": "spiderpool.spidernet.io/v2beta1", **pool})
    before = versions(up)
    said = said_of(lambda: up.engine.up(nodes(up, 3), as_json=False), fails=True)
    assert "PRE083" in said
    assert "SpiderIPPool foreign hands out 172.17.96.64/28" in said
    assert versions(up) == before

    # Without the comparison, as where somebody makes the pool between it and the run's own.
    said = said_of(lambda: up.engine.up(nodes(up, 3, preflight=False), as_json=False), fails=True)
    assert "SpiderIPPool rail-03-node-0002: admission webhook" in said
    assert "overlap with IPPool foreign which 'spec.subnet' is 172.17.96.64/28" in said
    assert "Traceback" not in said

    # the seven others were made, and the state knows them
    assert len(versions(up)) == 1 + 16 + 7
    assert up.engine.destroy(nodes(up, 3)) == 0
    assert up.items(POOLS) == []


def test_a_refresh_finds_a_pool_that_is_gone_and_the_next_run_makes_it(up: Sandbox) -> None:
    up.api.delete(f"{POOLS}/rail-03-node-0001")
    file = up.workspace.stack_file(up.stack)
    options = ["--yes", "--skip-preview", "--non-interactive", "--stack", up.stack, "--config-file", str(file)]
    assert up.engine.runs.run(["refresh", *options], up.workspace.stacks, quiet=True).status == 0

    before = versions(up)
    assert up.engine.up(nodes(up, 2), as_json=False) == 0
    after = versions(up)
    assert set(after) - set(before) == {"rail-03-node-0001"}
    assert before.items() <= after.items()
