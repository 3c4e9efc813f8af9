"""The step that runs the engine on a stack, as it stands, with a stand-in for the engine's command."""

import os
import re
from pathlib import Path

import pytest
import yaml
from workflow_steps import Ended, job_of, run_steps

ROOT = Path(__file__).parents[3]
SECRET = "very-secret"
# Writes down what it is called with, and gives a kubeconfig that no cluster has.
PULUMI = """#!/bin/bash
printf '%s\\n' "$*" >>"$HOME/calls"
[ "$1" != stack ] || printf 'token: very-secret\\n'
[ "$1" != "$(cat "$HOME/fails" 2>/dev/null)" ] || exit 7
"""


def _run(
    home: Path, monkeypatch: pytest.MonkeyPatch, task: str, fails: str = "", root: Path = ROOT
) -> tuple[Ended, list[str], str]:
    """The step's end, the calls of the engine, and the job's summary."""
    programs = home / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "pulumi").write_text(PULUMI)
    (programs / "pulumi").chmod(0o755)
    (home / "fails").write_text(fails)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    job = job_of(root / ".github" / "workflows" / "stack.yaml", "run")
    step = next(step for step in job["steps"] if step.get("name") == "Run the engine")
    named = set(re.findall(r"\$\{\{ *(.*?) *\}\}", str(step["env"])))
    inputs = {
        "inputs.task": task,
        "inputs.stack": "dev",
        "inputs.full": "acme/dev",
        "inputs.cluster || inputs.full": "acme/base",
    }
    values = {name: inputs.get(name, SECRET if name.startswith("secrets.") else "plain") for name in named}
    [ended] = run_steps({"steps": [step]}, ROOT, home / "summary", values, home)
    return ended, (home / "calls").read_text().splitlines(), (home / "summary").read_text()


@pytest.mark.parametrize(
    ("task", "call"),
    [
        ("preview", "preview --stack acme/dev --non-interactive --color never --suppress-outputs"),
        ("up", "up --stack acme/dev --non-interactive --color never --suppress-outputs --yes"),
    ],
)
def test_the_engine_is_asked_for_the_task_and_its_failure_is_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, call: str
) -> None:
    ended, calls, summary = _run(tmp_path, monkeypatch, task, fails=task)
    assert (ended.status, calls) == (7, [call])
    assert summary == f"#### {task} of acme/dev\n\n```\n```\n"


@pytest.mark.parametrize("has_policies", [False, True])
@pytest.mark.parametrize(("task", "more"), [("preview", ""), ("up", " --yes")])
def test_a_teams_tasks_run_under_the_policies_where_these_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, more: str, has_policies: bool
) -> None:
    if has_policies:
        (tmp_path / "programs").mkdir()
        (tmp_path / "programs/gpu-fabric-policy").write_text("#!/bin/bash\necho /the/pack\n")
        (tmp_path / "programs/gpu-fabric-policy").chmod(0o755)
    ended, calls, _ = _run(tmp_path, monkeypatch, task, root=ROOT / "templates/repository")
    under = " --policy-pack /the/pack --policy-pack-config policy.json" if has_policies else ""
    assert ended.status == 0
    assert calls == [f"{task} --stack acme/dev --non-interactive --color never{under} --suppress-outputs{more}"]


def test_a_task_that_goes_well_ends_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(tmp_path, monkeypatch, "up")[0].status == 0


@pytest.mark.parametrize("fails", ["", "refresh"], ids=["nothing differs", "something differs"])
def test_a_check_for_drift_looks_into_the_releases_whatever_the_refresh_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    ended, calls, _ = _run(tmp_path, monkeypatch, "drift", fails)
    assert calls == [
        "refresh --stack acme/dev --non-interactive --color never --preview-only --expect-no-changes",
        "stack output kubeconfig --show-secrets --stack acme/base",
    ]
    # The stand-in's kubeconfig is none, and that is the last word.
    assert ended.status == 2


def test_a_drift_that_only_the_refresh_finds_fails_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/bash\ncat >/dev/null\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    assert _run(tmp_path, monkeypatch, "drift", "refresh")[0].status == 7


def test_packages_are_installed_where_pulumi_looks_for_them_before_any_step_has_a_secret() -> None:
    steps = job_of(ROOT / ".github" / "workflows" / "stack.yaml", "run")["steps"]
    names = [step.get("name") for step in steps]
    install = steps[names.index("Install the program")]["run"]
    named = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["runtime"]["options"]["virtualenv"]

    assert names.index("Install the program") < names.index("Run the engine")
    assert f"python -m venv {named}\n{named}/bin/python -m pip install" in install
    assert f"{named}/bin/uv pip install --quiet --python {named} " in install


@pytest.mark.parametrize("task", ["preview", "up", "drift", "destroy"])
def test_no_secret_is_printed_or_stands_on_a_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    (tmp_path / "calls").touch()
    ended, calls, summary = _run(tmp_path, monkeypatch, task)
    assert SECRET not in ended.output + summary + "".join(calls)


def test_another_task_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "calls").touch()
    ended, calls, _ = _run(tmp_path, monkeypatch, "destroy")
    assert (ended.status, calls) == (2, [])
