"""Pulumi components: each turns a part of the plan into resources, in order, with waits. They hold no facts.

The wheel has this package as `gpu_fabric.components`, so its modules import each other relatively. A checkout has it as
`components`: the states of existing stacks name the classes of dynamic providers by that name
(docs/decisions/0026-components-in-the-wheel.md).
"""

from .cluster.doks import DoksCluster
from .cluster.existing import ExistingCluster
from .cluster.handle import ClusterHandle, kubernetes_provider
from .cluster.oke import OkeCluster
from .cluster.referenced import ReferencedCluster
from .engine.steps import register_steps
from .rdma.attach import fabric_transform

__all__ = [
    "ClusterHandle",
    "DoksCluster",
    "ExistingCluster",
    "OkeCluster",
    "ReferencedCluster",
    "fabric_transform",
    "kubernetes_provider",
    "register_steps",
]
