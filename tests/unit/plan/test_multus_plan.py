"""Multus where no operator brings it: that its parts find each other. The rest is in rows/daemons.yaml."""

from __future__ import annotations

import json
from typing import Any

from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedObject


def planned(plan: Plan, kind: str) -> PlannedObject:
    (found,) = [entry for entry in plan.applied("multus", "multus-daemon") if entry.object.kind == kind]
    return found


def manifest(plan: Plan, kind: str) -> dict[str, Any]:
    return planned(plan, kind).object.manifest()


def pods(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = manifest(plan, "DaemonSet")["spec"]["template"]["spec"]
    return found


def test_nodes_of_digitalocean_in_a_cluster_that_exists_get_it_as_well() -> None:
    changes: Changes = {
        "cluster.pools[0].shape": "gpu-h200x8-1128gb-fabric-contracted",
        "fabric": {"manager": "doks"},
    }
    plan = plan_of("host-device", changes)

    assert plan.applied("multus", "multus-daemon") == plan_of("doks-h200").applied("multus", "multus-daemon")
    assert (plan.release("gpu-operator"), plan.release("network-operator")) == (None, None)


def test_the_daemon_finds_its_configuration_and_makes_its_network_of_the_clusters_own() -> None:
    plan = plan_of("doks-h200")
    template, files = pods(plan), manifest(plan, "ConfigMap")
    (volume,) = [entry for entry in template["volumes"] if "configMap" in entry]
    (daemon,) = template["containers"]
    (mount,) = [entry for entry in daemon["volumeMounts"] if entry["name"] == volume["name"]]
    configuration = json.loads(files["data"]["daemon-config.json"])

    assert volume["configMap"]["name"] == files["metadata"]["name"]
    assert mount["mountPath"] == "/etc/cni/net.d/multus.d"
    assert configuration["multusConfigFile"] == "auto"
    mounted = {entry["mountPath"] for entry in daemon["volumeMounts"]}
    assert {configuration["chrootDir"], configuration["cniConfigDir"], configuration["multusAutoconfigDir"]} <= mounted
    assert configuration["socketDir"].startswith("/host/run/")


def test_its_account_may_do_what_its_work_needs_and_is_the_one_that_the_pods_have() -> None:
    plan = plan_of("doks-h200")
    account, binding = manifest(plan, "ServiceAccount")["metadata"], manifest(plan, "ClusterRoleBinding")

    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    ]
    assert binding["roleRef"]["name"] == manifest(plan, "ClusterRole")["metadata"]["name"]
    assert pods(plan)["serviceAccountName"] == account["name"]
    rules = manifest(plan, "ClusterRole")["rules"]
    assert {"apiGroups": ["k8s.cni.cncf.io"], "resources": ["*"], "verbs": ["*"]} in rules
    assert not [rule for rule in rules if "*" in rule["apiGroups"] or "secrets" in rule["resources"]]
