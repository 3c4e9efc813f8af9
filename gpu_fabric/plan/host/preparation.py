"""Host preparation: the jobs of a stack on its GPU nodes, each a script and a DaemonSet per node group."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.host.daemons import TABLES, script_daemons
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.records import PlannedObject

FABRIC_RULE_PRIORITY = 2000
"""The priority of the rule that keeps other traffic off the rails, as in the guides; Spiderpool's end at 1000."""

# The rails' own rules are after that one, which has already sent all other traffic to the main table.
_RAIL_RULE_PRIORITY = 2100
# The first rail's routing table, as in the guides' script, then one table per rail; the system's tables begin at 253.
FIRST_TABLE = 151
_FURTHER_TABLES = 256

# Seconds for a DaemonSet's pods to be ready on all nodes; a mode that needs a reboot must be set by the operator.
_TIMEOUT = 900


LOOK_AGAIN_AT_CLAIMED = 5
"""Seconds between two looks at NICs that pods claim, each without an address when a pod has returned it."""


def host_preparation(case: Case) -> tuple[PlannedObject, ...]:
    """The scripts and DaemonSets of all jobs except the NICs' addresses; none waits for another."""
    environments: dict[str, list[tuple[NodeGroup, dict[str, str]]]] = {}
    for group in case.groups:
        for component, environment in _jobs(case, group):
            environments.setdefault(component, []).append((group, environment))
    dry_run = case.spec.fabric.host_preparation.dry_run
    return tuple(
        entry
        for component, by_group in environments.items()
        for entry in script_daemons(case, component, by_group, timeout=_TIMEOUT, dry_run=dry_run)
    )


