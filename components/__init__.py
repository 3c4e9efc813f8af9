"""Pulumi components: each turns a part of the plan into resources, in order, with waits. They hold no facts.

The wheel has this package as `gpu_fabric.components`, so its modules import each other relatively. A checkout has it as
`components`: the states of existing stacks name the classes of dynamic providers by that name
(docs/decisions/0026-components-in-the-wheel.md).

Each name is imported at its first use: a program needs few of them, and a cloud's only for a cluster there. Types of
arguments that few programs need are in `args` alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .args import (
        AddressingArgs,
        CniFoldersArgs,
        DoksClusterArgs,
        DoksPoolArgs,
        FabricArgs,
        FurtherFabricArgs,
        GpuPoolArgs,
        OkeClusterArgs,
        OkePoolArgs,
        RangesArgs,
        ShapeArgs,
        SoftwareArgs,
        TaintArgs,
        VerificationSettingsArgs,
    )
    from .bases.fabric_component import GpuFabricArgs
    from .cluster.existing import ExistingCluster
    from .cluster.handle import ClusterHandle, kubernetes_provider
    from .cluster.referenced import ReferencedCluster
    from .doks_cluster import DoksCluster
    from .engine.steps import register_steps
    from .fabric import GpuFabric
    from .fabric_parts import (
        FabricNetworks,
        GpuOperator,
        HostPreparation,
        IpPools,
        Multus,
        NcclFiles,
        NetworkOperator,
        Spiderpool,
        Verification,
    )
    from .gpu_cluster import GpuCluster, GpuClusterArgs
    from .oke_cluster import OkeCluster
    from .rdma.attach import fabric_transform

__all__ = [
    "AddressingArgs",
    "CniFoldersArgs",
    "ClusterHandle",
    "DoksCluster",
    "DoksClusterArgs",
    "DoksPoolArgs",
    "ExistingCluster",
    "FabricArgs",
    "FabricNetworks",
    "FurtherFabricArgs",
    "GpuCluster",
    "GpuClusterArgs",
    "GpuFabric",
    "GpuFabricArgs",
    "GpuOperator",
    "GpuPoolArgs",
    "HostPreparation",
    "IpPools",
    "Multus",
    "NcclFiles",
    "NetworkOperator",
    "OkeCluster",
    "OkeClusterArgs",
    "OkePoolArgs",
    "RangesArgs",
    "ReferencedCluster",
    "ShapeArgs",
    "SoftwareArgs",
    "Spiderpool",
    "TaintArgs",
    "Verification",
    "VerificationSettingsArgs",
    "fabric_transform",
    "kubernetes_provider",
    "register_steps",
]

# Of what is not in `args`.
_MODULES = {
    name: module
    for module, names in {
        ".bases.fabric_component": ("GpuFabricArgs",),
        ".cluster.existing": ("ExistingCluster",),
        ".cluster.handle": ("ClusterHandle", "kubernetes_provider"),
        ".cluster.referenced": ("ReferencedCluster",),
        ".doks_cluster": ("DoksCluster",),
        ".engine.steps": ("register_steps",),
        ".fabric": ("GpuFabric",),
        ".fabric_parts": (
            *("FabricNetworks", "GpuOperator", "HostPreparation", "IpPools", "Multus"),
            *("NcclFiles", "NetworkOperator", "Spiderpool", "Verification"),
        ),
        ".gpu_cluster": ("GpuCluster", "GpuClusterArgs"),
        ".oke_cluster": ("OkeCluster",),
        ".rdma.attach": ("fabric_transform",),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, ".args"), __name__), name)
