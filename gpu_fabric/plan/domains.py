"""Domains of NVLink between nodes: a ComputeDomain for each rack, and the channel that a rack's pods claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.catalog.shape import NvlinkDomain
from gpu_fabric.contract.fabric import PodDomain
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.compute_domain import Channel, ClaimTemplateName, ComputeDomain, ComputeDomainSpec
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.cluster import most_nodes

CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The class of the channel that pods claim, one on each node."""

CHANNEL = "nvlink"
"""The name of the channel's claim in pods."""


class Clique(NamedTuple):
    """The nodes of one rack, which are a pool: name, most nodes, and the labels that tell them from other racks'."""

    name: str
    nodes: int
    labels: dict[str, str]


def nvlink_domain(case: Case) -> NvlinkDomain | None:
    """What is known of NVLink between the stack's machines; None where they have none, as far as is known."""
    return case.known.nvlink_domains.get(case.shape.gpus.model or "")


def has_domains(case: Case) -> bool:
    """Whether pods of the fabric can claim a channel."""
    return case.spec.fabric.domains is not None


def cliques(case: Case) -> tuple[Clique, ...]:
    """The racks of a fabric. Each pool is one; rules refuse a pool of several."""
    pools = case.spec.cluster.pools
    common = set.intersection(*(set(pool.labels.items()) for pool in pools))
    return tuple(
        Clique(pool.name, most_nodes(pool), dict(sorted(set(pool.labels.items()) - common)) if len(pools) > 1 else {})
        for pool in pools
    )


def is_measured_in_one(case: Case) -> bool:
    """Whether the verification has a place in the first rack, in whose namespace its pods have a channel."""
    if not has_domains(case):
        return False
    in_namespace = domain_namespace(case) == case.spec.fabric.namespaces[0].name
    return in_namespace and (case.spec.verification.nodes or case.nodes) <= cliques(case)[0].nodes


def domain_namespace(case: Case) -> str:
    """The namespace whose pods have channels: the driver's template of claims is next to the domain alone."""
    assert case.spec.fabric.domains is not None, "asked for a stack with domains"
    return case.spec.fabric.domains.namespace or case.spec.fabric.namespaces[0].name


def pod_domains(case: Case) -> tuple[PodDomain, ...]:
    """What the contract says of each domain."""
    return tuple(
        PodDomain(
            name=clique.name,
            claim=CHANNEL,
            template=f"{case.own_name(clique.name)}-channel",
            namespace=domain_namespace(case),
            nodes=clique.nodes,
            node_selector=clique.labels,
        )
        for clique in (cliques(case) if has_domains(case) else ())
    )


def compute_domains(case: Case) -> Iterator[PlannedObject]:
    """The domains; a changed one is replaced, since its spec cannot change.

    The number of nodes is stated as 0, which the definitions of this driver and of GPU Operator 26.7 both take: it
    changes nothing but the domain's own status, and the domain serves jobs of any number of nodes.
    """
    for domain in pod_domains(case):
        spec = ComputeDomainSpec(
            num_nodes=0, channel=Channel(resource_claim_template=ClaimTemplateName(name=domain.template))
        )
        metadata = ObjectMeta(name=case.own_name(domain.name), namespace=domain.namespace)
        yield PlannedObject(object=ComputeDomain(metadata=metadata, spec=spec), replaced_on=("spec",))
