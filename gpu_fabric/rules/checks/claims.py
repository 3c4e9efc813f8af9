"""Checks of the group `claims`: NICs and GPUs that DRA drivers hand out can be claimed, and have one owner."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import ip_address, ip_interface
from typing import Any

import yaml
from pydantic import JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.catalog.dra_driver import DraDriver, DraParameter, DraParameters, unknown_keys, values_at
from gpu_fabric.catalog.version import Version
from gpu_fabric.k8s.base import compact_json
from gpu_fabric.k8s.dra import MOST_REQUESTS
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.claims import WHOLE, claims_spec, gpu_driver, nic_names, numa_share, root_share
from gpu_fabric.plan.domains import has_domains
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.dra_driver_nvidia_gpu import CHART as GPU_DRIVER
from gpu_fabric.plan.operators.dra_driver_nvidia_gpu import OPERATORS_ROOT
from gpu_fabric.plan.operators.dranet import CHART
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.kueue import CONFIGURATION, UNCOUNTED, claims_configuration, device_class_mappings
from gpu_fabric.rules.planned_nodes import node_groups
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, in_cluster, in_fabric, in_software
from gpu_fabric.spec.fabric import ClaimSize

_in_claims = partial(in_fabric, "claims")
_in_gpu_driver = partial(in_software, "gpuDraDriver")
_NVIDIA = "gpu.nvidia.com"
# The section of `software` that installs a driver of GPUs.
_SECTIONS = {_NVIDIA: "gpuDraDriver", "gpu.amd.com": "amdGpuOperator"}
# A label of the GPU Operator's MIG manager; `all-disabled` is whole GPUs.
_MIG_PROFILE = "nvidia.com/mig.config"
# The GPU driver that the DRA driver needs for GPUs and for domains (its documentation of 0.4).
_OLDEST_FOR_GPUS, _OLDEST_FOR_DOMAINS = "565", "570.158.01"
# Values of the GPU Operator's chart by which GPUs are handed out in another way, when they are, and why.
_OTHER_WAYS: tuple[tuple[tuple[str, ...], Callable[[JsonValue], bool], str], ...] = (
    (
        ("devicePlugin", "enabled"),
        lambda value: value is True,
        "the device plug-in would hand out the GPUs that pods claim; the plan switches it off",
    ),
    (("devicePlugin", "config"), bool, "time slicing and MPS are the device plug-in's, and GPUs are claimed"),
    (("devicePlugin", "mps"), bool, "MPS is the device plug-in's, and GPUs are claimed"),
)
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5,19}")
# Keys that DRANET knows and a plan does not write, with the reason.
_REFUSED = {
    "interface.addresses[]": "a template is one text for all pods, so every pod would have this address; leave it out: "
    "DRANET moves the addresses that the NIC has on the host",
    "interface.name": "all NICs of a pod would have this name; write interfaceNames: rails",
    "interface.dhcp": "an address from DHCP is in no plan and no proof; leave it out: DRANET moves that of the host",
    "profile": "chart v1.4.0 has no value for the provider of profiles; leave it out",
}


def _driver(case: Case) -> DraDriver | None:
    """The DRA driver of the fabric's NICs; None where they are not claimed."""
    name = manager_of(case).dra_driver
    return None if name is None else case.known.dra_drivers[name]


def _claimed(case: Case) -> Case | None:
    return None if _driver(case) is None else case


def _claiming(case: Case) -> Case | None:
    return case if _driver(case) is not None or has_domains(case) else None


def _groups(case: Case) -> Iterator[NodeGroup]:
    """The node groups of a stack whose pods claim one GPU with NICs."""
    if _driver(case) is not None and _with_gpu(case):
        yield from node_groups(case)


def _with_gpu(case: Case) -> list[ClaimSize]:
    """The sizes that are one GPU with NICs of its PCI root."""
    return [size for size in claims_spec(case).sizes if size in ("pci-root", "pair")]


@check("DRA001")
def claims_have_a_driver(case: Case) -> Iterator[Problem]:
    """Claims are configured only where a DRA driver hands out the NICs."""
    if case.spec.fabric.claims is not None and _driver(case) is None:
        yield Problem(_in_claims(), f"it has no effect with the manager {case.choices.manager}")


