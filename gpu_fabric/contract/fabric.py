"""The contract: settings of a training job's pods that use the fabric. Published as JSON Schema, version 1."""

from __future__ import annotations

import json
import operator
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError

from gpu_fabric.findings import InputError
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gpu_fabric.k8s.scheduling import JobController, Toleration
from gpu_fabric.model import FrozenModel


class AttachedNetwork(FrozenModel):
    """One interface of the pod: its rail, network and resource, and its name inside the pod."""

    rail: int | None = Field(
        default=None,
        description="number of the rail, from 0; none where all rails share a resource and any device may come",
    )
    network: str = Field(description="name of the NetworkAttachmentDefinition")
    namespace: str | None = Field(
        default=None, description="its namespace; none where it is in every namespace that may use it"
    )
    resource: str | None = Field(
        default=None, description="extended resource that provides the device; none where the network needs none"
    )
    amount: int | None = Field(
        default=None, description="how many of the resource it takes; none where the network needs none"
    )
    interface: str = Field(description="name of the interface inside the pod")
    mtu: int | None = Field(default=None, description="bytes; none where neither stack nor vendor states one")


class PodClaim(FrozenModel):
    """A claim by which the pod gets NICs, and GPUs with them; its template is in every namespace of the fabric."""

    name: str = Field(description="name of the claim in the pod: in `resourceClaims` and in the container's `claims`")
    template: str = Field(description="name of the ResourceClaimTemplate")
    size: Literal["node", "numa-node", "pci-root", "pair", "repair"] = Field(
        description="`node`, all NICs of a node; `numa-node`, those of one NUMA node; `pci-root`, one GPU and all NICs "
        "of its PCI root; `pair`, one GPU and one NIC of its PCI root; `repair`, as `node`, on closed rails too"
    )
    nics: int = Field(description="NICs that the pod gets")
    gpus: int = Field(description="GPUs that it gets with the same claim; 0 where they are requested in `resources`")


class PodDomain(FrozenModel):
    """A rack's domain, by which its pods use NVLink between nodes: each claims an IMEX channel."""

    name: str = Field(description="name of the rack: that of its pool")
    claim: str = Field(description="name of the claim in the pod: in `resourceClaims` and in the container's `claims`")
    template: str = Field(description="name of the ResourceClaimTemplate, which NVIDIA's DRA driver creates")
    namespace: str = Field(description="the one namespace in which it exists")
    nodes: int = Field(description="nodes of the rack, so the most pods of a job")
    node_selector: dict[str, str] = Field(
        default={}, description="labels of the rack's nodes besides those of the fabric; none where there is one rack"
    )


class FileMount(FrozenModel):
    """A file that NCCL reads, and its path in the container."""

    config_map: str = Field(description="name of the ConfigMap that has the file")
    key: str = Field(description="key of the file in it")
    mount_path: str = Field(description="path of the file in the container")
    variable: str | None = Field(default=None, description="environment variable that holds the path")


class SharedMemory(FrozenModel):
    """A memory-backed volume."""

    mount_path: str = Field(default="/dev/shm", description="where the container has it")
    size_limit: str = Field(description="size limit of the volume, such as 32Gi")


class HugePages(FrozenModel):
    """A volume of huge pages, for programs that drive NICs from user space."""

    mount_path: str = Field(default="/dev/hugepages", description="where the container has them")
    medium: str = Field(description="medium of the emptyDir volume, which names the page size")


class HostMount(FrozenModel):
    """A folder of the node, such as that of a cloud's plug-in for NCCL."""

    name: str = Field(description="name of the volume")
    path: str = Field(description="path of the folder on the node")
    mount_path: str = Field(description="where the container has it")


