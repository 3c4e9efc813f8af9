"""NVIDIA's Network Operator: networks are CNI chains, and device plug-ins are configured by its policy."""

from __future__ import annotations

from gpu_fabric.catalog import Nic
from gpu_fabric.k8s import cni
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.names import RESOURCE_NAME_ANNOTATION
from gpu_fabric.k8s.sriov_operator import NetworkSpec, SriovIBNetwork, SriovNetwork, SriovNetworkSpec
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import plane_names
from gpu_fabric.plan.ipam import cni_ipam
from gpu_fabric.plan.managers.manager import FabricManager
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject


class NetworkOperator(FabricManager):
    """The Network Operator."""

    title = "the Network Operator"
    chart = "network-operator"
    starts_sriov_driver = True
    steps = ("network-operator", "nic-policies", "nic-node-policies", "plugin-configurations")
    multus_switch = ("software", "networkOperator", "multus")
    configures_node_groups = True
    configures_planes = True
    sriov_operator_knows_rdma_mode = True

    @property
    def resource_prefix(self) -> str:
        """The default of the SR-IOV device plug-in, or of the RDMA shared one."""
        return "rdma" if self.case.choices.access == "shared" else "nvidia.com"

    def rail_names(self, index: int, nic: Nic, pool: str | None) -> tuple[str | None, str | None, str | None]:
        """With planes a network and its resource have the one name that the Spectrum-X operator gives both."""
        network, resource, pod_interface = super().rail_names(index, nic, pool)
        names = plane_names(self.case.spec.fabric.planes, self.case.shape.rails)
        # A rail of a group with more NICs than the first has, which is refused, has no name here.
        return (names[index], names[index], pod_interface) if index < len(names) else (network, resource, pod_interface)

    def networks(self, rails: tuple[Rail, ...], addresses: AddressPlan) -> tuple[PlannedObject, ...]:
        """The SR-IOV operator's own objects where they can express the networks, else NetworkAttachmentDefinitions.

        An object of the operator is in its namespace under the network's name, so it serves one namespace only; and its
        InfiniBand form has no partition key. Those of planes are the Spectrum-X operator's.
        """
        fabric = self.case.spec.fabric
        if self.case.planes is not None:
            return ()
        if not self.case.choices.by_sriov_operator or len(fabric.namespaces) > 1 or fabric.pkey is not None:
            return super().networks(rails, addresses)
        by_network = {rail.network: rail for rail in rails if rail.network is not None}
        return tuple(PlannedObject(object=self._operator_network(rail, addresses)) for rail in by_network.values())

    def _operator_network(self, rail: Rail, addresses: AddressPlan) -> SriovNetwork | SriovIBNetwork:
        metadata = ObjectMeta(name=rail.network or "", namespace=self.sriov_namespace)
        ipam = cni_ipam(addresses, addresses.pool_of(rail.index))
        chained = self._chained(ipam)
        common = {
            "resource_name": rail.resource or "",
            "network_namespace": self.case.spec.fabric.namespaces[0].name,
            "ipam": None if ipam is None else cni.ipam_text(ipam),
            "meta_plugins": cni.meta_plugins_text(chained) if chained else None,
        }
        if self.case.choices.model == "ib-sriov":
            spec = NetworkSpec.model_validate({**common, "link_state": "enable"})
            return SriovIBNetwork(metadata=metadata, spec=spec)
        return SriovNetwork(metadata=metadata, spec=SriovNetworkSpec.model_validate({**common, "spoof_chk": "off"}))

    def network(self, rail: Rail, namespace: str, addresses: AddressPlan) -> PlannedObject:
        """A chain of CNI plug-ins, the first of which creates or moves the interface."""
        name = rail.network or ""
        ipam = cni_ipam(addresses, addresses.pool_of(rail.index))
        config = cni.CniChain(name=name, plugins=(self._interface(rail, ipam), *self._chained(ipam))).to_json()
        # The device plug-in allocates the very device that the CNI plug-in moves; a shared one needs no such link.
        by_device = self.case.choices.access not in (None, "shared") and rail.resource_name is not None
        annotations = {RESOURCE_NAME_ANNOTATION: rail.resource_name or ""} if by_device else None
        definition = cni.NetworkAttachmentDefinition(
            metadata=ObjectMeta(name=name, namespace=namespace, annotations=annotations),
            spec=cni.NetworkAttachmentDefinitionSpec(config=config),
        )
        return PlannedObject(object=definition)

    def _chained(self, ipam: cni.Ipam | None) -> tuple[cni.ChainedPlugin, ...]:
        """The plug-ins that work on the interface of the first one."""
        case = self.case
        ethernet = case.choices.link_type == "ether"
        plugins: list[cni.ChainedPlugin] = []
        if ethernet:
            plugins.append(cni.TuningPlugin(sysctl=case.known.pod_settings.sysctl_values(), mtu=case.mtu))
        if case.choices.rdma_mode == "exclusive":
            # In shared mode every pod sees every RDMA device, and this plug-in fails.
            plugins.append(cni.RdmaPlugin())
        if ethernet and ipam is not None:
            plugins.append(cni.SbrPlugin())
        return tuple(plugins)

    def _interface(self, rail: Rail, ipam: cni.Ipam | None) -> cni.InterfacePlugin:
        case, master = self.case, rail.interface or ""
        match case.choices.model:
            case "sriov":
                return cni.SriovPlugin(spoofchk="off", ipam=ipam)
            case "ib-sriov":
                pkey = case.spec.fabric.pkey
                # ib-kubernetes asks UFM for the partition; without it the plug-in takes the key as it is.
                asks = True if pkey and case.spec.software.network_operator.partition_keys else None
                return cni.IbSriovPlugin(link_state="enable", pkey=pkey, ib_kubernetes_enabled=asks, ipam=ipam)
            case "macvlan":
                return cni.MacvlanPlugin(master=master, mtu=case.mtu, ipam=ipam)
            case "ipoib":
                return cni.IpoibPlugin(master=master, ipam=ipam)
            case _:
                return cni.HostDevicePlugin(ipam=ipam)

    @property
    def answers_by_claims(self) -> bool:
        """As the stack file says: the SR-IOV operator starts a DRA driver in the place of its device plug-in."""
        return self.case.choices.by_sriov_operator and self.case.spec.fabric.devices == "claims"

    @property
    def runs_policy_plugins(self) -> bool:
        """Everywhere but on the host's network, and with an SR-IOV operator, which runs device plug-ins of its own."""
        return self.case.choices.model != "host-network" and not self.case.choices.by_sriov_operator

    @property
    def lacking_plugins(self) -> tuple[str, ...]:
        """Those for virtual functions, which only the SR-IOV operator installs."""
        choices = self.case.choices
        if not self.runs_policy_plugins:
            return ()
        called: list[str] = [choices.model] if choices.model in ("sriov", "ib-sriov") else []
        return (*called, "rdma") if choices.rdma_mode == "exclusive" else tuple(called)

    @property
    def partition_keys_remedy(self) -> str | None:
        """Its policy configures ib-kubernetes."""
        if self.case.spec.software.network_operator.partition_keys is not None:
            return None
        return "add software.networkOperator.partitionKeys, run ib-kubernetes in the cluster"

    @property
    def has_sriov_operator(self) -> bool:
        """Older charts create no SriovOperatorConfig."""
        return self.case.line.sriov_operator