@check_of("DRA002", _claimed)
def parts_of_nodes_have_their_gpu(case: Case, _: Case) -> Iterator[Problem]:
    """A claim of a part of a node has the GPU in it."""
    parts = _with_gpu(case)
    if parts and claims_spec(case).gpus == "plugin":
        yield Problem(_in_claims("sizes"), f"{' and '.join(parts)} have a GPU, which comes from the device plug-in")


@check_each("DRA003", _groups)
def gpus_and_nics_share_a_root(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """Every GPU has NICs below its PCI root, and as many as any other."""
    share = root_share(case, group.shape)
    others = {root_share(case, other.shape).nics for other in case.groups}
    if share.reason or ("pci-root" in claims_spec(case).sizes and len(others) > 1):
        yield Problem(
            _in_claims("sizes"),
            share.reason or "node groups have different numbers of NICs below a PCI root",
            "write sizes: [node], or numa-node for NICs alone; GPUs and NICs of a board without a common root can be "
            "aligned once both drivers publish resource.kubernetes.io/numaNode, which DRANET v1.4.0 does not",
        )


@check_of("DRA004", _claimed)
def claims_fit_the_api(case: Case, _: Case) -> Iterator[Problem]:
    """No claim has more devices than Kubernetes allocates."""
    spec = claims_spec(case)
    devices = case.shape.rails + (case.shape.gpus.count if spec.gpus == "claims" else 0)
    if WHOLE & set(spec.sizes) and devices > MOST_REQUESTS:
        yield Problem(
            _in_claims("sizes"),
            f"a node of {case.shape.name} has {devices} devices to claim, and a claim gets {MOST_REQUESTS} at most",
            "write gpus: plugin, or leave the size node out",
        )


@check_of("DRA005", _claimed)
def runtimes_have_nri(case: Case, _: Case) -> Iterator[Problem]:
    """It is stated that the nodes' container runtime has NRI on."""
    if not claims_spec(case).nri:
        yield Problem(_in_claims("nri"))


@check_of("DRA006", _driver)
def drivers_take_the_configuration(case: Case, driver: DraDriver) -> Iterator[Problem]:
    """The configuration of claims has keys and values that the driver's version takes."""
    stated, parameters = claims_spec(case).parameters, driver.parameters
    assert parameters is not None, "the catalog has DRANET's"
    version = _version(case, driver)
    for key in dict.fromkeys(unknown_keys(parameters, version, stated)):
        since = parameters.keys[key].since if key in parameters.keys else None
        known = f"it began with {since}; " if since else ""
        yield Problem(
            _in_claims("parameters", *_steps(key)),
            f"{driver.title} {version} does not know {key}",
            f"{known}known are {', '.join(sorted({name.partition('.')[0] for name in parameters.known_in(version)}))}",
        )
    for key in parameters.known_in(version):
        for value in values_at(stated, key):
            if (wrong := _REFUSED.get(key) or _wrong_value(parameters.keys[key], value)) is not None:
                yield Problem(_in_claims("parameters", *_steps(key)), f"{key} is {value!r}: {wrong.partition('; ')[0]}",
                              wrong.partition("; ")[2] or "correct it, or leave it out")  # fmt: skip
    yield from _wholes(case, stated, parameters)


def _wholes(case: Case, stated: dict[str, JsonValue], parameters: DraParameters) -> Iterator[Problem]:
    """What is wrong with the configuration as a whole: keys that exclude or need each other."""
    found: dict[str, Any] = stated
    if case.choices.link_type == "infiniband":
        for key in stated:
            if key in parameters.not_without_interface:
                message = f"{key} is for NICs with an interface, and pods get InfiniBand NICs as RDMA devices alone"
                yield Problem(_in_claims("parameters", key), message, "leave it out")
    interface = found.get("interface")
    vrf = interface.get("vrf") if isinstance(interface, dict) else None
    if vrf is not None and found.get("rules"):
        yield Problem(_in_claims("parameters", "rules"), "DRANET takes no rules together with a VRF", "leave one out")
    if isinstance(vrf, dict) and not vrf.get("name"):
        yield Problem(_in_claims("parameters", "interface", "vrf"), "a VRF has no name", "add name")
    for place, route in enumerate(found.get("routes") or ()):
        if not isinstance(route, dict):
            continue
        where = _in_claims("parameters", "routes", place)
        if not route.get("destination"):
            yield Problem(where, "a route has no destination", "add destination, a network such as 10.0.0.0/8")
        if route.get("scope", 0) not in (0, 253):
            yield Problem(where, f"scope {route['scope']} is neither 0 nor 253", "write 253 (on the link), or none")
        elif route.get("scope", 0) == 0 and not route.get("gateway"):
            yield Problem(where, "a route without gateway", "add gateway, or scope: 253 for a route on the link")
        if len({_family(route.get(key)) for key in ("destination", "gateway", "source")} - {None}) > 1:
            yield Problem(where, "a route has addresses of both families", "write those of one")


def _family(text: object) -> int | None:
    try:
        return ip_interface(text).version if isinstance(text, str) else None
    except ValueError:
        return None


_TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "int": int, "bool": bool, "map": dict}


