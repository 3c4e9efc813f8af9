"""A stack's state for another folder: the classes of dynamic resources by the names that its program gives them.

The state records the provider of a dynamic resource as a pickle, in base64, of an object of a class, by the class's
module and name. That module is `components.…` in a checkout of this repository, and `gpu_fabric.components.…` where the
package is installed (docs/decisions/0026-components-in-the-wheel.md).
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from gpu_fabric.live.cluster import Json

CHECKOUT, PACKAGE = "components", "gpu_fabric.components"
# Pickle's opcodes: a frame with the length of what follows, and a text of up to 255 bytes with its length (PEP 3154).
_FRAME, _FRAME_AT, _FRAME_END = 0x95, 2, 11
_MODULE = re.compile(rb"\x8c(.)(?:gpu_fabric\.)?components((?:\.\w+)+)\x94", re.DOTALL)
_PROVIDER = "__provider"


class UnknownProviderError(Exception):
    """A recorded provider is not in the form that Pulumi's SDK writes; the text names its resource."""


def modules_of(folder: Path) -> str:
    """The package by which the program in a folder names its classes."""
    return CHECKOUT if (folder / CHECKOUT / "kept_objects.py").is_file() else PACKAGE


def renamed_providers(deployment: Json, package: str) -> int:
    """Name the classes in a state that was exported with its secrets in plain text; gives how many names changed.

    Raises:
        UnknownProviderError: see the class; the state may then have been changed in part.
    """
    changed = 0
    pending = [entry["resource"] for entry in deployment.get("pending_operations") or ()]
    for resource in [*(deployment.get("resources") or ()), *pending]:
        for values in (resource.get("inputs") or {}, resource.get("outputs") or {}):
            if (recorded := values.get(_PROVIDER)) is None:
                continue
            try:
                before, after = _text(recorded), renamed(_text(recorded), package)
            except (KeyError, TypeError, ValueError):
                raise UnknownProviderError(str(resource.get("urn"))) from None
            if before == after:
                continue
            changed += 1
            if isinstance(recorded, dict):
                recorded["plaintext"] = json.dumps(after)
            else:
                values[_PROVIDER] = after
    return changed


def _text(recorded: Any) -> str:
    """The provider, which is a secret in states of every version so far."""
    return str(json.loads(recorded["plaintext"])) if isinstance(recorded, dict) else recorded


def renamed(provider: str, package: str) -> str:
    """A recorded provider with its class in `package`; one of another program's stays as it is.

    Raises:
        ValueError: it is not in base64, or it has a module of ours and is not in one frame.
    """
    data = base64.b64decode(provider, validate=True)
    found = _MODULE.search(data)
    if found is None:
        return provider
    frame = int.from_bytes(data[_FRAME_AT + 1 : _FRAME_END], "little")
    if data[_FRAME_AT] != _FRAME or frame != len(data) - _FRAME_END or found[1][0] != found.end() - found.start() - 3:
        raise ValueError("not in one frame")
    module = package.encode() + found[2]
    inside = data[_FRAME_END : found.start()] + b"\x8c" + bytes([len(module)]) + module + data[found.end() - 1 :]
    return base64.b64encode(data[: _FRAME_AT + 1] + len(inside).to_bytes(8, "little") + inside).decode()
