"""Checks of clusters on OKE: pools, machines, images, metadata, add-ons, and who reaches the API server."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.catalog.version import lies_below
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds.oke import Site, metadata, metadata_bytes
from gpu_fabric.rules.chart_values import charts_in_use, value_at
from gpu_fabric.rules.ranges import almost_everybody
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec import OkeClusterSpec, OkePoolSpec
from gpu_fabric.spec.places import dotted

# Source: Oracle's documentation of pre-authenticated requests, whose addresses have such a part.
_PRE_AUTHENTICATED = re.compile(r"/p/[^/]+/")
# Constructs that are a resource for each machine, or for each cluster of machines.
_NUMBERED = ("compute-cluster-instances", "gpu-memory-cluster")


def oke_cluster(case: Case) -> OkeClusterSpec | None:
    """The cluster where Oracle makes it; None elsewhere."""
    return case.spec.cluster if isinstance(case.spec.cluster, OkeClusterSpec) else None


def oke_site(case: Case) -> Site | None:
    """The cluster with the facts about Oracle's; None elsewhere."""
    cluster = oke_cluster(case)
    return Site(case, cluster, case.known.oke_clusters) if cluster else None


def _pools(case: Case) -> Iterator[tuple[int, OkePoolSpec]]:
    cluster = oke_cluster(case)
    yield from enumerate(cluster.pools if cluster else ())


def _of_pool(place: int, *keys: str) -> str:
    return dotted(("cluster", "pools", place, *keys))


def _join_by_themselves(case: Case) -> list[OkePoolSpec]:
    placements = case.known.oke_clusters.placements
    return [pool for _, pool in _pools(case) if placements[pool.placement].self_managed]


@check("OKE001")
def nodes_may_join(case: Case) -> Iterator[Problem]:
    """Nodes that join by themselves do so on an enhanced cluster."""
    cluster, joining = oke_cluster(case), _join_by_themselves(case)
    if cluster and joining and not cluster.enhanced:
        yield Problem(
            dotted(("cluster", "enhanced")),
            f"pool {joining[0].name} with placement {joining[0].placement} needs an enhanced cluster",
            "write enhanced: true, or placement: compute-cluster",
        )


@check("OKE048")
def jobs_stay_within_one_rdma_network(case: Case) -> Iterator[Problem]:
    """All pools with a fabric share one RDMA network, or the reader knows that they do not."""
    placements = case.known.oke_clusters.placements
    fabrics = [(place, pool) for place, pool in _pools(case) if placements[pool.placement].rdma]
    for place, pool in fabrics[1:]:
        first = fabrics[0][1]
        yield Problem(
            _of_pool(place, "placement"),
            f"pool {pool.name} ({pool.placement}) has an RDMA network of its own beside that of pool {first.name}, and "
            "the contract is one for both",
            "write one pool, or keep every job within one pool by a label of the pool",
        )


@check("OKE002")
def pools_share_an_availability_domain(case: Case) -> Iterator[Problem]:
    """All pools that state an availability domain state the same one."""
    stated = [(place, pool) for place, pool in _pools(case) if pool.availability_domain]
    for place, pool in stated[1:]:
        first = stated[0][1]
        if pool.availability_domain != first.availability_domain:
            yield Problem(
                _of_pool(place, "availabilityDomain"),
                f"pool {pool.name} is in {pool.availability_domain}, pool {first.name} in {first.availability_domain}",
                f"write {first.availability_domain}, or keep every job within one pool",
            )


@check("OKE003")
def reservations_name_their_domain(case: Case) -> Iterator[Problem]:
    """A pool with a capacity reservation says in which availability domain it lies."""
    for place, pool in _pools(case):
        if pool.capacity_reservation_id and not pool.availability_domain:
            yield Problem(
                _of_pool(place, "capacityReservationId"),
                "the pool does not state the reservation's availability domain",
                "add availabilityDomain",
            )


