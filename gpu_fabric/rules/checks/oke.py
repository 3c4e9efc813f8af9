"""Checks of clusters on OKE: pools, machines, images, metadata, add-ons, and who reaches the API server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.catalog.version import lies_below
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds.oke.site import Site
from gpu_fabric.plan.domains import has_domains
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.rules.chart_values import charts_in_use
from gpu_fabric.rules.planned_nodes import PlacedPool, place_pools
from gpu_fabric.rules.ranges import wide_ranges
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, check_plan, in_cluster, in_fabric
from gpu_fabric.spec.oke import OkeClusterSpec, OkePoolSpec
from gpu_fabric.spec.places import Location

# Source: Oracle's documentation of pre-authenticated requests, whose addresses have such a part.
_PRE_AUTHENTICATED = re.compile(r"/p/[^/]+/")
# Kinds whose resources Oracle's provider imports by something other than an id.
_WITHOUT_ID = frozenset(
    {
        "Addon",
        "DefaultSecurityList",
        "DomainsDynamicResourceGroup",
        "NetworkSecurityGroupSecurityRule",
        "ShapeManagement",
    }
)
# Constructs that are a resource for each machine, or for each cluster of machines.
_NUMBERED = ("compute-cluster-instances", "gpu-memory-cluster")

_Pool = PlacedPool[OkePoolSpec]


def oke_cluster(case: Case) -> OkeClusterSpec | None:
    """The cluster if the stack creates it on OKE, else None."""
    return case.spec.cluster if isinstance(case.spec.cluster, OkeClusterSpec) else None


def oke_site(case: Case) -> Site | None:
    """The cluster with the facts about OKE if the stack creates it there, else None."""
    cluster = oke_cluster(case)
    return Site(case, cluster, case.known.oke_clusters) if cluster else None


def _pools(case: Case) -> list[_Pool]:
    cluster = oke_cluster(case)
    return place_pools(cluster.pools, case.shapes) if cluster else []


def _self_managed_pools(case: Case) -> list[OkePoolSpec]:
    known = case.known
    return [pool.spec for pool in _pools(case) if known.oke_clusters.placements[pool.spec.placement].self_managed]


@check_of("OKE001", oke_cluster)
def nodes_may_join(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Nodes that join by themselves do so on an enhanced cluster."""
    joining = _self_managed_pools(case)
    if joining and not cluster.enhanced:
        yield Problem(
            in_cluster("enhanced"),
            f"pool {joining[0].name} with placement {joining[0].placement} needs an enhanced cluster",
        )


@check("OKE048")
def jobs_stay_within_one_rdma_network(case: Case) -> Iterator[Problem]:
    """All pools with a fabric share one RDMA network, or the user knows that they do not."""
    placements = case.known.oke_clusters.placements
    fabrics = [pool for pool in _pools(case) if placements[pool.spec.placement].rdma]
    for pool in fabrics[1:]:
        yield Problem(
            pool.at("placement"),
            f"pool {pool.spec.name} ({pool.spec.placement}) has an RDMA network of its own next to that of pool "
            f"{fabrics[0].spec.name}, and the contract is one for both",
            "keep every job within one rack, as attach does without --rack none" if has_domains(case) else "",
        )


@check("OKE002")
def pools_share_an_availability_domain(case: Case) -> Iterator[Problem]:
    """All pools that state an availability domain state the same one."""
    stated = [(pool, pool.spec.availability_domain) for pool in _pools(case) if pool.spec.availability_domain]
    for pool, domain in stated[1:]:
        first, expected = stated[0]
        if domain != expected:
            yield Problem(
                pool.at("availabilityDomain"),
                f"pool {pool.spec.name} is in {domain}, pool {first.spec.name} in {expected}",
                f"write {expected}, or keep every job within one pool",
            )


