"""What the stack runs on the nodes itself."""

from gpu_fabric.plan.host.cni_plugins import cni_plugins, lacking_plugins
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.host.preparation import (
    VIRTUAL_FUNCTIONS,
    address_table,
    address_tables,
    host_preparation,
    nic_addresses,
    virtual_functions,
    virtual_functions_script,
)

__all__ = [
    "COMPONENT_LABEL",
    "VIRTUAL_FUNCTIONS",
    "address_table",
    "address_tables",
    "cni_plugins",
    "host_preparation",
    "lacking_plugins",
    "nic_addresses",
    "virtual_functions",
    "virtual_functions_script",
]
