"""Our kinds against the vendors' CRDs: nothing that our models can write may be refused or dropped there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fabric.k8s.base import KubernetesObject
from fabric.k8s.cni import NetworkAttachmentDefinition
from fabric.k8s.crd import custom_resource_definition
from fabric.k8s.mellanox import NicClusterPolicy
from fabric.k8s.nfd import NodeFeatureRule
from fabric.k8s.nv_ipam import CIDRPool, IPPool
from fabric.k8s.nvidia import ClusterPolicy
from fabric.plan import build
from fabric.spec import load_stack

ROOT = Path(__file__).resolve().parents[2]
STACKS = sorted(
    path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    for folder in (ROOT, ROOT / "examples")
    for path in folder.glob("Pulumi.*.yaml")
)
KINDS = (NicClusterPolicy, ClusterPolicy, IPPool, CIDRPool, NetworkAttachmentDefinition, NodeFeatureRule)

# nv-ipam gained per-node exclusions after 0.3.7, whose CRDs are the newest at hand.
NEWER_THAN_THE_FILES_AT_HAND = ("spec.perNodeExclusions",)

Kinds = dict[str, dict[str, Any]]


def differences(ours: dict[str, Any], theirs: dict[str, Any], path: str = "") -> Iterator[str]:
    """Where our schema allows what theirs refuses or prunes; both are structural."""
    if path in NEWER_THAN_THE_FILES_AT_HAND or theirs.get("x-kubernetes-preserve-unknown-fields"):
        return
    if theirs.get("x-kubernetes-int-or-string"):
        if ours["type"] not in ("integer", "string"):
            yield f"{path}: {ours['type']} where they take an integer or a string"
        return
    if ours["type"] != theirs.get("type"):
        yield f"{path}: {ours['type']} where they have {theirs.get('type')}"
        return
    if "enum" in theirs and not set(ours.get("enum", ["any"])) <= set(theirs["enum"]):
        yield f"{path}: values {ours.get('enum', 'any')} where they allow {theirs['enum']}"
    yield from _bounds(ours, theirs, path)
    missing = set(theirs.get("required", ())) - set(ours.get("required", ()))
    if path and missing:
        yield f"{path}: they require {sorted(missing)}"
    for name, schema in ours.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        if name in theirs.get("properties", {}):
            yield from differences(schema, theirs["properties"][name], where)
        elif where not in NEWER_THAN_THE_FILES_AT_HAND and where != "metadata":
            yield f"{where}: unknown to them"
    for inner, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if inner in ours and isinstance(theirs.get(inner), dict):
            yield from differences(ours[inner], theirs[inner], path + mark)
        elif inner in ours:
            yield f"{path}{mark}: unknown to them"


def _bounds(ours: dict[str, Any], theirs: dict[str, Any], path: str) -> Iterator[str]:
    for bound, tighter in (("minimum", max), ("maximum", min), ("minLength", max), ("maxLength", min)):
        if bound in theirs and (bound not in ours or tighter(ours[bound], theirs[bound]) != ours[bound]):
            yield f"{path}: {bound} {ours.get(bound)} where they have {theirs[bound]}"


def vendor_schema(kind: str, api_version: str, kinds: Kinds) -> dict[str, Any]:
    """The vendor's openAPIV3Schema of a kind at our version."""
    schemas = {version["name"]: version["schema"] for version in kinds[kind]["versions"]}
    found: dict[str, Any] = schemas[api_version.rpartition("/")[2]]["openAPIV3Schema"]
    return found


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with undeclared fields refused, as server-side apply refuses them."""
    result = {key: value for key, value in schema.items() if key in ("type", "enum", "pattern", "required")}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if "properties" in schema:
        result["properties"] = {name: closed(value) for name, value in schema["properties"].items()}
        result["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if "items" in schema:
        result["items"] = closed(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = closed(schema["additionalProperties"])
    return result


def refusals(manifest: dict[str, Any], kinds: Kinds) -> list[str]:
    """What the vendor's CRD says against an object."""
    schema = closed(vendor_schema(manifest["kind"], manifest["apiVersion"], kinds))
    # metadata is validated by the API server itself, and declared as an object without fields
    schema["properties"]["metadata"] = {"type": "object"}
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(manifest)]


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.kind)
def test_everything_that_a_model_can_write_is_accepted_upstream(
    model: type[KubernetesObject], upstream_kinds: Kinds
) -> None:
    definition = custom_resource_definition(model)
    ours = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert list(differences(ours, vendor_schema(model.kind, model.api_version, upstream_kinds))) == []


@pytest.mark.parametrize("stack", STACKS)
def test_every_planned_object_of_a_committed_stack_is_accepted_upstream(stack: str, upstream_kinds: Kinds) -> None:
    plan = build(load_stack(stack, ROOT))
    custom = [planned.object for planned in plan.objects if "." in planned.object.api_version]
    assert custom, "the plan has custom resources"
    assert {str(planned.metadata.name): refusals(planned.manifest(), upstream_kinds) for planned in custom} == {
        str(planned.metadata.name): [] for planned in custom
    }


def test_a_field_that_the_vendor_does_not_know_would_be_seen(upstream_kinds: Kinds) -> None:
    manifest = {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        "metadata": {"name": "nic-cluster-policy"},
        "spec": {"sriovDevicePlugin": {"image": "a", "resources": []}},
    }
    assert refusals(manifest, upstream_kinds) == ["Additional properties are not allowed ('resources' was unexpected)"]


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.kind)
def test_a_kind_has_the_vendors_group_version_scope_and_names(
    model: type[KubernetesObject], upstream_kinds: Kinds
) -> None:
    ours, theirs = custom_resource_definition(model)["spec"], upstream_kinds[model.kind]
    assert (ours["group"], ours["scope"]) == (theirs["group"], theirs["scope"])
    assert ours["versions"][0]["name"] in [version["name"] for version in theirs["versions"]]
    # a list kind may be left to its default
    assert ours["names"] == {"listKind": f"{model.kind}List", **theirs["names"]}
