"""Checks of the group `claims` about domains: racks with NVLink between their nodes, and the driver of channels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.domains import cliques, nvlink_domain
from gpu_fabric.rules.registry import Problem, check_of, in_cluster, in_fabric
from gpu_fabric.spec.cluster import most_nodes
from gpu_fabric.spec.fabric import DomainsSpec

_in_domains = partial(in_fabric, "domains")


def _domains(case: Case) -> DomainsSpec | None:
    return case.spec.fabric.domains


@check_of("DRA025", _domains)
def domains_are_of_racks(case: Case, _: DomainsSpec) -> Iterator[Problem]:
    """Domains are planned only for machines with NVLink between nodes."""
    if case.purpose == "storage":
        yield Problem(_in_domains(), "a storage fabric has no jobs of its own", "write them in the compute fabric")
    elif nvlink_domain(case) is None:
        known = ", ".join(case.known.nvlink_domains)
        yield Problem(_in_domains(), f"{case.shape.name} is not known to have NVLink between nodes; {known} have")


@check_of("DRA026", _domains)
def domains_have_a_driver(case: Case, _: DomainsSpec) -> Iterator[Problem]:
    """The stack installs NVIDIA's DRA driver, or the cluster has it."""
    if case.spec.software.gpu_dra_driver is None:
        yield Problem(_in_domains(), "nothing makes the IMEX channels of the domains")


@check_of("DRA027", _domains)
def drivers_know_the_daemon(case: Case, domains: DomainsSpec) -> Iterator[Problem]:
    """What runs the IMEX daemon is what the driver's version can work with."""
    if domains.imex == "host":
        yield Problem(_in_domains("imex"))


@check_of("DRA028", _domains)
def nodes_run_one_daemon(case: Case, domains: DomainsSpec) -> Iterator[Problem]:
    """It is stated that the nodes run no IMEX daemon of their own."""
    if domains.imex == "driver" and not domains.service_masked:
        yield Problem(_in_domains("serviceMasked"))


@check_of("DRA029", _domains)
def pools_are_racks(case: Case, _: DomainsSpec) -> Iterator[Problem]:
    """No pool has more nodes than a rack, or machines of several."""
    rack = nvlink_domain(case)
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        fabrics = getattr(pool, "memory_fabric_ids", ())
        if rack is not None and most_nodes(pool) > rack.nodes(shape):
            yield Problem(
                in_cluster("pools", place, "nodes"),
                f"{most_nodes(pool)} nodes, and NVLink connects {rack.nodes(shape)} of {shape.name}",
                "write a pool for each rack, with a label of its own",
            )
        elif len(fabrics) > 1:
            yield Problem(
                in_cluster("pools", place, "memoryFabricIds"),
                f"{len(fabrics)} memory fabrics, each of which is a rack",
                "write a pool for each of them, with a label of its own",
            )


@check_of("DRA030", _domains)
def racks_have_labels(case: Case, _: DomainsSpec) -> Iterator[Problem]:
    """Where there are several racks, each has labels by which jobs find its nodes and no others."""
    racks, pools = cliques(case), case.spec.cluster.pools
    for rack, pool in zip(racks, pools, strict=True) if len(racks) > 1 else ():
        if any(other is not pool and rack.labels.items() <= other.labels.items() for other in pools):
            yield Problem(
                in_cluster("pools"),
                f"the nodes of {pool.name} have no label that other racks have not",
                f"write labels for {pool.name}, such as labels: {{example.com/rack: {pool.name}}}",
            )


@check_of("DRA031", _domains)
def domains_are_where_jobs_run(case: Case, domains: DomainsSpec) -> Iterator[Problem]:
    """The namespace of the domains is one of the fabric's."""
    offered = [entry.name for entry in case.spec.fabric.namespaces]
    if domains.namespace is not None and domains.namespace not in offered:
        message = f"{domains.namespace} is not one of the fabric's namespaces"
        yield Problem(_in_domains("namespace"), message, f"write {' or '.join(offered)}, or add it to them")


@check_of("DRA032", _domains)
def racks_are_known(case: Case, _: DomainsSpec) -> Iterator[Problem]:
    """The user knows that data about the machines are a preview."""
    rack = nvlink_domain(case)
    if rack is not None and rack.preview is not None:
        yield Problem(_in_domains(), f"{case.shape.gpus.model}: {rack.preview}")
