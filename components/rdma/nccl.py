"""What NCCL reads, in every namespace that may run jobs."""

from __future__ import annotations

from typing import ClassVar

from components.resources import ObjectGroup


class NcclFiles(ObjectGroup):
    """One ConfigMap per file and namespace.

    Must exist before: the namespaces. Immutable: new content is a new ConfigMap with another name.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:NcclFiles"
