"""Outputs of a stack of this project, read before any resource is registered, and so known in a preview as well."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.runtime import invoke

# Pulumi's function for stack references.
_READ_OUTPUTS = "pulumi:pulumi:readStackOutputs"
# Pulumi's text before the reason itself.
_SAID = "returned an error: "
# A file backend writes the attributes next to a state, in place (`<stack>.json.attrs`, the state in one step), and
# reads a half-written file as a broken state ("failed to load checkpoint: EOF"). Pulumi records the stack's own
# resource at the time of this request, so the request is repeated.
_UNREADABLE = "failed to load checkpoint"
_PAUSES_S = (0.1, 0.3, 0.9, 2.7)


class StackOutputsError(Exception):
    """The stack does not exist or cannot be read; the text is Pulumi's reason."""


def full_name(stack: str, organization: str | None = None) -> str:
    """The full name of a stack of this project, by default in the running stack's organization."""
    return "/".join((organization or pulumi.get_organization(), pulumi.get_project(), stack))


def last_outputs(stack: str) -> Mapping[str, Any]:
    """Outputs of a stack by its full name, with secrets decrypted; empty if it never ran.

    A state that cannot be loaded is requested four more times, within 4 s.

    Raises:
        StackOutputsError: with Pulumi's reason.
    """
    for pause in _PAUSES_S:
        try:
            return _read(stack)
        except StackOutputsError as error:
            if _UNREADABLE not in str(error):
                raise
            time.sleep(pause)
    return _read(stack)


def _read(stack: str) -> Mapping[str, Any]:
    try:
        answer = invoke(_READ_OUTPUTS, {"name": stack}).value
    # The SDK raises no exception of a narrower class.
    except Exception as error:
        raise StackOutputsError(str(error).rpartition(_SAID)[2]) from None
    outputs: Mapping[str, Any] = (answer or {}).get("outputs") or {}
    return outputs
