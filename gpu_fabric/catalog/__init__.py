"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row of a data file has its source."""

from gpu_fabric.catalog.chart import ChartImage, ChartKeys, ChartVersion, KeyProblem
from gpu_fabric.catalog.doks import DoksClusterFacts
from gpu_fabric.catalog.nccl import (
    DeviceAccess,
    IpVersion,
    NcclSetting,
    NcclTable,
    NcclVariable,
    Scope,
    nccl_environment,
)
from gpu_fabric.catalog.nodes import AddressLimits, PodSettings, SpecialRange
from gpu_fabric.catalog.oke import OkeClusterFacts
from gpu_fabric.catalog.price import PriceTable
from gpu_fabric.catalog.reading import Catalog, CatalogError, catalog, read_nccl, read_shapes, read_sizes
from gpu_fabric.catalog.release import Chart, ChartName, Component, ComponentImages, Image, ReleaseLine, Requirement
from gpu_fabric.catalog.shape import (
    DoksSize,
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
    "AddressLimits",
    "Catalog",
    "CatalogError",
    "Chart",
    "ChartImage",
    "ChartKeys",
    "ChartName",
    "ChartVersion",
    "Component",
    "ComponentImages",
    "DeviceAccess",
    "DoksClusterFacts",
    "DoksSize",
    "FrontEndNic",
    "FullForm",
    "Gpus",
    "Hardware",
    "HostTree",
    "Image",
    "IpVersion",
    "KeyProblem",
    "NcclSetting",
    "NcclTable",
    "NcclVariable",
    "Nic",
    "NicModel",
    "NumaNode",
    "OkeClusterFacts",
    "PciIdentity",
    "PodSettings",
    "PriceTable",
    "ReleaseLine",
    "Requirement",
    "Scope",
    "Shape",
    "SpecialRange",
    "Support",
    "Topology",
    "catalog",
    "nccl_environment",
    "read_nccl",
    "read_shapes",
    "read_sizes",
]
