"""Checks of the cluster: pools, machines, labels, groups of nodes, prices, and a cluster split in two stacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.nodes import SetLabel
from gpu_fabric.catalog.shape import CLOUD_SHAPES
from gpu_fabric.k8s.mellanox import LONGEST_NAME
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.cost import machine_types
from gpu_fabric.plan.nccl_files import plan_nccl_files
from gpu_fabric.rules.clashes import Stated, clashes
from gpu_fabric.rules.planned_nodes import group_of, labels_of_pools
from gpu_fabric.rules.registry import Problem, check, check_plan
from gpu_fabric.spec import DoksClusterSpec, PoolSpec
from gpu_fabric.spec.places import Location, dotted
from gpu_fabric.spec.suggestion import nearest

# Models whose networks name an interface of the host.
_BY_INTERFACE = ("macvlan", "ipoib")
_NIC_FACTS = (("pci", "pci"), ("interface", "interface"), ("rdma_device", "rdmaDevice"), ("nearest_gpu", "nearestGpu"))


@check("CLU004")
def shape_has_rdma_nics(case: Case) -> Iterator[Problem]:
    """Every pool's machines have RDMA NICs."""
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        if not shape.nics:
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"{pool.shape} has no RDMA NIC",
                "write a shape with a fabric: `gpu-fabric shapes --rdma` lists them",
            )


@check("CLU005")
def shape_is_of_the_provider(case: Case) -> Iterator[Problem]:
    """A cloud's pools have that cloud's machines."""
    allowed = CLOUD_SHAPES.get(case.choices.provider)
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        if allowed is not None and shape.provider != allowed:
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"{pool.shape} is not a machine type of provider {case.choices.provider}",
                f"`gpu-fabric shapes --provider {allowed}` lists those that are",
            )


@check("CLU013")
def labels_are_not_others(case: Case) -> Iterator[Problem]:
    """No pool says of its nodes what kubelet and the cloud say otherwise."""
    known, cloud = case.known.node_labels, case.choices.provider in CLOUD_SHAPES
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        for key, value in pool.labels.items():
            row = known.set.get(key)
            if row is not None and (wrong := _wrong(row, value, shape, case)):
                message, remedy = wrong, "leave it out; write a label in a domain of your own"
            elif cloud and known.kubelet.refuse(key):
                message = "kubelet does not start with a label of this domain, and the node would not join"
                remedy = f"write a label in a domain of your own, or in {' or '.join(known.kubelet.takes)}"
            else:
                continue
            yield Problem(dotted(("cluster", "pools", place, "labels", key)), message, remedy)


def _wrong(row: SetLabel, value: str, shape: Shape, case: Case) -> str | None:
    """What is wrong with a label that others set."""
    if row.own:
        return f"{row.by} gives every node its own value"
    if case.choices.provider in CLOUD_SHAPES:
        return f"{row.by} sets it"
    if row.values and value not in row.values:
        return f"the nodes have {' or '.join(row.values)}: no job would find them by {value}"
    # A name of one's own for the machines is another matter: who runs an existing cluster may label its nodes so.
    if row.type and value != shape.name and case.known.find(value) is not None:
        return f"the nodes are {shape.name}: jobs and networks would go to machines of type {value}"
    return None


def _pinned(case: Case) -> bool:
    return case.demand.layout == "per-node"


def _with_addresses(case: Case) -> bool:
    return case.spec.fabric.host_preparation.addresses


@check("CLU014")
def all_pools_name_their_nodes(case: Case) -> Iterator[Problem]:
    """Where one pool names its nodes and shares follow the names, all pools do."""
    pools = case.spec.cluster.pools
    if not _pinned(case) or _with_addresses(case) or not any(pool.node_names for pool in pools):
        return
    for place, pool in enumerate(pools):
        if not pool.node_names:
            yield Problem(
                dotted(("cluster", "pools", place, "nodeNames")),
                f"pool {pool.name} names no nodes, so that the names of the other pools pin no shares either",
                f"add the names of its {pool.nodes} nodes, or leave nodeNames out of all pools",
            )


