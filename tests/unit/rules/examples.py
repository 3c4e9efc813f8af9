"""For each rule, the keys of a stack file that it is about, and an example of what it refuses: from its bad cases.

Run by `make docs`, it writes `gpu_fabric/rules/examples.yaml`; a test holds that file fresh.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

UNIT = Path(__file__).parents[1]
# A rule about secrets in plain text has what looks like one in its cases.
_SECRET = re.compile(r"dop_v1_|PRIVATE KEY|password|token", re.IGNORECASE)
MOST_CHARACTERS = 160
"""A longer change is a test's, and no example for a reader."""


def example_text() -> str:
    """The content of the file."""
    from rules.cases import every_case
    from rules.tables import RuleCase

    bad: dict[str, list[RuleCase]] = {}
    for case in every_case():
        if case.sort == "bad":
            bad.setdefault(case.rule, []).append(case)
    lines = [
        "# Keys that a rule is about, and values that it refuses: written by `make docs` from the rules' bad cases."
    ]
    for rule in sorted(bad):
        keys = sorted({re.sub(r"\[\d+\]", "[]", path) for case in bad[rule] for path in case.paths if path})
        row: dict[str, Any] = {"keys": keys}
        changes = [case for case in bad[rule] if case.alteration is None and _is_short(case.changes)]
        if changes:
            shortest = min(changes, key=lambda case: len(json.dumps(case.changes)))
            row |= {"stack": shortest.stack, "refused": dict(shortest.changes)}
        lines.append(f"{rule}: {json.dumps(row, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _is_short(changes: Any) -> bool:
    text = json.dumps(changes)
    return bool(changes) and len(text) <= MOST_CHARACTERS and None not in changes.values() and not _SECRET.search(text)


if __name__ == "__main__":
    # As pytest has it: the tests' folders are the roots of their own modules.
    sys.path[:0] = [str(UNIT), str(UNIT.parent / "support"), str(UNIT.parents[1])]
    sys.stdout.write(example_text())
