"""Checks of the group `network_operator`: drivers, partition keys, and values that take away what the model needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pydantic import JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.catalog.distribution import USUAL_NETWORKS, USUAL_PLUGINS
from gpu_fabric.k8s.mellanox import NIC_LABEL, NVIDIA
from gpu_fabric.k8s.sriov_operator import RESOURCE_PREFIX
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.network_operator import DRA_GATE, network_operator
from gpu_fabric.rules.chart_values import ChartValues, chart_in_use, charts_in_use, replace_sections
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, check_plan, in_fabric, in_software
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.software import PartitionKeysSpec

_at = partial(in_software, "networkOperator")
# Keys of a policy section that decide whether its operand is installed, and what it does.
_DECIDING = ("deploy", "resources")

_CLOUDS = {"oci": "Oracle", "doks": "DigitalOcean"}


@check("NOP001")
def cloud_images_keep_their_drivers(case: Case) -> Iterator[Problem]:
    """On a cloud's machines the network drivers are the node image's own."""
    place = _driver_container(case)
    if place is not None and case.shape.provider in _CLOUDS:
        yield Problem(
            place, f"{_CLOUDS[case.shape.provider]}'s node images contain the network drivers of {case.shape.name}"
        )


@check("NOP009")
def nodes_keep_their_own_network(case: Case) -> Iterator[Problem]:
    """The container with the network drivers restarts none under the node's own network."""
    place = _driver_container(case)
    if place is None or case.shape.provider in _CLOUDS:
        return
    for shape in dict.fromkeys(case.shapes):
        own = shape.front_end_nics
        below = [nic.interface or nic.rdma_device for nic in own or () if nic.rdma_device is not None]
        if own is None or below:
            known = f"{', '.join(map(str, below))} of {shape.name} may carry it"
            yield Problem(
                place,
                "nodes whose own network runs over an NVIDIA NIC lose it while the container replaces the drivers, and "
                f"may not get it back: {known if below else f'which NICs carry it on {shape.name} is not known'}",
            )


def _driver_container(case: Case) -> str | None:
    """Where the stack file asks for the container with NVIDIA's network drivers."""
    charts = charts_in_use(case)
    if case.spec.software.network_operator.ofed_driver and "network-operator" in charts:
        return _at("ofedDriver")
    return in_software("ofedDriver") if "ofed-driver" in charts else None


@check("NOP002")
def partitions_have_a_key(case: Case) -> Iterator[Problem]:
    """UFM is asked for partitions only where the networks carry a partition key."""
    if case.spec.software.network_operator.partition_keys is None or "network-operator" not in charts_in_use(case):
        return
    if case.choices.model != "ib-sriov":
        reason, remedy = f"the model {case.choices.model} has no partition keys", "leave it out"
    elif case.spec.fabric.pkey is None:
        reason, remedy = "fabric.pkey is not stated", "add fabric.pkey, or leave it out"
    else:
        return
    yield Problem(_at("partitionKeys"), f"it has no effect: {reason}", remedy)


@check_of("NOP003", lambda case: case.spec.software.network_operator.partition_keys)
def secret_of_ufm_exists(case: Case, keys: PartitionKeysSpec) -> Iterator[Problem]:
    """The user knows which secret must exist first."""
    if "network-operator" in charts_in_use(case):
        namespace = manager_of(case).namespace
        yield Problem(
            _at("partitionKeys", "ufmSecret"),
            f"the secret {keys.ufm_secret} must be in the namespace {namespace} when ib-kubernetes starts",
        )


@check_plan("NOP004")
def values_keep_what_the_model_needs(case: Case, plan: Plan) -> Iterator[Problem]:
    """With the stack file's own values the chart still installs what the model needs."""
    if (chart := plan.release("network-operator")) is None:
        return
    final = chart.values
    for keys, needed in _values_relied_on(case, plan):
        if field(final, *keys) != needed:
            yield Problem(
                _at("values", *keys),
                "without it the networks or the jobs' resources are not there"
                if isinstance(needed, bool)
                else "it is not what the rails and networks of this stack need",
                "leave it out; the section's switches and the rails decide it",
            )
    if manager_of(case).installs_sriov_operator:
        yield from _sriov_operator_problems(case, final)


