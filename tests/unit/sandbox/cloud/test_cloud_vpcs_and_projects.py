"""The simulated provider's VPCs and projects, and what a program may ask it, as a stack meets them."""

from __future__ import annotations

from typing import Any

import pytest
from cloud_engine import Engine, Failed, Invalid, Resource

VPC = {"name": "net", "region": "nyc2", "ipRange": "10.20.0.0/20"}
CLUSTER = {
    "name": "one",
    "region": "nyc2",
    "version": "1.36.1-do.0",
    "nodePool": {"name": "system", "size": "s-4vcpu-8gb", "nodeCount": 1},
}


@pytest.fixture
def vpc(engine: Engine) -> Resource:
    return engine.up("Vpc", "net", VPC)


def test_a_vpc_shows_what_was_asked_and_its_urn(engine: Engine, vpc: Resource) -> None:
    assert vpc.outputs["vpcUrn"] == f"do:vpc:{vpc.id}"
    assert vpc.outputs["ipRange"] == "10.20.0.0/20"
    assert engine.diff(vpc, VPC).paths == ()


def test_a_vpc_without_a_range_gets_a_free_one(engine: Engine) -> None:
    inputs = {"region": "nyc2"}
    one, two = (engine.up("Vpc", name, inputs) for name in ("a", "b"))
    assert one.outputs["ipRange"].endswith("/20")
    assert one.outputs["ipRange"] != two.outputs["ipRange"]
    assert engine.diff(one, inputs).paths == ()


@pytest.mark.parametrize(("name", "value"), [("region", "ams3"), ("ipRange", "10.30.0.0/20")])
def test_the_region_and_the_range_of_a_vpc_are_for_life(engine: Engine, vpc: Resource, name: str, value: str) -> None:
    assert engine.diff(vpc, {**VPC, name: value}).replaces == (name,)


def test_name_and_description_of_a_vpc_change_in_place(engine: Engine, vpc: Resource) -> None:
    changed = {**VPC, "name": "other", "description": "for GPUs"}
    assert engine.diff(vpc, changed).replaces == ()
    assert engine.update(vpc, changed).outputs["description"] == "for GPUs"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "net"}, "a VPC with the name net exists"),
        ({"region": "moon1"}, "invalid region"),
        ({"ipRange": "10.20.8.0/24"}, "overlaps with 10.20.0.0/20"),
        ({"ipRange": "10.0.0.0/15"}, "too large"),
        ({"ipRange": "10.0.0.0/29"}, "too small"),
        ({"ipRange": "8.8.8.0/24"}, "not a private range"),
        ({"name": "a_b"}, "alphanumeric"),
    ],
)
def test_the_api_refuses_a_vpc_that_cannot_be(
    engine: Engine, vpc: Resource, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(Failed, match=f"Error creating VPC: POST .*/v2/vpcs: 422 .*{message}"):
        engine.up("Vpc", "second", {"name": "second", "region": "nyc2", "ipRange": "10.40.0.0/20", **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "one"}, "a cluster with the name one exists"),
        ({"region": "moon1"}, "invalid region"),
        ({"version": "1.29.1-do.0"}, "validation error: invalid version slug"),
        ({"vpcUuid": "nowhere"}, "VPC nowhere does not exist"),
        ({"isolatedWorkers": True}, "NAT gateway"),
        ({"clusterSubnet": "10.20.0.0/16", "serviceSubnet": "10.50.0.0/19"}, "overlaps with 10.20.0.0/20"),
        ({"clusterSubnet": "10.60.0.0/16", "serviceSubnet": "10.60.0.0/19"}, "overlaps with 10.60.0.0/16"),
        ({"nodePool": {"name": "a", "size": "c-5", "nodeCount": 1}}, "invalid droplet size"),
    ],
)
def test_the_api_refuses_a_cluster_that_cannot_be(
    engine: Engine, vpc: Resource, changes: dict[str, Any], message: str
) -> None:
    engine.up("KubernetesCluster", "one", CLUSTER)
    with pytest.raises(Failed, match=f"Error creating Kubernetes cluster: POST .*: 422 .*{message}"):
        engine.up("KubernetesCluster", "two", {**CLUSTER, "name": "two", **changes})


def test_a_cluster_lies_in_a_vpc_of_its_own_region(engine: Engine, vpc: Resource) -> None:
    with pytest.raises(Failed, match="is in region nyc2, not ams3"):
        engine.up("KubernetesCluster", "two", {**CLUSTER, "region": "ams3", "vpcUuid": vpc.id})


def test_a_vpc_with_a_cluster_is_not_deleted(engine: Engine, vpc: Resource) -> None:
    engine.up("KubernetesCluster", "one", {**CLUSTER, "vpcUuid": vpc.id})
    with pytest.raises(Failed, match=r"409 .*Can not delete VPC with members"):
        engine.delete(vpc)


def test_a_vpc_is_deleted_although_its_cluster_has_only_just_gone(engine: Engine, vpc: Resource) -> None:
    cluster = engine.up("KubernetesCluster", "one", {**CLUSTER, "vpcUuid": vpc.id})
    engine.delete(cluster)
    engine.delete(vpc)
    assert engine.refresh(vpc) is None


