"""The operators: chart references, values, and the policy that makes the Network Operator install the fabric."""

from __future__ import annotations

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
    SecondaryNetwork,
    SriovDevicePlugin,
)
from fabric.k8s.nvidia import CLUSTER_POLICY_NAME, ClusterPolicy
from fabric.k8s.scheduling import Toleration
from fabric.plan.records import ChartReference, HelmRelease, PlannedObject, PlannedReadiness
from fabric.plan.values import merged
from fabric.spec import Software, StackSpec

_PRIVILEGED = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("audit", "enforce", "warn")}
# Rolling a device plug-in and the CNI operands over a pool takes minutes; images are pulled on every node.
_POLICY_TIMEOUT = 1200


def operator_namespaces(line: ReleaseLine) -> tuple[PlannedObject, ...]:
    """The operators' namespaces; their pods are privileged, so Pod Security must let them in."""
    names = sorted({chart.namespace for chart in line.charts.values()})
    return tuple(PlannedObject(object=Namespace(metadata=ObjectMeta(name=name, labels=_PRIVILEGED))) for name in names)


def tolerations(spec: StackSpec) -> tuple[Toleration, ...]:
    """What every operand and every job must tolerate to reach the GPU nodes; the pools' taints, each once."""
    taints = {(taint.key, taint.effect): taint for pool in spec.cluster.pools for taint in pool.taints}
    return tuple(Toleration(key=key, operator="Exists", effect=effect) for key, effect in sorted(taints))


def gpu_operator(spec: StackSpec, line: ReleaseLine) -> HelmRelease:
    """The GPU Operator, owner of the cluster's one Node Feature Discovery."""
    switches = spec.software.gpu_operator
    accepted: JsonValue = [toleration.to_dict() for toleration in tolerations(spec)]
    computed: dict[str, JsonValue] = {
        "driver": {"enabled": switches.driver},
        "toolkit": {"enabled": switches.toolkit},
        "daemonsets": {"tolerations": accepted},
        # Without this the worker stays off tainted nodes, and every operand waits for labels that never come.
        "node-feature-discovery": {"worker": {"tolerations": accepted}},
    }
    return _release(spec.software, line, "gpu-operator", computed, switches.values)


def gpu_operator_ready(line: ReleaseLine) -> PlannedReadiness:
    """The chart's ClusterPolicy: Helm's own wait ends before its operands have reached the nodes."""
    return PlannedReadiness(
        api_version=ClusterPolicy.api_version,
        kind=ClusterPolicy.kind,
        name=CLUSTER_POLICY_NAME,
        wait_for="jsonpath={.status.state}=ready",
        timeout=line.charts["gpu-operator"].timeout,
    )


def network_operator(spec: StackSpec, line: ReleaseLine) -> HelmRelease:
    """The Network Operator itself; what it installs comes from its policy."""
    return _release(spec.software, line, "network-operator", {}, spec.software.network_operator.values)


def needs_feature_discovery(release: HelmRelease) -> bool:
    """Whether the Network Operator's chart holds a NodeFeatureRule, which the GPU Operator's chart defines."""
    nfd = release.values.get("nfd")
    return isinstance(nfd, dict) and nfd.get("deployNodeFeatureRules") is not False


def nic_cluster_policy(spec: StackSpec, line: ReleaseLine, config: SriovDevicePluginConfig) -> PlannedObject:
    """The one policy the Network Operator obeys; waited for until its operands are ready on every node."""

    def image(component: Component) -> dict[str, str]:
        images = line.images
        return {"image": images.names[component], "repository": images.repository, "version": images.version}

    policy = NicClusterPolicy(
        # The operator ignores a policy of any other name.
        metadata=ObjectMeta(name=NIC_CLUSTER_POLICY_NAME),
        spec=NicClusterPolicySpec(
            tolerations=tolerations(spec) or None,
            sriov_device_plugin=SriovDevicePlugin(**image("sriovDevicePlugin"), config=config.to_json()),
            # The webhook would need cert-manager; what it checks is proved in the plan.
            nv_ipam=NvIpamOperand(**image("nvIpam"), enable_webhook=False),
            secondary_network=SecondaryNetwork(
                multus=Multus(**image("multus")), cni_plugins=OperandImage(**image("cniPlugins"))
            ),
        ),
    )
    return PlannedObject(object=policy, wait_for="jsonpath={.status.state}=ready", timeout=_POLICY_TIMEOUT)


def _release(
    software: Software,
    line: ReleaseLine,
    name: ChartName,
    computed: dict[str, JsonValue],
    override: dict[str, JsonValue],
) -> HelmRelease:
    chart = line.charts[name]
    return HelmRelease(
        name=name,
        namespace=chart.namespace,
        chart=_chart_reference(software.charts, name, chart),
        values=merged(chart.values, computed, override),
        timeout=chart.timeout,
    )


def _chart_reference(source: str, name: ChartName, chart: Chart) -> ChartReference:
    if source == "bundled":
        return ChartReference(name=name, version=chart.version, path=f"sandbox/charts/{name}")
    return ChartReference(
        name=name, version=chart.version, repository=chart.repository if source == "upstream" else source
    )
