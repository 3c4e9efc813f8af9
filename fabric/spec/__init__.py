"""What a user may write, validated: one module per section of the stack file."""

from fabric.spec.cluster import AddressRanges, ExistingCluster, Pool, Taint
from fabric.spec.fabric import Addressing, Fabric, OfferedNamespace
from fabric.spec.load import StackDocument, load_stack, read_document, stack_file, validate
from fabric.spec.software import GpuOperator, NetworkOperator, Software
from fabric.spec.stack import StackSpec

__all__ = [
    "AddressRanges",
    "Addressing",
    "ExistingCluster",
    "Fabric",
    "GpuOperator",
    "NetworkOperator",
    "OfferedNamespace",
    "Pool",
    "Software",
    "StackDocument",
    "StackSpec",
    "Taint",
    "load_stack",
    "read_document",
    "stack_file",
    "validate",
]
