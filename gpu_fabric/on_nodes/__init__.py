"""What runs on nodes and in pods: Bash, and Python's standard library alone. The rest of the core reads it as text."""

from pathlib import Path

FOLDER = Path(__file__).parent


def program(path: str) -> str:
    """The text of a program, by its path in this folder, such as `host/acs.sh`.

    Raises:
        OSError: there is none.
    """
    return (FOLDER / path).read_text(encoding="utf-8")