def _wrong_value(known: DraParameter, value: object) -> str | None:
    """Why a driver does not take a value; None if it does. What is a rule in words alone is not judged."""
    right = isinstance(value, _TYPES[known.type]) and (known.type == "bool" or not isinstance(value, bool))
    if not right:
        return f"it must be of type {known.type}"
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = known.minimum, known.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            return f"allowed is {low if low is not None else 'any'} to {high if high is not None else 'any'}"
    if isinstance(value, str) and known.pattern is not None and not re.fullmatch(known.pattern, value):
        return f"it must match {known.pattern}"
    if isinstance(value, str) and known.form is not None and not _has_form(known.form, value):
        return f"it is not a valid {known.form}"
    return None


def _has_form(form: str, text: str) -> bool:
    try:
        if form == "cidr":
            return "/" in text and ip_interface(text) is not None
        if form == "ip":
            return ip_address(text) is not None
    except ValueError:
        return False
    return form != "mac" or _MAC.fullmatch(text) is not None


def _steps(key: str) -> tuple[str, ...]:
    return tuple(key.replace("[]", "").split("."))


def _version(case: Case, driver: DraDriver) -> str:
    """The version of the driver that the stack installs: the tag of its image, else the chart's."""
    stated = field(CHART.written(case.spec), "image", "tag")
    return stated if isinstance(stated, str) and _is_version(stated) else driver.pin or driver.read[-1]


def _is_version(text: str) -> bool:
    try:
        Version.parse(text)
    except ValueError:
        return False
    return True


@check_of("DRA007", _claimed)
def nothing_needs_a_network(case: Case, _: Case) -> Iterator[Problem]:
    """The stack asks for nothing that pods get by networks and device plug-ins alone."""
    fabric = case.spec.fabric
    for key, stated, why in (
        ("check", fabric.check, "its pods would claim every NIC, and jobs would wait for ever"),
        (
            "readiness",
            None if fabric.readiness is not None and fabric.readiness.closes == "rail" else fabric.readiness,
            "it looks for NICs on the host that a claim has moved into a pod; with closes: rail it does not",
        ),
        ("dpdk", fabric.dpdk, "DRANET publishes no NIC that is bound to a driver for user space"),
        ("pkey", fabric.pkey, "DRANET hands out physical NICs, whose partition is set on the host"),
        ("defaultNetwork", fabric.default_network, "it is an annotation for Multus, which the fabric does not use"),
    ):
        if stated is not None:
            yield Problem(in_fabric(key), f"claims do not offer it: {why}", "leave it out, or choose another manager")
    if fabric.readiness is not None and fabric.readiness.pair is not None:
        message = "claims do not offer it: its pods would ask for resources that no device plug-in offers"
        yield Problem(in_fabric("readiness", "pair"), message, "leave it out, or choose another manager")
    if case.purpose == "storage" or case.storage:
        yield Problem(
            in_fabric("manager"),
            "claims do not offer storage fabrics besides a compute fabric: the contracts of both would claim NICs",
            "choose another manager",
        )
    for place, entry in enumerate(fabric.namespaces):
        if entry.share is not None and case.spec.software.schedulers.volcano is not None:
            yield Problem(
                in_fabric("namespaces", place, "share"),
                "claims do not offer it with Volcano: its queues count what pods request, and not what they claim",
                "leave it out, or let Kueue schedule the jobs in the place of Volcano",
            )


@check_of("DRA008", _claimed)
def parts_of_nodes_are_isolated(case: Case, _: Case) -> Iterator[Problem]:
    """Pods that have a part of a node see no RDMA device of another."""
    if case.choices.rdma_mode == "shared" and set(claims_spec(case).sizes) - WHOLE:
        yield Problem(in_fabric("rdmaMode"), "a pod with a part of a node would see the RDMA devices of all its NICs")


