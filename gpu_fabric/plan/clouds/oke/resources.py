"""All cloud resources at Oracle, in an order in which they can be created."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter

from pydantic import SerializeAsAny

from gpu_fabric.catalog.oke import Placement
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds import POOL_LABEL
from gpu_fabric.plan.clouds.oke.cluster import (
    OkeAccess,
    PlannedAddon,
    PlannedOkeCluster,
    PlannedOkeKubeconfig,
    kubeconfig_lookup,
    oke_access,
    oke_addons,
    oke_cluster_record,
    oke_kubeconfig,
)
from gpu_fabric.plan.clouds.oke.constructs import pool_records
from gpu_fabric.plan.clouds.oke.identity import OkeIdentity, oke_identity
from gpu_fabric.plan.clouds.oke.machines import (
    SYSTEM_POOL,
    PlannedNodePool,
    domains_lookup,
    images,
    images_lookup,
    pools_lookup,
    system_pool,
)
from gpu_fabric.plan.clouds.oke.network import OkeNetwork, oke_network, services_lookup
from gpu_fabric.plan.clouds.oke.site import NETWORK, NODE_IMAGES, NODE_POOLS, TENANCY, Site
from gpu_fabric.plan.clouds.record import Lookup, Record, Ref
from gpu_fabric.spec import OkeClusterSpec


class PlannedConstruct(FrozenModel):
    """A GPU pool: its construct, how the construct grows and replaces a node, and its records.

    It is ready when that many `nodes` of the cluster are ready with its `node_labels`: Oracle reports a construct of
    self-managed machines as running before they have joined.
    """

    pool: str
    shape: str
    nodes: int
    node_labels: dict[str, str]
    placement: Placement
    self_managed: bool
    growth: str
    replacement: str
    records: tuple[SerializeAsAny[Record], ...]


class OkeResources(FrozenModel):
    """All cloud resources at Oracle.

    `lookups` are the queries to which a record refers. `home_region` is the region of the records that are marked for
    it. Machines have `join_minutes` to become nodes. Only `records` is in an order in which they can be created.
    """

    name: str
    compartment: str
    region: str
    home_region: str
    lookups: tuple[Lookup, ...]
    identity: OkeIdentity
    network: OkeNetwork
    cluster: PlannedOkeCluster
    kubeconfig: PlannedOkeKubeconfig
    system_pool: PlannedNodePool
    addons: tuple[PlannedAddon, ...]
    images: tuple[SerializeAsAny[Record], ...]
    pools: tuple[PlannedConstruct, ...]
    access: OkeAccess
    join_minutes: int
    protect: bool

    @property
    def records(self) -> tuple[Record, ...]:
        """Every resource, after those that it depends on."""
        found = {record.logical_name: record for record in self._parts()}
        lookups = {lookup.logical_name: lookup for lookup in self.lookups}

        def needs(references: tuple[Ref, ...]) -> Iterator[str]:
            for reference in references:
                if reference.ref in lookups:
                    yield from needs(lookups[reference.ref].references)
                else:
                    yield reference.ref

        graph = {name: [*needs(record.references), *self.before(record)] for name, record in found.items()}
        return tuple(found[name] for name in TopologicalSorter(graph).static_order())

    def before(self, record: Record) -> tuple[str, ...]:
        """The logical names of the records that must exist before a record, beyond those that it refers to."""
        network = tuple(entry.logical_name for entry in self.network.records) if NETWORK in record.after else ()
        return tuple(name for entry in record.after for name in (network if entry == NETWORK else (entry,)))

    def provider(self, record: Record) -> str:
        """The provider of the cluster's region, or of the tenancy's home region where that is another."""
        return "oci-home" if record.in_home_region and self.home_region != self.region else "oci"

    def _parts(self) -> Iterator[Record]:
        yield from self.identity.groups
        yield from self.identity.policies
        yield from self.network.records
        yield self.cluster
        yield self.system_pool
        yield from self.addons
        yield from self.images
        for pool in self.pools:
            yield from pool.records
        yield from self.access.records


def oke_resources(case: Case, cluster: OkeClusterSpec) -> OkeResources:
    """The records of a stack's cluster."""
    site = Site(case, cluster, case.known.oke_clusters)
    resources = OkeResources(
        name=site.name,
        compartment=site.compartment,
        region=cluster.region,
        home_region=cluster.identity.home_region or cluster.region,
        lookups=(),
        identity=oke_identity(site),
        network=oke_network(site),
        cluster=oke_cluster_record(site),
        kubeconfig=oke_kubeconfig(site),
        system_pool=system_pool(site),
        addons=oke_addons(site, SYSTEM_POOL),
        images=images(site),
        pools=tuple(_construct(site, place) for place in range(len(cluster.pools))),
        access=oke_access(site),
        join_minutes=cluster.join_minutes,
        protect=cluster.protect,
    )
    return resources.model_copy(update={"lookups": _lookups(site, resources)})


def _construct(site: Site, place: int) -> PlannedConstruct:
    pool = site.cluster.pools[place]
    facts = site.facts.placements[pool.placement]
    return PlannedConstruct(
        pool=pool.name,
        shape=pool.shape,
        nodes=pool.nodes,
        node_labels={POOL_LABEL: pool.name},
        placement=pool.placement,
        self_managed=facts.self_managed,
        growth=facts.growth,
        replacement=facts.replacement,
        records=pool_records(site, pool),
    )


def _lookups(site: Site, resources: OkeResources) -> tuple[Lookup, ...]:
    """The look-ups to which a record refers."""
    known = (
        services_lookup(),
        domains_lookup(site),
        images_lookup(site),
        pools_lookup(site),
        kubeconfig_lookup(),
        _tenancy(),
    )
    asked = {reference.ref for record in resources._parts() for reference in record.references}
    # The stack's own kubeconfig needs the authority, even if no record does.
    asked.add(resources.kubeconfig.authority.ref)
    if NODE_IMAGES in asked:
        asked.add(NODE_POOLS)
    return tuple(lookup for lookup in known if lookup.logical_name in asked)


def _tenancy() -> Lookup:
    return Lookup(
        logical_name=TENANCY, function="oci:tenancyOcid", arguments={}, outputs={"id": "the provider's setting"}
    )
