"""The scripts and tables of prepared hosts; what each job is told is in rows/host_preparation.yaml."""

from __future__ import annotations

from typing import Any

from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan

NAMES = [f"gpu-{number}" for number in range(3)]


def prepared(stack: str, wanted: dict[str, Any], changes: Changes | None = None) -> Plan:
    """A stack of tests/stacks with a section `hostPreparation`."""
    return plan_of(stack, {"fabric.hostPreparation": wanted, **(changes or {})})


def macvlan(wanted: dict[str, Any], **addressing: Any) -> Plan:
    """Three named nodes with shared subnets of a rail's own."""
    section = {"supernet": "172.16.0.0/16", "prefixLength": 24, "reservedFirst": 8, **addressing}
    changes = {
        "fabric.addressing": section,
        "fabric.podsPerNic": 8,
        "cluster.pools[0].nodes": 3,
        "cluster.pools[0].nodeNames": NAMES,
    }
    return prepared("spiderpool-macvlan", wanted, changes)


def daemons(plan: Plan) -> dict[str, dict[str, Any]]:
    found = (entry.object for entry in (*plan.applied("host-preparation"), *plan.applied("nic-addresses")))
    return {entry.metadata.name: entry.manifest() for entry in found if entry.kind == "DaemonSet"}


def container(plan: Plan, name: str) -> dict[str, Any]:
    (only,) = daemons(plan)[name]["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def told(plan: Plan, name: str) -> dict[str, str]:
    """The environment of a job, without the node's name, which all have."""
    env = {entry["name"]: entry.get("value") for entry in container(plan, name)["env"]}
    assert env.pop("NODE_NAME", "") is None
    return env


def tables(plan: Plan) -> dict[str, dict[str, str]]:
    """What the hosts are told of each rail, by the tables' names and their own."""
    found = (entry for entry in plan.objects if entry.name.startswith("host-addresses-"))
    return {entry.name: entry.object.manifest()["data"] for entry in found}


def test_a_dry_run_only_reports_and_nothing_waits_for_it() -> None:
    wanted = {"lossless": {}, "fabricRule": True, "addresses": True}
    really, dry = macvlan(wanted), macvlan({**wanted, "dryRun": True})

    def ways(plan: Plan) -> set[tuple[str, bool]]:
        planned = (
            entry
            for entry in (*plan.applied("host-preparation"), *plan.applied("nic-addresses"))
            if entry.object.kind == "DaemonSet"
        )
        return {(container(plan, entry.name)["command"][-1].split(" ")[6], entry.awaited) for entry in planned}

    assert ways(really) == {("configure", True)}
    assert ways(dry) == {("report", False)}


def test_every_node_finds_all_tables_under_the_numbers_of_their_rails() -> None:
    plan = macvlan({"addresses": True})
    mounts = {entry["mountPath"]: entry["name"] for entry in container(plan, "nic-addresses")["volumeMounts"]}
    template = daemons(plan)["nic-addresses"]["spec"]["template"]["spec"]
    sources = {entry["name"]: entry["configMap"]["name"] for entry in template["volumes"] if "configMap" in entry}
    folder = told(plan, "nic-addresses")["ADDRESSES"]

    # The script sees the host's root alone.
    assert [sources[mounts[f"/host{folder}/{rail:02d}"]] for rail in range(8)] == list(tables(plan))
