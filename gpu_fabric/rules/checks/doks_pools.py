"""Checks of the group `doks`: pools of GPU Droplets, and the system pool."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.checks.doks import doks_cluster
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec import DoksClusterSpec, DoksPoolSpec
from gpu_fabric.spec.places import dotted


def most_nodes(pool: DoksPoolSpec) -> int:
    """The most nodes that a pool may come to have."""
    return max(pool.nodes, pool.auto_scale.max_nodes) if pool.auto_scale else pool.nodes


def all_nodes(cluster: DoksClusterSpec) -> int:
    """The most nodes that a cluster may come to have, CPU nodes included."""
    return cluster.system_pool.nodes + sum(most_nodes(pool) for pool in cluster.pools)


def _pools(case: Case) -> tuple[DoksPoolSpec, ...]:
    cluster = doks_cluster(case)
    return cluster.pools if cluster else ()


def _contracted(case: Case, place: int) -> bool:
    size = case.shapes[place].doks
    return size is not None and size.offer == "contracted"


@check("DOK001")
def size_is_published(case: Case) -> Iterator[Problem]:
    """The size is in a published list."""
    for place, shape in enumerate(case.shapes):
        if not shape.known:
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"{shape.name} is read by the grammar of names alone",
                "check the name against the sizes of your contract",
            )


@check("DOK003")
def fabric_has_two_ends(case: Case) -> Iterator[Problem]:
    """A multi-node size comes with more than one node."""
    cluster = doks_cluster(case)
    if cluster and case.shape.nics and case.nodes < 2:
        yield Problem(
            dotted(("cluster", "pools", 0, "nodes")),
            "one node has no other end for its fabric",
            "write 2 or more, or a single-node size on a cluster without a fabric",
        )


@check("DOK004")
def fabric_holds_the_nodes(case: Case) -> Iterator[Problem]:
    """A cluster has no more nodes of a multi-node size than DigitalOcean allows."""
    limit = case.known.doks_clusters.limits.multi_node_nodes
    nodes = sum(most_nodes(pool) for pool in _pools(case))
    if case.shape.nics and nodes > limit:
        yield Problem(
            dotted(("cluster", "pools")),
            f"{nodes} nodes of {case.shape.name}, where a cluster may have {limit}",
            f"plan at most {limit} a cluster, and further ones as a stack of their own",
        )


@check("DOK005")
def cluster_holds_the_nodes(case: Case) -> Iterator[Problem]:
    """A cluster has no more nodes than DigitalOcean allows."""
    cluster, limits = doks_cluster(case), case.known.doks_clusters.limits
    if cluster is None:
        return
    pods, nodes = cluster.ranges.pods, all_nodes(cluster)
    wide = pods is not None and pods.prefixlen <= limits.wide_pod_prefix
    limit = limits.wide_nodes if wide else limits.nodes
    if nodes > limit:
        more = "" if wide else f", or a pod range of /{limits.wide_pod_prefix} for {limits.wide_nodes}"
        yield Problem(
            dotted(("cluster", "pools")),
            f"{nodes} nodes, {cluster.system_pool.nodes} of them in the system pool, where a cluster may have {limit}",
            f"plan at most {limit}{more}",
        )


@check("DOK006")
def quota_holds_the_nodes(case: Case) -> Iterator[Problem]:
    """The team's quota holds every node."""
    cluster = doks_cluster(case)
    if cluster and all_nodes(cluster) > cluster.droplet_quota:
        yield Problem(
            dotted(("cluster", "dropletQuota")),
            f"{all_nodes(cluster)} Droplets, where the team may have {cluster.droplet_quota}",
            "ask DigitalOcean to raise the quota, and write the new one",
        )


