"""The form of a manager: its facts, and what the plan asks of it for one stack."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpu_fabric.catalog import ChartName, Nic
from gpu_fabric.contract import AttachedNetwork
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.rail import Rail, one_resource
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.fabric import Model
from gpu_fabric.spec.software import AmdNetworkOperatorSpec, DranetSpec, NetworkOperatorSpec, SpiderpoolSpec

SYSTEM_NAMESPACE = "kube-system"
"""A namespace that every cluster has, and in which privileged pods are allowed."""


@dataclass(frozen=True)
class FabricManager(ABC):
    """Who installs and drives the fabric's software, for one stack; this class holds what is the same in most."""

    case: Case

    title: ClassVar[str]
    """Its name in messages."""

    chart: ClassVar[ChartName | None] = None
    """The chart that installs it; None where the cloud has installed it."""

    dra_driver: ClassVar[str | None] = None
    """The DRA driver by which pods claim NICs; None where a device plug-in hands them out."""

    steps: ClassVar[tuple[str, ...]]
    """Names of the steps that install it, or what it lacks; pools and networks come after them."""

    devices_advertised_by: ClassVar[str | None] = None
    """The cloud whose own device plug-ins advertise GPUs and NICs; None where software of the stack does."""

    nics_configured_by: ClassVar[str | None] = None
    """The cloud that gives the NICs their addresses, MTU and RDMA mode on the host; None where it does not."""

    by_profile: ClassVar[bool] = False
    """Whether the profile of a cloud says how pods get its NICs, so that the stack attaches and names none."""

    attaches_by_multus: ClassVar[bool] = True
    """Whether pods get their interfaces by Multus, unless a DRA driver hands out NICs."""

    multus_switch: ClassVar[tuple[str, ...] | None] = None
    """The key of the stack file for the Multus that it installs; None where it installs none, and the stack does."""

    models_without_rdma: ClassVar[frozenset[Model]] = frozenset()
    """Models in which a pod gets an interface and no RDMA device, so that no resource is advertised."""

    configures_node_groups: ClassVar[bool] = False
    """Whether device plug-ins can have a configuration of their own in each node group."""

    takes_ofed_driver_chart: ClassVar[bool] = False
    """Whether the network drivers are installed by a chart in addition."""
    starts_sriov_driver: ClassVar[bool] = False
    """Whether the stack can set the gate by which its SR-IOV operator starts a DRA driver."""

    sriov_operator_knows_rdma_mode: ClassVar[bool] = False
    """Whether the SR-IOV operator that it installs can put nodes into RDMA mode exclusive."""

    networks_set_mtu: ClassVar[bool] = True
    """Whether its networks give interfaces in pods an MTU; those of others keep the host's."""

    configures_planes: ClassVar[bool] = False
    """Whether its operators split NICs over planes."""

    sriov_operator_has_webhook: ClassVar[bool] = False
    """Whether the SR-IOV operator that it installs checks policies in a webhook, against the nodes that it knows."""

    @property
    def serves_several_fabrics(self) -> bool:
        """Whether a stack can have several fabrics with it: each has device plug-ins or a DeviceClass of its own."""
        return self.configures_node_groups or bool(self.devices_advertised_by or self.dra_driver)

    @property
    def namespace(self) -> str:
        """The namespace of its operands, and of what the stack runs on the nodes: a privileged one."""
        if self.chart is None:
            return SYSTEM_NAMESPACE
        if (stated := self._software.namespace) is not None:
            return stated
        # A line without the chart is refused, and still checked by the other rules.
        return self.case.line.charts[self.chart].namespace if self.chart in self.case.line.charts else self.chart

    @property
    def sriov_namespace(self) -> str:
        """The namespace of the SR-IOV operator, in which its policies are."""
        section = self.case.spec.software.sriov_operator
        return self.namespace if section.install or section.namespace is None else section.namespace

    @property
    def is_present(self) -> bool:
        """Whether the cluster has it, and the stack does not install it."""
        return self.chart is not None and not self._software.install

    @property
    def sriov_operator_is_present(self) -> bool:
        """Whether the cluster has the SR-IOV operator: by itself, or with the manager."""
        return self.is_present or not self.case.spec.software.sriov_operator.install

    @property
    def installs_sriov_operator(self) -> bool:
        """Whether its chart installs the SR-IOV operator."""
        return self.case.choices.by_sriov_operator and not self.sriov_operator_is_present

    @property
    def answers_by_claims(self) -> bool:
        """Whether a DRA driver answers pods that request the rails' resources, so that nodes offer none of them."""
        return False

    @property
    def claims_gpus(self) -> bool:
        """Whether pods claim GPUs as well as NICs, so that no device plug-in may hand GPUs out."""
        return False

    @property
    def nic_class(self) -> str | None:
        """The DeviceClass of the NICs that pods claim; None where a device plug-in hands them out."""
        return None

    def requested(self, attached: tuple[AttachedNetwork, ...]) -> dict[str, int]:
        """The NICs' resources that a pod requests which takes a node, with their amounts."""
        return Counter(network.resource for network in attached if network.resource is not None)

    @property
    def _software(self) -> NetworkOperatorSpec | SpiderpoolSpec | DranetSpec | AmdNetworkOperatorSpec:
        return self.case.spec.software.network_operator

    @property
    @abstractmethod
    def resource_prefix(self) -> str:
        """The prefix of the rails' resources."""

    def rail_names(self, index: int, nic: Nic, pool: str | None) -> tuple[str | None, str | None, str | None]:
        """A rail's network and resource where it has them, and its interface in the pod; None where that has none."""
        # Fixed per rail: Multus' own numbering follows the order of the list, which editors change. A pod may have a
        # storage fabric in addition to a compute fabric, so the names of its interfaces are others.
        pod_interface = f"{self.case.fabric if self.case.purpose == 'storage' else 'net'}{index + 1}"
        if one_resource(self.case):
            # The OKE guide's own names for the one network and the one resource of virtual functions.
            resource = "sriov_rdma_vf" if self.case.choices.access == "virtual" else "rdma_nic"
            return pool, self._resource(resource), pod_interface
        without = self.case.choices.model in self.models_without_rdma
        return (
            self.case.own_name(f"rail-{index:02d}"),
            None if without else self._resource(f"rail_{index:02d}"),
            pod_interface,
        )

    def _resource(self, name: str) -> str:
        # The plug-ins' grammar allows no dash in a resource. Stacks of one cluster share its device plug-ins, so a
        # resource has the name of its fabric, and not the prefix of the stack.
        return f"{self.case.fabric}_{name}".replace("-", "_") if self.case.fabric else name

    def networks(self, rails: tuple[Rail, ...], addresses: AddressPlan) -> tuple[PlannedObject, ...]:
        """One network per rail, or one for rails that share a resource, in every namespace; none on host networks."""
        return tuple(
            self.network(rail, namespace, addresses)
            for namespace in self.network_namespaces
            for rail in {rail.network: rail for rail in rails if rail.network is not None}.values()
        )

    @abstractmethod
    def network(self, rail: Rail, namespace: str, addresses: AddressPlan) -> PlannedObject:
        """The object from which Multus attaches pods of a namespace to a rail."""

    @property
    def network_namespaces(self) -> tuple[str, ...]:
        """Where the networks are: in every namespace that may use them."""
        return tuple(entry.name for entry in self.case.spec.fabric.namespaces)

    @property
    def injection(self) -> str | None:
        """The word by which pods request all networks at once; None where they name them."""
        return None

    def networks_annotation(self, attached: Sequence[AttachedNetwork]) -> str:
        """The value of the annotation by which a pod names its networks."""
        request = [{"name": network.network, "interface": network.interface} for network in attached]
        return json.dumps(request, separators=(",", ":"))

    def networks_from_elsewhere(self, attached: Sequence[AttachedNetwork], namespaces: Sequence[str]) -> dict[str, str]:
        """The same for pods of other namespaces, by the networks' namespace; empty where it is written in JSON."""
        return {}

    @property
    def runs_policy_plugins(self) -> bool:
        """Whether its policy runs device plug-ins, which the stack configures; an SR-IOV operator's are its own."""
        return False

    @property
    def lacking_plugins(self) -> tuple[str, ...]:
        """CNI plug-ins that the networks call and that neither its images nor the cloud's nodes have."""
        return ()

    @property
    def node_image_plugins(self) -> tuple[str, ...]:
        """CNI plug-ins that the networks call and that can be left to the node image."""
        return self.lacking_plugins

    @property
    def partition_keys_remedy(self) -> str | None:
        """What to write so that virtual functions are put into InfiniBand partitions; None where they are."""
        return None

    @property
    def has_sriov_operator(self) -> bool:
        """Whether its chart in the stack's release line has an SR-IOV operator that works."""
        return True

    @property
    def sriov_operator_reboots(self) -> bool:
        """Whether the SR-IOV operator puts nodes into RDMA mode exclusive: by a kernel argument and a reboot."""
        choices = self.case.choices
        by_operator = self.sriov_operator_knows_rdma_mode and choices.virtual_functions == "sriov-operator"
        return by_operator and choices.rdma_mode == "exclusive"
