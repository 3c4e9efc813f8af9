"""The fabric's networks, in every namespace that may use them."""

from __future__ import annotations

from typing import ClassVar

from components.resources import ObjectGroup


class FabricNetworks(ObjectGroup):
    """One NetworkAttachmentDefinition per rail and namespace.

    Must exist before: the pools they draw from and the namespaces they lie in. Ready when created.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:FabricNetworks"
