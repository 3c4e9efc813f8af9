"""What jobs do when a link fails, by the stack file's one choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from changes import Changes

from gpu_fabric.catalog import CatalogError, catalog, read_model
from gpu_fabric.catalog.nccl import NcclTable
from gpu_fabric.plan import Plan

PlanWith = Callable[[Changes], Plan]
_ENDING = "NCCL_IB_TIMEOUT"
_TIMEOUTS = [("fail-fast", "18"), ("ride-out-flaps", "22"), ("port-failover", "18")]
_OVER, _BACK = "NCCL_IB_RESILIENCY_PORT_FAILOVER", "NCCL_IB_RESILIENCY_PORT_RECOVERY"


@pytest.mark.parametrize(("choice", "timeout"), _TIMEOUTS)
def test_a_choice_takes_the_place_of_the_shapes_timeout_in_file_and_environment(
    plan_with: PlanWith, choice: str, timeout: str
) -> None:
    plan = plan_with({"fabric.resilience": choice})

    assert plan.workload.environment[_ENDING] == timeout
    assert [row.value for row in plan.nccl.settings if row.variable == _ENDING] == [timeout]
    assert all(f"{_ENDING}={timeout}\n" in file.content for file in plan.nccl.files if file.key == "nccl.conf")


def test_without_a_choice_nothing_changes(plan_with: PlanWith) -> None:
    assert plan_with({"fabric.resilience": "default"}) == plan_with({})


def test_jobs_on_roce_go_on_over_another_port_and_do_not_return_to_the_first(plan_with: PlanWith) -> None:
    environment = plan_with({"fabric.resilience": "port-failover"}).workload.environment

    assert environment[_OVER] == "1"
    assert _BACK not in environment


def test_the_stack_files_own_settings_win_over_the_choice(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.resilience": "fail-fast", "fabric.nccl.settings": {_ENDING: 20}})

    assert plan.workload.environment[_ENDING] == "20"


def test_a_release_that_is_not_stated_is_named_where_the_lines_tests_are_older(plan_with: PlanWith) -> None:
    found = [entry for entry in plan_with({"fabric.resilience": "port-failover"}).findings if entry.id == "NCL019"]

    assert any(f"{_OVER}=1 came with NCCL 2.29.7" in entry.message for entry in found)


def test_every_choice_says_what_it_costs() -> None:
    assert set(catalog().nccl_resilience) == {"default", "fail-fast", "ride-out-flaps", "port-failover"}
    assert all(row.cost for row in catalog().nccl_resilience.values())
    assert "2157" in str(catalog().nccl_resilience["port-failover"].open)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [({"variable": "NCCL_IB_TIMOUT", "value": "18"}, "no variable here"), ({"value": "32"}, "allowed: 1 to 31")],
)
def test_a_choice_whose_setting_no_variable_takes_is_refused(
    tmp_path: Path, setting: dict[str, str], reason: str
) -> None:
    path = tmp_path / "nccl.yaml"
    row = {"variable": _ENDING, "value": "18", "scope": "both", "why": "w", "source": "s"} | setting
    entry = {"does": "d", "form": "integer", "since": "unmarked", "source": "s", "notSet": "n"}
    table = {
        "variables": {_ENDING: entry},
        "further": [],
        "limits": {_ENDING: {"least": 1, "most": 31, "source": "s"}},
        "resilience": {"fail-fast": {"does": "d", "cost": "c", "settings": [row]}},
    }
    path.write_text(yaml.safe_dump(table), encoding="utf-8")

    with pytest.raises(CatalogError, match=reason):
        read_model(NcclTable, path)