@check("CLU015")
def names_of_nodes_have_an_effect(case: Case) -> Iterator[Problem]:
    """Nodes are named only where shares or addresses follow the names."""
    if _pinned(case) or _with_addresses(case) or case.spec.split.part == "cluster":
        return
    for place, pool in enumerate(case.spec.cluster.pools):
        if pool.node_names:
            yield Problem(
                dotted(("cluster", "pools", place, "nodeNames")),
                f"they have no effect: with the layout {case.demand.layout} no share follows a node's name",
                "leave it out; names count with the layout per-node, and with hostPreparation.addresses",
            )


@check("CLU002")
def machines_make_one_fabric(case: Case) -> Iterator[Problem]:
    """Pools of different shapes are alike in all that jobs, networks and NCCL see of them."""
    first = case.groups[0]
    for group, _, place in _later_pools(case):
        if differing := _differences(case, first, group):
            yield Problem(
                dotted((*place, "shape")),
                f"{group.shape.name} and {first.shape.name} make no one fabric: they differ in {', '.join(differing)}",
                f"write {first.shape.name}, or move the pool to a stack of its own",
            )


@check("CLU006")
def manager_serves_several_kinds(case: Case) -> Iterator[Problem]:
    """Pools have different shapes only where the Network Operator configures their nodes."""
    if case.choices.manager == "network-operator":
        return
    first = case.groups[0].shape.name
    for group, pool, place in _later_pools(case):
        yield Problem(
            dotted((*place, "shape")),
            f"pool {pool.name} has shape {group.shape.name} and not {first}, and the manager {case.choices.manager} "
            "configures all nodes alike",
            f"write {first}, or move the pool to a stack of its own",
        )


@check_plan("CLU007")
def line_configures_kinds_of_nodes(case: Case, plan: Plan) -> Iterator[Problem]:
    """Kinds of nodes whose device plug-ins differ come with a release line that has the kind NicNodePolicy."""
    if plan.applied("nic-node-policies") and not case.line.nic_node_policies:
        able = [line.name for line in case.known.releases.values() if line.nic_node_policies]
        yield Problem(
            dotted(("software", "releaseLine")),
            f"the device plug-ins of {' and '.join(group.shape.name for group in case.groups)} need configurations of "
            f"their own, and release line {case.line.name} has one for all nodes",
            f"write {' or '.join(able)}, or move one of the pools to a stack of its own",
        )


@check("CLU008")
def kinds_can_be_told_apart(case: Case) -> Iterator[Problem]:
    """Labels select the nodes of one kind, and none of another."""
    # On the host's network nothing is put on one kind of nodes only.
    if case.choices.model == "host-network" or len(case.groups) == 1:
        return
    pools = list(zip(_pools(case), labels_of_pools(case), strict=True))
    for group in case.groups:
        others = [
            pool.name
            for (other, pool, _), labels in pools
            if other is not group and group.labels.items() <= labels.items()
        ]
        if others:
            place = next(place for (owner, _, place), _ in pools if owner is group)
            carried = ", ".join(f"{key}={text}" for key, text in group.labels.items())
            yield Problem(
                dotted((*place, "labels")),
                f"what all nodes of {group.shape.name} carry ({carried or 'no label'}) also holds on the nodes of pool "
                f"{', '.join(others)}",
                "add a label that only the pools of this shape carry, such as one that names the machine",
            )


@check("CLU009")
def facts_of_nics_are_the_shapes(case: Case) -> Iterator[Problem]:
    """With several shapes, facts about a rail's NIC are stated in the shapes."""
    if len(case.groups) == 1:
        return
    for number, entry in enumerate(case.spec.fabric.rails):
        for field, key in _NIC_FACTS:
            if getattr(entry, field) is not None:
                yield Problem(
                    dotted(("fabric", "rails", number, key)),
                    f"it would hold for {' and '.join(group.shape.name for group in case.groups)} alike",
                    "describe the machines under cluster.shapes, each with its own NICs, and leave it out here",
                )


