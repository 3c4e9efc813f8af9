"""The generated CRDs: structural, fresh, and as strict as a user relies on."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from each_case import each

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
from gpu_fabric.k8s.spiderpool import SpiderIPPool, SpiderMultusConfig, SpiderReservedIP
from gpu_fabric.k8s.sriov_operator import (
    SriovIBNetwork,
    SriovNetwork,
    SriovNetworkNodePolicy,
    SriovNetworkPoolConfig,
)
from sandbox.crds import CHARTS, crd_files
from sandbox.definitions import custom_resource_definition

KINDS = [
    *(NicClusterPolicy, NicNodePolicy, IPPool, CIDRPool, SpiderIPPool, SpiderReservedIP, SpiderMultusConfig),
    *(SriovNetworkNodePolicy, SriovNetworkPoolConfig, SriovNetwork, SriovIBNetwork),
]
INT_OR_STRING = {"x-kubernetes-int-or-string": True}


def schema(model: type[KubernetesObject]) -> dict[str, Any]:
    version: dict[str, Any] = custom_resource_definition(model)["spec"]["versions"][0]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def nested(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield value
    children = [*value.get("properties", {}).values(), value.get("items"), value.get("additionalProperties")]
    for child in children:
        if isinstance(child, dict):
            yield from nested(child)


@cache
def generated() -> dict[Path, str]:
    """The text that belongs in each generated CRD file; made when a test asks, and not to collect the tests."""
    return {path.resolve(): text for path, text in crd_files()}


@each(
    "path",
    # A chart may have the file of another; a definitions.yaml has kinds by name alone.
    sorted({path.resolve() for path in CHARTS.rglob("crds/*_*.yaml")}),
    ids=lambda path: path.name,
)
def test_a_chart_carries_the_crd_that_the_model_says(path: Path) -> None:
    assert path.read_text() == generated()[path], "run: python -m sandbox.crds"


@pytest.mark.parametrize("model", KINDS)
def test_every_value_of_a_crd_has_one_type_and_nothing_that_the_api_server_refuses(
    model: type[KubernetesObject],
) -> None:
    allowed = {
        *("type", "description", "properties", "required", "items", "additionalProperties", "enum", "pattern"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    }
    for part in nested(schema(model)):
        if part == INT_OR_STRING:
            continue
        assert isinstance(part.get("type"), str)
        assert set(part) <= allowed
        assert part.get("type") != "null"
        # the API server refuses a map that also declares properties
        assert not ({"properties", "additionalProperties"} <= part.keys())


def test_a_crd_refuses_a_wrong_type() -> None:
    pool = {"metadata": {"name": "a"}, "spec": {"subnet": "10.0.0.0/24", "perNodeBlockSize": "4"}}
    with pytest.raises(jsonschema.ValidationError, match="'4' is not of type 'integer'"):
        jsonschema.validate(pool, schema(IPPool))


def test_a_crd_refuses_a_missing_field() -> None:
    with pytest.raises(jsonschema.ValidationError, match="'perNodeNetworkPrefix' is a required property"):
        jsonschema.validate({"metadata": {}, "spec": {"cidr": "10.0.0.0/16"}}, schema(CIDRPool))


def test_a_crd_refuses_a_state_that_does_not_exist() -> None:
    with pytest.raises(jsonschema.ValidationError, match="'done' is not one of"):
        jsonschema.validate({"metadata": {}, "spec": {}, "status": {"state": "done"}}, schema(NicClusterPolicy))


def test_a_kind_with_a_status_has_the_status_subresource() -> None:
    version = custom_resource_definition(NicClusterPolicy)["spec"]["versions"][0]
    assert version["subresources"] == {"status": {}}


def test_a_crd_is_named_after_plural_and_group() -> None:
    definition = custom_resource_definition(IPPool)
    assert definition["metadata"]["name"] == "ippools.nv-ipam.nvidia.com"
    assert definition["spec"]["scope"] == "Namespaced"


def test_a_kind_has_the_short_names_that_kubectl_knows() -> None:
    assert custom_resource_definition(NicNodePolicy)["spec"]["names"]["shortNames"] == ["nicnode", "nnp"]


def test_a_number_or_percentage_is_the_one_union_that_the_api_server_knows() -> None:
    spec = schema(SriovNetworkPoolConfig)["properties"]["spec"]
    assert spec["properties"]["maxUnavailable"] == INT_OR_STRING


def test_a_field_of_two_types_cannot_become_a_crd() -> None:
    class Spec(KubernetesModel):
        amount: int | str

    class Undecided(KubernetesObject, api_version="example.com/v1", scope="Cluster"):
        spec: Spec

    with pytest.raises(TypeError, match=r"Undecided\.spec\.amount: a CustomResourceDefinition cannot hold a union"):
        custom_resource_definition(Undecided)
