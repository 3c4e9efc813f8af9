"""All policies of the pack, in the order of docs/policy.md."""

from __future__ import annotations

from pulumi_policy import Policy

from . import access, charts, clouds, credentials, networks, objects, pods, pools

_MODULES = (clouds, access, charts, pods, objects, networks, pools, credentials)


def policies() -> list[Policy]:
    """Every policy that a module of the pack defines."""
    return [value for module in _MODULES for value in vars(module).values() if isinstance(value, Policy)]
