"""Every mode of Spiderpool, whole: from its stack file to a pod that is scheduled, and back to nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from driver import DEFINITIONS, PODS, Sandbox, certificate_data, until
from test_models import assert_it_is_scheduled, assert_it_stays_and_goes, gpu_nodes, job_of, networks

from gpu_fabric.k8s.names import DEFAULT_NETWORK_ANNOTATION, NETWORKS_ANNOTATION
from sandbox.kubernetes_api import ApiError, Object
from sandbox.nodes import NIC_ADDRESSES_ANNOTATION, RDMA_MODE_ANNOTATION, desired_nodes, reconcile_nodes
from tests.bench.pools import stack_of

pytestmark = pytest.mark.sandbox

POOLS = "/apis/spiderpool.spidernet.io/v2beta1/spiderippools"
NODE_POLICIES = "/apis/sriovnetwork.openshift.io/v1/namespaces/spiderpool/sriovnetworknodepolicies"
OPERATOR_CONFIG = "/apis/sriovnetwork.openshift.io/v1/namespaces/spiderpool/sriovoperatorconfigs/default"
# The Deployment, its Service and its webhook configurations; the Secret with their certificate.
CONTROLLER, SECRET = "spiderpool-controller", "spiderpool-controller-server-certs"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"


def assert_nothing_of_spiderpool_is_left(sandbox: Sandbox) -> None:
    """No definition, so no object; no webhook that would refuse pods; the namespace went with the rest."""
    kinds = [entry["spec"]["group"] for entry in sandbox.items(DEFINITIONS)]
    assert "spiderpool.spidernet.io" not in kinds
    for sort in ("mutating", "validating"):
        assert sandbox.items(WEBHOOKS.format(sort)) == []


def refusal_of_a_policy(sandbox: Sandbox) -> str:
    """What the API server answers to a change of a node policy of the SR-IOV operator's, which it does not keep."""
    policy = sandbox.items(NODE_POLICIES)[0]
    try:
        path = f"{NODE_POLICIES}/{policy['metadata']['name']}?dryRun=All"
        sandbox.api.patch(path, {"spec": {"numVfs": policy["spec"]["numVfs"] + 1}})
    except ApiError as error:
        return str(error)
    return ""


def assert_policies_need_the_webhooks_pod_or_its_switch(sandbox: Sandbox) -> None:
    """Without a node of the control plane, as in a cloud, the webhook refuses policies until it is switched off."""
    more = {**sandbox.items(NODE_POLICIES)[0], "metadata": {"name": "one-more", "namespace": "spiderpool"}}
    with pytest.raises(ApiError, match=r"is overlapped with existing policy rail-0"):
        sandbox.api.post(NODE_POLICIES, more)

    def role(value: str | None) -> None:
        labels = {"node-role.kubernetes.io/control-plane": value}
        sandbox.api.patch("/api/v1/nodes/system-0", {"metadata": {"labels": labels}})

    def switch(*, is_on: bool) -> None:
        sandbox.api.patch(OPERATOR_CONFIG, {"spec": {"enableOperatorWebhook": is_on}})

    said = "failed calling webhook"
    assert refusal_of_a_policy(sandbox) == ""
    try:
        role(None)
        until(lambda: said in refusal_of_a_policy(sandbox), "policies are refused")
        with pytest.raises(ApiError, match=said):
            switch(is_on=False)
        role("")
        until(lambda: refusal_of_a_policy(sandbox) == "", "with a pod of the webhook they are taken again")
        switch(is_on=False)
        role(None)
        until(lambda: refusal_of_a_policy(sandbox) == "", "without the webhook they are taken")
    finally:
        # Refused as well is what the garbage collector writes to a policy that is being deleted.
        role("")
    switch(is_on=True)
    until(lambda: refusal_of_a_policy(sandbox) == "", "with the webhook on they are taken")


def assert_an_expired_certificate_refuses_pools_until_it_is_renewed(sandbox: Sandbox) -> None:
    """As with a certificate of one's own (`tls.method: provided`): nothing but its Secret and authority is renewed."""

    def serve(data: dict[str, str]) -> None:
        sandbox.api.patch(f"/api/v1/namespaces/spiderpool/secrets/{SECRET}", {"data": data})
        for sort in ("mutating", "validating"):
            path = f"{WEBHOOKS.format(sort)}/{CONTROLLER}"
            webhooks = sandbox.api.get(path)["webhooks"]
            for webhook in webhooks:
                webhook["clientConfig"]["caBundle"] = data["ca.crt"]
            sandbox.api.patch(path, {"webhooks": webhooks})

    def refusal() -> str:
        pool = {**sandbox.items(POOLS)[0], "metadata": {"name": "one-more"}}
        pool["spec"] = {"subnet": "10.99.0.0/24", "ips": ["10.99.0.1-10.99.0.9"]}
        try:
            sandbox.api.post(f"{POOLS}?dryRun=All", pool)
        except ApiError as error:
            return str(error)
        return ""

    assert refusal() == ""
    serve(certificate_data(CONTROLLER, "spiderpool", expired=True))
    until(lambda: "certificate has expired" in refusal(), "pools are refused, and the reason is told")
    serve(certificate_data(CONTROLLER, "spiderpool"))
    until(lambda: refusal() == "", "pools are taken again")


