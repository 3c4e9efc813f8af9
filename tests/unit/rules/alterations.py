"""Finished plans in which one thing is wrong, as only a fault of this program can bring about."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from planned_steps import with_items
from pydantic import BaseModel

from gpu_fabric.k8s.apps import DaemonSet
from gpu_fabric.k8s.device_plugin import DeviceSelectors
from gpu_fabric.k8s.mellanox import RdmaSharedDevicePlugin
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.spiderpool import SpiderPools
from gpu_fabric.plan import Plan

Alteration = Callable[[Plan], Plan]

GONE = object()
_PART = re.compile(r"\[([^\]]+)\]|([^.\[\]:]+)|(:)")


def altered(*changes: tuple[str, Any]) -> Alteration:
    """A plan with something else at some places, in turn.

    A place is `field.field[entry][a.key]`, `[*]` every entry, and what is behind a colon is in a text of JSON. It
    begins with a field of the plan, or with `@` and the name of a step. What is written there is a value, `GONE`, or
    what a function returns for what was there and the plan.
    """

    def alter(plan: Plan) -> Plan:
        for place, to in changes:
            first, *parts = ["".join(found) for found in _PART.findall(place)]
            if not first.startswith("@"):
                plan = _set(plan, [first, *parts], to, plan)
                continue
            step = plan.step(first[1:])
            assert step is not None, place
            plan = with_items(plan, step.name, _set(step.items, parts, to, plan))
        return plan

    return alter


def _set(here: Any, parts: list[str], to: Any, plan: Plan) -> Any:
    if not parts:
        return to(here, plan) if callable(to) else to
    part, rest = parts[0], parts[1:]
    if part == ":":
        return json.dumps(_set(json.loads(here), rest, to, plan))
    if isinstance(here, BaseModel):
        return here.model_copy(update={part: _set(getattr(here, part), rest, to, plan)})
    if isinstance(here, Mapping):
        changed = {**here, part: _set(here.get(part), rest, to, plan)}
        return {key: value for key, value in changed.items() if value is not GONE}
    entries = [*here]
    for place in range(len(entries)) if part == "*" else (int(part),):
        entries[place] = _set(entries[place], rest, to, plan)
    return type(here)(entry for entry in entries if entry is not GONE)


_LARGE = "x" * (2 << 20)
_NETWORK = "@networks[0].object.spec.config:"
_CONTAINER = "workload.pod_template_patch.spec.containers[0]"


def _with_mtu(mtu: int) -> Any:
    return lambda plugins, _: [{**plugin, "mtu": mtu} if "mtu" in plugin else plugin for plugin in plugins]


def _swapped(field: str) -> Any:
    """Two rails, the first and another, with each other's field."""

    def swap(rails: Any, _: Plan) -> Any:
        first, *others, last = rails
        values = (getattr(last, field), getattr(first, field))
        one, other = (rail.model_copy(update={field: value}) for rail, value in zip((first, last), values, strict=True))
        return (one, *others, other)

    return swap


def _intolerant(items: Any, _: Plan) -> Any:
    return tuple(
        _set(item, ["object", "spec", "template", "spec", "tolerations"], None, _)
        if isinstance(getattr(item, "object", None), DaemonSet)
        else item
        for item in items
    )


