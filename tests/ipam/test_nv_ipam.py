"""The nv-ipam that other tests play (`ipam_behaviour`), held against what was seen of the real one.

Its modules are not published, so it cannot be built here. Each test says what was seen, and of which version: NVIDIA's
nv-ipam of the Network Operator v26.4.1 (tag network-operator-v26.4.1 of Mellanox/nvidia-k8s-ipam), its controller as a
process on an API server and the handlers of its daemon; older versions by the source of the named tag.
"""

from typing import Any

import planned_addresses
import pytest
from address_checker import pools_of
from address_runs import runs_of
from ipam_behaviour import blocks_of, nv_ipam_faults, prefix_of
from planned_networks import FILES, planned

from gpu_fabric.plan.ipam import pool_objects
from gpu_fabric.render.rendering import rendered

Json = dict[str, Any]


def exclusions(*texts: str) -> list[Json]:
    return [{"startIP": first, "endIP": last or first} for first, _, last in (text.partition("-") for text in texts)]


@pytest.mark.parametrize("stack", FILES)
def test_a_stacks_pools_give_the_shares_of_its_tables(stack: str) -> None:
    # v26.4.1: of 159 pools of 19 stacks every node's share and every address that was drawn is that of the table.
    plan = planned(stack)
    pools = {entry.name: entry.object.manifest()["spec"] for entry in plan.applied("ip-pools")}
    tables = [table for table in rendered(plan).rails if plan.addresses.ipam == "nv-ipam"]
    names = dict(plan.addresses.numbered_nodes) if plan.addresses.node_names else {}
    for table in tables:
        spec = pools[table.pool]
        if "perNodeBlockSize" in spec:
            given = blocks_of(spec, len(table.shares), passes_over=plan.addresses.pools[0].passes_over)
            assert given == [runs_of(row.share) for row in table.shares]
        else:
            rows = [prefix_of(spec, row.number, names.get(row.number), passes_over=True) for row in table.shares]
            assert [str(prefix) for prefix, _ in rows] == [row.share for row in table.shares]


OVERLAPPING = [
    (
        {"reservedFirst": 10, "exclude": ["192.168.0.5"], "addressesPerNode": 32},
        ["192.168.0.1-192.168.0.10", "192.168.0.5"],
    ),
    (
        {"gateway": "first", "reservedFirst": 4, "addressesPerNode": 8, "exclude": ["192.168.0.2"]},
        ["192.168.0.1-192.168.0.4", "192.168.0.2"],
    ),
]


@pytest.mark.parametrize(("section", "unmerged"), OVERLAPPING, ids=str)
def test_exclusions_that_overlap_leave_no_node_an_address_and_are_merged(section: Json, unmerged: list[str]) -> None:
    # v26.4.1: every allocation on every node ends with `rpc error: code = Internal desc = invalid config for pool
    # "rail-00"`, since RangeSet.Canonicalize finds that subnets overlap; API server and controller take the pool.
    section = {"supernet": "192.168.0.0/16", **section}
    plan = planned_addresses.planned(section, nodes=3)
    manifests = [entry.object.manifest() for entry in pool_objects(plan, "nvidia-network-operator")]
    spec = manifests[0]["spec"]

    assert blocks_of({**spec, "exclusions": exclusions(*unmerged)}, 3, passes_over=True) == [[], [], []]
    assert list(nv_ipam_faults(pools_of(plan.model_dump(mode="json", by_alias=True), section), manifests, ())) == []


@pytest.mark.parametrize(
    ("spec", "new", "old"),
    [
        ({"perNodeBlockSize": 1, "exclusions": exclusions("192.168.0.2")}, ["1", "3", "4"], ["1", "", "3"]),
        ({"perNodeBlockSize": 4, "exclusions": exclusions("192.168.0.5-192.168.0.8")}, ["1-4", "9-12"], ["1-4", ""]),
        # A block that is excluded in part is given.
        ({"perNodeBlockSize": 4, "exclusions": exclusions("192.168.0.5-192.168.0.7")}, ["1-4", "8"], ["1-4", "8"]),
        # Since v0.3.5, a gateway that is a block of its own; of a larger block only this address is left out.
        ({"perNodeBlockSize": 1, "gateway": "192.168.0.2"}, ["1", "3"], ["1", ""]),
        ({"perNodeBlockSize": 2, "gateway": "192.168.0.2"}, ["1", "3-4"], ["1", "3-4"]),
    ],
)
def test_a_block_without_an_address_is_passed_over(spec: Json, new: list[str], old: list[str]) -> None:
    # Since v0.4.0 (Network Operator 26.1).
    for passes_over, wanted in ((True, new), (False, old)):
        whole = [run and "-".join(f"192.168.0.{last}" for last in run.split("-")) for run in wanted]
        given = blocks_of({"subnet": "192.168.0.0/24", **spec}, len(wanted), passes_over=passes_over)
        assert given == [runs_of(run) for run in whole]


def test_a_prefix_without_an_address_is_passed_over() -> None:
    # Since v0.4.0 (Network Operator 26.1).
    excluded = exclusions("192.168.0.8-192.168.0.23", "192.168.0.33")
    pool = {"cidr": "192.168.0.0/24", "perNodeNetworkPrefix": 29, "exclusions": excluded}
    for passes_over, wanted in ((True, (0, 24, 32, 40)), (False, (0, 8, 16, 24))):
        given = [str(prefix_of(pool, node, None, passes_over=passes_over)[0]) for node in range(4)]
        assert given == [f"192.168.0.{first}/29" for first in wanted]


def test_a_single_address_of_a_node_is_planned_past_an_excluded_one() -> None:
    # v26.4.1: `exclude: [192.168.0.5]` with one address a node gives that node the next block.
    section = {"supernet": "192.168.0.0/16", "addressesPerNode": 1, "exclude": ["192.168.0.5"]}
    plan = planned_addresses.planned(section, nodes=6, passes_over=True)

    assert [plan.pools[0].share_text(node) for node in range(6)] == [f"192.168.0.{n}" for n in (1, 2, 3, 4, 6, 7)]
