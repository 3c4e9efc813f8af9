"""What a stack of this project has given out, read before anything is registered: known in a preview as well."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.runtime import invoke

# The engine's own function, which its provider for stack references asks, too.
_READ_OUTPUTS = "pulumi:pulumi:readStackOutputs"
# What the engine puts before the reason itself.
_SAID = "returned an error: "
# A file backend writes the attributes beside a state in place (`<stack>.json.attrs`, the state itself in one step), and
# reads what is half written as a state that is broken ("failed to load checkpoint: EOF"). The running engine records
# the stack's own resource just while the program asks, so what cannot be loaded is asked for again.
_UNREADABLE = "failed to load checkpoint"
_PAUSES_S = (0.1, 0.3, 0.9, 2.7)


class StackOutputsError(Exception):
    """There is no such stack, or the engine may not read it; the text is the engine's reason."""


def full_name(stack: str, organization: str | None = None) -> str:
    """A stack of this project as the engine knows it; without an organization it is the running stack's."""
    return "/".join((organization or pulumi.get_organization(), pulumi.get_project(), stack))


def last_outputs(stack: str) -> Mapping[str, Any]:
    """Outputs of a stack by its full name, secrets as they are; none at all where it never ran.

    A state that cannot be loaded is tried four times more, 4 s in all.

    Raises:
        StackOutputsError: the engine does not say.
    """
    for pause in _PAUSES_S:
        try:
            return _asked(stack)
        except StackOutputsError as error:
            if _UNREADABLE not in str(error):
                raise
            time.sleep(pause)
    return _asked(stack)


def _asked(stack: str) -> Mapping[str, Any]:
    try:
        answer = invoke(_READ_OUTPUTS, {"name": stack}).value
    # The SDK raises nothing more exact, whatever the engine has said.
    except Exception as error:
        raise StackOutputsError(str(error).rpartition(_SAID)[2]) from None
    outputs: Mapping[str, Any] = (answer or {}).get("outputs") or {}
    return outputs
