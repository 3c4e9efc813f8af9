"""A stack document with single values changed."""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from gpu_fabric.spec.stack_text import StackDocument

Changes = Mapping[str, Any]
"""Places as findings write them, such as `cluster.pools[0].nodes`, with new values; `None` takes the place out."""


def changed(document: StackDocument, changes: Changes) -> StackDocument:
    """The document with the values at some places replaced, added or taken out."""
    sections = deepcopy(document.sections)
    for place, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", place)]
        holder: Any = sections
        for part in parents:
            holder = holder.setdefault(part, {}) if isinstance(holder, dict) else holder[part]
        if value is None:
            del holder[last]
        else:
            holder[last] = deepcopy(value)
    return document.model_copy(update={"sections": sections})
