"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row of a data file has its source."""

from gpu_fabric.catalog.nccl import DeviceAccess, NcclSetting, NcclVariable
from gpu_fabric.catalog.operator import OperatorFacts
from gpu_fabric.catalog.reading import Catalog, CatalogError, catalog, read_model
from gpu_fabric.catalog.release import ChartName, Component
from gpu_fabric.catalog.shape import Hardware, Nic, Shape, Topology
from gpu_fabric.catalog.support import Support

__all__ = [
    "Catalog",
    "CatalogError",
    "ChartName",
    "Component",
    "DeviceAccess",
    "Hardware",
    "NcclSetting",
    "NcclVariable",
    "Nic",
    "OperatorFacts",
    "Shape",
    "Support",
    "Topology",
    "catalog",
    "read_model",
]
