"""`make up` on a real control plane: what a job gets, and what it does not get by mistake."""

from __future__ import annotations

import json
from collections.abc import Callable

from driver import DEFINITIONS, STACK, Sandbox, until

from sandbox.kubernetes_api import Object

RAILS = [f"nvidia.com/rail_{rail:02d}" for rail in range(16)]


def unschedulable(sandbox: Sandbox, pod: str) -> str:
    """Why the scheduler has no node for a pod; empty as long as it has not said so."""
    conditions = sandbox.api.get(pod)["status"].get("conditions", [])
    return next((c["message"] for c in conditions if c.get("reason") == "Unschedulable"), "")


def test_a_pod_written_only_from_the_fabric_output_runs_on_a_simulated_gpu_node(stack_up: Sandbox) -> None:
    assert stack_up.run_pod(stack_up.pod("job")).startswith("gpu-")
    stack_up.remove_pods("job")


def test_every_configmap_and_network_that_the_contract_names_exists(stack_up: Sandbox) -> None:
    fabric = stack_up.outputs()["fabric"]
    asked = json.loads(fabric["annotations"]["k8s.v1.cni.cncf.io/networks"])
    networks = stack_up.items("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions")
    maps = stack_up.items("/api/v1/namespaces/default/configmaps")
    assert {entry["name"] for entry in asked} <= {network["metadata"]["name"] for network in networks}
    held = {(entry["metadata"]["name"], key) for entry in maps for key in entry["data"]}
    assert {(file["configMap"], file["key"]) for file in fabric["files"]} <= held


def test_a_pod_that_asks_for_a_seventeenth_virtual_function_stays_pending(
    stack_up: Sandbox, pods: Callable[[Object], str]
) -> None:
    greedy = stack_up.pod("greedy")
    for resources in greedy["spec"]["containers"][0]["resources"].values():
        assert sum(int(resources[rail]) for rail in RAILS) == 16
        resources[RAILS[0]] = "2"
    pod = pods(greedy)
    reason = until(lambda: unschedulable(stack_up, pod), "the scheduler gives its reason")
    assert f"Insufficient {RAILS[0]}" in reason
    assert stack_up.api.get(pod)["status"]["phase"] == "Pending"


def test_a_pod_without_the_contracts_tolerations_stays_pending(
    stack_up: Sandbox, pods: Callable[[Object], str]
) -> None:
    intolerant = stack_up.pod("intolerant")
    del intolerant["spec"]["tolerations"]
    pod = pods(intolerant)
    reason = until(lambda: unschedulable(stack_up, pod), "the scheduler gives its reason")
    assert "untolerated taint" in reason


def test_a_second_up_reports_no_changes(stack_up: Sandbox) -> None:
    printed = stack_up.up()
    assert "already up" in printed
    assert f"{stack_up.counted} unchanged" in printed
    for change in ("created", "updated", "replaced", "deleted"):
        assert change not in printed.partition("Resources:")[2].partition("Duration:")[0]


def test_up_ends_with_what_a_person_wants_to_know(stack_up: Sandbox) -> None:
    printed = stack_up.run("pulumi", "up", "-s", STACK)
    for word in ("3 x BM.GPU.H100.8", "rail-00 to rail-15", "192.168.0.0/16", "make destroy"):
        assert word in printed


def test_nothing_that_the_sandbox_prints_or_exports_holds_its_token(stack_up: Sandbox) -> None:
    kubeconfig = stack_up.home.kubeconfig.read_text()
    token = kubeconfig.partition("token:")[2].split()[0]
    printed = stack_up.up() + json.dumps(stack_up.outputs()) + stack_up.run("status")
    assert len(token) > 20
    assert token not in printed
    assert token not in stack_up.workspace.checkpoint(STACK).read_text()


def test_private_files_are_readable_by_their_owner_alone(stack_up: Sandbox) -> None:
    keys = [stack_up.home.kubeconfig, stack_up.workspace.passphrase, *stack_up.home.pki.glob("*.key")]
    assert len(keys) > 3
    assert {oct(path.stat().st_mode & 0o777) for path in keys} == {"0o600"}


def test_the_kubeconfig_of_a_stack_is_printed_as_it_is_used(stack_up: Sandbox) -> None:
    said = stack_up.run("pulumi", "kubeconfig", *stack_up.options)
    assert stack_up.home.kubeconfig.read_text().strip() in said


def test_destroy_leaves_no_namespace_release_custom_resource_or_state(stack_up: Sandbox) -> None:
    stack_up.run("pulumi", "destroy", "-s", STACK)
    namespaces = {entry["metadata"]["name"] for entry in stack_up.items("/api/v1/namespaces")}
    assert namespaces == {"default", "kube-node-lease", "kube-public", "kube-system"}
    assert [s for s in stack_up.items("/api/v1/secrets") if s["type"].startswith("helm.sh/release")] == []
    left = {
        crd["spec"]["names"]["kind"]: stack_up.items(
            f"/apis/{crd['spec']['group']}/{crd['spec']['versions'][0]['name']}/{crd['spec']['names']['plural']}"
        )
        for crd in stack_up.items(DEFINITIONS)
        if crd["spec"]["group"] != "kwok.x-k8s.io"
    }
    assert {kind: objects for kind, objects in left.items() if objects} == {}
    assert len(left) >= 5
    names = [entry["metadata"]["name"] for entry in stack_up.items("/api/v1/configmaps")]
    assert [name for name in names if name.startswith("nccl-")] == []
    until(lambda: not any(stack_up.allocatable(rail) for rail in RAILS), "no node offers a rail any more")
    assert stack_up.workspace.state(STACK) is None
