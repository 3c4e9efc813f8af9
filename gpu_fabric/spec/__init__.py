"""What a user may write, validated: one module per section of the stack file."""

from gpu_fabric.spec.addressing import Addressing
from gpu_fabric.spec.cluster import AddressRanges, Pool, Taint
from gpu_fabric.spec.doks import DoksCluster, DoksPool
from gpu_fabric.spec.existing import ExistingCluster
from gpu_fabric.spec.fabric import Fabric, OfferedNamespace, RailOverride
from gpu_fabric.spec.load import (
    load_stack,
    read_document,
    read_file,
    stack_file,
    stack_names,
    validate,
    validated,
)
from gpu_fabric.spec.oke import OkeCluster, OkePool
from gpu_fabric.spec.software import GpuOperator, NetworkOperator, Schedulers, Software, Spiderpool, Volcano
from gpu_fabric.spec.stack import Cluster, StackSpec
from gpu_fabric.spec.stack_text import StackDocument

__all__ = [
    "AddressRanges",
    "Addressing",
    "Cluster",
    "DoksCluster",
    "DoksPool",
    "ExistingCluster",
    "Fabric",
    "GpuOperator",
    "NetworkOperator",
    "OfferedNamespace",
    "OkeCluster",
    "OkePool",
    "Pool",
    "RailOverride",
    "Schedulers",
    "Software",
    "Spiderpool",
    "StackDocument",
    "StackSpec",
    "Taint",
    "Volcano",
    "load_stack",
    "read_document",
    "read_file",
    "stack_file",
    "stack_names",
    "validate",
    "validated",
]
