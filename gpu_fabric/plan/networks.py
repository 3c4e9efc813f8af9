"""Networks, as the objects that pods name: one per rail, in every namespace in which they are offered."""

from __future__ import annotations

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.cni import (
    RESOURCE_NAME_ANNOTATION,
    ChainedPlugin,
    CniChain,
    HostDevicePlugin,
    IbSriovPlugin,
    InterfacePlugin,
    Ipam,
    IpoibPlugin,
    IpPreservingHostDevicePlugin,
    MacvlanPlugin,
    NetworkAttachmentDefinition,
    NetworkAttachmentDefinitionSpec,
    RdmaPlugin,
    SbrPlugin,
    SingleCni,
    SriovPlugin,
    TuningPlugin,
    ipam_text,
    meta_plugins_text,
)
from gpu_fabric.k8s.spiderpool import (
    RDMA_RESOURCE_INJECT_ANNOTATION,
    SpiderIbSriov,
    SpiderIpoib,
    SpiderMacvlan,
    SpiderMultusConfig,
    SpiderMultusConfigSpec,
    SpiderPools,
    SpiderSriov,
)
from gpu_fabric.k8s.sriov_operator import NetworkSpec, SriovIBNetwork, SriovNetwork, SriovNetworkSpec
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.ipam import cni_ipam
from gpu_fabric.plan.ipam.spiderpool import pool_pattern
from gpu_fabric.plan.operators.releases import namespace_of
from gpu_fabric.plan.rails import Rail, rails_are_routed
from gpu_fabric.plan.records import PlannedObject


