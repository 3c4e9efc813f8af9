"""What a stack costs an hour: an hourly range, or the word unknown."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from changes import Changes, changed
from committed_stacks import folder_of

from gpu_fabric.catalog import catalog
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import plan_spec
from gpu_fabric.report.content import cost_rows
from gpu_fabric.spec.load import read_document, validate

PlanWith = Callable[[Changes], Plan]
GPU = "gpu-mi325x8-2048gb-fabric-contracted"
SYSTEM = "s-4vcpu-8gb"
DAY = "2026-11-01"


def doks(prices: dict[str, Any], **more: Any) -> Plan:
    document = changed(read_document("doks-mi325x", folder_of("doks-mi325x")), {"cluster.prices": prices, **more})
    spec, problems = validate(document)
    assert spec is not None
    assert not problems
    return plan_spec(spec)


def price(hourly: float, **more: Any) -> dict[str, Any]:
    return {"hourly": hourly, "asOf": DAY, **more}


def test_a_price_that_nobody_publishes_is_unknown_with_the_reason() -> None:
    rows = cost_rows(doks({}).cost)

    assert rows["cost an hour"] == "unknown"
    assert rows["cost of gpu"].startswith("unknown: DigitalOcean publishes no prices of contracted sizes")


def test_every_list_price_has_a_machine_of_the_catalog_with_so_many_gpus() -> None:
    for name, row in catalog().prices.prices.items():
        shape = catalog().find(name)
        assert shape is not None, name
        assert shape.gpus.count == row.gpus, name


def test_the_users_prices_make_a_total() -> None:
    cost = doks({GPU: price(20.0), SYSTEM: price(0.1)}).cost

    assert cost.total is not None
    assert (cost.total.least, cost.total.most, cost.total.currency) == (Decimal("40.20"), Decimal("40.20"), "USD")
    assert cost_rows(cost)["cost an hour"] == "40.20 USD for machines alone"
    assert cost_rows(cost)["cost of gpu"] == f"40.00 USD: 2 x {GPU} at 20.00 USD (the stack file, {DAY})"


def test_a_range_of_prices_is_a_range_of_cost() -> None:
    cost = doks({GPU: price(20.0, hourlyMost=30.0), SYSTEM: price(0.1)}).cost

    assert cost_rows(cost)["cost an hour"] == "40.20 to 60.20 USD for machines alone"


def test_a_pool_that_scales_costs_from_its_fewest_to_its_most_nodes() -> None:
    cost = doks(
        {GPU: price(20.0), SYSTEM: price(0.1)},
        **{"cluster.pools[0].autoScale": {"minNodes": 2, "maxNodes": 5}, "cluster.pools[0].contractedNodes": 5},
    ).cost

    assert cost_rows(cost)["cost an hour"] == "40.20 to 100.20 USD for machines alone"


def test_one_unknown_pool_makes_the_total_unknown_and_the_rest_is_said() -> None:
    cost = doks({GPU: price(20.0)}).cost

    assert cost.total is None
    assert cost_rows(cost)["cost an hour"] == "unknown; 40.00 USD of it are known"


def test_currencies_are_not_added_up() -> None:
    cost = doks({GPU: price(20.0), SYSTEM: price(0.1, currency="EUR")}).cost

    assert cost.total is None
    assert cost_rows(cost)["cost an hour"] == "40.00 USD and 0.20 EUR, in several currencies"


def test_the_users_price_wins_over_the_list_price(plan_with: PlanWith, dev_plan: Plan) -> None:
    machine = dev_plan.cost.pools[0].machine
    cost = plan_with({"cluster.prices": {machine: price(7.5, source="contract 12")}}).cost

    assert cost.pools[0].source == "contract 12"
    assert cost.total is not None


def test_a_day_is_the_same_from_the_file_and_as_the_engine_hands_it_over() -> None:
    from_engine = {"hourly": 20.0, "asOf": f"{DAY} 00:00:00 +0000 UTC"}

    assert doks({GPU: from_engine}).cost == doks({GPU: price(20.0)}).cost
