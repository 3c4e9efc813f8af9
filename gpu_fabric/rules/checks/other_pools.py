"""Checks of the group `other_pools`: pools outside the fabric, and pools that scale."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds.oke.site import AUTOSCALER
from gpu_fabric.plan.other_pools import OtherPool, gpu_pools_beside, other_pools
from gpu_fabric.rules.checks.oke import impossible_sizes, oke_cluster
from gpu_fabric.rules.planned_nodes import AnyPool, PlacedPool, place_pools, placed_pools
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, in_cluster
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec, OkeOtherPoolSpec, OkePoolSpec

# Settings of Oracle's autoscaler that follow from the bounds of the pools.
_OWN_SETTINGS = ("authType", "nodes")


@check_each("OTH001", other_pools)
def names_are_of_one_pool(case: Case, pool: OtherPool) -> Iterator[Problem]:
    """No pool outside the fabric has the name of a GPU pool or of the system pool."""
    if pool.spec.name in [other.name for other in case.spec.cluster.pools]:
        yield Problem(pool.at("name"), f"a pool of the fabric is called {pool.spec.name}", "give each its own")
    elif pool.spec.name == "system":
        yield Problem(pool.at("name"), "the cluster's own CPU pool is called system", "write another name")


@check_each("OTH002", gpu_pools_beside)
def machines_beside_have_no_rdma(case: Case, pool: OtherPool) -> Iterator[Problem]:
    """Machines with RDMA NICs are in the pools of the fabric."""
    if pool.shape is not None and pool.shape.nics:
        yield Problem(pool.at(pool.machine_key), f"{pool.shape.name} has {pool.shape.rails} RDMA NICs")


@check_each("OTH003", other_pools)
def the_fabric_leaves_other_nodes_alone(case: Case, pool: OtherPool) -> Iterator[Problem]:
    """What selects the fabric's nodes selects no others."""
    selector = case.node_labels
    if not selector:
        # CPU nodes have neither GPUs nor the label of RDMA NICs, by which nodes are selected then.
        if pool.shape is not None:
            yield Problem(
                in_cluster("pools"),
                f"the pools have no label in common that tells them from the GPU nodes of pool {pool.spec.name}",
                "write a label of its own into labels of every pool of the fabric",
            )
    elif selector.items() <= pool.labels.items():
        shared = ", ".join(f"{key}={text}" for key, text in selector.items())
        yield Problem(
            pool.at("labels"),
            f"the nodes have all labels of the fabric's: {shared}",
            "leave one of them out, or write a label into every pool of the fabric that this one has not",
        )


def _scaled(case: Case) -> list[PlacedPool[OkePoolSpec] | OtherPool]:
    """Pools with bounds, but for the fabric's at DigitalOcean, which have a rule of their own."""
    cluster = oke_cluster(case)
    found: list[PlacedPool[OkePoolSpec] | OtherPool] = [*other_pools(case)]
    if cluster is not None:
        found += place_pools(cluster.pools, case.shapes)
    return [pool for pool in found if pool.spec.auto_scale is not None]


@check_each("OTH004", _scaled)
def bounds_hold_the_nodes(case: Case, pool: PlacedPool[OkePoolSpec] | OtherPool) -> Iterator[Problem]:
    """The number of nodes is within the bounds, and the upper one is a node at least."""
    bounds, nodes = pool.spec.auto_scale, pool.spec.nodes
    if bounds is None:
        return
    if bounds.max_nodes < 1:
        yield Problem(pool.at("autoScale", "maxNodes"), "the pool may have no node at all", "write 1 or more")
    elif not bounds.min_nodes <= nodes <= bounds.max_nodes:
        yield Problem(
            pool.at("autoScale"),
            f"{nodes} nodes are not within {bounds.min_nodes} to {bounds.max_nodes}",
            "write bounds that hold the number of nodes",
        )


