"""The contract: what a training job must carry to use the fabric. Published as JSON Schema; version 1."""

from __future__ import annotations

import json
from collections import Counter
from typing import Literal

from pydantic import Field, JsonValue

from fabric.k8s.cni import DEFAULT_NETWORK_ANNOTATION, NETWORKS_ANNOTATION
from fabric.k8s.kueue import QUEUE_LABEL
from fabric.k8s.scheduling import Toleration
from fabric.k8s.spiderpool import RDMA_RESOURCE_INJECT_ANNOTATION
from fabric.model import FrozenModel
from fabric.plan.case import Case
from fabric.plan.nccl_files import NcclFiles
from fabric.plan.networks import injection
from fabric.plan.operators import Controller, job_controllers, job_queues, namespace_of, topology_annotations
from fabric.plan.rails import Rail


class AttachedNetwork(FrozenModel):
    """One interface of the pod: which rail it is, its network and resource, and its name inside the pod."""

    rail: int | None = Field(
        default=None,
        description="number of the rail, from 0; none where all rails share a resource and any device may come",
    )
    network: str = Field(description="name of the NetworkAttachmentDefinition")
    namespace: str | None = Field(
        default=None, description="its namespace; none where it lies in every namespace that may use it"
    )
    resource: str | None = Field(
        default=None, description="extended resource that provides the device; none where the network needs none"
    )
    interface: str = Field(description="name of the interface inside the pod")
    mtu: int | None = Field(default=None, description="bytes; none where neither stack nor vendor states one")


class FileMount(FrozenModel):
    """A file that NCCL reads, and where it must appear."""

    config_map: str
    key: str
    mount_path: str
    variable: str | None = Field(default=None, description="environment variable that holds the path")


class SharedMemory(FrozenModel):
    """A memory-backed volume."""

    mount_path: str = "/dev/shm"
    size_limit: str


class HugePages(FrozenModel):
    """A volume of huge pages, for programs that drive NICs from user space."""

    mount_path: str = "/dev/hugepages"
    medium: str = Field(description="medium of the emptyDir volume, which names the page size")


class SchedulerHints(FrozenModel):
    """What a scheduler should know that Kubernetes cannot express."""

    pods_per_node: int = Field(
        description="full-node pods that fit on a node: each requests all of its GPUs, so no anti-affinity is needed"
    )
    gang: bool = Field(description="whether all pods of a job must start together")
    strategy: Literal["Recreate"] = Field(
        default="Recreate",
        description="of a Deployment, or maxSurge 0: a new pod waits for the GPUs and NICs that an old one holds",
    )
    scheduler: str | None = Field(
        default=None,
        description="`kueue` or `volcano`, where the stack brings it or the cluster has it: it starts all pods of a "
        "job together",
    )
    queue: str | None = Field(default=None, description="its queue for the fabric's jobs")
    queues: dict[str, str] = Field(
        default={},
        description="queues of the fabric's jobs by scheduler, where there are several: `volcano` is for Volcano's own "
        "kind of job, `kueue` for every other",
    )
    labels: dict[str, str] = Field(
        default={}, description="labels of the workload itself, not of its pod template: Kueue's, which names its queue"
    )
    annotations: dict[str, str] = Field(
        default={},
        description="annotations of the pod template, beside `annotations` of the contract: Kueue's, which names the "
        "level of the topology below which the pods should lie together",
    )
    controllers: tuple[Controller, ...] = Field(
        default=(),
        description="who makes the pods of jobs that Kubernetes itself does not know: controllers that the stack "
        "brings or the cluster has",
    )

    def queue_of(self, scheduler: str) -> str | None:
        """A scheduler's queue for the fabric's jobs; None without one."""
        return self.queues.get(scheduler) or (self.queue if self.scheduler == scheduler else None)


