"""What a user may write, validated: one module per section of the stack file."""

from fabric.spec.addressing import Addressing
from fabric.spec.cluster import AddressRanges, Pool, Taint
from fabric.spec.doks import DoksCluster, DoksPool
from fabric.spec.existing import ExistingCluster
from fabric.spec.fabric import Fabric, OfferedNamespace, RailOverride
from fabric.spec.load import StackDocument, load_stack, read_document, stack_file, stack_names, validate
from fabric.spec.oke import OkeCluster
from fabric.spec.oke_pools import OkePool
from fabric.spec.schedulers import Schedulers, Volcano
from fabric.spec.software import GpuOperator, NetworkOperator, Software
from fabric.spec.spiderpool import Spiderpool
from fabric.spec.stack import Cluster, StackSpec

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
    "stack_file",
    "stack_names",
    "validate",
]
