"""Kueue's kinds, and the Deployment: what the API server would refuse is refused before."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.apps import Deployment
from gpu_fabric.k8s.kueue import ClusterQueueSpec, ResourceFlavorSpec, TopologySpec

HOSTNAME = "kubernetes.io/hostname"


def levels(*labels: str) -> dict[str, Any]:
    return {"levels": [{"nodeLabel": label} for label in labels]}


def group(*names: str, quotas: tuple[str, ...] | None = None) -> dict[str, Any]:
    resources = [{"name": name, "nominalQuota": "1"} for name in (quotas or names)]
    return {"resourceGroups": [{"coveredResources": names, "flavors": [{"name": "gpus", "resources": resources}]}]}


def deployment(labels: dict[str, str]) -> dict[str, Any]:
    pod = {"metadata": {"labels": {"app": "a", "tier": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    return {"metadata": {"name": "a", "namespace": "b"}, "spec": spec}


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (("a", "a"), "a label is for one level only"),
        ((HOSTNAME, "a"), "is the lowest level"),
        ((), "at least 1 item"),
        (tuple(f"level-{number}" for number in range(17)), "at most 16 items"),
    ],
)
def test_levels_that_kueue_would_refuse_are_refused(labels: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        TopologySpec.model_validate(levels(*labels))


def test_a_flavor_with_a_topology_says_which_nodes_it_means() -> None:
    with pytest.raises(ValidationError, match="needs nodeLabels"):
        ResourceFlavorSpec.model_validate({"topologyName": "rdma"})


@pytest.mark.parametrize("quotas", [("cpu",), ("memory", "cpu"), ("cpu", "memory", "pods")])
def test_a_flavor_has_a_quota_of_each_covered_resource_in_their_order(quotas: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError, match="a quota of each covered resource"):
        ClusterQueueSpec.model_validate(group("cpu", "memory", quotas=quotas))


@pytest.mark.parametrize("labels", [{}, {"app": "other"}, {"app": "a", "name": "c"}])
def test_a_deployment_selects_its_own_pods(labels: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match=r"selector\.matchLabels"):
        Deployment.model_validate(deployment(labels))
