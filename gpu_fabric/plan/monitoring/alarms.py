"""The rules of Prometheus for a fabric: its rails by their names, and the alarms that the stack can have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.alarm import Alarm, Condition
from gpu_fabric.k8s.prometheus import Rule, RuleGroup
from gpu_fabric.plan.monitoring.watched import Watched, filled

PAGE = "docs/alarms.md"
"""What alarms name where the stack file gives no address of the page."""

INFO = "gpu_fabric_rail_info"
"""The series with a rail's labels for each name that exporters have for its NIC."""

Of = Literal["fabric", "stack"]


def rule_groups(watched: Watched) -> tuple[RuleGroup, ...]:
    """The groups of one fabric; alarms on the stack as a whole are with its first fabric."""
    groups = []
    if watched.rdma or watched.interfaces:
        groups.append(("rails", [*_rail_info(watched), *_rules(watched, "fabric")]))
    else:
        groups.append(("rails", [*_rules(watched, "fabric")]))
    if not watched.case.fabric:
        groups.append(("stack", [*_rules(watched, "stack")]))
    return tuple(
        RuleGroup(name=f"gpu-fabric-{name}-{watched.fabric}", rules=tuple(rules)) for name, rules in groups if rules
    )


def alarms_of(watched: Watched) -> dict[str, Alarm]:
    """The alarms of a fabric by name."""
    return {name: alarm for name, alarm in _listed(watched).items() if not _lacks(watched, alarm)}


def left_out(watched: Watched) -> dict[str, str]:
    """The alarms that a fabric does not have, each with the reason."""
    reasons = catalog().alarms.conditions
    return {name: reasons[lacks[0]] for name, alarm in _listed(watched).items() if (lacks := _lacks(watched, alarm))}


def _listed(watched: Watched) -> dict[str, Alarm]:
    every = catalog().alarms.alarms
    return {name: alarm for name, alarm in every.items() if alarm.of == "fabric" or not watched.case.fabric}


def _lacks(watched: Watched, alarm: Alarm) -> list[Condition]:
    return [need for need in alarm.needs if not watched.holds[need]]


def values_of(watched: Watched, alarm: Alarm) -> Iterator[dict[str, str]]:
    """What the placeholders of an alarm stand for: once, or for each number of devices that a node offers."""
    if "<each>" not in alarm.expr:
        yield {**watched.values, "each": str(next(iter(watched.devices), 1))}
        return
    for count, names in watched.devices.items():
        yield {**watched.values, "each": str(count), "resources": "|".join(names), "resource": names[0]}


def _rail_info(watched: Watched) -> Iterator[Rule]:
    for entry in (*watched.rdma, *watched.interfaces):
        labels = {"device": entry.device, "rail": entry.rail, "nic": entry.nic, "gpu": entry.gpu, **_labels(watched)}
        yield Rule(record=INFO, expr="vector(1)", labels=labels)


def _rules(watched: Watched, of: Of) -> Iterator[Rule]:
    runbooks = watched.case.spec.monitoring.runbooks or PAGE
    for name, alarm in alarms_of(watched).items():
        for values in values_of(watched, alarm) if alarm.of == of else ():
            yield Rule(
                alert=name,
                expr=filled(alarm.expr, values),
                for_=None if alarm.after == "0m" else alarm.after,
                labels={"severity": alarm.severity, **_labels(watched)},
                annotations={
                    "summary": filled(alarm.summary, values),
                    "description": filled(alarm.description, values).strip(),
                    "runbook_url": f"{runbooks}#{name.lower()}",
                },
            )


def _labels(watched: Watched) -> dict[str, str]:
    return {"stack": watched.case.spec.name, "fabric": watched.fabric}
