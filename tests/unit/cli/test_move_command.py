"""`gpu-fabric move`: a stack's file and state go over to the project here, or nothing of both."""

import base64
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import refusal_of, run
from stand_in_program import answer_here

# A class of a checkout, and the same of the package, by their names in a pickle.
THERE = (
    b"\x80\x04\x956\x00\x00\x00\x00\x00\x00\x00"
    b"\x8c\x17components.kept_objects\x94\x8c\x13KeptObjectsProvider\x94\x93\x94)\x81\x94."
)
HERE = THERE.replace(b"\x956", b"\x95A").replace(b"\x17components", b"\x22gpu_fabric.components")
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def state(pickled: bytes) -> dict[str, Any]:
    secret = {**SECRET, "plaintext": json.dumps(base64.b64encode(pickled).decode())}
    return {"version": 3, "deployment": {"resources": [{"urn": "urn:kept", "inputs": {"__provider": secret}}]}}


def pulumi(here: Path, words: list[str], given: str) -> tuple[int, str, str]:
    """Pulumi with one stack, whose state is the file `state.json`, and a login that may be another's."""
    login = here / "login"
    asked = [word for word in words if word != "--non-interactive"]
    if login.exists():
        return 255, "", login.read_text(encoding="utf-8")
    if asked == ["stack", "export", "--show-secrets", "--stack", "acme/train"]:
        return 0, (here / "state.json").read_text(encoding="utf-8"), ""
    if asked == ["stack", "import", "--stack", "acme/train"]:
        (here / "state.json").write_text(given, encoding="utf-8")
        return 0, "Import complete.\n", ""
    return 255, "", f"error: unknown command {words}\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in for pulumi, before all others on PATH."""
    folder = tmp_path / "programs"
    answer_here(folder / "pulumi", pulumi, monkeypatch)
    (folder / "state.json").write_text(json.dumps(state(THERE)), encoding="utf-8")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


@pytest.fixture
def team(root: Path, tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A team's repository as the current folder, beside a checkout that has brought up the stack."""
    folders = [tmp_path / "acme", tmp_path / "gpu-fabric"]
    for folder in folders:
        folder.mkdir()
        shutil.copy(root / "Pulumi.yaml", folder)
    (folders[1] / "components").mkdir()
    (folders[1] / "components/kept_objects.py").touch()
    text = (root / "examples/Pulumi.oke-h100.yaml").read_text(encoding="utf-8")
    (folders[1] / "Pulumi.train.yaml").write_text(f"encryptionsalt: v1:abc\n{text}", encoding="utf-8")
    monkeypatch.chdir(folders[0])
    return folders[0]


def test_the_state_names_the_classes_of_the_program_here_and_the_file_comes_with_its_encryption(
    team: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("move", "acme/train", "--from", "../gpu-fabric")

    assert done.exit_code == 0, done.stderr
    assert json.loads((programs / "state.json").read_text()) == state(HERE)
    files = [team.parent / name / "Pulumi.train.yaml" for name in ("acme", "gpu-fabric")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert "pulumi preview --stack acme/train" in done.stderr
    assert "encryption" not in done.output

    # And back, to a checkout.
    monkeypatch.chdir(team.parent / "gpu-fabric")
    assert run("move", "acme/train", "--from", "../acme").exit_code == 0
    assert json.loads((programs / "state.json").read_text()) == state(THERE)


@pytest.mark.parametrize(
    ("spoil", "source", "said"),
    [
        (lambda team, _: None, "../elsewhere", "../elsewhere/Pulumi.yaml: there is no project with a name"),
        (lambda team, _: None, ".", "--from is this folder"),
        (lambda team, _: (team / "Pulumi.yaml").write_text("name: clusters\nruntime: python\n"), "../gpu-fabric",
            "write `name: gpu-fabric` into"),
        (lambda team, _: (team / "Pulumi.train.yaml").write_text("config: {}\n"), "../gpu-fabric",
            "Pulumi.train.yaml exists and differs"),
        (lambda team, _: (team.parent / "gpu-fabric/Pulumi.train.yaml").unlink(), "../gpu-fabric",
            "there is no stack file for 'train'"),
        (lambda _, programs: (programs / "login").write_text("error: PULUMI_ACCESS_TOKEN must be set"), "../gpu-fabric",
            "both folders must have one login of Pulumi"),
        (lambda _, programs: (programs / "state.json").write_text(json.dumps(state(THERE[:-4]))), "../gpu-fabric",
            "the state has a provider in an unknown form: urn:kept"),
    ],
)  # fmt: skip
def test_what_cannot_be_moved_is_refused_and_stays_as_it_is(
    team: Path, programs: Path, spoil: Any, source: str, said: str
) -> None:
    spoil(team, programs)
    before = {path: path.read_bytes() for path in team.parent.rglob("*") if path.is_file()}

    assert said in refusal_of("move", "acme/train", "--from", source)
    assert {path: path.read_bytes() for path in team.parent.rglob("*") if path.is_file()} == before
