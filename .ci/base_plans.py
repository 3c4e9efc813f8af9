"""Plans of the state before a change, by that state's own code: python .ci/base_plans.py REVISION FOLDER

They are made in another worktree, so that neither state's code sees the other's. Where REVISION asks for other Python
packages, it gets an environment of its own with them. Where it has no command yet that plans every stack, FOLDER has
the file `no-plans-yet` alone, by which `gpu-fabric review` knows that this is not a fault. Ends with 1, and leaves
no folder, where REVISION could not be planned: then nobody knows what a change loses.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = "requirements.txt"
NOTHING_YET = "no-plans-yet"
# The package of today, and its name up to the version 532f664.
PACKAGES = ("gpu_fabric", "fabric")


def main(revision: str, folder: Path) -> int:
    """Write the plans, or that there can be none; gives the exit status."""
    if folder.exists():
        # It would be taken for what this run has made.
        print(f"{folder}: is there already", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        added = subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], check=False)
        if added.returncode != 0:
            return 1
        try:
            _plan(tree, Path(scratch), folder.resolve())
            _hide_examples(tree, folder)
        except subprocess.CalledProcessError as error:
            print(f"its packages cannot be installed: {error}", file=sys.stderr)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True)
    if (folder / NOTHING_YET).is_file():
        print(f"{revision}: no command yet that plans every stack")
    elif not folder.is_dir():
        print(f"{revision}: could not be planned", file=sys.stderr)
        return 1
    return 0


def _plan(tree: Path, scratch: Path, folder: Path) -> None:
    """Have the tree's own code write the plans; no folder is left where it cannot.

    Raises:
        CalledProcessError: its packages cannot be installed.
    """
    package = next((name for name in PACKAGES if (tree / name / "__main__.py").is_file()), None)
    has_command = package is not None
    if package is not None:
        command = [_python(tree, scratch), "-m", package, "plan"]
        # Its status is no matter: stacks that it refuses are in the folder, too.
        subprocess.run([*command, "--all", "--out", str(folder)], cwd=tree, check=False)
        has_command = folder.is_dir() or _knows_all(command, tree)
    if not has_command:
        folder.mkdir(parents=True)
        (folder / NOTHING_YET).write_text("There was no `gpu-fabric plan --all` yet.\n", encoding="utf-8")


def _hide_examples(tree: Path, folder: Path) -> None:
    """Remove plans of the tree's examples where the change has stacks of its own: `plan --all` then leaves them out."""
    if {path.name for path in Path().glob("Pulumi.*.yaml")} <= {"Pulumi.dev.yaml"}:
        return
    for example in tree.glob("examples/Pulumi.*.yaml"):
        if not (tree / example.name).exists():
            shutil.rmtree(folder / example.name.split(".")[1], ignore_errors=True)


def _knows_all(command: list[str], tree: Path) -> bool:
    """Whether a command that has failed plans every stack: it does unless its program says that it does not."""
    # As wide as needed: help that is cut short hides options.
    wide = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    told = subprocess.run([*command, "--help"], cwd=tree, env=wide, capture_output=True, text=True, check=False)
    return "--all" in told.stdout if told.returncode == 0 else "No such command" not in told.stderr


def _python(tree: Path, scratch: Path) -> str:
    """The interpreter that has the tree's packages. Raises CalledProcessError where they cannot be installed."""
    wanted = tree / REQUIREMENTS
    if wanted.is_file() and not filecmp.cmp(wanted, REQUIREMENTS, shallow=False):
        environment = scratch / "environment"
        python = str(environment / "bin" / "python")
        uv = [sys.executable, "-m", "uv", "--quiet"]
        subprocess.run([*uv, "venv", "--python", sys.executable, str(environment)], check=True)
        subprocess.run([*uv, "pip", "install", "--python", python, "-r", str(wanted)], check=True)
        return python
    return sys.executable


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
