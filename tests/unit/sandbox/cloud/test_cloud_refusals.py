"""What the simulated clouds refuse, and in which words: inputs, changes, and deletions of what is in use."""

from collections.abc import Callable
from typing import Any

import pytest
from cloud_engine import Engine, Failed, Invalid, Resource
from digitalocean_inputs import INPUTS, POOL, gpu_pool
from oracle_engine import COMPARTMENT, H100, IMAGE, OracleEngine

Inputs = dict[str, Any]
RULE = "NetworkSecurityGroupSecurityRule"
VPC = {"name": "second", "region": "nyc2", "ipRange": "10.40.0.0/20"}
PROVIDERS_OWN: list[tuple[str, Inputs, str]] = [
    ("KubernetesCluster", {"region": None}, "region"),
    ("KubernetesCluster", {"nodePool": {"size": "c-4"}}, "nodePool.name"),
    ("KubernetesCluster", {"rdmaSharedDevPlugin": {"enabled": True}}, "rdmaSharedDevPlugin"),
    ("KubernetesCluster", {"kubeConfigs": []}, "kubeConfigs"),
    ("KubernetesCluster", {"clusterSubnet": "10.1"}, "clusterSubnet"),
    ("KubernetesCluster", {"tags": ["two words"]}, "tags"),
    ("Project", {"name": "n" * 176}, "name"),
]


@pytest.mark.parametrize(("kind", "changes", "place"), PROVIDERS_OWN)
def test_the_provider_refuses_inputs_before_any_request(engine: Engine, kind: str, changes: Inputs, place: str) -> None:
    base = {"KubernetesCluster": INPUTS, "Project": {"name": "a"}}
    inputs = {name: value for name, value in {**base[kind], **changes}.items() if value is not None}
    with pytest.raises(Invalid) as refused:
        engine.check(kind, "one", inputs)
    assert set(refused.value.reasons) == {place}


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("Vpc", {"name": "net"}, "a VPC with the name net exists"),
        ("Vpc", {"region": "moon1"}, "invalid region"),
        ("Vpc", {"ipRange": "10.20.0.0/24"}, "overlaps with 10.20.0.0/28"),
        ("Vpc", {"ipRange": "10.0.0.0/15"}, "too large"),
        ("Vpc", {"ipRange": "10.0.0.0/29"}, "too small"),
        ("Vpc", {"ipRange": "8.8.8.0/24"}, "not a private range"),
        ("Vpc", {"name": "a_b"}, "alphanumeric"),
        ("KubernetesCluster", {"name": "one"}, "a cluster with the name one exists"),
        ("KubernetesCluster", {"region": "moon1"}, "invalid region"),
        ("KubernetesCluster", {"version": "1.29.1-do.0"}, "validation error: invalid version slug"),
        ("KubernetesCluster", {"vpcUuid": "nowhere"}, "VPC nowhere does not exist"),
        ("KubernetesCluster", {"vpcUuid": "net", "region": "ams3"}, "is in region nyc2, not ams3"),
        ("KubernetesCluster", {"isolatedWorkers": True}, "NAT gateway"),
        ("KubernetesCluster", {"vpcUuid": "net", "nodePool": {**POOL, "nodeCount": 15}}, "no addresses for 15 nodes"),
        ("KubernetesCluster", {"clusterSubnet": "10.20.0.0/16", "serviceSubnet": "10.50.0.0/19"}, "overlaps with 10.2"),
        ("KubernetesCluster", {"clusterSubnet": "10.60.0.0/16", "serviceSubnet": "10.60.0.0/19"}, "overlaps with 10.6"),
        ("KubernetesCluster", {"nodePool": {**POOL, "size": "c-5"}}, "invalid droplet size"),
        ("KubernetesNodePool", {"size": "gpu-mi300x8-1920gb"}, "invalid droplet size"),
        ("KubernetesNodePool", {"size": "gpu-mi300x8-1536gb-fabric-contracted"}, "not available in region nyc2"),
        ("KubernetesNodePool", {"name": "system"}, "a node pool with the name system exists"),
        ("KubernetesNodePool", {"nodeCount": 65}, "at most 64 nodes"),
        ("KubernetesNodePool", {"size": "s-4vcpu-8gb", "nodeCount": 512}, "at most 512 nodes"),
        ("KubernetesNodePool", {"autoScale": True, "minNodes": 4, "maxNodes": 2}, "max_nodes"),
        ("KubernetesNodePool", {"gpuPartitionMode": "AMD_PARTITION_MODE_DPX_NPS2"}, "gpu_partition_mode"),
    ],
)
def test_digitalocean_refuses_what_cannot_be_and_makes_nothing(
    engine: Engine, cluster: Resource, kind: str, changes: Inputs, message: str
) -> None:
    net = engine.up("Vpc", "net", {"name": "net", "region": "nyc2", "ipRange": "10.20.0.0/28"})
    if changes.get("vpcUuid") == "net":
        changes = {**changes, "vpcUuid": net.id}
    base = {"Vpc": VPC, "KubernetesCluster": {**INPUTS, "name": "two"}, "KubernetesNodePool": gpu_pool(cluster)}
    what = {"Vpc": "VPC", "KubernetesCluster": "Kubernetes cluster", "KubernetesNodePool": "Kubernetes node pool"}[kind]
    before = [engine.api.store.list(collection) for collection in ("clusters", "pools", "vpcs")]
    with pytest.raises(Failed, match=rf"Error creating {what}: .*POST https://\S+: 422 \(request .*{message}"):
        engine.up(kind, "two", {**base[kind], **changes})
    assert [engine.api.store.list(collection) for collection in ("clusters", "pools", "vpcs")] == before


