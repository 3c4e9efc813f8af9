"""Two stacks instead of one: what their files may say, and that their plans are the two parts of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from committed_stacks import folder_of
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.contract.cluster import ClusterContract, cluster_contract
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan.records import PlannedCapacity
from gpu_fabric.prepare import prepare, prepare_stack
from gpu_fabric.render.layout import files
from gpu_fabric.render.rendering import rendered
from gpu_fabric.report.html import html_report
from gpu_fabric.report.markdown import markdown_report
from gpu_fabric.resources import Resource, resources
from gpu_fabric.spec.load import read_document, validate

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
        prepare_stack(stack, root)
    return [(entry.id, entry.path) for entry in refused.value.findings]


def comparable(resource: Resource) -> dict[str, Any]:
    """A resource without what another stack's resources may be: a name of the stack, and what takes it along."""
    document = resource.handled(deleted_with=None).model_dump(mode="json")
    document["properties"].pop("keptBy", None)
    return document


@pytest.mark.parametrize("stack", WHOLE)
def test_the_resources_of_cluster_and_platform_are_those_of_the_whole(project: Project, stack: str) -> None:
    sections = sections_of(stack)
    root = project(whole={**sections, "cluster": {"name": "one", **sections["cluster"]}}, **parts_of(stack))
    whole, below, above = (resources(prepare_stack(name, root)) for name in ("whole", "below", "above"))
    assert below
    assert above
    assert [comparable(entry) for entry in (*below, *above)] == [comparable(entry) for entry in whole]
    assert {entry.handling.deleted_with for entry in above} == {None}


@pytest.mark.parametrize("stack", WHOLE)
def test_the_platform_has_the_contract_and_addresses_of_the_whole(project: Project, stack: str) -> None:
    root = project(**parts_of(stack))
    whole, above = prepare_stack(stack, folder_of(stack)), prepare_stack("above", root)
    assert above.workload.model_copy(update={"stack": stack}).networks == whole.workload.networks
    assert above.addresses == whole.addresses
    assert above.record(PlannedCapacity, "capacity") == whole.record(PlannedCapacity, "capacity")


@pytest.mark.parametrize("stack", WHOLE)
def test_each_finding_about_the_cluster_is_said_by_the_cluster_stack_alone(project: Project, stack: str) -> None:
    root = project(**parts_of(stack))
    below, above = (prepare_stack(name, root).findings for name in ("below", "above"))
    whole = prepare_stack(stack, folder_of(stack)).findings
    assert not set(below) & set(above)
    said = {(entry.id, entry.path.partition(" in ")[0]) for entry in (*below, *above)}
    assert {(entry.id, entry.path) for entry in whole} <= said


def test_a_cluster_of_its_own_name_is_called_after_the_cluster_stack(project: Project) -> None:
    stacks = parts_of("doks-h200")
    del stacks["below"]["cluster"]["name"]
    root = project(**stacks)
    below, above = prepare_stack("below", root), prepare_stack("above", root)
    assert below.cluster.doks is not None
    assert below.split is not None
    assert above.split is not None
    assert below.cluster.doks.cluster.name == above.split.cluster.name == "below"
    assert below.split.cluster == above.split.cluster


def test_a_platform_that_describes_the_cluster_is_refused(project: Project) -> None:
    stacks = parts_of("doks-h200")
    stacks["above"]["cluster"] = stacks["below"]["cluster"]
    assert problems(project(**stacks), "above") == [("SPL001", "gpu-fabric:cluster")]


@pytest.mark.parametrize("section", ["fabric", "software", "verification"])
def test_a_cluster_stack_that_describes_the_platform_is_refused(project: Project, section: str) -> None:
    stacks = parts_of("doks-h200")
    stacks["below"][section] = {"releaseLine": "26.4"}
    assert problems(project(**stacks), "below") == [("SPL003", f"gpu-fabric:{section}")]


def _of_another_part(stacks: dict[str, Sections]) -> None:
    del stacks["below"]["split"]


def _with_a_fault(stacks: dict[str, Sections]) -> None:
    stacks["below"]["cluster"]["region"] = "nowhere in particular"


def _against_a_rule(stacks: dict[str, Sections]) -> None:
    stacks["below"]["cluster"]["ranges"]["pods"] = "10.158.0.0/20"


def _without_the_file(stacks: dict[str, Sections]) -> None:
    del stacks["below"]


def _of_a_cluster_that_exists(stacks: dict[str, Sections]) -> None:
    stacks["below"]["cluster"] = sections_of("dev")["cluster"]
    stacks["above"]["fabric"] = sections_of("dev")["fabric"]


@pytest.mark.parametrize(
    "break_it", [_of_another_part, _with_a_fault, _against_a_rule, _without_the_file, _of_a_cluster_that_exists]
)
def test_a_platform_whose_cluster_stack_cannot_be_planned_is_refused_at_its_name(
    project: Project, break_it: Callable[[dict[str, Sections]], None]
) -> None:
    stacks = parts_of("doks-h200")
    break_it(stacks)
    found = problems(project(**stacks), "above")
    assert {entry for entry in found if entry[0] == "SPL002"} == {("SPL002", "gpu-fabric:split.clusterStack")}
    assert not [path for _, path in found if path.startswith("gpu-fabric:cluster")]


def test_a_fault_of_the_cluster_stack_is_said_with_its_file_and_place(project: Project) -> None:
    stacks = parts_of("doks-h200")
    _with_a_fault(stacks)
    with pytest.raises(ConfigurationError) as refused:
        prepare_stack("above", project(**stacks))
    (found,) = refused.value.findings
    assert found.message.startswith("Pulumi.below.yaml: gpu-fabric:cluster.region: ")


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


def test_both_committed_parts_are_planned_with_one_cluster() -> None:
    below, above = (prepare_stack(f"doks-split-{part}", folder_of("dev")) for part in ("cluster", "platform"))
    assert below.split is not None
    assert above.split is not None
    assert below.split.cluster == above.split.cluster
    assert above.cost.pools == ()
    assert below.cost.pools


@pytest.mark.parametrize("form", ["text", "html", "markdown"])
def test_reports_of_a_cluster_stack_say_nothing_of_a_fabric(form: str) -> None:
    plan = prepare_stack("doks-split-cluster", folder_of("dev"))
    shown = {"text": rendered(plan).report, "html": html_report(plan), "markdown": markdown_report(plan)}[form]
    assert "the cluster alone" in shown.lower()
    for word in ("nccl-settings", "A job's pod carries", "roce-net", "Contract</h2>", "## Contract"):
        assert word not in shown


def test_the_rendered_plan_of_a_cluster_stack_has_what_it_makes_and_nothing_more() -> None:
    found = files(rendered(prepare_stack("doks-split-cluster", folder_of("dev"))))
    assert sorted(path for path in found if path.count("/")) == [
        "cloud/cluster-doks.yaml",
        "cloud/cluster-pool-gpu.yaml",
        "cloud/cluster-vpc.yaml",
    ]
    assert "contract.json" not in found


def test_the_cluster_output_fits_its_published_schema_and_survives_the_engine(project: Project) -> None:
    plan = prepare_stack("doks-split-cluster", folder_of("dev"))
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


def test_planning_a_platform_alters_no_document() -> None:
    document = read_document("doks-split-platform", folder_of("dev"))
    before = document.model_copy(deep=True)
    prepare(document, for_up=True)
    validate(document)
    assert document == before
