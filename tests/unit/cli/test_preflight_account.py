"""`gpu-fabric preflight --account`: by the cloud's own command line, whose output is never repeated."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from stand_in_program import answer_here, started

ROOT = Path(__file__).parents[3]
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
    """A folder that alone is on PATH, with a doctl; what is called there is in `calls.jsonl`."""
    answer_here(tmp_path / "bin" / "doctl", doctl, monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(ROOT)
    return tmp_path / "bin"


def doctl(here: Path, words: list[str], _: str) -> tuple[int, str, str]:
    """What doctl answers by the file `answers.json`; the call goes to `calls.jsonl`."""
    with (here / "calls.jsonl").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(words) + "\n")
    answers = json.loads((here / "answers.json").read_text(encoding="utf-8"))
    given = next(answer for asked, answer in answers.items() if " ".join(words).startswith(asked))
    if given == "fails":
        return 1, "", "Error: unable to use the token dop_v1_secret\n"
    return 0, (given if isinstance(given, str) else json.dumps(given)) + "\n", ""


def stand_in(folder: Path, answers: dict[str, Any]) -> None:
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")


@pytest.mark.parametrize("is_started", [False, True])
def test_a_team_that_has_everything_is_a_good_exit_without_any_cluster(
    is_started: bool, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(commands, TEAM)
    if is_started:
        monkeypatch.setenv("PATH", str(started(commands / "doctl").parent))

    done = run("preflight", "doks-h200", "--account")

    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        ["stack doks-h200 and the account at its cloud", "nothing stands in the way of `up`"],
    )
    calls = [json.loads(line) for line in (commands / "calls.jsonl").read_text().splitlines()]
    assert all(call[-2:] == ["--output", "json"] for call in calls)


def test_what_the_team_lacks_is_printed_with_its_rule_and_as_data(commands: Path) -> None:
    stand_in(commands, {**TEAM, "account get": {"droplet_limit": 3}})

    done = run("preflight", "doks-h200", "--account", "--format", "json")

    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert (document["kubernetes"], document["nodes"]) == (None, None)
    assert [entry["id"] for entry in document["findings"]] == ["PRE123"]


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
    stand_in(commands, {**TEAM, "account get": answer})

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
