"""The check of the rails: a pod on every GPU node that is attached to all of them and looks at each."""

from __future__ import annotations

from pathlib import Path

from gpu_fabric.contract import AttachedNetwork, FabricContract
from gpu_fabric.k8s.apps import NODE_NAME, ContainerVariable, confined, daemon_set, pod_spec
from gpu_fabric.on_nodes import program
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.records import PlannedObject, file_config_map
from gpu_fabric.plan.startup_taint import startup_tolerations

CHECK = "fabric-check"
"""The DaemonSet's name, and the value of the label `gpu-fabric/component` on its pods."""

_SCRIPT = "fabric_check.sh"
_TERMINATION_LOG = "/dev/termination-log"
# Seconds: an interface a rail is made in each pod, and a large image is pulled on every node.
_TIMEOUT = 900


def fabric_check(case: Case, addresses: AddressPlan, contract: FabricContract) -> tuple[PlannedObject, ...]:
    """The script and the DaemonSet, in the first namespace in which the fabric is offered; none unless asked.

    Its pods attach to the fabric as the contract says, but without GPUs. Each holds one device of every rail.
    """
    wanted = case.spec.fabric.check
    if wanted is None or not contract.networks:
        return ()
    namespace = contract.namespaces[0]
    files = file_config_map(case.named(CHECK), namespace, _SCRIPT, program(_SCRIPT))
    labels = {COMPONENT_LABEL: case.own_copy(CHECK), **case.own_labels}
    devices = {name: str(count) for name, count in contract.devices.items() if name != case.shape.gpus.resource}
    values = {
        "pullSecrets": case.pull_secrets,
        "nodes": case.node_selector,
        "tolerations": (*contract.tolerations, *startup_tolerations(case)) or None,
        "image": case.standalone_image("rdmaTools", wanted.image),
        "script": _SCRIPT,
        "variables": (NODE_NAME, *check_environment(case, addresses, contract)),
        "devices": {"requests": devices, "limits": devices} if devices else None,
        "confined": confined(),
        "files": files.metadata.name,
    }
    pod = pod_spec(Path(__file__).with_suffix(".yaml"), values)
    daemon = daemon_set(case.own_copy(CHECK), namespace, labels, pod, annotations=contract.annotations)
    return (PlannedObject(object=files), PlannedObject(object=daemon, timeout=_TIMEOUT))


def check_environment(case: Case, addresses: AddressPlan, contract: FabricContract) -> tuple[ContainerVariable, ...]:
    """What the script expects of the rails, as its head says."""
    routed = case.choices.link_type == "ether" and bool(addresses.pools)
    values = {
        "RAILS": "\n".join(_rail(case, addresses, place, net) for place, net in enumerate(contract.networks)),
        "ROUTES": "yes" if routed else "no",
        "TERMINATION_LOG": _TERMINATION_LOG,
    }
    return tuple(ContainerVariable(name=name, value=value) for name, value in values.items())


def _rail(case: Case, addresses: AddressPlan, place: int, network: AttachedNetwork) -> str:
    """What the script expects of one interface, as its head says."""
    pool = addresses.pool_of(place)
    shared_gateway = None if pool is None or pool.node_prefix_length is not None else pool.gateway
    # A shared port's table of addresses names its interfaces on Ethernet only.
    unknown = network.resource is None or case.choices.model == "ipoib"
    device = "-" if unknown else "shared" if case.choices.access == "shared" else "own"
    words = (
        place,
        network.interface,
        network.network,
        "-" if pool is None else pool.space if pool.node_prefix_length else pool.subnet,
        shared_gateway if case.choices.link_type == "ether" and shared_gateway else "-",
        device,
        case.choices.link_type,
        network.mtu or "-",
    )
    return " ".join(map(str, words))
