"""Virtual functions by the stack's own DaemonSet: which NICs on which nodes, and when it counts as done."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.host.daemons import script

BY_DAEMON_SET: Changes = {"fabric.virtualFunctions": "daemon-set"}


def manifests(plan: Plan, kind: str) -> list[dict[str, Any]]:
    return [entry.object.manifest() for entry in plan.applied("virtual-functions") if entry.object.kind == kind]


def pods(daemon_set: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = daemon_set["spec"]["template"]["spec"]
    return found


def environment(daemon_set: dict[str, Any]) -> dict[str, str]:
    (container,) = pods(daemon_set)["containers"]
    return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}


def only(plan: Plan) -> dict[str, Any]:
    (found,) = manifests(plan, "DaemonSet")
    return found


@pytest.mark.parametrize(
    "stack", ["oke-h100-26-4", "sriov-operator", "externally-managed", "host-device", "roce-macvlan"]
)
def test_other_makers_and_models_have_none(stack: str) -> None:
    assert plan_of(stack).applied("virtual-functions") == ()


def test_a_node_is_told_its_nics_in_rail_order_with_count_mtu_and_mode() -> None:
    told = environment(only(plan_of("sriov-per-node", BY_DAEMON_SET)))

    assert told["PCI_ADDRESSES"].split()[:4] == ["0000:0c:00.0", "0000:0c:00.1", "0000:2a:00.0", "0000:2a:00.1"]
    assert len(told["PCI_ADDRESSES"].split()) == 16
    assert (told["VFS_PER_NIC"], told["MTU"], told["RDMA_MODE"]) == ("1", "4220", "exclusive")


def test_counts_and_modes_of_the_stack_reach_the_nodes() -> None:
    changes = {**BY_DAEMON_SET, "fabric.vfsPerNic": 4, "fabric.rdmaMode": "shared"}
    told = environment(only(plan_of("sriov-dpdk", changes)))

    assert (told["VFS_PER_NIC"], told["RDMA_MODE"]) == ("4", "shared")


def test_an_mtu_that_nobody_states_or_that_infiniband_ignores_is_left_alone() -> None:
    ethernet = plan_of("sriov-dpdk", BY_DAEMON_SET)
    infiniband = plan_of("ib-sriov-pkey", BY_DAEMON_SET)

    assert [environment(only(plan))["MTU"] for plan in (ethernet, infiniband)] == ["", ""]


def test_a_rails_own_pci_address_takes_the_place_of_the_shapes() -> None:
    others: Changes = {"fabric.rails": [{"rail": 1, "pci": "0000:aa:00.0"}], "fabric.nccl": {"topology": "none"}}
    changes = {**BY_DAEMON_SET, **others}

    assert environment(only(plan_of("sriov-per-node", changes)))["PCI_ADDRESSES"].split()[1] == "0000:aa:00.0"


@pytest.mark.parametrize(
    ("stack", "changes", "pod"),
    [
        ("sriov-per-node", BY_DAEMON_SET, "nvidia-network-operator/network-operator-sriov-device-plugin"),
        ("guide-23-10", {}, "network-operator/sriov-device-plugin"),
    ],
)
def test_it_knows_the_device_plug_in_that_must_look_again(stack: str, changes: Changes, pod: str) -> None:
    assert environment(only(plan_of(stack, changes)))["PLUGIN_POD"] == pod


def test_the_script_comes_whole_in_a_config_map_that_its_pods_mount() -> None:
    plan = plan_of("guide-23-10")
    (files,) = manifests(plan, "ConfigMap")
    volumes = {volume["name"]: volume for volume in pods(only(plan))["volumes"]}

    assert files["data"] == {"virtual_functions.sh": script("virtual_functions")}
    assert files["immutable"] is True
    assert volumes["script"]["configMap"]["name"] == files["metadata"]["name"]


def test_another_script_is_another_config_map_so_that_the_pods_start_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pods(only(plan_of("guide-23-10")))["volumes"]
    module = import_module("gpu_fabric.plan.host.daemons")
    monkeypatch.setattr(module, "script", lambda _: "true\n")
    after = pods(only(plan_of("guide-23-10")))["volumes"]

    names = [
        next(volume["configMap"]["name"] for volume in volumes if volume["name"] == "script")
        for volumes in (before, after)
    ]
    assert names[0] != names[1]
    assert all(re.fullmatch(r"virtual-functions-[0-9a-f]{8}", name) for name in names)


def test_a_pod_works_in_the_hosts_own_root_and_is_ready_when_the_check_is_silent() -> None:
    template = pods(only(plan_of("guide-23-10")))
    (container,) = template["containers"]
    configure, check = container["command"][-1], container["readinessProbe"]["exec"]["command"][-1]

    assert configure == "exec chroot /host /bin/bash -s -- configure < /script/virtual_functions.sh"
    assert check == "exec chroot /host /bin/bash -s -- check < /script/virtual_functions.sh"
    assert container["securityContext"] == {"privileged": True}
    assert (template["hostNetwork"], template["hostPID"]) == (True, True)
    assert {"name": "host", "hostPath": {"path": "/", "type": "Directory"}} in template["volumes"]


def test_it_runs_on_the_gpu_nodes_in_spite_of_their_taints() -> None:
    template = pods(only(plan_of("guide-23-10", {"cluster.pools[0].taints": [{"key": "team", "value": "a"}]})))

    assert template["nodeSelector"] == {"node.kubernetes.io/instance-type": "BM.GPU.H100.8"}
    assert [toleration["key"] for toleration in template["tolerations"]] == ["team"]


def test_its_image_is_the_lines_or_the_stacks_own() -> None:
    own = plan_of("guide-23-10", {"software.hostImage": "registry.example/busybox:1"})
    images = [pods(only(plan))["containers"][0]["image"] for plan in (plan_of("guide-23-10"), own)]

    assert images == [
        "docker.io/library/busybox:1.36.1@sha256:9ae97d36d26566ff84e8893c64a6dc4fe8ca6d1144bf5b87b2b85a32def253c7",
        "registry.example/busybox:1",
    ]


def test_nodes_are_set_up_all_at_once_because_no_pod_of_a_job_depends_on_it() -> None:
    assert only(plan_of("guide-23-10"))["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "100%"},
    }


def test_every_kind_of_nodes_has_a_daemon_set_of_its_own_with_its_own_nics() -> None:
    found = {entry["metadata"]["name"]: entry for entry in manifests(plan_of("node-kinds", BY_DAEMON_SET), "DaemonSet")}

    assert {name: environment(entry)["PCI_ADDRESSES"] for name, entry in found.items()} == {
        "virtual-functions-old": "0000:18:00.0 0000:3a:00.0",
        "virtual-functions-new": "0000:0c:00.0 0000:2a:00.0",
    }
    assert {name: pods(entry)["nodeSelector"]["example.com/machine"] for name, entry in found.items()} == {
        "virtual-functions-old": "old",
        "virtual-functions-new": "new",
    }


def test_daemon_sets_of_two_kinds_never_take_each_others_pods() -> None:
    selectors = [
        entry["spec"]["selector"]["matchLabels"]
        for entry in manifests(plan_of("node-kinds", BY_DAEMON_SET), "DaemonSet")
    ]

    assert selectors[0] != selectors[1]
    assert selectors[0].keys() == selectors[1].keys()
