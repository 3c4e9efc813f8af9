"""The contract as a stack put it out: its `fabric` output, alone or among the other outputs."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from fabric.attach.problem import InputError
from fabric.plan import FabricContract

_KNOWN = "v1"


def read_contract(text: str) -> FabricContract:
    """The contract in a JSON text, which `make outputs` prints.

    Fields that a newer program added within the version are passed over.

    Raises:
        InputError: it is no JSON, no contract, or one of another version.
    """
    try:
        found: Any = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"no JSON (line {error.lineno}: {error.msg}); print one with `make outputs`"
        raise InputError("ATT004", message) from None
    except RecursionError:
        raise InputError("ATT004", "no contract: it is nested too deep; print one with `make outputs`") from None
    if isinstance(found, dict) and isinstance(found.get("fabric"), dict):
        found = found["fabric"]
    if not isinstance(found, dict) or "schemaVersion" not in found:
        message = "no contract: there is no `fabric` with a schemaVersion; print one with `make outputs`"
        raise InputError("ATT004", message)
    if found["schemaVersion"] != _KNOWN:
        message = f"schemaVersion {found['schemaVersion']!r} is not known here; known is {_KNOWN!r}"
        raise InputError("ATT004", message)
    try:
        return FabricContract.model_validate(found, extra="ignore")
    except ValidationError as error:
        wrong = [".".join(map(str, entry["loc"])) for entry in error.errors(include_input=False, include_url=False)]
        message = f"no contract of schemaVersion {_KNOWN}: wrong or missing: {', '.join(wrong)}"
        raise InputError("ATT004", message) from None