def test_digitalocean_refuses_changes_and_deletions_in_its_own_words(engine: Engine, cluster: Resource) -> None:
    available = engine.up("KubernetesCluster", "two", {**INPUTS, "name": "two", "ha": True})
    with pytest.raises(Failed, match=r"422.*cannot be disabled"):
        engine.update(available, {**available.inputs, "ha": False})
    with pytest.raises(Failed, match="invalid version slug"):
        engine.update(cluster, {**INPUTS, "version": "latest"})
    with pytest.raises(Failed, match="404"):
        engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster, clusterId="1b8b2100-0e9f-4e8f-ad78-9eb578c2a0af"))
    with pytest.raises(Failed, match="part of cluster"):
        engine.imported("KubernetesNodePool", cluster.outputs["nodePool"]["id"])
    vpc = engine.up("Vpc", "net", VPC)
    engine.up("KubernetesCluster", "three", {**INPUTS, "name": "three", "vpcUuid": vpc.id})
    with pytest.raises(Failed, match=r"409 .*Can not delete VPC with members"):
        engine.delete(vpc)
    project = engine.up("Project", "training", {"name": "training"})
    engine.up("ProjectResources", "listed", {"project": project.id, "resources": ["do:kubernetes:one"]})
    with pytest.raises(Failed, match=r"412 .*cannot delete a project with resources"):
        engine.delete(project)


def inside(oke: OracleEngine, **more: Any) -> Inputs:
    return {"compartmentId": COMPARTMENT, "vcnId": oke.parts[0].id, **more}


def rule(oke: OracleEngine, **changes: Any) -> Inputs:
    group = {"networkSecurityGroupId": oke.parts[2].id, "direction": "INGRESS", "protocol": "6"}
    return {**group, "source": "10.0.0.0/8", **changes}


def machines(oke: OracleEngine, shape: str = H100, **details: Any) -> Inputs:
    made = oke.configuration(oke.subnet, **{"metadata": oke.metadata(), "shape": shape, **details})
    return oke.cluster_network_inputs(made, oke.subnet)


def configured(oke: OracleEngine, **config: Any) -> Inputs:
    """A node pool with changes to its section for nodes."""
    inputs = oke.pool_inputs()
    return {**inputs, "nodeConfigDetails": {**inputs["nodeConfigDetails"], **config}}


def preemptible(oke: OracleEngine, shape: str, action: str = "TERMINATE", **placed: Any) -> Inputs:
    placement = {"availabilityDomain": oke.domain, "subnetId": oke.subnet.id, **placed}
    placement["preemptibleNodeConfig"] = {"preemptionAction": {"type": action}}
    return {**configured(oke, placementConfigs=[placement]), "nodeShape": shape, "nodeShapeConfig": None}


