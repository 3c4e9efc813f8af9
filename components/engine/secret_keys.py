"""The secret configuration keys that a stack file names."""

from __future__ import annotations

import pulumi
from pulumi.runtime import config as engine

from gpu_fabric.spec.places import NAMESPACE


def secret_configuration(key: str) -> pulumi.Config:
    """The configuration that has a secret key: this program's own, or else that of the running project.

    They are the same until the project is renamed; `pulumi config set --secret KEY` then writes the project's.
    """
    own, project = pulumi.Config(NAMESPACE), pulumi.Config()
    has_own, has_project = (engine.get_config(space.full_key(key)) is not None for space in (own, project))
    return project if has_project and not has_own else own
