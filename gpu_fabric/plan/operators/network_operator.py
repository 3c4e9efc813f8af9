"""NVIDIA's Network Operator: the values of its chart, and in older lines the policy that the chart makes of them.

The policy waits for the GPU operands, because it needs their node labels and because the container toolkit restarts the
runtime under every pod. The chart needs neither and is installed at the same time as the GPU Operator's, unless it
holds a NodeFeatureRule (docs/decisions/0002). Without a GPU Operator it is this chart that has nodes labelled. A chart
that makes the policy itself starts the operands at once, so what those need comes before it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from gpu_fabric.k8s.apiextensions import CustomResourceDefinition
from gpu_fabric.k8s.device_plugin import (
    RdmaSharedDevicePluginConfig,
    RdmaSharedResource,
    SriovDevicePluginConfig,
    SriovResource,
)
from gpu_fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME, NicClusterPolicy
from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.operator import LABELLED, ON_NODES, Operator, OwnChart
from gpu_fabric.plan.operators.policy import (
    POLICY_TIMEOUT,
    READY,
    fabric_nodes,
    installs_multus,
    nic_cluster_policy,
    nic_node_policy,
    plugin_configurations,
    rollouts,
    uses_nv_ipam,
)
from gpu_fabric.plan.operators.releases import discovery_values, extra_tolerations, merged
from gpu_fabric.plan.operators.spectrum_x import nic_objects
from gpu_fabric.plan.records import (
    HelmRelease,
    PlannedAdoption,
    PlannedObject,
    PlannedReadiness,
    PlannedRetention,
    PlannedState,
)
from gpu_fabric.plan.steps import Context, Step, Words, condition, kinds
from gpu_fabric.plan.ways import planned_way

DRA_GATE = "dynamicResourceAllocation"
"""The feature gate of the SR-IOV operator that starts its DRA driver in the place of its device plug-in."""

SPECTRUM_X_VALUES: dict[str, JsonValue] = {
    # Nodes are rebooted for the NICs' firmware by the maintenance operator.
    "maintenanceOperator": {"enabled": True},
    "sriov-network-operator": {
        "sriovOperatorConfig": {
            # The daemon touches no NIC before its firmware is configured.
            "configDaemonNodeSelector": {"network.nvidia.com/operator.nic-configuration.wait": "false"},
            # It creates OVS bridges, and leaves the firmware to the NIC Configuration Operator.
            "featureGates": {"manageSoftwareBridges": True},
            "disablePlugins": ["mellanox"],
        }
    },
}
"""What Spectrum-X needs of the chart (NVIDIA's quick start of Network Operator 26.7, kubernetes2670)."""

_POLICIES, _KIND = "nic-policies", "operators:NicPolicies"
_RETAINED = "nic-policy-retained"


def _needed(case: Case) -> bool:
    # On the host's network there is nothing for it to install.
    return manager_of(case).chart == CHART.name and case.choices.model != "host-network"


def _values(case: Case) -> dict[str, JsonValue]:
    """What differs from the chart's defaults: what it installs comes from its policy."""
    computed: dict[str, JsonValue] = {}
    if not GPU_OPERATOR.is_installed(case) and "nfd" not in case.spec.present:
        # One discovery, and exactly one, must label the nodes that have NICs.
        computed["nfd"] = {"enabled": True, "deployNodeFeatureRules": True}
        computed |= discovery_values(case)
    if manager_of(case).installs_sriov_operator:
        computed["sriovNetworkOperator"] = {"enabled": True}
        if manager_of(case).answers_by_claims:
            # It then writes a DeviceClass for each resource, whose name pods go on requesting.
            computed["sriov-network-operator"] = {"sriovOperatorConfig": {"featureGates": {DRA_GATE: True}}}
        if case.planes is not None:
            computed |= SPECTRUM_X_VALUES
    if case.line.policy_by == "chart":
        computed |= _policy_values(case, None, None)
    return merged(computed, _folders(case))


def _folders(case: Case) -> dict[str, JsonValue]:
    """Where both operators put CNI's files, if the stack states it; older charts cannot move the configurations."""
    if (stated := case.cni_folders) is None:
        return {}
    own: dict[str, JsonValue] = {"cniBinDirectory": stated.plugins}
    if case.line.policy_by == "stack":
        own["cniNetworkDirectory"] = stated.networks
    values: dict[str, JsonValue] = {"operator": own}
    if manager_of(case).installs_sriov_operator:
        values["sriov-network-operator"] = {"operator": {"cniBinPath": stated.plugins}}
    return values


CHART = OwnChart("network-operator", _values, _needed)


def network_operator(
    case: Case, virtual: SriovDevicePluginConfig | None, shared: RdmaSharedDevicePluginConfig | None
) -> HelmRelease:
    """The Network Operator itself; where the line's chart makes the policy, its values configure the plug-ins."""
    return CHART.release(case, _policy_values(case, virtual, shared) if case.line.policy_by == "chart" else {})


def labelled(case: Case) -> tuple[str, ...]:
    """What comes before whatever selects nodes by their labels, where this operator is the manager.

    To the GPU Operator a DaemonSet counts as ready while no node carries its labels, with no pod anywhere; to the
    Network Operator such a one never does.
    """
    by_itself = CHART.is_installed(case) and case.line.policy_by == "stack" and not GPU_OPERATOR.is_installed(case)
    return (*LABELLED, CHART.name) if by_itself else LABELLED


def _steps(context: Context) -> Iterator[Step]:
    case, by_stack = context.case, context.case.line.policy_by == "stack"
    chart = network_operator(case, context.sriov_plugin, context.shared_plugin)
    before: tuple[str, ...] = (*labelled(case), *ON_NODES)
    after, note = before, ""
    if by_stack and not needs_feature_discovery(chart) and GPU_OPERATOR.is_installed(case):
        after, note = ("namespaces",), ", at the same time as the GPU Operator"
    elif by_stack:
        after = ("namespaces", "gpu-operator")
    if by_stack and case.spec.software.network_operator.namespace is not None:
        kind = NicClusterPolicy
        kept = PlannedRetention(
            api_version=kind.api_version, kind=kind.kind, plural=kind.plural, name=NIC_CLUSTER_POLICY_NAME
        )
        yield Step(name=_RETAINED, component=CHART.name, kind=CHART.kind, items=(kept,), after=after)
        after = (*after, _RETAINED)
    yield CHART.step(chart, after, note)
    policy = nic_cluster_policy(context) if by_stack else policy_ready()
    before = (*before, CHART.name)
    if isinstance(policy, PlannedObject) and planned_way(case) is not None:
        # To the operator a DaemonSet without pods is never ready, and no node may have this way before its wave.
        planned = policy.model_copy(update={"wait_for": None})
        step = _policy_step(_POLICIES, (planned,), before)
        more = (_pools_defined(case),) if uses_nv_ipam(case) else ()
        yield step.model_copy(update={"items": (planned, *more), "in_order": True})
    elif by_stack and case.spec.upgrade is not None and case.spec.software.network_operator.ofed_driver:
        # Not ready before the last node's driver has been replaced, which is what the waves do at the end.
        state = _policy_state().model_copy(update={"or_due_in": manager_of(case).namespace})
        waits = f"{state.name} {state.value}, or drivers that wait for their node's wave"
        words = (Words(title="policy", what=f"{NicClusterPolicy.kind} {policy.name}", waits=waits),)
        items = (policy.model_copy(update={"wait_for": None}), state)
        yield Step(
            name=_POLICIES, component=_POLICIES, kind=_KIND, items=items, after=before, in_order=True, words=words
        )
    else:
        yield _policy_step(_POLICIES, (policy,), before)
    yield from _policies_of_nodes(context, policy, before)
    if case.planes is not None:
        objects = tuple(PlannedObject(object=entry) for entry in nic_objects(case, case.planes))
        words = (Words(title="NICs", what=kinds(objects)),)
        after = (*before, _POLICIES)
        name = "nic-configuration"
        yield Step(name=name, component=_POLICIES, kind=_KIND, items=objects, after=after, words=words)


def _policies_of_nodes(
    context: Context, policy: PlannedObject | PlannedReadiness, before: tuple[str, ...]
) -> Iterator[Step]:
    """Policies of node groups, and what is awaited of all policies: configurations that the plug-ins run with."""
    case = context.case
    of_nodes = tuple(nic_node_policy(case, nodes) for nodes in context.node_groups)
    # The cluster's policy installs what the operands of the others wait for.
    yield _policy_step("nic-node-policies", of_nodes, (*before, _POLICIES))
    by_stack_made = (*((policy,) if isinstance(policy, PlannedObject) else ()), *of_nodes)
    # The operator says `ready` for some seconds as before a change.
    written = tuple(plugin_configurations(case, by_stack_made))
    after: tuple[str, ...] = (_POLICIES, "nic-node-policies")
    yield Step(name="plugin-configurations", component=_POLICIES, kind=_KIND, items=written, after=after)
    rolled = rollouts(context)
    words = tuple(
        Words(title="device plug-in", what=f"DaemonSet {entry.daemon_set}, restarted when its configuration changes")
        for entry in rolled
    )
    after = (*before, _POLICIES, "nic-node-policies")
    # Nothing comes after these but the end of the run.
    yield Step(name="plugin-rollouts", component=_POLICIES, kind=_KIND, items=rolled, after=after, words=words)


def _steps_of_present(context: Context) -> Iterator[Step]:
    """The policy of an operator that the cluster has: the stack's own, sections of the one that exists, or nothing.

    Adopted sections are written while the operator runs, so its `ready` is awaited as after any change of a policy.
    """
    case = context.case
    before: tuple[str, ...] = (*LABELLED, *ON_NODES)
    whole = nic_cluster_policy(context)
    ready = _policy_state()
    match case.spec.software.network_operator.policy:
        case "theirs":
            words = (Words(title="policy", what="nothing is created", waits=f"{ready.name} {ready.value}"),)
            yield Step(name=_POLICIES, component=_POLICIES, kind=_KIND, items=(ready,), after=before, words=words)
            return
        case "adopt":
            added = adoption(case, whole)
            what = f"{', '.join(added.spec)} of the {added.kind} that exists"
            words = (Words(title="policy", what=what, waits=f"{ready.name} {ready.value}"),)
            adopted, items = "adopted-sections", (added,)
            yield Step(name=adopted, component=_POLICIES, kind=_KIND, items=items, after=before, words=words)
            # The operator's `ready` may be one of before; of pools it defines the kinds when it installs their IPAM.
            states = (ready, _pools_defined(case)) if uses_nv_ipam(case) else (ready,)
            yield Step(name=_POLICIES, component=_POLICIES, kind=_KIND, items=states, after=(*before, adopted))
            before = (*before, adopted)
        case _:
            yield _policy_step(_POLICIES, (whole,), before)
    yield from _policies_of_nodes(context, whole, before)


OPERATOR = Operator(_steps, CHART, steps_of_present=_steps_of_present)


def adoption(case: Case, policy: PlannedObject) -> PlannedAdoption:
    """The sections of a policy as additions to the one that exists."""
    manifest = policy.object.manifest()
    # Pods of the operator tolerate the GPU taint by themselves, and a list that exists cannot be added to.
    beside = extra_tolerations(case) is None
    spec = {name: section for name, section in manifest["spec"].items() if not beside or name != "tolerations"}
    kind = NicClusterPolicy
    return PlannedAdoption(
        api_version=kind.api_version, kind=kind.kind, plural=kind.plural, name=policy.name, spec=spec
    )


def _pools_defined(case: Case) -> PlannedState:
    kind = CIDRPool if case.choices.layout == "per-node" else IPPool
    return PlannedState(
        api_version=CustomResourceDefinition.api_version,
        kind=CustomResourceDefinition.kind,
        plural=CustomResourceDefinition.plural,
        name=f"{kind.plural}.{kind.group()}",
        creator="the Network Operator",
        field="status.acceptedNames.kind",
        value=kind.kind,
        timeout=POLICY_TIMEOUT,
    )


def _policy_state() -> PlannedState:
    return PlannedState(
        api_version=NicClusterPolicy.api_version,
        kind=NicClusterPolicy.kind,
        plural=NicClusterPolicy.plural,
        name=NIC_CLUSTER_POLICY_NAME,
        creator="the owner of the operator",
        field="status.state",
        value="ready",
        timeout=POLICY_TIMEOUT,
    )


def _policy_step(name: str, policies: tuple[PlannedObject | PlannedReadiness, ...], after: tuple[str, ...]) -> Step:
    items, words = policies, tuple(map(_policy_words, policies))
    return Step(name=name, component=_POLICIES, kind=_KIND, items=items, after=after, words=words)


def _policy_words(policy: PlannedObject | PlannedReadiness) -> Words:
    if isinstance(policy, PlannedReadiness):
        return Words(title="policy", what="by the chart", waits=f"{policy.name} {condition(policy.wait_for)}")
    what = f"{policy.object.kind} {policy.name}"
    return Words(title="policy", what=what, waits=condition(policy.wait_for))


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
    if not installs_multus(case):
        network["multus"] = {"deploy": False}
    if case.choices.model == "ipoib":
        network["ipoib"] = {"deploy": True}
    values: dict[str, JsonValue] = {
        "rdmaSharedDevicePlugin": _section(map(_shared, shared.config_list) if shared else None),
        "sriovDevicePlugin": _section(map(_virtual, virtual.resource_list) if virtual else None),
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
    if (accepted := extra_tolerations(case, of_fabric=True)) is not None:
        values["tolerations"] = accepted
    if (nodes := fabric_nodes(case)) is not None:
        values["nodeAffinity"] = nodes.to_dict()
    return values


def _section(resources: Iterable[JsonValue] | None) -> JsonValue:
    return {"deploy": False} if resources is None else {"deploy": True, "resources": list(resources)}


def _virtual(resource: SriovResource) -> JsonValue:
    """One resource in the chart's own form, which has the selectors next to the name."""
    (selectors,) = resource.alternatives
    chosen = selectors.to_dict()
    chosen.pop("isRdma", None)
    # In the OKE guide's commands; the chart's template writes true whatever stands here.
    return {"name": resource.resource_name, **chosen, "isRdma": [True]}


def _shared(resource: RdmaSharedResource) -> JsonValue:
    """One resource in the chart's own form, without a prefix and with the selectors next to the name."""
    shares = {"name": resource.resource_name, "rdmaHcaMax": resource.rdma_hca_max}
    return {**shares, **resource.selectors.to_dict()}
