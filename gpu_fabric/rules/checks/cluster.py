"""Checks of the cluster: pools, machines, labels, groups of nodes, prices, and a cluster split in two stacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.cluster_facts import SetLabel
from gpu_fabric.catalog.shape import CLOUD_SHAPES
from gpu_fabric.k8s.mellanox import LONGEST_NAME
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.cost import machine_types
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.nccl_files import plan_nccl_files
from gpu_fabric.plan.operators.policy import policy_name
from gpu_fabric.rules.clashes import Stated, clashes
from gpu_fabric.rules.planned_nodes import AnyPool, first_pool, group_of, labels_of_pools, placed_pools, unnamed_pools
from gpu_fabric.rules.registry import Problem, check, check_each, check_plan, in_cluster, in_fabric, in_software
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.suggestion import nearest

# Models whose networks name an interface of the host.
_BY_INTERFACE = ("macvlan", "ipoib")
_NIC_FACTS = (("pci", "pci"), ("interface", "interface"), ("rdma_device", "rdmaDevice"), ("nearest_gpu", "nearestGpu"))


@check_each("CLU004", placed_pools)
def shape_has_rdma_nics(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """Every pool's machines have RDMA NICs."""
    if not pool.shape.nics:
        remedy = "write a shape with a fabric: `gpu-fabric shapes --rdma` lists them"
        remedy += (
            "; nodes without one are left out of the file, also if they have GPUs"
            if case.choices.provider == "existing"
            else "; pools without one are listed under cluster.otherPools"
        )
        yield Problem(pool.at("shape"), f"{pool.spec.shape} has no RDMA NIC", remedy)