def nic_addresses(case: Case, addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """The script and the DaemonSets that set the addresses of `address_table` on the rails' NICs, if requested."""
    wanted = case.spec.fabric.host_preparation
    if not wanted.addresses or not addresses.pools:
        return ()
    tables = {f"{rail:02d}": table_name(pool) for pool in addresses.pools for rail in pool.rails}
    environment = {
        "ADDRESSES": TABLES,
        "RAILS": " ".join(tables),
        "MTU": "" if case.mtu is None else str(case.mtu),
        # With a subnet per node, a host reaches the other nodes' subnets through the router of its first rail.
        "FABRIC_RANGE": str(addresses.supernet) if addresses.layout == "per-node" else "",
        "RULE_PRIORITY": str(_RAIL_RULE_PRIORITY),
        "FIRST_TABLE": str(_first_table(case)),
    }
    claimed = manager_of(case).dra_driver is not None
    by_group = [(group, environment | (_of_claimed(case, group) if claimed else {})) for group in case.groups]
    return script_daemons(
        case,
        "nic-addresses",
        by_group,
        timeout=_TIMEOUT,
        tables=tables,
        dry_run=wanted.dry_run,
        variant="claimed_nic_addresses" if claimed else None,
    )


def _of_claimed(case: Case, group: NodeGroup) -> dict[str, str]:
    """What the script must know where pods claim NICs: which may be absent, and that each returns without addresses.

    DRANET v1.4.0 gives a pod the addresses that the NIC has on the host, and sets none on it when the pod has ended
    (nsDetachNetdev in pkg/driver/hostdevice.go), so the script looks often.
    """
    nics = (f"{rail.interface}={rail.pci}" for rail in group_rails(case, group))
    return {"CLAIMED": " ".join(nics), "LOOK_AGAIN_SECONDS": str(LOOK_AGAIN_AT_CLAIMED)}


def _first_table(case: Case) -> int:
    """The first rail's table; those of a further fabric on the same nodes are beyond the system's."""
    return FIRST_TABLE if not case.rails_before else _FURTHER_TABLES + case.rails_before


def address_tables(case: Case, addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """A ConfigMap per pool with a line for every node: `INTERFACE ADDRESS/LENGTH [GATEWAY]`, by the node's name."""
    if not case.spec.fabric.host_preparation.addresses or not addresses.node_names:
        return ()
    return tuple(address_table(case, addresses, pool) for pool in addresses.pools)


def address_table(case: Case, addresses: AddressPlan, pool: AddressPool) -> PlannedObject:
    """The ConfigMap of one pool."""
    lines = dict(_lines(case, addresses, pool))
    metadata = ObjectMeta(name=table_name(pool), namespace=manager_of(case).namespace)
    return PlannedObject(object=ConfigMap(metadata=metadata, data=lines))


def table_name(pool: AddressPool) -> str:
    """The name of a pool's table."""
    return f"host-addresses-{pool.name}"


def _lines(case: Case, addresses: AddressPlan, pool: AddressPool) -> Iterator[tuple[str, str]]:
    (rail,) = pool.rails
    interfaces = {group.shape.name: group_rails(case, group)[rail].interface for group in case.groups}
    shapes = (
        shape.name for pool, shape in zip(case.spec.cluster.pools, case.shapes, strict=True) for _ in range(pool.nodes)
    )
    nodes = zip(addresses.numbered_nodes, addresses.host_numbers, shapes, strict=True)
    for (number, node), place, shape in nodes:
        address = pool.host_address(place)
        length = pool.node_prefix_length or pool.subnet.prefixlen
        # On InfiniBand the subnet manager sets the paths, and nothing is routed.
        gateway = pool.gateway_of(number) if case.choices.link_type == "ether" else None
        yield node, f"{interfaces[shape]} {address}/{length}" + ("" if gateway is None else f" {gateway}")


def _jobs(case: Case, group: NodeGroup) -> Iterator[tuple[str, dict[str, str]]]:
    wanted = case.spec.fabric.host_preparation
    rails = group_rails(case, group)
    interfaces = " ".join(rail.interface for rail in rails if rail.interface)
    if wanted.link_type is not None:
        environment = {
            "PCI_ADDRESSES": " ".join(rail.pci for rail in rails if rail.pci),
            "LINK_TYPE": case.choices.link_type,
            "CHANGE": "true" if wanted.link_type == "change" else "false",
        }
        yield "link-type", environment
    if wanted.rdma_mode:
        yield "rdma-mode", {"RDMA_MODE": case.choices.rdma_mode}
    if wanted.ipoib:
        yield "ipoib", {"INTERFACES": interfaces}
    if wanted.disable_acs:
        yield "acs", {}
    supernet = case.spec.fabric.addressing.supernet
    if wanted.fabric_rule and supernet is not None:
        yield "fabric-rule", {"FABRIC_RANGE": str(supernet), "RULE_PRIORITY": str(FABRIC_RULE_PRIORITY)}
    if wanted.lossless is not None:
        lossless = wanted.lossless
        environment = {
            "INTERFACES": interfaces,
            "PRIORITY": str(lossless.priority),
            "CNP_PRIORITY": str(lossless.cnp_priority),
            "DSCP": str(lossless.marks[0]),
            "CNP_DSCP": str(lossless.marks[1]),
        }
        yield "lossless", environment


VIRTUAL_FUNCTIONS = "virtual-functions"
"""The value of the label `gpu-fabric/component` on the DaemonSet's pods."""

# Seconds: a NIC that resets takes a minute or two; the whole DaemonSet twice that for every NIC and the retries.
_WAIT_SECONDS, _FUNCTIONS_TIMEOUT = 300, 1800


def virtual_functions(case: Case) -> tuple[PlannedObject, ...]:
    """The script and a DaemonSet per node group, ready if every NIC has its functions; none for other choices."""
    if case.choices.virtual_functions != "daemon-set":
        return ()
    by_group = [(group, _environment(case, group)) for group in case.groups]
    return script_daemons(case, VIRTUAL_FUNCTIONS, by_group, timeout=_FUNCTIONS_TIMEOUT)


def _environment(case: Case, group: NodeGroup) -> dict[str, str]:
    plugin = case.line.plugin_daemon_sets["sriovDevicePlugin"]
    return {
        "PCI_ADDRESSES": " ".join(rail.pci for rail in group_rails(case, group) if rail.pci),
        "VFS_PER_NIC": str(max(1, group.shape.vfs_per_nic)),
        "MTU": "" if case.mtu is None or case.choices.link_type != "ether" else str(case.mtu),
        "RDMA_MODE": case.choices.rdma_mode,
        "WAIT_SECONDS": str(_WAIT_SECONDS),
        "PLUGIN_POD": f"{manager_of(case).namespace}/{plugin}",
    }
