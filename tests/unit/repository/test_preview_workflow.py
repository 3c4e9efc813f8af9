"""What the preview workflow does for a pull request without credentials: its own steps, on a change of some stacks."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from own_files import own_files
from workflow_steps import Ended, job_of, run_steps

from gpu_fabric.changes.review import MARKER, NOTHING_YET
from gpu_fabric.spec.load import stack_file

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
STACKS = ("dev", "doks-h200", "doks-b300")
NUMBER = {"github.event.pull_request.number": "7"}
Steps = dict[str, Ended]


class Repository:
    """A clone of the working tree with fewer stacks, as a pull request's merge: the target branch, then the change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in own_files():
            if not name.startswith(("examples/", "tests/", "docs/", "Pulumi.")):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        shutil.copy(ROOT / "Pulumi.yaml", folder)
        for stack in STACKS:
            shutil.copy(stack_file(stack, ROOT), folder)
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> str:
        """Run Git with nothing of the user's own settings."""
        who = {
            f"GIT_{role}_{what}": "nobody@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", **who}
        command = ["git", *arguments]
        ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=True)
        return ended.stdout

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a state")

    def replace(self, file: str, old: str, new: str) -> None:
        text = (self.folder / file).read_text()
        assert old in text
        (self.folder / file).write_text(text.replace(old, new, 1))

    def run(self, home: Path) -> tuple[Steps, str, str]:
        """The job's steps by their names, its summary, and the comment."""
        home.mkdir()
        summary = home / "summary.md"
        job = job_of(self.folder / ".github" / "workflows" / "preview.yaml", "plan")
        steps = {ended.name: ended for ended in run_steps(job, self.folder, summary, NUMBER, home)}
        return steps, summary.read_text(), (self.folder / "review" / "comment" / "comment.md").read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    folder = tmp_path / "repository"
    folder.mkdir()
    return Repository(folder)


def _row(comment: str, stack: str) -> list[str]:
    found = re.search(rf"^\| `{stack}` \|(.*)\|$", comment, re.MULTILINE)
    assert found, comment
    return [cell.strip() for cell in found[1].split("|")]


