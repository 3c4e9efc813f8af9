"""All cloud resources at Oracle, in an order in which they can be created, and advice on errors."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from typing import NamedTuple

from pydantic import Field, SerializeAsAny

from gpu_fabric.catalog import catalog
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
from gpu_fabric.plan.clouds.oke.constructs import POOL_RECORDS
from gpu_fabric.plan.clouds.oke.identity import OkeIdentity, oke_identity
from gpu_fabric.plan.clouds.oke.machines import (
    SYSTEM_POOL,
    PlannedNodePool,
    beside_the_fabric,
    domains_lookup,
    images_lookup,
    imported_images,
    pools_lookup,
    system_pool,
)
from gpu_fabric.plan.clouds.oke.network import OkeNetwork, oke_network, services_lookup
from gpu_fabric.plan.clouds.oke.site import NETWORK, NODE_IMAGES, NODE_POOLS, TENANCY, Site
from gpu_fabric.plan.clouds.record import Lookup, Record, Ref, Text
from gpu_fabric.plan.other_pools import other_pools
from gpu_fabric.spec.cluster import AutoScaleSpec
from gpu_fabric.spec.oke import OkeClusterSpec, OkePoolSpec


class PlannedConstruct(FrozenModel):
    """A GPU pool: its construct, how the construct grows and replaces a node, and its records.

    It is ready when its `awaited` nodes of the cluster are ready with its `node_labels`: Oracle reports a construct of
    self-managed machines as running before they have joined.
    """

    pool: str
    shape: str
    nodes: int
    bounds: AutoScaleSpec | None = Field(default=None, exclude_if=operator.not_)
    node_labels: dict[str, str]
    placement: Placement
    self_managed: bool
    growth: str
    replacement: str
    records: tuple[SerializeAsAny[Record], ...]

    @property
    def awaited(self) -> int:
        """The nodes that must join: an autoscaler may have removed the others before this run."""
        return self.nodes if self.bounds is None else self.bounds.min_nodes

    @property
    def most_nodes(self) -> int:
        """The most nodes that there may be."""
        return self.nodes if self.bounds is None else self.bounds.max_nodes


class OkeResources(FrozenModel):
    """All cloud resources at Oracle.

    `lookups` are the queries to which a record refers. `home_region` is the region of the records that are marked for
    it. Machines have `join_minutes` to become nodes. `adopts` are ids of existing resources, by the logical names of
    their records. Only `records` has them, and is in an order in which they can be created.
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
    other_pools: tuple[PlannedNodePool, ...] = Field(default=(), exclude_if=operator.not_)
    access: OkeAccess
    join_minutes: int
    protect: bool
    adopts: dict[str, str] = Field(default={}, exclude_if=operator.not_)

    @property
    def records(self) -> tuple[Record, ...]:
        """Every resource, after those that it depends on."""
        found = {record.logical_name: self._adopting(record) for record in self._parts()}
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

    def _adopting(self, record: Record) -> Record:
        known = self.adopts.get(record.logical_name)
        if known is None:
            return record
        # Pulumi would import it and change it in the same run to what the stack file says.
        return record.model_copy(update={"adopts": known, "ignore_changes": tuple(record.arguments)})

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
        yield from self.other_pools
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
        images=tuple(imported_images(site)),
        pools=tuple(_construct(site, pool) for pool in cluster.pools),
        other_pools=tuple(beside_the_fabric(site, pool) for pool in other_pools(case)),
        access=oke_access(site),
        join_minutes=cluster.join_minutes,
        protect=cluster.protect,
        adopts=cluster.adopt,
    )
    return resources.model_copy(update={"lookups": _lookups(site, resources)})


def _construct(site: Site, pool: OkePoolSpec) -> PlannedConstruct:
    facts = site.facts.placements[pool.placement]
    return PlannedConstruct(
        pool=pool.name,
        shape=pool.shape,
        nodes=pool.nodes,
        bounds=pool.auto_scale,
        node_labels={POOL_LABEL: pool.name},
        placement=pool.placement,
        self_managed=facts.self_managed,
        growth=facts.growth,
        replacement=facts.replacement,
        records=tuple(POOL_RECORDS[pool.placement](site, pool)),
    )


