"""Edits after which an address in use is another's, or on another NIC, each with its cause in words.

Which edits are such ones is shown at random in test_guard_at_random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from applied_outputs import outputs_of
from changes import Changes
from diff_edits import plan_of, prepared
from test_guard_footprint import by_outputs, held_against

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.model import Danger
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.changes.software_diff import LINE

POOL = "cluster.pools[0]"
ADDRESSING = "fabric.addressing"
OWN = "cluster.shapes.guide-cx5.nics"
NICS = [f"enp{11 + nic}s0f0np0" for nic in range(8)]
NODES = ["h", "g", "f", "e", "d", "c", "b", "a"]
PER_NODE: Changes = {ADDRESSING: {"layout": "per-node", "supernet": "172.16.0.0/16", "nodePrefixLength": 28}}
SHARED: Changes = {"fabric.podsPerNic": 10, f"{ADDRESSING}.gateway": "last", f"{ADDRESSING}.reservedLast": 54}
HOSTS: Changes = {**SHARED, "fabric.hostPreparation": {"addresses": True}}


def nics(names: list[str]) -> list[dict[str, Any]]:
    return [{"interface": name, "nearestGpu": place} for place, name in enumerate(names)]


def pools(a: list[str], b: list[str], **of_b: Any) -> Changes:
    """Two pools of named nodes, the hosts of which get addresses."""
    return {
        **HOSTS,
        "cluster.pools": [
            {"name": "a", "shape": "guide-cx5", "nodes": len([*filter(None, a)]), "nodeNames": a},
            {"name": "b", "shape": "guide-cx5", "nodes": len([*filter(None, b)]), "nodeNames": b, **of_b},
        ],
    }


class Case(NamedTuple):
    """An edit of a stack that runs; `component` keeps what is lost, and `why` says it."""

    stack: str
    before: Changes
    after: Changes
    component: str = ""
    why: str = ""


def of_key(key: str, value: Any, old: Any = None) -> tuple[Changes, Changes]:
    """The changes before and after where one key under `addressing` differs."""
    return ({} if old is None else {f"{ADDRESSING}.{key}": old}), {f"{ADDRESSING}.{key}": value}


STOPPED = {
    "names of nodes that nv-ipam had numbered": Case(
        "roce-macvlan", PER_NODE, {f"{POOL}.nodeNames": NODES}, "ip-pools", "nv-ipam had numbered the nodes itself"
    ),
    "from whereabouts to nv-ipam": Case("whereabouts", *of_key("ipam", "nv-ipam"), "networks", "no record"),
    "the range by which whereabouts keeps its leases": Case(
        "whereabouts",
        {f"{ADDRESSING}.supernet": "172.16.0.0/17", f"{ADDRESSING}.layout": "flat"},
        {f"{ADDRESSING}.supernet": "172.16.0.0/16", f"{ADDRESSING}.layout": "flat"},
        "networks",
        "leases",
    ),
    "the operator that installs whereabouts": Case(
        "whereabouts",
        {"software.releaseLine": "23.10"},
        {"software.releaseLine": "26.4"},
        "networks",
        "no record of the leases in namespace network-operator",
    ),
    "a node with pools of its own is gone, and its place kept": Case(
        "spiderpool-sriov-per-node",
        {f"{POOL}.nodes": 2, f"{POOL}.nodeNames": ["a1", "a2"]},
        {f"{POOL}.nodes": 1, f"{POOL}.nodeNames": ["", "a2"]},
        "node-pools",
        "1 SpiderIPPool fewer",
    ),
    "an excluded address of a prefix of nv-ipam": Case(
        "roce-macvlan", PER_NODE, {f"{ADDRESSING}.exclude": ["172.16.0.3"]}, "ip-pools"
    ),
    "another gateway of prefixes that nv-ipam numbers": Case(
        "roce-macvlan",
        {**PER_NODE, f"{ADDRESSING}.gateway": "last"},
        {f"{ADDRESSING}.gateway": "none"},
        "ip-pools",
        "numbers the nodes again",
    ),
    "the order of a machine's NICs": Case(
        "spiderpool-macvlan", {}, {OWN: nics(NICS[::-1])}, "ip-pools", "NIC enp11s0f0np0 → enp18s0f0np0"
    ),
    "two rails' interfaces": Case(
        "roce-macvlan",
        {"fabric.rails": [{"rail": 0, "interface": "ens1"}, {"rail": 1, "interface": "ens2"}]},
        {"fabric.rails": [{"rail": 0, "interface": "ens2"}, {"rail": 1, "interface": "ens1"}]},
        "ip-pools",
        "NIC ens1",
    ),
    "a label of the nodes that get addresses": Case(
        "dev", {}, {f"{POOL}.labels": {"team": "a"}}, "ip-pools", "nodes without team=a"
    ),
    "a pool grows before another's hosts": Case(
        "spiderpool-macvlan",
        pools(["a1", "a2"], ["b1", "b2"]),
        pools(["a1", "a2", "a3"], ["b1", "b2"]),
        "nic-addresses",
        "2 hosts get other addresses",
    ),
    "a node is taken out of the middle": Case(
        "spiderpool-macvlan",
        pools(["a1", "a2"], ["b1", "b2"], firstShare=8),
        pools(["a2"], ["b1", "b2"], firstShare=8),
        "nic-addresses",
        "1 host gets other addresses",
    ),
    "reserved addresses of hosts begin elsewhere": Case(
        "spiderpool-macvlan",
        pools(["a1"], ["b1"], firstShare=1),
        {f"{ADDRESSING}.reservedLast": 60},
        "nic-addresses",
        "hosts get other addresses",
    ),
    "pod range of Oracle's cluster": Case(
        "oke-h100",
        {"cluster.cni": "flannel", "cluster.ranges.pods": "10.244.0.0/16"},
        {"cluster.ranges.pods": "10.60.0.0/16"},
        "cluster",
        "podsCidr: 10.244.0.0/16 → 10.60.0.0/16",
    ),
    "service range of Oracle's cluster": Case(
        "oke-h100",
        {"cluster.ranges.services": "10.96.0.0/16"},
        {"cluster.ranges.services": "10.97.0.0/16"},
        "cluster",
        "servicesCidr: 10.96.0.0/16 → 10.97.0.0/16",
    ),
}

PASSING = {
    "a node is taken out of the middle, and its place kept": Case(
        "spiderpool-macvlan",
        pools(["a1", "a2"], ["b1", "b2"], firstShare=8),
        pools(["", "a2"], ["b1", "b2"], firstShare=8),
    ),
    "service range of Oracle's cluster, stated for the first time": Case(
        "oke-h100", {"cluster.ranges.services": None}, {"cluster.ranges.services": "10.96.0.0/16"}
    ),
    "another model on the same pools": Case("dev", {"fabric.model": "macvlan"}, {"fabric.model": "sriov"}),
}


def of_plans(case: Case) -> tuple[Danger, ...]:
    """The dangers by two rendered plans."""
    return dangers(plan_diff(plan_of(case.stack, case.before), plan_of(case.stack, {**case.before, **case.after})))


def of_a_run(case: Case) -> tuple[Danger, ...]:
    """The dangers by the outputs of the last `up`."""
    return by_outputs(case.stack, case.before, {**case.before, **case.after})


@pytest.mark.parametrize("place", [of_plans, of_a_run])
@pytest.mark.parametrize("name", STOPPED)
def test_an_edit_that_takes_an_address_in_use_is_stopped_with_its_cause(name: str, place: Any) -> None:
    case = STOPPED[name]
    found = place(case)
    causes = [danger for danger in found if danger.component == case.component]
    assert causes
    # An allocator that leaves is a loss of its own, and a leap over release lines is stopped for itself as well.
    assert {danger.component for danger in found} - {case.component} <= {"namespaces", LINE}
    if place is of_plans:
        assert case.why in causes[0].why
    assert all(danger.alternative for danger in found)


@pytest.mark.parametrize("place", [of_plans, of_a_run])
@pytest.mark.parametrize("name", PASSING)
def test_an_edit_that_takes_no_address_passes(name: str, place: Any) -> None:
    assert place(PASSING[name]) == ()


def test_the_first_host_that_gets_another_address_is_named_with_both() -> None:
    (danger,) = of_plans(STOPPED["a pool grows before another's hosts"])
    assert danger.why.endswith("such as b1: 172.16.0.203 → 172.16.0.204")


@pytest.mark.parametrize(
    ("name", "stopped"),
    [
        ("from whereabouts to nv-ipam", True),
        ("names of nodes that nv-ipam had numbered", True),
        ("an excluded address of a prefix of nv-ipam", True),
        ("the order of a machine's NICs", False),
        ("a label of the nodes that get addresses", False),
        ("a pool grows before another's hosts", False),
    ],
)
def test_a_record_from_before_allocations_were_in_it_is_held_against_what_it_knows(name: str, stopped: bool) -> None:
    case = STOPPED[name]
    outputs = outputs_of(prepared(case.stack, case.before))
    del outputs["applied"]["allocation"]
    found = dangers(held_against(outputs, prepared(case.stack, {**case.before, **case.after})))
    assert bool(found) is stopped


def test_a_plan_of_an_earlier_version_lacks_what_came_later_and_is_compared_all_the_same() -> None:
    now = plan_of("dev", {})
    later = ("passesOver",)
    pools = [{key: value for key, value in pool.items() if key not in later} for pool in now.proof["pools"]]
    before = now.model_copy(update={"proof": {**now.proof, "pools": pools}})

    assert len(pools[0]) < len(now.proof["pools"][0])
    assert not plan_diff(before, now).loses
