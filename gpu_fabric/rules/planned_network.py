"""The facts of a planned network, read from any kind of object that describes one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
from gpu_fabric.k8s.dra import DeviceClass, ResourceClaimTemplate
from gpu_fabric.k8s.names import RESOURCE_NAME_ANNOTATION
from gpu_fabric.k8s.spectrum_x import SpectrumXRailPoolConfig
from gpu_fabric.k8s.spiderpool import SpiderIbSriov, SpiderIpoib, SpiderMultusConfig, SpiderSriov
from gpu_fabric.k8s.sriov_operator import RESOURCE_PREFIX, SriovIBNetwork, SriovNetwork
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.records import PlannedObject


class PoolReference(NamedTuple):
    """A pool as a network names it: by name, by pattern (Spiderpool), or as a range (Whereabouts).

    `kind` is the kind of the pool object; empty where the range itself is given.
    """

    kind: str
    name: str
    version: int | None = None


class PlannedNetwork(NamedTuple):
    """One network. `host_interface` is the interface on the host that it names; `moves_rdma` is whether the RDMA
    device leaves the host with the interface; `mtus` are all MTUs it states, in bytes."""

    name: str
    namespace: str
    plugin: str
    host_interface: str | None
    resource: str | None
    moves_rdma: bool
    mtus: tuple[int, ...]
    pools: tuple[PoolReference, ...]


def planned_networks(plan: Plan) -> Iterator[PlannedNetwork]:
    """The networks of a plan; classes and templates of claims are none."""
    claims = (DeviceClass, ResourceClaimTemplate)
    yield from (read_network(entry) for entry in plan.applied("networks") if not isinstance(entry.object, claims))
    for planned in plan.applied("sriov-policies"):
        if isinstance(planned.object, SpectrumXRailPoolConfig):
            yield from _rail_networks(planned.object)


def _rail_networks(made: SpectrumXRailPoolConfig) -> Iterator[PlannedNetwork]:
    """The networks that the Spectrum-X operator makes of rails, each of the name of its rail or plane."""
    for rail in made.spec.rail_topology:
        yield PlannedNetwork(
            name=rail.name,
            namespace=made.spec.network_namespace,
            plugin="ovs",
            host_interface=rail.nic_selector.pf_names[0],
            resource=f"{RESOURCE_PREFIX}/{rail.name}",
            moves_rdma=True,
            mtus=(rail.mtu,),
            pools=(PoolReference("CIDRPool", rail.cidr_pool_ref),),
        )


def read_network(planned: PlannedObject) -> PlannedNetwork:
    """The network of a planned object.

    Raises:
        TypeError: the object is not a network.
    """
    made = planned.object
    if isinstance(made, NetworkAttachmentDefinition):
        return _definition_network(made)
    if isinstance(made, SpiderMultusConfig):
        return _spiderpool_network(made)
    if isinstance(made, (SriovNetwork, SriovIBNetwork)):
        return _operator_network(made)
    raise TypeError(f"{made.kind} {planned.name} is not a network")


def _definition_network(made: NetworkAttachmentDefinition) -> PlannedNetwork:
    config: dict[str, Any] = json.loads(made.spec.config)
    plugins: list[dict[str, Any]] = config.get("plugins") or [config]
    first = plugins[0]
    return PlannedNetwork(
        name=made.metadata.name,
        namespace=made.metadata.namespace or "",
        plugin=first["type"],
        host_interface=first.get("master") or first.get("device"),
        resource=(made.metadata.annotations or {}).get(RESOURCE_NAME_ANNOTATION),
        moves_rdma=any(plugin["type"] == "rdma" or plugin.get("rdmaIsolation") for plugin in plugins),
        mtus=tuple(plugin["mtu"] for plugin in plugins if plugin.get("mtu") is not None),
        pools=tuple(_ipam_pools(first.get("ipam") or {})),
    )


def _operator_network(made: SriovNetwork | SriovIBNetwork) -> PlannedNetwork:
    """The network that the SR-IOV operator creates from its object, in another namespace and with its own prefix."""
    plugins: list[dict[str, Any]] = json.loads(f"[{made.spec.meta_plugins or ''}]")
    return PlannedNetwork(
        name=made.metadata.name,
        namespace=made.spec.network_namespace or made.metadata.namespace or "",
        plugin="sriov" if isinstance(made, SriovNetwork) else "ib-sriov",
        host_interface=None,
        resource=f"{RESOURCE_PREFIX}/{made.spec.resource_name}",
        moves_rdma=any(plugin["type"] == "rdma" for plugin in plugins),
        mtus=tuple(plugin["mtu"] for plugin in plugins if plugin.get("mtu") is not None),
        pools=tuple(_ipam_pools(json.loads(made.spec.ipam or "{}"))),
    )


def _ipam_pools(ipam: dict[str, Any]) -> list[PoolReference]:
    if ipam.get("type") == "nv-ipam":
        kind = "CIDRPool" if ipam.get("poolType") == "cidrpool" else "IPPool"
        return [PoolReference(kind, name.strip()) for name in ipam["poolName"].split(",")]
    if ipam.get("type") == "whereabouts":
        return [PoolReference("", ipam["range"])]
    return []


def _spiderpool_network(made: SpiderMultusConfig) -> PlannedNetwork:
    section, pools = made.spec.section, made.spec.pools
    master = None if isinstance(section, (SpiderSriov, SpiderIbSriov)) else section.master
    mtu = None if isinstance(section, (SpiderIbSriov, SpiderIpoib)) else section.mtu
    # Without `rdmaIsolation` only the virtual functions of InfiniBand are isolated.
    isolated = (isinstance(section, SpiderSriov) and bool(section.rdma_isolation)) or (
        isinstance(section, SpiderIbSriov) and section.rdma_isolation is not False
    )
    return PlannedNetwork(
        name=made.metadata.name,
        namespace=made.metadata.namespace or "",
        plugin=made.spec.cni_type,
        host_interface=master[0] if isinstance(master, tuple) else master,
        resource=made.spec.resource,
        moves_rdma=isolated,
        mtus=() if mtu is None else (mtu,),
        pools=(
            *(PoolReference("SpiderIPPool", name, 4) for name in pools.ipv4 or ()),
            *(PoolReference("SpiderIPPool", name, 6) for name in pools.ipv6 or ()),
        ),
    )
