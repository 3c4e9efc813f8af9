"""Where the processor time of a build went, from the action graph that `go build` writes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path


def spent(graph: Path) -> Counter[str]:
    """Processor seconds of the last build by the first three parts of a package's path.

    Go's own packages are "std", the linker's work is "link". What came from Go's cache took none and is absent.
    """
    seconds: Counter[str] = Counter()
    for action in json.loads(graph.read_text()):
        # nanoseconds; absent where no command ran
        used = (action.get("CmdUser", 0) + action.get("CmdSys", 0)) / 1e9
        parts = action["Package"].split("/")
        package = "/".join(parts[:3]) if "." in parts[0] else "std"
        seconds["link" if action["Mode"] == "link" else package] += used
    return +seconds


def table(name: str, graph: Path, rows: int = 10) -> str:
    """The build's processor time, and the packages with the most of it; says so where nothing was built here."""
    if not graph.is_file():
        return f"{name}: not built by this user"
    seconds = spent(graph)
    lines = [f"{name}: {seconds.total():.0f} s"]
    lines += [f"  {used:6.1f} s  {package}" for package, used in seconds.most_common(rows)]
    return "\n".join(lines)
