"""What a stack file names as existing is there in the simulated cloud, once, and stays there."""

from pathlib import Path

import pytest
from changes import changed
from cloud_engine import Failed, engine_on
from committed_stacks import folder_of
from digitalocean_inputs import INPUTS, gpu_pool
from oracle_engine import oracle_on
from planned_oke import VCN, oke_of

from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.load import read_document, validate
from sandbox.cloud.digitalocean.existing import place_existing as at_digitalocean
from sandbox.cloud.oci.existing import place_existing as at_oracle

SUBNETS = {name: f"ocid1.subnet.oc1.iad.{name.replace('-', '')}" for name in ("control-plane", "workers")}
PROJECT = "c33931f2-a26a-4e61-b85c-4e95a2ec431b"
VPC = "5f3b2c1d-1111-2222-3333-444455556666"


def test_a_network_at_oracle_is_there_once_and_every_subnet_lies_in_it_apart(tmp_path: Path) -> None:
    routes = {"routeTableIds": {"private": "ocid1.routetable.oc1.iad.a"}}
    given = {"id": VCN, "subnetIds": SUBNETS, "subnets": {"workers": "10.140.0.0/17"}, **routes}
    cluster = oke_of("oke-h100-26-4", {"cluster.vcn": given})
    with oracle_on(tmp_path) as engine:
        assert at_oracle(engine.api, oke_of("oke-h100-26-4")) == []
        assert len(at_oracle(engine.api, cluster)) == 1 + len(SUBNETS) + 1
        assert at_oracle(engine.api, cluster) == []
        inside = {"compartmentId": cluster.compartment_id, "vcnId": VCN}
        for identifier in SUBNETS.values():
            found = engine.imported("Subnet", identifier)
            assert found is not None
            with pytest.raises(Failed, match="overlaps with subnet"):
                engine.up("Subnet", "twice", {**inside, "cidrBlock": found.outputs["cidrBlock"]})


def test_a_vpc_and_a_project_at_digitalocean_are_there_once_and_take_a_cluster(tmp_path: Path) -> None:
    keys = {"cluster.vpc.id": VPC, "cluster.project": {"id": PROJECT}}
    spec, problems = validate(changed(read_document("doks-h200", folder_of("doks-h200")), keys))
    assert spec is not None, problems
    assert isinstance(spec.cluster, DoksClusterSpec)
    with engine_on(tmp_path) as engine:
        assert len(at_digitalocean(engine.api, spec.cluster)) == 2
        assert at_digitalocean(engine.api, spec.cluster) == []
        cluster = engine.up("KubernetesCluster", "one", {**INPUTS, "vpcUuid": VPC})
        assert engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster)).id
        listed = {"project": PROJECT, "resources": [cluster.outputs["clusterUrn"]]}
        assert engine.up("ProjectResources", "in", listed).id
