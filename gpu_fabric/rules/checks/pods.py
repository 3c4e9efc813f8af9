"""Checks of the group `pods`: what a job's pod carries is complete, and agrees with the networks and the nodes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.nccl.name_list import NameList
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.nccl_settings import plane_devices, storage_devices
from gpu_fabric.rules.registry import Problem, check, check_plan, in_cluster, in_fabric

# Either of them attaches a pod to networks.
_ATTACHING = (NETWORKS_ANNOTATION, RDMA_RESOURCE_INJECT_ANNOTATION)
# `nccl-topology-` and the name may have 63 characters together, as the name of a volume.
_SHAPE_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,47}[A-Za-z0-9])?")
_LONGEST_INTERFACE = 15
_OURS = "leave the rails' names out; if that does not help, this program is wrong"
_RAILS = in_fabric("rails")
_MODEL = in_fabric("model")


@check("POD001")
def shapes_can_be_parts_of_names(case: Case) -> Iterator[Problem]:
    """Every shape of the stack file has a name that can be part of an object's name."""
    for name in case.spec.cluster.shapes:
        if not _SHAPE_NAME.fullmatch(name):
            yield Problem(in_cluster("shapes", name), f"{name!r} cannot be part of an object's name")


@check_plan("POD002")
def networks_come_with_a_device(case: Case, plan: Plan) -> Iterator[Problem]:
    """A job requests one device of its rail for every network that it attaches to, and all GPUs but for storage.

    By a cloud's own plug-in it requests all NICs of the machine, or the one device that stands for all of them.
    """
    contract = plan.workload
    wanted = Counter(network.resource for network in contract.networks if network.resource)
    if (cloud := case.cloud) is not None and cloud.plugin is not None and not contract.claims:
        of_rails = Counter(rail.resource_name for rail in plan.rails if rail.resource_name)
        every = cloud.plugin.count == "nics"
        wanted = of_rails if every else Counter(cloud.plugin.requested(len(plan.rails), case.shape.gpus.count))
    by_claim = case.purpose == "storage" or any(claim.gpus for claim in contract.claims)
    gpus = {} if by_claim else {case.shape.gpus.resource: case.shape.gpus.count}
    requested = contract.devices
    if requested != {**wanted, **gpus}:
        yield Problem(
            _RAILS,
            f"a job attaches to {len(contract.networks)} networks and requests "
            + ", ".join(f"{number} of {name}" for name, number in requested.items()),
            _OURS,
        )


@check_plan("POD003")
def requests_equal_limits(case: Case, plan: Plan) -> Iterator[Problem]:
    """The patch's container has the contract's resources, environment and files, with requests equal to limits."""
    contract = plan.workload
    resources = _container(contract).get("resources", {})
    requests = {**contract.resources, **contract.requests}
    if resources.get("requests") != requests or resources.get("limits") != contract.resources:
        yield Problem(_MODEL, "the patch's requests and limits are not the contract's resources", _OURS)


@check_plan("POD004")
def devices_are_named_exactly(case: Case, plan: Plan) -> Iterator[Problem]:
    """NCCL_IB_HCA names each rail's RDMA device once and exactly; for virtual functions, their driver's prefix."""
    # A list of the stack file's own is judged by NCL013, at its place; a cloud's is what its profile has.
    if "NCCL_IB_HCA" in case.spec.fabric.nccl.settings or case.cloud is not None:
        return
    value = plan.workload.environment.get("NCCL_IB_HCA")
    virtual = case.choices.access == "virtual"
    # The names of virtual functions are not known before the pod runs; it sees no others in its namespace.
    if value is None or (virtual and re.fullmatch(r"[a-z]+[0-9]?", value)):
        return
    # In addition to storage they are all devices but those of storage (FAB011).
    if virtual and value == f"^={','.join(storage_devices(case) or ())}":
        return
    exact = value.startswith("=") and not value.startswith("==")
    named = sorted(name.partition(":")[0] for name in value.lstrip("=").split(","))
    known = sorted(plane_devices(case) or (rail.rdma_device or "" for rail in plan.rails))
    if not exact or named != known:
        yield Problem(_RAILS, f"NCCL_IB_HCA is {value}, but the rails' devices are {', '.join(known)}")


@check_plan("POD005")
def bootstrap_stays_off_the_fabric(case: Case, plan: Plan) -> Iterator[Problem]:
    """NCCL's bootstrap traffic takes no interface of the fabric."""
    contract = plan.workload
    value = contract.environment.get("NCCL_SOCKET_IFNAME")
    fabric = [rail.interface if contract.host_network else rail.pod_interface for rail in plan.rails]
    taken = [name for name in fabric if name and value and NameList.parse(value).takes(name)]
    if taken:
        yield Problem(_RAILS, f"NCCL_SOCKET_IFNAME is {value}, which takes the fabric's {', '.join(taken)}")


