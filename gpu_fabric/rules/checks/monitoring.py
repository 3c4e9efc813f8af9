"""Checks of alarms and dashboards."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted


def _at(*keys: str) -> str:
    return dotted(("monitoring", *keys))


@check("MON001")
def rules_have_an_operator(case: Case) -> Iterator[Problem]:
    """The kind PrometheusRule exists before the stack applies one."""
    if case.spec.monitoring.prometheus_rules and "prometheus-operator" not in case.spec.cluster.installed:
        yield Problem(_at("prometheusRules"))


@check("MON002")
def cables_have_their_rails(case: Case) -> Iterator[Problem]:
    """Where cables are named by rail, alarms know the rail of an RDMA device."""
    unknown = [group.shape.name for group in case.groups if any(nic.rdma_device is None for nic in group.shape.nics)]
    for place, text in case.spec.monitoring.cables.items():
        if unknown and ("/" in place or "{rail}" in text):
            yield Problem(_at("cables", place), f"the names of the RDMA devices of {', '.join(unknown)} are not known")


@check("MON003")
def nodes_of_fabrics_are_told_apart(case: Case) -> Iterator[Problem]:
    """In a stack with several compute fabrics alarms know the node by the name that the cluster has for it."""
    wanted = case.spec.monitoring
    several = any(entry.purpose == "compute" for entry in case.spec.fabrics.values())
    if (wanted.prometheus_rules or wanted.dashboard) and several and wanted.node_label != "node":
        yield Problem(_at("nodeLabel"))


@check("MON004")
def rules_are_selected(case: Case) -> Iterator[Problem]:
    """PrometheusRules have the labels by which Prometheus selects them."""
    if case.spec.monitoring.prometheus_rules and not case.spec.monitoring.labels:
        yield Problem(_at("labels"))


@check("MON005")
def something_is_applied(case: Case) -> Iterator[Problem]:
    """The user knows where the stack applies nothing of the monitoring that the file describes."""
    wanted = case.spec.monitoring
    stated = {"namespace", "labels"} & wanted.model_fields_set
    if stated and not wanted.prometheus_rules and not wanted.dashboard:
        yield Problem(_at(min(stated)))