@check("DOK007")
def contract_holds_the_nodes(case: Case) -> Iterator[Problem]:
    """A contracted pool never asks for more nodes than its contract provides."""
    for place, pool in enumerate(_pools(case)):
        if not _contracted(case, place):
            continue
        have, where = pool.contracted_nodes, ("cluster", "pools", place)
        if have is not None and pool.nodes > have:
            yield Problem(
                dotted((*where, "nodes")), f"{pool.nodes} nodes, where the contract has {have}", f"write {have} or less"
            )
        if pool.auto_scale and have is None:
            yield Problem(
                dotted((*where, "autoScale")),
                "the pool is contracted, and what the contract provides is not stated",
                "leave autoScale out, or add contractedNodes",
            )
        elif pool.auto_scale and have is not None and pool.auto_scale.max_nodes > have:
            yield Problem(
                dotted((*where, "autoScale", "maxNodes")),
                f"up to {pool.auto_scale.max_nodes} nodes, where the contract has {have}",
                f"write {have} or less",
            )


@check("DOK008")
def a_node_always_stays(case: Case) -> Iterator[Problem]:
    """A GPU pool that scales keeps at least one node."""
    for place, pool in enumerate(_pools(case)):
        if pool.auto_scale and pool.auto_scale.min_nodes == 0:
            yield Problem(
                dotted(("cluster", "pools", place, "autoScale", "minNodes")),
                "the pool may shrink to no node",
                "write 1 or more",
            )


@check("DOK009")
def bounds_hold_the_nodes(case: Case) -> Iterator[Problem]:
    """The number of nodes lies within the bounds of automatic scaling."""
    for place, pool in enumerate(_pools(case)):
        bounds = pool.auto_scale
        if bounds and not bounds.min_nodes <= pool.nodes <= bounds.max_nodes:
            yield Problem(
                dotted(("cluster", "pools", place, "autoScale")),
                f"{pool.nodes} nodes are not within {bounds.min_nodes} to {bounds.max_nodes}",
                "write minNodes and maxNodes so that nodes is between them",
            )


@check("DOK010")
def system_pool_carries_the_system(case: Case) -> Iterator[Problem]:
    """The system pool has CPU nodes, and never none."""
    cluster = doks_cluster(case)
    if cluster is None:
        return
    pool, where = cluster.system_pool, ("cluster", "systemPool")
    if pool.size.startswith("gpu-"):
        yield Problem(dotted((*where, "size")), f"{pool.size} has GPUs", "write a CPU size such as s-4vcpu-8gb")
    if pool.nodes == 0:
        yield Problem(dotted((*where, "nodes")), "no CPU node is left for the system's pods", "write 2 or more")
    if pool.auto_scale_to_zero:
        yield Problem(
            dotted((*where, "autoScaleToZero")), "the pool may shrink to no node", "write autoScaleToZero: false"
        )


@check("DOK011")
def system_pool_has_a_spare_node(case: Case) -> Iterator[Problem]:
    """The system pool survives the replacement of a node."""
    cluster = doks_cluster(case)
    if cluster and cluster.system_pool.nodes == 1:
        yield Problem(
            dotted(("cluster", "systemPool", "nodes")), "one node carries all of the system's pods", "write 2 or more"
        )


@check("DOK012")
def nodes_stay(case: Case) -> Iterator[Problem]:
    """The nodes of a training pool are not taken back."""
    for place, shape in enumerate(case.shapes):
        if shape.doks is not None and shape.doks.offer == "spot":
            yield Problem(
                dotted(("cluster", "pools", place, "shape")),
                f"nodes of {shape.name} may be taken back at any time",
                "write a contracted size, or let every job save checkpoints often",
            )


@check("DOK013")
def upgrades_have_a_spare_node(case: Case) -> Iterator[Problem]:
    """A contract has room for the node that an upgrade adds."""
    cluster = doks_cluster(case)
    if cluster is None or not cluster.surge_upgrade:
        return
    for place, pool in enumerate(cluster.pools):
        if _contracted(case, place) and (pool.contracted_nodes or 0) <= most_nodes(pool):
            yield Problem(
                dotted(("cluster", "surgeUpgrade")),
                f"the contract of pool {pool.name} is not known to have a node to spare",
                "write surgeUpgrade: false, or contractedNodes above the number of nodes",
            )


