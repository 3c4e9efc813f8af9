"""The check of the rails held against jobs of the same plan; the rest is in rows/daemons.yaml."""

from __future__ import annotations

from typing import Any

from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan


def checked(stack: str, changes: Changes | None = None) -> Plan:
    """A stack of tests/stacks with the check of its rails."""
    return plan_of(stack, {"fabric.check": {}, **(changes or {})})


def daemon(plan: Plan) -> dict[str, Any]:
    (found,) = (entry.object.manifest() for entry in plan.applied("check") if entry.object.kind == "DaemonSet")
    return found


def container(plan: Plan) -> dict[str, Any]:
    (only,) = daemon(plan)["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def told(plan: Plan) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container(plan)["env"]}


def rails(plan: Plan) -> list[str]:
    """A line a rail: number, interface, network, addresses, router, device, link layer, MTU."""
    return told(plan)["RAILS"].splitlines()


def test_its_pods_attach_like_a_jobs_and_take_one_device_of_every_rail_but_no_gpu() -> None:
    plan = checked("spiderpool-macvlan")
    job, template = plan.workload, daemon(plan)["spec"]["template"]

    devices = {f"spidernet.io/rail_{rail:02d}": "1" for rail in range(8)}
    assert template["metadata"]["annotations"] == job.annotations
    assert container(plan)["resources"] == {"requests": devices, "limits": devices}
    assert job.resources == {"nvidia.com/gpu": "8", **devices}
