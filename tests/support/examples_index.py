"""The index of `examples/`, from the first comment of each stack file: `make docs` writes examples/README.md by it."""

import sys
from itertools import takewhile
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
# What is in each folder of examples/.
FOLDERS = {
    "automation": "a program in Python that has many stacks ([stacks from Python](../docs/automation.md))",
    "components": "a program for each component, in Python; some also in YAML, TypeScript and Go "
    "([components](../docs/components.md), [languages](../docs/languages.md))",
    "node": "what the tools of a node print, for `gpu-fabric discover` ([discover](../docs/discover.md))",
    "results": "results of nccl-tests, for `gpu-fabric verdict` ([verification](../docs/verification.md))",
    "workloads": "jobs as users write them, for `gpu-fabric attach` ([workloads](../docs/workloads.md))",
    "wrong": "a stack file with mistakes, which is refused with all of them at once",
}
_HEAD = """\
# Examples

Written by `make docs` from the first lines of each file. `gpu-fabric plan NAME` plans a stack of this folder, and
`make up STACK=NAME SANDBOX=1` tries it. In an account or on a cluster of yours, copy its file to the root first
([plain Pulumi](../docs/automation.md)): Pulumi reads no stack file elsewhere, and writes a stack's encryption into it.

| stack | cluster | what it shows |
|---|---|---|
"""


def examples_index(folder: Path = ROOT / "examples") -> str:
    """The page as Markdown."""
    stacks = "".join(
        f"| [{path.name.split('.')[1]}]({path.name}) | {_provider(path)} | {_first_comment(path)} |\n"
        for path in sorted(folder.glob("Pulumi.*.yaml"))
    )
    folders = "".join(f"| [{name}]({name}) | {what} |\n" for name, what in FOLDERS.items())
    return f"{_HEAD}{stacks}\n| folder | what is in it |\n|---|---|\n{folders}"


def _provider(path: Path) -> str:
    config = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]
    # A platform's cluster is that of another stack.
    return str(config.get("gpu-fabric:cluster", {}).get("provider", "another stack's"))


def _first_comment(path: Path) -> str:
    """The first paragraph of the comment above a stack."""
    lines = (line for line in path.read_text(encoding="utf-8").splitlines() if "yaml-language-server" not in line)
    return " ".join(line[2:].strip() for line in takewhile(lambda line: line.startswith("# "), lines))


if __name__ == "__main__":
    sys.stdout.write(examples_index())
