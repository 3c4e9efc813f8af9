"""What each rule guarantees."""

from __future__ import annotations

import re
from pathlib import Path

from gpu_fabric.findings import rules


def promise(rule: str) -> str | None:
    """What holds where the rule finds nothing, from its check's docstring; None for rules that no check finds.

    Read from the source, without an import of every check and of what they check.

    Raises:
        KeyError: no rule has that id.
    """
    if not rules()[rule].is_of_stacks:
        return None
    docstring = re.compile(rf'^@check\w*\("{rule}".*?"""(.*?)(?:"""|\n)', re.DOTALL | re.MULTILINE)
    files = Path(__file__).with_name("checks").glob("*.py")
    return next(found[1] for file in files if (found := docstring.search(file.read_text(encoding="utf-8"))))
