"""Waves held against the same plan without them; what they say is in rows/waves.yaml."""

from typing import Any

from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedWaves


def with_waves(stack: str, **upgrade: Any) -> Plan:
    return plan_of(stack, {"upgrade": upgrade})


def waves(plan: Plan) -> PlannedWaves:
    found = plan.record(PlannedWaves, "waves")
    assert found is not None
    return found


def test_waves_come_after_everything_but_the_verification() -> None:
    plan = with_waves("verification")
    names = [step.name for step in plan.steps]
    assert names[-2:] == ["waves", "verification"]
    step = plan.step("waves")
    assert step is not None
    assert set(step.after) == set(names[:-2])


def test_hold_leaves_every_node_as_it_is_and_the_operators_as_with_waves() -> None:
    held, waving = with_waves("host-device", action="hold"), with_waves("host-device")
    assert held.step("waves") is None
    assert held.releases == waving.releases


def test_another_release_line_or_hook_is_another_wave_and_a_deadline_is_not() -> None:
    hook = {"image": "registry.example.com/firmware:1"}
    first, other = (waves(with_waves("host-device", hook={**hook, "command": [name]})) for name in ("a", "b"))
    assert first.hook is not None
    assert other.hook is not None
    assert first.hook.digest != other.hook.digest
    assert first.revision == waves(with_waves("host-device", jobMinutes=5)).revision
    guide = waves(with_waves("oke-guide"))
    assert guide.revision != first.revision
