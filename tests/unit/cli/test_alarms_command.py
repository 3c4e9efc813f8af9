"""`gpu-fabric alarms`: the list of a stack's alarms, and their files."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from gpu_fabric.cli.app import app

pytestmark = pytest.mark.usefixtures("_project")


@pytest.fixture
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def _alarms(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["alarms", *arguments])

    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_list_has_each_alarm_with_its_time_and_why_others_are_left_out() -> None:
    text = _alarms("-s", "oke-h100")

    assert "FabricLinkDown              critical  after 2m\n" in text
    assert "FabricPortFlapping: the fabric is RoCE" in text
    assert "Needed:\n  node_exporter: every GPU node" in text
    assert "GPU Operator's own metrics" not in text


def test_the_folder_has_rules_tests_objects_and_a_dashboard(tmp_path: Path) -> None:
    _alarms("-s", "oke-h100", "--out", str(tmp_path / "alarms"))
    folder = tmp_path / "alarms"

    rules = yaml.safe_load((folder / "rules.yaml").read_text())
    assert [group["name"] for group in rules["groups"]] == ["gpu-fabric-rails-main", "gpu-fabric-stack-main"]
    assert yaml.safe_load((folder / "tests.yaml").read_text())["rule_files"] == ["rules.yaml"]
    kinds = [entry["kind"] for entry in yaml.safe_load_all((folder / "objects.yaml").read_text())]
    assert kinds == ["PrometheusRule", "ConfigMap"]
    assert json.loads((folder / "dashboard.json").read_text())["tags"] == ["gpu-fabric"]


def test_several_fabrics_have_a_folder_each(tmp_path: Path) -> None:
    _alarms("-s", "two-machines", "--out", str(tmp_path))

    assert len(list(tmp_path.glob("*/rules.yaml"))) == 2


def test_files_that_the_command_did_not_write_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    result = CliRunner().invoke(app, ["alarms", "-s", "oke-h100", "--out", str(tmp_path)])

    assert result.exit_code == 2
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_stack_that_creates_a_cluster_alone_has_no_alarms() -> None:
    result = CliRunner().invoke(app, ["alarms", "-s", "oke-split-cluster"])

    assert result.exit_code == 2
    assert "the fabric is in the stack with part platform" in result.output
