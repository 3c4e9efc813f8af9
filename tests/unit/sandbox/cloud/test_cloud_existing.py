"""What a stack file names as existing is there in the simulated cloud, and stays there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from changes import changed
from cloud_engine import Failed, engine_on
from committed_stacks import folder_of
from digitalocean_inputs import gpu_pool
from oracle_engine import oracle_on
from planned_oke import VCN, oke_of

from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.stack import StackSpec
from sandbox.cloud.digitalocean.existing import place_existing as at_digitalocean
from sandbox.cloud.oci.existing import place_existing as at_oracle

SUBNETS = {
    name: f"ocid1.subnet.oc1.iad.{name.replace('-', '')}" for name in ("control-plane", "workers", "internal-lb")
}
PROJECT = "c33931f2-a26a-4e61-b85c-4e95a2ec431b"
VPC = "5f3b2c1d-1111-2222-3333-444455556666"


def spec_of(stack: str, changes: dict[str, Any]) -> StackSpec:
    spec, problems = validate(changed(read_document(stack, folder_of(stack)), changes))
    assert spec is not None, problems
    return spec


@pytest.mark.parametrize(
    "vcn",
    [
        {"id": VCN},
        {"id": VCN, "subnetIds": SUBNETS},
        {"id": VCN, "subnetIds": SUBNETS, "subnets": {"workers": "10.140.0.0/17"}},
        {
            "id": VCN,
            "subnetIds": {"workers": SUBNETS["workers"]},
            "routeTableIds": {"private": "ocid1.routetable.oc1.iad.a"},
        },
    ],
)
def test_a_network_at_oracle_is_there_once_and_every_subnet_lies_in_it_apart(tmp_path: Path, vcn: Any) -> None:
    cluster = oke_of("oke-h100-26-4", {"cluster.vcn": vcn})
    with oracle_on(tmp_path) as engine:
        made = at_oracle(engine.api, cluster)
        assert len(made) == 1 + len(vcn.get("subnetIds", ())) + len(vcn.get("routeTableIds", ()))
        assert at_oracle(engine.api, cluster) == []
        inside = {"compartmentId": cluster.compartment_id, "vcnId": VCN}
        group = engine.up("NetworkSecurityGroup", "workers", inside)
        for identifier in vcn.get("subnetIds", {}).values():
            found = engine.imported("Subnet", identifier)
            assert found is not None
            block = found.outputs["cidrBlock"]
            with pytest.raises(Failed, match="overlaps with subnet"):
                engine.up("Subnet", "twice", {**inside, "cidrBlock": block})
        engine.delete(group)


def test_no_network_is_made_for_a_stack_that_makes_its_own(tmp_path: Path) -> None:
    with oracle_on(tmp_path) as engine:
        assert at_oracle(engine.api, oke_of("oke-h100-26-4")) == []


def test_a_vpc_and_a_project_at_digitalocean_are_there_once_and_take_a_cluster(tmp_path: Path) -> None:
    spec = spec_of("doks-h200", {"cluster.vpc.id": VPC, "cluster.project": {"id": PROJECT}})
    assert isinstance(spec.cluster, DoksClusterSpec)
    with engine_on(tmp_path) as engine:
        assert len(at_digitalocean(engine.api, spec.cluster)) == 2
        assert at_digitalocean(engine.api, spec.cluster) == []
        inputs = {
            "name": "one",
            "region": "nyc2",
            "version": "1.36.1-do.0",
            "vpcUuid": VPC,
            "nodePool": {"name": "system", "size": "s-4vcpu-8gb", "nodeCount": 1},
        }
        cluster = engine.up("KubernetesCluster", "one", inputs)
        assert engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster)).id
        listed = {"project": PROJECT, "resources": [cluster.outputs["clusterUrn"]]}
        assert engine.up("ProjectResources", "in", listed).id
