"""Checks of the Spiderpool chart: switches have an effect, values keep what the plan relies on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from ipaddress import ip_network

from pydantic import JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.catalog.distribution import USUAL_NETWORKS, USUAL_PLUGINS
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.spiderpool import CHART as SPIDERPOOL
from gpu_fabric.rules.chart_values import ChartValues, chart_in_use, charts_in_use, replace_sections
from gpu_fabric.rules.planned_nodes import labels_of_pools
from gpu_fabric.rules.ranges import has_overlap
from gpu_fabric.rules.registry import Problem, check, check_of, check_plan, in_cluster, in_fabric, in_software
from gpu_fabric.spec.cluster import Component
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.places import dotted

_PREFIX, _CONFIGURATION = "spidernet.io", "spiderpool-conf"
_PLUGIN = ("rdma", "rdmaSharedDevicePlugin")
_INJECTION = ("spiderpoolController", "podResourceInject")
_EXTRA_NICS = ("supportedExtraNICs",)
_CLEANUP = ("spiderpoolController", "cleanup", "enable")
_TLS = ("spiderpoolController", "tls", "method")
_EVERY_NODE = {"kubernetes.io/os": "linux"}
# Operators whose definitions are deleted with Spiderpool's when it cleans up.
_OTHERS: tuple[Component, ...] = ("sriov-operator", "network-operator")
# Keys of the chart's coordinator that the stack patches, by their key of `software.spiderpool.coordinator`.
_PATCHED = {
    "podCIDRType": "podCidrType",
    "tunePodRoutes": "tunePodRoutes",
    "hijackCIDR": "hijackCidr",
    "vethMTU": "vethMtu",
    "podMACPrefix": "podMacPrefix",
    "txQueueLen": "txQueueLen",
}
_place = partial(in_software, "spiderpool")


@check_plan("SPI007")
def values_keep_what_the_plan_relies_on(case: Case, plan: Plan) -> Iterator[Problem]:
    """With the stack file's own values the chart still installs and configures what the model needs."""
    if (chart := plan.release("spiderpool")) is None:
        return
    values = chart.values
    for keys, message in _unfit_values(case, plan, values):
        yield Problem(_place("values", *keys), message)


