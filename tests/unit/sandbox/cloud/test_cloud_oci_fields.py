"""The simulated Oracle cloud knows the arguments of the provider's Python package, and those that records use."""

from __future__ import annotations

import pytest
from each_case import each
from planned_oke import EVERYTHING, resources_of
from sdk_arguments import Argument, arguments_of, nested_arguments, python_name

from gpu_fabric.plan.clouds.record import Lookup
from sandbox.cloud.oci.fields import fields_of, kinds, token_of
from sandbox.cloud.oci.provider import Oracle
from sandbox.cloud.schema import Fields

MODULES = {"Core": "core", "ContainerEngine": "containerengine", "Identity": "identity", "Bastion": "bastion"}


def class_of(kind: str) -> str:
    return f"{MODULES[token_of(kind).split(':')[1].split('/')[0]]}.{kind}"


def assert_same(kind: str, fields: Fields, arguments: dict[str, Argument]) -> None:
    given = {python_name(name): field for name, field in fields.items() if field.given != "never"}
    assert {name: field.given == "required" for name, field in given.items()} == {
        name: argument.required for name, argument in arguments.items()
    }
    for name, field in given.items():
        nested = arguments[name].nested
        if field.fields and field.kind != "map":
            assert nested is not None
            assert_same(kind, field.fields, nested_arguments(kind, nested))


@each("kind", kinds())
def test_the_arguments_are_those_of_the_package(kind: str) -> None:
    assert_same(class_of(kind), fields_of(kind), arguments_of(class_of(kind)))


@pytest.mark.parametrize(
    ("kind", "for_life"),
    [
        ("Cluster", {"compartmentId", "vcnId", "clusterPodNetworkOptions", "kmsKeyId"}),
        ("ClusterNetwork", {"placementConfiguration", "clusterConfiguration"}),
        ("ComputeGpuMemoryCluster", {"availabilityDomain", "computeClusterId", "gpuMemoryFabricId"}),
        ("Addon", {"addonName", "clusterId"}),
        ("NetworkSecurityGroupSecurityRule", {"networkSecurityGroupId"}),
        ("Vcn", {"cidrBlock", "dnsLabel"}),
        ("InstancePool", set()),
    ],
)
def test_what_replaces_is_what_oracle_cannot_change(kind: str, for_life: set[str]) -> None:
    fields = fields_of(kind)
    assert {name for name, field in fields.items() if field.replaces and field.given != "never"} == for_life


def test_a_pools_compute_cluster_is_for_life() -> None:
    config = fields_of("NodePool")["nodeConfigDetails"]
    assert config.fields["computeClusterId"].replaces
    assert not config.fields["size"].replaces


@pytest.mark.parametrize("stack", EVERYTHING)
def test_every_resource_and_question_of_a_plan_is_played(stack: str) -> None:
    resources = resources_of(*EVERYTHING[stack])
    played = Oracle.__dict__["functions"].func(Oracle(None))  # type: ignore[arg-type]
    for record in resources.records:
        assert record.sdk.rpartition(".")[2] in kinds()
        assert set(record.arguments) <= {python_name(name) for name in fields_of(record.sdk.rpartition(".")[2])}
    for lookup in resources.lookups:
        if not lookup.function.startswith("oci:"):
            assert token(lookup) in played


def token(lookup: Lookup) -> str:
    module, name = lookup.function.split(".")
    word = "".join(part.capitalize() for part in name.split("_"))
    word = word[0].lower() + word[1:]
    return f"oci:{ {value: key for key, value in MODULES.items()}[module] }/{word}:{word}"