@check_of("DRA009", _claimed)
def gpus_have_one_way(case: Case, _: Case) -> Iterator[Problem]:
    """GPUs that are claimed are not handed out, shared or parted in another way as well."""
    if not manager_of(case).claims_gpus:
        return
    if GPU_OPERATOR.is_installed(case):
        values = GPU_OPERATOR.written(case.spec)
        for path, is_used, why in _OTHER_WAYS:
            if is_used(field(values, *path)):
                yield Problem(in_software("gpuOperator", "values", *path), why, "leave it out")
    if case.spec.software.gpu_operator.mig is not None:
        yield Problem(
            in_software("gpuOperator", "mig"),
            "partitions are the device plug-in's, and GPUs are claimed",
            "leave it out",
        )
    if getattr(case.spec.cluster, "gpu_plugin", None) == "managed":
        yield Problem(
            in_cluster("gpuPlugin"), "Oracle's device plug-in hands out the GPUs as well", "write gpuPlugin: operator"
        )
    for place, pool in enumerate(case.spec.cluster.pools):
        if pool.labels.get(_MIG_PROFILE, "all-disabled") != "all-disabled":
            yield Problem(
                in_cluster("pools", place, "labels", _MIG_PROFILE),
                "the class of the claims has whole GPUs, and GPUs in partitions are not of it",
                "leave it out",
            )


@check_of("DRA010", _driver)
def drivers_are_new_enough(case: Case, driver: DraDriver) -> Iterator[Problem]:
    """The version of DRANET returns RDMA devices."""
    version, floor = _version(case, driver), driver.floor
    if floor is not None and not Version.parse(version).has_reached(Version.parse(floor.version)):
        yield Problem(
            in_software("dranet", "values", "image", "tag"),
            f"{version} is older than {floor.version}",
            f"write {driver.pin}, or leave it out",
        )


@check_of("DRA011", _claimed)
def rails_can_name_interfaces(case: Case, _: Case) -> Iterator[Problem]:
    """Interfaces get the rails' names only where each rail's NIC is the same on all nodes, and has an interface."""
    if claims_spec(case).interface_names != "rails":
        return
    if case.choices.link_type == "infiniband":
        yield Problem(_in_claims("interfaceNames"), "InfiniBand NICs come without an interface", "write host")
    key = "pci" if nic_names(case).attribute == "pciAddress" else "interface"
    if len({tuple(getattr(nic, key) for nic in group.shape.nics) for group in case.groups}) > 1:
        yield Problem(
            _in_claims("interfaceNames"),
            "node groups have their NICs at other places, and one claim is for all of them",
            "write host",
        )


@check_of("DRA012", _claimed)
def gpu_drivers_are_there(case: Case, _: Case) -> Iterator[Problem]:
    """The user knows that the GPUs' DRA driver must be on the cluster, unless the stack says which one is."""
    known = case.known.dra_drivers[gpu_driver(case)]
    key = _SECTIONS[known.name]
    if not manager_of(case).claims_gpus or case.spec.software.section(key) is not None:
        return
    own = f", or write software.{key}: {{}}"
    yield Problem(
        _in_claims("gpus"),
        f"pods claim GPUs of the class {known.name}, which the cluster must have: {known.title}",
        f"install it before jobs run{own} (docs/claims.md)",
    )


@check_of("DRA013", _claiming)
def queues_know_the_devices(case: Case, _: Case) -> Iterator[Problem]:
    """Kueue knows the classes of what jobs claim, and counts it by quotas alone; of channels alone it knows nothing."""
    kueue = case.spec.software.schedulers.kueue
    if kueue is None:
        return
    mappings = device_class_mappings(case)
    if mappings:
        text = f"resources.deviceClassMappings: {compact_json(mappings)}"
    else:
        text = f"featureGates: {compact_json(UNCOUNTED)}"
    written = field(kueue.values, *CONFIGURATION)
    if not kueue.install:
        yield Problem(
            in_software("schedulers", "kueue", "install"),
            "jobs claim devices of classes that the configuration of the cluster's Kueue must have, and the stack does "
            "not change it",
            f"leave it out, or leave kueue out and write a queue of your own, with {text} in Kueue's configuration",
        )
    elif written is not None and not _knows(written, claims_configuration(case)):
        yield Problem(
            in_software("schedulers", "kueue", "values", *CONFIGURATION),
            "this text replaces the plan's, which has the classes that jobs claim",
            f"add {text}",
        )
    elif not mappings and field(kueue.values, "controllerManager", "featureGates"):
        yield Problem(
            in_software("schedulers", "kueue", "values", "controllerManager", "featureGates"),
            "Kueue takes gates from its arguments or from its configuration, which has the plan's",
            f"write them into {'.'.join(CONFIGURATION)}, with {text}",
        )
    if not mappings:
        return
    if kueue.topology is not None and kueue.topology != "none":
        yield Problem(
            in_software("schedulers", "kueue", "topology"),
            "with a topology Kueue looks for claimed devices in what nodes offer, where they are not",
            "leave it out",
        )


