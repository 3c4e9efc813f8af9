"""Plans of the state before a change, by that state's own code: python .ci/base_plans.py REVISION FOLDER

They are made in a worktree beside, so that neither state's code sees the other's. Where REVISION asks for other Python
packages, it gets an environment of its own with them. Ends with 1, and leaves no folder, where REVISION has no such
command yet, or cannot run it.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = "requirements.txt"


def main(revision: str, folder: Path) -> int:
    """Write the plans; gives the exit status."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        added = subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], check=False)
        if added.returncode != 0:
            return 1
        try:
            command = [_python(tree, Path(scratch)), "-m", "fabric", "plan", "--all", "--out", str(folder.resolve())]
            # Its status is no matter: stacks that it refuses are in the folder, too.
            subprocess.run(command, cwd=tree, check=False)
        except subprocess.CalledProcessError as error:
            print(f"{revision}: its packages cannot be installed: {error}", file=sys.stderr)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True)
    if folder.is_dir():
        return 0
    print(f"{revision}: no plans to compare with", file=sys.stderr)
    return 1


def _python(tree: Path, scratch: Path) -> str:
    """The interpreter that has the tree's packages. Raises CalledProcessError where they cannot be installed."""
    wanted = tree / REQUIREMENTS
    if wanted.is_file() and not filecmp.cmp(wanted, REQUIREMENTS, shallow=False):
        environment = scratch / "environment"
        python = str(environment / "bin" / "python")
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", str(wanted)], check=True)
        return python
    return sys.executable


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
