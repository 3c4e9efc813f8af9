"""The whole of what a user may write for one stack."""

from __future__ import annotations

from pydantic import Field

from fabric.model import FrozenModel
from fabric.spec.cluster import ExistingCluster
from fabric.spec.fabric import Fabric
from fabric.spec.software import Software


class StackSpec(FrozenModel):
    """A validated stack file."""

    name: str = Field(description="the stack's name")
    cluster: ExistingCluster
    fabric: Fabric
    software: Software = Software()
