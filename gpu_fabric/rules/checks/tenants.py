"""Rules about namespaces with a share of their own."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.plan.tenants import amounts, node_devices, tenants
from gpu_fabric.rules.registry import Problem, check, in_fabric, in_software


def _shared(case: Case) -> Iterator[tuple[int, str]]:
    """The places of the namespaces with a share, and their names."""
    for place, entry in enumerate(case.spec.fabric.namespaces):
        if entry.share is not None:
            yield place, entry.name


def _queues(case: Case) -> bool:
    own = case.spec.software.schedulers
    return own.kueue is not None or own.volcano is not None


@check("TEN001")
def shares_fit(case: Case) -> Iterator[Problem]:
    """The nodes of all shares exist, and no share is of more nodes than there are."""
    total = sum(tenant.nodes for tenant in tenants(case))
    if total > case.nodes:
        parts = " + ".join(f"{tenant.namespace} {tenant.nodes}" for tenant in tenants(case))
        message = f"{parts} are {total} GPU nodes, and the pools have {case.nodes}"
        yield Problem(in_fabric("namespaces"), message, f"write shares of {case.nodes} nodes at most, or larger pools")
        return
    kueue = case.spec.software.schedulers.kueue
    for name, amount in amounts(node_devices(case, plan_rails(case)), total).items() if kueue else ():
        quota = kueue.quotas.get(name) if kueue else None
        if quota is not None and quota.isdigit() and int(quota) < int(amount):
            place = in_software("schedulers", "kueue", "quotas", name)
            yield Problem(place, f"{quota} is less than the {amount} of all shares", f"write {amount} or more")
    for number, _ in _shared(case):
        share = case.spec.fabric.namespaces[number].share
        if share is not None and share.most > case.nodes:
            message = f"{share.most} GPU nodes at most, and the pools have {case.nodes}"
            yield Problem(in_fabric("namespaces", number, "share", "mostNodes"), message, f"write {case.nodes} or less")


@check("TEN002")
def pods_on_every_node_have_no_quota(case: Case) -> Iterator[Problem]:
    """The first namespace, in which the check and the verification run, has no share."""
    first = case.spec.fabric.namespaces[0]
    runs = {"the fabric check": case.spec.fabric.check is not None, "the verification": case.spec.verification.enabled}
    if first.share is not None and (there := [name for name, runs_there in runs.items() if runs_there]):
        yield Problem(in_fabric("namespaces", 0, "share"), f"{' and '.join(there)} take every GPU node in {first.name}")


@check("TEN003")
def lent_nodes_have_a_queue(case: Case) -> Iterator[Problem]:
    """Nodes beyond a share are lent by a scheduler that keeps the shares of others."""
    for place, tenant in zip(_shared(case), tenants(case), strict=True):
        if tenant.most > tenant.nodes and not _queues(case):
            message = (
                f"{tenant.namespace} can take {tenant.most} GPU nodes, {tenant.most - tenant.nodes} beyond its share"
            )
            yield Problem(in_fabric("namespaces", place[0], "share", "mostNodes"), message)


@check("TEN004")
def queues_have_names_of_their_own(case: Case) -> Iterator[Problem]:
    """No queue of a namespace has the name of the queue of all others."""
    own = case.spec.software.schedulers
    queues = {"kueue": own.kueue and own.kueue.queue, "volcano": own.volcano and own.volcano.queue}
    for tenant in tenants(case):
        for scheduler, queue in queues.items():
            if queue == tenant.queue:
                message = f"{queue} is the queue of the namespace {tenant.namespace}, which has a share"
                yield Problem(in_software("schedulers", scheduler, "queue"), message)


@check("TEN005")
def devices_limit_addresses(case: Case) -> Iterator[Problem]:
    """Pods with a share request devices, by which a quota limits their NICs and addresses."""
    if len(node_devices(case, plan_rails(case))) == 1:
        for place, _ in _shared(case):
            yield Problem(in_fabric("namespaces", place, "share"))


@check("TEN006")
def everyone_is_limited(case: Case) -> Iterator[Problem]:
    """If namespaces have a share, none is without limit."""
    if not tenants(case) or _queues(case):
        return
    for place, entry in enumerate(case.spec.fabric.namespaces):
        if entry.share is None:
            yield Problem(in_fabric("namespaces", place), f"jobs in {entry.name} have no quota, and no queue")
