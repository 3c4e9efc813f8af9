"""One comment on all stacks of a change: what is lost first, everything told or counted, within GitHub's limit."""

import re
from datetime import date
from html import unescape
from pathlib import Path

import pytest
from diff_edits import NODES, plan_of
from stack_plans import stack_plan
from typer.testing import CliRunner, Result

from gpu_fabric.changes.diff_markdown import LIMIT
from gpu_fabric.changes.review import MARKER, NOTHING_YET, NoPlans, Review, comment, read_side, review
from gpu_fabric.cli.app import app
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.render.folder import write_files
from gpu_fabric.render.layout import files, refused_files, stacks_index
from gpu_fabric.render.model import RefusedPlan, RenderedPlan

TODAY = date(2026, 11, 22)
FEWER = {NODES: 2}
DEAD_SYSTEM_POOL = {"cluster.systemPool.size": "s-8vcpu-16gb"}
BROKEN = "config:\n  gpu-fabric:cluster:\n    provider: existing\n    pool: []\n"


def _named(plan: RenderedPlan, name: str) -> RenderedPlan:
    return plan.model_copy(update={"stack": name})


def _refused(folder: Path) -> RefusedPlan:
    (folder / "Pulumi.broken.yaml").write_text(BROKEN)
    with pytest.raises(ConfigurationError) as caught:
        stack_plan("broken", folder)
    return RefusedPlan(file=caught.value.file, findings=caught.value.located)


