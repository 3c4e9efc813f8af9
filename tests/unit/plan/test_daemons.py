"""DaemonSets of the stack whose parts must agree; each by itself is in rows/daemons.yaml and host_preparation.yaml."""

import json
import re
from importlib import import_module
from typing import Any

import pytest
from changes import Changes
from committed_stacks import folder_of
from planned_fabrics import plan_of
from stack_plans import stack_plan

from gpu_fabric.plan import Plan

# Three named nodes with shared subnets of a rail's own.
NODES: Changes = {
    "fabric.addressing": {"supernet": "172.16.0.0/16", "prefixLength": 24, "reservedFirst": 8},
    "fabric.podsPerNic": 8,
    "cluster.pools[0].nodes": 3,
    "cluster.pools[0].nodeNames": ["gpu-0", "gpu-1", "gpu-2"],
}


def macvlan(wanted: dict[str, Any]) -> Plan:
    return plan_of("spiderpool-macvlan", {**NODES, "fabric.hostPreparation": wanted})


def pods(plan: Plan, *steps: str) -> list[tuple[dict[str, Any], bool]]:
    """The pods of the steps' DaemonSets, and whether they are waited for."""
    found = (entry for entry in plan.applied(*steps) if entry.object.kind == "DaemonSet")
    return [(entry.object.manifest()["spec"]["template"]["spec"], entry.awaited) for entry in found]


def test_a_dry_run_only_reports_and_nothing_waits_for_it() -> None:
    wanted = {"lossless": {}, "fabricRule": True, "addresses": True}
    for more, said in (({}, ("configure", True)), ({"dryRun": True}, ("report", False))):
        found = pods(macvlan({**wanted, **more}), "host-preparation", "nic-addresses")
        assert {(pod["containers"][0]["command"][-1].split(" ")[6], awaited) for pod, awaited in found} == {said}


def test_every_node_finds_all_tables_under_the_numbers_of_their_rails() -> None:
    plan = macvlan({"addresses": True})
    ((pod, _),) = pods(plan, "nic-addresses")
    (container,) = pod["containers"]
    mounts = {entry["mountPath"]: entry["name"] for entry in container["volumeMounts"]}
    sources = {entry["name"]: entry["configMap"]["name"] for entry in pod["volumes"] if "configMap" in entry}
    folder = next(entry["value"] for entry in container["env"] if entry["name"] == "ADDRESSES")
    tables = [entry.name for entry in plan.objects if entry.name.startswith("host-addresses-")]

    # The script sees the host's root alone.
    assert [sources[mounts[f"/host{folder}/{rail:02d}"]] for rail in range(8)] == tables


def test_another_script_is_another_config_map_so_that_the_pods_start_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def name(plan: Plan) -> str:
        ((pod, _),) = pods(plan, "virtual-functions")
        return next(str(one["configMap"]["name"]) for one in pod["volumes"] if one["name"] == "script")

    before = name(plan_of("guide-23-10"))
    monkeypatch.setattr(import_module("gpu_fabric.plan.host.daemons"), "script", lambda _: "true\n")
    after = name(stack_plan("guide-23-10", folder_of("guide-23-10")))

    assert before != after
    assert all(re.fullmatch(r"virtual-functions-[0-9a-f]{8}", one) for one in (before, after))


def test_the_daemon_finds_its_configuration_and_makes_its_network_of_the_clusters_own() -> None:
    found = {
        entry.object.kind: entry.object.manifest() for entry in plan_of("doks-h200").applied("multus", "multus-daemon")
    }
    template, files = found["DaemonSet"]["spec"]["template"]["spec"], found["ConfigMap"]
    (volume,) = [entry for entry in template["volumes"] if "configMap" in entry]
    (daemon,) = template["containers"]
    (mount,) = [entry for entry in daemon["volumeMounts"] if entry["name"] == volume["name"]]
    configuration = json.loads(files["data"]["daemon-config.json"])

    assert mount["mountPath"] == "/etc/cni/net.d/multus.d"
    assert configuration["multusConfigFile"] == "auto"
    mounted = {entry["mountPath"] for entry in daemon["volumeMounts"]}
    assert {configuration["chrootDir"], configuration["cniConfigDir"], configuration["multusAutoconfigDir"]} <= mounted
    assert configuration["socketDir"].startswith("/host/run/")


def test_pods_that_check_the_rails_attach_like_a_jobs_and_take_one_device_of_every_rail_but_no_gpu() -> None:
    plan = plan_of("spiderpool-macvlan", {"fabric.check": {}})
    (template,) = (
        entry.object.manifest()["spec"]["template"]
        for entry in plan.applied("check")
        if entry.object.kind == "DaemonSet"
    )

    devices = {f"spidernet.io/rail_{rail:02d}": "1" for rail in range(8)}
    assert template["metadata"]["annotations"] == plan.workload.annotations
    assert template["spec"]["containers"][0]["resources"] == {"requests": devices, "limits": devices}
    assert plan.workload.resources == {"nvidia.com/gpu": "8", **devices}
