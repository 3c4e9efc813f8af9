"""That every test is collected and looks at something, at its time and in its part.

pytest takes one file of a name, and leaves out another of the same in a run of all.
"""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from committed_stacks import chosen, stack_names
from each_case import each
from planned_fabrics import spec_of

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.case import case_of
from tests.conftest import TESTS, WHEN, changed_since, files_of_product, part_of, stacks_of_branch, unchanged_since

FILES = sorted(TESTS.rglob("test_*.py"))


def test_no_two_test_files_share_a_name() -> None:
    assert [name for name, count in Counter(file.name for file in FILES).items() if count > 1] == []


def test_no_process_has_less_time_than_its_test() -> None:
    """On a busy machine a process may take a hundred times as long: pytest ends a test that hangs, by its own limit."""
    limited = re.compile(r"\b(?:run|wait|communicate|check_output|check_call)\([^()]*(?:\([^()]*\)[^()]*)*timeout=\d")
    # Two end something else after their limit: a run of Helm that waits, and a virtual machine. The third is no test.
    excepted = {"sandbox/test_interruptions.py", "node/guest.py", "bench/report.py"}
    found = {str(file.relative_to(TESTS)) for file in TESTS.rglob("*.py") if limited.search(file.read_text("utf-8"))}
    assert found == excepted


def test_what_runs_at_its_own_time_alone_exists_and_says_why() -> None:
    functions = {
        name: file for file in FILES for name in re.findall(r"^ *def (test_\w+)", file.read_text("utf-8"), re.M)
    }
    for place, reason in WHEN["night"].items():
        file, _, name = place.partition("[")[0].partition("::")
        assert TESTS / file in FILES, place
        assert not name or functions[name] == TESTS / file, place
        assert reason, place

    assert {*WHEN["slow"], *WHEN["every_stack"]} <= functions.keys() | {str(file.relative_to(TESTS)) for file in FILES}
    stacks = {*stack_names(), "dev", *(path.name.split(".")[1] for path in TESTS.parent.glob("examples/Pulumi.*"))}
    assert {name for names in WHEN["stacks"].values() for name in names} <= stacks


def test_the_stacks_of_every_run_have_every_manager() -> None:
    managers = {case_of(spec_of(name, None)).choices.manager for name in WHEN["stacks"]["others"]}
    assert managers == {row.manager for row in catalog().support}


def test_files_of_a_product_are_left_out_where_it_is_known_to_be_unchanged_alone(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *words], cwd=tmp_path, check=True)

    def commit(file: str, text: str) -> None:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
        git("add", ".")
        git("commit", "--quiet", "--message", file)

    def is_unchanged() -> bool:
        changed_since.cache_clear()
        return unchanged_since(tmp_path, ("sandbox",)) is not None

    assert not is_unchanged(), "no repository"
    git("init", "--quiet", "--initial-branch", "main")
    commit("sandbox/code", "1")
    assert not is_unchanged(), "main itself"
    git("checkout", "--quiet", "-b", "branch")
    commit("core", "1")
    assert is_unchanged()
    assert changed_since(tmp_path, "core") == (unchanged_since(tmp_path, ("sandbox",)), ["core"])
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/Pulumi.added.yaml").touch()
    (tmp_path / "examples/README.md").touch()
    assert stacks_of_branch(tmp_path) == {"added"}
    (tmp_path / "sandbox/new").touch()
    assert not is_unchanged(), "a file that is not added"
    (tmp_path / "sandbox/new").unlink()
    (tmp_path / "sandbox/code").write_text("2")
    assert not is_unchanged(), "a change that is not committed"
    commit("core", "2")
    assert not is_unchanged(), "a change of the branch"
    git("branch", "--quiet", "--delete", "--force", "main")
    assert not is_unchanged(), "no main"


@pytest.mark.parametrize(("folder", "some"), [("unit/sandbox", 10), ("unit/nccl_topology", 2)])
def test_the_products_whose_tests_may_be_left_out_have_tests_and_paths(folder: str, some: int) -> None:
    assert all((TESTS.parent / path).exists() for path in WHEN["products"][folder])
    assert some < len(files_of_product(folder)) <= len([*(TESTS / folder).rglob("test_*.py")])


def test_the_parts_of_all_tests_have_each_file_once() -> None:
    assert set(part_of(3).values()) == {1, 2, 3}
    assert part_of(3).keys() == {*FILES}


def test_of_all_committed_stacks_some_are_chosen_and_of_a_few_none_is_left_out() -> None:
    every = stack_names()

    assert chosen([*every, "no stack"], every[:2], lambda name: [name]) == [*every[:2], "no stack"]
    assert chosen(every[:5], [], lambda name: [name]) == every[:5]


def test_of_cases_in_one_test_all_run_and_each_that_fails_is_named() -> None:
    ran = []

    @each("first", [1, 2])
    @each(("second", "third"), [(1, 2), (3, 4)])
    def test(first: int, second: int, third: int, fixture: str) -> None:
        ran.append((first, second, third, fixture))
        assert first == 1

    with pytest.raises(BaseExceptionGroup, match="1 cases: 2"):
        test(fixture="here")
    assert ran == [(1, 1, 2, "here"), (1, 3, 4, "here"), (2, 1, 2, "here"), (2, 3, 4, "here")]