def _row(text: str, stack: str) -> list[str]:
    """A stack's row of the table at the top."""
    line = next(line for line in text.splitlines() if line.startswith(f"| `{stack}` |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def _written(folder: Path, *plans: RenderedPlan) -> Path:
    found = {f"{plan.stack}/{path}": text for plan in plans for path, text in files(plan).items()}
    write_files(folder, found | stacks_index(found))
    return folder


def _command(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["review", *map(str, arguments)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Review:
    """A change with a stack of every state."""
    dev, doks = plan_of("dev", {}), plan_of("doks-h200", {})
    base = {"dev": dev, "doks-h200": doks, "gone": _named(doks, "gone"), "same": _named(dev, "same")}
    head = {
        "dev": plan_of("dev", FEWER),
        "doks-h200": plan_of("doks-h200", DEAD_SYSTEM_POOL),
        "same": _named(dev, "same"),
        "new": _named(dev, "new"),
        "broken": _refused(tmp_path_factory.mktemp("broken")),
    }
    return review(base, head, TODAY)


def test_what_cannot_be_planned_comes_first_then_what_the_guard_stops_then_other_losses(whole: Review) -> None:
    text = comment(whole)
    rows = re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)
    # By the mark it is found again.
    assert text.startswith(f"{MARKER}\n## Fabric plans: 5 of 6 stacks differ\n")
    assert [line for line in text.splitlines() if "`same`" in line] == ["1 stack as before: `same`"]
    assert _row(text, "doks-h200")[1:] == ["17 replaced", "**2 nodes with 16 GPUs**", "**stops 1 change**"]
    assert "> **The guard stops 1 stack**" in text
    assert rows[:5] == ["broken", "doks-h200", "gone", "dev", "new"]


def test_a_stack_that_cannot_be_planned_is_told_with_place_and_remedy_and_so_are_all_others(whole: Review) -> None:
    text = comment(whole)
    assert "cannot be planned" in _row(text, "broken")[1]
    assert "`gpu-fabric:cluster.pool`: this key is not known (SPC001)" in text
    assert "did you mean 'pools'?" in text
    assert "### Fabric plan of `doks-h200`" in text


def test_a_removed_stack_says_what_goes_once_it_is_destroyed_and_that_nothing_goes_by_itself(whole: Review) -> None:
    text = comment(whole)
    assert _row(text, "gone")[1:3] == ["the stack file is gone, with 18 resources", "**2 nodes with 16 GPUs**"]
    assert "That alone deletes nothing" in text
    goes = comment(review({"dev": plan_of("dev", {})}, {}, TODAY))
    # It is not planned on another cluster.
    assert "Another cluster" not in goes
    assert "| no longer planned |" in goes


def test_a_new_stack_is_told_by_its_plan(whole: Review) -> None:
    text = comment(whole)
    assert _row(text, "new")[1] == "new: 41 resources, 3 nodes, 24 GPUs"
    assert "release line | none | `26.7`" in text
    assert "Plan of stack dev" in text


def test_the_whole_plan_of_a_new_stack_is_the_first_to_go_and_no_other_stack_has_one() -> None:
    told = "The plan as `gpu-fabric plan` prints it"
    new = review({}, {"dev": plan_of("dev", {})}, TODAY)
    text = comment(new)
    changed = comment(review({"dev": plan_of("dev", {})}, {"dev": plan_of("dev", {NODES: 40})}, TODAY))

    assert (text.count(told), changed.count(told)) == (1, 0)
    assert "### Fabric plan of `dev`" in (shorter := comment(new, len(text.encode()) - 1))
    assert told not in shorter


def test_a_stack_whose_plan_before_was_refused_is_told_whole_with_the_reason(tmp_path: Path) -> None:
    found = review({"dev": _refused(tmp_path)}, {"dev": plan_of("dev", {})}, TODAY)
    text = comment(found)
    assert "There is no earlier plan to compare with: its stack file could not be planned" in text
    assert _row(text, "dev")[1:] == ["41 resources, 3 nodes, 24 GPUs", "not compared", "**cannot judge**"]
    assert "> **The guard cannot judge 1 stack**" in text
    assert "0 of 1 stack differ, 1 not compared" in text
    assert "Nothing is taken away" not in text


@pytest.mark.parametrize(
    ("yet", "reason"),
    [(True, "has no command yet that plans every stack"), (False, "could not be planned, so the losses are not known")],
)
def test_without_a_base_every_stack_is_one_row_and_the_comment_says_why(yet: bool, reason: str) -> None:
    head = {"dev": plan_of("dev", {}), "doks-h200": plan_of("doks-h200", {})}
    text = comment(review(NoPlans(yet=yet), head, TODAY))
    assert reason in text
    assert "## Fabric plans: 2 stacks\n" in text
    assert _row(text, "dev")[1:] == ["41 resources, 3 nodes, 24 GPUs", "not compared", "not compared"]
    assert "###" not in text


@pytest.mark.parametrize("limit", [LIMIT, 20_000, 6_000, 3_000])
def test_a_comment_of_many_stacks_keeps_its_limit_and_counts_what_it_leaves_out(
    rendered_plans: tuple[RenderedPlan, ...], limit: int
) -> None:
    plans = rendered_plans
    base = {f"stack-{number:02d}": _named(plan, f"stack-{number:02d}") for number, plan in enumerate(plans)}
    turned = [*plans[1:], plans[0]]
    head = {name: _named(plan, name) for name, plan in zip(base, turned, strict=True)}
    text = comment(review(base, head, TODAY), limit)
    assert len(text.encode()) <= limit
    assert f"{len(plans)} of {len(plans)} stacks differ" in text
    rows = re.findall(r"^\| `stack-\d\d` \|", text, re.MULTILINE)
    left = re.search(r"and (\d+) stacks? more", text)
    assert len(rows) + (int(left[1]) if left else 0) == len(plans)
    assert text.count("<details>") == text.count("</details>")


def test_the_stack_with_most_to_tell_is_shortened_before_the_others() -> None:
    base = {"dev": plan_of("dev", {}), "doks-h200": plan_of("doks-h200", {})}
    head = {
        "dev": plan_of("dev", {"fabric.addressing.supernet": "10.64.0.0/16", NODES: 40}),
        "doks-h200": plan_of("doks-h200", DEAD_SYSTEM_POOL),
    }
    found = review(base, head, TODAY)
    whole = comment(found)
    text = comment(found, len(whole.encode()) - 1)
    assert "> Summarised" not in whole
    assert text.count("> Summarised") == 1
    assert "`nodePool.size`: `s-4vcpu-8gb` → `s-8vcpu-16gb`" in text


def test_names_and_values_of_a_strangers_stack_file_never_become_markup(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.x.yaml").write_text('config:\n  "gpu-fabric:<img src=x> @everyone [a](b)": 1\n')
    with pytest.raises(ConfigurationError) as caught:
        stack_plan("x", tmp_path)
    refused = RefusedPlan(file=caught.value.file, findings=caught.value.located)
    name = "<img src=x> @everyone [a](b)"
    doks = plan_of("doks-h200", {}), plan_of("doks-h200", DEAD_SYSTEM_POOL)
    base, head = ({name: _named(plan, name)} for plan in doks)
    text = re.sub(r"`[^`\n]*`", "", comment(review(base, {**head, "x": refused}, TODAY)))
    assert "To apply it anyway" in text
    assert "<img" not in text
    assert "@everyone" not in unescape(text)
    assert "](" not in text


def test_the_command_ends_with_0_and_with_the_guard_asked_with_1_where_something_is_lost(tmp_path: Path) -> None:
    base = _written(tmp_path / "base", plan_of("doks-h200", {}))
    head = _written(tmp_path / "head", plan_of("doks-h200", DEAD_SYSTEM_POOL))
    asked, unasked = _command("--guard", base, head), _command(base, head)
    assert (unasked.exit_code, asked.exit_code) == (0, 1)
    assert asked.stdout == unasked.stdout
    assert _command("--guard", base, base).exit_code == 0


def test_every_stack_that_differs_gets_a_page_and_no_other(tmp_path: Path) -> None:
    dev, doks = plan_of("dev", {}), plan_of("doks-h200", {})
    base = _written(tmp_path / "base", dev, doks, _named(dev, "gone"))
    head = _written(tmp_path / "head", plan_of("dev", FEWER), doks, _named(dev, "new"))
    pages = tmp_path / "pages"
    assert _command("--pages", pages, base, head).stdout == _command(base, head).stdout
    assert sorted(path.name for path in pages.iterdir()) == ["dev.html", "index.json"]
    assert "<title>Change of dev</title>" in (pages / "dev.html").read_text(encoding="utf-8")


def test_pages_are_not_written_where_the_user_has_other_files(tmp_path: Path) -> None:
    base = _written(tmp_path / "base", plan_of("dev", {}))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes").touch()
    result = _command("--pages", tmp_path / "own", base, base)
    assert result.exit_code == 2
    assert str(tmp_path / "own") in result.stderr
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["notes"]


def test_the_row_counts_changes_as_the_guards_section_does_and_names_addresses_that_move() -> None:
    acknowledged = [{"resource": "ip-pools", "expires": "2026-11-30", "reason": "no job runs"}]
    moved = {"fabric.addressing.supernet": "10.64.0.0/16"}
    base = {"dev": plan_of("dev", {})}
    refused = comment(review(base, {"dev": plan_of("dev", moved)}, TODAY))
    agreed = comment(review(base, {"dev": plan_of("dev", {**moved, "guard.acknowledge": acknowledged})}, TODAY))
    assert "#### Guard: 1 change needs an acknowledgement" in refused
    assert _row(refused, "dev")[2:] == ["**shares of addresses: 48 move**", "**stops 1 change**"]
    assert _row(agreed, "dev")[2:] == ["**shares of addresses: 48 move**", "1 acknowledged"]


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        ({NODES: 4}, "nothing"),
        (FEWER, "**shares of addresses: 16 fewer**"),
        ({"fabric.namespaces": ["other"]}, "**16 networks of running jobs**"),
        (
            {"fabric.addressing.layout": "flat"},
            "**48 addresses of the fabric, 16 networks of running jobs, what jobs ask for**",
        ),
    ],
    ids=["a node more", "a node fewer", "networks elsewhere", "pools made anew"],
)
def test_nothing_is_lost_only_where_nothing_is_taken_away(after: dict[str, object], lost: str) -> None:
    text = comment(review({"dev": plan_of("dev", {})}, {"dev": plan_of("dev", after)}, TODAY))
    assert _row(text, "dev")[2] == lost
    assert ("Nothing is taken away" in text) == (lost == "nothing")


def test_a_reason_in_a_stack_file_mentions_nobody() -> None:
    reason = "agreed by @acme/oncall &commat;acme &#64;x"
    entry = {"resource": "cluster-doks", "expires": "2026-11-30", "reason": reason}
    head = plan_of("doks-h200", {**DEAD_SYSTEM_POOL, "guard.acknowledge": [entry]})
    text = comment(review({"doks-h200": plan_of("doks-h200", {})}, {"doks-h200": head}, TODAY))
    # GitHub reads entities before it looks for names behind the sign.
    shown = unescape(re.sub(r"\\([#&])", r"\1", re.sub(r"`[^`\n]*`", "", text)))
    assert "agreed by @\u2060acme/oncall &commat;acme &#64;x" in shown
    assert not re.search(r"@\w", shown)


def test_the_command_ends_with_2_where_a_stack_cannot_be_planned_and_tells_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "Pulumi.dev.yaml").write_text((root / "Pulumi.dev.yaml").read_text())
    (checkout / "Pulumi.broken.yaml").write_text(BROKEN)
    monkeypatch.chdir(checkout)
    planned = CliRunner().invoke(app, ["plan", "--all", "--out", str(tmp_path / "head")])
    result = _command(_written(tmp_path / "base", plan_of("dev", FEWER)), tmp_path / "head")
    assert (planned.exit_code, result.exit_code) == (2, 2)
    assert "Pulumi.broken.yaml: " in planned.stderr
    assert "cannot be planned" in _row(result.stdout, "broken")[1]
    assert "2 → 3 nodes" in result.stdout


def test_the_command_refuses_a_head_without_plans_and_says_which(tmp_path: Path) -> None:
    result = _command(tmp_path, tmp_path / "head")
    assert result.exit_code == 2
    assert "head: no rendered plans: No such file or directory" in result.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    # In the place of plans it would say of each stack that it is gone.
    assert "empty: no rendered plans: it has no index.json" in _command(tmp_path, empty).stderr


def test_where_the_state_before_could_not_be_planned_the_guard_fails_and_the_plans_are_told(tmp_path: Path) -> None:
    head, empty = _written(tmp_path / "head", plan_of("dev", {})), tmp_path / "empty"
    empty.mkdir()
    for base in (tmp_path / "missing", empty):
        result = _command("--guard", base, head)
        assert result.exit_code == 2
        assert _row(result.stdout, "dev")[2:] == ["not compared", "not compared"]
        assert "the guard has not judged every stack" in result.stderr
        assert _command(base, head).exit_code == 0


def test_where_the_state_before_had_no_command_yet_the_guard_passes_and_the_comment_says_so(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / NOTHING_YET).touch()
    result = _command("--guard", base, _written(tmp_path / "head", plan_of("dev", {})))
    assert result.exit_code == 0
    assert "no command yet that plans every stack" in result.stdout
    assert _row(result.stdout, "dev")[2:] == ["not compared", "not compared"]


@pytest.mark.parametrize("before", ["of another layout", "refused"])
def test_the_guard_fails_where_one_stack_has_no_plan_before_that_can_be_read(tmp_path: Path, before: str) -> None:
    base = _written(tmp_path / "base", plan_of("dev", {}), plan_of("doks-h200", {}))
    head = _written(tmp_path / "head", plan_of("dev", FEWER), plan_of("doks-h200", {}))
    index = base / "dev" / "index.json"
    if before == "refused":
        refused = _refused(tmp_path)
        error = ConfigurationError(refused.findings, refused.file)
        index.write_text(refused_files(error)["index.json"])
    else:
        index.write_text(index.read_text().replace('"schemaVersion": "v1"', '"schemaVersion": "v9"'))
    result = _command("--guard", base, head)
    assert result.exit_code == 2
    assert _row(result.stdout, "dev")[2:] == ["not compared", "**cannot judge**"]
    assert _command(base, head).exit_code == 0


def test_a_plan_of_another_layout_cannot_be_read_and_the_others_are_told(tmp_path: Path) -> None:
    base = _written(tmp_path / "base", plan_of("dev", {}), plan_of("doks-h200", {}))
    head = _written(tmp_path / "head", plan_of("dev", FEWER), plan_of("doks-h200", {}))
    index = head / "doks-h200" / "index.json"
    index.write_text(index.read_text().replace('"schemaVersion": "v1"', '"schemaVersion": "v9"'))
    result = _command(base, head)
    assert result.exit_code == 2
    assert _row(result.stdout, "doks-h200")[1] == "**its rendered plan cannot be read**"
    assert "a rendered plan of layout v9" in result.stdout
    assert _row(result.stdout, "dev")[1] == "no resource differs, only what jobs read, addresses, cost"


def test_plans_and_pages_of_all_stacks_are_written_and_replaced_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / f"Pulumi.{name}.yaml").write_text((root / "Pulumi.dev.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["plan", "--all", "--out", "plans"]).exit_code == 0
    assert sorted(read_side(Path("plans"))) == ["one", "two"]
    (tmp_path / "Pulumi.two.yaml").unlink()
    assert CliRunner().invoke(app, ["plan", "--all", "--out", "plans"]).exit_code == 0
    assert sorted(read_side(Path("plans"))) == ["one"]
    assert CliRunner().invoke(app, ["plan", "--all", "--format", "html", "--out", "pages"]).exit_code == 0
    assert sorted(path.name for path in Path("pages").iterdir()) == ["index.json", "one.html"]