# Networks, pools and files.
with_one_network_that_keeps_the_device_on_the_host = altered(
    (f"{_NETWORK}plugins", lambda plugins, _: [plugin for plugin in plugins if plugin["type"] != "rdma"])
)
without_the_last_network = altered(("@networks[-1]", GONE))
with_the_first_network_under_another_name = altered(("@networks[0].object.metadata.name", "stranger"))
with_one_object_twice = altered(("@networks", lambda networks, _: (*networks, networks[0])))
with_rail_0_of_the_resource_of_rail_1 = altered(
    (
        "@networks[0].object.metadata.annotations",
        lambda _, plan: plan.applied("networks")[1].object.metadata.annotations or {},
    )
)
with_rail_0_in_the_pool_of_rail_1 = altered((f"{_NETWORK}plugins[0].ipam.poolName", lambda _, plan: plan.rails[1].pool))
with_rail_0_of_the_operator_in_the_pool_of_rail_1 = altered(
    ("@networks[0].object.spec.ipam:poolName", lambda _, plan: plan.rails[1].pool)
)
with_rail_0_on_the_device_of_rail_1 = altered((f"{_NETWORK}device", lambda _, plan: plan.rails[1].resource))
with_rail_0_on_the_interface_of_rail_1 = altered(
    (f"{_NETWORK}plugins[0].master", lambda _, plan: plan.rails[1].interface)
)
with_rail_0_of_the_operator_keeping_its_device_on_the_host = altered(("@networks[0].object.spec.meta_plugins", None))
with_two_networks_injected_by_another_word = altered(
    *((f"@networks[{n}].object.metadata.annotations", {RDMA_RESOURCE_INJECT_ANNOTATION: "other"}) for n in (-2, -1))
)
with_pools_of_rail_0_as_ipv6 = altered(
    ("@networks[0].object.spec.macvlan.ippools", lambda pools, _: SpiderPools(ipv6=pools.ipv4))
)
without_ipam_of_rail_0 = altered((f"{_NETWORK}plugins[0].ipam", GONE))
with_another_range_of_rail_0 = altered((f"{_NETWORK}plugins[0].ipam.range", "203.0.113.0/24"))
with_addresses_on_rail_0 = altered((f"{_NETWORK}ipam", {"type": "host-local"}))
without_the_pool_of_rail_0 = altered(("@ip-pools[0]", GONE))
with_the_pool_of_rail_0_in_namespace_default = altered(("@ip-pools[0].object.metadata.namespace", "default"))
with_the_last_pool_in_the_subnet_of_the_first = altered(
    ("@ip-pools[-1].object.spec.subnet", "172.16.0.0/25"), ("@ip-pools[-1].object.spec.ips", ("172.16.0.9",))
)
with_two_pools_of_one_address = altered(
    ("@ip-pools[-1].object.spec.ips", lambda _, plan: plan.applied("ip-pools")[0].object.spec.ips)  # type: ignore[attr-defined]
)
without_the_pools_of_all_nodes_on_rail_0 = altered(("@node-pools[0]", GONE))
without_nccl_files = altered(("@nccl", ()))
without_cni_plugins = altered(("@cni-plugins", ()))
without_node_policies = altered(("@sriov-policies", ()))
with_an_object_of_300_kibibytes_of_annotations = altered(
    ("@networks[0].object.metadata.annotations", {"note": "x" * (300 << 10)})
)
with_a_file_of_two_mebibytes = altered(("@nccl[0].object.data", lambda data, _: dict.fromkeys(data, _LARGE)))
with_tables_of_two_mebibytes = altered(
    ("@node-pools[0].objects[-1].object.data", lambda data, _: dict.fromkeys(data, _LARGE))
)


def with_plug_in(plugin: str) -> Alteration:
    return altered((f"{_NETWORK}type", plugin))


def with_one_network_of_mtu(mtu: int) -> Alteration:
    return altered((f"{_NETWORK}plugins", _with_mtu(mtu)))


def with_every_network_and_the_contract_of_mtu(mtu: int) -> Alteration:
    return altered(("@networks[*].object.spec.config:plugins", _with_mtu(mtu)), ("workload.networks[*].mtu", mtu))


def with_one_spiderpool_network_of_mtu(mtu: int) -> Alteration:
    return altered(("@networks[0].object.spec.macvlan.mtu", mtu))


# Rails, device plug-ins and the operators' policies.
without_a_device_plugin = altered(("sriov_plugin", None), ("shared_plugin", None))
with_rail_1_selecting_rail_0s_nic_too = altered(
    (
        "sriov_plugin.resource_list[1].selectors",
        lambda _, plan: tuple(
            selectors for rail in (1, 0) for selectors in plan.sriov_plugin.resource_list[rail].alternatives
        ),
    )
)
with_the_nics_of_two_rails_swapped = altered(("rails", _swapped("pci")))
with_the_nearest_gpus_of_two_rails_swapped = altered(("rails", _swapped("nearest_gpu")))
with_rail_0_of_no_pool = altered(("rails[0].pool", None))
without_the_last_rail = altered(("rails[-1]", GONE))
with_rail_0_shared_by_the_interface_of_rail_1 = altered(
    ("shared_plugin.config_list[0].selectors", lambda _, plan: plan.shared_plugin.config_list[1].selectors)
)
with_a_device_plugin_configuration_of_two_mebibytes = altered(
    ("@nic-policies[0].object.spec.sriov_device_plugin.config", _LARGE)
)
without_nv_ipam = altered(("@nic-policies[0].object.spec.nv_ipam", None))
without_tolerations_of_operands = altered(("@nic-policies[0].object.spec.tolerations", None))
with_the_shared_plugin_in_a_node_policy = altered(
    (
        "@nic-node-policies[0].object.spec.rdma_shared_device_plugin",
        RdmaSharedDevicePlugin(image="k8s-rdma-shared-dev-plugin", repository="mirror.example.com", version="1"),
    )
)
with_a_node_policy_of_two_mebibytes = altered(("@nic-node-policies[0].object.spec.sriov_device_plugin.config", _LARGE))
without_tolerations_of_a_node_policy = altered(("@nic-node-policies[0].object.spec.tolerations", None))
without_tolerations_of_cni_plugins = altered(("@cni-plugins", _intolerant))
without_tolerations_of_virtual_functions = altered(("@virtual-functions", _intolerant))
without_tolerations_of_host_preparation = altered(("@host-preparation", _intolerant), ("@check", _intolerant))
with_two_node_policies_for_one_nic = altered(
    (
        "@sriov-policies",
        lambda policies, _: (
            policies[0],
            _set(policies[1], ["object", "spec", "nic_selector"], policies[0].object.spec.nic_selector, _),
            *policies[2:],
        ),
    )
)
with_a_node_policy_in_namespace_default = altered(("@sriov-policies[-1].object.metadata.namespace", "default"))


