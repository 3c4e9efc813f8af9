"""Multus where no operator brings it: that its parts find each other. The rest is in rows/daemons.yaml."""

from __future__ import annotations

import json
from typing import Any

from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.k8s.cni import network_kind_definition
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedObject

# As the maker's own manifest for the thick form has them.
FOLDERS_OF_THE_HOST = {
    "/host/etc/cni/net.d": "/etc/cni/net.d",
    "/opt/cni/bin": "/opt/cni/bin",
    "/host/run": "/run",
    "/var/lib/cni/multus": "/var/lib/cni/multus",
    "/var/lib/kubelet": "/var/lib/kubelet",
    "/run/k8s.cni.cncf.io": "/run/k8s.cni.cncf.io",
    "/run/netns": "/run/netns",
    "/hostroot": "/",
    "/etc/cni/multus/net.d": "/etc/cni/multus/net.d",
}


def planned(plan: Plan, kind: str) -> PlannedObject:
    (found,) = [entry for entry in plan.applied("multus", "multus-daemon") if entry.object.kind == kind]
    return found


def manifest(plan: Plan, kind: str) -> dict[str, Any]:
    return planned(plan, kind).object.manifest()


def pods(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = manifest(plan, "DaemonSet")["spec"]["template"]["spec"]
    return found


def test_a_cluster_that_has_one_gets_no_second_one_but_the_same_networks() -> None:
    plan = plan_of("doks-h200", {"cluster.installed": ["multus"]})

    assert plan.applied("multus", "multus-daemon") == ()
    assert plan.applied("networks") == plan_of("doks-h200").applied("networks")


def test_nodes_of_digitalocean_in_a_cluster_that_exists_get_it_as_well() -> None:
    changes: Changes = {
        "cluster.pools[0].shape": "gpu-h200x8-1128gb-fabric-contracted",
        "fabric": {"manager": "doks"},
    }
    plan = plan_of("host-device", changes)

    assert plan.applied("multus", "multus-daemon") == plan_of("doks-h200").applied("multus", "multus-daemon")
    assert (plan.release("gpu-operator"), plan.release("network-operator")) == (None, None)


def test_the_daemon_has_ten_times_the_memory_of_its_makers_manifest_for_certain() -> None:
    (daemon,) = pods(plan_of("doks-h200"))["containers"]

    assert daemon["resources"]["limits"] == {"memory": "512Mi"}
    assert daemon["resources"]["requests"]["memory"] == "512Mi"


def test_the_daemon_sees_the_folders_of_the_host_where_it_looks_for_them() -> None:
    template = pods(plan_of("doks-h200"))
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in template["volumes"] if "hostPath" in volume}
    (daemon,) = template["containers"]
    mounts = [mount for mount in daemon["volumeMounts"] if mount["name"] in paths]

    assert {mount["mountPath"]: paths[mount["name"]] for mount in mounts} == FOLDERS_OF_THE_HOST
    # The pods' network namespaces appear there after the daemon has started.
    assert {mount["mountPath"] for mount in mounts if mount.get("mountPropagation") == "HostToContainer"} == {
        "/var/lib/kubelet",
        "/run/netns",
        "/hostroot",
    }


def test_the_plug_in_itself_is_laid_into_the_nodes_folder_by_a_program_of_the_image_which_has_no_shell() -> None:
    template = pods(plan_of("doks-h200"))
    (installer,) = template["initContainers"]
    (mount,) = installer["volumeMounts"]
    paths = {volume["name"]: volume.get("hostPath", {}).get("path") for volume in template["volumes"]}

    assert installer["command"] == ["/usr/src/multus-cni/bin/install_multus", "-d", mount["mountPath"], "-t", "thick"]
    assert paths[mount["name"]] == "/opt/cni/bin"


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


def test_the_kind_takes_networks_of_others_that_leave_fields_out() -> None:
    (version,) = network_kind_definition().manifest()["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]

    assert "required" not in json.dumps(schema)
    assert schema["properties"]["spec"]["properties"]["config"]["type"] == "string"
