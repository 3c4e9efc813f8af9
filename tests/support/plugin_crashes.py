"""Crashes of the Kubernetes plug-in that the sandbox can build: counted, since the command is then run once more.

It may crash while it deletes objects; the released 4.25.0 has the repair
(https://github.com/pulumi/pulumi-kubernetes/pull/4079, docs/decisions/0001).
"""

import warnings

from sandbox.engine.display import is_crash


def has_crashed(printed: str) -> bool:
    """Whether a command says so; pytest prints each such time among its warnings."""
    found = any(map(is_crash, printed.splitlines()))
    if found:
        warnings.warn("the Kubernetes plug-in crashed, and the command was run once more", stacklevel=2)
    return found