@check("OKE004")
def placement_has_rdma(case: Case) -> Iterator[Problem]:
    """Machines with RDMA NICs come through a construct that connects them."""
    placements = case.known.oke_clusters.placements
    for place, pool in _pools(case):
        if case.shapes[place].nics and not placements[pool.placement].rdma:
            yield Problem(
                _of_pool(place, "placement"),
                f"{pool.placement} leaves the RDMA NICs of {pool.shape} unconnected",
                f"allowed: {', '.join(name for name, facts in placements.items() if facts.rdma)}",
            )


@check("OKE005")
def memory_fabrics_are_placed_as_such(case: Case) -> Iterator[Problem]:
    """GPU memory clusters hold the machines that are made for them, and those machines come in no other way."""
    made_for = case.known.oke_clusters.memory_fabric_gpus
    for place, pool in _pools(case):
        in_rack = case.shapes[place].gpus.model in made_for
        if in_rack and pool.placement != "gpu-memory-cluster":
            yield Problem(
                _of_pool(place, "placement"),
                f"{pool.shape} comes in racks of one memory fabric",
                "write placement: gpu-memory-cluster",
            )
        elif not in_rack and pool.placement == "gpu-memory-cluster":
            yield Problem(
                _of_pool(place, "placement"),
                f"{pool.shape} belongs to no memory fabric; only machines with {' or '.join(made_for)} do",
                "write placement: cluster-network",
            )


@check("OKE008")
def pool_has_one_image(case: Case) -> Iterator[Problem]:
    """A pool names its image by id or by place, not by both."""
    for place, pool in _pools(case):
        if pool.image_id and pool.image_uri:
            yield Problem(_of_pool(place, "imageUri"), "imageId names an image already", "leave one of the two out")


@check("OKE009")
def pool_has_an_image(case: Case) -> Iterator[Problem]:
    """Every pool names the image that its machines start from."""
    for place, pool in _pools(case):
        if not pool.image_id and not pool.image_uri:
            yield Problem(
                _of_pool(place, "imageId"),
                f"pool {pool.name} names no image",
                "add imageId, or imageUri to import one: the vendor's list has images for these machines",
            )


@check("OKE010")
def public_endpoint_lets_somebody_in(case: Case) -> Iterator[Problem]:
    """A public API server can be reached from some range."""
    cluster = oke_cluster(case)
    if cluster and cluster.endpoint.public and not cluster.endpoint.allowed:
        yield Problem(
            dotted(("cluster", "endpoint", "allowed")),
            "the API server is public, and no range may reach it",
            "add the ranges from which the stack and its people come, or write public: false",
        )


@check("OKE011")
def public_endpoint_is_not_open_to_all(case: Case) -> Iterator[Problem]:
    """A public API server can be reached from stated ranges only."""
    cluster = oke_cluster(case)
    if cluster is None or not cluster.endpoint.public:
        return
    for place, said in almost_everybody(cluster.endpoint.allowed):
        yield Problem(
            dotted(("cluster", "endpoint", "allowed", place)),
            said,
            "write the ranges from which the stack and its people come",
        )


@check("OKE012")
def version_lets_nodes_join(case: Case) -> Iterator[Problem]:
    """The control plane is new enough for nodes that join by themselves."""
    cluster = oke_cluster(case)
    if cluster is None:
        return
    lowest = case.known.oke_clusters.self_managed_from[cluster.cni]
    if _join_by_themselves(case) and lies_below(cluster.version, lowest):
        yield Problem(
            dotted(("cluster", "version")),
            f"with the pod network {cluster.cni} self-managed nodes join {lowest} and newer",
            f"write {lowest} or newer",
        )


@check("OKE015")
def virtual_functions_are_offered(case: Case) -> Iterator[Problem]:
    """Oracle offers virtual functions on the machines of a model that hands them out."""
    row, shape = case.choices.row, case.shape
    if row is None or row.access != "virtual" or shape.provider != "oci" or not shape.vfs_per_nic:
        return
    states = {
        "experimental": "offers virtual functions on a branch only, as an experiment",
        "none": "offers no virtual functions",
    }
    if shape.vf_support in states:
        yield Problem(
            dotted(("fabric", "model")),
            f"Oracle {states[shape.vf_support]}: {shape.name}",
            "make sure that the node image creates them, or write model: host-network",
        )


