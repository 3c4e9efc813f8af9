"""Spiderpool: networks are SpiderMultusConfigs, with addresses from its own pools."""

from __future__ import annotations

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.names import RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.spiderpool import (
    SpiderIbSriov,
    SpiderIpoib,
    SpiderMacvlan,
    SpiderMultusConfig,
    SpiderMultusConfigSpec,
    SpiderPools,
    SpiderSriov,
)
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.ipam import pool_pattern
from gpu_fabric.plan.managers.manager import FabricManager
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.software import SpiderpoolSpec

# CNI plug-ins that its networks call and that its chart can install.
_PLUGINS = {
    "macvlan": ("macvlan",),
    "sriov": ("sriov", "tuning"),
    "ib-sriov": ("ib-sriov",),
    "ipoib": ("ipoib",),
}


class Spiderpool(FabricManager):
    """Spiderpool."""

    title = "Spiderpool"
    chart = "spiderpool"
    steps = ("spiderpool", "coordinator")
    multus_switch = ("software", "spiderpool", "multus")
    models_without_rdma = frozenset({"ipoib"})
    takes_ofed_driver_chart = True
    sriov_operator_has_webhook = True

    @property
    def _software(self) -> SpiderpoolSpec:
        return self.case.spec.software.spiderpool

    @property
    def resource_prefix(self) -> str:
        """Spiderpool's own."""
        return "spidernet.io"

    @property
    def network_namespaces(self) -> tuple[str, ...]:
        """Injected networks are in Spiderpool's namespace alone.

        Its webhook looks for them in all namespaces, and adds all it finds.
        """
        return super().network_namespaces if self.injection is None else (self.namespace,)

    @property
    def injection(self) -> str | None:
        """As the stack file says; its webhook adds the networks and their resources."""
        return self.case.spec.software.spiderpool.injection

    def network(self, rail: Rail, namespace: str, addresses: AddressPlan) -> PlannedObject:
        """A SpiderMultusConfig, from which Spiderpool creates the NetworkAttachmentDefinition."""
        pool = addresses.pool_of(rail.index)
        pools = None
        if pool is not None:
            names = (pool_pattern(pool),)
            by_master = self.case.choices.model == "sriov" and pool.node_prefix_length is not None
            pools = SpiderPools(
                ipv4=names if pool.space.version == 4 else None,
                ipv6=names if pool.space.version == 6 else None,
                match_master_subnet=True if by_master else None,
            )
        annotations = None if self.injection is None else {RDMA_RESOURCE_INJECT_ANNOTATION: self.injection}
        config = SpiderMultusConfig(
            metadata=ObjectMeta(name=rail.network or "", namespace=namespace, annotations=annotations),
            spec=self._section(rail, pools),
        )
        # The section of the old type would stay next to that of the new one, and the API refuses two.
        return PlannedObject(object=config, replaced_on=("spec.cniType",))

    def _section(self, rail: Rail, pools: SpiderPools | None) -> SpiderMultusConfigSpec:
        case, master, resource = self.case, rail.interface or "", rail.resource_name or ""
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

    @property
    def node_image_plugins(self) -> tuple[str, ...]:
        """All that its chart can install, since it can also leave them out."""
        called = _PLUGINS.get(self.case.choices.model, ())
        return (*called, "rdma") if called and self.case.choices.rdma_mode == "exclusive" else called

    @property
    def partition_keys_remedy(self) -> str | None:
        """Its CNI plug-in asks ib-kubernetes where that is switched on."""
        if self.case.spec.software.spiderpool.ib_kubernetes:
            return None
        return "write software.spiderpool.ibKubernetes: true where the cluster runs ib-kubernetes"
