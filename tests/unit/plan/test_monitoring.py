"""Alarms and dashboards in plans: what a stack gets, with which names, and what its dashboard asks for."""

import json
import re
from collections.abc import Callable

import pytest
from changes import Changes
from committed_stacks import stack_names
from watched_stacks import EVERY_ALARM, watched

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.alarm import metrics_of
from gpu_fabric.plan import Plan
from gpu_fabric.plan.monitoring.alarms import alarms_of, left_out, rule_groups
from gpu_fabric.plan.monitoring.dashboard import dashboard
from gpu_fabric.plan.monitoring.planted import rule_tests
from gpu_fabric.plan.monitoring.watched import cable_text

PlanWith = Callable[[Changes], Plan]
_ASKED = {
    "monitoring.prometheusRules": True,
    "monitoring.dashboard": True,
    "cluster.installed": ["prometheus-operator"],
}
_SMALL = [name for name in stack_names() if not name.startswith("large")]


def test_a_stack_that_asks_gets_a_rule_and_a_dashboard_in_the_namespace_of_its_prometheus(plan_with: PlanWith) -> None:
    plan = plan_with(
        {**_ASKED, "monitoring.namespace": "observability", "monitoring.labels": {"release": "prometheus"}}
    )
    rule, board = (entry.object.manifest() for entry in plan.applied("monitoring"))

    assert (rule["kind"], rule["metadata"]["namespace"]) == ("PrometheusRule", "observability")
    assert rule["metadata"]["labels"] == {"release": "prometheus"}
    assert (board["kind"], board["metadata"]["labels"]) == ("ConfigMap", {"grafana_dashboard": "1"})
    assert json.loads(board["data"]["gpu-fabric-dashboard.json"])["title"] == f"Fabric main of stack {plan.stack}"


@pytest.mark.parametrize("stack", _SMALL)
def test_every_alarm_is_there_or_left_out_with_a_reason_and_no_placeholder_is_left(stack: str) -> None:
    fabrics = watched(stack, {})
    # What is of the cluster and not of a fabric is watched once, with the first.
    present, missing = alarms_of(fabrics[0]), left_out(fabrics[0])
    assert sorted([*present, *missing]) == sorted(catalog().alarms.alarms)
    assert "FabricNodeNotProven" in present

    for one in fabrics:
        text = json.dumps([[group.to_dict() for group in rule_groups(one)], rule_tests(one, "r"), dashboard(one)])
        assert "FabricLinkDown" in alarms_of(one)
        assert all(left_out(one).values())
        assert re.findall(r"<[a-z ]+>", text) == []
        assert 'device=~""' not in text


# What Grafana's schema of a dashboard, version 39, knows (grafana/grafana, kinds/dashboard/dashboard_kind.cue).
_TYPES = {"stat", "timeseries", "state-timeline"}
_UNITS = {"short", "Bps", "pps", "percentunit"}


@pytest.mark.parametrize("stack", EVERY_ALARM)
def test_panels_have_the_form_of_grafana_do_not_overlap_and_ask_for_metrics_of_the_table(stack: str) -> None:
    (one,) = watched(stack, EVERY_ALARM[stack])
    listed = {re.sub("<priority>", "5", name) for name in catalog().alarms.metrics}
    board = json.loads(json.dumps(dashboard(one)))
    cells: set[tuple[int, int]] = set()

    assert board["schemaVersion"] == 39
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) >= 8
    for panel in board["panels"]:
        assert panel["type"] in _TYPES
        assert panel["fieldConfig"]["defaults"]["unit"] in _UNITS
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert [target["refId"] for target in panel["targets"]] == list("ABC")[: len(panel["targets"])]
        for target in panel["targets"]:
            assert set() < set(metrics_of(target["expr"])) <= listed
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells
        assert max(x for x, _ in own) < 24
        cells |= own
    assert [entry["type"] for entry in board["templating"]["list"]] == ["datasource"]


def test_counters_are_left_out_where_pods_have_the_devices_that_count() -> None:
    (virtual,), (shared,) = watched("oke-h100", {}), watched("roce-macvlan", {})

    assert "FabricRdmaErrors" in left_out(virtual)
    assert "FabricRdmaErrors" in alarms_of(shared)


@pytest.mark.parametrize(
    ("stack", "changes"),
    [
        ("dev", {"software.gpuOperator": {"mig": "mixed"}}),
        ("dev", {"software.gpuOperator": {"values": {"devicePlugin": {"config": {"name": "shared"}}}}}),
        ("doks-h200", {"cluster.plugins": {"gpu": "dra"}}),
        ("host-network", {}),
    ],
)
def test_gpus_are_counted_only_where_they_are_offered_whole_on_nodes_that_are_known(
    stack: str, changes: Changes
) -> None:
    (parts,) = watched(stack, changes)
    (whole,) = watched("doks-h200" if stack == "doks-h200" else "dev", {})
    assert "FabricGpusMissing" in left_out(parts)
    assert "FabricGpusMissing" in alarms_of(whole)


def test_a_device_on_different_rails_of_node_groups_has_both() -> None:
    nics = [{"pci": "0000:18:00.0", "rdmaDevice": "mlx5_0"}, {"pci": "0000:3a:00.0", "rdmaDevice": "mlx5_1"}]
    shapes = "cluster.shapes.{}-machine.nics"
    (one,) = watched("node-kinds", {shapes.format("old"): nics, shapes.format("new"): nics[::-1]})

    assert {entry.device: entry.rail for entry in one.rdma} == {"mlx5_0": "0 or 1", "mlx5_1": "1 or 0"}
    assert {entry.nic for entry in one.rdma} == {"0000:18:00.0", "0000:3a:00.0"}


def test_alarms_on_the_stack_are_with_its_first_fabric_alone() -> None:
    first, second = watched("two-machines", {"monitoring.nodeLabel": "node"})
    names = [{rule.alert for group in rule_groups(one) for rule in group.rules} for one in (first, second)]

    assert "FabricOperatorDown" in names[0] - names[1]
    assert "FabricLinkDown" in names[0] & names[1]


def test_the_most_exact_place_names_the_cable() -> None:
    text = cable_text({"*": "a {rail}", "gpu-0*": "b", "gpu-07": "c {node}", "gpu-*/3": "d"}, "node")

    assert re.findall(r"Cable: (.)", text) == ["d", "c", "b", "a"]
    assert "a {{ $labels.rail }}" in text
    assert "c {{ $labels.node }}" in text
