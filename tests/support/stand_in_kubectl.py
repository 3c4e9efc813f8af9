"""A program in kubectl's place: it answers raw requests from a table, and records how it was called.

Its error texts are those of kubectl v1.32.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from stand_in_program import answer_here

from gpu_fabric.cli.kubectl import VARIABLE


def kubectl(here: Path, words: list[str], content: str) -> tuple[int, str, str]:
    """What kubectl answers by the file `answers.json`; the call goes to `calls.jsonl`."""
    options: list[str] = []
    verb = path = None
    rest = iter(words)
    for argument in rest:
        if argument in ("get", "create", "replace", "delete", "apply"):
            verb = argument
        elif argument == "--raw":
            path = next(rest)
        elif argument == "-f":
            assert next(rest) == "-"
        else:
            options.append(argument)
    with (here / "calls.jsonl").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(dict(options=options, verb=verb, path=path, content=content)) + "\n")
    answers = json.loads((here / "answers.json").read_text(encoding="utf-8"))
    key = verb if path is None else f"{verb} {path}"
    if path is not None and key not in answers:
        # All of a list is its first page.
        key = key.replace("?limit=500&", "?").replace("&limit=500", "").replace("?limit=500", "")
    if path is not None and key not in answers:
        key = f"{verb} {path.partition('?')[0]}"
    given = answers.get(key)
    if isinstance(given, list):
        # In turn; the last one remains.
        answers[key] = given[1:] or given
        (here / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        given = given[0]
    if given is None:
        given = dict(error="Error from server (NotFound): the server could not find the requested resource")
    if isinstance(given, dict) and set(given) == {"error"}:
        return 1, "", given["error"] + "\n"
    return 0, (given if isinstance(given, str) else json.dumps(given)) + "\n", ""


class StandInKubectl:
    """The program in a folder, the one that the product's commands use in a test, and what it was asked for."""

    def __init__(self, folder: Path, answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """`answers` by verb and path (`get /version`): object, text, `{"error": …}`, or a list of these in turn."""
        self.program = folder / "kubectl"
        answer_here(self.program, kubectl, monkeypatch)
        monkeypatch.setenv(VARIABLE, str(self.program))
        (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        self._calls = folder / "calls.jsonl"

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Options, verb, path and content of each call."""
        lines = self._calls.read_text(encoding="utf-8").splitlines() if self._calls.exists() else []
        return [json.loads(line) for line in lines]
