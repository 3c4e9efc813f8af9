"""The operators: chart references, values, and the policy that makes the Network Operator install the fabric."""

from __future__ import annotations

import hashlib

from pydantic import JsonValue

from fabric.catalog import Chart, ChartName, Component, ReleaseLine
from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import Namespace
from fabric.k8s.device_plugin import SriovDevicePluginConfig
from fabric.k8s.mellanox import (
    NIC_CLUSTER_POLICY_NAME,
    Multus,
    NicClusterPolicy,
    NicClusterPolicySpec,
    NvIpamOperand,
    OperandImage,
    RdmaSharedDevicePlugin,
    SecondaryNetwork,
    SriovDevicePlugin,
)
from fabric.k8s.nvidia import CLUSTER_POLICY_NAME, ClusterPolicy
from fabric.k8s.rdma_device_plugin import RdmaSharedDevicePluginConfig
from fabric.k8s.scheduling import Toleration
from fabric.plan.case import Case
from fabric.plan.records import ChartReference, HelmRelease, PlannedObject, PlannedReadiness
from fabric.plan.values import merged
from fabric.spec import DoksCluster

_PRIVILEGED = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("audit", "enforce", "warn")}
# Rolling a device plug-in and the CNI operands over a pool takes minutes; images are pulled on every node.
_POLICY_TIMEOUT = 1200


def operator_namespaces(case: Case) -> tuple[PlannedObject, ...]:
    """The charts' namespaces; their pods are privileged, so Pod Security must let them in."""
    names = sorted({case.line.charts[name].namespace for name in charts(case)})
    return tuple(PlannedObject(object=Namespace(metadata=ObjectMeta(name=name, labels=_PRIVILEGED))) for name in names)


def tolerations(case: Case) -> tuple[Toleration, ...]:
    """What every operand and every job must tolerate to reach the GPU nodes; the pools' taints, each once."""
    taints = {
        (taint.key, taint.effect)
        for pool, shape in zip(case.spec.cluster.pools, case.shapes, strict=True)
        for taint in pool.taints_with(shape.gpus.vendor)
    }
    return tuple(Toleration(key=key, operator="Exists", effect=effect) for key, effect in sorted(taints))


def charts(case: Case) -> tuple[ChartName, ...]:
    """The charts that the stack brings, in the order of their installation.

    NVIDIA's GPU Operator serves its own GPUs only, and on DOKS it is either not needed or not the stack's.
    """
    names: list[ChartName] = []
    on_doks = isinstance(case.spec.cluster, DoksCluster) or case.choices.manager == "doks"
    if case.shape.gpus.vendor == "nvidia" and not on_doks:
        names.append("gpu-operator")
    # On the host's network there is nothing for it to install.
    if case.choices.manager == "network-operator" and case.choices.model != "host-network":
        names.append("network-operator")
    if case.choices.manager == "spiderpool":
        names.append("spiderpool")
    # A line that lacks one of them is refused, and looked at all the same.
    return tuple(name for name in names if name in case.line.charts)


def gpu_operator(case: Case) -> HelmRelease:
    """The GPU Operator, owner of the cluster's one Node Feature Discovery unless the cluster has one."""
    switches = case.spec.software.gpu_operator
    accepted: JsonValue = [toleration.to_dict() for toleration in tolerations(case)]
    computed: dict[str, JsonValue] = {
        "driver": {"enabled": switches.driver},
        "toolkit": {"enabled": switches.toolkit},
        "daemonsets": {"tolerations": accepted},
    }
    if switches.feature_discovery:
        computed["node-feature-discovery"] = _labelling(case)
    else:
        computed["nfd"] = {"enabled": False}
    return _release(case, "gpu-operator", computed, switches.values)


def _labelling(case: Case) -> JsonValue:
    """Values of Node Feature Discovery, the same in both charts.

    Without them the worker stays off tainted nodes, and every operand waits for labels that never come.
    """
    return {"worker": {"tolerations": [toleration.to_dict() for toleration in tolerations(case)]}}


def gpu_operator_ready(line: ReleaseLine) -> PlannedReadiness:
    """The chart's ClusterPolicy: Helm's own wait ends before its operands have reached the nodes."""
    return PlannedReadiness(
        api_version=ClusterPolicy.api_version,
        kind=ClusterPolicy.kind,
        name=CLUSTER_POLICY_NAME,
        wait_for="jsonpath={.status.state}=ready",
        timeout=line.charts["gpu-operator"].timeout,
    )


