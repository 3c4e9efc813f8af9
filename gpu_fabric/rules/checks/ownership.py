"""Checks of the group `ownership`: parts that a cluster must have exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.k8s.mellanox import NIC_LABEL
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.choices import Choices
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.multus import brings_multus
from gpu_fabric.plan.operators.policy import installs_multus
from gpu_fabric.plan.operators.sharing import policy_of_present
from gpu_fabric.plan.operators.spiderpool import CHART as SPIDERPOOL
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.rules.chart_values import Charts, ChartValues, charts_in_use, gpu_operator_parts
from gpu_fabric.rules.planned_nodes import first_pool
from gpu_fabric.rules.registry import Problem, check, check_of, in_cluster, in_software
from gpu_fabric.spec.cluster import Component
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.places import dotted

_ADD_LABELS = "add labels that all GPU nodes of the pool carry and no other node"


class _Owner(NamedTuple):
    """The part of the stack or cluster that installs a component, and the place that decides it."""

    name: str
    path: str


# Charts whose part of that name the plan switches off.
_OF_AMD = ("amd-gpu-operator", "amd-network-operator")


def _owner_in_cluster(case: Case, component: Component) -> list[_Owner]:
    installed = case.spec.cluster.installed
    if component in installed:
        return [_Owner("the cluster", in_cluster("installed", installed.index(component)))]
    if component in case.spec.present:
        return [_Owner("the cluster", in_software(_section(case, component), "install"))]
    return []


def _section(case: Case, component: Component) -> str:
    return case.known.operators[component].section or component


def _discovery_owners(case: Case, charts: Charts) -> list[_Owner]:
    owners = _owner_in_cluster(case, "nfd")
    gpu, network = charts.get("gpu-operator"), charts.get("network-operator")
    if gpu and gpu.value("nfd", "enabled") is not False:
        owners.append(_Owner("the GPU Operator's chart", gpu.decided_at("featureDiscovery", "nfd", "enabled")))
    if network and network.value("nfd", "enabled") is not False:
        owners.append(_Owner("the Network Operator's chart", network.place("nfd", "enabled")))
    part = ("node-feature-discovery", "enabled")
    for chart in (charts[name] for name in _OF_AMD if name in charts):
        if chart.value(*part) is not False:
            owners.append(_Owner(f"the chart {chart.name}", chart.place(*part)))
    return owners


@check("OWN001")
def node_features_are_found_once(case: Case) -> Iterator[Problem]:
    """At most one Node Feature Discovery runs in the cluster."""
    return _surplus_owner(_discovery_owners(case, charts_in_use(case)))


@check("OWN002")
def node_features_are_found(case: Case) -> Iterator[Problem]:
    """Node Feature Discovery labels the nodes that the operators select."""
    charts = charts_in_use(case)
    gpu, network = charts.get("gpu-operator"), charts.get("network-operator")
    if (gpu or network) and not _discovery_owners(case, charts):
        yield Problem(
            gpu.decided_at("featureDiscovery", "nfd", "enabled")
            if gpu
            else in_software("networkOperator", "values", "nfd", "enabled")
        )


def _multus_owners(case: Case, charts: Charts) -> list[_Owner]:
    owners = _owner_in_cluster(case, "multus")
    on_host = case.choices.model == "host-network"
    network, by_chart = charts.get("network-operator"), ("secondaryNetwork", "multus", "deploy")
    if network and not on_host and _policy_has_multus(case, network, by_chart):
        place = network.decided_at("multus", *by_chart)
        owners.append(_Owner("the Network Operator's policy", place))
    if not on_host and policy_of_present(case) in ("own", "adopt") and installs_multus(case):
        owners.append(_Owner("the Network Operator's policy", in_software("networkOperator", "multus")))
    spiderpool, keys = charts.get("spiderpool"), ("multus", "multusCNI", "install")
    if spiderpool and spiderpool.value(*keys) is not False:
        owners.append(_Owner("Spiderpool's chart", spiderpool.decided_at("multus", *keys)))
    amd = charts.get("amd-network-operator")
    if amd and amd.value("multus", "enabled") is not False:
        if brings_multus(case):
            owners.append(_Owner("the stack", in_software("multus")))
        owners.append(_Owner("the chart of AMD's Network Operator", amd.place("multus", "enabled")))
    return owners


def _policy_has_multus(case: Case, network: ChartValues, by_chart: tuple[str, ...]) -> bool:
    """Whether the policy installs Multus; in older lines the chart creates the policy from its values."""
    if case.line.policy_by == "chart":
        return network.value(*by_chart) is not False
    return installs_multus(case)


@check("OWN003")
def pods_get_networks_from_one(case: Case) -> Iterator[Problem]:
    """At most one Multus runs in the cluster."""
    return _surplus_owner(_multus_owners(case, charts_in_use(case)))


@check("OWN004")
def pods_get_networks(case: Case) -> Iterator[Problem]:
    """Multus is installed where pods have networks of the fabric."""
    charts, manager = charts_in_use(case), manager_of(case)
    if manager.multus_switch is None or case.choices.model == "host-network" or _multus_owners(case, charts):
        return
    if policy_of_present(case) in ("own", "adopt"):
        yield Problem(in_software("networkOperator", "multus"))
        return
    # SUP008 refuses a line without the chart that would install it; a manager that the cluster has comes with Multus.
    if manager.chart not in charts:
        return
    chart, keys = charts.get("spiderpool"), ("multus", "multusCNI", "install")
    yield Problem(chart.decided_at("multus", *keys) if chart else dotted(manager.multus_switch))


@check("OWN005")
def operators_are_installed_once(case: Case) -> Iterator[Problem]:
    """No chart installs an operator that the cluster has."""
    charts = charts_in_use(case)
    # The stack installs at most one of the charts that contain the SR-IOV operator.
    network, spiderpool = charts.get("network-operator"), charts.get("spiderpool")
    with_sriov = bool(
        (network and network.value("sriovNetworkOperator", "enabled") is True)
        or (spiderpool and spiderpool.value("sriov", "install") is True)
    )
    installed: tuple[tuple[Component, bool], ...] = (
        ("gpu-operator", "gpu-operator" in charts),
        ("network-operator", network is not None),
        ("sriov-operator", with_sriov),
    )
    for component in (name for name, comes in installed if comes):
        for owner in _owner_in_cluster(case, component):
            yield Problem(
                owner.path,
                f"the stack installs {component} as well",
                f"write software.{_section(case, component)}.install: false, and the stack uses the cluster's own"
                f"{_more(component)}; or uninstall that one first, and take {component} out of this list",
            )


def _more(component: Component) -> str:
    """What else to decide for a component that the cluster has."""
    return " with its policy (policy: adopt or theirs)" if component == "network-operator" else ""


def _policy_by_chart(case: Case) -> str | None:
    """How the policy of a cluster's Network Operator is used, on a line whose chart creates it; None on others."""
    return policy_of_present(case) if case.line.policy_by == "chart" else None


