"""The stack's own namespaces."""

from __future__ import annotations

from typing import ClassVar

from components.resources import ObjectGroup


class Namespaces(ObjectGroup):
    """Namespaces as resources, since a release that creates its own leaves out the Pod Security labels.

    Waits for nothing. Torn down last: whatever lies in them must be gone first, or their finalizers hang.
    """

    type_token: ClassVar[str] = "gpu-fabric:cluster:Namespaces"