@check("OKE020")
def volumes_perform_as_their_construct_allows(case: Case) -> Iterator[Problem]:
    """A managed node pool has boot volumes of the performance that all node pools have."""
    facts = case.known.oke_clusters
    for place, pool in _pools(case):
        managed = not facts.placements[pool.placement].self_managed
        if managed and pool.boot_volume.vpus_per_gib != facts.instances.node_pool_vpus:
            yield Problem(
                _of_pool(place, "bootVolume", "vpusPerGib"),
                f"the placement {pool.placement} is a managed node pool, which takes no performance",
                f"leave it out, or write placement: {pool.placement}-instances",
            )


@check("OKE021")
def boot_volumes_are_large_enough(case: Case) -> Iterator[Problem]:
    """A GPU node's boot volume is at least as large as in the published stacks."""
    smallest = case.known.oke_clusters.instances.smallest_boot_volume
    for place, pool in _pools(case):
        if pool.boot_volume.size_gib < smallest:
            yield Problem(
                _of_pool(place, "bootVolume", "sizeGib"),
                f"{pool.boot_volume.size_gib} GiB hold the image and few container images",
                f"write {smallest} or more",
            )


@check("OKE022")
def metadata_fit(case: Case) -> Iterator[Problem]:
    """The metadata of a machine, its boot script among them, are as long as Oracle takes."""
    site = oke_site(case)
    if site is None:
        return
    limit = site.facts.instances.metadata_limit
    for place, pool in _pools(case):
        keys = metadata(site, pool)
        size = metadata_bytes(site, keys)
        if size > limit:
            longest = max(keys, key=lambda key: len(str(keys[key])))
            where = {
                "ssh_authorized_keys": dotted(("cluster", "access", "sshPublicKeys")),
                "oke-initial-node-labels": _of_pool(place, "labels"),
            }
            yield Problem(
                where.get(longest, _of_pool(place, "boot")),
                f"the metadata of a machine are {size} bytes long, of which Oracle takes {limit}; most is {longest}",
                "write less, or put it into the image",
            )


@check("OKE023")
def version_is_exact(case: Case) -> Iterator[Problem]:
    """The Kubernetes version names its patch."""
    cluster = oke_cluster(case)
    if cluster and cluster.version.count(".") < 2:
        yield Problem(
            dotted(("cluster", "version")),
            f"Oracle knows no version {cluster.version} without a patch",
            f"write an exact one, such as {cluster.version}.1; `oci ce cluster-options get --cluster-option-id all` "
            "lists them",
        )


@check("OKE024")
def addons_leave_the_charts_alone(case: Case) -> Iterator[Problem]:
    """No add-on brings what a chart of this stack brings."""
    cluster, charts = oke_cluster(case), charts_in_use(case)
    for place, addon in enumerate(cluster.addons if cluster else ()):
        component = case.known.oke_clusters.instances.addons.get(addon.name)
        brought = component in charts or (component == "nfd" and bool(charts))
        if brought:
            yield Problem(
                dotted(("cluster", "addons", place, "name")),
                f"this stack's charts install {component} already",
                "leave the add-on out, or the chart",
            )


@check("OKE025")
def gpus_are_advertised_once(case: Case) -> Iterator[Problem]:
    """Where Oracle's device plug-in advertises the GPUs, the GPU Operator's does not."""
    site, chart = oke_site(case), charts_in_use(case).get("gpu-operator")
    if site is None or site.own_gpu_plugin or chart is None:
        return
    if value_at(chart.values, "devicePlugin", "enabled") is not False:
        yield Problem(
            dotted(("cluster", "gpuPlugin")),
            "the GPU Operator advertises the GPUs as well",
            "write gpuPlugin: operator, or software.gpuOperator.values.devicePlugin.enabled: false",
        )


