"""`gpu-fabric diff --guard`: its exit status, and where it knows acknowledgements from."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from diff_edits import named, plan_of
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.render.folder import write_files
from gpu_fabric.render.layout import files


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Rendered plans of DOKS before and after its GPU pool gets another shape."""
    edit = named("DOKS shape")
    for name, changes in (("base", edit.before), ("head", {**edit.before, **edit.after})):
        write_files(tmp_path / name, files(plan_of(edit.stack, changes)))
    return tmp_path / "base", tmp_path / "head"


def _acknowledge(folder: Path, entry: dict[str, str]) -> None:
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps({**index, "acknowledgements": [entry]}))


def test_the_command_ends_with_one_and_explains_where_nobody_acknowledged(folders: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(app, ["diff", "--guard", *map(str, folders)])
    assert result.exit_code == 1
    assert "Pulumi.doks-h200.yaml: 1 change needs an acknowledgement and has none" in result.stderr
    assert "#### Guard: 1 change needs an acknowledgement" in result.stdout
    assert CliRunner().invoke(app, ["diff", *map(str, folders)]).exit_code == 0


def test_the_command_knows_acknowledgements_from_the_later_plan(folders: tuple[Path, Path]) -> None:
    until = date.today() + timedelta(days=3)
    _acknowledge(folders[1], {"resource": "cluster-pool-gpu", "expires": str(until), "reason": "empty already"})
    result = CliRunner().invoke(app, ["diff", "--guard", *map(str, folders)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"until {until}: empty already" in result.stdout
    document = json.loads(CliRunner().invoke(app, ["diff", "--json", *map(str, folders)]).stdout)
    assert document["guard"]["passes"]
    assert document["guard"]["answers"][0]["danger"]["resource"] == "cluster-pool-gpu"


def test_a_folder_of_an_earlier_version_has_no_acknowledgements(folders: tuple[Path, Path]) -> None:
    for folder in folders:
        index = json.loads((folder / "index.json").read_text())
        del index["acknowledgements"]
        (folder / "index.json").write_text(json.dumps(index))
    result = CliRunner().invoke(app, ["diff", "--guard", *map(str, folders)])
    assert result.exit_code == 1
    assert "it is not acknowledged" in result.stderr
