"""A program in kubectl's place: it answers raw requests from a table, and records how it was called.

Its error texts are those of kubectl v1.32.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_PROGRAM = """\
#!{python} -IS
import json, pathlib, sys
here = pathlib.Path(__file__).parent
content = "" if sys.stdin.isatty() else sys.stdin.read()
options, (verb, path) = [], (None, None)
rest = iter(sys.argv[1:])
for argument in rest:
    if argument in ("get", "create", "replace", "delete", "apply"):
        verb = argument
    elif argument == "--raw":
        path = next(rest)
    elif argument == "-f":
        assert next(rest) == "-"
    else:
        options.append(argument)
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(dict(options=options, verb=verb, path=path, content=content)) + "\\n")
answers = json.loads((here / "answers.json").read_text())
key = verb if path is None else verb + " " + path
if path is not None and key not in answers:
    # All of a list is its first page.
    key = key.replace("?limit=500&", "?").replace("&limit=500", "").replace("?limit=500", "")
if path is not None and key not in answers:
    key = verb + " " + path.partition("?")[0]
given = answers.get(key)
if isinstance(given, list):
    # In turn; the last one remains.
    answers[key] = given[1:] or given
    (here / "answers.json").write_text(json.dumps(answers))
    given = given[0]
if given is None:
    given = dict(error="Error from server (NotFound): the server could not find the requested resource")
if isinstance(given, dict) and set(given) == set(["error"]):
    print(given["error"], file=sys.stderr)
    sys.exit(1)
print(given if isinstance(given, str) else json.dumps(given))
"""


class StandInKubectl:
    """The program in a folder, and what it was asked for."""

    def __init__(self, folder: Path, answers: dict[str, Any]) -> None:
        """`answers` by verb and path (`get /version`): object, text, `{"error": …}`, or a list of these in turn."""
        folder.mkdir(parents=True, exist_ok=True)
        self.program = folder / "kubectl"
        self.program.write_text(_PROGRAM.format(python=sys.executable), encoding="utf-8")
        self.program.chmod(0o755)
        self._answers = folder / "answers.json"
        self._answers.write_text(json.dumps(answers), encoding="utf-8")
        self._calls = folder / "calls.jsonl"

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Options, verb, path and content of each call."""
        lines = self._calls.read_text(encoding="utf-8").splitlines() if self._calls.exists() else []
        return [json.loads(line) for line in lines]