def _knows(text: JsonValue, needed: dict[str, JsonValue]) -> bool:
    """Whether a configuration of Kueue has what the plan's has about claims."""
    try:
        found = yaml.safe_load(text) if isinstance(text, str) else None
    except yaml.YAMLError:
        return False
    gates, mappings = needed.get("featureGates"), field(needed, "resources", "deviceClassMappings")
    if isinstance(gates, dict):
        stated = field(found, "featureGates")
        return isinstance(stated, dict) and all(stated.get(name) == value for name, value in gates.items())
    known = field(found, "resources", "deviceClassMappings")
    return isinstance(known, list) and isinstance(mappings, list) and all(mapping in known for mapping in mappings)


@check_of("DRA014", _claiming)
def volcano_is_untried(case: Case, _: Case) -> Iterator[Problem]:
    """The user knows that Volcano has not been tried with claims."""
    if case.spec.software.schedulers.volcano is not None:
        yield Problem(
            in_software("schedulers", "volcano"),
            "whether Volcano's scheduler allocates the claims of its jobs is not known",
            "try one job, or run jobs by Kubernetes' own scheduler",
        )


@check("DRA015")
def gpu_drivers_have_claims(case: Case) -> Iterator[Problem]:
    """NVIDIA's DRA driver is configured only where pods claim NVIDIA's GPUs, or a channel."""
    if case.spec.software.gpu_dra_driver is None or any(map(has_domains, case.fabrics)):
        return
    if not manager_of(case).claims_gpus:
        yield Problem(
            _in_gpu_driver(),
            "no pod claims GPUs, which the device plug-in hands out, or a channel of NVLink between nodes",
            "write fabric.domains: {} for racks, or manager: dranet and claims.gpus: claims, or leave it out",
        )
    elif gpu_driver(case) != _NVIDIA:
        vendor = case.shape.gpus.vendor
        yield Problem(_in_gpu_driver(), f"the GPUs are of {vendor}, and the driver is NVIDIA's", "leave it out")


@check_of("DRA016", lambda case: GPU_DRIVER.written(case.spec) if GPU_DRIVER.is_installed(case) else None)
def gpu_drivers_start(case: Case, values: dict[str, JsonValue]) -> Iterator[Problem]:
    """The values of the driver's chart let it start, and find the GPUs."""
    for path, needed in _needed_values(case):
        if field(values, *path) is not None and field(values, *path) != needed:
            yield Problem(_in_gpu_driver("values", *path), f"the plan needs {compact_json(needed)}", "leave it out")
    root = field(values, "nvidiaDriverRoot")
    operator = case.spec.software.gpu_operator
    if operator.driver and root not in (None, OPERATORS_ROOT):
        yield Problem(
            _in_gpu_driver("values", "nvidiaDriverRoot"),
            f"the GPU Operator installs the GPU driver at {OPERATORS_ROOT}",
            "leave it out: the plan writes it",
        )
    yield from _gates(case, field(values, "featureGates"))
    version = field(operator.values, "driver", "version")
    oldest = _OLDEST_FOR_DOMAINS if any(map(has_domains, case.fabrics)) else _OLDEST_FOR_GPUS
    stated = re.match(r"[0-9]+([.][0-9]+)*", version) if isinstance(version, str) else None
    if operator.driver and stated is not None and not Version.parse(stated[0]).has_reached(Version.parse(oldest)):
        yield Problem(
            in_software("gpuOperator", "values", "driver", "version"),
            f"the DRA driver needs GPU driver {oldest} or newer, and this is {version}",
            "write a newer one, or leave it out",
        )


def _needed_values(case: Case) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Values of the driver's chart without which it does not serve the stack, or is not where the plan looks for it."""
    for_gpus = manager_of(case).claims_gpus
    yield ("gpuResourcesEnabledOverride",), for_gpus
    yield ("resources", "gpus", "enabled"), for_gpus
    yield ("namespaceOverride",), ""
    if any(map(has_domains, case.fabrics)):
        yield ("resources", "computeDomains", "enabled"), True
        # Without it pods wait for as many daemons as a domain's numNodes says, which is 0.
        yield ("featureGates", "IMEXDaemonsWithDNSNames"), True


