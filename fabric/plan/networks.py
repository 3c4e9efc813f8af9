"""Address pools and networks, as the objects that the cluster holds."""

from __future__ import annotations

from fabric.k8s.base import ObjectMeta
from fabric.k8s.cni import RESOURCE_NAME_ANNOTATION, NetworkAttachmentDefinition, NetworkAttachmentDefinitionSpec
from fabric.k8s.cni_config import CniChain, CniPlugin, NvIpam, RdmaPlugin, SbrPlugin, SriovPlugin, TuningPlugin
from fabric.k8s.nv_ipam import IPPool, IPPoolSpec
from fabric.plan.addresses import AddressPlan
from fabric.plan.rails import Rail
from fabric.plan.records import PlannedObject

# Several NICs on one layer-2 network answer each other's ARP requests and drop each other's replies unless told not
# to. Values: the network of the OKE guide, release v24.6.0.
_SYSCTLS = {
    "net.ipv4.conf.all.accept_local": "1",
    "net.ipv4.conf.all.arp_announce": "2",
    "net.ipv4.conf.all.arp_filter": "1",
    "net.ipv4.conf.all.arp_ignore": "1",
    "net.ipv4.conf.all.rp_filter": "0",
}


def ip_pools(addresses: AddressPlan, namespace: str) -> tuple[PlannedObject, ...]:
    """One IPPool per pool, in the operator's namespace: nv-ipam looks nowhere else."""
    return tuple(
        PlannedObject(
            object=IPPool(
                metadata=ObjectMeta(name=pool.name, namespace=namespace),
                spec=IPPoolSpec(
                    subnet=str(pool.subnet),
                    per_node_block_size=pool.addresses_per_node,
                    gateway=None if pool.gateway is None else str(pool.gateway),
                ),
            )
        )
        for pool in addresses.pools
    )


def networks(
    rails: tuple[Rail, ...], namespaces: tuple[str, ...], *, mtu: int, rdma_mode: str
) -> tuple[PlannedObject, ...]:
    """One network per rail (or one for all rails that share a pool) in every namespace; `mtu` in bytes."""
    by_network = {rail.network: rail for rail in rails}
    return tuple(
        PlannedObject(object=_network(rail, namespace, mtu, rdma_mode))
        for namespace in namespaces
        for rail in by_network.values()
    )


def _network(rail: Rail, namespace: str, mtu: int, rdma_mode: str) -> NetworkAttachmentDefinition:
    plugins: list[CniPlugin] = [
        SriovPlugin(spoofchk="off", ipam=NvIpam(pool_name=rail.pool)),
        TuningPlugin(sysctl=_SYSCTLS, mtu=mtu),
    ]
    if rdma_mode == "exclusive":
        # In shared mode every pod sees every RDMA device, and this plug-in fails.
        plugins.append(RdmaPlugin())
    plugins.append(SbrPlugin())
    return NetworkAttachmentDefinition(
        metadata=ObjectMeta(
            name=rail.network, namespace=namespace, annotations={RESOURCE_NAME_ANNOTATION: rail.resource_name}
        ),
        spec=NetworkAttachmentDefinitionSpec(config=CniChain(name=rail.network, plugins=tuple(plugins)).to_json()),
    )