def has_pools(sandbox: Sandbox) -> bool:
    """Whether a pool exists; while the API server begins to serve the kind, it refuses to list it."""
    try:
        return bool(sandbox.items(POOLS))
    except ApiError:
        return False


def leave_webhook(sandbox: Sandbox) -> None:
    """Register what an SR-IOV operator leaves that registers its webhook once more while it is uninstalled."""
    service = {"name": "operator-webhook-service", "namespace": "spiderpool", "path": "/validating-custom-resource"}
    rule = {"apiGroups": ["sriovnetwork.openshift.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
    webhook = {
        "name": "operator-webhook.sriovnetwork.openshift.io",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": service},
        "rules": [{**rule, "resources": ["sriovnetworknodepolicies", "sriovoperatorconfigs"]}],
    }
    kind, metadata = "ValidatingWebhookConfiguration", {"name": "sriov-operator-webhook-config"}
    left = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "webhooks": [webhook]}
    sandbox.api.post(WEBHOOKS.format("validating"), left)


def offered(sandbox: Sandbox, rails: list[str], each: int) -> None:
    """Every GPU node offers so many of every rail's resource."""
    nodes = gpu_nodes(sandbox)
    for rail in rails:
        wanted = dict.fromkeys(nodes, str(each))
        until(partial(_offers, sandbox, rail, wanted), f"every node offers {each} {rail}")


def _offers(sandbox: Sandbox, resource: str, wanted: dict[str, str]) -> bool:
    # Spiderpool's shared device plug-in runs on nodes without the NICs, too, and offers none there.
    offered = {node: amount for node, amount in sandbox.allocatable(resource).items() if amount != "0"}
    return offered == wanted


def resources_of(job: Object) -> dict[str, str]:
    """The resources of a job's rails."""
    limits: dict[str, str] = job["spec"]["containers"][0]["resources"]["limits"]
    return {name: amount for name, amount in limits.items() if name.startswith("spidernet.io/")}


def test_the_guides_shared_fabric_comes_up_with_its_names_and_addresses(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-macvlan")
    sandbox.up()
    rails = [f"spidernet.io/shared_cx5_gpu{gpu}" for gpu in range(1, 9)]
    offered(sandbox, rails, 100)
    pools = {entry["spec"]["subnet"]: entry["spec"] for entry in sandbox.items(POOLS)}
    assert list(pools) == [f"172.16.{third}.0/24" for third in range(11, 19)]
    for third in range(11, 19):
        pool = pools[f"172.16.{third}.0/24"]
        assert (pool["gateway"], pool["ips"]) == (f"172.16.{third}.254", [f"172.16.{third}.1-172.16.{third}.200"])
    job = job_of(sandbox)
    annotations = job["metadata"]["annotations"]
    names = [entry["name"] for entry in json.loads(annotations[NETWORKS_ANNOTATION])]
    # its own first interface, and one a rail
    assert annotations[DEFAULT_NETWORK_ANNOTATION] == "kube-system/calico"
    assert names == [f"gpu{gpu}-macvlan" for gpu in range(1, 9)]
    assert set(names) <= networks(sandbox).keys()
    assert resources_of(job) == dict.fromkeys(rails, "1")
    nodes = {entry["metadata"]["name"]: entry["metadata"]["annotations"] for entry in sandbox.items("/api/v1/nodes")}
    first = json.loads(nodes["worker1"][NIC_ADDRESSES_ANNOTATION])[0]
    assert first == {"interface": "enp11s0f0np0", "address": "172.16.11.201/24", "gateway": "172.16.11.254"}
    assert_it_is_scheduled(sandbox, job)
    assert_an_expired_certificate_refuses_pools_until_it_is_renewed(sandbox)
    assert_it_stays_and_goes(sandbox)
    assert_nothing_of_spiderpool_is_left(sandbox)


def test_amd_nodes_with_broadcom_nics_share_them_by_macvlan(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("mi300x-macvlan")
    sandbox.up()
    rails = [f"spidernet.io/rail_{rail:02d}" for rail in range(8)]
    offered(sandbox, rails, 1)
    job = job_of(sandbox)
    limits = job["spec"]["containers"][0]["resources"]["limits"]
    assert limits["amd.com/gpu"] == "8"
    assert resources_of(job) == dict.fromkeys(rails, "1")
    assert_it_is_scheduled(sandbox, job)
    assert_it_stays_and_goes(sandbox)
    assert_nothing_of_spiderpool_is_left(sandbox)


def test_exclusive_subnets_come_up_with_a_pool_for_every_node_and_rail(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-sriov")
    sandbox.up()
    rails = [f"spidernet.io/rail_{rail:02d}" for rail in range(8)]
    offered(sandbox, rails, 12)
    pools = {entry["metadata"]["name"]: entry["spec"] for entry in sandbox.items(POOLS)}
    assert len(pools) == 64
    last = pools["rail-07-node-0007"]
    assert (last["subnet"], last["gateway"], last["ips"], last["nodeName"]) == (
        "172.17.7.224/27",
        "172.17.7.225",
        ["172.17.7.227-172.17.7.254"],
        ["node8"],
    )
    modes = {
        entry["metadata"]["annotations"].get(RDMA_MODE_ANNOTATION)
        for entry in sandbox.items("/api/v1/nodes")
        if entry["metadata"]["name"].startswith("node")
    }
    assert modes == {"exclusive"}
    job = job_of(sandbox)
    assert resources_of(job) == dict.fromkeys(rails, "1")
    assert_it_is_scheduled(sandbox, job)
    assert_it_stays_and_goes(sandbox)
    assert_nothing_of_spiderpool_is_left(sandbox)


def test_infiniband_pods_get_all_networks_by_one_annotation(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-ib")
    sandbox.run("up", *sandbox.options)
    leave_webhook(sandbox)
    sandbox.up()
    rails = [f"spidernet.io/rail_{rail:02d}" for rail in range(8)]
    offered(sandbox, rails, 8)
    assert_policies_need_the_webhooks_pod_or_its_switch(sandbox)
    assert {entry["spec"]["subnet"] for entry in sandbox.items(POOLS)} == {"172.17.0.0/16"}
    job = job_of(sandbox)
    assert NETWORKS_ANNOTATION not in job["metadata"]["annotations"]
    # a pod that only says the word: the webhook gives it what the contract's own template has, too
    limits = job["spec"]["containers"][0]["resources"]
    for kind in ("limits", "requests"):
        limits[kind] = {name: amount for name, amount in limits[kind].items() if name not in rails}
    made = sandbox.api.post(PODS, job)
    assert made["metadata"]["annotations"][NETWORKS_ANNOTATION] == ",".join(
        f"spiderpool/rail-{rail:02d}" for rail in range(8)
    )
    assert resources_of(made) == dict.fromkeys(rails, "1")
    until(lambda: sandbox.api.get(f"{PODS}/job")["status"].get("phase") == "Running", "the job runs")
    sandbox.api.delete(f"{PODS}/job?gracePeriodSeconds=0")
    until(lambda: not sandbox.items(PODS), "the job is gone")
    assert_it_is_scheduled(sandbox, job_of(sandbox))
    assert_it_stays_and_goes(sandbox)
    assert_nothing_of_spiderpool_is_left(sandbox)


def test_ip_over_infiniband_comes_up_without_an_rdma_resource(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-ipoib")
    sandbox.up()
    job = job_of(sandbox)
    assert resources_of(job) == {}
    assert len(json.loads(job["metadata"]["annotations"][NETWORKS_ANNOTATION])) == 8
    assert_it_is_scheduled(sandbox, job)
    assert_it_stays_and_goes(sandbox)
    assert_nothing_of_spiderpool_is_left(sandbox)


def test_an_up_and_a_destroy_during_which_the_controller_is_killed_end_well(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-ipoib")
    sandbox.run("up", *sandbox.options)
    running = sandbox.start("pulumi", "up", *sandbox.options)
    until(lambda: has_pools(sandbox), "the first pools exist", 120)
    sandbox.kill_controller("spiderpool-controller")
    running.wait(timeout=240)
    # The webhooks of a controller that is away refuse what comes then; another run continues.
    sandbox.up()
    assert f"{sandbox.counted} unchanged" in sandbox.up()
    before = len(sandbox.items(POOLS))
    running = sandbox.start("pulumi", "destroy", *sandbox.options)
    until(lambda: len(sandbox.items(POOLS)) < before, "the first pools are deleted", 120)
    sandbox.kill_controller("spiderpool-controller")
    running.wait(timeout=240)
    sandbox.run("pulumi", "destroy", *sandbox.options)
    assert_nothing_of_spiderpool_is_left(sandbox)


def test_one_node_more_is_eight_pools_more_and_nothing_else(
    trying: Callable[[str], Sandbox], capfd: pytest.CaptureFixture[str]
) -> None:
    sandbox = trying("spiderpool-sriov")
    sandbox.run("up", *sandbox.options)
    before = stack_of(32, sandbox.home)
    reconcile_nodes(sandbox.api, desired_nodes(before.spec))
    assert sandbox.engine.up(before, as_json=False) == 0
    assert len(sandbox.items(POOLS)) == 256
    capfd.readouterr()
    assert sandbox.engine.preview(stack_of(33, sandbox.home), as_json=True) == 0
    changed = [step for step in json.loads(capfd.readouterr().out)["steps"] if step["op"] != "same"]
    assert [step["op"] for step in changed] == ["update"] * 8
    differences = sorted(path for step in changed for path in step["detailedDiff"])
    # what else comes with a node is the address of each of its own NICs
    assert differences == sorted(
        path
        for rail in range(8)
        for path in (
            f'objects.ConfigMap["host-addresses-rail-{rail:02d}"].data.node33',
            f'objects.SpiderIPPool["rail-{rail:02d}-node-0032"]',
        )
    )
    assert {kind["kind"] for step in changed for kind in step["detailedDiff"].values()} == {"add"}