def in_rdma_mode(mode: str) -> Alteration:
    return altered(("choices.rdma_mode", mode))


def with_selectors_of_rail_0(**selectors: Any) -> Alteration:
    return altered(("sriov_plugin.resource_list[0].selectors", DeviceSelectors(**selectors)))


# The contract.
requesting_two_devices_of_rail_0 = altered(
    ("workload.resources", lambda resources, plan: {**resources, plan.rails[0].resource_name or "": "2"})
)
without_namespaces_in_the_contract = altered(("workload.namespaces", ()))
without_tolerations_of_jobs = altered(("workload.tolerations", ()))
without_capabilities = altered(("workload.capabilities", ()))
on_the_hosts_network = altered(("workload.host_network", True))
with_an_annotation_of_networks = altered(("workload.annotations", {NETWORKS_ANNOTATION: "rail-00"}))
with_an_annotation_of_300_kibibytes = altered(("workload.annotations", {NETWORKS_ANNOTATION: "x" * (300 << 10)}))
with_two_networks_swapped_in_the_annotation = altered(
    (f"workload.annotations[{NETWORKS_ANNOTATION}]:", lambda networks, _: [networks[1], networks[0], *networks[2:]])
)
with_another_annotation_in_the_patch = altered(
    (f"workload.pod_template_patch.metadata.annotations[{NETWORKS_ANNOTATION}]", "[]")
)
attached_to_nothing = altered(
    ("workload.networks", ()), ("workload.annotations", {}), ("workload.pod_template_patch.metadata.annotations", GONE)
)
with_other_limits_than_requests = altered((f"{_CONTAINER}.resources.limits", {"nvidia.com/gpu": "8"}))
with_other_requests_than_limits = altered((f"{_CONTAINER}.resources.requests", {"nvidia.com/gpu": "8"}))
without_capabilities_in_the_patch = altered((f"{_CONTAINER}.securityContext", GONE))
with_a_patch_for_a_network_namespace_of_its_own = altered(("workload.pod_template_patch.spec.hostNetwork", False))
with_networks_of_another_namespace = altered(
    ("workload.networks_from_elsewhere", lambda networks, _: {"jobs": next(iter(networks.values()))})
)
with_shared_memory_on_disk = altered(("workload.pod_template_patch.spec.volumes[0].emptyDir.medium", GONE))
without_shared_memory = altered((f"{_CONTAINER}.volumeMounts[0]", GONE))
with_every_device_after_two_equals_signs = altered(
    ("workload.environment.NCCL_IB_HCA", lambda _, plan: "==" + ",".join(rail.rdma_device or "" for rail in plan.rails))
)


def with_environment(name: str, value: str) -> Alteration:
    return altered((f"workload.environment.{name}", value))


def with_rail_0_attached(**facts: Any) -> Alteration:
    """The contract says something else about its first network."""
    return altered(*((f"workload.networks[0].{name}", fact) for name, fact in facts.items()))


# NCCL's topology file.
with_the_file_in_no_namespace = altered(
    ("@nccl", lambda files, _: tuple(file for file in files if "topology" not in file.name))
)
# The ConfigMap keeps its name where its content changes, so that pods would not roll.
with_the_file_under_another_name = altered(
    (
        "nccl.files",
        lambda files, _: tuple(
            file.model_copy(update={"content": f"{file.content}<!-- new -->\n"}) if file.variable else file
            for file in files
        ),
    )
)
with_another_path_in_the_variable = altered(
    (
        f"{_CONTAINER}.env",
        lambda entries, _: [
            {**entry, "value": "/etc/nccl/topology.xml"} if entry["name"] == "NCCL_TOPO_FILE" else entry
            for entry in entries
        ],
    )
)
without_the_mount_of_the_file = altered(
    (f"{_CONTAINER}.volumeMounts", lambda mounts, _: [mount for mount in mounts if mount.get("subPath") != "topo.xml"])
)


def with_setting(name: str, value: str) -> Alteration:
    """The settings have one more."""
    return altered((f"nccl.environment.{name}", value))
