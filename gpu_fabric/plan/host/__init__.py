"""The DaemonSets that the stack runs on the nodes."""

from gpu_fabric.plan.host.cni_plugins import cni_plugins
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.host.preparation import (
    address_table,
    address_tables,
    host_preparation,
    nic_addresses,
    virtual_functions,
)

__all__ = [
    "COMPONENT_LABEL",
    "address_table",
    "address_tables",
    "cni_plugins",
    "host_preparation",
    "nic_addresses",
    "virtual_functions",
]
