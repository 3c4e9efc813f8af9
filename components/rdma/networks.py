"""The fabric's networks, in every namespace that may use them."""

from __future__ import annotations

from typing import ClassVar

from components.resources import ObjectGroup


class FabricNetworks(ObjectGroup):
    """One network per rail and namespace: a definition, or an object that an operator makes one of.

    Must exist before: the pools they draw from, the namespaces they lie in, and the operator that reads them. Ready
    when created.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:FabricNetworks"
