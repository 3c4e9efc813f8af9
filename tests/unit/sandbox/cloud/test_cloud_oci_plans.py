"""Whole plans for Oracle's cloud are made, left alone and destroyed on the simulated one."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from cloud_engine import Resource
from oracle_engine import OracleEngine, oracle_on
from planned_oke import EVERYTHING, PLACEMENTS, oke_of, resources_of
from sdk_arguments import python_name

from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Record, Ref, Text
from sandbox.cloud.oci.existing import place_existing
from sandbox.cloud.oci.fields import fields_of
from sandbox.cloud.schema import Fields

DOMAIN = {"name": "Machines", "endpoint": "https://idcs-example.identity.oraclecloud.com:443"}
STACKS = {
    **PLACEMENTS,
    **EVERYTHING,
    "identity-domain": ("oke-h100-26-4", {"cluster.identity": {"domain": DOMAIN}}),
    "bastion-service": (
        "oke-h100-26-4",
        {"cluster.access": {"mode": "bastion-service", "allowed": ["203.0.113.0/24"]}},
    ),
}


class Deployment:
    """A plan's records as a component makes them: what they refer to is resolved, names are those of the wire."""

    def __init__(self, engine: OracleEngine, resources: OkeResources) -> None:
        self.engine = engine
        self.resources = resources
        self.made: dict[str, Resource] = {}

    def up(self) -> None:
        for record in self.resources.records:
            kind = record.sdk.rpartition(".")[2]
            inputs = self.inputs(record)
            self.made[record.logical_name] = self.engine.up(kind, record.logical_name, inputs)
            ignored = tuple(wire_path(fields_of(kind), path) for path in record.ignore_changes)
            assert self.engine.diff(self.made[record.logical_name], inputs, ignored).paths == (), record.logical_name

    def destroy(self) -> None:
        for record in reversed(self.resources.records):
            self.engine.delete(self.made[record.logical_name])

    def inputs(self, record: Record) -> dict[str, Any]:
        given = {name: self.resolved(value) for name, value in record.arguments.items()}
        return on_the_wire(fields_of(record.sdk.rpartition(".")[2]), given)

    def resolved(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self.output(value)
        if isinstance(value, Text):
            return value.text.format(**{name: self.output(ref) for name, ref in value.refs.items()})
        if isinstance(value, dict):
            return {name: self.resolved(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.resolved(part) for part in value]
        return value

    def output(self, ref: Ref) -> Any:
        if ref.ref not in self.made:
            return self.looked_up(ref)
        made = self.made[ref.ref]
        if ref.output == "id":
            return made.id
        if ref.output == "apiserver_host":
            return made.outputs["endpoints"][0]["privateEndpoint"].rpartition(":")[0]
        return next(value for name, value in made.outputs.items() if python_name(name) == ref.output)

    def looked_up(self, ref: Ref) -> Any:
        engine = self.engine
        if ref.ref == "availability-domains":
            found = engine.ask("Identity/getAvailabilityDomains", compartmentId="ocid1.compartment.oc1..x")
            return next(each["name"] for each in found["availabilityDomains"] if each["name"].endswith(ref.output))
        if ref.ref == "oracle-services":
            [service] = [each for each in engine.ask("Core/getServices")["services"] if each["name"].startswith("All")]
            return service["id" if ref.output == "id" else "cidrBlock"]
        if ref.ref == "node-images":
            [asked] = [each.arguments for each in self.resources.lookups if each.logical_name == ref.ref]
            asked = {"nodePoolOptionId": "all", "nodePoolK8sVersion": asked["node_pool_k8s_version"]}
            return engine.ask("ContainerEngine/getNodePoolOption", **asked)["sources"][0]["imageId"]
        if ref.ref == "cluster-kubeconfig":
            asked = {"clusterId": self.made["cluster"].id, "endpoint": "PRIVATE_ENDPOINT"}
            document = yaml.safe_load(engine.ask("ContainerEngine/getClusterKubeConfig", **asked)["content"])
            return document["clusters"][0]["cluster"]["certificate-authority-data"]
        assert ref.ref == "tenancy"
        return engine.api.account.tenancy


def on_the_wire(fields: Fields, given: dict[str, Any]) -> dict[str, Any]:
    names = {python_name(name): name for name in fields}
    parts = {name: {} if field.kind == "map" else field.fields for name, field in fields.items()}
    return {names[name]: _part(parts[names[name]], value) for name, value in given.items()}


def _part(fields: Fields, value: Any) -> Any:
    if fields and isinstance(value, list):
        return [on_the_wire(fields, part) for part in value]
    return on_the_wire(fields, value) if fields and isinstance(value, dict) else value


def wire_path(fields: Fields, path: str) -> str:
    first, _, rest = path.partition(".")
    name = next(name for name in fields if python_name(name) == first)
    return f"{name}.{wire_path(fields[name].fields, rest)}" if rest else name


@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_is_made_stays_as_it_is_and_is_destroyed(tmp_path: Path, stack: str) -> None:
    resources = resources_of(*STACKS[stack])
    with oracle_on(tmp_path) as engine:
        place_existing(engine.api, oke_of(*STACKS[stack]))
        existing = engine.api.store.list("vcn"), engine.api.store.list("subnet")
        deployment = Deployment(engine, resources)
        deployment.up()
        nodes = engine.planes.nodes[deployment.made["cluster"].id]
        shapes = [node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in nodes]
        assert len([shape for shape in shapes if "BM.GPU" in shape]) == sum(
            pool.nodes for pool in oke_of(*STACKS[stack]).pools
        )
        deployment.destroy()
        left = [kind for kind in ("cluster", "instance", "policy") if engine.api.store.list(kind)]
        assert left == []
        assert (engine.api.store.list("vcn"), engine.api.store.list("subnet")) == existing
