"""The simulated clouds know the arguments of the providers' Python packages, and heed the time limits of stacks."""

from pathlib import Path

import pytest
from each_case import each
from sdk_arguments import Argument, arguments_of, nested_arguments, python_name
from stack_plans import stack_plan

from gpu_fabric.resources import resources
from sandbox.cloud.digitalocean.provider import DigitalOcean
from sandbox.cloud.oci.fields import fields_of, kinds, token_of
from sandbox.cloud.oci.provider import Oracle
from sandbox.cloud.resource import ResourceType
from sandbox.cloud.schema import Fields

MODULES = {"Core": "core", "ContainerEngine": "containerengine", "Identity": "identity", "Bastion": "bastion"}


def played() -> dict[str, ResourceType]:
    found = {}
    for cloud in (DigitalOcean, Oracle):
        found |= cloud.__dict__["resources"].func(cloud(None))  # type: ignore[arg-type]
    return found


CLASSES = {f"{MODULES[token_of(kind).split(':')[1].split('/')[0]]}.{kind}": fields_of(kind) for kind in kinds()} | {
    f"digitalocean.{token.rpartition(':')[2]}": kind.fields
    for token, kind in played().items()
    if token.startswith("digitalocean")
}


def assert_same(kind: str, fields: Fields, arguments: dict[str, Argument]) -> None:
    given = {python_name(name): field for name, field in fields.items() if field.given != "never"}
    # DigitalOcean's package has as inputs of a pool what the cloud alone sets.
    computed = {python_name(name) for name in fields if kind.startswith("digitalocean")} - given.keys()
    assert {name: field.given == "required" for name, field in given.items()} == {
        name: argument.required for name, argument in arguments.items() if name not in computed
    }
    for name, field in given.items():
        nested = arguments[name].nested
        if field.fields and field.kind != "map":
            assert nested is not None
            assert_same(kind, field.fields, nested_arguments(kind, nested))


@each("kind", CLASSES)
def test_the_arguments_are_those_of_the_package(kind: str) -> None:
    assert_same(kind, CLASSES[kind], arguments_of(kind))


@pytest.mark.parametrize("stack", ["doks-h200", "doks-split-cluster", "oke-h100", "oke-h200", "oke-split-cluster"])
def test_no_resource_has_a_time_limit_that_its_provider_ignores(root: Path, stack: str) -> None:
    kinds = played()
    for resource in resources(stack_plan(stack, root)):
        given = {name for name, limit in resource.handling.timeouts.model_dump().items() if limit}
        if given and resource.type in kinds:
            assert given <= set(kinds[resource.type].time_limits), resource.name
