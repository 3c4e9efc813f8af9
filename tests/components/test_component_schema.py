"""Pulumi infers the schema of every public component, from which it generates the SDKs of other languages."""

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from pulumi.provider.experimental.analyzer import Analyzer, AnalyzeResult, PropertyDefinition
from pydantic.alias_generators import to_camel

import components
from components import args, outputs
from gpu_fabric.report.pages.schemas import stack_file_schema

PACKAGE = Path(components.__file__).parent
PUBLIC = [
    name
    for name in components.__all__
    if inspect.isclass(found := getattr(components, name)) and "args" in inspect.get_annotations(found.__init__)
]
LATE = {"DoksCluster": {"token"}, "OkeCluster": {"settings", "kubeconfigToken"}, "GpuCluster": {"secrets"}}
"""Arguments that may be outputs of other resources; those of a fabric are the same for all its components."""
OF_A_FABRIC = {"kubeconfig", "clusterId", "secrets"}
ANYTHING = {"values", "podTemplatePatch", "parameters"}
"""What has no type of ours: values of charts, a patch of pods, and a DRA driver's own configuration."""


@pytest.fixture(scope="module")
def analyzed() -> AnalyzeResult:
    return Analyzer("gpu-fabric").analyze([getattr(components, name) for name in PUBLIC])


def properties(analyzed: AnalyzeResult) -> Iterator[tuple[str, PropertyDefinition]]:
    """Every input and output of components, and every property of the types that they name."""
    for name, component in analyzed["component_definitions"].items():
        yield from ((f"{name}({key})", entry) for key, entry in component.inputs.items())
        yield from ((f"{name}.{key}", entry) for key, entry in component.outputs.items())
    for name, kind in analyzed["type_definitions"].items():
        yield from ((f"{name}.{key}", entry) for key, entry in kind.properties.items())


def test_pulumi_infers_every_public_component(analyzed: AnalyzeResult) -> None:
    assert PUBLIC
    assert set(analyzed["component_definitions"]) == set(PUBLIC)


def test_every_input_and_output_has_a_description_in_sentences(analyzed: AnalyzeResult) -> None:
    undescribed = [name for name, entry in properties(analyzed) if not (entry.description or "").endswith(".")]

    assert undescribed == []


def test_an_input_that_may_be_left_out_says_what_is_then_used(analyzed: AnalyzeResult) -> None:
    of_outputs = {*PUBLIC, *vars(outputs)}
    inputs = [entry for entry in properties(analyzed) if entry[0].partition(".")[0] not in of_outputs]
    silent = [name for name, entry in inputs if entry.optional != ("Default:" in (entry.description or ""))]

    assert silent == []


@pytest.mark.parametrize("component", PUBLIC)
def test_only_these_arguments_may_be_outputs(analyzed: AnalyzeResult, component: str) -> None:
    found = analyzed["component_definitions"][component].inputs
    given = {
        name
        for name, entry in found.items()
        if not entry.plain or (entry.additional_properties is not None and entry.additional_properties.plain is None)
    }

    assert given - {"shapes", "prices"} == LATE.get(component, OF_A_FABRIC)


def test_only_what_has_no_type_of_ours_may_be_anything(analyzed: AnalyzeResult) -> None:
    untyped = {name for name, entry in properties(analyzed) if "pulumi.json#/Any" in _references(entry)}

    assert {name.rpartition(".")[2] for name in untyped} == ANYTHING


def _references(entry: PropertyDefinition | None) -> set[str | None]:
    if entry is None:
        return set()
    return {entry.ref} | _references(entry.items) | _references(entry.additional_properties)


def test_every_key_of_the_cluster_fabric_software_and_verification_of_stack_files_has_an_argument() -> None:
    keys = {
        key
        for name, schema in stack_file_schema()["$defs"].items()
        if name
        not in ("AcknowledgementSpec", "ExistingClusterSpec", "GuardSpec", "SplitSpec", "UpgradeSpec", "NodeHookSpec")
        for key in schema.get("properties", ())
    }
    types = [entry for entry in vars(args).values() if is_dataclass(entry)]
    arguments = {to_camel(field.name) for entry in types for field in fields(entry)}

    # The type of the arguments is that of the provider, and the token itself is an argument.
    assert keys - arguments == {"provider", "tokenSecret"}