def test_a_pull_request_gets_a_comment_on_each_stack_pages_and_the_guards_word(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit()
    repository.replace("Pulumi.dev.yaml", "nodes: 3", "nodes: 4")
    repository.replace("Pulumi.doks-h200.yaml", "size: s-4vcpu-8gb", "size: s-8vcpu-16gb")
    repository.git("mv", "Pulumi.doks-b300.yaml", "Pulumi.moved.yaml")
    repository.commit()
    steps, summary, comment = repository.run(tmp_path / "home")
    assert comment.startswith(f"{MARKER}\n## Fabric plans: 4 of 4 stacks differ")
    assert "Pool `gpu` of `BM.GPU.H100.8`: 3 → 4 nodes, 24 → 32 GPUs" in comment
    assert _row(comment, "doks-h200") == ["17 replaced", "**2 nodes with 16 GPUs**", "**stops 1 change**"]
    assert _row(comment, "doks-b300")[0].startswith("the stack file is gone")
    assert _row(comment, "moved")[0].startswith("new: ")
    assert {name: ended.status for name, ended in steps.items() if ended.status} == {
        "Say what changes, and ask the guard": 1
    }
    assert summary == comment
    review = repository.folder / "review"
    assert (review / "comment" / "number").read_text() == "7\n"
    assert {path.stem for path in (review / "pages").glob("*.html")} == {"dev", "doks-h200", "moved"}
    assert {path.stem for path in (review / "pages" / "changes").glob("*.html")} == {"dev", "doks-h200"}
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_a_harmless_change_passes_and_a_stack_that_cannot_be_planned_does_not(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit()
    repository.replace("Pulumi.dev.yaml", "nodes: 3", "nodes: 4")
    repository.commit()
    steps, _, comment = repository.run(tmp_path / "first")
    assert {ended.status for ended in steps.values()} == {0}
    assert "2 stacks as before: `doks-b300`, `doks-h200`" in comment
    repository.replace("Pulumi.dev.yaml", "nodes: 4", "nods: 4")
    repository.commit()
    steps, summary, comment = repository.run(tmp_path / "second")
    assert steps["Say what changes, and ask the guard"].status == 2
    assert _row(comment, "dev")[0] == "**cannot be planned**: 2 problems"
    assert summary == comment


def test_the_examples_are_shown_as_long_as_the_repository_has_no_stack_of_its_own(
    repository: Repository, tmp_path: Path
) -> None:
    (repository.folder / "examples").mkdir()
    for stack in STACKS[1:]:
        (repository.folder / f"Pulumi.{stack}.yaml").rename(repository.folder / f"examples/Pulumi.{stack}.yaml")
    repository.commit()
    repository.replace("examples/Pulumi.doks-h200.yaml", "size: s-4vcpu-8gb", "size: s-8vcpu-16gb")
    repository.commit()
    _, _, comment = repository.run(tmp_path / "first")
    assert comment.startswith(f"{MARKER}\n## Fabric plans: 1 of 3 stacks differs")
    assert _row(comment, "doks-h200")[0] == "17 replaced"

    shutil.rmtree(repository.folder / "review")
    shutil.copy(repository.folder / "examples/Pulumi.doks-b300.yaml", repository.folder / "Pulumi.prod.yaml")
    repository.commit()
    steps, _, comment = repository.run(tmp_path / "second")
    assert {ended.status for ended in steps.values()} == {0}
    assert comment.startswith(f"{MARKER}\n## Fabric plans: 1 of 2 stacks differs")
    assert _row(comment, "prod")[0].startswith("new: ")


def _cut_option(repository: Repository) -> None:
    repository.replace("gpu_fabric/cli/plan.py", 'typer.Option("--all",', 'typer.Option("--every",')


def _cut_program(repository: Repository) -> None:
    repository.git("rm", "--quiet", "-r", "gpu_fabric")


def _crash(repository: Repository) -> None:
    (repository.folder / "gpu_fabric" / "__main__.py").write_text("raise MemoryError\n")


def _unknown_package(repository: Repository) -> None:
    # Other requirements give an environment of the branch's own.
    (repository.folder / "requirements.txt").write_text("no-such-package==0\n")


def _other_before(repository: Repository, change: Callable[[Repository], None]) -> None:
    """A target branch that is otherwise, and a pull request that is as the working tree."""
    for stack in STACKS[1:]:
        (repository.folder / f"Pulumi.{stack}.yaml").unlink()
    repository.commit()
    change(repository)
    repository.commit()
    repository.git("checkout", "--quiet", "HEAD~", "--", ".")
    repository.commit()


def _base_plans(repository: Repository) -> subprocess.CompletedProcess[str]:
    """The script alone, as the step calls it."""
    command = [sys.executable, ".ci/base_plans.py", "HEAD^1", "review/base"]
    environment = {**os.environ, "UV_OFFLINE": "1"}
    return subprocess.run(command, cwd=repository.folder, env=environment, capture_output=True, text=True)


def test_a_target_branch_that_has_no_such_command_yet_is_no_failure_and_the_comment_says_so(
    repository: Repository, tmp_path: Path
) -> None:
    _other_before(repository, _cut_option)
    steps, _, comment = repository.run(tmp_path / "home")
    assert {ended.status for ended in steps.values()} == {0}
    assert "no command yet that plans every stack" in comment
    assert _row(comment, "dev") == ["41 resources, 3 nodes, 24 GPUs", "not compared", "not compared"]


def test_a_target_branch_that_could_not_be_planned_fails_the_check_and_the_comment_says_so(
    repository: Repository, tmp_path: Path
) -> None:
    _other_before(repository, _crash)
    steps, summary, comment = repository.run(tmp_path / "home")
    assert {name: ended.status for name, ended in steps.items() if ended.status} == {
        "Plan the target branch by its own code": 1,
        "Say what changes, and ask the guard": 2,
    }
    assert "the target branch could not be planned" in comment
    assert _row(comment, "dev") == ["41 resources, 3 nodes, 24 GPUs", "not compared", "not compared"]
    assert summary == comment


def test_a_state_without_the_program_leaves_word_that_there_were_no_plans_yet(repository: Repository) -> None:
    _other_before(repository, _cut_program)
    assert _base_plans(repository).returncode == 0
    assert [path.name for path in (repository.folder / "review" / "base").iterdir()] == [NOTHING_YET]


def test_a_state_whose_packages_cannot_be_installed_leaves_nothing(repository: Repository) -> None:
    _other_before(repository, _unknown_package)
    ended = _base_plans(repository)
    assert ended.returncode == 1
    assert "its packages cannot be installed" in ended.stderr
    assert not (repository.folder / "review").exists()


def test_plans_that_lie_there_already_are_not_taken_for_those_of_the_target_branch(repository: Repository) -> None:
    (repository.folder / "review" / "base").mkdir(parents=True)
    ended = _base_plans(repository)
    assert (ended.returncode, ended.stderr) == (1, "review/base: is there already\n")