@check("OKE039")
def gpus_are_advertised(case: Case) -> Iterator[Problem]:
    """Where Oracle's device plug-in is off, another one advertises the GPUs."""
    site, chart = oke_site(case), charts_in_use(case).get("gpu-operator")
    # Machines of another cloud are refused by themselves.
    if site is None or not site.own_gpu_plugin or case.shape.provider != "oci":
        return
    if chart is not None and value_at(chart.values, "devicePlugin", "enabled") is False:
        place = chart.place("devicePlugin", "enabled")
        yield Problem(place, "Oracle's device plug-in is off as well", "leave it out, or write gpuPlugin: managed")
    elif chart is None and "gpu-operator" not in site.cluster.installed:
        yield Problem(
            dotted(("cluster", "gpuPlugin")),
            "the stack installs no GPU Operator, and none is listed as installed",
            "write gpuPlugin: managed",
        )


@check("OKE026")
def nodes_fill_memory_fabrics_evenly(case: Case) -> Iterator[Problem]:
    """Every memory cluster of a pool gets as many nodes as the others, and no more than its fabric holds."""
    most = case.known.oke_clusters.instances.memory_fabric_nodes
    for place, pool in _pools(case):
        fabrics = len(pool.memory_fabric_ids) or 1
        if pool.placement != "gpu-memory-cluster":
            continue
        if pool.nodes % fabrics:
            yield Problem(
                _of_pool(place, "nodes"),
                f"{pool.nodes} nodes do not spread evenly over {fabrics} memory fabrics",
                f"write a multiple of {fabrics}",
            )
        elif pool.nodes // fabrics > most:
            yield Problem(
                _of_pool(place, "nodes"),
                f"{pool.nodes // fabrics} nodes a memory fabric, which holds {most}",
                f"write {most * fabrics} or fewer, or list more memoryFabricIds",
            )


@check("OKE027")
def keys_are_of_use(case: Case) -> Iterator[Problem]:
    """Every key of a pool means something to its placement."""
    useful = case.known.oke_clusters.placement_keys
    for place, pool in _pools(case):
        stated = pool.model_dump(by_alias=True)
        for key, placements in useful.items():
            if stated[key] and pool.placement not in placements:
                yield Problem(
                    _of_pool(place, key),
                    f"the placement {pool.placement} has no use for it",
                    f"leave it out; {' and '.join(placements)} {'have' if len(placements) > 1 else 'has'} one",
                )
        if pool.network_block_ids and not pool.hpc_island_id:
            yield Problem(
                _of_pool(place, "networkBlockIds"), "network blocks are parts of an HPC island", "add hpcIslandId"
            )


@check("OKE030")
def virtual_functions_work_in_the_region(case: Case) -> Iterator[Problem]:
    """Pods get virtual functions only in regions in which the guide says that these machines have them."""
    cluster, row = oke_cluster(case), case.choices.row
    regions = case.known.oke_clusters.instances.virtual_function_regions.get(case.shape.gpus.model or "")
    if cluster and row and row.access == "virtual" and regions and cluster.region not in regions:
        yield Problem(
            dotted(("cluster", "region")),
            f"virtual functions of {case.shape.name} are said to work in {' and '.join(regions)}",
            "ask Oracle, or write fabric.model: host-network",
        )


@check("OKE031")
def kubeconfig_has_its_token(case: Case) -> Iterator[Problem]:
    """Mode token names the secret that holds the token, and no other mode does."""
    cluster = oke_cluster(case)
    if cluster and (cluster.kubeconfig.mode == "token") != (cluster.kubeconfig.token_secret is not None):
        wanted = cluster.kubeconfig.mode == "token"
        yield Problem(
            dotted(("cluster", "kubeconfig", "tokenSecret")),
            "nothing names the token" if wanted else "mode exec uses no token",
            "add the name of a secret configuration key" if wanted else "leave it out, or write mode: token",
        )


@check("OKE034")
def pools_state_their_domain(case: Case) -> Iterator[Problem]:
    """Every pool says in which availability domain its machines lie."""
    for place, pool in _pools(case):
        if not pool.availability_domain and not pool.capacity_reservation_id:
            yield Problem(
                _of_pool(place, "availabilityDomain"),
                f"pool {pool.name} is planned in AD-1",
                "write the availability domain in which the capacity is",
            )