@check_of("OWN011", _policy_by_chart)
def policies_of_charts_are_read_alone(case: Case, policy: str) -> Iterator[Problem]:
    """A NicClusterPolicy that the operator's chart creates is not written by the stack."""
    if policy != "theirs":
        yield Problem(
            in_software("networkOperator", "policy"),
            f"in release line {case.line.name} the operator's chart creates the policy, and restores it at an upgrade",
        )


@check("OWN012")
def discovery_of_the_cluster_is_known(case: Case) -> Iterator[Problem]:
    """A cluster that has a GPU Operator says whether it has Node Feature Discovery as well."""
    network = charts_in_use(case).get("network-operator")
    if network is None or not GPU_OPERATOR.is_present(case) or "nfd" in case.spec.present:
        return
    if case.spec.software.node_feature_discovery.install is None and network.value("nfd", "enabled") is True:
        yield Problem(in_software("nodeFeatureDiscovery", "install"))


@check_of("OWN013", lambda case: case.choices if SPIDERPOOL.is_present(case) else None)
def shared_plugins_of_the_cluster_are_known(case: Case, choices: Choices) -> Iterator[Problem]:
    """The user knows that a device plug-in of the cluster's Spiderpool is not configured by the stack."""
    if choices.access == "shared" and any(rail.resource_name for rail in plan_rails(case)):
        names = ", ".join(dict.fromkeys(rail.resource_name or "" for rail in plan_rails(case)))
        yield Problem(
            in_software("spiderpool", "install"),
            f"the device plug-in of the cluster's Spiderpool must offer {names}, each with the NIC of its rail",
        )


@check("OWN006")
def nodes_of_digitalocean_keep_their_own(case: Case) -> Iterator[Problem]:
    """On DigitalOcean's nodes the GPU Operator leaves out what they have."""
    cluster, chart = case.spec.cluster, charts_in_use(case).get("gpu-operator")
    if case.shape.provider != "doks":
        return
    if (
        isinstance(cluster, DoksClusterSpec)
        and cluster.plugins.gpu == "managed"
        and "gpu-operator" in cluster.installed
    ):
        yield Problem(
            in_cluster("plugins", "gpu"),
            "the cluster's GPU Operator may install a device plug-in besides the managed one",
            "write gpu: operator, or switch the operator's own off (devicePlugin.enabled: false)",
        )
    # For clusters that the stack creates, DOK037 refuses it.
    if chart is not None and not isinstance(cluster, DoksClusterSpec):
        for part, place in gpu_operator_parts(chart):
            yield Problem(place, f"DigitalOcean's nodes have the {part} already", "write false")