@check_each("OTH005", other_pools)
def machines_beside_can_be_made(case: Case, pool: OtherPool) -> Iterator[Problem]:
    """The machine type is a CPU type or a known GPU type, with processors and memory where it is flexible."""
    wanted, machine = pool.spec, pool.spec.machine
    if pool.shape is None and (machine.startswith("gpu-") or ".GPU" in machine):
        yield Problem(
            pool.at(pool.machine_key),
            f"{machine} has GPUs, and the catalog does not know which",
            "write one that `gpu-fabric shapes` lists, or describe it under cluster.shapes",
        )
    if not isinstance(wanted, OkeOtherPoolSpec):
        return
    stated = [key for key, value in (("ocpus", wanted.ocpus), ("memoryGib", wanted.memory_gib)) if value is not None]
    if not machine.endswith(".Flex"):
        for key in stated:
            yield Problem(pool.at(key), f"{machine} is not flexible: every machine is alike", "leave it out")
    elif wanted.ocpus is None or wanted.memory_gib is None:
        for key in ("ocpus", "memoryGib"):
            if key not in stated:
                yield Problem(pool.at(), f"{machine} is flexible, and {key} is missing", f"add {key}")
    else:
        where = ("otherPools", pool.number)
        yield from impossible_sizes(case, where, machine, wanted.ocpus, wanted.memory_gib)


@check_each("OTH006", other_pools)
def preemptible_machines_exist(case: Case, pool: OtherPool) -> Iterator[Problem]:
    """Preemptible machines are virtual ones, without a reservation."""
    wanted = pool.spec
    if not isinstance(wanted, OkeOtherPoolSpec) or not wanted.preemptible:
        return
    if wanted.shape.startswith("BM."):
        yield Problem(
            pool.at("preemptible"), f"{wanted.shape} is a bare-metal machine", "write a shape that begins with VM"
        )
    if wanted.capacity_reservation_id is not None:
        yield Problem(
            pool.at("capacityReservationId"), "preemptible machines take no reserved capacity", "leave one of them out"
        )


@check_of("OTH007", oke_cluster)
def autoscaler_reads_the_bounds(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The cluster can have the autoscaler, and no setting of the add-on contradicts the pools' bounds."""
    if not _scaled(case):
        return
    if not cluster.enhanced:
        yield Problem(in_cluster("enhanced"), "pools scale, and a basic cluster has no add-ons", "write enhanced: true")
    for number, addon in enumerate(cluster.addons):
        for key in _OWN_SETTINGS if addon.name == AUTOSCALER else ():
            if key in addon.configurations:
                yield Problem(
                    in_cluster("addons", number, "configurations", key),
                    "it follows from autoScale of the pools",
                    "leave it out",
                )


@check_each("OTH008", gpu_pools_beside)
def gpus_beside_are_advertised(case: Case, pool: OtherPool) -> Iterator[Problem]:
    """The device plug-in of the GPUs' vendor runs on these nodes as well."""
    cluster, shape = case.spec.cluster, pool.shape
    if shape is None or shape.gpus.vendor == case.shape.gpus.vendor:
        # The rules on the fabric's own plug-in hold for these nodes.
        return
    if isinstance(cluster, DoksClusterSpec) and cluster.plugins.gpu != "managed":
        yield Problem(
            in_cluster("plugins", "gpu"),
            f"the stack installs no device plug-in for GPUs of {shape.gpus.vendor}, as in pool {pool.spec.name}",
            "write gpu: managed",
        )
    if isinstance(cluster, OkeClusterSpec):
        yield Problem(
            pool.at("shape"),
            f"its GPUs are of {shape.gpus.vendor}, those of the fabric of {case.shape.gpus.vendor}, and one plug-in is "
            "set up",
            "write a shape with GPUs of the same vendor, or a stack of their own",
        )


@check("OTH009")
def a_fabric_keeps_a_node(case: Case) -> Iterator[Problem]:
    """A pool of the fabric that scales keeps at least one node; DigitalOcean's have a rule of their own."""
    for pool in _scaled(case):
        if isinstance(pool, PlacedPool) and pool.spec.auto_scale is not None and pool.spec.auto_scale.min_nodes == 0:
            yield Problem(pool.at("autoScale", "minNodes"), f"pool {pool.spec.name} may have no node")


@check_each("OTH010", placed_pools)
def nodes_that_scale_have_no_stated_names(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """Nodes are named only in pools of a fixed size."""
    if pool.spec.node_names and getattr(pool.spec, "auto_scale", None) is not None:
        yield Problem(pool.at("nodeNames"), f"the nodes of pool {pool.spec.name} come and go")


@check_of("OTH011", oke_cluster)
def autoscaler_has_its_policy(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Where pools scale, the stack creates the policy of the autoscaler's pods."""
    if _scaled(case) and not cluster.identity.create:
        yield Problem(in_cluster("identity", "create"))
