"""What a user may write, validated: one module per section of the stack file."""

from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec, PoolSpec, TaintSpec
from gpu_fabric.spec.doks import DoksClusterSpec, DoksPoolSpec
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.fabric import FabricSpec, RailOverrideSpec
from gpu_fabric.spec.load import load_stack, read_document, read_file, stack_file, stack_names, validate, validated
from gpu_fabric.spec.oke import OkeClusterSpec, OkePoolSpec
from gpu_fabric.spec.software import SoftwareSpec, SpiderpoolSpec
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.stack_text import StackDocument

__all__ = [
    "AddressRangesSpec",
    "AddressingSpec",
    "DoksClusterSpec",
    "DoksPoolSpec",
    "ExistingClusterSpec",
    "FabricSpec",
    "OkeClusterSpec",
    "OkePoolSpec",
    "PoolSpec",
    "RailOverrideSpec",
    "SoftwareSpec",
    "SpiderpoolSpec",
    "StackDocument",
    "StackSpec",
    "TaintSpec",
    "load_stack",
    "read_document",
    "read_file",
    "stack_file",
    "stack_names",
    "validate",
    "validated",
]
