"""The contract of a stack: what the pods of a job that takes whole nodes must have."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, get_args

from gpu_fabric.catalog.cloud import CloudProfile
from gpu_fabric.contract.fabric import (
    AttachedNetwork,
    FabricContract,
    FileMount,
    HostMount,
    HugePages,
    NamespaceShare,
    SchedulerHints,
    SharedMemory,
    pod_template_patch,
)
from gpu_fabric.k8s.names import (
    DEFAULT_NETWORK_ANNOTATION,
    NETWORKS_ANNOTATION,
    QUEUE_LABEL,
    RDMA_RESOURCE_INJECT_ANNOTATION,
)
from gpu_fabric.k8s.scheduling import JobController, Toleration
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.claims import pod_claims
from gpu_fabric.plan.domains import pod_domains
from gpu_fabric.plan.fabrics import display_name
from gpu_fabric.plan.library_settings import library_environments
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.nccl_files import NcclFiles
from gpu_fabric.plan.operators.kueue import job_queue, topology_annotations
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.tenants import node_devices, quota_of, tenants
from gpu_fabric.spec.software import DEFAULT_QUEUE


def plan_workload(
    case: Case,
    rails: tuple[Rail, ...],
    nccl: NcclFiles,
    namespaces: tuple[str, ...],
    tolerations: tuple[Toleration, ...],
) -> FabricContract:
    """The contract of a full-node pod: all GPUs and one device of every rail; of a storage fabric the rails alone.

    `namespaces` are those in which networks and files exist.
    """
    shape, manager, is_storage = case.shape, manager_of(case), case.purpose == "storage"
    shared = Counter(rail.network for rail in rails)
    attached = tuple(
        AttachedNetwork(
            rail=rail.index if shared[rail.network] == 1 else None,
            network=rail.network,
            namespace=None if manager.injection is None else manager.namespace,
            resource=rail.resource_name,
            amount=None if rail.resource_name is None else 1,
            interface=rail.pod_interface,
            mtu=case.mtu,
        )
        for rail in rails
        if rail.network is not None and rail.pod_interface is not None
    )
    devices = manager.requested(attached)
    claims = () if manager.nic_class is None else pod_claims(case)
    by_claim = is_storage or any(claim.gpus for claim in claims)
    gpus = {} if by_claim else {shape.gpus.resource: str(shape.gpus.count)}
    resources = gpus | {name: str(n) for name, n in devices.items()}
    dpdk = case.spec.fabric.dpdk
    if dpdk is not None:
        # Whole processors and equal limits give a pod processors of its own.
        resources |= {
            "cpu": str(dpdk.cpus),
            "memory": dpdk.memory,
            f"hugepages-{dpdk.page_size}": dpdk.huge_pages,
        }
    cloud = case.cloud
    if cloud is not None:
        resources |= cloud.requests_on(shape.name, limited=True)
    files = tuple(
        FileMount(config_map=file.config_map, key=file.key, mount_path=file.mount_path, variable=file.variable)
        for file in nccl.files
    )
    environment = dict(sorted(nccl.environment.items()))
    environment |= {file.variable: file.mount_path for file in files if file.variable is not None}
    contract = FabricContract(
        stack=case.spec.name,
        fabric=case.fabric or None,
        purpose="storage" if is_storage else None,
        beside=tuple(display_name(entry.fabric) for entry in case.compute) if is_storage else None,
        shape=" or ".join(group.shape.name for group in case.groups),
        model=case.choices.model,
        image_registries=case.spec.software.registries,
        image_pull_secrets=tuple(entry.name for entry in case.spec.software.image_pull_secrets),
        nodes=case.nodes,
        gpus_per_node=shape.gpus.count,
        gpu_resource=None if is_storage else shape.gpus.resource,
        namespaces=namespaces,
        shares=_shares(case, rails),
        host_network=case.choices.model == "host-network",
        networks=attached,
        claims=claims,
        domains=pod_domains(case),
        annotations=_annotations(case, attached),
        networks_from_elsewhere=manager.networks_from_elsewhere(attached, namespaces),
        resources=resources,
        requests={} if cloud is None else cloud.requests_on(shape.name, limited=False),
        environment=environment,
        verification_environment=nccl.verification_environment,
        libraries={} if is_storage else _libraries(case, nccl, bool(devices or claims)),
        gpu_rails=() if is_storage else _gpu_rails(case),
        files=files,
        shared_memory=SharedMemory(size_limit=case.known.pod_settings.shared_memory_of(shape).size),
        huge_pages=None if dpdk is None else HugePages(medium=f"HugePages-{dpdk.page_size}"),
        # Registering memory with the NIC locks it. DPDK opens raw sockets, and raises limits for its queues.
        capabilities=("IPC_LOCK",) if dpdk is None else ("IPC_LOCK", "NET_RAW", "SYS_RESOURCE"),
        host_paths=() if cloud is None else _host_paths(cloud),
        privileged=case.choices.model == "host-network" or (cloud is not None and cloud.privileged),
        node_selector=case.node_labels,
        tolerations=tolerations,
        # The pod takes all GPUs of its node.
        scheduler_hints=_scheduler_hints(case),
        advice=tuple(dict.fromkeys(line for group in case.groups for line in group.shape.advice)),
        pod_template_patch={},
    )
    return contract.model_copy(update={"pod_template_patch": pod_template_patch(contract)})


def _host_paths(cloud: CloudProfile) -> tuple[HostMount, ...]:
    """The folders of the node that the cloud's pods mount."""
    return tuple(
        HostMount(name=mount.name, path=mount.host_path, mount_path=mount.mount_path) for mount in cloud.mounts
    )


