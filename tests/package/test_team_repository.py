"""The repository of a team, as the installed wheel makes it: its files, its program, and what is said of a change."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from installed_wheel import Installed, run_in
from new_projects import Project, Templates
from stub_cluster import KUBECONFIG
from workflow_steps import job_of, run_steps

from gpu_fabric.changes.review import MARKER
from sandbox.engine.workspace import Workspace
from sandbox.home import SandboxHome
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

OPTIONS = ("--provider", "doks", "--shape", "gpu-h200x8-1128gb-fabric-contracted", "--nodes", "4", "--region", "nyc2")


@pytest.fixture
def team(installed_sandbox: Installed, tmp_path: Path) -> Path:
    """A repository with the stacks `dev` and `prod`, with the environment's own programs in it."""
    folder = tmp_path / "acme"
    installed_sandbox.output("init", "prod", "--repository", str(folder), *OPTIONS)
    (folder / ".venv").symlink_to(installed_sandbox.programs.parent)
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "nobody@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **who}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def commit(folder: Path) -> None:
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a state")


def comment_on_last_commit(folder: Path, home: Path, programs: Path) -> tuple[dict[str, int], str]:
    """What the steps of the plan without credentials end with, and the comment."""
    home.mkdir()
    job = job_of(folder / ".github/workflows/preview.yaml", "plan")
    number = {"github.event.pull_request.number": "7"}
    ended = list(run_steps(job, folder, home / "summary.md", number, home, programs))
    assert len(ended) == len([step for step in job["steps"] if "run" in step])
    text = (folder / "review/comment/comment.md").read_text()
    shutil.rmtree(folder / "review")
    return {step.name: step.status for step in ended}, text


def test_the_repository_has_the_templates_files_and_the_wheel_that_it_was_made_with(
    root: Path, installed_sandbox: Installed, team: Path, wheel: Path
) -> None:
    template = root / "templates/repository"
    files = {str(path.relative_to(template)): path.read_bytes() for path in template.rglob("*") if path.is_file()}
    (team / ".venv").unlink()
    made = {str(path.relative_to(team)): path for path in team.rglob("*") if path.is_file()}

    assert made.keys() == files.keys() | {"Pulumi.prod.yaml", f"wheels/{wheel.name}"}
    assert not any(path.is_symlink() for path in made.values())
    assert {name for name, content in files.items() if made[name].read_bytes() != content} == {"requirements.txt"}
    assert made["requirements.txt"].read_text() == f"./wheels/{wheel.name}[pulumi]\n"
    assert made[f"wheels/{wheel.name}"].read_bytes() == wheel.read_bytes()
    assert made["__main__.py"].read_text().split() == ["from", "gpu_fabric.program", "import", "main", "main()"]
    assert "#   pulumi up -s prod\n" in made["Pulumi.prod.yaml"].read_text()
    plans = run_in([installed_sandbox.programs / "gpu-fabric", "plan", "--all", "--out", "plans"], team)
    assert plans.returncode == 0, plans.stderr


def test_a_repository_is_not_written_over_another(installed_sandbox: Installed, team: Path) -> None:
    (team / "Pulumi.dev.yaml").write_text("mine")
    done = installed_sandbox.run("init", "--repository", str(team))

    assert (done.returncode, (team / "Pulumi.dev.yaml").read_text()) == (2, "mine")
    assert "exists: name an empty folder" in done.stderr


