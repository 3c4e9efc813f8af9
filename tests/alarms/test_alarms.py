"""The rules of stacks by promtool: each alarm fires on what is planted, and none on what is healthy."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from committed_stacks import stack_names
from watched_stacks import EVERY_ALARM, watched

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.monitoring.alarms import alarms_of
from gpu_fabric.render.alarms import RULES, TESTS, alarm_files, rule_file


def _run(promtool: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([promtool, *arguments], capture_output=True, text=True)


def _written(folder: Path, stack: str) -> Path:
    (one,) = watched(stack, EVERY_ALARM[stack])
    for name, text in alarm_files([one]).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_tested_stacks_have_every_alarm_together() -> None:
    found = {
        name for stack, changes in EVERY_ALARM.items() for one in watched(stack, changes) for name in alarms_of(one)
    }

    assert found == set(catalog().alarms.alarms)


@pytest.mark.parametrize("stack", EVERY_ALARM)
def test_each_alarm_fires_on_what_is_planted_after_its_time_and_stays_silent_on_healthy_series(
    stack: str, promtool: Path, tmp_path: Path
) -> None:
    found = _run(promtool, "test", "rules", _written(tmp_path, stack) / TESTS)

    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("of", "becomes"),
    [
        ("node_infiniband_state_id{<rdma>} != 4", "node_infiniband_state_id{<rdma>} != 1"),
        (" < 1", " < 0"),
        ("for: 2m", "for: 20m"),
        ("pending-.*", "failed"),
    ],
)
def test_promtool_finds_an_alarm_that_does_not_fire(of: str, becomes: str, promtool: Path, tmp_path: Path) -> None:
    folder = _written(tmp_path, "oke-h100")
    (one,) = watched("oke-h100", {})
    selector = one.values["rdma"]
    rules, tests = (yaml.safe_load((folder / name).read_text(encoding="utf-8")) for name in (RULES, TESTS))
    changed = set()
    for group in rules["groups"]:
        for rule in group["rules"]:
            for key in ("expr", "for"):
                wrong = f"{key}: {rule.get(key)}".replace(
                    of.replace("<rdma>", selector), becomes.replace("<rdma>", selector)
                )
                if wrong != f"{key}: {rule.get(key)}":
                    rule[key] = wrong.removeprefix(f"{key}: ")
                    changed.add(rule["alert"])
    # Promtool looks at every rule in every minute of every test: these are the tests of the changed ones alone.
    tests["tests"] = [one for one in tests["tests"] if one["name"].partition(" ")[0] in changed]
    assert changed
    assert tests["tests"]
    for name, content in ((RULES, rules), (TESTS, tests)):
        (folder / name).write_text(yaml.safe_dump(content), encoding="utf-8")

    assert _run(promtool, "test", "rules", folder / TESTS).returncode == 1


def test_the_rules_of_every_committed_stack_are_parsed(promtool: Path, tmp_path: Path) -> None:
    files = []
    for stack in (*stack_names(), "two-machines", "storage-fabric"):
        if not stack.startswith("large"):
            for number, one in enumerate(watched(stack, {})):
                files.append(tmp_path / f"{stack}-{number}.yaml")
                files[-1].write_text(yaml.safe_dump(rule_file(one)), encoding="utf-8")

    found = _run(promtool, "check", "rules", "--lint=all", "--lint-fatal", *files)

    assert found.returncode == 0, found.stdout + found.stderr
    assert len(files) > 20


def _test_file(folder: Path, series: list[tuple[str, str]], alarm: str, expected: list[dict[str, Any]]) -> Path:
    """A file of promtool by hand, beside the rules of a folder."""
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series],
        "alert_rule_test": [{"eval_time": "10m", "alertname": alarm, "exp_alerts": expected}],
    }
    content = {"rule_files": [RULES], "evaluation_interval": "1m", "tests": [test]}
    (folder / "by-hand.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder / "by-hand.yaml"


def test_an_alarm_says_rail_nic_gpu_and_cable(promtool: Path, tmp_path: Path) -> None:
    cables = {"*": "leaf-{rail}, port of {node}", "gpu-07/3": "leaf-3b swp12", "gpu-0*": "row 0"}
    (one,) = watched("oke-h100", {"monitoring.cables": cables, "monitoring.runbooks": "https://wiki.example/alarms"})
    (tmp_path / RULES).write_text(yaml.safe_dump(rule_file(one)), encoding="utf-8")
    down = [
        # Rail 3 of the shape is mlx5_4, at 0000:2a:00.1 beside GPU 1; rail 2 is mlx5_3.
        ('node_infiniband_state_id{device="mlx5_4",port="1",instance="gpu-07:9100"}', "gpu-07", "leaf-3b swp12"),
        ('node_infiniband_state_id{device="mlx5_4",port="1",instance="gpu-08"}', "gpu-08", "row 0"),
        ('node_infiniband_state_id{device="mlx5_4",port="1",instance="10.0.0.9:9100"}', "10.0.0.9", "leaf-3, port of"),
    ]
    labels = {"severity": "critical", "stack": "oke-h100", "fabric": "main", "device": "mlx5_4", "port": "1"}
    rail = {"rail": "3", "nic": "0000:2a:00.1", "gpu": "1"}
    expected = []
    for series, _, cable in down:
        instance = series.rpartition('instance="')[2].rstrip('"}')
        said = f"{cable} {instance}" if cable.endswith("of") else cable
        expected.append(
            {
                "exp_labels": {**labels, **rail, "instance": instance},
                "exp_annotations": {
                    "summary": f"RDMA link down on {instance}: rail 3 (NIC 0000:2a:00.1, GPU 1)",
                    "description": f"Port 1 of mlx5_4 is in state 1 (4 is active). Cable: {said}.",
                    "runbook_url": "https://wiki.example/alarms#fabriclinkdown",
                },
            }
        )

    found = _run(
        promtool,
        *("test", "rules"),
        _test_file(tmp_path, [(series, "1x20") for series, _, _ in down], "FabricLinkDown", expected),
    )

    assert found.returncode == 0, found.stdout + found.stderr


def test_the_front_ends_link_is_no_alarm(promtool: Path, tmp_path: Path) -> None:
    # mlx5_2 is a front-end NIC of the shape.
    series = [('node_infiniband_state_id{device="mlx5_2",port="1",instance="gpu-07"}', "1x20")]

    found = _run(promtool, "test", "rules", _test_file(_written(tmp_path, "oke-h100"), series, "FabricLinkDown", []))

    assert found.returncode == 0, found.stdout + found.stderr


def test_nodes_of_another_fabric_are_no_alarm_where_series_have_the_nodes_name(promtool: Path, tmp_path: Path) -> None:
    one, *_ = watched("two-machines", {"monitoring.nodeLabel": "node"})
    (tmp_path / RULES).write_text(yaml.safe_dump(rule_file(one)), encoding="utf-8")
    device, resource = one.rdma[0], one.values["resource"]
    series = [
        (f'node_infiniband_state_id{{device="{device.device}",port="1",node="{node}"}}', "1x20") for node in ("a", "b")
    ]
    series.append((f'kube_node_status_allocatable{{node="a",resource="{resource}",unit="integer"}}', "1x20"))
    content = {
        "rule_files": [RULES],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series],
                "promql_expr_test": [
                    {
                        "expr": 'count by (node) (ALERTS{alertname="FabricLinkDown",alertstate="firing"})',
                        "eval_time": "10m",
                        "exp_samples": [{"labels": '{node="a"}', "value": 1}],
                    }
                ],
            }
        ],
    }
    (tmp_path / TESTS).write_text(yaml.safe_dump(content), encoding="utf-8")

    found = _run(promtool, "test", "rules", tmp_path / TESTS)

    assert found.returncode == 0, found.stdout + found.stderr