def in_compute_cluster(oke: OracleEngine) -> Inputs:
    made = oke.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": oke.domain})
    return {**configured(oke, computeClusterId=made.id), "nodeShape": H100, "nodeShapeConfig": None}


def imported_image(oke: OracleEngine) -> Inputs:
    source = {"sourceType": "objectStorageUri", "sourceUri": "https://objectstorage.example/image"}
    return {"compartmentId": COMPARTMENT, "imageSourceDetails": source}


def of_an_image_not_made_for_it(oke: OracleEngine) -> Inputs:
    image = oke.up("Image", "gpu", imported_image(oke))
    source = {"sourceType": "IMAGE", "imageId": image.id}
    return oke.pool_inputs(nodeShape=H100, nodeShapeConfig=None, nodeSourceDetails=source)


def policy(statement: str) -> Inputs:
    return {"compartmentId": COMPARTMENT, "name": "p", "description": "d", "statements": [statement]}


def addon(oke: OracleEngine, name: str, **more: Any) -> Inputs:
    return {"clusterId": oke.cluster.id, "addonName": name, "removeAddonResourcesOnDelete": True, **more}


def scaler(oke: OracleEngine, nodes: str, **more: str) -> Inputs:
    """The autoscaler with its setting of node pools."""
    pool = oke.up("NodePool", "system", oke.pool_inputs())
    settings = {"nodes": nodes.format(pool=pool.id), **more}
    written = [{"key": key, "value": value} for key, value in settings.items()]
    return addon(oke, "ClusterAutoscaler", configurations=written, overrideExisting=True)


REFUSED: list[tuple[str, Callable[[OracleEngine], Inputs], str]] = [
    ("Subnet", lambda oke: inside(oke, cidrBlock="10.141.0.0/24"), "400-InvalidParameter.*is not in"),
    ("Subnet", lambda oke: inside(oke, cidrBlock="10.140.64.128/25"), "400-InvalidParameter.*overlaps"),
    ("Subnet", lambda oke: inside(oke, cidrBlock="10.140.1.1/24"), "400-InvalidParameter.*is not a range"),
    ("Subnet", lambda oke: inside(oke, cidr="10.140.1.0/24"), "no such input property"),
    ("NatGateway", lambda oke: inside(oke, vcnId="ocid1.vcn.oc1.iad.nothing"), "404-NotAuthorizedOrNotFound"),
    ("ServiceGateway", lambda oke: inside(oke, services=[{}]), r"services\[0\].serviceId: "),
    ("ServiceGateway", lambda oke: inside(oke, services=[{"serviceId": "ocid1.service.oc1.phx.other"}]),
        "not a service of region us-ashburn-1"),
    (RULE, lambda oke: rule(oke, sourceType="NETWORK_SECURITY_GROUP"), "is not a valid NETWORK_SECURITY_GROUP"),
    (RULE, lambda oke: rule(oke, protocol="17", tcpOptions={}), "tcpOptions are for protocol 6"),
    ("Cluster", lambda oke: oke.new_cluster(kubernetesVersion="1.34.1"), "400-InvalidParameter.*is not offered"),
    ("Cluster", lambda oke: oke.new_cluster(clusterPodNetworkOptions=[{"cniType": "CALICO"}]), "400-Inv.*cniType"),
    ("Cluster", lambda oke: oke.new_cluster(options={"kubernetesNetworkConfig": {"servicesCidr": "10.140.0.0/24"}}),
        "400-InvalidParameter.*overlaps with the VCN"),
    ("NodePool", lambda oke: oke.pool_inputs(kubernetesVersion="v1.35.0"), "is not one for a cluster of v1.34.1"),
    ("NodePool", lambda oke: oke.pool_inputs(nodeShape="BM.GPU.H1000.8"), "there is no shape"),
    ("NodePool", lambda oke: oke.pool_inputs(nodeShapeConfig=None), "needs a shapeConfig"),
    ("NodePool", lambda oke: oke.pool_inputs(nodeSourceDetails=None), "names no image"),
    ("NodePool",
        lambda oke: configured(oke,
            nodePoolPodNetworkOptionDetails={"cniType": "OCI_VCN_IP_NATIVE", "podSubnetIds": [oke.subnet.id]}),
        "is not the cluster's"),
    ("NodePool", lambda oke: preemptible(oke, "BM.GPU.A10.4"), "is a bare-metal shape"),
    ("NodePool",
        lambda oke: preemptible(oke, "VM.GPU.A10.1", capacityReservationId="ocid1.capacityreservation.oc1.iad.some"),
        "capacity reservation"),
    ("NodePool", lambda oke: preemptible(oke, "VM.GPU.A10.1", "STOP"), "type is not TERMINATE"),
    ("NodePool", in_compute_cluster, "404-NotAuthorizedOrNotFound.*COMPUTE_CLUSTER_LAUNCH_INSTANCE"),
    ("NodePool", of_an_image_not_made_for_it, f"{H100} is incompatible"),
    ("ClusterNetwork", lambda oke: machines(oke, metadata={"user_data": "x" * 32001}), "metadata have 32010 bytes"),
    ("ClusterNetwork", lambda oke: machines(oke, "BM.GPU.H1000.8"), "there is no shape"),
    ("ClusterNetwork", lambda oke: machines(oke, "BM.GPU.A10.4"), "has no RDMA network"),
    ("ClusterNetwork", lambda oke: machines(oke, sourceDetails={"sourceType": "image"}), "names no image"),
    ("Addon", lambda oke: addon(oke, "NvidiaGpuOperator"), "needs NodeFeatureDiscovery"),
    ("Addon", lambda oke: addon(oke, "Nothing"), "there is no add-on"),
    ("Addon", lambda oke: scaler(oke, "1-4:{pool}"), "is not MIN:MAX:OCID"),
    ("Addon", lambda oke: scaler(oke, "1:4:ocid1.nodepool.oc1.iad.another"), "404-NotAuthorizedOrNotFound"),
    ("Addon", lambda oke: scaler(oke, "1:4:{pool}", authType="user"), "authType user"),
    ("Policy", lambda oke: policy("Let them join"), "is not a statement"),
    ("Policy", lambda oke: policy("Allow dynamic-group x to {CLUSTER_JOIN} in tenancy"), "no dynamic group x"),
    ("DynamicGroup",
        lambda oke: {"compartmentId": COMPARTMENT, "name": "n", "description": "d", "matchingRule": "ALL {}"},
        "is in the tenancy"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "message"), REFUSED, ids=[f"{row[0]}: {row[2]}" for row in REFUSED])