@check("OWN007")
def webhooks_have_certificates(case: Case) -> Iterator[Problem]:
    """Webhooks that are switched on get certificates."""
    charts = charts_in_use(case)
    if "cert-manager" in case.spec.cluster.installed:
        return
    spiderpool = charts.get("spiderpool")
    for keys in (("spiderpoolController", "tls", "method"), ("sriov", "webhooktls", "method")):
        if spiderpool and spiderpool.value(*keys) == "certmanager":
            yield Problem(
                spiderpool.place(*keys)
                if spiderpool.written_value(*keys) is not None
                else in_software("spiderpool", "tls", "method"),
                "the cluster is not known to have cert-manager",
                "write auto, or add cert-manager to cluster.installed if the cluster has it",
            )
            break
    chart = charts.get("network-operator")
    if chart is None:
        return
    own = ("operator", "admissionController")
    if chart.value(*own, "enabled") is True and (
        chart.value(*own, "useCertManager") is not False or chart.value(*own, "certificate") is None
    ):
        yield _no_certificates(chart.place(*own, "enabled"))
    sriov = ("sriov-network-operator", "operator", "admissionControllers")
    if (
        chart.value("sriovNetworkOperator", "enabled") is True
        and chart.value(*sriov, "enabled") is True
        and chart.value(*sriov, "certificates", "custom", "enabled") is not True
    ):
        yield _no_certificates(chart.place(*sriov, "enabled"))


@check("OWN008")
def gpu_nodes_are_told_apart(case: Case) -> Iterator[Problem]:
    """What runs on the GPU nodes selects them by labels of the pools, or by a label that is known to be set."""
    charts = charts_in_use(case)
    if "gpu-operator" in charts or _owner_in_cluster(case, "nfd"):
        return
    # Where a chart could install Node Feature Discovery, OWN002 asks for it. Configured by the Network
    # Operator's chart it labels nodes for NVIDIA's NICs alone.
    known = {NIC_LABEL} if "network-operator" in charts else set()
    why = (
        "which Node Feature Discovery as the Network Operator's chart configures it does not set"
        if known
        else "which Node Feature Discovery sets, and neither the stack nor the cluster has it"
    )
    selecting = _selecting_nodes(case)
    for group in case.groups if selecting and manager_of(case).devices_advertised_by is None else ():
        if not group.labels and group.nic_labels.keys() - known:
            yield Problem(
                first_pool(case, group).at("labels"),
                f"{' and '.join(selecting)} would select nodes by the label {next(iter(group.nic_labels))}, {why}",
                f"{_ADD_LABELS}, or add nfd to cluster.installed if the cluster has it",
            )


@check("OWN009")
def gpu_nodes_can_be_selected(case: Case) -> Iterator[Problem]:
    """What runs on the GPU nodes, or is for them alone, has a label to select them by."""
    selecting = _selecting_nodes(case)
    if not selecting:
        return
    unknown = [group for group in case.groups if not group.selector]
    for group in unknown:
        yield Problem(
            first_pool(case, group).at("labels"),
            f"{' and '.join(selecting)} cannot select the nodes of {group.shape.name}: the pool states no labels, and "
            "without the NICs' PCI vendor it is not known which label Node Feature Discovery gives the nodes",
            f"{_ADD_LABELS}, or describe the server in cluster.shapes with nicModel.vendorId",
        )
    if not unknown and not case.node_selector:
        yield Problem(
            first_pool(case, case.groups[0]).at("labels"),
            f"{' and '.join(selecting)} cannot select all GPU nodes: the pools have no label in common, and their NICs "
            "are not known to be of one vendor",
            "add one label that all pools have and no other node",
        )


@check("OWN010")
def gpu_nodes_alone_have_addresses(case: Case) -> Iterator[Problem]:
    """Node blocks of the address pools are for nodes that the stack counts."""
    if case.choices.ipam == "nv-ipam" and case.choices.layout != "none" and not case.node_labels and case.node_selector:
        label = next(iter(case.node_selector))
        yield Problem(
            first_pool(case, case.groups[0]).at("labels"),
            f"nv-ipam gives a block of every pool to each node with the label {label}, storage and CPU nodes with such "
            f"NICs among them, and the plan counts {case.nodes} GPU nodes",
            f'{_ADD_LABELS}, such as nvidia.com/gpu.present: "true", which the GPU Operator sets'
            if case.shape.gpus.vendor == "nvidia"
            else _ADD_LABELS,
        )


def _selecting_nodes(case: Case) -> list[str]:
    """What of the stack selects GPU nodes by their labels, without what an operator's chart selects by itself."""
    planned = case.choices.ipam == "nv-ipam" and case.choices.layout != "none"
    parts = {
        "fabric.hostPreparation": bool(case.spec.fabric.host_preparation.jobs),
        "the SR-IOV operator": case.choices.by_sriov_operator,
        "AMD's NetworkConfig": case.choices.one_pool,
        "the DaemonSet that creates virtual functions": case.choices.virtual_functions == "daemon-set",
        "nv-ipam's pools": planned,
        "fabric.check": case.spec.fabric.check is not None and case.choices.model != "host-network",
    }
    return [part for part, there in parts.items() if there]


def _no_certificates(path: str) -> Problem:
    return Problem(
        path,
        "the cluster is not known to have cert-manager, and no certificates are given",
        "write false, or add cert-manager to cluster.installed if the cluster has it",
    )


def _surplus_owner(owners: list[_Owner]) -> Iterator[Problem]:
    if len(owners) > 1:
        *others, last = owners
        yield Problem(last.path, f"{last.name} installs it besides {' and '.join(owner.name for owner in others)}")