def test_a_vpc_is_imported_by_its_id_alone(engine: Engine, vpc: Resource) -> None:
    found = engine.imported("Vpc", vpc.id)
    assert found is not None
    assert found.inputs == VPC
    assert engine.imported("Vpc", "../../token") is None


def test_a_project_has_defaults_and_knows_its_environment_in_any_case(engine: Engine) -> None:
    inputs = {"name": "training", "environment": "production"}
    project = engine.up("Project", "training", inputs)
    assert project.outputs["purpose"] == "Web Application"
    assert project.outputs["environment"] == "Production"
    assert engine.diff(project, inputs).paths == ()


@pytest.mark.parametrize("wrong", [{"name": "n" * 176}, {"environment": "Test"}, {"description": "d" * 256}])
def test_a_project_with_a_text_that_is_too_long_or_unknown_is_refused(engine: Engine, wrong: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        engine.check("Project", "training", {"name": "training", **wrong})


def test_a_deleted_project_leaves_its_cluster_to_the_default_project(engine: Engine) -> None:
    cluster = engine.up("KubernetesCluster", "one", CLUSTER)
    urn = cluster.outputs["clusterUrn"]
    project = engine.up("Project", "training", {"name": "training", "resources": [urn]})
    assert project.outputs["resources"] == [urn]
    engine.delete(project)
    [default] = engine.api.store.list("projects")
    assert (default["is_default"], default["resources"]) == (True, [urn])


def test_a_project_that_got_a_resource_meanwhile_is_not_deleted(engine: Engine) -> None:
    project = engine.up("Project", "training", {"name": "training"})
    engine.up("ProjectResources", "listed", {"project": project.id, "resources": ["do:kubernetes:one"]})
    with pytest.raises(Failed, match=r"412 .*cannot delete a project with resources"):
        engine.delete(project)


def test_resources_are_listed_under_a_project_and_taken_from_it_again(engine: Engine) -> None:
    project = engine.up("Project", "training", {"name": "training"})
    listed = engine.up("ProjectResources", "listed", {"project": project.id, "resources": ["do:kubernetes:one"]})
    assert listed.id == project.id
    more = engine.update(listed, {"project": project.id, "resources": ["do:kubernetes:two"]})
    after = engine.refresh(project)
    assert after is not None
    assert after.outputs["resources"] == ["do:kubernetes:two"]
    engine.delete(more)
    engine.delete(project)
    assert engine.refresh(more) is None


def test_a_cluster_that_is_deleted_leaves_its_project(engine: Engine) -> None:
    cluster = engine.up("KubernetesCluster", "one", CLUSTER)
    project = engine.up("Project", "p", {"name": "p", "resources": [cluster.outputs["clusterUrn"]]})
    engine.delete(cluster)
    after = engine.refresh(project)
    assert after is not None
    assert after.outputs["resources"] == []


def test_versions_are_listed_newest_first_and_by_prefix(engine: Engine) -> None:
    every = engine.ask("getKubernetesVersions")
    assert every["latestVersion"] == every["validVersions"][0] == "1.36.1-do.0"
    older = engine.ask("getKubernetesVersions", versionPrefix="1.35.")
    assert older["latestVersion"] == "1.35.6-do.0"
    assert all(version.startswith("1.35.") for version in older["validVersions"])


def test_a_cluster_is_found_by_its_name_with_fresh_credentials_each_time(engine: Engine) -> None:
    cluster = engine.up("KubernetesCluster", "one", CLUSTER)
    one, two = (engine.ask("getKubernetesCluster", name="one") for _ in range(2))
    assert one["id"] == cluster.id
    assert one["urn"] == cluster.outputs["clusterUrn"]
    assert one["nodePools"][0]["actualNodeCount"] == 1
    tokens = {answer["kubeConfigs"][0]["token"] for answer in (one, two)}
    assert len(tokens | {cluster.outputs["kubeConfigs"][0]["token"]}) == 3


def test_a_cluster_beyond_the_first_page_of_the_list_is_not_found(engine: Engine) -> None:
    for number in range(21):
        engine.up("KubernetesCluster", f"c{number}", {**CLUSTER, "name": f"c{number}"})
    assert engine.ask("getKubernetesCluster", name="c19")["name"] == "c19"
    with pytest.raises(Failed, match="Unable to find cluster with name: c20"):
        engine.ask("getKubernetesCluster", name="c20")


def test_sizes_are_filtered_and_sorted(engine: Engine) -> None:
    filters = [{"key": "regions", "values": ["ric1"]}, {"key": "slug", "values": ["gpu-b300"], "matchBy": "substring"}]
    sizes = engine.ask("getSizes", filters=filters, sorts=[{"key": "vcpus", "direction": "desc"}])["sizes"]
    assert "gpu-b300x8-2304gb-fabric-contracted" in [size["slug"] for size in sizes]
    assert "gpu-b300x8-2304gb-lc-fabric-contracted" not in [size["slug"] for size in sizes]
    assert sizes[0]["gpuInfos"][0]["count"] == 8
    assert sizes[0]["gpuInfos"][0]["model"] == "nvidia_b300"