def test_oracle_refuses_what_cannot_be(
    oke: OracleEngine, kind: str, inputs: Callable[[OracleEngine], Inputs], message: str
) -> None:
    with pytest.raises((Failed, Invalid), match=message):
        oke.up(kind, "refused", inputs(oke))


def test_an_image_that_was_imported_starts_on_a_gpu_shape_once_it_is_said_to(oke: OracleEngine) -> None:
    inputs = of_an_image_not_made_for_it(oke)
    shape = {"imageId": inputs["nodeSourceDetails"]["imageId"], "shapeName": H100}
    oke.up("ShapeManagement", "gpu", {"compartmentId": COMPARTMENT, **shape})
    assert oke.up("NodePool", "gpu", inputs).id


def test_an_add_on_needs_a_machine_without_gpus_and_is_taken_over_only_where_told_to(oke: OracleEngine) -> None:
    wanted = addon(oke, "NodeFeatureDiscovery")
    with pytest.raises(Failed, match="NEEDS_ATTENTION"):
        oke.up("Addon", "nfd", wanted)
    oke.up("NodePool", "system", oke.pool_inputs())
    with pytest.raises(Failed, match="409-Conflict, addon NodeFeatureDiscovery exists"):
        oke.up("Addon", "nfd", wanted)
    assert oke.up("Addon", "nfd", {**wanted, "overrideExisting": True}).outputs["state"] == "ACTIVE"


def image_of(oke: OracleEngine, version: str) -> Inputs:
    asked = {"nodePoolOptionId": "all", "nodePoolK8sVersion": version}
    image = oke.ask("ContainerEngine/getNodePoolOption", **asked)["sources"][0]["imageId"]
    return {"kubernetesVersion": version, "nodeSourceDetails": {"sourceType": "IMAGE", "imageId": image}}


