"""NVIDIA's Network Operator: the values of its chart, and in older lines the policy that the chart makes of them."""

from __future__ import annotations

from pydantic import JsonValue

from fabric.k8s.device_plugin import SriovDevicePluginConfig, SriovResource
from fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME, NicClusterPolicy
from fabric.k8s.rdma_device_plugin import RdmaSharedDevicePluginConfig
from fabric.plan.case import Case
from fabric.plan.operators.policy import POLICY_TIMEOUT, READY, uses_nv_ipam
from fabric.plan.operators.releases import beyond_default, charts, labelling, release
from fabric.plan.records import HelmRelease, PlannedReadiness


def network_operator(
    case: Case,
    virtual: SriovDevicePluginConfig | None = None,
    shared: RdmaSharedDevicePluginConfig | None = None,
) -> HelmRelease:
    """The Network Operator itself.

    What it installs comes from its policy. Where the line's chart makes that policy, the device plug-ins'
    configurations go into the values.
    """
    computed: dict[str, JsonValue] = {}
    if "gpu-operator" not in charts(case) and "nfd" not in case.spec.cluster.installed:
        # Somebody must label the nodes that have NICs, and exactly one.
        computed["nfd"] = {"enabled": True, "deployNodeFeatureRules": True}
        computed |= labelling(case)
    if case.choices.by_sriov_operator:
        computed["sriovNetworkOperator"] = {"enabled": True}
    if case.line.policy_by == "chart":
        computed |= _policy_values(case, virtual, shared)
    return release(case, "network-operator", computed, case.spec.software.network_operator.values)


def needs_feature_discovery(planned: HelmRelease) -> bool:
    """Whether the chart holds a NodeFeatureRule, which the GPU Operator's chart defines."""
    nfd = planned.values.get("nfd")
    return isinstance(nfd, dict) and nfd.get("deployNodeFeatureRules") is not False


def policy_ready() -> PlannedReadiness:
    """The policy that the chart made: Helm's own wait ends before its operands have reached the nodes."""
    return PlannedReadiness(
        api_version=NicClusterPolicy.api_version,
        kind=NicClusterPolicy.kind,
        name=NIC_CLUSTER_POLICY_NAME,
        wait_for=READY,
        timeout=POLICY_TIMEOUT,
    )


def _policy_values(
    case: Case, virtual: SriovDevicePluginConfig | None, shared: RdmaSharedDevicePluginConfig | None
) -> dict[str, JsonValue]:
    """The policy as chart values; what the chart has on by default and the model does not use is switched off."""
    switches = case.spec.software.network_operator
    network: dict[str, JsonValue] = {"ipamPlugin": {"deploy": case.choices.ipam == "whereabouts"}}
    if not switches.multus:
        network["multus"] = {"deploy": False}
    if case.choices.model == "ipoib":
        network["ipoib"] = {"deploy": True}
    values: dict[str, JsonValue] = {
        "rdmaSharedDevicePlugin": _section(shared is not None, [_shared(entry) for entry in _entries(shared)]),
        "sriovDevicePlugin": _section(
            virtual is not None, [_virtual(entry) for entry in (virtual.resource_list if virtual else ())]
        ),
        "nvIpam": {"deploy": uses_nv_ipam(case)},
        "secondaryNetwork": network,
    }
    if switches.ofed_driver:
        values["ofedDriver"] = {"deploy": True}
    if (keys := switches.partition_keys) is not None:
        values["ibKubernetes"] = {
            "deploy": True,
            "pKeyGUIDPoolRangeStart": keys.guid_range_start,
            "pKeyGUIDPoolRangeEnd": keys.guid_range_end,
            "ufmSecret": keys.ufm_secret,
        }
    if (accepted := beyond_default(case)) is not None:
        values["tolerations"] = accepted
    return values


def _entries(shared: RdmaSharedDevicePluginConfig | None) -> tuple[JsonValue, ...]:
    return tuple(entry.to_dict() for entry in shared.config_list) if shared else ()


def _section(deploy: bool, resources: list[JsonValue]) -> JsonValue:
    return {"deploy": True, "resources": resources} if deploy else {"deploy": False}


def _virtual(resource: SriovResource) -> JsonValue:
    """One resource in the chart's own form, which has the selectors beside the name."""
    (selectors,) = resource.alternatives
    chosen = selectors.to_dict()
    chosen.pop("isRdma", None)
    # In the OKE guide's commands; the chart's template writes true whatever stands here.
    return {"name": resource.resource_name, **chosen, "isRdma": [True]}


def _shared(entry: JsonValue) -> JsonValue:
    assert isinstance(entry, dict), "an entry of the plug-in's configuration"
    selectors = entry["selectors"]
    assert isinstance(selectors, dict), "the plug-in's model requires them"
    return {"name": entry["resourceName"], "rdmaHcaMax": entry["rdmaHcaMax"], **selectors}
