"""The Markdown and the command of a difference: what others wrote stays text, and what is too long is counted."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from changes import Changes
from diff_edits import NODES, diff_of, named, plan_of
from typer.testing import CliRunner, Result

from gpu_fabric.changes.diff_markdown import LIMIT, markdown
from gpu_fabric.changes.model import Change, PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.cli.app import app
from gpu_fabric.render.folder import write_files
from gpu_fabric.render.layout import files
from gpu_fabric.render.model import RenderedPlan, RenderedResource

HOSTILE = "</details><img src=x> `` | @everyone #1 [a](http://b) \u202e\u0007"


def _with(plan: RenderedPlan, change: Callable[[RenderedResource], RenderedResource]) -> RenderedPlan:
    return plan.model_copy(update={"resources": tuple(map(change, plan.resources))})


def test_what_others_wrote_becomes_neither_markup_nor_a_mention() -> None:
    plan = plan_of("dev", {})

    def renamed(resource: RenderedResource) -> RenderedResource:
        labels = {"labels": {HOSTILE: HOSTILE}, "data": f"```\n{HOSTILE}\n"}
        update = {"identity": f"{resource.identity}{HOSTILE}", "properties": {**resource.properties, **labels}}
        return resource.model_copy(update=update)

    hostile = _with(plan, renamed)
    texts = [markdown(plan_diff(*pair)) for pair in ((plan, hostile), (hostile, plan))]
    texts.append(markdown(plan_diff(hostile, plan.model_copy(update={"resources": ()}))))
    for text in texts:
        shown, code = _outside_code(text)
        assert HOSTILE[:10] in code
        assert "<img" not in shown
        assert "@everyone" not in shown
        assert "](" not in shown
        assert "\u202e" not in text
        assert "\u0007" not in text
        assert shown.count("<details>") == shown.count("</details>")


def _outside_code(text: str) -> tuple[str, str]:
    """Markdown's text apart from its code, and the code: fences by their lines, spans by their marks."""
    shown, code, fence = [], [], ""
    for line in text.splitlines():
        mark = line.strip()
        if fence:
            fence = "" if mark == fence else fence
            code.append(line)
        elif mark.startswith("```"):
            fence = mark.rstrip("dif")
        else:
            rest = line
            while (start := rest.find("`")) >= 0:
                shown.append(rest[:start])
                length = len(rest[start:]) - len(rest[start:].lstrip("`"))
                end = _closing(rest, start + length, length)
                code.append(rest[start + length : end])
                rest = rest[end + length :]
            shown.append(rest)
    return "\n".join(shown), "\n".join(code)


def _closing(line: str, start: int, length: int) -> int:
    """Where the run of marks is that closes a span: exactly as long as the one that opened it."""
    place = start
    while place < len(line):
        run = len(line[place:]) - len(line[place:].lstrip("`"))
        if run == length:
            return place
        place += run or 1
    raise AssertionError(f"a span that nothing closes: {line}")


@pytest.mark.parametrize(
    "changes", [{NODES: 1}, {"fabric.addressing.supernet": "172.16.0.0/12"}, {"fabric.addressing.ipam": "whereabouts"}]
)
def test_thousands_of_nodes_fit_in_a_comment_and_the_text_says_what_is_only_counted(changes: Changes) -> None:
    before = plan_of("dev", {"fabric.addressing.supernet": "10.128.0.0/12", NODES: 2048})
    after = plan_of("dev", {"fabric.addressing.supernet": "10.128.0.0/12", NODES: 2048, **changes})
    found = plan_diff(before, after)
    text = markdown(found)
    assert len(text.encode()) <= LIMIT
    moves = sum(len(rail.moved) + len(rail.removed) for rail in found.rails)
    assert ("> Summarised to fit into 65,536 characters" in text) == (moves > 2000)
    assert moves == 0 or f"{moves} " in text


@pytest.mark.parametrize("limit", [40_000, 20_000, 9_000, 6_000])
def test_a_tighter_limit_is_held_by_counting_and_every_resource_stays_counted(limit: int) -> None:
    found = diff_of(named("OKE release line"))
    large = plan_diff(plan_of("oke-h100", {}), plan_of("oke-h100", {}).model_copy(update={"resources": ()}))
    for diff in (found, large):
        text = markdown(diff, limit)
        assert len(text.encode()) <= limit
        heads = [f"{len(diff.of(verdict))} {verdict}" for verdict in ("created", "changed", "replaced", "deleted")]
        assert all(head in text for head in heads)
        assert text.count("<details>") == text.count("</details>")


def test_a_text_of_others_names_and_values_without_end_fits_and_says_how_long_they_are() -> None:
    plan = plan_of("doks-h200", {})
    long = "`|<" * 30_000

    def lengthened(resource: RenderedResource) -> RenderedResource:
        properties = {key: f"{value}{long}" for key, value in resource.properties.items()}
        return resource.model_copy(update={"identity": f"{resource.identity}{long}", "properties": properties})

    found = plan_diff(plan, _with(plan, lengthened)).model_copy(
        update={"elsewhere": (Change(path=f"waits {long}", kind="changed", old=long, new="x"),) * 500}
    )
    text = markdown(found)
    assert len(text.encode()) <= LIMIT
    assert " characters)" in text


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    """The plans of an edit that takes nodes away, on disk."""
    found = []
    for name, nodes in (("before", 3), ("after", 2)):
        write_files(tmp_path / name, files(plan_of("doks-h200", {NODES: nodes})))
        found.append(str(tmp_path / name))
    return found[0], found[1]


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["diff", *arguments])


def test_the_command_prints_markdown_and_ends_with_0(folders: tuple[str, str]) -> None:
    result = _run(*folders)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("### Fabric plan of `doks-h200`: 0 created, 1 changed, 0 replaced, 0 deleted\n")
    assert "**Lost: 1 node with 8 GPUs.**" in result.stdout


def test_the_command_prints_all_of_it_as_json(folders: tuple[str, str]) -> None:
    document = json.loads(_run(*folders, "--json").stdout)
    assert not document.pop("guard")["passes"]
    (pool,) = document["resources"]
    assert (pool["verdict"], pool["lost"]) == ("changed", {"nodes": 1, "gpus": 8, "addresses": 0, "upTo": False})
    assert PlanDiff.model_validate(document).lost.nodes == 1


def test_a_loss_ends_with_1_where_that_is_asked_for(folders: tuple[str, str]) -> None:
    before, after = folders
    assert _run(before, after, "--fail-on-loss").exit_code == 1
    assert _run(after, before, "--fail-on-loss").exit_code == 0


def test_a_folder_without_a_plan_is_bad_input(folders: tuple[str, str], tmp_path: Path) -> None:
    result = _run(folders[0], str(tmp_path / "nowhere"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no rendered plan" in result.stderr