def _lookups(site: Site, resources: OkeResources) -> tuple[Lookup, ...]:
    """The look-ups to which a record refers."""
    setting = {"id": "the provider's setting"}
    known = (
        services_lookup(),
        domains_lookup(site),
        images_lookup(site),
        pools_lookup(site),
        kubeconfig_lookup(),
        Lookup(logical_name=TENANCY, function="oci:tenancyOcid", arguments={}, outputs=setting),
    )
    asked = {reference.ref for record in resources._parts() for reference in record.references}
    # The stack's own kubeconfig needs the authority, even if no record does.
    asked.add(resources.kubeconfig.authority.ref)
    if NODE_IMAGES in asked:
        asked.add(NODE_POOLS)
    return tuple(lookup for lookup in known if lookup.logical_name in asked)


_UNKNOWN_CLUSTER = "id of the cluster"


class Advice(NamedTuple):
    """The meaning of an error and its remedy, to be shown after so many further `tries`."""

    means: str
    text: str
    tries: int


def advice_on(planned: OkeResources, name: str, said: str) -> Advice | None:
    """Advice on an error that Oracle, or its provider, has reported for the resource of this name.

    None if the resource is not in the plan, or the error is not known.
    """
    record = _record(planned, name)
    if record is None:
        return None
    row = next((row for row in catalog().oke_clusters.advice.refusals if row.fits(record.kind, said)), None)
    if row is None:
        return None
    words = {"what": _what(planned, record), "compartment": planned.compartment}
    means = row.means.format(**words)
    lines = [line.format(**words) for line in row.do]
    if row.statements:
        lines += _policy_lines(planned)
    return Advice(means, _listed(f"{means}. What to do:", lines), row.tries)


def joining_advice(planned: OkeResources, pool: PlannedConstruct, cluster_id: str) -> str:
    """Possible reasons why a pool's machines do not join the cluster of this id, and the remedies."""
    known = catalog().oke_clusters.advice.joining
    words = {
        "pool": pool.pool,
        "shape": pool.shape,
        "replacement": pool.replacement,
        "policy": "; ".join(_policy_lines(planned, ("join",), cluster_id)),
    }
    if not pool.self_managed:
        head, reasons = f"What may keep nodes of pool {pool.pool} out:", known.managed
    else:
        head, reasons = f"What may keep machines of pool {pool.pool} out although they run:", known.self_managed
    return _listed(head, (line.format(**words) for line in reasons))


def _policy_lines(
    planned: OkeResources, names: tuple[str, ...] = (), cluster_id: str = _UNKNOWN_CLUSTER
) -> Iterable[str]:
    """The statements that the cluster needs, or only those of the given names, and who must write them."""
    identity = planned.identity
    needed = [entry for entry in identity.needed if not names or entry.name in names]
    if not needed:
        return
    who = "the stack makes" if identity.policies else "an administrator is to make (identity.create is false)"
    if identity.nodes_rule is not None:
        yield f"{who} a dynamic group with the rule: {identity.nodes_rule}"
    made = {entry.logical_name: entry.name for entry in identity.policies}
    for entry in needed:
        where = made.get(f"policy-{entry.policy}")
        policy = f"policy {where} of the stack says" if where else "a policy is to say"
        text = entry.statement
        yield f"{policy}: {text.text.format(cluster=cluster_id) if isinstance(text, Text) else text}"


def _record(planned: OkeResources, name: str) -> Record | None:
    """The record of a resource, whose name is the component's name and then the record's."""
    ending = (record for record in planned.records if name.endswith(f"-{record.logical_name}"))
    return max(ending, key=lambda record: len(record.logical_name), default=None)


def _what(planned: OkeResources, record: Record) -> str:
    def holds(pool: PlannedConstruct) -> bool:
        return any(entry.logical_name == record.logical_name for entry in pool.records)

    of = next((pool for pool in planned.pools if holds(pool)), None)
    if of is None:
        return record.logical_name
    pool = f"pool {of.pool} ({of.nodes} of {of.shape})"
    return pool if record.logical_name.startswith("pool-") else f"{record.logical_name} of {pool}"


def _listed(head: str, lines: Iterable[str]) -> str:
    return "\n".join([head, *(f"  - {line}" for line in lines)])
