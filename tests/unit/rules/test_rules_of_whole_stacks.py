"""Rules about a stack of several fabrics as a whole look at no facts of one fabric: those would be its first pool's."""

import json
from dataclasses import replace
from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of, spec_of

from gpu_fabric.plan.build import build_all
from gpu_fabric.plan.case import Case, case_of
from gpu_fabric.plan.fabrics import fabric_cases
from gpu_fabric.rules.several_fabrics import whole_plan_findings, whole_spec_findings

_H200 = {"name": "h200", "shape": "gpu-h200x8-1128gb-fabric-contracted", "nodes": 2}
_B300 = {"name": "b300", "shape": "gpu-b300x8-2304gb-lc-fabric-contracted", "nodes": 2}
_H100 = {"name": "h100", "shape": "BM.GPU.H100.8", "nodes": 2, "labels": {"gpu": "h100"}}
_A100 = {"name": "a100", "shape": "BM.GPU4.8", "nodes": 2, "labels": {"gpu": "a100"}}
_ROUTED_BESIDE_NOT: Changes = {"cluster.pools": [_H200, _B300], "fabrics": {"b300": {"pools": ["b300"]}}}
_OF_ORACLE: Changes = {
    "cluster.pools": [_H100, _A100],
    "fabrics": {"a100": {"pools": ["a100"], "addressing": {"supernet": "172.20.0.0/16"}}},
}


class _Common:
    """Facts of a whole stack, of which only those named are the same in all its fabrics."""

    def __init__(self, facts: Any, *common: str) -> None:
        self._facts, self._common = facts, common

    def __getattr__(self, name: str) -> Any:
        assert name in self._common, f"a rule about the whole stack reads {name}, which each fabric has of its own"
        return getattr(self._facts, name)


@pytest.mark.parametrize(
    ("stack", "changes"),
    [
        ("doks-h200", _ROUTED_BESIDE_NOT),
        ("oke-h100-26-4", _OF_ORACLE),
        ("two-machines", {}),
        ("two-machines-operators", {}),
        ("storage-fabric", {}),
    ],
)
def test_a_rule_about_the_whole_stack_reads_no_fabrics_machines_or_choices(
    stack: str, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of(stack, changes)
    whole = case_of(spec)
    plan = build_all(whole, fabric_cases(spec))
    # FAB008 holds all fabrics to the GPUs of one maker.
    shape, choices = _Common(whole.shape, "gpus"), _Common(whole.choices, "manager")
    own: Any = Case.shape
    guarded: Any = replace(whole, choices=choices)  # type: ignore[arg-type]
    monkeypatch.setattr(Case, "shape", property(lambda case: shape if case is guarded else own.fget(case)))
    whole_spec_findings(guarded)
    whole_plan_findings(guarded, plan)


def test_a_fabric_with_routed_rails_is_planned_beside_one_without() -> None:
    plan = plan_of("doks-h200", _ROUTED_BESIDE_NOT)
    types = {entry.name: json.loads(entry.object.spec.config)["type"] for entry in plan.applied("networks")}
    assert {types[name] for name in types if name.startswith("b300-")} == {"ip-preserving-host-device"}
    assert {types[name] for name in types if not name.startswith("b300-")} == {"host-device"}