@check_of("SPI012", chart_in_use("spiderpool"))
def values_leave_injection_on(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """With the stack file's own values the webhook looks at the pods of the fabric's namespaces, and at no others."""
    if manager_of(case).injection is None:
        return
    names = [entry.name for entry in case.spec.fabric.namespaces]
    if chart.value(*_INJECTION, "enabled") is not True:
        yield Problem(
            chart.place(*_INJECTION, "enabled"), "software.spiderpool.injection needs the webhook", "leave it out"
        )
    included = _texts_of_list(chart.value(*_INJECTION, "namespacesInclude"))
    lacking = [name for name in names if name not in included]
    home = manager_of(case).namespace
    closed = [name for name in included if name == home or name.startswith("kube-")]
    if lacking or closed:
        yield Problem(
            chart.place(*_INJECTION, "namespacesInclude"),
            f"it lacks {' and '.join(lacking)}, where jobs run"
            if lacking
            else f"while Spiderpool is down, no pod could start in {' and '.join(closed)}",
            "leave it out; the plan lists fabric.namespaces",
        )
    excluded = _texts_of_list(chart.written_value(*_INJECTION, "namespacesExclude"))
    if shut := [name for name in names if name in excluded]:
        yield Problem(
            chart.place(*_INJECTION, "namespacesExclude"), f"jobs run in {' and '.join(shut)}", "leave it out"
        )


@check_of("SPI013", chart_in_use("spiderpool"))
def certificates_are_replaced(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The user knows where a change of the release replaces the webhooks' certificates."""
    methods = {"Spiderpool's controller": chart.value(*_TLS)}
    if manager_of(case).installs_sriov_operator:
        methods["the SR-IOV operator"] = chart.value("sriov", "webhooktls", "method")
    whose = [name for name, method in methods.items() if method in (None, "auto")]
    if whose:
        yield Problem(
            _place("tls"),
            f"at every change of the release the chart creates new certificates for webhooks of {' and '.join(whose)}"
            ", and until their pods have read them the API server refuses what the webhooks are asked about",
        )


@check("SPI014")
def switches_have_an_effect(case: Case) -> Iterator[Problem]:
    """No switch of Spiderpool is set that the others, or the model, leave without effect."""
    switches = case.spec.software.spiderpool
    if not SPIDERPOOL.wanted(case):
        return
    if switches.service_monitor and not switches.metrics:
        yield _no_effect("serviceMonitor", "metrics is off", "write metrics: true, or leave it out")
    if switches.grafana_labels and not switches.grafana_dashboards:
        yield _no_effect("grafanaLabels", "grafanaDashboards is off", "write grafanaDashboards: true, or leave it out")
    if switches.ib_kubernetes and case.choices.model != "ib-sriov":
        yield _no_effect("ibKubernetes", f"the model {case.choices.model} has no partition keys", "leave it out")
    elif switches.ib_kubernetes and case.spec.fabric.pkey is None:
        yield _no_effect("ibKubernetes", "fabric.pkey is not stated", "add fabric.pkey, or leave it out")


@check_of("SPI015", chart_in_use("spiderpool"))
def dashboards_show_something(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Dashboards are for the cluster's own Grafana, and have something to show."""
    if chart.value("grafanaDashboard", "install") is not True:
        return
    place = chart.decided_at("grafanaDashboards", "grafanaDashboard", "install")
    if not chart.value("grafanaDashboard", "instanceSelector", "matchLabels"):
        yield Problem(
            place,
            "by the chart's default the dashboards are for the Grafana of one vendor's product only",
            "add software.spiderpool.grafanaLabels: the labels of the cluster's Grafana object",
        )
    if chart.value("spiderpoolAgent", "prometheus", "enabled") is not True:
        yield Problem(
            place,
            "nothing is counted (software.spiderpool.metrics is off), so the dashboards stay empty",
            "write metrics: true, or leave the dashboards out",
        )


@check_of("SPI016", chart_in_use("spiderpool"))
def definitions_stay_after_destroy(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The user knows where Spiderpool's definitions remain after the stack is destroyed."""
    if not case.spec.software.spiderpool.cleanup:
        return
    for place, owner in _other_owners(case):
        yield Problem(
            place,
            f"uninstalling Spiderpool would take the definitions of the cluster's {owner} with its own, so it cleans "
            "nothing up, and its definitions stay after `make destroy`",
        )


@check_of("SPI017", chart_in_use("spiderpool"))
def cleanup_spares_other_operators(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Uninstalling Spiderpool deletes no definitions of another operator."""
    others = [owner for _, owner in _other_owners(case)]
    if others and chart.written_value(*_CLEANUP) is True:
        yield Problem(
            chart.place(*_CLEANUP),
            f"uninstalling would delete the SR-IOV definitions and webhooks of the cluster's {' and '.join(others)}",
        )


@check_of("SPI018", chart_in_use("spiderpool"))
def coordinator_is_patched(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Settings of the coordinator are given where they also have an effect after the first installation."""
    written = chart.written_value("coordinator")
    for key in written if isinstance(written, dict) else ():
        ours = _PATCHED.get(key)
        yield Problem(
            _place("values", "coordinator", key),
            "the chart reads it when it is first installed, and never again",
            f"write software.spiderpool.coordinator.{ours} instead"
            if ours
            else "leave it out, and patch the SpiderCoordinator `default` of a cluster that has it already",
        )


@check_of("SPI019", chart_in_use("spiderpool"))
def nodes_are_changed_one_at_a_time(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The SR-IOV operator drains a node before it changes the NICs, and takes one node after the other."""
    keys = ("sriov", "operatorConfig", "disableDrain")
    if case.choices.virtual_functions != "sriov-operator" or chart.value(*keys) is not True:
        return
    yield Problem(chart.place(*keys))


@check_of("SPI020", chart_in_use("spiderpool"))
def controllers_have_nodes(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """There are fewer replicas of Spiderpool's controller than nodes for them."""
    keys = ("spiderpoolController", "replicas")
    if chart.value("spiderpoolController", "hostnetwork") is False:
        return
    replicas = chart.written_value(*keys)
    if isinstance(replicas, int) and replicas >= case.nodes:
        yield Problem(
            chart.place(*keys),
            f"each replica takes ports of its node, and {replicas} on {case.nodes} GPU node"
            f"{'s' if case.nodes > 1 else ''} leave none for an update",
            f"write {case.nodes - 1} or fewer, unless the cluster has other nodes"
            if case.nodes > 1
            else "leave it out, unless the cluster has other nodes",
        )


@check("SPI022")
def driver_containers_reach_packages(case: Case) -> Iterator[Problem]:
    """The user knows what the nodes need for network drivers in a container."""
    if "ofed-driver" in charts_in_use(case):
        yield Problem(in_software("ofedDriver"))


@check_of("SPI023", chart_in_use("spiderpool"))
def policies_reach_the_operators_webhook(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The user knows on which nodes the SR-IOV operator's webhook runs."""
    keys = ("sriov", "operatorConfig", "enableOperatorWebhook")
    if not manager_of(case).installs_sriov_operator or case.choices.control_plane_apart:
        return
    if chart.value(*keys) is not False:
        yield Problem(chart.place(*keys))


@check("SPI028")
def coordinator_finds_the_clusters_ranges(case: Case) -> Iterator[Problem]:
    """Spiderpool's coordinator finds the ranges of pods and services."""
    if "spiderpool" in charts_in_use(case) and case.choices.control_plane_apart:
        yield Problem(in_fabric("manager"))


@check_of("SPI024", chart_in_use("spiderpool"))
def sriov_operator_knows_the_nics(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Spiderpool's SR-IOV operator knows the NICs that are to have virtual functions."""
    known = case.line.spiderpool_sriov_nics
    if known is None or not manager_of(case).installs_sriov_operator:
        return
    added = tuple(_texts(chart.value(*_EXTRA_NICS)))
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        nic = shape.nic_model
        if nic is None or nic.device_id is None or nic.device_id in known.devices.get(nic.vendor_id or "", ()):
            continue
        if not any(f"{nic.vendor_id} {nic.device_id}" in text for text in added):
            entry = f"{nic.vendor_id} {nic.device_id} {nic.vf_device_id or '<virtual function>'}"
            yield Problem(
                in_cluster("pools", place, "shape"),
                f"Spiderpool's SR-IOV operator does not know the NICs of pool {pool.name}: "
                f"{nic.model or 'their model'} ({nic.vendor_id}:{nic.device_id})",
                f'write software.spiderpool.values.supportedExtraNICs: ["Name: "{entry}""] if its release drives them, '
                "or model: macvlan",
            )


def _texts(value: JsonValue) -> Iterator[str]:
    """Every text in a value, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield f"{key}: {entry}"
            yield from _texts(entry)


def _unfit_values(case: Case, plan: Plan, values: dict[str, JsonValue]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Values that take away what the plan relies on, and why they do."""
    if plan.shared_plugin is not None:
        if field(values, *_PLUGIN, "install") is not True:
            yield (*_PLUGIN, "install"), _resources_message("the RDMA shared device plug-in")
        if field(values, *_PLUGIN, "deviceConfig") != plan.shared_plugin.to_dict():
            yield (*_PLUGIN, "deviceConfig"), "it is not the configuration that the rails need"
    if manager_of(case).installs_sriov_operator:
        if field(values, "sriov", "install") is not True:
            yield ("sriov", "install"), _resources_message("the SR-IOV operator")
        webhook = ("sriov", "operatorConfig", "enableOperatorWebhook")
        if case.choices.control_plane_apart and field(values, *webhook) is not False:
            yield (
                webhook,
                "no node here is the control plane's, where alone the webhook runs: policies would be refused",
            )
        if field(values, "sriov", "resourcePrefix") not in (None, _PREFIX):
            yield ("sriov", "resourcePrefix"), f"jobs and networks ask for resources of {_PREFIX}"
    if field(values, "multus", "enableMultusConfig") is False:
        yield ("multus", "enableMultusConfig"), "nothing creates networks from the SpiderMultusConfigs then"
    if field(values, "global", "configName") not in (None, _CONFIGURATION):
        yield ("global", "configName"), f"the chart's Multus reads {_CONFIGURATION}, whatever is written here"
    for plugin, called in _plugin_switches(case).items():
        if called is True and field(values, "plugins", plugin) is not True:
            yield ("plugins", plugin), "the networks call it (software.cniPlugins: node-image if the nodes have it)"
    supernet = plan.addresses.supernet
    if supernet is not None and field(values, "ipam", f"enableIPv{ip_network(supernet).version}") is False:
        yield ("ipam", f"enableIPv{ip_network(supernet).version}"), f"the pools are of {supernet}"
    agent = field(values, "spiderpoolAgent")
    if (
        field(agent, "tuneSysctlConfig") is False
        and field(agent, "prometheus", "enabledRdmaMetric") is not True
        and not field(agent, "securityContext")
    ):
        yield (
            ("spiderpoolAgent", "tuneSysctlConfig"),
            "without RDMA metrics its pods are not privileged then, and the API refuses their mounts",
        )


def _plugin_switches(case: Case) -> dict[str, JsonValue]:
    """The chart's switches of CNI plug-ins, as the plan has them without the stack file's values."""
    switches = case.spec.software.spiderpool.model_copy(update={"values": {}})
    plugins = SPIDERPOOL.release(replace_sections(case, spiderpool=switches)).values["plugins"]
    return plugins if isinstance(plugins, dict) else {}


def _other_owners(case: Case) -> Iterator[tuple[str, Component]]:
    """Software of the cluster that has definitions of the SR-IOV operator, with its place."""
    installed = case.spec.cluster.installed
    yield from ((in_cluster("installed", place), name) for place, name in enumerate(installed) if name in _OTHERS)
    if "sriov-operator" in case.spec.software.present:
        yield in_software("sriovOperator", "install"), "sriov-operator"


def _no_effect(switch: str, reason: str, remedy: str) -> Problem:
    return Problem(_place(switch), f"it has no effect: {reason}", remedy)


def _texts_of_list(value: JsonValue) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _resources_message(what: str) -> str:
    return f"without {what} nothing advertises the jobs' resources"


@check_of("SPI025", chart_in_use("spiderpool"))
def agents_reach_the_nodes(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Spiderpool's agents are selected for the GPU nodes."""
    selector = chart.written_value("spiderpoolAgent", "nodeSelector")
    for key, value in selector.items() if isinstance(selector, dict) else ():
        if any({**_EVERY_NODE, **labels}.get(key) != value for labels in labels_of_pools(case)):
            yield Problem(
                chart.place("spiderpoolAgent", "nodeSelector", key),
                f"no pool says that all its nodes carry {key}={value}",
            )


@check_of("SPI029", chart_in_use("spiderpool"))
def answers_leave_by_their_rail(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Each interface of a pod keeps the route table by which answers leave it."""
    routed = case.choices.link_type == "ether" and case.choices.layout != "none"
    is_off = case.spec.software.spiderpool.coordinator.tune_pod_routes is False
    if routed and is_off:
        yield Problem(_place("coordinator", "tunePodRoutes"))


@check_of("SPI026", chart_in_use("spiderpool"))
def fabric_stays_on_its_rails(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """No range that pods reach by their first interface holds addresses of the fabric."""
    supernet = case.spec.fabric.addressing.supernet
    if supernet is None:
        return
    switch = case.spec.software.spiderpool.coordinator.hijack_cidr or ()
    written = chart.written_value("coordinator", "hijackCIDR")
    stated: list[tuple[str, IPNetwork]] = [
        (in_software("spiderpool", "coordinator", "hijackCidr", place), network) for place, network in enumerate(switch)
    ]
    for place, text in enumerate(written if isinstance(written, list) else ()):
        try:
            stated.append((chart.place("coordinator", "hijackCIDR", str(place)), ip_network(str(text), strict=False)))
        except ValueError:
            yield Problem(
                chart.place("coordinator", "hijackCIDR", str(place)),
                "this is not a valid network",
                "write CIDR notation, such as 169.254.0.0/16",
            )
    for place_text, network in stated:
        if has_overlap(network, supernet):
            yield Problem(
                place_text,
                f"{network} holds addresses of the fabric's {supernet}, which then leave by the first interface",
                "write ranges outside the supernet",
            )


@check_of("SPI027", chart_in_use("spiderpool"))
def plugins_are_where_runtimes_look(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Spiderpool's chart puts its CNI plug-in into the folder in which runtimes look by default."""
    folder = chart.value("global", "cniBinHostPath")
    if case.cni_folders and (case.cni_folders.plugins, case.cni_folders.networks) != (USUAL_PLUGINS, USUAL_NETWORKS):
        yield Problem(
            dotted(("cluster", "cniFolders")),
            "parts of these paths are fixed in Spiderpool's chart, and stay in the usual folders",
            "take fabric.manager: network-operator on such nodes",
        )
    elif folder not in (None, USUAL_PLUGINS):
        yield Problem(
            chart.place("global", "cniBinHostPath"),
            f"container runtimes look into {USUAL_PLUGINS} unless their own configuration says {folder}",
            "leave it out, or see that the nodes' runtime and all other plug-ins use the same folder",
        )
