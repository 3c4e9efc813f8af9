"""What is played of ComputeDomains on nodes: labels, daemons, and when a pod with a channel starts."""

from typing import Any

import pytest
from each_case import each

from sandbox.hardware.compute_domains import (
    CLIQUE_LABEL,
    DOMAIN_LABEL,
    Channel,
    Domains,
    channel_of,
    claims_of,
    clique_of,
)

Object = dict[str, Any]

DRIVER = "compute-domain.nvidia.com"
CHANNEL = Channel("gpu-0", "uid-1", "training")
CLIQUE = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1"
NOT_READY = "current node not ready in ComputeDomain"


def claim(kind: str = "ComputeDomainChannelConfig", driver: str = DRIVER, users: int = 1, **config: Any) -> Object:
    """A claim as the scheduler leaves it, of the controller's template."""
    opaque = {"driver": driver, "parameters": {"kind": kind, "domainID": "uid-1", "allocationMode": "Single"}}
    row = {"request": "channel", "driver": driver, "pool": "gpu-0", "device": "channel-0"}
    devices = {"results": [row], "config": [{"requests": ["channel"], "opaque": opaque, **config}]}
    used = {"resource": "pods", "name": "job", "uid": "p"}
    status = {"allocation": {"devices": devices}, "reservedFor": [used] * users}
    return {"metadata": {"name": "job-nvlink", "namespace": "training"}, "status": status}


@each(
    ("item", "channel"),
    [
        (claim(), CHANNEL),
        (claim(requests=[]), CHANNEL),
        (claim(requests=["other"]), None),
        (claim(kind="ComputeDomainDaemonConfig"), None),
        (claim(driver="gpu.nvidia.com"), None),
        (claim(users=0), None),
        ({"metadata": {"name": "new", "namespace": "training"}}, None),
    ],
)
def test_a_channel_is_told_from_other_devices_by_its_configuration(item: Object, channel: Channel | None) -> None:
    assert channel_of(item) == channel


def domains(label: str | None = "uid-1", status: Object | None = None, *cliques: Object) -> Domains:
    """Two nodes, the first with the label, and two domains in one namespace."""
    labels = {DOMAIN_LABEL: label} if label else {}
    nodes = {name: {"metadata": {"name": name, "labels": own}} for name, own in (("gpu-0", labels), ("gpu-1", {}))}
    domain = {"metadata": {"namespace": "training"}, "status": status or {}}
    return Domains(nodes, {"uid-1": domain, "uid-2": domain}, cliques)


def entered(uid: str, **daemons: str) -> Object:
    listed = [{"nodeName": node.replace("_", "-"), "status": status} for node, status in daemons.items()]
    return {"metadata": {"labels": {DOMAIN_LABEL: uid}}, "daemons": listed}


@each(
    ("known", "channel", "lacks"),
    [
        (domains("uid-1", None, entered("uid-1", gpu_0="Ready")), CHANNEL, ""),
        (domains("uid-1", None, entered("uid-1", gpu_0="NotReady")), CHANNEL, NOT_READY),
        (domains("uid-1", None, entered("uid-1", gpu_1="Ready")), CHANNEL, NOT_READY),
        (domains("uid-1", None, entered("uid-2", gpu_0="Ready")), CHANNEL, NOT_READY),
        (domains(), CHANNEL, NOT_READY),
        (domains(None, None, entered("uid-1", gpu_0="Ready")), CHANNEL, NOT_READY),
        # GPUs without a clique: the controller lists the node
        (domains("uid-1", {"nodes": [{"name": "gpu-0", "status": "Ready"}]}), CHANNEL, ""),
        (domains("uid-2", None, entered("uid-1", gpu_0="Ready")), CHANNEL,
            "label already exists for a different ComputeDomain"),
        (domains(), CHANNEL._replace(domain="gone"), "ComputeDomain not found: gone"),
        (domains(), CHANNEL._replace(namespace="default"),
            "the ResourceClaim's namespace is different than the ComputeDomain's namespace"),
    ],
)  # fmt: skip
def test_a_channel_is_prepared_once_the_nodes_own_daemon_is_ready(known: Domains, channel: Channel, lacks: str) -> None:
    assert known.lacks(channel) == lacks


@each(
    ("label", "channels", "changes"),
    [
        (None, [CHANNEL], {"gpu-0": "uid-1"}),
        ("uid-1", [CHANNEL], {}),
        ("uid-1", [], {"gpu-0": None}),
        # the label of another domain stays as long as a channel of that is claimed, and is taken off before ours comes
        ("uid-2", [CHANNEL._replace(domain="uid-2"), CHANNEL], {}),
        ("uid-2", [CHANNEL], {"gpu-0": None}),
        (None, [CHANNEL._replace(namespace="default"), CHANNEL._replace(domain="gone")], {}),
        (None, [CHANNEL._replace(node="gone")], {}),
    ],
)
def test_a_node_has_the_label_of_the_domain_whose_channel_is_claimed_there(
    label: str | None, channels: list[Channel], changes: dict[str, str | None]
) -> None:
    assert domains(label).labels(channels) == changes


def daemon(number: int, ready: str = "True") -> Object:
    status = {"podIP": f"10.0.0.{number}", "conditions": [{"type": "Ready", "status": ready}]}
    metadata = {"name": f"daemon-{number}", "uid": f"u{number}"}
    return {"metadata": metadata, "spec": {"nodeName": f"gpu-{number}"}, "status": status}


def test_daemons_enter_a_clique_at_the_lowest_free_index_which_they_keep() -> None:
    name = f"uid-1.{CLIQUE}"
    made = clique_of(name, None, [daemon(2), daemon(1, "False")], "driver")
    assert made["metadata"]["labels"] == {DOMAIN_LABEL: "uid-1", CLIQUE_LABEL: CLIQUE}
    assert made["daemons"] == [
        {"nodeName": "gpu-1", "cliqueID": CLIQUE, "index": 0, "ipAddress": "10.0.0.1", "status": "NotReady"},
        {"nodeName": "gpu-2", "cliqueID": CLIQUE, "index": 1, "ipAddress": "10.0.0.2", "status": "Ready"},
    ]
    left = clique_of(name, made, [daemon(2)], "driver")
    joined = clique_of(name, left, [daemon(2), daemon(3), daemon(4)], "driver")
    assert {entry["nodeName"]: entry["index"] for entry in joined["daemons"]} == {"gpu-2": 1, "gpu-3": 0, "gpu-4": 2}
    # Kubernetes deletes it when all of these pods are gone, and takes out those that are
    assert [owner["name"] for owner in joined["metadata"]["ownerReferences"]] == [f"daemon-{n}" for n in (2, 1, 3, 4)]
    assert clique_of(name, joined, [], "driver")["daemons"] == []


@pytest.mark.parametrize(
    ("statuses", "names"),
    [
        ([], None),
        ([{"name": "nvlink", "resourceClaimName": "job-nvlink"}], {"job-nvlink", "own"}),
        ([{"name": "nvlink"}], {"own"}),
    ],
)
def test_a_pod_waits_until_each_of_its_claims_has_a_name(statuses: list[Object], names: set[str] | None) -> None:
    listed = [{"name": "nvlink", "resourceClaimTemplateName": "rack"}, {"name": "b", "resourceClaimName": "own"}]
    assert claims_of({"spec": {"resourceClaims": listed}, "status": {"resourceClaimStatuses": statuses}}) == names
