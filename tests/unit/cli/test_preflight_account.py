"""`gpu-fabric preflight --account`: by the cloud's own command line, whose output is never repeated."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import run

ROOT = Path(__file__).parents[3]
_PROGRAM = """\
#!{python} -IS
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
answers = json.loads((here / "answers.json").read_text())
given = next(answer for key, answer in answers.items() if " ".join(sys.argv[1:]).startswith(key))
if given == "fails":
    print("Error: unable to use the token dop_v1_secret", file=sys.stderr)
    sys.exit(1)
print(given if isinstance(given, str) else json.dumps(given))
"""
SIZES = ("gpu-h200x8-1128gb-fabric-contracted", "s-4vcpu-8gb")
TEAM: dict[str, Any] = {
    "account get": {"droplet_limit": 25},
    "compute droplet list": [],
    "compute size list": [{"slug": slug, "regions": ["nyc2"], "available": True} for slug in SIZES],
    "kubernetes cluster list": [],
    "kubernetes options versions": [{"slug": "1.36.1-do.0"}],
    "vpcs list": [],
}


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that alone is on PATH; what is called there is in `calls.jsonl`."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(ROOT)
    return tmp_path


def stand_in(folder: Path, program: str, answers: dict[str, Any]) -> None:
    path = folder / program
    path.write_text(_PROGRAM.format(python=sys.executable), encoding="utf-8")
    path.chmod(0o755)
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")


def test_a_team_that_has_everything_is_a_good_exit_without_any_cluster(commands: Path) -> None:
    stand_in(commands, "doctl", TEAM)

    done = run("preflight", "doks-h200", "--account")

    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        ["stack doks-h200 and the account at its cloud", "nothing stands in the way of `up`"],
    )
    calls = [json.loads(line) for line in (commands / "calls.jsonl").read_text().splitlines()]
    assert all(call[-2:] == ["--output", "json"] for call in calls)


def test_what_the_team_lacks_is_printed_with_its_rule_and_as_data(commands: Path) -> None:
    stand_in(commands, "doctl", {**TEAM, "account get": {"droplet_limit": 3}})

    done = run("preflight", "doks-h200", "--account", "--format", "json")

    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert (document["kubernetes"], document["nodes"]) == (None, None)
    assert [entry["id"] for entry in document["differences"]] == ["PRE123"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("fails", "`doctl account get --output` failed with exit code 1; run it to see why"),
        ("not JSON: dop_v1_secret", "`doctl account get --output` printed no JSON; run it to see why"),
    ],
)
def test_a_command_that_fails_is_named_and_what_it_printed_is_not_repeated(
    commands: Path, answer: str, said: str
) -> None:
    stand_in(commands, "doctl", {**TEAM, "account get": answer})

    done = run("preflight", "doks-h200", "--account")

    assert done.exit_code == 2
    assert said.replace(" --output", "") in done.stderr
    assert "dop_v1_secret" not in done.output


def test_a_missing_command_line_is_named(commands: Path) -> None:
    done = run("preflight", "oke-h100", "--account")

    assert done.exit_code == 2
    assert "oci is not on PATH: install it and log in, or leave --account out" in done.stderr


def test_an_existing_cluster_has_no_account(commands: Path) -> None:
    done = run("preflight", "dev", "--account")

    assert done.exit_code == 2
    assert "--account is for a cluster that the stack creates; this one exists" in done.stderr
