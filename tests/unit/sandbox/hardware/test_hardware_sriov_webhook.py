"""The webhook of an SR-IOV operator, which refuses every policy as long as none of its pods answers."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.hardware.sriov_operator import daemon_sets, refusing_webhook

Object = dict[str, Any]

OPERATOR: Object = {"spec": {"template": {"spec": {"containers": [{"name": "operator"}]}}}}


def config(is_on: bool) -> Object:
    metadata = {"name": "default", "namespace": "spiderpool", "uid": "u"}
    spec = {"enableOperatorWebhook": is_on}
    return {"apiVersion": "sriovnetwork.openshift.io/v1", "kind": "SriovOperatorConfig"} | {
        "metadata": metadata,
        "spec": spec,
    }


def server(ready: int, namespace: str = "spiderpool") -> Object:
    return {"metadata": {"name": "operator-webhook", "namespace": namespace}, "status": {"numberReady": ready}}


def test_its_pods_run_on_nodes_of_the_control_plane_alone_and_only_where_it_is_on() -> None:
    on, off = ({item["metadata"]["name"]: item for item in daemon_sets(OPERATOR, config(is_on))} for is_on in (1, 0))

    assert "operator-webhook" not in off
    affinity = on["operator-webhook"]["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchExpressions"][0]["key"].partition("/")[2] for term in terms] == ["master", "control-plane"]


@pytest.mark.parametrize("servers", [[], [server(0)], [server(1, "nvidia-network-operator")]])
def test_without_a_pod_of_its_own_every_policy_is_refused(servers: list[Object]) -> None:
    found = refusing_webhook(config(True), servers)

    assert found is not None
    (webhook,) = found["webhooks"]
    assert (webhook["failurePolicy"], webhook["rules"][0]["resources"]) == ("Fail", ["sriovnetworknodepolicies"])


def test_with_a_pod_or_switched_off_it_is_in_nobodys_way() -> None:
    assert refusing_webhook(config(True), [server(1)]) is None
    assert refusing_webhook(config(False), []) is None
