"""What happens to the account at once when a fault is ordered, without the stack's doing."""

from __future__ import annotations

from collections.abc import Callable

from ...home import SandboxHome
from ..store import Record
from .addons import AUTOSCALER, scaled_pools
from .kubernetes_clusters import forget_cluster
from .machines import bring_about, join_all
from .node_pools import NodePool
from .policies import may_scale
from .pools import machines_of
from .provider import open_tenancy
from .tenancy import Tenancy

_JOIN = "Allow any-user to {CLUSTER_JOIN} in tenancy"
# The name of another owner's pool.
_STRANGE = "of-another-tenancy"
_LAUNCH = "Allow any-user to {COMPUTE_CLUSTER_LAUNCH_INSTANCE, HOST_GROUP_LAUNCH_INSTANCE} in tenancy"


def play(home: SandboxHome, name: str) -> str:
    """Let an event happen; gives what has come of it. Raises SandboxError."""
    return play_on(open_tenancy(home), name)


def play_on(tenancy: Tenancy, name: str) -> str:
    """Let an event happen on this account."""
    return _EVENTS[name](tenancy)


def _cluster_gone(tenancy: Tenancy) -> str:
    clusters = tenancy.store.list("cluster")
    for cluster in clusters:
        forget_cluster(tenancy, cluster["id"])
    return f"deleted: {', '.join(cluster['inputs']['name'] for cluster in clusters) or 'no cluster'}"


def _node_lost(tenancy: Tenancy) -> str:
    """Terminate the newest machine of every pool of self-managed machines; the pool creates another."""
    lost = []
    for kind in ("clusternetwork", "instancepool"):
        for pool in tenancy.store.list(kind):
            for machine in machines_of(tenancy, pool["id"])[-1:]:
                _replace(tenancy, machine)
                lost.append(machine["address"])
    return f"replaced: {', '.join(lost) or 'no machine'}"


def _unjoined_terminated(tenancy: Tenancy) -> str:
    """Terminate the machines that have given up joining; their pools create others."""
    lost = [machine for machine in tenancy.store.list("instance") if machine["pool"] and not machine["joined"]]
    for machine in lost:
        _replace(tenancy, machine)
    return f"replaced: {', '.join(machine['address'] for machine in lost) or 'no machine'}"


def _configuration_used(tenancy: Tenancy) -> str:
    configurations = tenancy.store.list("instanceconfiguration")
    for configuration in configurations:
        record = {
            "id": tenancy.new_id("instancepool"),
            "inputs": {
                "compartmentId": configuration["inputs"]["compartmentId"],
                "displayName": _STRANGE,
                "instanceConfigurationId": configuration["id"],
                "size": 0,
            },
            "outputs": {},
            "busy_until": 0.0,
        }
        tenancy.store.add("instancepool", record)
    return f"in use: {', '.join(each['id'] for each in configurations) or 'no instance configuration'}"


def _configuration_released(tenancy: Tenancy) -> str:
    strange = [pool for pool in tenancy.store.list("instancepool") if pool["inputs"].get("displayName") == _STRANGE]
    for pool in strange:
        tenancy.store.remove("instancepool", pool["id"])
    return f"deleted: {', '.join(pool['id'] for pool in strange) or 'no instance pool'}"


def _pool_resized(tenancy: Tenancy) -> str:
    """Let each cluster's autoscaler add a machine to every node pool that it scales, up to the pool's most."""
    grown = []
    for addon in tenancy.store.list("addon"):
        if addon["inputs"]["addonName"] != AUTOSCALER:
            continue
        if not may_scale(tenancy, tenancy.found(addon["inputs"]["clusterId"])):
            return "no policy lets the autoscaler's pods manage cluster-node-pools"
        for pool in scaled_pools(tenancy, addon["inputs"]):
            if len(pool["nodes"]) < pool["most"]:
                NodePool(tenancy).grow(pool["id"])
                grown.append(f"{pool['inputs']['name']} has {len(pool['nodes']) + 1} nodes")
    return "; ".join(grown) or "there is no node pool that may grow"


def _replace(tenancy: Tenancy, machine: Record) -> None:
    from .machines import machine_of

    identifier = tenancy.new_id("instance")
    kept = {name: machine[name] for name in ("faultDomain", "rdma", "pool", "fabric")}
    with tenancy.store.lock():
        tenancy.store.remove("instance", machine["id"])
        fresh = machine_of(tenancy, identifier, machine["inputs"], machine["subnet"], **kept)
        tenancy.store.add("instance", {**machine, **fresh, "id": identifier})
    if machine["cluster"]:
        bring_about(tenancy, machine["cluster"])


def _policies_given(tenancy: Tenancy) -> str:
    record = {
        "id": tenancy.new_id("policy", regional=False),
        "inputs": {
            "compartmentId": tenancy.account.tenancy,
            "name": "administrators-own",
            "description": "What an administrator allows",
            "statements": [_JOIN, _LAUNCH],
        },
        "outputs": {},
        "busy_until": 0.0,
    }
    tenancy.store.add("policy", record)
    join_all(tenancy)
    return "an administrator lets machines join every cluster, and node pools launch everywhere"


_EVENTS: dict[str, Callable[[Tenancy], str]] = {
    "cluster-gone": _cluster_gone,
    "configuration-released": _configuration_released,
    "configuration-used": _configuration_used,
    "node-lost": _node_lost,
    "policies-given": _policies_given,
    "pool-resized": _pool_resized,
    "unjoined-terminated": _unjoined_terminated,
}
