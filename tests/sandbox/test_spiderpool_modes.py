"""Spiderpool's webhooks and its controller at work: networks by one annotation, and a controller that is killed."""

from __future__ import annotations

from collections.abc import Callable

from driver import PODS, Sandbox, until
from test_models import WEBHOOKS, assert_a_job_runs, assert_it_is_scheduled, assert_it_stays_and_goes

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from sandbox.kubernetes_api import ApiError

POOLS = "/apis/spiderpool.spidernet.io/v2beta1/spiderippools"
RAILS = [f"spidernet.io/rail_{rail:02d}" for rail in range(8)]


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


def test_infiniband_pods_get_all_networks_by_one_annotation(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-ib")
    sandbox.run("up", *sandbox.options)
    leave_webhook(sandbox)
    sandbox.up()
    until(lambda: all(sandbox.allocatable(rail) for rail in RAILS), "nodes offer every rail")
    job = sandbox.pod("job")
    assert NETWORKS_ANNOTATION not in job["metadata"]["annotations"]
    # a pod that only says the word: the webhook gives it what the contract's own template has, too
    resources = job["spec"]["containers"][0]["resources"]
    for kind in ("limits", "requests"):
        resources[kind] = {name: amount for name, amount in resources[kind].items() if name not in RAILS}
    sandbox.run_pod(job)
    made = sandbox.api.get(f"{PODS}/job")
    assert made["metadata"]["annotations"][NETWORKS_ANNOTATION] == ",".join(
        f"spiderpool/rail-{rail:02d}" for rail in range(8)
    )
    limits = made["spec"]["containers"][0]["resources"]["limits"]
    assert {name: limits[name] for name in RAILS} == dict.fromkeys(RAILS, "1")
    sandbox.remove_pods("job")
    assert_it_is_scheduled(sandbox, sandbox.pod("job"))
    assert_it_stays_and_goes(sandbox)


def test_an_up_and_a_destroy_during_which_the_controller_is_killed_end_well(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-ipoib")
    sandbox.run("up", *sandbox.options)
    running = sandbox.start("pulumi", "up", *sandbox.options)
    until(lambda: has_pools(sandbox), "the first pools exist")
    sandbox.kill_controller("spiderpool-controller")
    running.wait()
    # The webhooks of a controller that is away refuse what comes then; another run continues.
    sandbox.up()
    assert f"{sandbox.counted} unchanged" in sandbox.up()
    # IP over InfiniBand has no RDMA resource.
    assert_a_job_runs(sandbox, "nvidia.com/gpu", 8)
    before = len(sandbox.items(POOLS))
    running = sandbox.start("pulumi", "destroy", *sandbox.options)
    until(lambda: len(sandbox.items(POOLS)) < before, "the first pools are deleted")
    sandbox.kill_controller("spiderpool-controller")
    running.wait()
    sandbox.run("pulumi", "destroy", *sandbox.options)
    assert sandbox.items(WEBHOOKS.format("validating")) == sandbox.items(WEBHOOKS.format("mutating")) == []