@check_each("OKE003", _pools)
def reservations_name_their_domain(case: Case, pool: _Pool) -> Iterator[Problem]:
    """A pool with a capacity reservation states the reservation's availability domain."""
    if pool.spec.capacity_reservation_id and not pool.spec.availability_domain:
        yield Problem(pool.at("capacityReservationId"))


@check_each("OKE004", _pools)
def placement_has_rdma(case: Case, pool: _Pool) -> Iterator[Problem]:
    """Machines with RDMA NICs come through a construct that connects them."""
    placements = case.known.oke_clusters.placements
    if pool.shape.nics and not placements[pool.spec.placement].rdma:
        yield Problem(
            pool.at("placement"),
            f"{pool.spec.placement} leaves the RDMA NICs of {pool.spec.shape} unconnected",
            f"allowed: {', '.join(name for name, facts in placements.items() if facts.rdma)}",
        )


@check_each("OKE005", _pools)
def memory_fabrics_are_placed_as_such(case: Case, pool: _Pool) -> Iterator[Problem]:
    """GPU memory clusters hold the machines that are made for them, and those machines come in no other way."""
    made_for = case.known.oke_clusters.memory_fabric_gpus
    in_rack = pool.shape.gpus.model in made_for
    if in_rack and pool.spec.placement != "gpu-memory-cluster":
        message = f"{pool.spec.shape} comes in racks of one memory fabric"
        yield Problem(pool.at("placement"), message, "write placement: gpu-memory-cluster")
    elif not in_rack and pool.spec.placement == "gpu-memory-cluster":
        yield Problem(
            pool.at("placement"),
            f"{pool.spec.shape} belongs to no memory fabric; only machines with {' or '.join(made_for)} do",
            "write placement: cluster-network",
        )


@check_each("OKE008", _pools)
def pool_has_one_image(case: Case, pool: _Pool) -> Iterator[Problem]:
    """A pool names its image by id or by place, not by both."""
    if pool.spec.image_id and pool.spec.image_uri:
        yield Problem(pool.at("imageUri"))


@check_each("OKE009", _pools)
def pool_has_an_image(case: Case, pool: _Pool) -> Iterator[Problem]:
    """Every pool names the image that its machines start from."""
    if not pool.spec.image_id and not pool.spec.image_uri:
        yield Problem(pool.at("imageId"), f"pool {pool.spec.name} names no image")


