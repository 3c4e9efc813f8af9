"""Whereabouts' own allocation hands out what the plan says: its first addresses in order, its last ones, no others.

To ask a large range for all of its addresses takes long. Of one with up to `COUNTED`, the last ones are asked for while
all others are held, and so is each address at an edge of a gap: anything else that is free would be given first.
"""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import pytest
from address_checker import Pool, pools_of
from address_runs import Runs, less, runs_of, size
from hypothesis import example, given
from ipam_programs import Given, Json, Programs
from planned_networks import FILES, configurations, document, planned
from planned_wishes import LAYOUTS, NO_RANGES, Wish, accepted, more, wishes

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, AddressPool, Refusal, plan_addresses
from gpu_fabric.plan.ipam import cni_ipam
from gpu_fabric.render.rendering import rendered

FIRST, LAST, COUNTED = 256, 16, 1 << 14
NO_MORE = "Could not allocate IP in range"


def start_of(runs: Runs, most: int) -> list[int]:
    """The lowest addresses of the runs."""
    found: list[int] = []
    for first, last in runs:
        found += range(first, min(last, first + most - len(found) - 1) + 1)
    return found


def end_of(runs: Runs, most: int) -> list[int]:
    """The highest addresses of the runs, in ascending order."""
    return [-value for value in reversed(start_of([(-last, -first) for first, last in reversed(runs)], most))]


class Range:
    """A planned pool as the range of a network: what to ask about it, and where an answer is not the plan's."""

    def __init__(self, config: Json, planned: AddressPool, counted: Pool) -> None:
        self._config, self._planned, self._counted = config, planned, counted
        self._asked = list(self._steps())
        self.questions = [self._question(pods, held) for pods, held in self._asked]

    def _steps(self) -> Iterator[tuple[list[int], Runs]]:
        """Addresses that pods must get, one after the other, and those that others hold."""
        free = self._counted.shared
        yield start_of(free, FIRST), []
        if size(free) <= COUNTED:
            last = end_of(free, LAST)
            yield last, less(free, [(last[0], last[-1])])
            for edge in sorted({edge for run in free for edge in run}):
                yield [edge], less(free, [(edge, edge)])

    def _question(self, pods: list[int], held: Runs) -> Json:
        runs = [[self._text(first), self._text(last)] for first, last in held]
        return {"config": self._config, "pods": len(pods) + 1, "held": runs}

    def _text(self, value: int) -> str:
        # An IPv6 network's lowest addresses are numbers that fit into IPv4, too.
        return str(ip_address(value.to_bytes(4 if self._counted.version == 4 else 16, "big")))

    def faults(self, answers: list[Given]) -> Iterator[str]:
        name, free, length = self._planned.name, size(self._counted.shared), self._planned.subnet.prefixlen
        for (pods, held), answer in zip(self._asked, answers, strict=True):
            is_last = len(pods) + size(held) == free
            got = answer.addresses if is_last else answer.addresses[: len(pods)]
            if got != [f"{self._text(value)}/{length}" for value in pods]:
                yield f"{name}: {got[:3]}, not {self._text(pods[0])} and so on ({answer.error})"
            if (answer.error or "").startswith(NO_MORE) is not is_last:
                yield f"{name}: {answer.error or 'one more pod gets an address'}"
            if answer.gateway != (self._planned.gateway and str(self._planned.gateway)):
                yield f"{name}: its gateway is {answer.gateway}"


def faults(programs: Programs, ranges: list[Range]) -> list[str]:
    """Where Whereabouts' answers are not the plan's."""
    answers = iter(programs.whereabouts([question for entry in ranges for question in entry.questions]))
    return [fault for entry in ranges for fault in entry.faults([next(answers) for _ in entry.questions])]


def network(section: Any) -> Json:
    """A network's configuration with an `ipam` section."""
    return {"cniVersion": "1.0.0", "name": "rail", "plugins": [{"type": "macvlan", "ipam": section}]}


def counted(plan: AddressPlan, section: Json) -> list[Pool]:
    """The pools as the checker counts them, from the stack file's section `addressing`."""
    return pools_of(plan.with_shares().model_dump(mode="json", by_alias=True), section)


def emitted(wish: Wish, plan: AddressPlan) -> list[Range]:
    sections = [cni_ipam(plan, pool) for pool in plan.pools]
    return [
        Range(network(section.to_dict()), *pools)
        for section, *pools in zip(sections, plan.pools, counted(plan, wish.section), strict=True)
        if section is not None
    ]


# Rules that refuse Whereabouts: with the manager or model, with the layout, in a stack that installs nothing; what only
# hosts with addresses of their own leave room for; any address where a cloud's devices have no
# networks; and planes.
CANNOT = {"SUP005", "SUP009", "SPL003", "HPR006", "CLD004", "PLN004"}


@pytest.mark.parametrize("stack", FILES)
def test_a_stacks_networks_give_the_addresses_of_its_tables(programs: Programs, stack: str) -> None:
    try:
        plan = planned(stack, {"fabric.addressing.ipam": "whereabouts"})
    except ConfigurationError as refused:
        if {entry.id for entry in refused.findings} <= CANNOT:
            return
        raise
    pools = counted(plan.addresses, document(stack).sections["fabric"]["addressing"])
    tables = {table.rail: [run for row in table.shares for run in runs_of(row.share)] for table in rendered(plan).rails}
    networks = configurations(programs, plan)
    ranges = [
        Range(networks[plan.rails[rail].network], pool, checked)
        for pool, checked in zip(plan.addresses.pools, pools, strict=True)
        for rail in pool.rails
    ]

    assert {rail: start_of(runs, FIRST) for rail, runs in tables.items()} == {
        rail: start_of(pool.shared, min(FIRST, size(tables[rail]))) for pool in pools for rail in pool.rails
    }
    assert faults(programs, ranges) == []


TO_ITS_END = Wish(
    {"layout": "flat", "ipam": "whereabouts", "supernet": "fd00:10::/120", "railSlots": 2},
    AddressDemand(layout="flat", ipam="whereabouts", rails=2, addresses_per_nic=1, nodes=127),
)
"""An IPv6 network of which pods take every address that Whereabouts gives: 254, without the first and the last."""


@given(wishes(layouts=[entry for entry in LAYOUTS if entry[1] == "whereabouts"], most=60))
@example(TO_ITS_END)
@more
def test_every_planned_range_gives_the_planned_addresses(programs: Programs, wish: Wish) -> None:
    ranges = emitted(wish, accepted(wish))

    # Rails differ in where they start.
    assert faults(programs, [ranges[0], ranges[-1]]) == []


def test_one_more_node_than_whereabouts_can_serve_is_refused() -> None:
    refused = plan_addresses(TO_ITS_END.addressing, NO_RANGES, TO_ITS_END.with_nodes(128).demand)

    assert isinstance(refused, Refusal)
    assert "254 usable (the network's last one)" in refused.message