class SchedulerHints(FrozenModel):
    """Information for schedulers that Kubernetes cannot express."""

    pods_per_node: int = Field(
        description="full-node pods that fit on a node: each requests all of its GPUs, so no anti-affinity is needed"
    )
    gang: bool = Field(description="whether all pods of a job must start together")
    strategy: Literal["Recreate"] = Field(
        default="Recreate",
        description="of a Deployment that is new; one that runs takes RollingUpdate with maxSurge 0 and maxUnavailable "
        "1 from every kind of apply. A new pod waits for the GPUs and NICs that an old one holds",
    )
    scheduler: str | None = Field(
        default=None,
        description="`kueue` or `volcano`, where the stack installs it or the cluster has it: it starts all pods of a "
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
        description="annotations of the pod template, besides `annotations` of the contract: Kueue's, which names the "
        "level of the topology below which the pods should be together",
    )
    controllers: tuple[JobController, ...] = Field(
        default=(),
        description="who makes the pods of jobs that Kubernetes itself does not know: controllers that the stack "
        "installs or the cluster has",
    )

    def queue_of(self, scheduler: str) -> str | None:
        """A scheduler's queue for the fabric's jobs; None without one."""
        return self.queues.get(scheduler) or (self.queue if self.scheduler == scheduler else None)


class NamespaceShare(FrozenModel):
    """A namespace's own share of the GPU nodes."""

    nodes: int = Field(description="GPU nodes that the namespace's jobs can have at any time")
    most_nodes: int = Field(description="GPU nodes that they can have at most")
    quota: dict[str, str] = Field(description="the namespace's quota, such as `requests.nvidia.com/gpu`")
    addresses: int | None = Field(
        default=None,
        description="addresses of each rail that its pods can have at most; none where no device limits them",
    )
    queues: dict[str, str] = Field(
        default={}, description="its own queues by scheduler, where jobs name another one than in other namespaces"
    )


def _is_missing(value: object) -> bool:
    return value is None