def test_a_pool_whose_image_is_of_another_version_is_refused_new_and_changed(oke: OracleEngine) -> None:
    older, newer = (oke.pool_inputs(**image_of(oke, version)) for version in ("v1.33.1", "v1.34.1"))
    mixed = {**older, "kubernetesVersion": "v1.34.1"}
    with pytest.raises(Failed, match="409-Conflict, Kubernetes version does not match"):
        oke.up("NodePool", "system", mixed)
    made = oke.up("NodePool", "system", older)
    with pytest.raises(Failed, match=r"409-Conflict, .* of OKE worker node image \(v1\.33\.1\)"):
        oke.update(made, mixed)
    assert oke.update(made, newer).outputs["nodes"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"initialNodeLabels": [{"key": "team", "value": "a"}]}, "initialNodeLabels"),
        ({"nodePoolCyclingDetails": {"maximumUnavailable": "0"}}, "maximumUnavailable is 0"),
    ],
    ids=["other labels", "no node less"],
)
def test_new_boot_volumes_bring_no_labels_and_need_a_node_that_may_be_unavailable(
    oke: OracleEngine, more: dict[str, Inputs], reason: str
) -> None:
    pool = oke.up("NodePool", "gpu", oke.pool_inputs(1))
    boot_volumes = {"isNodeCyclingEnabled": True, "cycleModes": ["BOOT_VOLUME_REPLACE"]}
    cycling = {**boot_volumes, **more.get("nodePoolCyclingDetails", {})}
    with pytest.raises(Failed, match=reason):
        oke.update(pool, oke.pool_inputs(1, **{**more, "nodePoolCyclingDetails": cycling}))
    assert "team" not in oke.nodes()[0]["metadata"]["labels"]


def test_oracle_deletes_nothing_that_is_in_use(oke: OracleEngine) -> None:
    vcn, subnet, group = oke.parts
    nat = oke.up("NatGateway", "nat", inside(oke))
    way = {"destination": "0.0.0.0/0", "destinationType": "CIDR_BLOCK", "networkEntityId": nat.id}
    routes = oke.up("RouteTable", "private", inside(oke, routeRules=[way]))
    made = machines(oke)
    [configuration] = oke.api.store.list("instanceconfiguration")
    configuration = Resource("InstanceConfiguration", "gpu", configuration["id"], {}, {})
    network = oke.up("ClusterNetwork", "gpu", made)
    fabric = oke.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": oke.domain})
    launch = {"compartmentId": COMPARTMENT, "availabilityDomain": oke.domain, "computeClusterId": fabric.id}
    source = {"sourceType": "image", "sourceId": IMAGE}
    vnic = {"subnetId": subnet.id, "assignPublicIp": "false"}
    machine = oke.up("Instance", "0", {**launch, "shape": H100, "sourceDetails": source, "createVnicDetails": vnic})

    users = [(oke.cluster, group), (routes, nat), (network, configuration), (machine, fabric), (machine, subnet)]
    for user, used in users:
        with pytest.raises(Failed, match="409-Conflict"):
            oke.delete(used)
        if used is not fabric:
            oke.delete(user)
    with pytest.raises(Failed, match=f"409-Conflict, {vcn.id} is in use by"):
        oke.delete(vcn)
    for used in (nat, configuration, fabric, group, subnet):
        oke.delete(used)
    oke.delete(vcn)
    assert oke.refresh(vcn) is None


def test_oracle_refuses_a_lower_version_and_a_public_endpoint_that_is_not_there(oke: OracleEngine) -> None:
    raised = oke.update(oke.cluster, oke.new_cluster(kubernetesVersion="v1.35.0"))
    assert (raised.id, raised.outputs["kubernetesVersion"]) == (oke.cluster.id, "v1.35.0")
    with pytest.raises(Failed, match="is lower than the cluster's"):
        oke.update(raised, oke.new_cluster())
    with pytest.raises(Failed, match="no public endpoint"):
        oke.ask("ContainerEngine/getClusterKubeConfig", clusterId=oke.cluster.id, endpoint="PUBLIC_ENDPOINT")
