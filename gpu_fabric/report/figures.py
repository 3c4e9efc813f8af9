"""The figures that a decision needs, each from the plan: how much, how fast, what it costs, where, and how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.report.figure import Figure

if TYPE_CHECKING:
    from gpu_fabric.plan import Plan
    from gpu_fabric.resources import Handling


class CountedResource(Protocol):
    """A resource of the plan, or of a rendered plan."""

    @property
    def component(self) -> str:
        """The name of the component that it belongs to."""

    @property
    def handling(self) -> Handling:
        """Pulumi's options of it."""


UNKNOWN = "unknown"
_CLOUDS = {"doks": "DigitalOcean", "oke": "Oracle"}


def plan_figures(plan: Plan, resources: Sequence[CountedResource] | None = None) -> tuple[Figure, ...]:
    """Every figure of a plan; `resources` are the plan's, where they are known already."""
    from gpu_fabric.resources import resources as planned_resources

    return tuple(_figures(plan, planned_resources(plan) if resources is None else resources))


def _figures(plan: Plan, resources: Sequence[CountedResource]) -> Iterator[Figure]:
    pools, on_cluster = plan.cluster.pools, plan.part != "cluster"
    nics = f"{sum(pool.nics for pool in pools):,} RDMA NICs"
    machines = ", ".join(f"{pool.nodes:,} x {pool.shape}" for pool in pools)
    yield Figure("GPUs", f"{sum(pool.gpus for pool in pools):,}", machines)
    if on_cluster and not plan.fabrics:
        yield Figure("rails", str(len(plan.rails)), nics)
    if not plan.fabrics:
        yield _line_rate(plan)
    for name, one in plan.by_fabric.items() if plan.fabrics else ():
        count = f"{len(one.rails) * sum(pool.nodes for pool in one.cluster.pools):,} RDMA NICs"
        yield Figure(f"rails of {name}", str(len(one.rails)), count)
        yield _line_rate(one)._replace(name=f"line rate of a node of {name}")
        if one.workload.purpose != "storage":
            yield _bar(one)._replace(name=f"bus bandwidth to reach in {name}")
    if on_cluster and not plan.fabrics:
        yield _bar(plan)
    yield _cost(plan)
    yield from _region(plan)
    yield _resources(plan, resources)
    yield _time(plan)


def _line_rate(plan: Plan) -> Figure:
    rates = plan.bandwidth.rates
    name = "line rate of a node"
    if unknown := [rate.shape for rate in rates if rate.tbps is None]:
        return Figure(name, UNKNOWN, f"not published for {', '.join(unknown)}")
    made_of = [f"{rate.nics} NICs x {rate.gbps} Gb/s" for rate in rates]
    return Figure(name, _range([rate.tbps or 0 for rate in rates], "Tb/s"), ", ".join(dict.fromkeys(made_of)))


def _bar(plan: Plan) -> Figure:
    name, bar = "bus bandwidth to reach", plan.bandwidth.bar
    if bar is None:
        return Figure(name, UNKNOWN, plan.bandwidth.unknown or "")
    fabric = plan.workload.fabric or ""
    is_measured = any(run.fabric == fabric for run in plan.records(PlannedVerification))
    measured = "measured by up" if is_measured else "not measured by up: the verification is off"
    return Figure(name, f"{bar.value:g} GB/s", measured)


def _cost(plan: Plan) -> Figure:
    name, cost = "cost of an hour", plan.cost
    if plan.part == "platform" and plan.split is not None:
        return Figure(name, "none of its own", f"the machines are those of stack {plan.split.cluster_stack}")
    if cost.total is not None:
        return Figure(name, str(cost.total), "machines alone")
    reasons = dict.fromkeys(pool.unknown for pool in cost.pools if pool.unknown)
    known = " and ".join(map(str, cost.known))
    if known and not reasons:
        return Figure(name, known, "machines alone, in several currencies")
    return Figure(name, UNKNOWN, "; ".join([*reasons, *([f"{known} of it are known"] if known else [])]))


def _region(plan: Plan) -> Iterator[Figure]:
    """Only where there is a cloud."""
    cluster = plan.cluster
    if plan.split is not None and plan.part == "platform":
        yield Figure("region", plan.split.cluster.region, f"the cluster of stack {plan.split.cluster_stack}")
    elif cluster.oke is not None:
        yield Figure("region", cluster.oke.region, _CLOUDS["oke"])
    elif cluster.doks is not None:
        yield Figure("region", cluster.doks.cluster.region, _CLOUDS["doks"])


def _resources(plan: Plan, resources: Sequence[CountedResource]) -> Figure:
    from gpu_fabric.resources.order import CLUSTER

    counted = Counter(resource.component == CLUSTER for resource in resources)
    cloud = _CLOUDS.get(plan.cluster.provider, "the cloud")
    words = [f"{counted[True]} at {cloud}"] if counted[True] else []
    words += [f"{counted[False]} on the cluster"] if counted[False] else []
    adopted = sum(resource.handling.adopts is not None for resource in resources)
    words += [f"{adopted} exist and are taken over"] if adopted else []
    return Figure("resources to create", str(len(resources) - adopted), ", ".join(words))


def _time(plan: Plan) -> Figure:
    from gpu_fabric.report.time_limit import longest_wait

    seconds = longest_wait(plan)
    if not seconds:
        return Figure("time to create", UNKNOWN, "up waits for nothing but the calls themselves")
    return Figure("time to create, at most", duration_text(seconds), "up fails after it; the usual time is unknown")


def duration_text(seconds: int) -> str:
    """Hours and minutes, rounded up to a minute."""
    hours, minutes = divmod(-(-seconds // 60), 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes or not hours))


def _range(values: Iterable[float], unit: str) -> str:
    least, *_, most = sorted((*values,) * 2)
    return f"{least:g} {unit}" if least == most else f"{least:g} to {most:g} {unit}"
