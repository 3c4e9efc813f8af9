"""Where a plan's addresses are: on which nodes and NICs, and whether the stack sets the hosts' own ones."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.apps import DaemonSet
from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL
from gpu_fabric.plan.host.preparation import table_name
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.records import PlannedObject

# Machines of another type are others, which have had no addresses; and a node's NICs are labelled by what finds them.
_CARRIED = (INSTANCE_TYPE_LABEL, "feature.node.kubernetes.io/pci-")


class PoolNics(FrozenModel):
    """What the NICs of some pools of nodes are found by, in rail order; empty where that is not known or not used.

    `shape` is the pools' machine type of the catalog; None for machines that the stack file describes itself.
    """

    pools: tuple[str, ...]
    shape: str | None = None
    pci: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()


class Allocation(FrozenModel):
    """What decides, in addition to the address plan, who holds an address.

    `hosts`: hosts hold the addresses that the plan has for them. `by_interface`: networks name a NIC by its interface,
    and else by its PCI address. `selector` has the labels of the stack file by which pools give addresses to nodes;
    None where pools select no nodes. `machine_type` is the value of the label for a node's machine type by which they
    do, on a cluster that exists: an empty text without it, and None elsewhere and in records of versions without it.
    `leases` is the namespace where Whereabouts keeps its leases; None with its own chart.
    """

    hosts: bool = False
    by_interface: bool = False
    selector: dict[str, str] | None = None
    machine_type: str | None = Field(default=None, exclude_if=lambda value: value is None)
    nics: tuple[PoolNics, ...] = ()
    leases: str | None = Field(default=None, exclude_if=lambda value: value is None)


def allocation(plan: Plan) -> Allocation:
    """The allocation of a plan."""
    hosts = any(_sets_addresses(plan, entry) for entry in plan.applied("nic-addresses"))
    # There a pod's pool is found by the host's own address, whatever has set it (rule SPI009).
    hosts = hosts or (plan.step("node-pools") is not None and plan.choices.model == "sriov")
    by_interface = plan.choices.access == "shared"
    labels = _selector(plan)
    exists = plan.cluster.provider == "existing"
    return Allocation(
        hosts=hosts,
        by_interface=by_interface,
        selector=labels and {key: text for key, text in labels.items() if not key.startswith(_CARRIED)},
        # There a label must be put on a node before a selector has it; a cloud's nodes join with it.
        machine_type=labels.get(INSTANCE_TYPE_LABEL, "") if exists and labels is not None else None,
        nics=tuple(_nics(plan, named=hosts or by_interface)) if plan.addresses.pools else (),
        leases=_leases(plan),
    )


def _leases(plan: Plan) -> str | None:
    """The namespace of Whereabouts, if the policy of an operator installs it: it keeps its leases in its pods' own."""
    operator = plan.release("network-operator")
    by_policy = plan.addresses.ipam == "whereabouts" and catalog().releases[plan.release_line].policy_by == "chart"
    return operator.namespace if by_policy and operator is not None else None


def _sets_addresses(plan: Plan, entry: PlannedObject) -> bool:
    """Whether an object is a DaemonSet that sets the hosts' addresses of this plan's pools, and not in a dry run."""
    if not isinstance(entry.object, DaemonSet) or not entry.awaited:
        return False
    tables = {table_name(pool) for pool in plan.addresses.pools}
    volumes = entry.object.spec.template.spec.volumes or ()
    return any(volume.config_map is not None and volume.config_map.name in tables for volume in volumes)


def _selector(plan: Plan) -> dict[str, str] | None:
    own = {pool.name for pool in plan.addresses.pools}
    for entry in plan.applied("ip-pools"):
        if (
            entry.name in own
            and isinstance(entry.object, IPPool | CIDRPool)
            and (nodes := entry.object.spec.node_selector) is not None
        ):
            terms = (has for term in nodes.node_selector_terms for has in term.match_expressions or ())
            return {has.key: ",".join(has.values or ()) for has in terms}
    return None


def _nics(plan: Plan, *, named: bool) -> list[PoolNics]:
    """The NICs; where they are `named` the stack finds them by their interfaces, whatever else it knows."""
    rails = {nodes.shape: nodes.rails for nodes in plan.node_groups}
    by_shape: dict[str, list[str]] = {}
    for pool in plan.cluster.pools:
        by_shape.setdefault(pool.shape, []).append(pool.name)
    known, found = catalog().shapes, []
    for shape, pools in by_shape.items():
        of_shape = rails.get(shape, plan.rails)
        pci = _known(rail.pci for rail in of_shape)
        interfaces = _known(rail.interface for rail in of_shape) if named or not all(pci) or not pci else ()
        own = shape not in known
        found.append(PoolNics(pools=tuple(pools), shape=None if own else shape, pci=pci, interfaces=interfaces))
    return found


def _known(facts: Iterable[str | None]) -> tuple[str, ...]:
    found = tuple(fact or "" for fact in facts)
    return found if any(found) else ()