def networks(case: Case, rails: tuple[Rail, ...], addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """One network per rail (or one for all rails that share a resource) in every namespace; none on host networks."""
    by_network = {rail.network: rail for rail in rails if rail.network is not None}
    if by_operator(case):
        return tuple(PlannedObject(object=_operator_network(case, rail, addresses)) for rail in by_network.values())
    return tuple(
        _network(case, rail, name, namespace, addresses)
        for namespace in network_namespaces(case)
        for name, rail in by_network.items()
    )


def network_namespaces(case: Case) -> tuple[str, ...]:
    """Where the networks lie: in every namespace that may use them.

    Injected ones lie once, in Spiderpool's own: its webhook looks for them in all namespaces, and adds all it finds.
    """
    if injection(case) is not None:
        return (namespace_of(case),)
    return tuple(entry.name for entry in case.spec.fabric.namespaces)


def injection(case: Case) -> str | None:
    """The word by which pods ask for all networks at once; None where they name them."""
    return case.spec.software.spiderpool.injection if case.choices.manager == "spiderpool" else None


def by_operator(case: Case) -> bool:
    """Whether the SR-IOV operator makes the networks from objects of its own.

    Such an object lies in the operator's namespace under the network's name, so it serves one namespace only; and its
    InfiniBand form has no partition key.
    """
    offered = case.spec.fabric.namespaces
    from_operator = case.choices.manager == "network-operator" and case.choices.by_sriov_operator
    return from_operator and len(offered) == 1 and case.spec.fabric.pkey is None


def _operator_network(case: Case, rail: Rail, addresses: AddressPlan) -> SriovNetwork | SriovIBNetwork:
    metadata = ObjectMeta(name=rail.network or "", namespace=case.line.charts["network-operator"].namespace)
    (offered,) = case.spec.fabric.namespaces
    ipam = cni_ipam(addresses, addresses.pool_of(rail.index))
    chained = _chained(case, ipam)
    common = {
        "resource_name": rail.resource or "",
        "network_namespace": offered.name,
        "ipam": None if ipam is None else ipam_text(ipam),
        "meta_plugins": meta_plugins_text(chained) if chained else None,
    }
    if case.choices.model == "ib-sriov":
        return SriovIBNetwork(metadata=metadata, spec=NetworkSpec.model_validate({**common, "link_state": "enable"}))
    return SriovNetwork(metadata=metadata, spec=SriovNetworkSpec.model_validate({**common, "spoof_chk": "off"}))


def _network(case: Case, rail: Rail, name: str, namespace: str, addresses: AddressPlan) -> PlannedObject:
    if case.choices.manager == "spiderpool":
        made = _spider_network(case, rail, name, namespace, addresses)
        # The section of the old kind would stay beside that of the new one, and the API refuses two.
        return PlannedObject(object=made, replaced_on=("spec.cniType",))
    return PlannedObject(object=_definition(case, rail, name, namespace, addresses))


def _definition(
    case: Case, rail: Rail, name: str, namespace: str, addresses: AddressPlan
) -> NetworkAttachmentDefinition:
    if case.choices.manager == "doks":
        config = SingleCni(plugin=_doks_plugin(case, rail)).to_json()
    else:
        ipam = cni_ipam(addresses, addresses.pool_of(rail.index))
        plugins = (_interface(case, rail, ipam), *_chained(case, ipam))
        config = CniChain(name=name, plugins=plugins).to_json()
    # The device plug-in hands out the very device that the plug-in moves; a shared or named one needs no such link.
    by_device = case.choices.manager == "network-operator" and case.choices.row and case.choices.row.access != "shared"
    annotations = {RESOURCE_NAME_ANNOTATION: rail.resource_name} if by_device and rail.resource_name else None
    return NetworkAttachmentDefinition(
        metadata=ObjectMeta(name=name, namespace=namespace, annotations=annotations),
        spec=NetworkAttachmentDefinitionSpec(config=config),
    )


def _doks_plugin(case: Case, rail: Rail) -> InterfacePlugin:
    device = rail.resource or ""
    if rails_are_routed(case):
        # Plain host-device would drop them.
        return IpPreservingHostDevicePlugin(device=device)
    return HostDevicePlugin(device=device)


def _chained(case: Case, ipam: Ipam | None) -> tuple[ChainedPlugin, ...]:
    """What works on the interface that the first plug-in has brought."""
    ethernet = case.choices.link_type == "ether"
    plugins: list[ChainedPlugin] = []
    if ethernet:
        plugins.append(TuningPlugin(sysctl=case.known.pod_settings.sysctl_values(), mtu=case.mtu))
    if case.choices.rdma_mode == "exclusive":
        # In shared mode every pod sees every RDMA device, and this plug-in fails.
        plugins.append(RdmaPlugin())
    if ethernet and ipam is not None:
        plugins.append(SbrPlugin())
    return tuple(plugins)


def _interface(case: Case, rail: Rail, ipam: Ipam | None) -> InterfacePlugin:
    master = rail.interface or ""
    match case.choices.model:
        case "sriov":
            return SriovPlugin(spoofchk="off", ipam=ipam)
        case "ib-sriov":
            pkey = case.spec.fabric.pkey
            # ib-kubernetes asks UFM for the partition; without it the plug-in takes the key as it is.
            asks = True if pkey and case.spec.software.network_operator.partition_keys else None
            return IbSriovPlugin(link_state="enable", pkey=pkey, ib_kubernetes_enabled=asks, ipam=ipam)
        case "macvlan":
            return MacvlanPlugin(master=master, mtu=case.mtu, ipam=ipam)
        case "ipoib":
            return IpoibPlugin(master=master, ipam=ipam)
        case _:
            return HostDevicePlugin(ipam=ipam)


def _spider_network(case: Case, rail: Rail, name: str, namespace: str, addresses: AddressPlan) -> SpiderMultusConfig:
    pool = addresses.pool_of(rail.index)
    pools = None
    if pool is not None:
        names = (pool_pattern(pool),)
        by_master = case.choices.model == "sriov" and pool.node_prefix_length is not None
        pools = SpiderPools(
            ipv4=names if pool.space.version == 4 else None,
            ipv6=names if pool.space.version == 6 else None,
            match_master_subnet=True if by_master else None,
        )
    group = injection(case)
    annotations = None if group is None else {RDMA_RESOURCE_INJECT_ANNOTATION: group}
    return SpiderMultusConfig(
        metadata=ObjectMeta(name=name, namespace=namespace, annotations=annotations),
        spec=_spider_section(case, rail, pools),
    )


def _spider_section(case: Case, rail: Rail, pools: SpiderPools | None) -> SpiderMultusConfigSpec:
    master, resource = rail.interface or "", rail.resource_name or ""
    match case.choices.model:
        case "macvlan":
            section = SpiderMacvlan(master=(master,), mtu=case.mtu, rdma_resource_name=resource, ippools=pools)
            return SpiderMultusConfigSpec(cni_type="macvlan", macvlan=section)
        case "sriov":
            virtual = SpiderSriov(resource_name=resource, mtu=case.mtu, rdma_isolation=True, ippools=pools)
            return SpiderMultusConfigSpec(cni_type="sriov", sriov=virtual)
        case "ib-sriov":
            asks = True if case.spec.software.spiderpool.ib_kubernetes else None
            infiniband = SpiderIbSriov(
                resource_name=resource, pkey=case.spec.fabric.pkey, enable_ib_kubernetes=asks, ippools=pools
            )
            return SpiderMultusConfigSpec(cni_type="ib-sriov", ibsriov=infiniband)
        case _:
            return SpiderMultusConfigSpec(cni_type="ipoib", ipoib=SpiderIpoib(master=master, ippools=pools))
