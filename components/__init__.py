"""Pulumi components: each turns a part of the plan into resources, in order, with waits. They hold no facts.

The wheel has this package as `gpu_fabric.components`, so its modules import each other relatively. A checkout has it as
`components`: the states of existing stacks name the classes of dynamic providers by that name
(docs/decisions/0026-components-in-the-wheel.md).

Each name is imported at its first use: a program needs few of them, and a cloud's only for a cluster there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cluster.existing import ExistingCluster
    from .cluster.handle import ClusterHandle, kubernetes_provider
    from .cluster.referenced import ReferencedCluster
    from .engine.steps import register_steps
    from .fabric import GpuFabric, GpuFabricArgs, GpuPoolArgs, RangesArgs, TaintArgs, VerificationArgs
    from .rdma.attach import fabric_transform

__all__ = [
    "ClusterHandle",
    "ExistingCluster",
    "GpuFabric",
    "GpuFabricArgs",
    "GpuPoolArgs",
    "RangesArgs",
    "ReferencedCluster",
    "TaintArgs",
    "VerificationArgs",
    "fabric_transform",
    "kubernetes_provider",
    "register_steps",
]

_MODULES = {
    "ClusterHandle": ".cluster.handle",
    "ExistingCluster": ".cluster.existing",
    "GpuFabric": ".fabric",
    "GpuFabricArgs": ".fabric",
    "GpuPoolArgs": ".fabric",
    "RangesArgs": ".fabric",
    "ReferencedCluster": ".cluster.referenced",
    "TaintArgs": ".fabric",
    "VerificationArgs": ".fabric",
    "fabric_transform": ".rdma.attach",
    "kubernetes_provider": ".cluster.handle",
    "register_steps": ".engine.steps",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
