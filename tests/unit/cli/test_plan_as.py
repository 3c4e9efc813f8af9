"""`gpu-fabric plan --as`: files for kustomize, Argo CD or Flux, and what is refused."""

import json
from pathlib import Path
from typing import get_args

import pytest
import yaml
from command_line import refusal_of, run
from each_case import each

from gpu_fabric.cli.plan import Target
from gpu_fabric.render.gitops.files import TOOLS

GIT = ("--git", "https://git.example.com/team/clusters.git")

SSH = ("--git", "ssh://git@git.example.com/team/clusters.git")


@pytest.fixture(autouse=True)
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the development stack, whose charts are this repository's, and one with the vendors' charts."""
    text = (root / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "Pulumi.ours.yaml").write_text(text.replace("charts: bundled", "charts: upstream"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _path_of(folder: Path) -> str:
    path: str = yaml.safe_load((folder / "apps" / "networks.yaml").read_text())["spec"]["source"]["path"]
    return path


@pytest.mark.parametrize("tool", TOOLS)
def test_the_files_of_a_tool_are_written_and_the_page_about_them_is_named_on_stderr(project: Path, tool: str) -> None:
    # Another tool's files are replaced.
    run("plan", "-s", "ours", "--out", "clusters/gpu", "--as", "argo", *SSH)
    result = run("plan", "-s", "ours", "--out", "clusters/gpu", "--as", tool, *(GIT if tool == "argo" else ()))
    folder = project / "clusters" / "gpu"
    index = json.loads((folder / "index.json").read_text())
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(
        f"clusters/gpu: stack ours for {tool} in {len(index['files']) + 1} files; NOTES.md "
    )
    assert (index["as"], index["stack"]) == (tool, "ours")
    assert (folder / "NOTES.md").is_file()
    assert (folder / "apps").exists() == (tool == "argo")
    assert get_args(Target) == TOOLS


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("section", "warned"), [("", False), ("{}", True), ("{action: hold}", False)])
def test_waves_which_no_other_tool_runs_are_warned_of(project: Path, tool: str, section: str, warned: bool) -> None:
    file = project / "Pulumi.ours.yaml"
    file.write_text(file.read_text() + (f"  gpu-fabric:upgrade: {section}\n" if section else ""))

    result = run("plan", "-s", "ours", "--out", "out", "--as", tool, *(GIT if tool == "argo" else ()))

    assert result.exit_code == 0
    assert ("warning UPG007 gpu-fabric:upgrade: " in result.stderr) == warned
    assert ("an upgrade never reaches the nodes\n    -> leave the section upgrade out" in result.stderr) == warned


@each(
    ("arguments", "path"),
    [
        (("--out", "clusters/gpu"), "clusters/gpu/steps/networks"),
        (("--out", "clusters/gpu", "--git-path", "fleet/one/"), "fleet/one/steps/networks"),
        (("--out", "clusters/gpu", "--git-path", "."), "steps/networks"),
        # Where the folder is on this machine says nothing about the repository.
        (("--out", "../elsewhere/gpu"), "gpu/steps/networks"),
    ],
    ids=str,
)
def test_paths_in_the_repository_are_the_folders_or_as_written(
    project: Path, arguments: tuple[str, ...], path: str
) -> None:
    assert run("plan", "-s", "ours", "--as", "argo", *GIT, *arguments).exit_code == 0
    assert _path_of(project / arguments[1]) == path


@each(
    ("arguments", "said"),
    [
        (("--as", "flux"), "--as writes the files of one stack: give a folder with --out"),
        (("--as", "flux", "--out", "out", "--all"), "--as writes the files of one stack: leave --all out"),
        (("--as", "flux", "--out", "out", "--format", "json"), "leave one out"),
        (("--as", "argo", "--out", "out", "-s", "ours"), "give its URL with --git"),
        (("--as", "argo", "--out", "out", "--git", "https://bot:s3cret@git.example.com/a"), "leave that out"),
        (("--as", "argo", "--out", "out", "--git", "https://s3cret@git.example.com/a"), "leave that out"),
        (("--out", "out", *GIT), "--git and --git-path say where the files of --as will be: give --as"),
        (("--as", "helm", "--out", "out"), "'helm' is not one of 'kustomize'"),
        (("--as", "flux", "--out", "."), "holds what no rendered plan has put there"),
        (("--as", "flux", "--out", "out", "-s", "dev"), "software.charts to upstream, or to a mirror's URL"),
    ],
    ids=str,
)
def test_what_cannot_be_written_is_refused_with_what_to_do_and_nothing_is_written(
    project: Path, arguments: tuple[str, ...], said: str
) -> None:
    options = arguments if "-s" in arguments or "--all" in arguments else (*arguments, "-s", "ours")
    refusal = refusal_of("plan", *options)
    assert said in refusal
    assert "s3cret" not in refusal
    assert not (project / "out").exists()
