"""Two stacks instead of one: what their files may say, and that their plans are the two parts of one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from committed_stacks import folder_of
from stack_plans import stack_plan
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.contract.cluster import ClusterContract, cluster_contract
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan.records import PlannedCapacity
from gpu_fabric.resources import Resource, resources
from gpu_fabric.spec.load import read_document

WHOLE = ("doks-h200", "doks-b300", "doks-mi325x", "doks-inference", "oke-h100", "oke-h200", "oke-a100", "oke-pools")
SPLIT = {"part": "platform", "clusterStack": "below"}
Sections = dict[str, Any]
Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A folder with stack files, by the stacks' names."""

    def make(**stacks: Sections) -> Path:
        for name, sections in stacks.items():
            config = {f"gpu-fabric:{key}": value for key, value in sections.items()}
            (tmp_path / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": config}))
        return tmp_path

    return make


def sections_of(stack: str) -> Sections:
    return read_document(stack, folder_of(stack)).sections


def parts_of(stack: str) -> dict[str, Sections]:
    """The files of a stack that makes all, as those of two."""
    whole = sections_of(stack)
    cluster = {"split": {"part": "cluster"}, "cluster": {"name": "one", **whole.pop("cluster")}}
    return {"below": cluster, "above": {"split": SPLIT, **whole}}


def problems(root: Path, stack: str) -> list[tuple[str, str]]:
    """What keeps a stack from being planned: rule and place."""
    with pytest.raises(ConfigurationError) as refused:
        stack_plan(stack, root)
    return [(entry.id, entry.path) for entry in refused.value.findings]


def comparable(resource: Resource) -> dict[str, Any]:
    """A resource without what another stack's resources may be: a name of the stack, and what takes it along."""
    document = resource.handled(deleted_with=None).model_dump(mode="json")
    document["properties"].pop("keptBy", None)
    return document


@pytest.mark.parametrize("stack", WHOLE)
def test_cluster_and_platform_are_together_what_the_whole_is(project: Project, stack: str) -> None:
    sections = sections_of(stack)
    root = project(whole={**sections, "cluster": {"name": "one", **sections["cluster"]}}, **parts_of(stack))
    whole, below, above = (stack_plan(name, root) for name in ("whole", "below", "above"))
    made, platforms = resources(below), resources(above)

    assert made
    assert platforms
    assert [comparable(entry) for entry in (*made, *platforms)] == [comparable(entry) for entry in resources(whole)]
    assert {entry.handling.deleted_with for entry in platforms} == {None}
    assert above.workload.networks == whole.workload.networks
    assert above.addresses == whole.addresses
    assert above.record(PlannedCapacity, "capacity") == whole.record(PlannedCapacity, "capacity")
    # Each finding is said by one of the two.
    assert not set(below.findings) & set(above.findings)
    said = {(entry.id, entry.path.partition(" in ")[0]) for entry in (*below.findings, *above.findings)}
    assert {(entry.id, entry.path) for entry in whole.findings} <= said


def test_a_cluster_of_its_own_name_is_called_after_the_cluster_stack(project: Project) -> None:
    stacks = parts_of("doks-h200")
    del stacks["below"]["cluster"]["name"]
    root = project(**stacks)
    below, above = stack_plan("below", root), stack_plan("above", root)
    assert below.cluster.doks is not None
    assert below.split is not None
    assert above.split is not None
    assert below.cluster.doks.cluster.name == above.split.cluster.name == "below"
    assert below.split.cluster == above.split.cluster


@pytest.mark.parametrize(
    ("part", "section", "rule"),
    [("above", "cluster", "SPL001"), ("below", "fabric", "SPL003"), ("below", "software", "SPL003")],
)
def test_a_part_that_describes_the_other_is_refused(project: Project, part: str, section: str, rule: str) -> None:
    stacks = parts_of("doks-h200")
    stacks[part][section] = stacks["below"].get(section, {"releaseLine": "26.4"})
    assert problems(project(**stacks), part) == [(rule, f"gpu-fabric:{section}")]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("below.split", None),
        ("below.cluster.region", "nowhere in particular"),
        # Against a rule.
        ("below.cluster.ranges.pods", "10.158.0.0/20"),
        ("below", None),
        # Of a cluster that exists.
        ("below.cluster", sections_of("dev")["cluster"]),
    ],
)
def test_a_platform_whose_cluster_stack_cannot_be_planned_is_refused_at_its_name(
    project: Project, place: str, value: Any
) -> None:
    stacks = parts_of("doks-h200")
    *parents, last = place.split(".")
    holder: Any = stacks
    for part in parents:
        holder = holder[part]
    holder.update({last: value}) if value is not None else holder.pop(last)
    with pytest.raises(ConfigurationError) as refused:
        stack_plan("above", project(**stacks))

    found = [entry for entry in refused.value.findings if entry.id == "SPL002"]
    assert {entry.path for entry in found} == {"gpu-fabric:split.clusterStack"}
    assert not [entry for entry in refused.value.findings if entry.path.startswith("gpu-fabric:cluster")]
    # A fault of the cluster's file is said with its place there.
    fault = "Pulumi.below.yaml: gpu-fabric:cluster.region: "
    assert place != "below.cluster.region" or found[0].message.startswith(fault)


@pytest.mark.parametrize(
    ("split", "place"),
    [
        ({"part": "platform"}, "split"),
        ({"part": "cluster", "clusterStack": "below"}, "split.clusterStack"),
        ({"clusterStack": "below"}, "split.clusterStack"),
        ({"part": "cluster", "organization": "us"}, "split.organization"),
        ({"part": "clusters"}, "split.part"),
        ({"part": "platform", "clusterStack": "../below"}, "split.clusterStack"),
    ],
)
def test_a_section_that_contradicts_itself_is_refused(project: Project, split: Sections, place: str) -> None:
    stacks = parts_of("doks-h200")
    part = "above" if str(split.get("part")).startswith("platform") else "below"
    stacks[part]["split"] = split
    assert f"gpu-fabric:{place}" in [path for _, path in problems(project(**stacks), part)]


def test_the_cluster_output_fits_its_published_schema_and_survives_the_engine(project: Project) -> None:
    plan = stack_plan("doks-split-cluster", folder_of("dev"))
    assert plan.split is not None
    written = json.loads(json.dumps(cluster_contract(plan.split.cluster, "an-id")))
    assert ClusterContract.model_validate(written).cluster_id == "an-id"
    schema = json.loads(CliRunner().invoke(app, ["schema", "cluster"]).stdout)
    assert set(schema["required"]) <= written.keys() <= schema["properties"].keys()


def test_nobody_attaches_to_a_cluster_without_a_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_of("dev"))
    result = CliRunner().invoke(app, ["attach", "-", "-s", "doks-split-cluster"], input="kind: Pod\n")
    assert result.exit_code == 2
    assert "creates a cluster only" in result.stderr
