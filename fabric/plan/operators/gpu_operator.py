"""NVIDIA's GPU Operator: the values of its chart."""

from __future__ import annotations

from pydantic import JsonValue

from fabric.catalog import ReleaseLine
from fabric.k8s.nvidia import CLUSTER_POLICY_NAME, ClusterPolicy
from fabric.plan.case import Case
from fabric.plan.operators.releases import beyond_default, labelling, release
from fabric.plan.records import HelmRelease, PlannedReadiness
from fabric.spec import DoksCluster


def gpu_operator(case: Case) -> HelmRelease:
    """The GPU Operator, owner of the cluster's one Node Feature Discovery unless the cluster has one.

    Only what differs from the chart's own defaults is written, but for the driver, whose default is the other way.
    """
    switches = case.spec.software.gpu_operator
    driver: dict[str, JsonValue] = {"enabled": switches.driver}
    if gpu_direct(case) == "peermem":
        # The module is built against the network drivers: the operator's container, or the host's own.
        driver["rdma"] = {"enabled": True, "useHostMofed": not case.spec.software.network_operator.ofed_driver}
    computed: dict[str, JsonValue] = {"driver": driver}
    # The catalog has it off on DigitalOcean's nodes, as it has the device plug-in.
    if switches.toolkit is not None and switches.toolkit != (case.shape.provider != "doks"):
        computed["toolkit"] = {"enabled": switches.toolkit}
    cluster = case.spec.cluster
    if isinstance(cluster, DoksCluster) and cluster.plugins.gpu == "operator":
        computed["devicePlugin"] = {"enabled": True}
    if switches.gdrcopy:
        computed["gdrcopy"] = {"enabled": True}
    if switches.cdi is not None:
        computed["cdi"] = {"enabled": switches.cdi}
    if switches.mig is not None:
        computed["mig"] = {"strategy": switches.mig}
    if not switches.dcgm_exporter:
        computed["dcgmExporter"] = {"enabled": False}
    elif switches.service_monitor:
        computed["dcgmExporter"] = {"serviceMonitor": {"enabled": True}}
    if (accepted := beyond_default(case)) is not None:
        computed["daemonsets"] = {"tolerations": accepted}
    if switches.feature_discovery:
        computed |= labelling(case)
    else:
        computed["nfd"] = {"enabled": False}
    return release(case, "gpu-operator", computed, switches.values)


def gpu_direct(case: Case) -> str:
    """How NICs reach GPU memory: as the stack says, or as the release line's default."""
    return case.spec.software.gpu_operator.gpu_direct or case.line.gpu_direct.default


def gpu_operator_ready(line: ReleaseLine) -> PlannedReadiness:
    """The chart's ClusterPolicy: Helm's own wait ends before its operands have reached the nodes."""
    return PlannedReadiness(
        api_version=ClusterPolicy.api_version,
        kind=ClusterPolicy.kind,
        name=CLUSTER_POLICY_NAME,
        wait_for="jsonpath={.status.state}=ready",
        timeout=line.charts["gpu-operator"].timeout,
    )