@check_plan("POD006")
def memory_can_be_locked(case: Case, plan: Plan) -> Iterator[Problem]:
    """The pod has the capability to lock memory."""
    contract = plan.workload
    added = _container(contract).get("securityContext", {}).get("capabilities", {}).get("add", [])
    if "IPC_LOCK" not in contract.capabilities or "IPC_LOCK" not in added:
        yield Problem(_MODEL, "the job's container does not have the capability IPC_LOCK", _OURS)


@check_plan("POD007")
def pods_on_the_host_attach_nowhere(case: Case, plan: Plan) -> Iterator[Problem]:
    """A pod on the host's network has no annotation about networks, and every other one has one."""
    contract = plan.workload
    on_host = bool(_patch(contract)["spec"].get("hostNetwork"))
    annotated = any(key in {**_annotations(contract), **contract.annotations} for key in _ATTACHING)
    attached = annotated or bool(contract.networks or contract.claims) or case.cloud is not None
    if on_host != contract.host_network or attached == contract.host_network:
        where = "on the host's network" if on_host else "in a network namespace of their own"
        yield Problem(_MODEL, f"pods run {where} and attach to {len(contract.networks)} networks", _OURS)


@check_plan("POD008")
def annotation_says_what_the_contract_says(case: Case, plan: Plan) -> Iterator[Problem]:
    """The annotation stands for the contract's networks in order, each with a legal interface name of its own."""
    contract = plan.workload
    word = manager_of(case).injection
    promised = [(network.network, network.interface) for network in contract.networks]
    interfaces = [interface for _, interface in promised]
    for said in (contract.annotations, _annotations(contract)):
        # The webhook overwrites a list of networks with its own.
        attaching = {key: said[key] for key in _ATTACHING if key in said}
        by_name = _attachments(attaching.get(NETWORKS_ANNOTATION, "")) == promised and len(attaching) < 2
        if not by_name if word is None else attaching != {RDMA_RESOURCE_INJECT_ANNOTATION: word}:
            yield Problem(_RAILS, "the pod's annotation does not name the contract's networks", _OURS)
            break
    for namespace, text in contract.networks_from_elsewhere.items():
        if _attachments(text) != [(f"{namespace}/{network}", interface) for network, interface in promised]:
            what = f"the annotation for pods that take the networks of {namespace} does not name the contract's"
            yield Problem(_RAILS, what, _OURS)
    wrong = [name for name in interfaces if interfaces.count(name) > 1 or len(name) > _LONGEST_INTERFACE]
    if wrong:
        yield Problem(_RAILS, f"interfaces with one name, or a longer one than Linux takes: {', '.join(wrong)}", _OURS)


@check_plan("POD009")
def shared_memory_is_memory(case: Case, plan: Plan) -> Iterator[Problem]:
    """The pod's shared memory is a volume in memory, mounted where NCCL looks for it."""
    contract = plan.workload
    mounts = _container(contract).get("volumeMounts", [])
    mounted = {mount["name"] for mount in mounts if mount["mountPath"] == contract.shared_memory.mount_path}
    wanted = {"medium": "Memory", "sizeLimit": contract.shared_memory.size_limit}
    volumes = _patch(contract)["spec"]["volumes"]
    if not any(volume["name"] in mounted and volume.get("emptyDir") == wanted for volume in volumes):
        yield Problem(_MODEL, f"the pod has no memory at {contract.shared_memory.mount_path}", _OURS)


def _patch(contract: FabricContract) -> dict[str, Any]:
    return contract.pod_template_patch


def _container(contract: FabricContract) -> dict[str, Any]:
    container: dict[str, Any] = _patch(contract)["spec"]["containers"][0]
    return container


def _annotations(contract: FabricContract) -> dict[str, str]:
    annotations: dict[str, str] = _patch(contract).get("metadata", {}).get("annotations", {})
    return annotations


def _attachments(text: str) -> list[tuple[str, str]]:
    """Networks and interfaces of an annotation, in its JSON form or as `network@interface` with commas."""
    if text.startswith("["):
        return [(entry["name"], entry.get("interface", "")) for entry in json.loads(text)]
    parts = [entry.strip().partition("@") for entry in text.split(",") if entry.strip()]
    return [(name, interface) for name, _, interface in parts]
