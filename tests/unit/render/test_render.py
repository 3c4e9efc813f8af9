"""The rendered plan: read back as it was, and never written over others' files."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from changes import Changes
from stack_plans import stack_plan
from typer.testing import CliRunner, Result

from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan
from gpu_fabric.render.folder import FolderError, RenderedPlanError, read_rendered, write_files
from gpu_fabric.render.layout import files
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered


@pytest.fixture(scope="module")
def plan(root: Path) -> Plan:
    return stack_plan("dev", root)


@pytest.fixture(scope="module")
def of_dev(plan: Plan) -> RenderedPlan:
    return rendered(plan)


@pytest.fixture
def folder(of_dev: RenderedPlan, tmp_path: Path) -> Path:
    """A rendered plan on disk."""
    target = tmp_path / "plan"
    write_files(target, files(of_dev))
    return target


def _contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_plan_of_every_kind_of_stack_survives_the_folder_with_keys_as_a_stack_file_writes_them(
    rendered_plans: tuple[RenderedPlan, ...], tmp_path: Path
) -> None:
    for found in rendered_plans:
        write_files(tmp_path / "plan", files(found))
        assert read_rendered(tmp_path / "plan") == found, found.stack
        for of_fabric in found.by_fabric.values():
            assert [key for key in of_fabric.decisions.get("allocation", ()) if "_" in key] == [], found.stack


def test_objects_are_manifests_in_a_folder_a_component_and_the_index_has_their_order_with_its_edges(
    folder: Path,
) -> None:
    index = json.loads((folder / "index.json").read_text())
    listed = [resource["file"] for resource in index["resources"]]
    folders = list(dict.fromkeys(path.split("/")[1] for path in listed if path.startswith("kubernetes/")))
    assert folders == ["namespaces", "gpu-operator", "nic-policies", "cni-plugins", "ip-pools", "networks", "nccl"]
    after = {step["name"]: step["after"] for step in index["steps"]}
    assert [name for name in after if name in folders] == folders
    assert after["network-operator"] == ["namespaces"]
    assert {"ip-pools", "cni-plugins", "nic-policies"} <= set(after["networks"])
    assert "multus" not in after["networks"]
    file = folder / "kubernetes" / "networks" / "networkattachmentdefinition-default-rail-00.yaml"
    network = yaml.safe_load(file.read_text())
    assert (network["kind"], network["metadata"]["name"]) == ("NetworkAttachmentDefinition", "rail-00")


def test_a_node_more_is_a_row_more_in_every_rails_table_and_no_other_file_of_addresses(
    plan_with: Callable[[Changes], Plan],
) -> None:
    few, many = (
        files(rendered(plan_with({"cluster.pools[0].nodes": nodes})))["addresses/rail-00.csv"].splitlines()
        for nodes in (3, 4)
    )
    assert many[: len(few)] == few
    assert len(many) == len(few) + 1


def test_a_group_of_thousands_of_objects_is_one_file_with_a_line_for_each(root: Path) -> None:
    found = files(rendered(stack_plan("spiderpool-sriov-per-node", root / "tests" / "stacks")))
    (path,) = (path for path in found if path.endswith("node-pools/rail-00.yaml"))
    documents = [document for document in yaml.safe_load_all(found[path]) if document["kind"] == "SpiderIPPool"]
    assert documents
    assert found[path].count("\n") == 2 * len(list(yaml.safe_load_all(found[path])))


def test_what_a_deletion_takes_along_is_said_of_clusters_pools_and_addresses(
    rendered_plans: tuple[RenderedPlan, ...],
) -> None:
    lost = {
        (plan.stack, resource.name): (resource.loss.nodes, resource.loss.gpus, resource.loss.addresses)
        for plan in rendered_plans
        for resource in plan.resources
    }
    assert lost["doks-h200", "cluster-pool-gpu"] == (2, 16, 0)
    assert lost["doks-h200", "cluster-doks"] == (2, 16, 0)
    assert lost["oke-h100-26-4", "cluster-pool-gpu"] == (4, 32, 0)
    assert lost["oke-h100-26-4", "cluster-vcn"] == (4, 32, 64)
    assert lost["oke-h100-26-4", "ip-pools-rail-00-nvidia-network-operator"] == (0, 0, 4)
    assert lost["oke-h100-26-4", "cluster-nsg-workers"] == (0, 0, 0)


def test_what_is_said_of_the_machine_that_plans_is_no_part_of_a_rendered_plan(plan: Plan) -> None:
    said = [finding for finding in plan.findings if finding.id == "CLU003"]
    other = plan.model_copy(update={"findings": tuple(f for f in plan.findings if f.id != "CLU003")})
    assert files(rendered(plan)) == files(rendered(other))
    assert all("CLU003" not in text for text in files(rendered(plan)).values()), said


def test_an_older_rendered_plan_gives_way_with_all_its_files(
    folder: Path, plan_with: Callable[[Changes], Plan]
) -> None:
    other = files(rendered(plan_with({"fabric.addressing.layout": "flat"})))
    assert set(_contents(folder)) - set(other)
    write_files(folder, other)
    assert _contents(folder) == other
    assert [path.name for path in folder.parent.iterdir()] == ["plan"]


@pytest.mark.parametrize("strange", ["notes.md", "kubernetes/mine.yaml", "cloud/.hidden", "link to a folder"])
@pytest.mark.parametrize("rendered_before", [True, False])
def test_a_folder_with_a_file_of_somebody_elses_is_refused_and_nothing_is_lost(
    folder: Path, of_dev: RenderedPlan, strange: str, rendered_before: bool
) -> None:
    target = folder if rendered_before else folder / "somebody-elses"
    (target / strange).parent.mkdir(parents=True, exist_ok=True)
    if strange.startswith("link"):
        (target / strange).symlink_to(folder, target_is_directory=True)
    else:
        (target / strange).write_text("mine")
    before = _contents(folder)
    # Of a folder that no plan was rendered into, the top level alone is read.
    named = strange if rendered_before else strange.split("/")[0]
    with pytest.raises(FolderError, match=f"{named}; nothing was written"):
        write_files(target, files(of_dev))
    assert _contents(folder) == before


def test_a_run_that_is_cut_off_leaves_the_older_plan(
    folder: Path, of_dev: RenderedPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rename = _contents(folder), Path.rename

    def fails(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(KeyboardInterrupt):
        write_files(folder, {**files(of_dev), "report.txt": "another"})
    assert _contents(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["plan"]


def test_a_folder_that_is_no_rendered_plan_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(RenderedPlanError, match=r"no rendered plan: index\.json: No such file"):
        read_rendered(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "contract.json").unlink(), r"contract\.json: No such file"),
        (lambda folder: (folder / "contract.json").write_text("{"), "not as a rendered plan is written"),
        (lambda folder: (folder / "addresses/rail-00.csv").write_text("a,b\n1\n"), "not as a rendered plan is written"),
        (lambda folder: _edit(folder, '"schemaVersion": "v1"', '"schemaVersion": "v9"'), "layout v9"),
        (lambda folder: _edit(folder, '"contract.json"', '"../secret"'), "not in the folder"),
        (lambda folder: (folder / "index.json").write_text("[]"), "is not one of"),
        (lambda folder: (folder / "index.json").write_text("[" * 100_000), "is not one of"),
        (lambda folder: (folder / "contract.json").write_text("[" * 100_000), "not as a rendered plan is written"),
    ],
)
def test_a_rendered_plan_that_is_not_whole_is_refused_with_the_reason(
    folder: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoil(folder)
    with pytest.raises(RenderedPlanError, match=said):
        read_rendered(folder)


def _edit(folder: Path, old: str, new: str) -> None:
    index = folder / "index.json"
    assert old in index.read_text()
    index.write_text(index.read_text().replace(old, new))


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(root / "Pulumi.dev.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_the_command_writes_the_folder_and_says_so_on_stderr(project: Path) -> None:
    result = _run("plan", "--out", "made/here")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("made/here: plan of stack dev, ")
    assert read_rendered(project / "made" / "here").stack == "dev"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("arguments", [["--format", "json"], ["--summary"]])
def test_the_command_prints_or_writes_and_not_both(arguments: list[str]) -> None:
    result = _run("plan", "--out", "plan", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "leave one out" in result.stderr