def test_what_a_pull_request_loses_is_in_the_comment_and_stops_the_guard(
    installed_sandbox: Installed, team: Path, tmp_path: Path
) -> None:
    programs = installed_sandbox.programs
    (team / ".venv").unlink()
    commit(team)
    stacks = {name: (team / f"Pulumi.{name}.yaml").read_text() for name in ("dev", "prod")}
    (team / "Pulumi.dev.yaml").write_text(stacks["dev"].replace("nodes: 2", "nodes: 3"))
    commit(team)
    statuses, comment = comment_on_last_commit(team, tmp_path / "first", programs)

    assert set(statuses.values()) == {0}
    assert comment.startswith(f"{MARKER}\n## Fabric plans: 1 of 2 stacks differs")
    assert "2 → 3 nodes" in comment

    (team / "Pulumi.prod.yaml").write_text(re.sub(r"pods: [\d./]+", "pods: 10.160.0.0/16", stacks["prod"]))
    commit(team)
    statuses, comment = comment_on_last_commit(team, tmp_path / "second", programs)

    assert {name for name, status in statuses.items() if status} == {"Say what changes, and ask the guard"}
    assert "**4 nodes with 32 GPUs**" in comment


def test_the_first_pull_request_of_a_repository_is_compared_with_nothing_and_another_version_is_installed(
    installed_sandbox: Installed, team: Path, tmp_path: Path
) -> None:
    (team / ".venv").unlink()
    shutil.move(team, tmp_path / "aside")
    team.mkdir()
    (team / "README.md").write_text("empty\n")
    commit(team)
    shutil.copytree(tmp_path / "aside", team, dirs_exist_ok=True)
    commit(team)
    statuses, comment = comment_on_last_commit(team, tmp_path / "first", installed_sandbox.programs)
    assert set(statuses.values()) == {0}
    assert comment.startswith(f"{MARKER}\n## Fabric plans: 2 stacks\n")

    # Packages of the earlier version would come from an index, which is not reached here: the guard cannot judge.
    requirements = team / "requirements.txt"
    requirements.write_text(f"{requirements.read_text()}# the same\n")
    commit(team)
    statuses, comment = comment_on_last_commit(team, tmp_path / "second", installed_sandbox.programs)
    assert {name for name, status in statuses.items() if status} == {
        "Plan the target branch by the version that it names",
        "Say what changes, and ask the guard",
    }


def test_every_command_of_its_workflows_is_one_that_the_wheels_have(installed_sandbox: Installed, team: Path) -> None:
    steps = [
        step["run"]
        for file in sorted((team / ".github/workflows").glob("*.yaml"))
        for job in yaml.safe_load(file.read_text())["jobs"].values()
        for step in job.get("steps", ())
        if "run" in step
    ]
    used = {word for run in steps for word in re.findall(r"(?:gpu-fabric|\"\$command\") ([a-z]+)", run)}
    scripts = {word for run in steps for word in re.findall(r"python3? (\S+\.py)", run)}
    known = set(re.findall(r"^\W*([a-z]+)\s", installed_sandbox.output("--help"), re.MULTILINE))

    assert {"plan", "review", "drift"} <= used <= known
    assert scripts
    assert all((team / script).is_file() for script in scripts)
    assert not any(re.search(r"\bmake\b|-m gpu_fabric|sandbox", run) for run in steps)


def test_its_program_registers_the_stack_by_the_real_engine(
    installed_sandbox: Installed, team: Path, tmp_path: Path
) -> None:
    workspace = Workspace(SandboxHome(tmp_path / "home"))
    workspace.prepare(ensure(["core"], Progress()))
    project = Project(Templates(workspace, tmp_path / "projects", installed_sandbox), team)
    project.pulumi("stack", "init", "dev")
    project.pulumi("config", "set", "--secret", "gpu-fabric:kubeconfig", given=KUBECONFIG)
    project.pulumi("config", "set", "--path", "gpu-fabric:software.charts", "bundled")
    printed = project.pulumi("preview", "--json")

    assert '"type": "kubernetes:helm.sh/v3:Release"' in printed
    assert '"type": "kubernetes:k8s.cni.cncf.io/v1:NetworkAttachmentDefinition"' in printed
    project.pulumi("config", "set", "--path", "gpu-fabric:cluster.pools[0].shape", "BM.GPU.NONE")
    refused = project.run("preview", "--non-interactive")
    assert refused.returncode != 0
    assert "Pulumi.dev.yaml" in refused.stdout + refused.stderr
    assert "unhandled" not in refused.stdout + refused.stderr
