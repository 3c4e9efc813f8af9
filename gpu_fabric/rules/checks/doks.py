"""Checks of clusters on DOKS: versions, pools, limits, and what the stack creates and adopts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.version import lies_below
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.other_pools import OtherPool, other_pools
from gpu_fabric.rules.chart_values import charts_in_use, gpu_operator_parts
from gpu_fabric.rules.planned_nodes import AnyPool, PlacedPool, place_pools, placed_pools
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, in_cluster, in_fabric
from gpu_fabric.spec.cluster import most_nodes
from gpu_fabric.spec.doks import DoksClusterSpec, DoksPoolSpec

_LEAST_MINUTES = 60
# The cluster's name in the guard's section.
_CLUSTER = "cluster-doks"

_Pool = PlacedPool[DoksPoolSpec]


def doks_cluster(case: Case) -> DoksClusterSpec | None:
    """The cluster if the stack creates it on DigitalOcean, else None."""
    return case.spec.cluster if isinstance(case.spec.cluster, DoksClusterSpec) else None


@check_of("DOK002", doks_cluster)
def region_has_the_size(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The size was seen in the region."""
    regions = case.shape.doks.regions if case.shape.doks else ()
    if regions and cluster.region not in regions:
        yield Problem(
            in_cluster("region"),
            f"{case.shape.name} is known in {', '.join(regions)} only",
            f"write {' or '.join(regions)}, unless your contract says {cluster.region}",
        )