@check_each("CLU005", placed_pools)
def shape_is_of_the_provider(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """A cloud's pools have that cloud's machines."""
    allowed = CLOUD_SHAPES.get(case.choices.provider)
    if allowed is not None and pool.shape.provider != allowed:
        yield Problem(
            pool.at("shape"),
            f"{pool.spec.shape} is not a machine type of provider {case.choices.provider}",
            f"`gpu-fabric shapes --provider {allowed}` lists those that are",
        )


@check_each("CLU013", placed_pools)
def labels_are_not_others(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """No pool states a label that kubelet or the cloud sets to another value."""
    known, cloud = case.known.node_labels, case.choices.provider in CLOUD_SHAPES
    for key, value in pool.spec.labels.items():
        row = known.set.get(key)
        if row is not None and (wrong := _label_problem(row, value, pool.shape, case)):
            message, remedy = wrong, "leave it out; write a label in a domain of your own"
        elif cloud and known.kubelet.refuse(key):
            message = "kubelet does not start with a label of this domain, and the node would not join"
            remedy = f"write a label in a domain of your own, or in {' or '.join(known.kubelet.takes)}"
        else:
            continue
        yield Problem(pool.at("labels", key), message, remedy)


def _label_problem(row: SetLabel, value: str, shape: Shape, case: Case) -> str | None:
    """What is wrong with a label that others set."""
    if row.own:
        return f"{row.by} gives every node its own value"
    if case.choices.provider in CLOUD_SHAPES:
        return f"{row.by} sets it"
    if row.values and value not in row.values:
        return f"the nodes have {' or '.join(row.values)}: no job would find them by {value}"
    # Any other name is allowed: the operator of an existing cluster may label its nodes so.
    if row.type and value != shape.name and case.known.find(value) is not None:
        return f"the nodes are {shape.name}: jobs and networks would go to machines of type {value}"
    return None


def _follows_names(case: Case) -> tuple[bool, bool]:
    """Whether shares of the address plan, and whether the hosts' own addresses, follow the names of the nodes."""
    return case.demand.layout == "per-node", case.spec.fabric.host_preparation.addresses


@check("CLU014")
def all_pools_name_their_nodes(case: Case) -> Iterator[Problem]:
    """Where one pool names its nodes and shares follow the names, all pools do."""
    unnamed = unnamed_pools(case)
    if _follows_names(case) != (True, False) or len(unnamed) == len(case.spec.cluster.pools):
        return
    for pool in unnamed:
        yield Problem(
            pool.at("nodeNames"),
            f"pool {pool.spec.name} names no nodes, so that the names of the other pools pin no shares either",
            f"add the names of its {pool.spec.nodes} nodes, or leave nodeNames out of all pools",
        )


@check_each("CLU015", placed_pools)
def names_of_nodes_have_an_effect(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """Nodes are named only where shares or addresses follow the names."""
    if pool.spec.node_names and not any(_follows_names(case)) and case.spec.split.part != "cluster":
        yield Problem(
            pool.at("nodeNames"),
            f"they have no effect: with the layout {case.demand.layout} no share follows a node's name",
        )


def _pools_of_other_shapes(case: Case) -> Iterator[AnyPool]:
    """The pools whose node group is not the first pool's; none for a cluster alone, whose platform has the fabrics."""
    pools = placed_pools(case) if case.spec.split.part != "cluster" else []
    return (pool for pool in pools if group_of(case, pool.spec) is not case.groups[0])


@check_each("CLU002", _pools_of_other_shapes)
def machines_make_one_fabric(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """Pools of different shapes are equal in all facts that jobs, networks and NCCL see."""
    first, group = case.groups[0], group_of(case, pool.spec)
    ours, theirs = _visible_facts(case, first), _visible_facts(case, group)
    differing = [what for what, value in ours.items() if value != theirs.get(what)]
    if differing:
        yield Problem(
            pool.at("shape"),
            f"{group.shape.name} and {first.shape.name} make no one fabric: they differ in {', '.join(differing)}",
            f"write {first.shape.name}, or give the pool a fabric of its own under gpu-fabric:fabrics (docs/groups.md)",
        )


@check_each("CLU006", _pools_of_other_shapes)
def manager_serves_several_groups(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """Pools have different shapes only where the Network Operator configures their nodes."""
    if manager_of(case).configures_node_groups:
        return
    first = case.groups[0].shape.name
    yield Problem(
        pool.at("shape"),
        f"pool {pool.spec.name} has shape {pool.spec.shape} and not {first}, and the manager {case.choices.manager} "
        "configures all nodes alike",
        f"write {first}, or move the pool to a stack of its own",
    )


@check_plan("CLU007")
def line_configures_node_groups(case: Case, plan: Plan) -> Iterator[Problem]:
    """Node groups whose device plug-ins differ come with a release line that has the kind NicNodePolicy."""
    if plan.applied("nic-node-policies") and not case.line.nic_node_policies:
        able = [line.name for line in case.known.releases.values() if line.nic_node_policies]
        yield Problem(
            in_software("releaseLine"),
            f"the device plug-ins of {' and '.join(group.shape.name for group in case.groups)} need configurations of "
            f"their own, and release line {case.line.name} has one for all nodes",
            f"write {' or '.join(able)}, or move one of the pools to a cluster of its own",
        )


@check("CLU008")
def labels_distinguish_node_groups(case: Case) -> Iterator[Problem]:
    """Labels select the nodes of one node group, and none of another."""
    # On the host's network nothing runs on one node group only.
    if case.choices.model == "host-network" or len(case.groups) == 1:
        return
    pools = list(zip(case.spec.cluster.pools, labels_of_pools(case), strict=True))
    for group in case.groups:
        others = [
            pool.name
            for pool, labels in pools
            if group_of(case, pool) is not group and group.labels.items() <= labels.items()
        ]
        if others:
            carried = ", ".join(f"{key}={text}" for key, text in group.labels.items())
            yield Problem(
                first_pool(case, group).at("labels"),
                f"what all nodes of {group.shape.name} carry ({carried or 'no label'}) also holds on the nodes of pool "
                f"{', '.join(others)}",
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
                    in_fabric("rails", number, key),
                    f"it would hold for {' and '.join(group.shape.name for group in case.groups)} alike",
                )


@check_plan("CLU010")
def policies_have_different_names(case: Case, plan: Plan) -> Iterator[Problem]:
    """The NicNodePolicies of two node groups have different names."""
    if not plan.applied("nic-node-policies"):
        return
    stated = [
        Stated(("cluster", "pools", first_pool(case, group).number), policy_name(group.name), f"pool {group.name}")
        for group in case.groups
    ]
    for clash in clashes({}, stated):
        yield Problem(
            dotted((*clash.stated.place, "name")),
            f"a NicNodePolicy's name ends after {LONGEST_NAME} characters, and {clash.stated.value} is {clash.other}'s",
        )


def _visible_facts(case: Case, group: NodeGroup) -> dict[str, Any]:
    """What jobs, networks and NCCL see of a node group."""
    shape, row = group.shape, case.choices.row
    facts: dict[str, Any] = {
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
        facts["NCCL's settings"] = (nccl.environment, [(file.key, file.content) for file in nccl.files])
    if case.choices.model in _BY_INTERFACE:
        facts["the interfaces on the host, which the networks name"] = [nic.interface for nic in shape.nics]
    return facts


@check("SPL004")
def there_is_a_cluster_to_make(case: Case) -> Iterator[Problem]:
    """A stack of part cluster is for a cloud on which the stack creates a cluster."""
    if case.spec.split.part == "cluster" and case.spec.cluster.provider == "existing":
        yield Problem(dotted(("split", "part")))


@check("CST001")
def prices_are_of_pools(case: Case) -> Iterator[Problem]:
    """Every price is for machines of the stack."""
    types = machine_types(case)
    for name in case.spec.cluster.prices:
        if name not in types:
            remedy = f"{nearest(name, types)}write one of {', '.join(types)}, or take the price out"
            yield Problem(in_cluster("prices", name), f"no pool has machines of type {name}", remedy)


@check("CST002")
def prices_have_a_date(case: Case) -> Iterator[Problem]:
    """Every price of the stack file has a date."""
    for name, price in case.spec.cluster.prices.items():
        if price.as_of is None:
            yield Problem(in_cluster("prices", name), f"the price of {name} has no date")
