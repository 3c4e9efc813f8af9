"""The check of the rails."""

from __future__ import annotations

from typing import ClassVar

from components.resources import ObjectGroup


class FabricCheck(ObjectGroup):
    """A pod on every GPU node that is attached to all rails and checks each, with its script.

    Must exist before: the networks and what advertises their devices. Ready when every pod finds every rail as planned.
    Torn down first, since its pods hold addresses and devices.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:FabricCheck"
