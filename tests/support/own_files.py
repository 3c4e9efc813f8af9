"""The project's own files: those that Git tracks, or would, and that are there."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def own_files() -> list[str]:
    """Their paths below the project's folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]
