"""The played controller of nv-ipam: what nodes get in turn, and what becomes of a share when its node is replaced."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from stack_plans import stack_plan

from sandbox.hardware.nv_ipam import shares

ROOT = Path(__file__).parents[4]
Json = dict[str, Any]
BLOCKS: Json = {"spec": {"subnet": "192.168.0.0/28", "perNodeBlockSize": 4}}
PREFIXES: Json = {"spec": {"cidr": "192.168.0.0/28", "perNodeNetworkPrefix": 30, "gatewayIndex": 1}}


def first(row: Json) -> str:
    return str(row.get("startIP") or row["prefix"])


def after(pool: Json, *nodes: str) -> dict[str, str]:
    """The nodes' shares once the controller has looked, which it keeps in the pool."""
    pool["status"] = {"allocations": shares(pool, sorted(nodes), passes_over=True)}
    return {row["nodeName"]: first(row) for row in pool["status"]["allocations"]}


def with_static(*names: str) -> Json:
    rows = [{"nodeName": name, "prefix": f"192.168.0.{4 * number}/30"} for number, name in enumerate(names)]
    return {"spec": {**PREFIXES["spec"], "staticAllocations": rows}}


@pytest.mark.parametrize("stack", ["dev", "oke-h100", "host-device", "sriov-operator"])
def test_nodes_get_the_shares_of_the_plans_tables_in_turn(stack: str) -> None:
    plan = stack_plan(stack, ROOT)
    for pool, entry in zip(plan.addresses.pools, plan.applied("ip-pools"), strict=True):
        given = shares(entry.object.manifest(), ["a", "b", "c"], passes_over=pool.passes_over)

        for number, row in enumerate(given):
            planned = {ip_address(first) for run in pool.share(number).runs for first in run}
            ends = (
                ip_network(row["prefix"]) if "prefix" in row else (ip_address(row["startIP"]), ip_address(row["endIP"]))
            )
            assert all(ends[0] <= address <= ends[-1] for address in planned)


NOBODY_ELSES = with_static("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("pool", "events", "given"),
    [
        # The share of a node that is gone is free, and its successor gets it.
        (BLOCKS, ("abc", "acd"), {"a": "192.168.0.1", "c": "192.168.0.9", "d": "192.168.0.5"}),
        # A node of the same name gets its share again if no other came meanwhile.
        (BLOCKS, ("ab", "b", "ab"), {"a": "192.168.0.1", "b": "192.168.0.5"}),
        # While the old node exists its successor needs a share of its own.
        (BLOCKS, ("abcd",), {"a": "192.168.0.1", "b": "192.168.0.5", "c": "192.168.0.9"}),
        (BLOCKS, ("abcd", "abd"), {"a": "192.168.0.1", "b": "192.168.0.5", "d": "192.168.0.9"}),
        # A prefix that is fixed for a name is nobody else's, until the pool names the successor.
        (NOBODY_ELSES, ("abcd", "abce"), {"a": "192.168.0.0/30", "b": "192.168.0.4/30", "c": "192.168.0.8/30"}),
    ],
)
def test_nodes_that_come_and_go_get_the_free_shares(pool: Json, events: tuple[str, ...], given: dict[str, str]) -> None:
    pool = {**pool}
    for nodes in events:
        found = after(pool, *nodes)
    assert found == given


@pytest.mark.parametrize(
    ("first_event", "then", "given"),
    [
        (("a", "b"), ("a", "c"), {"a": "192.168.0.0/30", "c": "192.168.0.4/30"}),
        # One that came first keeps a share that is not the fixed one.
        (("a", "c"), ("a", "c"), {"a": "192.168.0.0/30", "c": "192.168.0.8/30"}),
    ],
)
def test_a_successor_gets_the_fixed_prefix_once_the_pool_names_it(
    first_event: tuple[str, ...], then: tuple[str, ...], given: dict[str, str]
) -> None:
    pool = with_static("a", "b")
    after(pool, *first_event)
    pool["spec"] = with_static("a", "c")["spec"]
    assert after(pool, *then) == given


def test_a_pool_that_was_made_anew_with_other_blocks_drops_the_old_ones() -> None:
    pool: Json = {**BLOCKS}
    after(pool, "a", "b")
    pool["spec"] = {**BLOCKS["spec"], "perNodeBlockSize": 2}
    assert after(pool, "a", "b") == {"a": "192.168.0.1", "b": "192.168.0.3"}


def test_blocks_that_are_wholly_excluded_are_passed_over_by_newer_versions_alone() -> None:
    pool: Json = {"spec": {**BLOCKS["spec"], "exclusions": [{"startIP": "192.168.0.1", "endIP": "192.168.0.4"}]}}
    for passes_over, start in ((True, "192.168.0.5"), (False, "192.168.0.1")):
        assert [first(row) for row in shares(pool, ["a"], passes_over=passes_over)] == [start]
