"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row of a data file has its source."""

from gpu_fabric.catalog.nccl import DeviceAccess, IpVersion, NcclSetting, NcclVariable, Scope, nccl_environment
from gpu_fabric.catalog.operator import OperatorFacts
from gpu_fabric.catalog.reading import Catalog, CatalogError, catalog, read_model
from gpu_fabric.catalog.release import ChartName, Component, ReleaseLine
from gpu_fabric.catalog.shape import (
    FrontEndNic,
    FullForm,
    GpuLeaf,
    Gpus,
    Hardware,
    HostTree,
    Nic,
    NicLeaf,
    NicModel,
    NumaNode,
    PciIdentity,
    Shape,
    Topology,
    adapter_of,
    branches,
    parse_tree,
)
from gpu_fabric.catalog.support import Support

__all__ = [
    "Catalog",
    "CatalogError",
    "ChartName",
    "Component",
    "DeviceAccess",
    "FrontEndNic",
    "FullForm",
    "GpuLeaf",
    "Gpus",
    "Hardware",
    "HostTree",
    "IpVersion",
    "NcclSetting",
    "NcclVariable",
    "Nic",
    "NicLeaf",
    "NicModel",
    "NumaNode",
    "OperatorFacts",
    "PciIdentity",
    "ReleaseLine",
    "Scope",
    "Shape",
    "Support",
    "Topology",
    "adapter_of",
    "branches",
    "catalog",
    "nccl_environment",
    "parse_tree",
    "read_model",
]