class FabricContract(FrozenModel):
    """The output `fabric` of a stack. `resources` are both requests and limits of the pod's GPU container."""

    schema_version: Literal["v1"] = Field(default="v1", description="changes where a reader must")
    stack: str = Field(description="name of the stack, or of the component in a program")
    fabric: str | None = Field(
        default=None,
        exclude_if=_is_missing,
        description="name of the fabric in a stack of several; none for that of the section `fabric`",
    )
    purpose: Literal["storage"] | None = Field(
        default=None,
        exclude_if=_is_missing,
        description="`storage` for a fabric that a pod has besides the compute fabric of its nodes; none for compute",
    )
    beside: tuple[str, ...] | None = Field(
        default=None,
        exclude_if=_is_missing,
        description="of a storage fabric: names of the compute fabrics on whose nodes it is; none for compute",
    )
    shape: str = Field(description="machine type of the GPU nodes")
    model: str = Field(description="how a NIC gets into a pod")
    nodes: int = Field(description="GPU nodes of the stack")
    gpus_per_node: int = Field(description="GPUs of one node")
    gpu_resource: str | None = Field(
        default=None,
        description="extended resource of the GPUs, one of `resources`; not among them where GPUs come with the claim",
    )
    namespaces: tuple[str, ...] = Field(description="namespaces in which the networks and files exist")
    shares: dict[str, NamespaceShare] = Field(
        default={}, description="the namespaces with a share of their own, by name"
    )
    host_network: bool = Field(description="whether the pod runs in the node's own network namespace")
    networks: tuple[AttachedNetwork, ...] = Field(description="interfaces of the pod, in the order of the rails")
    claims: tuple[PodClaim, ...] = Field(
        default=(),
        exclude_if=operator.not_,
        description="with the manager `dranet`, what a pod can claim, of which it takes one; the first by default. "
        "`networks` and the rails' resources are empty then",
    )
    domains: tuple[PodDomain, ...] = Field(
        default=(),
        exclude_if=operator.not_,
        description="racks with NVLink between their nodes; all pods of a job take the channel of one, the first by "
        "default. A pod without one sets NCCL_MNNVL_ENABLE to 0",
    )
    annotations: dict[str, str] = Field(description="annotations of the pod, or of a pod template: not of a Deployment")
    networks_from_elsewhere: dict[str, str] = Field(
        default={},
        description=f"on DigitalOcean's nodes, the value of {NETWORKS_ANNOTATION} for a pod that runs in none of "
        "`namespaces`, by the namespace whose networks it takes; files are not found from there",
    )
    resources: dict[str, str] = Field(description="requests, and equal limits, of the container")
    requests: dict[str, str] = Field(
        default={},
        exclude_if=operator.not_,
        description="further requests of the container, without a limit; a job's own take their place",
    )
    environment: dict[str, str] = Field(description="environment of the container")
    verification_environment: dict[str, str] = Field(
        default={},
        description="what a measurement of the fabric sets on top of `environment`, and no other job should",
    )
    libraries: dict[str, dict[str, str]] = Field(
        default={},
        exclude_if=operator.not_,
        description="environment of a container whose program sends by another library than NCCL, by library: `ucx`, "
        "`nixl`, `nvshmem`, `deepep`, `mooncake`, `gloo`; one that sends over others needs theirs as well",
    )
    gpu_rails: tuple[tuple[int, ...], ...] = Field(
        default=(),
        exclude_if=operator.not_,
        description="for each GPU, the rails whose NICs share its PCI switch, by number; none where not published",
    )
    files: tuple[FileMount, ...] = Field(description="files that NCCL reads")
    shared_memory: SharedMemory = Field(description="memory that NCCL's processes of one node share")
    huge_pages: HugePages | None = Field(default=None, description="of pods that use DPDK")
    host_paths: tuple[HostMount, ...] = Field(
        default=(),
        exclude_if=operator.not_,
        description="folders of the node that the container mounts, on clouds whose pods need them",
    )
    capabilities: tuple[str, ...] = Field(description="Linux capabilities to add to the container")
    privileged: bool = Field(
        description="whether the container must be privileged: on the host's network, and on clouds without a plug-in "
        "of NICs, nothing admits devices"
    )
    node_selector: dict[str, str] = Field(description="labels of the nodes that the pod may run on")
    tolerations: tuple[Toleration, ...] = Field(description="taints of the nodes that the pod tolerates")
    scheduler_hints: SchedulerHints = Field(description="what a scheduler must know, and Kubernetes cannot express")
    image_registries: dict[str, str] = Field(
        default={}, description="registries that images come from instead; `*` is every one without a line of its own"
    )
    image_pull_secrets: tuple[str, ...] = Field(
        default=(), description="names of the Secrets by which nodes pull images, in each of `namespaces`"
    )
    advice: tuple[str, ...] = Field(default=(), description="what else to know about jobs on this shape, in words")
    pod_template_patch: dict[str, JsonValue] = Field(
        description="strategic-merge patch for a pod template whose GPU container is named `worker`"
    )

    def queue_of(self, scheduler: str, namespace: str | None = None) -> str | None:
        """A scheduler's queue for the jobs of a namespace; None without one."""
        share = None if namespace is None else self.shares.get(namespace)
        own = None if share is None else share.queues.get(scheduler)
        return own or self.scheduler_hints.queue_of(scheduler)

    @property
    def devices(self) -> dict[str, int]:
        """The extended resources of the container, with their amounts."""
        return {name: int(amount) for name, amount in self.resources.items() if "/" in name}


NVLINK = "NCCL_MNNVL_ENABLE"
"""NCCL's variable of NVLink between nodes: 1 in a pod with a channel, 0 in one without, on the nodes of a rack."""


def claim_of_pod(claim: PodClaim) -> dict[str, JsonValue]:
    """The entry of a pod's `resourceClaims`."""
    return {"name": claim.name, "resourceClaimTemplateName": claim.template}


def channel_of_pod(domain: PodDomain) -> dict[str, JsonValue]:
    """The same of a domain's channel."""
    return {"name": domain.claim, "resourceClaimTemplateName": domain.template}


def without_channel(contract: FabricContract) -> FabricContract:
    """The contract of pods that use the rails between all nodes, also between those of one rack."""
    if not contract.domains:
        return contract
    hints = contract.scheduler_hints
    if (level := hints.annotations.get(REQUIRED_TOPOLOGY)) is not None:
        hints = hints.model_copy(update={"annotations": {PREFERRED_TOPOLOGY: level}})
    environment = {**contract.environment, NVLINK: "0"}
    changes = {"domains": (), "environment": environment, "scheduler_hints": hints}
    alone = contract.model_copy(update=changes)
    return alone.model_copy(update={"pod_template_patch": pod_template_patch(alone)})