@check_of("OKE010", oke_cluster)
def public_endpoint_has_allowed_ranges(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """A public API server can be reached from some range."""
    if cluster.endpoint.public and not cluster.endpoint.allowed:
        yield Problem(in_cluster("endpoint", "allowed"))


@check_of("OKE011", oke_cluster)
def public_endpoint_is_not_open_to_all(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """A public API server can be reached from stated ranges only."""
    if not cluster.endpoint.public:
        return
    for place, said in wide_ranges(cluster.endpoint.allowed):
        yield Problem(in_cluster("endpoint", "allowed", place), said)


@check_of("OKE012", oke_cluster)
def version_lets_nodes_join(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The control plane is new enough for nodes that join by themselves."""
    lowest = case.known.oke_clusters.self_managed_from[cluster.cni]
    if _self_managed_pools(case) and lies_below(cluster.version, lowest):
        yield Problem(
            in_cluster("version"),
            f"with the pod network {cluster.cni} self-managed nodes join {lowest} and newer",
            f"write {lowest} or newer",
        )


@check("OKE015")
def virtual_functions_are_offered(case: Case) -> Iterator[Problem]:
    """Oracle offers virtual functions on the machines of a model that hands them out."""
    shape = case.shape
    if case.choices.access != "virtual" or shape.provider != "oci" or not shape.vfs_per_nic:
        return
    states = {
        "experimental": "offers virtual functions on a branch only, as an experiment",
        "none": "offers no virtual functions",
    }
    if shape.vf_support in states:
        yield Problem(in_fabric("model"), f"Oracle {states[shape.vf_support]}: {shape.name}")


@check_each("OKE020", _pools)
def volumes_perform_as_their_construct_allows(case: Case, pool: _Pool) -> Iterator[Problem]:
    """A managed node pool has boot volumes of the performance that all node pools have."""
    facts = case.known.oke_clusters
    managed = not facts.placements[pool.spec.placement].self_managed
    if managed and pool.spec.boot_volume.vpus_per_gib != facts.instances.node_pool_vpus:
        yield Problem(
            pool.at("bootVolume", "vpusPerGib"),
            f"the placement {pool.spec.placement} is a managed node pool, which takes no performance",
            f"leave it out, or write placement: {pool.spec.placement}-instances",
        )


@check_each("OKE021", _pools)
def boot_volumes_are_large_enough(case: Case, pool: _Pool) -> Iterator[Problem]:
    """A GPU node's boot volume is at least as large as in the published stacks."""
    smallest = case.known.oke_clusters.instances.smallest_boot_volume
    if pool.spec.boot_volume.size_gib < smallest:
        yield Problem(
            pool.at("bootVolume", "sizeGib"),
            f"{pool.spec.boot_volume.size_gib} GiB hold the image and few container images",
            f"write {smallest} or more",
        )


@check_of("OKE022", oke_site)
def metadata_fit(case: Case, site: Site) -> Iterator[Problem]:
    """The metadata of a machine, its boot script among them, are as long as Oracle takes."""
    # Here, since stacks elsewhere need nothing of Oracle's records.
    from gpu_fabric.plan.clouds.oke.machines import metadata, metadata_bytes

    limit = site.facts.instances.metadata_limit
    for pool in _pools(case):
        keys = metadata(site, pool.spec)
        size = metadata_bytes(site, keys)
        if size > limit:
            longest = max(keys, key=lambda key: len(str(keys[key])))
            where = {
                "ssh_authorized_keys": in_cluster("access", "sshPublicKeys"),
                "oke-initial-node-labels": pool.at("labels"),
            }
            yield Problem(
                where.get(longest, pool.at("boot")),
                f"the metadata of a machine are {size} bytes long, of which Oracle takes {limit}; most is {longest}",
            )


@check_of("OKE023", oke_cluster)
def version_is_exact(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The Kubernetes version names its patch."""
    if cluster.version.count(".") < 2:
        yield Problem(
            in_cluster("version"),
            f"Oracle knows no version {cluster.version} without a patch",
            f"write an exact one, such as {cluster.version}.1; `oci ce cluster-options get --cluster-option-id all` "
            "lists them",
        )


@check_of("OKE024", oke_cluster)
def addons_leave_the_charts_alone(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """No add-on installs what a chart of this stack installs."""
    charts = charts_in_use(case)
    for place, addon in enumerate(cluster.addons if cluster else ()):
        component = case.known.oke_clusters.instances.addons.get(addon.name)
        installed = component in charts or (component == "nfd" and bool(charts))
        if installed:
            yield Problem(in_cluster("addons", place, "name"), f"this stack's charts install {component} already")


@check_of("OKE025", oke_site)
def gpus_are_advertised_once(case: Case, site: Site) -> Iterator[Problem]:
    """Where Oracle's device plug-in advertises the GPUs, the GPU Operator's does not."""
    chart = charts_in_use(case).get("gpu-operator")
    if site.own_gpu_plugin or chart is None:
        return
    if chart.value("devicePlugin", "enabled") is not False:
        yield Problem(in_cluster("gpuPlugin"))


@check_of("OKE039", oke_site)
def gpus_are_advertised(case: Case, site: Site) -> Iterator[Problem]:
    """Where Oracle's device plug-in is off, another one advertises the GPUs."""
    chart = charts_in_use(case).get("gpu-operator")
    # Machines of another cloud are refused by CLU005, and GPUs that are claimed need no device plug-in.
    if not site.own_gpu_plugin or case.shape.provider != "oci" or manager_of(case).claims_gpus:
        return
    if chart is not None and chart.value("devicePlugin", "enabled") is False:
        place = chart.place("devicePlugin", "enabled")
        yield Problem(place, "Oracle's device plug-in is off as well", "leave it out, or write gpuPlugin: managed")
    elif chart is None and "gpu-operator" not in site.cluster.installed:
        yield Problem(
            in_cluster("gpuPlugin"),
            "the stack installs no GPU Operator, and none is listed as installed",
            "write gpuPlugin: managed",
        )


@check_each("OKE026", _pools)
def nodes_fill_memory_fabrics_evenly(case: Case, pool: _Pool) -> Iterator[Problem]:
    """Every memory cluster of a pool gets as many nodes as the others, and no more than its fabric holds."""
    most = case.known.oke_clusters.instances.memory_fabric_nodes
    fabrics = len(pool.spec.memory_fabric_ids) or 1
    if pool.spec.placement != "gpu-memory-cluster":
        return
    if pool.spec.nodes % fabrics:
        message = f"{pool.spec.nodes} nodes do not spread evenly over {fabrics} memory fabrics"
        yield Problem(pool.at("nodes"), message, f"write a multiple of {fabrics}")
    elif pool.spec.nodes // fabrics > most:
        yield Problem(
            pool.at("nodes"),
            f"{pool.spec.nodes // fabrics} nodes a memory fabric, which holds {most}",
            f"write {most * fabrics} or fewer, or list more memoryFabricIds",
        )


@check_each("OKE027", _pools)
def keys_are_of_use(case: Case, pool: _Pool) -> Iterator[Problem]:
    """Every key of a pool means something to its placement."""
    useful = case.known.oke_clusters.placement_keys
    stated = pool.spec.model_dump(by_alias=True)
    for key, placements in useful.items():
        if stated[key] and pool.spec.placement not in placements:
            yield Problem(
                pool.at(key),
                f"the placement {pool.spec.placement} has no use for it",
                f"leave it out; {' and '.join(placements)} {'have' if len(placements) > 1 else 'has'} one",
            )
    if pool.spec.network_block_ids and not pool.spec.hpc_island_id:
        yield Problem(pool.at("networkBlockIds"), "network blocks are parts of an HPC island", "add hpcIslandId")


@check_of("OKE030", oke_cluster)
def virtual_functions_work_in_the_region(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Pods get virtual functions only in regions in which these machines have them according to Oracle's guide."""
    regions = case.known.oke_clusters.instances.virtual_function_regions.get(case.shape.gpus.model or "")
    if case.choices.access == "virtual" and regions and cluster.region not in regions:
        yield Problem(
            in_cluster("region"), f"virtual functions of {case.shape.name} are said to work in {' and '.join(regions)}"
        )


@check_of("OKE031", oke_cluster)
def kubeconfig_has_its_token(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Mode token names the secret that holds the token, and no other mode does."""
    if (cluster.kubeconfig.mode == "token") != (cluster.kubeconfig.token_secret is not None):
        wanted = cluster.kubeconfig.mode == "token"
        yield Problem(
            in_cluster("kubeconfig", "tokenSecret"),
            "nothing names the token" if wanted else "mode exec uses no token",
            "add the name of a secret configuration key" if wanted else "leave it out, or write mode: token",
        )


@check_each("OKE034", _pools)
def pools_state_their_domain(case: Case, pool: _Pool) -> Iterator[Problem]:
    """Every pool states the availability domain of its machines."""
    if not pool.spec.availability_domain and not pool.spec.capacity_reservation_id:
        yield Problem(pool.at("availabilityDomain"), f"pool {pool.spec.name} is planned in AD-1")


@check_of("OKE038", oke_site)
def stack_creates_the_policies(case: Case, site: Site) -> Iterator[Problem]:
    """The stack creates the policies that its nodes need."""
    if site.self_managed() and not site.cluster.identity.create:
        yield Problem(in_cluster("identity", "create"))


@check_each("OKE041", _pools)
def pool_names_differ_from_members(case: Case, pool: _Pool) -> Iterator[Problem]:
    """No pool's name is that of another pool whose members are numbered, and a number."""
    numbered = {pool.spec.name for pool in _pools(case) if pool.spec.placement in _NUMBERED}
    other, _, number = pool.spec.name.rpartition("-")
    if other in numbered and number.isdecimal():
        yield Problem(pool.at("name"), f"the members of pool {other} are called {other}-0, {other}-1 and so on")


@check_each("OKE042", _pools)
def image_addresses_hold_no_secret(case: Case, pool: _Pool) -> Iterator[Problem]:
    """No image is imported from a pre-authenticated address."""
    if pool.spec.image_uri is not None and _PRE_AUTHENTICATED.search(pool.spec.image_uri):
        yield Problem(pool.at("imageUri"))


@check_of("OKE044", oke_cluster)
def cpu_machines_can_be_made(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The system pool and the hosts of people are CPU machines with memory that Oracle gives for their OCPUs."""
    machines: list[tuple[Location, str, int, int]] = [
        (("systemPool",), cluster.system_pool.shape, cluster.system_pool.ocpus, cluster.system_pool.memory_gib)
    ]
    if cluster.access.mode == "bastion-host":
        for name, host in (("bastion", cluster.access.bastion), ("operator", cluster.access.operator)):
            machines.append((("access", name), host.shape, host.ocpus, host.memory_gib))
    for where, shape, ocpus, memory in machines:
        known = case.known.find(shape)
        if known is not None or "GPU" in shape:
            message, remedy = f"{shape} is a machine with GPUs", "write a CPU shape, such as VM.Standard.E5.Flex"
            yield Problem(in_cluster(*where, "shape"), message, remedy)
        elif shape.endswith(".Flex"):
            yield from impossible_sizes(case, where, shape, ocpus, memory)


def impossible_sizes(case: Case, where: Location, shape: str, ocpus: int, memory: int) -> Iterator[Problem]:
    """Processors or memory that a flexible shape does not come with."""
    limits, largest = case.known.oke_clusters.flexible_memory, case.known.oke_clusters.flexible_machines.get(shape)
    if largest is not None and ocpus > largest.most_ocpus:
        yield Problem(
            in_cluster(*where, "ocpus"),
            f"{shape} has {largest.most_ocpus} OCPUs at most, not {ocpus}",
            f"write {largest.most_ocpus} or fewer, or another shape",
        )
        return
    least, most = limits.least_gib * ocpus, limits.most_gib * ocpus
    if largest is not None:
        most = min(most, largest.most_gib)
    if not least <= memory <= most:
        yield Problem(
            in_cluster(*where, "memoryGib"),
            f"{shape} has no machine of {memory} GiB with {quantity(ocpus, 'OCPU')}",
            f"write {least} to {most}"
            f", or another {'shape' if largest and memory > largest.most_gib else 'number of OCPUs'}",
        )


@check_plan("OKE050")
def adopted_resources_are_planned(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every id is that of a resource of the plan, and of the same kind."""
    cluster, planned = oke_cluster(case), plan.cluster.oke
    if cluster is None or planned is None:
        return
    kinds = {record.logical_name: record.kind.rpartition(".")[2] for record in planned.records}
    offered = [name for name, kind in kinds.items() if kind not in _WITHOUT_ID]
    for name, identifier in cluster.adopt.items():
        where, found = in_cluster("adopt", name), identifier.split(".")[1]
        if name not in offered:
            near = get_close_matches(name, offered, 3, 0.5) or ["cluster", "system-pool"]
            said = "is not taken over by an id" if name in kinds else "is not a resource of the plan"
            yield Problem(where, f"{name} {said}", f"write a name such as {', '.join(near)}, or leave it out")
        elif found != kinds[name].lower():
            yield Problem(
                where, f"it is the id of a {found}, and {name} is a {kinds[name]}", "write the id of that resource"
            )
