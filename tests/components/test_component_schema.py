"""Pulumi infers the schema of every public component, from which it generates the SDKs of other languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields

import pulumi
import pytest
from pulumi.provider.experimental.analyzer import Analyzer, AnalyzeResult, PropertyDefinition
from pydantic import BaseModel

import components
from gpu_fabric.spec.cluster import AddressRangesSpec, PoolSpec, TaintSpec
from gpu_fabric.spec.verification import VerificationSpec

pytestmark = pytest.mark.components

PUBLIC = [name for name in components.__all__ if f"{name}Args" in components.__all__]
INPUTS = {"GpuFabric": {"kubeconfig", "clusterId", "secrets"}}
"""Arguments that may be outputs of other resources."""


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
    inputs = [entry for entry in properties(analyzed) if entry[0].partition(".")[0] not in PUBLIC]
    silent = [name for name, entry in inputs if entry.optional != ("Default:" in (entry.description or ""))]

    assert silent == []


@pytest.mark.parametrize("component", PUBLIC)
def test_only_these_arguments_may_be_outputs(analyzed: AnalyzeResult, component: str) -> None:
    found = analyzed["component_definitions"][component].inputs
    given = {
        name
        for name, entry in found.items()
        if not entry.plain or (entry.additional_properties is not None and not entry.additional_properties.plain)
    }

    assert given == INPUTS[component]


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        (components.GpuPoolArgs, PoolSpec),
        (components.RangesArgs, AddressRangesSpec),
        (components.TaintArgs, TaintSpec),
        (components.VerificationArgs, VerificationSpec),
    ],
)
def test_a_type_of_arguments_has_every_key_of_its_part_of_a_stack_file(arguments: type, spec: type[BaseModel]) -> None:
    found = {field.name: field.default is MISSING for field in fields(arguments)}

    assert found == {name: field.is_required() for name, field in spec.model_fields.items()}


def test_every_exported_name_is_of_the_package() -> None:
    assert sorted(components.__all__) == list(components.__all__)
    assert all(getattr(components, name) is not None for name in components.__all__)
    assert all(issubclass(getattr(components, name), pulumi.ComponentResource) for name in PUBLIC)
