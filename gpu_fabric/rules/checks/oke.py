"""Checks of the group `oke`: pools, placements, images, and who reaches the API server."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.version import lies_below
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.checks.ranges import almost_everybody
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec import OkeClusterSpec, OkePoolSpec
from gpu_fabric.spec.places import dotted


def oke_cluster(case: Case) -> OkeClusterSpec | None:
    """The cluster where Oracle makes it; None elsewhere."""
    return case.spec.cluster if isinstance(case.spec.cluster, OkeClusterSpec) else None


def _pools(case: Case) -> tuple[OkePoolSpec, ...]:
    cluster = oke_cluster(case)
    return cluster.pools if cluster else ()


def _join_by_themselves(case: Case) -> list[OkePoolSpec]:
    placements = case.known.oke_clusters.placements
    return [pool for pool in _pools(case) if placements[pool.placement].self_managed]


def _of_pool(place: int, key: str) -> str:
    return dotted(("cluster", "pools", place, key))


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
    fabrics = [(place, pool) for place, pool in enumerate(_pools(case)) if placements[pool.placement].rdma]
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
    stated = [(place, pool) for place, pool in enumerate(_pools(case)) if pool.availability_domain]
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
    for place, pool in enumerate(_pools(case)):
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
    for place, pool in enumerate(_pools(case)):
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
    for place, pool in enumerate(_pools(case)):
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
    for place, pool in enumerate(_pools(case)):
        if pool.image_id and pool.image_uri:
            yield Problem(_of_pool(place, "imageUri"), "imageId names an image already", "leave one of the two out")


@check("OKE009")
def pool_has_an_image(case: Case) -> Iterator[Problem]:
    """Every pool names the image that its machines start from."""
    for place, pool in enumerate(_pools(case)):
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