def _libraries(case: Case, nccl: NcclFiles, has_devices: bool) -> dict[str, dict[str, str]]:
    """The settings of libraries; without RDMA devices in the pods, of those that send over TCP alone.

    Of clouds with a profile none is known: their rows are about the NICs of other machines.
    """
    if case.cloud is not None:
        return {}
    found, known = library_environments(case, nccl.environment), case.known.libraries.by_name
    if has_devices or case.choices.model == "host-network":
        return found
    return {name: variables for name, variables in found.items() if not known[name].rdma}


def _gpu_rails(case: Case) -> tuple[tuple[int, ...], ...]:
    """The rails near each GPU; empty where that is not known of a node group, or groups differ."""
    found = {group.shape.gpu_rails or () for group in case.groups}
    return found.pop() if len(found) == 1 else ()


def _shares(case: Case, rails: tuple[Rail, ...]) -> dict[str, NamespaceShare]:
    """The shares of namespaces. Kueue's queue has one name in all namespaces, and Volcano's belongs to the cluster."""
    devices = node_devices(case, rails)
    limited = len(devices) > 1 and case.choices.layout != "none"
    own_queue = case.spec.software.schedulers.volcano is not None
    return {
        tenant.namespace: NamespaceShare(
            nodes=tenant.nodes,
            most_nodes=tenant.most,
            quota=quota_of(case, devices, tenant),
            addresses=tenant.most * case.pods_per_nic if limited else None,
            queues={"volcano": tenant.queue} if own_queue else {},
        )
        for tenant in tenants(case)
    }


def _scheduler_hints(case: Case) -> SchedulerHints:
    if case.purpose == "storage":
        # How a job is scheduled follows from its GPUs, which it has from the contract of its compute fabric.
        return SchedulerHints(pods_per_node=case.pods_per_nic, gang=False)
    scheduler, queues = job_queues(case)
    kueue = case.spec.software.schedulers.kueue
    return SchedulerHints(
        pods_per_node=1,
        gang=True,
        scheduler=scheduler,
        queue=None if scheduler is None else queues.get(scheduler),
        queues=queues,
        labels={} if kueue is None else {QUEUE_LABEL: job_queue(case)},
        annotations={} if kueue is None else topology_annotations(case),
        controllers=job_controllers(case),
    )


class JobQueues(NamedTuple):
    """The scheduler that starts the fabric's jobs; None without one. `queues` are the jobs' own, by scheduler."""

    scheduler: str | None
    queues: dict[str, str]


def job_queues(case: Case) -> JobQueues:
    """Where jobs queue: in the stack's own Kueue or Volcano, or in what the cluster has.

    Kueue comes first where there are both: it queues every kind of job but Volcano's own. The queues of a Kueue that
    the cluster has are not known.
    """
    own, installed = case.spec.software.schedulers, case.spec.present
    queues = {} if own.kueue is None else {"kueue": job_queue(case)}
    if own.volcano is not None:
        queues["volcano"] = own.volcano.queue
    elif "volcano" in installed:
        queues["volcano"] = DEFAULT_QUEUE
    queue_schedulers = [name for name in ("kueue", "volcano") if name in queues or name in installed]
    return JobQueues(next(iter(queue_schedulers), None), queues)


def job_controllers(case: Case) -> tuple[JobController, ...]:
    """The controllers of jobs that the stack installs or the cluster has."""
    own, installed = case.spec.software.schedulers, case.spec.present
    return tuple(
        name
        for name in get_args(JobController)
        if name in installed or getattr(own, name.replace("-", "_")) is not None
    )


def _annotations(case: Case, attached: tuple[AttachedNetwork, ...]) -> dict[str, str]:
    """Annotations that attach networks: each by name, or all of them by the webhook, which accepts no others."""
    if (cloud := case.cloud) is not None and cloud.interfaces is not None and case.spec.fabric.devices == "plugin":
        return cloud.interfaces.annotations(case.shape.rails)
    if not attached:
        return {}
    default = case.spec.fabric.default_network
    annotations = {} if default is None else {DEFAULT_NETWORK_ANNOTATION: default}
    if (word := manager_of(case).injection) is not None:
        return {**annotations, RDMA_RESOURCE_INJECT_ANNOTATION: word}
    return {**annotations, NETWORKS_ANNOTATION: manager_of(case).networks_annotation(attached)}
