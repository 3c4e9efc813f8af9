"""The ledger of lines in docs/architecture.md: `python tests/support/ledger.py [REASON]` writes it (`make lines`)."""

import re
import sys
from pathlib import Path

PAGE = "docs/architecture.md"
STEP = 100
"""Figures are multiples of it, so that not every commit changes one."""
_ROW = re.compile(r"^\| `([\w./]+)/` \| ([\d,]+) \| (.*) \|$", re.MULTILINE)


def ledger(page: str) -> dict[str, tuple[int, str]]:
    """The most lines of code that each folder may have, and why it last grew; by the folder's path."""
    return {folder: (int(most.replace(",", "")), reason) for folder, most, reason in _ROW.findall(page)}


def counted(root: Path) -> dict[str, int]:
    """Lines of Python and Bash by folder: those of the core and of the tests one by one, others as a whole."""
    split = [root / "gpu_fabric", root / "tests"]
    whole = [root / name for name in ("components", "nccl_topology", "policy", "sandbox", "stacks")]
    folders = [*whole, *(entry for top in split for entry in top.iterdir() if entry.is_dir())]
    lines = {str(folder.relative_to(root)): _lines(folder) for folder in folders}
    return {folder: number for folder, number in sorted(lines.items()) if number}


def _lines(folder: Path) -> int:
    files = (file for end in ("py", "sh") for file in folder.rglob(f"*.{end}"))
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def written(page: str, found: dict[str, int], reason: str = "") -> str:
    """The page with new figures.

    Raises:
        SystemExit: folders have grown past their figures, and there is no reason.
    """
    old = ledger(page)
    grown = [folder for folder, number in found.items() if number > old.get(folder, (0, ""))[0]]
    if grown and not reason:
        raise SystemExit(f'{", ".join(grown)} grew past the figure in {PAGE}: say why, by make lines REASON="..."')
    rows = "\n".join(
        f"| `{folder}/` | {-(-number // STEP) * STEP:,} | {reason if folder in grown else old[folder][1]} |"
        for folder, number in found.items()
    )
    first, last = (list(_ROW.finditer(page))[place] for place in (0, -1))
    return page[: first.start()] + rows + page[last.end() :]


if __name__ == "__main__":
    path = Path(PAGE)
    path.write_text(written(path.read_text(encoding="utf-8"), counted(Path()), " ".join(sys.argv[1:]).strip()))
