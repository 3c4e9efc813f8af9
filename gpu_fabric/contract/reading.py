"""Read the contract from a stack's outputs: the output `fabric`, alone or among the others."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from gpu_fabric.contract.fabric import FabricContract
from gpu_fabric.findings import InputError

_KNOWN = "v1"


def read_contract(text: str) -> FabricContract:
    """The contract in a JSON text, as `make outputs` prints it.

    Fields that a newer program added within the same version are ignored.

    Raises:
        InputError: the text is not JSON, not a contract, or has another version.
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
