"""The policies that the Network Operator obeys: one for the cluster, and one for each kind of nodes that differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from gpu_fabric.catalog import Component
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from gpu_fabric.k8s.mellanox import (
    NIC_CLUSTER_POLICY_NAME,
    IbKubernetes,
    NicClusterPolicy,
    NicClusterPolicySpec,
    NicConfigurationOperator,
    NicNodePolicy,
    NicNodePolicySpec,
    NvIpamOperand,
    OfedDriver,
    OperandImage,
    RdmaSharedDevicePlugin,
    SecondaryNetwork,
    SpectrumXOperator,
    SriovDevicePlugin,
)
from gpu_fabric.k8s.scheduling import NodeAffinity, Toleration
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.devices import PlannedNodes
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.releases import node_tolerations
from gpu_fabric.plan.other_pools import gpu_pools_beside
from gpu_fabric.plan.proxy import proxy_variables
from gpu_fabric.plan.records import PlannedConfiguration, PlannedObject, PlannedRollout
from gpu_fabric.plan.steps import Context
from gpu_fabric.plan.ways import nodes_of_way

READY = "jsonpath={.status.state}=ready"
# Rolling a device plug-in and the CNI operands over a pool takes minutes; images are pulled on every node.
POLICY_TIMEOUT = 1200
# A driver container builds its modules for the node's kernel where no built ones fit, node after node.
_DRIVER_TIMEOUT = 3600
_CONFIGURATION = "gpu-fabric/configuration"
_NAME_LENGTH = 30


def uses_nv_ipam(case: Case) -> bool:
    """Whether nv-ipam hands out the addresses."""
    return case.choices.ipam == "nv-ipam" and case.choices.layout != "none"


def installs_multus(case: Case) -> bool:
    """Whether the policy installs Multus."""
    return case.spec.software.network_operator.multus and case.spec.software.multus.install


def nic_cluster_policy(context: Context) -> PlannedObject:
    """The cluster's one policy; waited for until its operands are ready on every node."""
    case = context.case
    switches = case.spec.software.network_operator
    keys = switches.partition_keys
    policy = NicClusterPolicy(
        # The operator ignores a policy of any other name.
        metadata=ObjectMeta(name=NIC_CLUSTER_POLICY_NAME, annotations=_taken_over(case)),
        spec=NicClusterPolicySpec(
            tolerations=node_tolerations(case) or None,
            node_affinity=fabric_nodes(case),
            ofed_driver=OfedDriver(**_image(case, "ofedDriver"), env=proxy_variables(case))
            if switches.ofed_driver
            else None,
            sriov_device_plugin=_virtual(case, context.sriov_plugin),
            rdma_shared_device_plugin=_shared(case, context.shared_plugin),
            ib_kubernetes=None
            if keys is None
            else IbKubernetes(
                **_image(case, "ibKubernetes"),
                p_key_guid_pool_range_start=keys.guid_range_start,
                p_key_guid_pool_range_end=keys.guid_range_end,
                ufm_secret=keys.ufm_secret,
            ),
            # The webhook would need cert-manager; what it checks is proved in the plan.
            nv_ipam=NvIpamOperand(**_image(case, "nvIpam"), enable_webhook=False) if uses_nv_ipam(case) else None,
            secondary_network=SecondaryNetwork(
                multus=OperandImage(**_image(case, "multus")) if installs_multus(case) else None,
                cni_plugins=OperandImage(**_image(case, "cniPlugins")),
                ipoib=OperandImage(**_image(case, "ipoib")) if case.choices.model == "ipoib" else None,
            ),
            nic_configuration_operator=NicConfigurationOperator(
                operator=OperandImage(**_image(case, "nicConfigurationOperator")),
                configuration_daemon=OperandImage(**_image(case, "nicConfigurationDaemon")),
            )
            if case.planes is not None
            else None,
            spectrum_x_operator=_spectrum_x(case),
        ),
    )
    timeout = _DRIVER_TIMEOUT if switches.ofed_driver else POLICY_TIMEOUT
    return PlannedObject(object=policy, wait_for=READY, timeout=timeout)


def _spectrum_x(case: Case) -> SpectrumXOperator | None:
    if (planes := case.planes) is None:
        return None
    service = OperandImage(**_image(case, "xPlane")) if planes.mode == "hwplb" else None
    return SpectrumXOperator(**_image(case, "spectrumXOperator"), x_plane=service)


def _taken_over(case: Case) -> dict[str, str] | None:
    """Where the operator stays in an older line's namespace, the policy may be one whose fields Helm has written."""
    section = case.spec.software.network_operator
    return {"pulumi.com/patchForce": "true"} if section.install and section.namespace is not None else None


