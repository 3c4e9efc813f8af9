"""The managers, a module each: who installs and drives the fabric's software, and what differs between them."""

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers.amd_network_operator import AmdNetworkOperator
from gpu_fabric.plan.managers.cloud import Cloud
from gpu_fabric.plan.managers.doks import Doks
from gpu_fabric.plan.managers.dranet import Dranet
from gpu_fabric.plan.managers.manager import SYSTEM_NAMESPACE, FabricManager
from gpu_fabric.plan.managers.network_operator import NetworkOperator
from gpu_fabric.plan.managers.spiderpool import Spiderpool
from gpu_fabric.spec.fabric import Manager

MANAGERS: dict[Manager, type[FabricManager]] = {
    "amd-network-operator": AmdNetworkOperator,
    "cloud": Cloud,
    "doks": Doks,
    "dranet": Dranet,
    "network-operator": NetworkOperator,
    "spiderpool": Spiderpool,
}
"""All of them, by the name that a stack file has for them (`fabric.manager`)."""


def manager_of(case: Case) -> FabricManager:
    """The manager of a stack."""
    return MANAGERS[case.choices.manager](case)


__all__ = ["MANAGERS", "SYSTEM_NAMESPACE", "FabricManager", "manager_of"]
