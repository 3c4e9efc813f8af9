"""The stand-in charts as they lie in the repository: versions, definitions, links and Stages."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_fabric.catalog import catalog
from sandbox.crds import CHARTS

NAMES = [f"{line}/{name}" for line, release in catalog().releases.items() for name in release.charts]
# Kinds that the sandbox itself plays: KWOK knows them before any chart comes.
PLAYED_FROM_THE_START = {("v1", "Pod"), ("v1", "Node"), ("kwok.x-k8s.io/v1alpha1", "Stage")}


def stages(chart: str) -> list[dict[str, Any]]:
    files = sorted((CHARTS / chart / "stages").glob("*.yaml"))
    return [document for path in files for document in yaml.safe_load_all(path.read_text())]


def definition(path: str) -> dict[str, Any]:
    """The schema of a chart's definition, from its `properties.spec` on."""
    document = yaml.safe_load((CHARTS / path).read_text())
    schema: dict[str, Any] = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def links() -> list[Path]:
    return sorted(path for path in CHARTS.rglob("*") if path.is_symlink())


@pytest.mark.parametrize("name", NAMES)
def test_a_stand_in_has_name_and_version_of_the_chart_that_its_release_line_pins(name: str) -> None:
    chart = yaml.safe_load((CHARTS / name / "Chart.yaml").read_text())
    line, _, key = name.partition("/")
    pinned = {str(name): entry for name, entry in catalog().releases[line].charts.items()}[key]
    assert (chart["name"], chart["version"]) == (pinned.chart or key, pinned.version)


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_is_the_only_one_of_its_kind(name: str) -> None:
    kinds = [(ref["apiGroup"], ref["kind"]) for ref in (stage["spec"]["resourceRef"] for stage in stages(name))]
    # KWOK meets objects that exist already only with the first Stage of their kind
    assert not set(kinds) & PLAYED_FROM_THE_START
    assert max(Counter(kinds).values(), default=1) == 1


def test_what_two_release_lines_share_is_linked_in_a_way_that_a_clone_keeps() -> None:
    found = links()
    assert found
    assert [link for link in found if link.readlink().is_absolute() or not link.exists()] == []
    assert [link for link in found if CHARTS not in link.resolve().parents] == []


def test_an_older_line_refuses_what_only_newer_policies_have() -> None:
    older = definition("23.10/network-operator/crds/mellanox.com_nicclusterpolicies.yaml")["properties"]
    newer = definition("26.4/network-operator/crds/mellanox.com_nicclusterpolicies.yaml")["properties"]
    assert newer.keys() - older.keys() == {
        "global",
        "deploymentNodeAffinity",
        "deploymentTolerations",
        "docaTelemetryService",
    }
    assert older.keys() - newer.keys() == {"psp"}
    assert older["secondaryNetwork"]["properties"].keys() - newer["secondaryNetwork"]["properties"].keys() == {
        "ipamPlugin"
    }


def test_no_stage_makes_what_has_gone() -> None:
    """KWOK's `apply` creates an object that is not there, unless it is told of a subresource, which is only patched."""
    made = [
        step["apply"] for name in NAMES for stage in stages(name) for step in stage["spec"]["steps"] if "apply" in step
    ]
    assert made
    assert [step for step in made if not step.get("subresource")] == []