@check_of("NOP005", chart_in_use("network-operator"))
def cni_plugins_are_in_one_folder(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """All CNI plug-ins are installed in the folder in which the runtime looks."""
    own, other = ("operator", "cniBinDirectory"), ("sriov-network-operator", "operator", "cniBinPath")
    folder, theirs = (chart.value(*keys) or USUAL_PLUGINS for keys in (own, other))
    if manager_of(case).installs_sriov_operator and folder != theirs:
        place, written = (other, theirs) if chart.written_value(*other) is not None else (own, folder)
        yield Problem(
            chart.place(*place),
            f"the Network Operator and the SR-IOV operator lay CNI plug-ins into two folders; this one is {written}",
            f"write the same for {'.'.join(own)} and {'.'.join(other)}",
        )
    elif (
        folder != case.cni_plugins_folder
        and manager_of(case).lacking_plugins
        and case.spec.software.cni_plugins == "install"
    ):
        yield Problem(
            chart.place(*own),
            f"this stack's own DaemonSet lays {' and '.join(manager_of(case).lacking_plugins)} into "
            f"{case.cni_plugins_folder}",
            f"write cluster.cniFolders.plugins: {folder} in the place of this value, for everything that the stack "
            "installs",
        )
    if case.cni_folders and case.cni_folders.networks != USUAL_NETWORKS and case.line.policy_by == "chart":
        yield Problem(
            dotted(("cluster", "cniFolders", "networks")),
            f"the Network Operator of release line {case.line.name} writes CNI configurations into "
            f"{USUAL_NETWORKS}, whatever is stated here",
            "leave it out, or write a newer software.releaseLine",
        )


@check_of("NOP006", chart_in_use("network-operator"))
def arrangements_are_whole(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """What one operator leaves to another is switched on at both."""
    requests, maintains = ("operator", "maintenanceOperator", "useRequestor"), ("maintenanceOperator", "enabled")
    drains = ("operator", "maintenanceOperator", "useDrainControllerRequestor")
    leaves = ("sriov-network-operator", "operator", "externalDrainer", "enabled")
    for asking, doing, why in (
        (requests, maintains, "nothing answers its requests for maintenance"),
        (drains, leaves, "the SR-IOV operator drains nodes itself"),
        (leaves, drains, "nothing drains nodes then"),
    ):
        if chart.value(*asking) is True and chart.value(*doing) is not True:
            yield Problem(chart.place(*asking), f"{'.'.join(doing)} is off: {why}")


def _values_relied_on(case: Case, plan: Plan) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Values that the plan itself sets and its model relies on."""
    switches = case.spec.software.network_operator.model_copy(update={"values": {}})
    alone = replace_sections(case, network_operator=switches)
    own = network_operator(alone, plan.sriov_plugin, plan.shared_plugin).values
    if manager_of(case).installs_sriov_operator:
        yield ("sriovNetworkOperator", "enabled"), True
    if case.line.policy_by == "stack":
        return
    yield ("deployCR",), True
    for section, values in own.items():
        if isinstance(values, dict) and values.get("deploy") is True:
            yield from (((section, key), values[key]) for key in _DECIDING if key in values)
    network = own.get("secondaryNetwork")
    for part, values in network.items() if isinstance(network, dict) else ():
        if isinstance(values, dict) and values.get("deploy") is True:
            yield ("secondaryNetwork", part, "deploy"), True


def _sriov_operator_problems(case: Case, values: dict[str, JsonValue]) -> Iterator[Problem]:
    section = "sriov-network-operator"
    if field(values, section, "sriovOperatorConfig", "deploy") is False:
        yield Problem(
            _at("values", section, "sriovOperatorConfig", "deploy"),
            "without a SriovOperatorConfig the SR-IOV operator's daemon never runs",
            "leave it out",
        )
    gate = ("sriovOperatorConfig", "featureGates", DRA_GATE)
    by_claims = manager_of(case).answers_by_claims
    if field(values, section, *gate) not in (None, by_claims):
        yield Problem(
            _at("values", section, *gate),
            "the gate decides whether a DRA driver or the device plug-in answers jobs, and fabric.devices is "
            f"{case.spec.fabric.devices}",
            f"leave it out, and write fabric.devices: {'plugin' if by_claims else 'claims'}",
        )
    prefix = field(values, section, "operator", "resourcePrefix")
    if prefix not in (None, RESOURCE_PREFIX):
        yield Problem(
            _at("values", section, "operator", "resourcePrefix"),
            f"jobs and networks ask for resources of {RESOURCE_PREFIX}",
            "leave it out",
        )


def _groups_with_policy_plug_ins(case: Case) -> tuple[NodeGroup, ...]:
    """The node groups on which the Network Operator's own policy runs device plug-ins, besides its SR-IOV operator."""
    choices = case.choices
    by_policy = manager_of(case).runs_policy_plugins
    return case.groups if by_policy and not choices.by_sriov_operator else ()


@check_each("NOP007", _groups_with_policy_plug_ins)
def plug_ins_run_where_the_nics_are(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """The operator's device plug-ins run on nodes with the stack's NICs."""
    vendor = group.shape.nic_model.vendor_id if group.shape.nic_model else None
    if vendor is not None and vendor != NVIDIA:
        yield Problem(
            in_fabric("manager"),
            f"the Network Operator runs its device plug-ins on nodes with NVIDIA's NICs ({NIC_LABEL}), and those "
            f"of {group.shape.name} are of vendor {vendor}",
        )


@check_each("NOP008", _groups_with_policy_plug_ins)
def plug_ins_meet_known_nics(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """The NICs are known to be of the vendor that the operator's device plug-ins run for."""
    if group.shape.nics and (group.shape.nic_model is None or group.shape.nic_model.vendor_id is None):
        yield Problem(
            in_fabric("manager"),
            f"the Network Operator runs its device plug-ins on nodes with NVIDIA's NICs only ({NIC_LABEL}), and "
            f"the vendor of the NICs of {group.shape.name} is not known",
            f'describe the server in cluster.shapes with nicModel.vendorId: "{NVIDIA}" if the NICs are NVIDIA\'s; '
            "otherwise write manager: spiderpool",
        )
