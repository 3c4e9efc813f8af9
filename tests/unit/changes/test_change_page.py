"""A change as a page: both plans' figures and drawings side by side, what differs marked, and the guard's judgement."""

from datetime import date
from pathlib import Path

import pytest
from changes import Changes
from command_line import refusal_of, result_of
from committed_stacks import stack_names
from diff_edits import TODAY, plan_of
from planned_fabrics import plan_of as whole_plan
from report_page import Element, page_of

from gpu_fabric.changes.change_page import change_page, drawn_fabric, figure_changes
from gpu_fabric.changes.guard import judge_plans
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.render.folder import write_files
from gpu_fabric.render.layout import files
from gpu_fabric.render.layout import plan_of as read
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.report.fabric import fabric_of

NODES = "cluster.pools[0].nodes"
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'


def text_of(base: RenderedPlan, head: RenderedPlan, today: date = TODAY) -> str:
    diff = plan_diff(base, head)
    return change_page(diff, base, head, judge_plans(diff, base, head, today))


def page(stack: str, after: Changes, before: Changes | None = None) -> Element:
    return page_of(text_of(plan_of(stack, before or {}), plan_of(stack, after)))


def marked(drawing: Element, kind: str) -> list[str]:
    return [part.all("text")[0].text for part in drawing.all("g", kind) if "differs" in part.attributes["class"]]


@pytest.mark.parametrize("stack", stack_names())
def test_a_folder_is_enough_to_draw_its_fabric(stack: str) -> None:
    plan = whole_plan(stack)

    assert drawn_fabric(read(files(rendered(plan)))) == fabric_of(plan)


def test_figures_that_differ_are_marked_with_a_word() -> None:
    rows = page("dev", {NODES: 5}).one("figures").all("tbody")[0].all("tr")
    cells = [[cell.text.split() for cell in row.all("td")] for row in rows]

    assert cells[0] == [["24", "3", "x", "BM.GPU.H100.8"], ["40", "5", "x", "BM.GPU.H100.8"], ["changed"]]
    assert [row.all("th")[0].text for row in rows if "differs" in row.attributes.get("class", "")] == ["GPUs", "rails"]
    assert {cell[-1][0] for cell in cells} == {"changed", "same"}


@pytest.mark.parametrize(
    ("after", "kind", "before_and_after"),
    [
        ({NODES: 4}, "box", ([], ["gpu 3"])),
        ({NODES: 4}, "nic", ([], [])),
        ({NODES: 2}, "box", (["gpu 2"], [])),
        ({"fabric.addressing.supernet": "10.64.0.0/16"}, "nic", (48, 48)),
        ({"fabric.addressing.supernet": "10.64.0.0/16"}, "leaf", (16, 16)),
        ({"fabric.addressing.supernet": "10.64.0.0/16"}, "box", ([], [])),
    ],
)
def test_what_comes_goes_or_gets_other_addresses_is_marked(
    after: Changes, kind: str, before_and_after: tuple[list[str] | int, list[str] | int]
) -> None:
    found = page("dev", after)
    for side, wanted in zip(("before", "after"), before_and_after, strict=True):
        shown = marked(found.one(f"{side}-fabric-drawing"), kind)
        assert (shown if isinstance(wanted, list) else len(shown)) == wanted
    assert "dashed: not the same before and after" in found.one("fabric").all("ul", "legend")[0].text


def test_the_same_fabric_is_drawn_once() -> None:
    found = page("dev", {"fabric.nccl": {"settings": {"NCCL_DEBUG": "INFO"}}})

    assert len([part for part in found.all("svg") if part.attributes.get("id", "").endswith("fabric-drawing")]) == 1
    assert "are the same before and after" in found.one("fabric").text


def test_a_cluster_alone_has_no_drawing_and_says_so_once() -> None:
    found = page("doks-split-cluster", {NODES: 4})

    assert found.one("fabric").text.count("There is no drawing") == 1
    assert "are the same" not in found.one("fabric").text


def test_the_guards_judgement_and_the_loss_are_at_the_top_and_in_full_below() -> None:
    found = page("doks-h200", {"cluster.region": "atl1"})

    assert [badge.text for badge in found.all("header")[0].all("span", "badge")] == [
        "The guard stops 2 changes",
        "Lost: 2 nodes with 16 GPUs",
    ]
    harmless = page("dev", {NODES: 4}).all("header")[0].all("span", "badge")
    assert [badge.text for badge in harmless] == ["The guard passes", "Nothing is taken away"]
    assert "Guard: 2 changes need an acknowledgement" in found.one("difference").text
    assert "Write a second stack file for the other region" in found.one("difference").text


def test_an_acknowledged_loss_is_named_as_one() -> None:
    entry = {"resource": "cluster-doks", "expires": "2026-11-25", "reason": "moved"}
    entries = [entry, {**entry, "resource": "cluster-vpc"}]
    found = page("doks-h200", {"cluster.region": "atl1", "guard.acknowledge": entries})

    assert "2 changes acknowledged: the guard passes" in found.all("header")[0].text


def test_a_folder_of_an_earlier_version_is_compared_without_figures_and_drawing() -> None:
    old = plan_of("dev", {}).model_copy(update={"figures": (), "decisions": {}})
    found = page_of(text_of(old, plan_of("dev", {NODES: 4})))

    assert [row.before for row in figure_changes(old, old)] == []
    assert "not in this plan" in found.one("figures").text
    assert "another version of the program wrote it" in found.one("fabric").text
    assert found.one("after-fabric-drawing").all("g", "nic")


def test_the_page_refers_to_nothing_outside_and_all_its_ids_differ() -> None:
    text = text_of(plan_of("dev", {}), plan_of("dev", {NODES: 12}))
    found = page_of(text)
    links = [part.attributes[name] for part in found.all("") for name in ("href", "src") if name in part.attributes]
    ids = [part.attributes["id"] for part in found.all("") if "id" in part.attributes]

    assert [link for link in links if not link.startswith("#")] == ["data:,"]
    assert len(ids) == len(set(ids))
    assert text == text_of(plan_of("dev", {}), plan_of("dev", {NODES: 12}))


def test_nothing_a_user_wrote_becomes_markup() -> None:
    base = plan_of("dev", {})
    finding = base.findings[0].model_copy(update={"message": HOSTILE, "path": HOSTILE})
    figures = (base.figures[0]._replace(detail=HOSTILE),)
    update = {"stack": HOSTILE, "findings": (finding,), "figures": figures}
    text = text_of(base.model_copy(update={"stack": HOSTILE}), base.model_copy(update=update))

    assert "<script>alert" not in text
    assert "<img" not in text


def test_the_command_prints_the_page(tmp_path: Path) -> None:
    for name, changes in (("base", {}), ("head", {NODES: 4})):
        write_files(tmp_path / name, files(plan_of("dev", changes)))
    folders = [str(tmp_path / "base"), str(tmp_path / "head")]

    assert result_of("diff", *folders, "--html").startswith("<!doctype html>\n")
    assert "--format json and --html say how to print" in refusal_of("diff", *folders, "--html", "--json")