def pod_template_patch(contract: FabricContract) -> dict[str, JsonValue]:
    """The patch that says what the other fields of a contract say."""
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
    for mount in contract.host_paths:
        volumes.append({"name": mount.name, "hostPath": {"path": mount.path}})
        mounts.append({"name": mount.name, "mountPath": mount.mount_path})
    if contract.host_network:
        # Oracle's test jobs for physical functions; elsewhere the device plug-in mounts the files.
        volumes.append({"name": "rdma-devices", "hostPath": {"path": "/dev/infiniband"}})
        mounts.append({"name": "rdma-devices", "mountPath": "/dev/infiniband"})
    security: dict[str, JsonValue] = {"capabilities": {"add": list(contract.capabilities)}}
    if contract.privileged:
        security["privileged"] = True
    claims = [claim_of_pod(claim) for claim in contract.claims[:1]]
    claims += [channel_of_pod(domain) for domain in contract.domains[:1]]
    in_rack = contract.domains[0].node_selector if contract.domains else {}
    requests = {**contract.resources, **contract.requests}
    resources: dict[str, JsonValue] = {"limits": dict(contract.resources), "requests": {**requests}}
    container: dict[str, JsonValue] = {
        "name": "worker",
        "resources": {**resources, "claims": [{"name": claim["name"]} for claim in claims]} if claims else resources,
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
            "nodeSelector": {**contract.node_selector, **in_rack},
            "tolerations": [toleration.to_dict() for toleration in contract.tolerations],
            "volumes": volumes,
            **({"resourceClaims": [*claims]} if claims else {}),
            "containers": [container],
        },
    }


def with_tolerations(contract: FabricContract, more: tuple[Toleration, ...]) -> FabricContract:
    """The contract of pods that tolerate more than jobs do."""
    if not more:
        return contract
    tolerant = contract.model_copy(update={"tolerations": tuple(dict.fromkeys((*contract.tolerations, *more)))})
    return tolerant.model_copy(update={"pod_template_patch": pod_template_patch(tolerant)})


_KNOWN = "v1"


def read_contract(text: str) -> FabricContract:
    """The contract in a JSON text, as `make outputs` prints it.

    Fields that a newer program added within the same version are ignored.

    Raises:
        InputError: the text is not JSON, not a contract, or has another version.
    """
    return contract_of(loaded(text))


def loaded(text: str) -> Any:
    """The data in a JSON text that has a contract.

    Raises:
        InputError: the text is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"no JSON (line {error.lineno}: {error.msg}); print one with `make outputs`"
        raise InputError("ATT004", message) from None
    except RecursionError:
        raise InputError("ATT004", "no contract: it is nested too deep; print one with `make outputs`") from None


def contract_of(found: Any) -> FabricContract:
    """The contract in plain data: the output `fabric` of a stack, or a mapping that has it under this name.

    Fields that a newer program added within the same version are ignored.

    Raises:
        InputError: the data are not a contract, or have another version; or they have several, of which one is meant.
    """
    if isinstance(found, dict) and isinstance(found.get("fabrics"), dict) and found["fabrics"]:
        names = ", ".join(map(str, found["fabrics"]))
        raise InputError("ATT031", f"the stack has several fabrics; take one of its output `fabrics`: {names}")
    if isinstance(found, dict) and isinstance(found.get("fabric"), dict):
        found = found["fabric"]
    if not isinstance(found, dict) or "schemaVersion" not in found:
        message = "no contract: there is no `fabric` with a schemaVersion; print one with `make outputs`"
        raise InputError("ATT004", message)
    if found["schemaVersion"] != _KNOWN:
        message = f"schemaVersion {found['schemaVersion']!r} is not known here; known is {_KNOWN!r}"
        raise InputError("ATT004", message)
    try:
        return FabricContract.model_validate(found, extra="ignore")
    except ValidationError as error:
        wrong = [".".join(map(str, entry["loc"])) for entry in error.errors(include_input=False, include_url=False)]
        message = f"no contract of schemaVersion {_KNOWN}: wrong or missing: {', '.join(wrong)}"
        raise InputError("ATT004", message) from None
