"""Host preparation: the jobs of a stack on its GPU nodes, each a script and a DaemonSet per node group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.host.daemons import TABLES, script_daemon, script_files
from gpu_fabric.plan.operators.releases import namespace_of
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.records import PlannedObject

FABRIC_RULE_PRIORITY = 2000
"""Of the rule that keeps other traffic off the rails, as in the guides; Spiderpool's own rules end at 1000."""

# The rails' own rules come after that one: what is not the fabric's has left for the main table by then.
_RAIL_RULE_PRIORITY = 2100
# One a rail from here on, as the guides' script counts; the system's own begin at 253.
FIRST_TABLE = 151

# Seconds for a DaemonSet's pods to be ready on all nodes; a mode that takes a reboot has to be made by people.
_TIMEOUT = 900


class _Job(NamedTuple):
    component: str
    environment: dict[str, str]


def host_preparation(case: Case) -> tuple[PlannedObject, ...]:
    """The scripts and DaemonSets of all jobs but the NICs' addresses; none waits for another."""
    planned: dict[str, list[PlannedObject]] = {}
    for group in case.groups:
        for job in _jobs(case, group):
            made = planned.setdefault(job.component, [script_files(case, job.component)])
            made.append(
                script_daemon(
                    case,
                    job.component,
                    group,
                    made[0],
                    job.environment,
                    timeout=_TIMEOUT,
                    dry_run=case.spec.fabric.host_preparation.dry_run,
                )
            )
    return tuple(entry for made in planned.values() for entry in made)


def nic_addresses(case: Case, addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """The script and the DaemonSet that give the rails' NICs the addresses of `address_table`; none unless asked."""
    wanted = case.spec.fabric.host_preparation
    if not wanted.addresses or not addresses.pools:
        return ()
    component = "nic-addresses"
    files = script_files(case, component)
    tables = {f"{rail:02d}": table_name(pool) for pool in addresses.pools for rail in pool.rails}
    environment = {
        "ADDRESSES": TABLES,
        "RAILS": " ".join(tables),
        "MTU": "" if case.mtu is None else str(case.mtu),
        # With subnets of its own a node reaches the others' by a router, and the host by that of its first rail.
        "FABRIC_RANGE": str(addresses.supernet) if addresses.layout == "per-node" else "",
        "RULE_PRIORITY": str(_RAIL_RULE_PRIORITY),
        "FIRST_TABLE": str(FIRST_TABLE),
    }
    daemons = (
        script_daemon(
            case,
            component,
            group,
            files,
            environment,
            timeout=_TIMEOUT,
            tables=tables,
            dry_run=wanted.dry_run,
        )
        for group in case.groups
    )
    return (files, *daemons)


def address_tables(case: Case, addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """A ConfigMap per pool with a line for every node: `INTERFACE ADDRESS/LENGTH [GATEWAY]`, by the node's name."""
    if not case.spec.fabric.host_preparation.addresses or not addresses.node_names:
        return ()
    return tuple(address_table(case, addresses, pool) for pool in addresses.pools)


def address_table(case: Case, addresses: AddressPlan, pool: AddressPool) -> PlannedObject:
    """The ConfigMap of one pool."""
    lines = dict(_lines(case, addresses, pool))
    metadata = ObjectMeta(name=table_name(pool), namespace=namespace_of(case))
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
        # On InfiniBand nothing is routed; its subnet manager sees to the ways.
        gateway = pool.gateway_of(number) if case.choices.link_type == "ether" else None
        yield node, f"{interfaces[shape]} {address}/{length}" + ("" if gateway is None else f" {gateway}")


def _jobs(case: Case, group: NodeGroup) -> Iterator[_Job]:
    wanted = case.spec.fabric.host_preparation
    rails = group_rails(case, group)
    interfaces = " ".join(rail.interface for rail in rails if rail.interface)
    if wanted.link_type is not None:
        environment = {
            "PCI_ADDRESSES": " ".join(rail.pci for rail in rails if rail.pci),
            "LINK_TYPE": case.choices.link_type,
            "CHANGE": "true" if wanted.link_type == "change" else "false",
        }
        yield _Job("link-type", environment)
    if wanted.rdma_mode:
        yield _Job("rdma-mode", {"RDMA_MODE": case.choices.rdma_mode})
    if wanted.ipoib:
        yield _Job("ipoib", {"INTERFACES": interfaces})
    if wanted.disable_acs:
        yield _Job("acs", {})
    supernet = case.spec.fabric.addressing.supernet
    if wanted.fabric_rule and supernet is not None:
        yield _Job("fabric-rule", {"FABRIC_RANGE": str(supernet), "RULE_PRIORITY": str(FABRIC_RULE_PRIORITY)})
    if wanted.lossless is not None:
        lossless = wanted.lossless
        environment = {
            "INTERFACES": interfaces,
            "PRIORITY": str(lossless.priority),
            "CNP_PRIORITY": str(lossless.cnp_priority),
            "DSCP": str(lossless.marks[0]),
            "CNP_DSCP": str(lossless.marks[1]),
        }
        yield _Job("lossless", environment)


VIRTUAL_FUNCTIONS = "virtual-functions"
"""The value of the label `gpu-fabric/component` on the DaemonSet's pods."""

# Seconds: a NIC that resets takes a minute or two; the whole DaemonSet twice that for every NIC and the retries.
_WAIT_SECONDS, _FUNCTIONS_TIMEOUT = 300, 1800


def virtual_functions(case: Case) -> tuple[PlannedObject, ...]:
    """The script and a DaemonSet per kind of nodes, ready where every NIC has its functions; none by other makers."""
    if case.choices.virtual_functions != "daemon-set":
        return ()
    files = script_files(case, VIRTUAL_FUNCTIONS)
    daemons = (
        script_daemon(case, VIRTUAL_FUNCTIONS, group, files, _environment(case, group), timeout=_FUNCTIONS_TIMEOUT)
        for group in case.groups
    )
    return (files, *daemons)


def _environment(case: Case, group: NodeGroup) -> dict[str, str]:
    plugin = case.line.plugin_daemon_sets["sriovDevicePlugin"]
    return {
        "PCI_ADDRESSES": " ".join(rail.pci for rail in group_rails(case, group) if rail.pci),
        "VFS_PER_NIC": str(max(1, group.shape.vfs_per_nic)),
        "MTU": "" if case.mtu is None or case.choices.link_type != "ether" else str(case.mtu),
        "RDMA_MODE": case.choices.rdma_mode,
        "WAIT_SECONDS": str(_WAIT_SECONDS),
        "PLUGIN_POD": f"{namespace_of(case)}/{plugin}",
    }
