"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row of a data file has its source."""

from gpu_fabric.catalog.nccl import DeviceAccess, IpVersion, NcclSetting, NcclVariable, Scope, nccl_environment
from gpu_fabric.catalog.operator import OperatorFacts
from gpu_fabric.catalog.reading import Catalog, CatalogError, catalog, read_model
from gpu_fabric.catalog.release import ChartName, Component, ReleaseLine
from gpu_fabric.catalog.shape import (
    FrontEndNic,
    FullForm,
    Gpus,
    Hardware,
    HostTree,
    Nic,
    NicModel,
    NumaNode,
    PciIdentity,
    Shape,
    Topology,
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
    "Gpus",
    "Hardware",
    "HostTree",
    "IpVersion",
    "NcclSetting",
    "NcclVariable",
    "Nic",
    "NicModel",
    "NumaNode",
    "OperatorFacts",
    "PciIdentity",
    "ReleaseLine",
    "Scope",
    "Shape",
    "Support",
    "Topology",
    "catalog",
    "nccl_environment",
    "read_model",
]
