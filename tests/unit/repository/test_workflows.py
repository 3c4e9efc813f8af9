"""The workflows of GitHub Actions: nothing more allowed than needed, nothing of a stranger's in a shell."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
HERE, TEAM = ".github/workflows", "templates/repository/.github/workflows"
# A team's repository has two of its own; the others of it are links to these.
FILES = sorted(file for folder in (HERE, TEAM) for file in (ROOT / folder).glob("*.yaml") if not file.is_symlink())
NAMES = [str(file.relative_to(ROOT)) for file in FILES]
Workflow = dict[Any, Any]
# What each job may do beyond reading the repository.
MORE = {
    (f"{HERE}/comment.yaml", "comment"): {"actions": "read", "contents": "read", "pull-requests": "write"},
    (f"{HERE}/nightly.yaml", "issue"): {"issues": "write"},
    (f"{HERE}/release.yaml", "attest"): {"attestations": "write", "contents": "read", "id-token": "write"},
    (f"{HERE}/release.yaml", "draft"): {"contents": "write"},
}


def _read(name: str) -> Workflow:
    document: Workflow = yaml.safe_load((ROOT / name).read_text())
    # YAML 1.1 takes the key `on` for true.
    return {("on" if key is True else key): value for key, value in document.items()}


def _jobs(name: str) -> Iterator[tuple[str, Workflow]]:
    yield from _read(name)["jobs"].items()


def _steps(name: str) -> Iterator[Workflow]:
    for _, job in _jobs(name):
        yield from job.get("steps", ())


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_may_nothing_and_each_job_only_what_it_needs(name: str) -> None:
    assert _read(name)["permissions"] in ({}, {"contents": "read"})
    for job, content in _jobs(name):
        assert content["permissions"] == MORE.get((name, job), {"contents": "read"})


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_pinned_and_comes_from_github_or_pulumi(name: str) -> None:
    used = [entry["uses"] for entry in (*_steps(name), *(job for _, job in _jobs(name))) if "uses" in entry]
    for action in used:
        # A tag of GitHub's own; a commit of another's, since a tag can be moved.
        assert re.fullmatch(
            r"actions/[\w-]+@(v\d+|[0-9a-f]{40})|pulumi/actions@[0-9a-f]{40}|\./\.github/workflows/[\w-]+\.yaml", action
        )
    text = (ROOT / ".github" / "dependabot.yml").read_text()
    assert "package-ecosystem: github-actions" in text


@pytest.mark.parametrize("name", NAMES)
def test_no_expression_stands_in_a_shell(name: str) -> None:
    for step in _steps(name):
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("name", NAMES)
def test_every_shell_stops_at_the_first_failure_also_within_a_pipe(name: str) -> None:
    if any("run" in step for step in _steps(name)):
        assert _read(name)["defaults"] == {"run": {"shell": "bash"}}


@pytest.mark.parametrize("name", NAMES)
def test_no_checkout_leaves_its_token_behind(name: str) -> None:
    for step in _steps(name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", NAMES)
def test_no_workflow_runs_a_strangers_code_with_the_repositorys_rights(name: str) -> None:
    workflow = _read(name)
    assert "pull_request_target" not in workflow["on"]
    if "workflow_run" in workflow["on"]:
        # Only the default branch's own code, and no secret.
        assert "secrets." not in (ROOT / name).read_text()
        checkouts = [step for step in _steps(name) if step.get("uses", "").startswith("actions/checkout@")]
        assert [step["with"] for step in checkouts] == [{"persist-credentials": False}]


@pytest.mark.parametrize("folder", [HERE, TEAM])
def test_the_job_that_plans_a_pull_request_sees_no_secret(folder: str) -> None:
    plan = _read(f"{folder}/preview.yaml")["jobs"]["plan"]
    assert "secrets" not in str(plan)
    assert "environment" not in plan


@pytest.mark.parametrize("folder", [HERE, TEAM])
def test_credentials_never_go_to_a_fork(folder: str) -> None:
    jobs = _read(f"{folder}/preview.yaml")["jobs"]
    with_secrets = [job for job in jobs.values() if "secrets" in job]
    assert with_secrets == [jobs["preview"]]
    assert jobs["preview"]["needs"] == "stacks"
    assert "github.event.pull_request.head.repo.full_name == github.repository" in jobs["stacks"]["if"]


def test_secrets_reach_one_step_by_its_environment_and_nothing_else() -> None:
    for name in NAMES:
        for _, job in _jobs(name):
            assert "secrets." not in str({key: value for key, value in job.items() if key != "steps"})
        for step in _steps(name):
            assert "secrets." not in str({key: value for key, value in step.items() if key != "env"})
    holders = [step["name"] for name in NAMES for step in _steps(name) if "secrets." in str(step.get("env", ""))]
    assert holders == ["Run the engine"] * 2


@pytest.mark.parametrize("folder", [HERE, TEAM])
def test_a_stack_comes_up_one_run_at_a_time_after_its_preview_and_its_environments_approval(folder: str) -> None:
    job = _read(f"{HERE}/up-stack.yaml")["jobs"]["up"]
    assert job["concurrency"] == {"group": "up-${{ inputs.stack }}", "cancel-in-progress": False}
    assert job["needs"] == "preview"
    assert job["with"]["environment"] == "${{ inputs.environment }}"
    assert _read(f"{folder}/stack.yaml")["jobs"]["run"]["environment"] == "${{ inputs.environment }}"


def test_a_stack_that_lies_on_a_cluster_comes_up_after_the_stack_that_makes_it() -> None:
    workflow = _read(f"{HERE}/up.yaml")["jobs"]["up"]
    assert workflow["uses"] == "./.github/workflows/up-in-order.yaml"
    assert workflow["strategy"]["matrix"] == "${{ fromJSON(needs.stacks.outputs.order) }}"
    first, after = _read(f"{HERE}/up-in-order.yaml")["jobs"].items()
    assert after[1]["needs"] == first[0]
    assert first[1]["uses"] == after[1]["uses"] == "./.github/workflows/up-stack.yaml"


def test_only_the_default_branch_comes_up() -> None:
    workflow = _read(f"{HERE}/up.yaml")
    assert workflow["on"]["push"]["branches"] == ["main"]
    condition = workflow["jobs"]["stacks"]["if"]
    # A name alone may be a tag's.
    assert "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)" in condition
    assert "ref_name" not in condition


def test_drift_has_an_environment_of_its_own_and_runs_the_default_branch_alone() -> None:
    # What a branch's preview may use, anybody has who may push a branch; drift has credentials on the clusters.
    jobs = _read(f"{HERE}/drift.yaml")["jobs"]
    assert jobs["drift"]["with"]["environment"] == "drift"
    assert " ".join(jobs["stacks"]["if"].split()) == (
        "vars.GPU_FABRIC_STACKS != '' && (github.event_name == 'schedule' || "
        "github.ref == format('refs/heads/{0}', github.event.repository.default_branch))"
    )


@pytest.mark.parametrize("folder", [HERE, TEAM])
def test_drift_is_looked_for_every_day_and_changes_nothing(folder: str) -> None:
    assert len(_read(f"{HERE}/drift.yaml")["on"]["schedule"]) == 1
    [run] = [step["run"] for step in _steps(f"{folder}/stack.yaml") if step.get("name") == "Run the engine"]
    assert "--preview-only --expect-no-changes" in run
    assert re.search(r'(python -m gpu_fabric|gpu-fabric) drift -s "\$STACK" --kubeconfig -', run)


@pytest.mark.parametrize("folder", [HERE, TEAM])
def test_the_engine_is_of_the_version_of_the_programs_packages(folder: str) -> None:
    [pinned] = [
        step["with"]["pulumi-version"] for step in _steps(f"{folder}/stack.yaml") if "pulumi/actions" in str(step)
    ]
    assert f"\npulumi=={pinned}\n" in (ROOT / "requirements.txt").read_text()


def test_a_teams_repository_has_every_workflow_that_its_workflows_call_and_these_of_this_one_but_its_own() -> None:
    team = {file.name for file in (ROOT / TEAM).glob("*.yaml")}
    here = {file.name for file in (ROOT / HERE).glob("*.yaml")}
    called = {
        Path(entry["uses"]).name
        for name in team
        for _, job in _jobs(f"{TEAM}/{name}")
        for entry in (job, *job.get("steps", ()))
        if entry.get("uses", "").startswith("./")
    }

    # Tests, releases and the image are those of this program.
    assert team == here - {"test.yaml", "nightly.yaml", "release.yaml", "image.yaml"}
    assert called <= team


def test_the_drift_check_waits_in_no_group_of_up() -> None:
    # A job that waits pushes out the one that waited before it in the group.
    assert _read(f"{HERE}/drift.yaml")["concurrency"]["group"] == "drift"


def test_a_job_of_the_release_that_signs_or_publishes_runs_no_code_of_the_repository_and_installs_nothing() -> None:
    jobs = dict(_jobs(f"{HERE}/release.yaml"))
    trusted = {name for name, job in jobs.items() if "write" in job["permissions"].values()}
    assert trusted == {"attest", "draft"}
    for name in trusted:
        assert not [step for step in jobs[name]["steps"] if "checkout" in step.get("uses", "")]
        commands = {line.split()[0] for step in jobs[name]["steps"] for line in step.get("run", "").splitlines()}
        assert commands <= {"cd", "cp", "gh"}
    # A person publishes it.
    assert "--draft" in jobs["draft"]["steps"][-1]["run"]
