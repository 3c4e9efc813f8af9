"""JSON that iproute2 prints: a list of objects, each with the line that it begins in."""

from __future__ import annotations

import json
from typing import Any

from gpu_fabric.discover.text import Output


def json_rows(output: Output, command: str) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a list.

    Raises:
        DiscoveryError: the text is not a JSON list of objects.
    """
    remedy = f"give the whole output of `{command}`"
    try:
        rows = json.loads(output.text)
    except json.JSONDecodeError as error:
        output.refuse(error.lineno, f"this is not valid JSON ({error.msg})", remedy)
    except (RecursionError, ValueError):
        # ValueError: a number with thousands of digits.
        output.refuse(1, "this is not JSON that a tool prints", remedy)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        output.refuse(1, "this is not a list of objects", remedy)
    lines = output.text.split("\n")
    found: list[tuple[int, dict[str, Any]]] = []
    at = 0
    for row in rows:
        name = json.dumps(row.get("ifname", ""))
        at = next((number for number in range(at, len(lines)) if name in lines[number]), at)
        found.append((at + 1, row))
    return found