@check("OKE038")
def somebody_makes_the_policies(case: Case) -> Iterator[Problem]:
    """The stack makes the policies that its nodes need."""
    site = oke_site(case)
    if site and site.self_managed() and not site.cluster.identity.create:
        yield Problem(
            dotted(("cluster", "identity", "create")),
            "the nodes can join only if an administrator has let them",
            "make sure that a policy gives their dynamic group CLUSTER_JOIN, or write create: true",
        )


@check("OKE041")
def no_pool_is_called_as_a_member_of_another(case: Case) -> Iterator[Problem]:
    """No pool's name is that of another pool whose members are numbered, and a number."""
    numbered = {pool.name for _, pool in _pools(case) if pool.placement in _NUMBERED}
    for place, pool in _pools(case):
        other, _, number = pool.name.rpartition("-")
        if other in numbered and number.isdecimal():
            yield Problem(
                _of_pool(place, "name"),
                f"the members of pool {other} are called {other}-0, {other}-1 and so on",
                "write another name, such as one that ends in a letter",
            )


@check("OKE042")
def image_addresses_hold_no_secret(case: Case) -> Iterator[Problem]:
    """No image is imported from an address that lets in whoever knows it."""
    for place, pool in _pools(case):
        if pool.image_uri is not None and _PRE_AUTHENTICATED.search(pool.image_uri):
            yield Problem(
                _of_pool(place, "imageUri"),
                "the address is a pre-authenticated one: every reader of the file, the plan or the state gets the "
                "image",
                "write the object's own address, and let the compartment read it; or import once and write imageId",
            )


@check("OKE044")
def cpu_machines_can_be_made(case: Case) -> Iterator[Problem]:
    """The system pool and the hosts of people are CPU machines with memory that Oracle gives for their OCPUs."""
    cluster = oke_cluster(case)
    if cluster is None:
        return
    machines: list[tuple[tuple[str, ...], str, int, int]] = [
        (("systemPool",), cluster.system_pool.shape, cluster.system_pool.ocpus, cluster.system_pool.memory_gib)
    ]
    if cluster.access.mode == "bastion-host":
        for name, host in (("bastion", cluster.access.bastion), ("operator", cluster.access.operator)):
            machines.append((("access", name), host.shape, host.ocpus, host.memory_gib))
    for where, shape, ocpus, memory in machines:
        known = case.known.find(shape)
        if known is not None or "GPU" in shape:
            message, remedy = f"{shape} is a machine with GPUs", "write a CPU shape, such as VM.Standard.E5.Flex"
            yield Problem(dotted(("cluster", *where, "shape")), message, remedy)
        elif shape.endswith(".Flex"):
            yield from _sizes_that_no_machine_has(case, where, shape, ocpus, memory)


def _sizes_that_no_machine_has(
    case: Case, where: tuple[str, ...], shape: str, ocpus: int, memory: int
) -> Iterator[Problem]:
    limits, largest = case.known.oke_clusters.flexible_memory, case.known.oke_clusters.flexible_machines.get(shape)
    if largest is not None and ocpus > largest.most_ocpus:
        yield Problem(
            dotted(("cluster", *where, "ocpus")),
            f"{shape} has {largest.most_ocpus} OCPUs at most, not {ocpus}",
            f"write {largest.most_ocpus} or fewer, or another shape",
        )
        return
    least, most = limits.least_gib * ocpus, limits.most_gib * ocpus
    if largest is not None:
        most = min(most, largest.most_gib)
    if not least <= memory <= most:
        yield Problem(
            dotted(("cluster", *where, "memoryGib")),
            f"{shape} has no machine of {memory} GiB with {ocpus} OCPU{'s' if ocpus > 1 else ''}",
            f"write {least} to {most}"
            f", or another {'shape' if largest and memory > largest.most_gib else 'number of OCPUs'}",
        )
