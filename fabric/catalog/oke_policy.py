"""Policy statements of Oracle's clusters, from `oke_policies.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.model import FrozenModel

PolicyName = Literal["join", "nodes", "services", "operator"]
PolicyNeed = Literal[
    "always",
    "self-managed",
    "registry",
    "vcn-native-self-managed",
    "compute-cluster-pool",
    "host-group-pool",
    "gpu-memory-cluster",
    "file-storage",
    "operator-host",
]


class PolicyRow(FrozenModel):
    """One statement, with what it is asked for and why; `{cluster}` in it is known only once the cluster is there."""

    name: str
    policy: PolicyName
    needs: PolicyNeed
    statement: str = Field(min_length=1)
    why: str = Field(min_length=1)