def fabric_nodes(case: Case) -> NodeAffinity | None:
    """The fabric's nodes, where the cluster has others with GPUs: by its default the operator looks at NICs alone.

    While waves take nodes from one manager to another, of these nodes those that have this way.
    """
    return nodes_of_way(case, case.node_labels if gpu_pools_beside(case) else {})


def nic_node_policy(case: Case, nodes: PlannedNodes) -> PlannedObject:
    """The device plug-ins of one node group; the cluster's policy then has no section for them."""
    # From before the operator restarted device plug-ins itself; a toleration that changes with the configuration
    # reaches their pods in the same update, so it costs nothing. Without it every node's would restart once more.
    digest = configuration_digest(nodes.sriov_plugin, nodes.shared_plugin)
    marker = Toleration(key=_CONFIGURATION, operator="Equal", value=digest, effect="NoSchedule")
    policy = NicNodePolicy(
        metadata=ObjectMeta(name=policy_name(case.named(nodes.name))),
        spec=NicNodePolicySpec(
            node_selector=nodes.labels,
            tolerations=(*node_tolerations(case), marker),
            sriov_device_plugin=_virtual(case, nodes.sriov_plugin),
            rdma_shared_device_plugin=_shared(case, nodes.shared_plugin),
        ),
    )
    return PlannedObject(object=policy, wait_for=READY, timeout=POLICY_TIMEOUT)


def policy_name(group: str) -> str:
    """The name of the policy of a node group."""
    return group[:_NAME_LENGTH].rstrip("-")


def rollouts(context: Context) -> tuple[PlannedRollout, ...]:
    """Device plug-ins whose pods must be restarted when their configuration changes: they read it at their start.

    None where the line's operator does that itself.
    """
    line = context.case.line
    if line.rolls_plugins:
        return ()
    planned: tuple[tuple[Component, SriovDevicePluginConfig | RdmaSharedDevicePluginConfig | None], ...] = (
        ("sriovDevicePlugin", context.sriov_plugin),
        ("rdmaSharedDevicePlugin", context.shared_plugin),
    )
    return tuple(
        PlannedRollout(
            namespace=manager_of(context.case).namespace,
            daemon_set=line.plugin_daemon_sets[component],
            annotations={_CONFIGURATION: configuration_digest(config)},
            timeout=POLICY_TIMEOUT,
        )
        for component, config in planned
        if config is not None
    )


def plugin_configurations(case: Case, policies: Iterable[PlannedObject]) -> Iterator[PlannedConfiguration]:
    """What the operator must have written of these policies: their `ready` stays for seconds as it was before a change.

    Nothing where the line's operator does not restart device plug-ins itself.
    """
    for planned in policies:
        policy = planned.object
        assert isinstance(policy, NicClusterPolicy | NicNodePolicy), "the policies that the operator obeys"
        suffix = f"-{policy.metadata.name}" if isinstance(policy, NicNodePolicy) else ""
        sections: tuple[tuple[Component, SriovDevicePlugin | RdmaSharedDevicePlugin | None], ...] = (
            ("sriovDevicePlugin", policy.spec.sriov_device_plugin),
            ("rdmaSharedDevicePlugin", policy.spec.rdma_shared_device_plugin),
        )
        for component, section in sections:
            if section is not None and section.config and component in case.line.plugin_config_maps:
                yield PlannedConfiguration(
                    namespace=manager_of(case).namespace,
                    config_map=case.line.plugin_config_maps[component] + suffix,
                    daemon_set=case.line.plugin_daemon_sets[component] + suffix,
                    text=section.config,
                    timeout=planned.timeout,
                )


def configuration_digest(*configurations: SriovDevicePluginConfig | RdmaSharedDevicePluginConfig | None) -> str:
    """A short digest of device plug-ins' configurations: the same as long as they mean the same."""
    text = "".join(entry.to_json() for entry in configurations if entry is not None)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _image(case: Case, component: Component) -> dict[str, Any]:
    image, secrets = case.line.images.image(component), case.spec.software.image_pull_secrets
    names = {"image_pull_secrets": tuple(entry.name for entry in secrets)} if secrets else {}
    return {**image.model_dump(), "repository": case.pulled(image.repository), **names}


def _virtual(case: Case, config: SriovDevicePluginConfig | None) -> SriovDevicePlugin | None:
    return None if config is None else SriovDevicePlugin(**_image(case, "sriovDevicePlugin"), config=config.to_json())


def _shared(case: Case, config: RdmaSharedDevicePluginConfig | None) -> RdmaSharedDevicePlugin | None:
    if config is None:
        return None
    return RdmaSharedDevicePlugin(**_image(case, "rdmaSharedDevicePlugin"), config=config.to_json())