@check_plan("CLU010")
def kinds_have_names_of_their_own(case: Case, plan: Plan) -> Iterator[Problem]:
    """The NicNodePolicies of two kinds of nodes have different names."""
    stated = [
        Stated(next(place for owner, _, place in _pools(case) if owner is group), policy.name, f"pool {group.name}")
        for group, policy in zip(case.groups, plan.applied("nic-node-policies"), strict=False)
    ]
    for clash in clashes({}, stated):
        yield Problem(
            dotted((*clash.stated.place, "name")),
            f"a NicNodePolicy's name ends after {LONGEST_NAME} characters, and {clash.stated.value} is {clash.other}'s",
            "write a name that differs earlier",
        )


def _pools(case: Case) -> Iterator[tuple[NodeGroup, PoolSpec, Location]]:
    """Every pool with its kind of nodes and its place, in order."""
    for number, pool in enumerate(case.spec.cluster.pools):
        yield group_of(case, pool), pool, ("cluster", "pools", number)


def _later_pools(case: Case) -> Iterator[tuple[NodeGroup, PoolSpec, Location]]:
    """The pools whose shape is not the first pool's."""
    return (entry for entry in _pools(case) if entry[0] is not case.groups[0])


def _differences(case: Case, first: NodeGroup, other: NodeGroup) -> list[str]:
    """What of two kinds of nodes would have to be the same."""
    ours, theirs = _seen(case, first), _seen(case, other)
    return [what for what, value in ours.items() if value != theirs.get(what)]


def _seen(case: Case, group: NodeGroup) -> dict[str, Any]:
    """What jobs, networks and NCCL see of a kind of nodes."""
    shape, row = group.shape, case.choices.row
    seen: dict[str, Any] = {
        "the number of RDMA NICs": shape.rails,
        "the GPUs' vendor": shape.gpus.vendor,
        "the number of GPUs": shape.gpus.count,
        "the link layer": shape.nic_model.link_type if shape.nic_model else None,
        "the virtual functions of a NIC": shape.vfs_per_nic,
        "the MTU": shape.mtu,
    }
    if shape.nics and row is not None:
        wish = case.spec.fabric.nccl.topology
        nccl = plan_nccl_files(shape, case.known, devices=row.access, topology=wish)
        seen["NCCL's settings"] = (nccl.environment, [(file.key, file.content) for file in nccl.files])
    if case.choices.model in _BY_INTERFACE:
        seen["the interfaces on the host, which the networks name"] = [nic.interface for nic in shape.nics]
    return seen


@check("SPL004")
def there_is_a_cluster_to_make(case: Case) -> Iterator[Problem]:
    """A stack of part cluster is for a cloud that makes one."""
    if case.spec.split.part == "cluster" and case.spec.cluster.provider == "existing":
        yield Problem(
            dotted(("split", "part")),
            "the cluster exists, so a stack of part cluster would make nothing",
            "take the section split out: with provider existing one stack is the platform alone",
        )


@check("SPL005")
def the_platform_gets_no_more_than_the_cluster(case: Case) -> Iterator[Problem]:
    """The kubeconfig of a cluster stack holds no credentials of the account."""
    cluster = case.spec.cluster
    if (
        case.spec.split.part == "cluster"
        and isinstance(cluster, DoksClusterSpec)
        and cluster.kubeconfig.mode == "token"
    ):
        yield Problem(
            dotted(("cluster", "kubeconfig", "mode")),
            "the kubeconfig that the platform stack reads holds the account's API token",
            "write exec (doctl, with the caller's own token) or raw (the cluster's own credentials, which expire)",
        )


@check("CST001")
def price_a_pool(case: Case) -> Iterator[Problem]:
    """Every price is for machines of the stack."""
    types = machine_types(case)
    for name in case.spec.cluster.prices:
        if name not in types:
            remedy = f"{nearest(name, types)}write one of {', '.join(types)}, or take the price out"
            yield Problem(dotted(("cluster", "prices", name)), f"no pool has machines of type {name}", remedy)


@check("CST002")
def have_a_date(case: Case) -> Iterator[Problem]:
    """Every price of the stack file says from which day it is."""
    for name, price in case.spec.cluster.prices.items():
        if price.as_of is None:
            yield Problem(
                dotted(("cluster", "prices", name)),
                f"the price of {name} has no date",
                "write asOf: the day of the price",
            )
