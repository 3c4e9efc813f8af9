"""What Spiderpool's webhook says to pools that people write, and what becomes of them here: the same."""

from functools import cache
from typing import Any

import pytest
from planned_steps import with_items

from gpu_fabric.findings import errors
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.spiderpool import SpiderIPPool, SpiderIPPoolSpec
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, case_of
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.prepare import plan_spec
from gpu_fabric.rules.checking import plan_findings
from rules.tables import good, spec_of

Pools = list[dict[str, Any]]


def rails(*subnets: str, **fields: Any) -> Pools:
    return [{"subnet": subnet, **fields} for subnet in subnets]


def parts_of(subnet: str) -> Pools:
    """Eight pools of one subnet, each with the addresses of a /24 of it."""
    return [{"subnet": subnet, "ips": [f"172.16.{rail}.1-172.16.{rail}.200"]} for rail in range(8)]


@cache
def planned() -> tuple[Case, Plan]:
    spec = spec_of(good("SPI021", "spiderpool-macvlan"))
    return case_of(spec), plan_spec(spec)


def answer(pools: Pools, names: str = "rail-{}") -> str:
    """What becomes of pools: a rule refuses them, or they are accepted. What is refused of one alone is its model's."""
    specs = [SpiderIPPoolSpec.model_validate(pool) for pool in pools]
    case, plan = planned()
    made = tuple(
        PlannedObject(object=SpiderIPPool(metadata=ObjectMeta(name=names.format(number)), spec=spec))
        for number, spec in enumerate(specs)
    )
    altered = with_items(plan, "ip-pools", made)
    found = {entry.id for entry in errors(plan_findings(case, altered))}
    return ", ".join(sorted(found & {"SPI021", "OBJ004"})) or "accepted"


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        (parts_of("172.16.0.0/16"), "accepted"),
        ([*parts_of("172.16.0.0/16"), {"subnet": "172.16.0.0/16", "ips": ["172.16.3.200"]}], "SPI021"),
        (rails("172.16.0.0/16", "172.16.11.0/24"), "SPI021"),
        (rails("172.16.11.0/24", "172.16.0.0/16"), "SPI021"),
        (rails("172.16.11.0/24", "172.16.12.0/24", "172.16.13.0/24"), "accepted"),
        (rails("fd00:10::/64", "fd00:10:0:1::/64", "172.16.0.0/16"), "accepted"),
        (rails("172.16.11.0/24", ips=["172.16.11.1-172.16.11.200"], gateway="172.16.11.254"), "accepted"),
        (rails("172.16.0.0/16", ips=["172.16.11.1-172.16.11.200"], gateway="172.16.11.254"), "accepted"),
        (rails("172.16.11.0/24", ips=["172.16.11.1-172.16.11.9", "172.16.11.5-172.16.11.12"]), "accepted"),
    ],
)
def test_pools_are_accepted_and_refused_as_by_the_webhook(pools: Pools, said: str) -> None:
    assert answer(pools) == said


def test_a_name_that_a_pool_has_already_is_refused() -> None:
    assert answer(rails("172.16.11.0/24", "172.16.12.0/24"), names="rail") == "OBJ004"