class FabricContract(FrozenModel):
    """The `fabric` output of a stack. `resources` are both requests and limits of the pod's one GPU container."""

    schema_version: Literal["v1"] = "v1"
    stack: str
    shape: str
    model: str
    nodes: int = Field(description="GPU nodes of the stack")
    gpus_per_node: int
    namespaces: tuple[str, ...] = Field(description="namespaces in which the networks and files exist")
    host_network: bool = Field(description="whether the pod runs in the node's own network namespace")
    networks: tuple[AttachedNetwork, ...]
    annotations: dict[str, str] = Field(description="annotations of the pod, or of a pod template: not of a Deployment")
    networks_from_elsewhere: dict[str, str] = Field(
        default={},
        description=f"on DigitalOcean's nodes, the value of {NETWORKS_ANNOTATION} for a pod that runs in none of "
        "`namespaces`, by the namespace whose networks it takes; files are not found from there",
    )
    resources: dict[str, str] = Field(description="requests, and equal limits, of the container")
    environment: dict[str, str] = Field(description="environment of the container")
    verification_environment: dict[str, str] = Field(
        default={},
        description="what a measurement of the fabric sets on top of `environment`, and no other job should",
    )
    files: tuple[FileMount, ...]
    shared_memory: SharedMemory
    huge_pages: HugePages | None = Field(default=None, description="of pods that use DPDK")
    capabilities: tuple[str, ...] = Field(description="Linux capabilities to add to the container")
    privileged: bool = Field(
        description="whether the container must be privileged: on the host's network no device plug-in admits devices"
    )
    node_selector: dict[str, str]
    tolerations: tuple[Toleration, ...]
    scheduler_hints: SchedulerHints
    image_registries: dict[str, str] = Field(
        default={}, description="registries that images come from instead; `*` is every one without a line of its own"
    )
    advice: tuple[str, ...] = Field(default=(), description="what else to know about jobs on this shape, in words")
    pod_template_patch: dict[str, JsonValue] = Field(
        description="strategic-merge patch for a pod template whose GPU container is named `worker`"
    )

    @property
    def devices(self) -> dict[str, int]:
        """The extended resources of the container, which device plug-ins advertise by number."""
        return {name: int(amount) for name, amount in self.resources.items() if "/" in name}


def plan_workload(
    case: Case,
    rails: tuple[Rail, ...],
    nccl: NcclFiles,
    namespaces: tuple[str, ...],
    tolerations: tuple[Toleration, ...],
) -> FabricContract:
    """The contract of a full-node pod: all GPUs and one device of every rail.

    `namespaces` are those in which networks and files exist.
    """
    shape = case.shape
    shared = Counter(rail.network for rail in rails)
    attached = tuple(
        AttachedNetwork(
            rail=rail.index if shared[rail.network] == 1 else None,
            network=rail.network,
            namespace=namespace_of(case) if injection(case) is not None else None,
            resource=rail.resource_name,
            interface=rail.pod_interface,
            mtu=case.mtu,
        )
        for rail in rails
        if rail.network is not None and rail.pod_interface is not None
    )
    devices = Counter(network.resource for network in attached if network.resource is not None)
    resources = {shape.gpus.resource: str(shape.gpus.count)} | {name: str(n) for name, n in devices.items()}
    dpdk = case.spec.fabric.dpdk
    if dpdk is not None:
        # Whole processors and equal limits are what makes a pod's processors its own.
        resources |= {
            "cpu": str(dpdk.cpus),
            "memory": dpdk.memory,
            f"hugepages-{dpdk.page_size}": dpdk.huge_pages,
        }
    files = tuple(
        FileMount(config_map=file.config_map, key=file.key, mount_path=file.mount_path, variable=file.variable)
        for file in nccl.files
    )
    environment = dict(sorted(nccl.environment.items()))
    environment |= {file.variable: file.mount_path for file in files if file.variable is not None}
    contract = FabricContract(
        stack=case.spec.name,
        shape=" or ".join(group.shape.name for group in case.groups),
        model=case.choices.model,
        image_registries=case.spec.software.registries,
        nodes=case.nodes,
        gpus_per_node=shape.gpus.count,
        namespaces=namespaces,
        host_network=case.choices.model == "host-network",
        networks=attached,
        annotations=_annotations(case, attached),
        networks_from_elsewhere={
            namespace: _in_guides_form(attached, f"{namespace}/")
            for namespace in (namespaces if case.choices.manager == "doks" else ())
        },
        resources=resources,
        environment=environment,
        verification_environment=nccl.verification_environment,
        files=files,
        shared_memory=SharedMemory(size_limit=case.known.pod_settings.shared_memory_of(shape).size),
        huge_pages=None if dpdk is None else HugePages(medium=f"HugePages-{dpdk.page_size}"),
        # Registering memory with the NIC locks it. DPDK opens raw sockets, and raises limits for its queues.
        capabilities=("IPC_LOCK",) if dpdk is None else ("IPC_LOCK", "NET_RAW", "SYS_RESOURCE"),
        privileged=case.choices.model == "host-network",
        node_selector=case.node_labels,
        tolerations=tolerations,
        # The pod takes all GPUs of its node.
        scheduler_hints=_scheduler_hints(case),
        advice=tuple(dict.fromkeys(line for group in case.groups for line in group.shape.advice)),
        pod_template_patch={},
    )
    return contract.model_copy(update={"pod_template_patch": _pod_template_patch(contract)})