def network_operator(case: Case) -> HelmRelease:
    """The Network Operator itself; what it installs comes from its policy."""
    computed: dict[str, JsonValue] = {}
    if "gpu-operator" not in charts(case) and "nfd" not in case.spec.cluster.installed:
        # Somebody must label the nodes that have NICs, and exactly one.
        computed["nfd"] = {"enabled": True, "deployNodeFeatureRules": True}
        computed["node-feature-discovery"] = _labelling(case)
    return _release(case, "network-operator", computed, case.spec.software.network_operator.values)


def needs_feature_discovery(release: HelmRelease) -> bool:
    """Whether the Network Operator's chart holds a NodeFeatureRule, which the GPU Operator's chart defines."""
    nfd = release.values.get("nfd")
    return isinstance(nfd, dict) and nfd.get("deployNodeFeatureRules") is not False


def spiderpool(case: Case, shared: RdmaSharedDevicePluginConfig | None) -> HelmRelease:
    """Spiderpool with the device plug-in that the model needs, configured from the rails."""
    switches = case.spec.software.spiderpool
    computed: dict[str, JsonValue] = {"multus": {"multusCNI": {"install": switches.multus}}}
    if shared is not None:
        config = shared.to_dict()
        computed["rdma"] = {
            "rdmaSharedDevicePlugin": {
                "install": True,
                # The chart's template does not roll the plug-in when its configuration changes.
                "podAnnotations": {
                    "gpu-fabric/configuration": hashlib.sha256(shared.to_json().encode()).hexdigest()[:16]
                },
                "deviceConfig": config,
            }
        }
    elif case.choices.row is not None and case.choices.row.access == "virtual":
        computed["sriov"] = {"install": True}
    return _release(case, "spiderpool", computed, switches.values)


def nic_cluster_policy(
    case: Case, virtual: SriovDevicePluginConfig | None, shared: RdmaSharedDevicePluginConfig | None
) -> PlannedObject:
    """The one policy the Network Operator obeys; waited for until its operands are ready on every node."""
    images = case.line.images

    def image(component: Component) -> dict[str, str]:
        return images.image(component).model_dump()

    ipoib = OperandImage(**image("ipoib")) if case.choices.model == "ipoib" else None
    multus = Multus(**image("multus")) if case.spec.software.network_operator.multus else None
    policy = NicClusterPolicy(
        # The operator ignores a policy of any other name.
        metadata=ObjectMeta(name=NIC_CLUSTER_POLICY_NAME),
        spec=NicClusterPolicySpec(
            tolerations=tolerations(case) or None,
            sriov_device_plugin=None
            if virtual is None
            else SriovDevicePlugin(**image("sriovDevicePlugin"), config=virtual.to_json()),
            rdma_shared_device_plugin=None
            if shared is None
            else RdmaSharedDevicePlugin(**image("rdmaSharedDevicePlugin"), config=shared.to_json()),
            # The webhook would need cert-manager; what it checks is proved in the plan.
            nv_ipam=NvIpamOperand(**image("nvIpam"), enable_webhook=False)
            if case.choices.ipam == "nv-ipam" and case.choices.layout != "none"
            else None,
            secondary_network=SecondaryNetwork(
                multus=multus, cni_plugins=OperandImage(**image("cniPlugins")), ipoib=ipoib
            ),
        ),
    )
    return PlannedObject(object=policy, wait_for="jsonpath={.status.state}=ready", timeout=_POLICY_TIMEOUT)


def _release(
    case: Case, name: ChartName, computed: dict[str, JsonValue], override: dict[str, JsonValue]
) -> HelmRelease:
    chart = case.line.charts[name]
    return HelmRelease(
        name=name,
        namespace=chart.namespace,
        chart=_chart_reference(case.spec.software.charts, name, chart),
        values=merged(chart.values, computed, override),
        timeout=chart.timeout,
    )


def _chart_reference(source: str, name: ChartName, chart: Chart) -> ChartReference:
    if source == "bundled":
        return ChartReference(name=name, version=chart.version, path=f"sandbox/charts/{name}")
    return ChartReference(
        name=name, version=chart.version, repository=chart.repository if source == "upstream" else source
    )
