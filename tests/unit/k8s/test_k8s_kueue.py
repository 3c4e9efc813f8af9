"""Kueue's kinds, and the Deployment: what the API server would refuse is refused before."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.apps import Deployment
from gpu_fabric.k8s.kueue import ClusterQueueSpec, ResourceFlavorSpec, TopologySpec
from gpu_fabric.k8s.mpi_operator import mpi_job_definition

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


def test_a_node_is_the_lowest_level() -> None:
    assert TopologySpec.model_validate(levels("a", HOSTNAME)).to_dict() == levels("a", HOSTNAME)


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


def test_a_deployment_may_select_by_some_of_its_pods_labels() -> None:
    found = Deployment.model_validate(deployment({"app": "a"})).manifest()

    assert found["spec"]["selector"] == {"matchLabels": {"app": "a"}}


def test_the_installed_definition_of_mpi_jobs_completes_pods_as_a_workload_does() -> None:
    (version,) = mpi_job_definition().manifest()["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    template = spec["mpiReplicaSpecs"]["additionalProperties"]["properties"]["template"]["properties"]["spec"]
    container = template["properties"]["containers"]["items"]["properties"]
    volume = template["properties"]["volumes"]["items"]["properties"]

    assert container["ports"]["items"]["properties"]["protocol"] == {"type": "string", "default": "TCP"}
    assert container["livenessProbe"]["properties"]["grpc"]["properties"]["service"]["default"] == ""
    assert volume["iscsi"]["properties"]["iscsiInterface"]["default"] == "default"
    assert {name: field["default"] for name, field in spec.items() if "default" in field} == {
        "launcherCreationPolicy": "AtStartup",
        "mpiImplementation": "OpenMPI",
        "runLauncherAsWorker": False,
        "slotsPerWorker": 1,
        "sshAuthMountPath": "/root/.ssh",
    }
    # Nothing is left open: what a schema does not declare, it does not complete.
    assert "x-kubernetes-preserve-unknown-fields" not in str(version)