def _scheduler_hints(case: Case) -> SchedulerHints:
    scheduler, queues = job_queues(case)
    kueue = case.spec.software.schedulers.kueue
    return SchedulerHints(
        pods_per_node=1,
        gang=True,
        scheduler=scheduler,
        queue=None if scheduler is None else queues.get(scheduler),
        queues=queues,
        labels={} if kueue is None else {QUEUE_LABEL: kueue.queue},
        annotations={} if kueue is None else topology_annotations(case),
        controllers=job_controllers(case),
    )


def _annotations(case: Case, attached: tuple[AttachedNetwork, ...]) -> dict[str, str]:
    """What makes the pod's networks: each by name, or all of them by Spiderpool's webhook, which takes no others."""
    if not attached:
        return {}
    default = case.spec.fabric.default_network
    annotations = {} if default is None else {DEFAULT_NETWORK_ANNOTATION: default}
    if (word := injection(case)) is not None:
        return {**annotations, RDMA_RESOURCE_INJECT_ANNOTATION: word}
    return {**annotations, NETWORKS_ANNOTATION: _networks_annotation(case, attached)}


def _networks_annotation(case: Case, attached: tuple[AttachedNetwork, ...]) -> str:
    if case.choices.manager == "doks":
        return _in_guides_form(attached)
    request = [{"name": network.network, "interface": network.interface} for network in attached]
    return json.dumps(request, separators=(",", ":"))


def _in_guides_form(attached: tuple[AttachedNetwork, ...], place: str = "") -> str:
    """The networks as the DOKS guide writes them; `place` is a namespace and a slash."""
    return ", ".join(f"{place}{network.network}@{network.interface}" for network in attached)


def _pod_template_patch(contract: FabricContract) -> dict[str, JsonValue]:
    volumes: list[JsonValue] = [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": contract.shared_memory.size_limit}}
    ]
    mounts: list[JsonValue] = [{"name": "shared-memory", "mountPath": contract.shared_memory.mount_path}]
    for file in contract.files:
        volume = file.config_map.rpartition("-")[0]
        volumes.append({"name": volume, "configMap": {"name": file.config_map}})
        mounts.append({"name": volume, "mountPath": file.mount_path, "subPath": file.key, "readOnly": True})
    if contract.huge_pages is not None:
        volumes.append({"name": "huge-pages", "emptyDir": {"medium": contract.huge_pages.medium}})
        mounts.append({"name": "huge-pages", "mountPath": contract.huge_pages.mount_path})
    if contract.host_network:
        # Oracle's test jobs for physical functions; elsewhere the device plug-in brings the files.
        volumes.append({"name": "rdma-devices", "hostPath": {"path": "/dev/infiniband"}})
        mounts.append({"name": "rdma-devices", "mountPath": "/dev/infiniband"})
    security: dict[str, JsonValue] = {"capabilities": {"add": list(contract.capabilities)}}
    if contract.privileged:
        security["privileged"] = True
    container: dict[str, JsonValue] = {
        "name": "worker",
        "resources": {"limits": dict(contract.resources), "requests": dict(contract.resources)},
        "env": [{"name": name, "value": value} for name, value in contract.environment.items()],
        "volumeMounts": mounts,
        "securityContext": security,
    }
    on_host: dict[str, JsonValue] = (
        {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if contract.host_network else {}
    )
    return {
        "metadata": {"annotations": {**contract.annotations, **contract.scheduler_hints.annotations}},
        "spec": {
            **on_host,
            "nodeSelector": dict(contract.node_selector),
            "tolerations": [toleration.to_dict() for toleration in contract.tolerations],
            "volumes": volumes,
            "containers": [container],
        },
    }