def _gates(case: Case, written: JsonValue) -> Iterator[Problem]:
    """Feature gates that are not known, or do not go together: the driver ends when it starts."""
    driver = case.known.dra_drivers[_NVIDIA]
    if not isinstance(written, dict):
        return
    is_on = {name: written.get(name, gate.default) is True for name, gate in driver.gates.items()}
    for name in written:
        place = _in_gpu_driver("values", "featureGates", name)
        if name not in driver.gates:
            known = ", ".join(sorted(driver.gates))
            yield Problem(place, f"{driver.title} {driver.pin} does not know {name}", f"known are {known}")
    for name, gate in driver.gates.items():
        if not is_on[name]:
            continue
        for other in gate.excludes:
            if is_on[other]:
                place = _in_gpu_driver("values", "featureGates", other)
                yield Problem(place, f"{name} and {other} exclude each other", "leave one out")
        for other in gate.needs:
            if not is_on[other]:
                stated = name if name in written else other
                place = _in_gpu_driver("values", "featureGates", stated)
                yield Problem(place, f"{name} needs {other}", f"switch {other} on, or {name} off")


@check_of("DRA023", _claimed)
def addresses_are_those_of_the_hosts(case: Case, _: Case) -> Iterator[Problem]:
    """Planned addresses are set on the hosts by the stack, on NICs that pods get with their interfaces."""
    if case.choices.layout == "none":
        return
    place = in_fabric("addressing", "layout")
    if case.choices.link_type == "infiniband":
        yield Problem(place, "pods get InfiniBand NICs as RDMA devices alone, without addresses", "write layout: none")
    elif case.shape.provider == "oci":
        yield Problem(place, "Oracle's agents give these NICs the addresses that they have", "write layout: none")
    elif not case.spec.fabric.host_preparation.addresses:
        yield Problem(
            in_fabric("hostPreparation", "addresses"),
            "pods get the addresses that NICs have on the hosts, and nothing sets those of the plan there",
            "write true, or layout: none where another tool gives the NICs their addresses",
        )
    elif lacking := [group.shape.name for group in case.groups for nic in group.shape.nics if nic.pci is None]:
        yield Problem(
            in_fabric("rails"),
            f"{lacking[0]} does not state the PCI address of each NIC, by which the hosts know that a pod has it",
            "write fabric.rails with pci for each",
        )


@check_of("DRA024", _claimed)
def returned_nics_are_bare(case: Case, _: Case) -> Iterator[Problem]:
    """The user knows that a NIC has no address for some seconds after a pod."""
    if case.spec.fabric.host_preparation.addresses and case.choices.layout != "none":
        yield Problem(in_fabric("hostPreparation", "addresses"))


def _numa_groups(case: Case) -> Iterator[NodeGroup]:
    """The node groups of a stack whose pods claim the NICs of a NUMA node."""
    if _driver(case) is not None and "numa-node" in claims_spec(case).sizes:
        yield from node_groups(case)


@check_each("DRA021", _numa_groups)
def numa_nodes_are_alike(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """Every NUMA node has NICs, and as many as any other; pods get their GPUs in addition to the claim."""
    share = numa_share(case, group.shape)
    others = {numa_share(case, other.shape).nics for other in case.groups}
    if share.reason or len(others) > 1:
        message = share.reason or "NUMA nodes of the node groups have different numbers of NICs"
        remedy = "leave numa-node out; a shape of your own states the NUMA node of each NIC by numaNode"
        yield Problem(_in_claims("sizes"), message, remedy)
    if claims_spec(case).gpus == "claims":
        message = "a claim of the size numa-node has no GPUs, and the device plug-in is off, so such pods have none"
        yield Problem(_in_claims("sizes"), message, "leave numa-node out, or write gpus: plugin")


@check_of("DRA022", _claimed)
def gpus_of_numa_nodes_are_chosen_apart(case: Case, _: Case) -> Iterator[Problem]:
    """The user knows that nothing aligns GPUs with the NICs of a NUMA node."""
    if "numa-node" in claims_spec(case).sizes and claims_spec(case).gpus == "plugin":
        yield Problem(_in_claims("sizes"))
