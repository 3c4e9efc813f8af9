"""The matrix of a workflow: the stacks that it is for, as GitHub's expressions take them.

STACKS is the repository's variable GPU_FABRIC_STACKS, a JSON list. Each entry has `stack`, and may have `environment`
(the GitHub environment that guards it; by default the stack's name), `organization` (at the service that keeps its
state) and `cluster` (the stack whose output has its kubeconfig, where that is not its own). ONLY narrows it to one
stack; empty is all. Writes `matrix` with every stack, `order` with those that come up first, each with the stacks that
come up after it, and `any` to the file that GITHUB_OUTPUT names.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

# What a shell, a path and an expression take for a name and for nothing else.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
KEYS = {"stack", "environment", "organization", "cluster"}
# Environments that wait for nobody's approval (docs/workflows.md).
OPEN = {"preview", "drift"}


class WrongStacks(Exception):
    """The variable, or the name that was asked for, cannot be used; the text says why."""


def chosen(stacks: str, only: str, root: Path) -> list[dict[str, str]]:
    """Stack, environment, full name, and full name of the stack with the kubeconfig, of each stack.

    Raises:
        WrongStacks: saying what to write.
    """
    try:
        entries = json.loads(stacks or "[]")
    except ValueError as error:
        raise WrongStacks(f"GPU_FABRIC_STACKS is no JSON: {error}") from None
    if not isinstance(entries, list):
        raise WrongStacks('GPU_FABRIC_STACKS is no list; write one like [{"stack": "prod", "environment": "prod"}]')
    found = [_entry(entry, root) for entry in entries]
    names = [entry["stack"] for entry in found]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise WrongStacks(f"GPU_FABRIC_STACKS names {', '.join(sorted(repeated))} more than once")
    makers = {entry["cluster"] for entry in found if _lies_on_another(entry)}
    for entry in found:
        if entry["full"] in makers and _lies_on_another(entry):
            raise WrongStacks(
                f"GPU_FABRIC_STACKS names {entry['full']} as a stack's `cluster`, and for itself {entry['cluster']}: "
                "`cluster` is the stack that makes the cluster"
            )
    if only and only not in names:
        raise WrongStacks(f"GPU_FABRIC_STACKS has no stack {only!r}; it has: {', '.join(names) or 'none'}")
    return [entry for entry in found if only in ("", entry["stack"])]


def in_order(stacks: list[dict[str, str]]) -> list[dict[str, str]]:
    """The stacks that come up first, each with `after`: a matrix, as JSON, of those on its cluster; empty for none."""
    first = {entry["full"] for entry in stacks}
    after: dict[str, list[dict[str, str]]] = {}
    for entry in stacks:
        if _lies_on_another(entry) and entry["cluster"] in first:
            first.discard(entry["full"])
            after.setdefault(entry["cluster"], []).append(entry)
    return [
        {**entry, "after": json.dumps({"include": after[entry["full"]]}) if entry["full"] in after else ""}
        for entry in stacks
        if entry["full"] in first
    ]


def _lies_on_another(entry: dict[str, str]) -> bool:
    return entry["cluster"] != entry["full"]


def _entry(entry: Any, root: Path) -> dict[str, str]:
    if not isinstance(entry, dict) or "stack" not in entry or not entry.keys() <= KEYS:
        raise WrongStacks(f"each entry of GPU_FABRIC_STACKS has `stack`, and may have others of: {sorted(KEYS)}")
    if wrong := [value for value in entry.values() if not (isinstance(value, str) and NAME.fullmatch(value))]:
        raise WrongStacks(f"GPU_FABRIC_STACKS has {wrong[0]!r}, and names are of letters, digits and . _ -")
    stack = entry["stack"]
    if not (root / f"Pulumi.{stack}.yaml").is_file():
        file = f"Pulumi.{stack}.yaml"
        is_example = (root / "examples" / file).is_file()
        remedy = f"; copy the example and commit the copy: cp examples/{file} {file}" if is_example else ""
        raise WrongStacks(f"GPU_FABRIC_STACKS names {stack}, and there is no {file} next to Pulumi.yaml{remedy}")
    if (environment := entry.get("environment", stack)) in OPEN:
        raise WrongStacks(
            f"GPU_FABRIC_STACKS has {environment} guard {stack}, and that environment waits for no approval: "
            "name another"
        )
    prefix = f"{entry['organization']}/" if "organization" in entry else ""
    return {
        "stack": stack,
        "environment": environment,
        "full": f"{prefix}{stack}",
        "cluster": f"{prefix}{entry.get('cluster', stack)}",
    }


if __name__ == "__main__":
    try:
        include = chosen(os.environ.get("STACKS", ""), os.environ.get("ONLY", ""), Path.cwd())
    except WrongStacks as error:
        sys.exit(str(error))
    given = {"matrix": {"include": include}, "order": {"include": in_order(include)}, "any": bool(include)}
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.writelines(f"{name}={json.dumps(value)}\n" for name, value in given.items())
    print(f"stacks: {', '.join(entry['full'] for entry in include) or 'none; set the variable GPU_FABRIC_STACKS'}")