@check("DOK058")
def surge_upgrades_stay_on(case: Case) -> Iterator[Problem]:
    """Upgrades add no nodes, or the stack file never says otherwise later."""
    cluster = doks_cluster(case)
    if cluster and cluster.surge_upgrade:
        yield Problem(
            dotted(("cluster", "surgeUpgrade")),
            "the provider switches surge upgrades on, and never off: with false later, every run would change the "
            "cluster and none would end it",
            "to switch them off, `doctl kubernetes cluster update CLUSTER --surge-upgrade=false`, then `make refresh`, "
            "then write surgeUpgrade: false",
        )


@check("DOK021")
def partitions_are_of_amd_gpus(case: Case) -> Iterator[Problem]:
    """Only AMD's GPUs are partitioned by these modes."""
    for place, pool in enumerate(_pools(case)):
        if pool.gpu_partition_mode and case.shapes[place].gpus.vendor != "amd":
            yield Problem(
                dotted(("cluster", "pools", place, "gpuPartitionMode")),
                f"{case.shapes[place].name} has no AMD GPUs",
                "leave it out",
            )


@check("DOK022")
def partitions_are_counted(case: Case) -> Iterator[Problem]:
    """A node shows as many GPUs as the plan counts."""
    for place, pool in enumerate(_pools(case)):
        gpus = case.shapes[place].gpus
        if pool.gpu_partition_mode == "AMD_PARTITION_MODE_DPX_NPS2" and gpus.vendor == "amd":
            yield Problem(
                dotted(("cluster", "pools", place, "gpuPartitionMode")),
                f"nodes show {2 * gpus.count} GPUs, jobs ask for {gpus.count}",
                f"leave it out, or let jobs on the fabric ask for {2 * gpus.count}",
            )


@check("DOK023")
def rdma_devices_are_amds(case: Case) -> Iterator[Problem]:
    """RDMA devices of AMD's NICs are not named like NVIDIA's."""
    model = case.shape.nic_model.model if case.shape.nic_model else None
    if case.shape.doks is None or not (model or "").startswith("AMD"):
        return
    for place, rail in enumerate(case.spec.fabric.rails):
        if (rail.rdma_device or "").startswith("mlx5_"):
            yield Problem(
                dotted(("fabric", "rails", place, "rdmaDevice")),
                f"{rail.rdma_device} is not a device of {model}",
                "write the name that `ibv_devices` prints on a node",
            )


@check("DOK034")
def labels_are_ones_own(case: Case) -> Iterator[Problem]:
    """No label lies in DigitalOcean's own domain."""
    for place, pool in enumerate(_pools(case)):
        for key in pool.labels:
            if key.startswith("doks.digitalocean.com/"):
                yield Problem(
                    dotted(("cluster", "pools", place, "labels", key)),
                    "DOKS sets labels of this domain itself",
                    "write a label in a domain of your own",
                )


@check("DOK036")
def vendors_taint_is_not_declared(case: Case) -> Iterator[Problem]:
    """The taint that DOKS sets on GPU nodes is not declared as well."""
    for place, pool in enumerate(_pools(case)):
        for number, taint in enumerate(pool.taints or ()):
            if taint.key == case.shapes[place].gpus.resource:
                yield Problem(
                    dotted(("cluster", "pools", place, "taints", number)),
                    f"DOKS sets {taint.key} on these nodes itself",
                    "leave it out; jobs tolerate it anyway",
                )


@check("DOK048")
def taints_have_values(case: Case) -> Iterator[Problem]:
    """Every taint of a pool has a value."""
    for place, pool in enumerate(_pools(case)):
        for number, taint in enumerate(pool.taints or ()):
            if not taint.value:
                yield Problem(
                    dotted(("cluster", "pools", place, "taints", number)),
                    f"{taint.key} has no value, which DigitalOcean's provider asks for",
                    "add a value, such as value: present",
                )