@check_of("DOK014", doks_cluster)
def version_is_pinned(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The version is an exact one, or a minor version."""
    if cluster.version == "latest":
        yield Problem(in_cluster("version"))


@check_of("DOK015", doks_cluster)
def support_has_no_known_end(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """No end of the version's support is published."""
    minor = ".".join(cluster.version.split("-")[0].split(".")[:2])
    facts = case.known.doks_clusters.versions.get(minor)
    if facts is not None:
        forced = facts.forced_upgrades_from
        yield Problem(
            in_cluster("version"),
            f"DigitalOcean's support of {minor} ends on {facts.support_ends}"
            + (f", and upgrades are forced from {forced}" if forced else ""),
        )


@check_of("DOK016", doks_cluster)
def version_drives_the_fabric(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The version's node image contains the drivers of the fabric's NICs."""
    facts = case.known.doks_clusters
    if not case.shape.nics:
        return
    lowest = facts.fabric_from_by_gpu.get(case.shape.gpus.model or "", facts.fabric_from)
    if lies_below(cluster.version, lowest):
        yield Problem(
            in_cluster("version"),
            f"{cluster.version} does not drive the fabric of {case.shape.name}",
            f"write {lowest} or newer",
        )


@check_of("DOK017", doks_cluster)
def upgrades_leave_the_version_alone(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """DigitalOcean does not raise a version that the stack file sets at every run."""
    if cluster.auto_upgrade and cluster.version_applies == "always":
        yield Problem(
            in_cluster("autoUpgrade"),
            f"automatic upgrades raise the version above {cluster.version}, which the next run then lowers",
        )


@check_of("DOK018", doks_cluster)
def control_plane_is_highly_available(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The control plane survives the loss of a node, in clusters that are protected or would have it by default."""
    since = case.known.doks_clusters.high_availability_from
    by_default = not lies_below(cluster.version, since)
    wanted = cluster.high_availability
    if wanted is False and by_default:
        problem = f"switched off, although it is on by default from {since} on"
    elif wanted is False and cluster.protect:
        problem = "switched off, and the cluster is protected"
    elif wanted is None and cluster.protect and not by_default:
        problem = f"off by default below {since}, and the cluster is protected"
    else:
        return
    yield Problem(in_cluster("highAvailability"), problem)


@check_of("DOK019", doks_cluster)
def gpus_are_advertised(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """A device plug-in advertises the GPUs as the resource that jobs request."""
    gpus = case.shape.gpus
    if cluster.plugins.gpu == "managed":
        return
    at, remedy = in_cluster("plugins", "gpu"), "write gpu: managed"
    chart = charts_in_use(case).get("gpu-operator")
    if cluster.plugins.gpu == "dra":
        yield Problem(at, f"jobs ask for {gpus.resource}, which no node has with the DRA driver", remedy)
    elif chart is not None and chart.value("devicePlugin", "enabled") is False:
        place = chart.place("devicePlugin", "enabled")
        yield Problem(place, "DigitalOcean's device plug-in is off as well", "leave it out, or write gpu: managed")
    elif chart is None and "gpu-operator" not in cluster.installed:
        lacking = (
            "software.gpuOperator.install is false"
            if gpus.vendor == "nvidia"
            else "the stack installs no GPU Operator for AMD's GPUs"
        )
        yield Problem(at, f"{lacking}, and none is listed as installed", remedy)


@check_of("DOK037", doks_cluster)
def gpu_operator_leaves_the_rest_to_digitalocean(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The GPU Operator installs nothing that the nodes have, except the device plug-in where DigitalOcean's is off."""
    chart = charts_in_use(case).get("gpu-operator")
    if chart is None:
        return
    for part, place in gpu_operator_parts(chart):
        if part == "devicePlugin" and cluster.plugins.gpu == "operator":
            continue
        other = ", or cluster.plugins.gpu: operator" if part == "devicePlugin" else ""
        yield Problem(place, f"DigitalOcean's nodes have the {part} already", f"write false{other}")


@check_of("DOK020", doks_cluster)
def rdma_is_advertised(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """DigitalOcean's plug-in advertises the NICs that jobs ask for."""
    if cluster.plugins.rdma == "off" and manager_of(case).devices_advertised_by is not None:
        yield Problem(in_cluster("plugins", "rdma"))


@check_of("DOK030", doks_cluster)
def sign_on_lets_the_stack_in(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The stack's kubeconfig works although tokens do not."""
    if cluster.single_sign_on and cluster.single_sign_on.required and cluster.kubeconfig.mode != "exec":
        yield Problem(
            in_cluster("kubeconfig", "mode"), f"singleSignOn.required stops the token of mode {cluster.kubeconfig.mode}"
        )


@check_of("DOK031", doks_cluster)
def kubeconfig_does_not_expire(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The stack still reaches its cluster next week."""
    if cluster.kubeconfig.mode == "raw":
        yield Problem(
            in_cluster("kubeconfig", "mode"),
            "the provider's own kubeconfig expires, after seven days unless expireSeconds says otherwise",
            # With a token, every reader of this stack's kubeconfig would have access to the account.
            "write mode: exec" if case.spec.split.part == "cluster" else "write mode: token or mode: exec",
        )


@check_of("SPL005", doks_cluster)
def platform_gets_no_more_than_its_cluster(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The kubeconfig of a cluster stack holds no credentials of the account."""
    if case.spec.split.part == "cluster" and cluster.kubeconfig.mode == "token":
        yield Problem(in_cluster("kubeconfig", "mode"))


@check_of("DOK032", doks_cluster)
def kubeconfig_outlives_the_run(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The kubeconfig lives at least ten minutes."""
    if cluster.kubeconfig.mode == "raw" and 0 < cluster.kubeconfig.expire_seconds < 600:
        yield Problem(
            in_cluster("kubeconfig", "expireSeconds"),
            f"{cluster.kubeconfig.expire_seconds} seconds may pass before the stack is up",
        )


@check_of("DOK033", doks_cluster)
def tags_are_free(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """No tag begins as those do by which DigitalOcean and its provider find their own resources."""
    tags = [(in_cluster("tags", place), tag) for place, tag in enumerate(cluster.tags)]
    for pool in _every_pool(case):
        stated = getattr(pool.spec, "tags", ())
        tags += [(pool.at("tags", place), tag) for place, tag in enumerate(stated)]
    for where, tag in tags:
        if tag.startswith(("k8s", "terraform:")):
            yield Problem(where, f"{tag} is reserved")


@check_of("DOK035", doks_cluster)
def cluster_is_protected(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Pulumi refuses to delete or replace the cluster."""
    if not cluster.protect:
        yield Problem(in_cluster("protect"))


def all_nodes(cluster: DoksClusterSpec) -> int:
    """The most nodes that a cluster may come to have, CPU nodes included."""
    return cluster.system_pool.nodes + sum(map(most_nodes, cluster.every_pool))


def _pools(case: Case) -> list[_Pool]:
    cluster = doks_cluster(case)
    return place_pools(cluster.pools, case.shapes) if cluster else []


def _every_pool(case: Case) -> list[_Pool | OtherPool]:
    """The pools of the fabric, and those outside it."""
    return [*_pools(case), *other_pools(case)] if doks_cluster(case) else []


def _is_contracted(shape: Shape) -> bool:
    return shape.doks is not None and shape.doks.offer == "contracted"


@check_each("DOK001", placed_pools)
def size_is_published(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """The size is in a published list."""
    if not pool.shape.known:
        yield Problem(pool.at("shape"), f"{pool.shape.name} is read by the grammar of names alone")


@check_of("DOK003", doks_cluster)
def fabric_has_two_ends(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """A multi-node size comes with more than one node."""
    if case.shape.nics and case.nodes < 2:
        yield Problem(in_cluster("pools", 0, "nodes"))


@check("DOK004")
def fabric_holds_the_nodes(case: Case) -> Iterator[Problem]:
    """A cluster has no more nodes of a multi-node size than DigitalOcean allows."""
    limit = case.known.doks_clusters.limits.multi_node_nodes
    pools = [pool for pool in _pools(case) if pool.shape.nics]
    nodes = sum(most_nodes(pool.spec) for pool in pools)
    if nodes > limit:
        yield Problem(
            in_cluster("pools"),
            f"{nodes} nodes of {' and '.join(dict.fromkeys(pool.shape.name for pool in pools))}, where a cluster may "
            f"have {limit}",
            f"plan at most {limit} a cluster, and further ones as a stack of their own",
        )


@check_of("DOK005", doks_cluster)
def cluster_holds_the_nodes(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """A cluster has no more nodes than DigitalOcean allows."""
    limits = case.known.doks_clusters.limits
    pods, nodes = cluster.ranges.pods, all_nodes(cluster)
    wide = pods is not None and pods.prefixlen <= limits.wide_pod_prefix
    limit = limits.wide_nodes if wide else limits.nodes
    if nodes > limit:
        more = "" if wide else f", or a pod range of /{limits.wide_pod_prefix} for {limits.wide_nodes}"
        yield Problem(
            in_cluster("pools"),
            f"{nodes} nodes, {cluster.system_pool.nodes} of them in the system pool, where a cluster may have {limit}",
            f"plan at most {limit}{more}",
        )


@check_of("DOK006", doks_cluster)
def quota_holds_the_nodes(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The team's quota holds every node."""
    if all_nodes(cluster) > cluster.droplet_quota:
        yield Problem(
            in_cluster("dropletQuota"),
            f"{all_nodes(cluster)} Droplets, where the team may have {cluster.droplet_quota}",
        )


@check_each("DOK007", _pools)
def contract_holds_the_nodes(case: Case, pool: _Pool) -> Iterator[Problem]:
    """A contracted pool never asks for more nodes than its contract provides."""
    have, scale = pool.spec.contracted_nodes, pool.spec.auto_scale
    if not _is_contracted(pool.shape):
        return
    if have is not None and pool.spec.nodes > have:
        message = f"{pool.spec.nodes} nodes, where the contract has {have}"
        yield Problem(pool.at("nodes"), message, f"write {have} or less")
    if scale and have is None:
        yield Problem(
            pool.at("autoScale"),
            "the pool is contracted, and what the contract provides is not stated",
            "leave autoScale out, or add contractedNodes",
        )
    elif scale and have is not None and scale.max_nodes > have:
        message = f"up to {scale.max_nodes} nodes, where the contract has {have}"
        yield Problem(pool.at("autoScale", "maxNodes"), message, f"write {have} or less")


@check_each("DOK008", _every_pool)
def scaling_keeps_a_node(case: Case, pool: _Pool | OtherPool) -> Iterator[Problem]:
    """A pool that scales keeps at least one node."""
    if pool.spec.auto_scale and pool.spec.auto_scale.min_nodes == 0:
        yield Problem(pool.at("autoScale", "minNodes"))


@check_each("DOK009", _pools)
def bounds_hold_the_nodes(case: Case, pool: _Pool) -> Iterator[Problem]:
    """The number of nodes is within the bounds of automatic scaling."""
    bounds = pool.spec.auto_scale
    if bounds and not bounds.min_nodes <= pool.spec.nodes <= bounds.max_nodes:
        yield Problem(
            pool.at("autoScale"), f"{pool.spec.nodes} nodes are not within {bounds.min_nodes} to {bounds.max_nodes}"
        )


@check_of("DOK010", doks_cluster)
def system_pool_carries_the_system(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The system pool has CPU nodes, and never none."""
    pool, at = cluster.system_pool, partial(in_cluster, "systemPool")
    if pool.size.startswith("gpu-"):
        yield Problem(at("size"), f"{pool.size} has GPUs", "write a CPU size such as s-4vcpu-8gb")
    if pool.nodes == 0:
        yield Problem(at("nodes"), "no CPU node is left for the system's pods", "write 2 or more")
    if pool.auto_scale_to_zero:
        yield Problem(at("autoScaleToZero"), "the pool may shrink to no node", "write autoScaleToZero: false")


@check_of("DOK011", doks_cluster)
def system_pool_has_a_spare_node(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The system pool survives the replacement of a node."""
    if cluster.system_pool.nodes == 1:
        yield Problem(in_cluster("systemPool", "nodes"))


@check_each("DOK012", placed_pools)
def nodes_are_not_spot(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """The nodes of a training pool are not taken back."""
    if pool.shape.doks is not None and pool.shape.doks.offer == "spot":
        yield Problem(pool.at("shape"), f"nodes of {pool.shape.name} may be taken back at any time")


@check_of("DOK013", doks_cluster)
def upgrades_have_a_spare_node(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """A contract has room for the node that an upgrade adds."""
    if not cluster.surge_upgrade:
        return
    for pool, shape in zip(cluster.pools, case.shapes, strict=True):
        if _is_contracted(shape) and (pool.contracted_nodes or 0) <= most_nodes(pool):
            yield Problem(
                in_cluster("surgeUpgrade"), f"the contract of pool {pool.name} is not known to have a node to spare"
            )


@check_of("DOK058", doks_cluster)
def surge_upgrades_stay_on(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Upgrades add no nodes, or the user knows that surge upgrades cannot be switched off later."""
    if cluster.surge_upgrade:
        yield Problem(in_cluster("surgeUpgrade"))


@check_each("DOK021", _pools)
def partitions_are_of_amd_gpus(case: Case, pool: _Pool) -> Iterator[Problem]:
    """Only AMD's GPUs are partitioned by these modes."""
    if pool.spec.gpu_partition_mode and pool.shape.gpus.vendor != "amd":
        yield Problem(pool.at("gpuPartitionMode"), f"{pool.shape.name} has no AMD GPUs")


@check_each("DOK022", _pools)
def partitions_are_counted(case: Case, pool: _Pool) -> Iterator[Problem]:
    """A node shows as many GPUs as the plan counts."""
    gpus = pool.shape.gpus
    if pool.spec.gpu_partition_mode == "AMD_PARTITION_MODE_DPX_NPS2" and gpus.vendor == "amd":
        yield Problem(
            pool.at("gpuPartitionMode"),
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
            yield Problem(in_fabric("rails", place, "rdmaDevice"), f"{rail.rdma_device} is not a device of {model}")


@check_each("DOK034", _every_pool)
def labels_are_in_the_users_domain(case: Case, pool: _Pool | OtherPool) -> Iterator[Problem]:
    """No label is in DigitalOcean's own domain."""
    for key in pool.spec.labels:
        if key.startswith("doks.digitalocean.com/"):
            yield Problem(pool.at("labels", key))


@check_each("DOK036", _every_pool)
def vendors_taint_is_not_declared(case: Case, pool: _Pool | OtherPool) -> Iterator[Problem]:
    """The taint that DOKS sets on GPU nodes is not declared as well."""
    for number, taint in enumerate(pool.spec.taints or ()):
        if pool.shape is not None and taint.key == pool.shape.gpus.resource:
            yield Problem(pool.at("taints", number), f"DOKS sets {taint.key} on these nodes itself")


@check_each("DOK048", _every_pool)
def taints_have_values(case: Case, pool: _Pool | OtherPool) -> Iterator[Problem]:
    """Every taint of a pool has a value."""
    for number, taint in enumerate(pool.spec.taints or ()):
        if not taint.value:
            yield Problem(
                pool.at("taints", number), f"{taint.key} has no value, which DigitalOcean's provider asks for"
            )


@check_each("DOK038", _pools)
def pools_leave_the_system_pool_its_name(case: Case, pool: _Pool) -> Iterator[Problem]:
    """No GPU pool has the name of the system pool."""
    from gpu_fabric.plan.clouds.doks import SYSTEM_POOL

    if pool.spec.name == SYSTEM_POOL:
        yield Problem(pool.at("name"), f"the CPU pool that comes with the cluster is called {SYSTEM_POOL}")


@check_of("DOK039", doks_cluster)
def applied_versions_replace_nothing(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Where the stack file's version counts after creation, the cluster is protected, or its loss acknowledged."""
    agreed = any(entry.resource == _CLUSTER for entry in case.spec.guard.acknowledge)
    if cluster.version_applies == "always" and not (cluster.protect or agreed):
        yield Problem(
            in_cluster("versionApplies"),
            f"once DigitalOcean raises the version above {cluster.version}, the next run replaces the cluster, and no "
            "plan can know",
            f"write protect: true, or versionApplies: at-creation; if the cluster may go, acknowledge {_CLUSTER}",
        )


@check_of("DOK046", doks_cluster)
def new_vpcs_have_no_gateway(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """A NAT gateway is claimed only of a VPC that exists."""
    if cluster.vpc.nat_gateway and cluster.vpc.id is None and cluster.adopt.vpc is None:
        yield Problem(in_cluster("vpc", "natGateway"))


@check_of("DOK047", doks_cluster)
def firewall_lets_the_stack_in(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The user knows that the firewall must let the stack's own machine reach the API server."""
    firewall = cluster.control_plane_firewall
    if firewall is not None and not any(network.prefixlen == 0 for network in firewall.allowed):
        yield Problem(
            in_cluster("controlPlaneFirewall", "allowed"),
            f"the machine that runs the stack must be in {', '.join(map(str, firewall.allowed))}, which nothing "
            "here can check",
        )


@check_of("DOK049", doks_cluster)
def creation_has_time(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Cluster and pools have an hour or more to come up."""
    if cluster.create_minutes < _LEAST_MINUTES:
        yield Problem(
            in_cluster("createMinutes"),
            f"GPU nodes may take longer than {cluster.create_minutes} minutes",
            f"write {_LEAST_MINUTES} or more, or leave it out",
        )


@check_of("DOK050", doks_cluster)
def nothing_keeps_the_vpc(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Destroy removes what workloads made in the stack's own VPC."""
    if cluster.vpc.id is None and not cluster.destroy_associated_resources:
        yield Problem(in_cluster("destroyAssociatedResources"))


@check_of("DOK051", doks_cluster)
def adopted_pools_are_planned(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Every pool that is taken over is one of the stack file's."""
    names = [pool.name for pool in cluster.every_pool]
    for name in cluster.adopt.pools:
        if name not in names:
            yield Problem(
                in_cluster("adopt", "pools", name),
                f"no pool of the stack file is called {name}",
                f"write one of {', '.join(names)}, or leave it out",
            )


@check_of("DOK052", doks_cluster)
def vpc_has_one_owner(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """A VPC is either taken over or only used."""
    if cluster.vpc.id is not None and cluster.adopt.vpc is not None:
        yield Problem(in_cluster("adopt", "vpc"))


@check_of("DOK053", doks_cluster)
def exporter_has_gpus(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """AMD's metrics exporter is switched on only for AMD's GPUs."""
    if cluster.plugins.metrics_exporter and all(shape.gpus.vendor != "amd" for shape in case.shapes):
        yield Problem(in_cluster("plugins", "metricsExporter"))
