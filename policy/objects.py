"""Objects of the cluster: waits, pod security of namespaces, and files that pods read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from pulumi_policy import PolicyResource, ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import Violation, resource_policy, stack_policy
from .reading import NETWORKS, at, is_one_of, kind_of, of_kind


class HashedFiles(FrozenModel):
    """Which files must be named by their content."""

    maps: tuple[str, ...] = Field(default=("nccl-*",), description="names of ConfigMaps, or patterns")


@resource_policy("files-by-content", HashedFiles)
def files_by_content(config_map: ResourceValidationArgs, settings: HashedFiles) -> Iterator[str]:
    name = at(config_map.props, "metadata", "name") or ""
    if is_one_of(name, settings.maps):
        if not config_map.props.get("immutable"):
            yield "can be changed in place"
        hashes = {
            hashlib.sha256(str(text).encode()).hexdigest() for text in (at(config_map.props, "data") or {}).values()
        }
        if not any(text.startswith(name.rpartition("-")[2]) for text in hashes):
            yield f"{name} does not end in the hash of its content"


class Waiting(FrozenModel):
    """Which objects must be waited for, and how long."""

    kinds: tuple[str, ...] = Field(
        default=(
            "NicClusterPolicy",
            "NicNodePolicy",
            "ClusterPolicyPatch",
            "NicClusterPolicyPatch",
            "DaemonSetPatch",
            "CustomResourceDefinition",
            "ClusterQueue",
        ),
        description="kinds that later resources rely on",
    )
    most_seconds: int = Field(default=3600, ge=1, description="longest time limit")


@resource_policy("gates-wait", Waiting)
def gates_wait(resource: ResourceValidationArgs, settings: Waiting) -> Iterator[str]:
    if kind_of(resource.resource_type) not in settings.kinds:
        return
    annotations = at(resource.props, "metadata", "annotations") or {}
    if not annotations.get("pulumi.com/waitFor"):
        yield "is not waited for"
    written = str(annotations.get("pulumi.com/timeoutSeconds"))
    if not written.isdecimal() or not 0 < int(written) <= settings.most_seconds:
        yield f"has no time limit of up to {settings.most_seconds} seconds"


_LEVEL = "pod-security.kubernetes.io/enforce"


class Labels(FrozenModel):
    """Which namespaces need no label."""

    unlabelled: tuple[str, ...] = Field(
        default=(),
        description="namespaces, or patterns, that go by the cluster's own default",
    )


@resource_policy("pod-security-labels", Labels)
def pod_security_labels(namespace: ResourceValidationArgs, settings: Labels) -> Iterator[str]:
    name = at(namespace.props, "metadata", "name") or namespace.name
    level = at(namespace.props, "metadata", "labels", _LEVEL)
    if level is None and not is_one_of(name, settings.unlabelled):
        yield f"{name} has no pod security label"
    elif level not in (None, "privileged", "baseline", "restricted"):
        yield f"{level} is not a level of pod security"


class PrivilegedNamespaces(FrozenModel):
    """Which namespaces may be privileged."""

    privileged: tuple[str, ...] = Field(
        default=(
            *("dra-driver-nvidia-gpu", "dranet", "gpu-operator", "kube-amd-gpu", "kube-amd-network"),
            *("network-operator", "nvidia-network-operator", "spiderpool", "whereabouts"),
        ),
        description="namespaces, or patterns, whose pods may be privileged, besides those that networks are offered in",
    )


@stack_policy("privileged-namespaces", PrivilegedNamespaces)
def privileged_namespaces(resources: list[PolicyResource], settings: PrivilegedNamespaces) -> Iterator[Violation]:
    offered = {
        at(network.props, "spec", "networkNamespace") or at(network.props, "metadata", "namespace")
        for network in of_kind(resources, *NETWORKS)
    }
    for namespace in of_kind(resources, "Namespace"):
        name = at(namespace.props, "metadata", "name") or namespace.name
        admits = at(namespace.props, "metadata", "labels", _LEVEL)
        if admits == "privileged" and name not in offered and not is_one_of(name, settings.privileged):
            yield Violation(f"{name} admits privileged pods", namespace.urn)


class Kinds(FrozenModel):
    """What kinds of objects a stack may have."""

    kinds: tuple[str, ...] = Field(
        default=(
            "core/*",
            "apps/*",
            "batch/*",
            "helm.sh/Release",
            "apiextensions.k8s.io/CustomResourceDefinition",
            "rbac.authorization.k8s.io/*",
            *(f"admissionregistration.k8s.io/ValidatingAdmissionPolicy{end}" for end in ("", "Binding")),
            "readiness.node.x-k8s.io/NodeReadinessRule",
            "k8s.cni.cncf.io/NetworkAttachmentDefinition",
            *(f"kueue.x-k8s.io/{kind}" for kind in ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Topology")),
            *(f"resource.k8s.io/{kind}" for kind in ("DeviceClass", "ResourceClaimTemplate")),
            "resource.nvidia.com/ComputeDomain",
            *(f"mellanox.com/{kind}" for kind in ("NicClusterPolicy", "NicNodePolicy")),
            *(f"nv-ipam.nvidia.com/{kind}" for kind in ("IPPool", "CIDRPool")),
            *(f"configuration.net.nvidia.com/Nic{of}Template" for of in ("Configuration", "InterfaceName")),
            "spectrumx.nvidia.com/SpectrumXRailPoolConfig",
            "nvidia.com/ClusterPolicy",
            *(f"amd.com/{kind}" for kind in ("NetworkConfig", "DeviceConfig")),
            "monitoring.coreos.com/PrometheusRule",
            "scheduling.k8s.io/PriorityClass",
            "scheduling.volcano.sh/Queue",
            *(
                f"spiderpool.spidernet.io/Spider{kind}"
                for kind in ("Coordinator", "IPPool", "MultusConfig", "ReservedIP")
            ),
            *(f"sriovnetwork.openshift.io/SriovNetwork{kind}" for kind in ("", "NodePolicy", "PoolConfig")),
            "sriovnetwork.openshift.io/SriovIBNetwork",
        ),
        description="group of the API/kind, or patterns; a patch counts as the kind that it patches",
    )


@resource_policy("known-kinds", Kinds)
def known_kinds(resource: ResourceValidationArgs, settings: Kinds) -> Iterator[str]:
    _, group, kind = resource.resource_type.split(":")
    name = f"{group.partition('/')[0]}/{kind.removesuffix('Patch')}"
    if not is_one_of(name, settings.kinds):
        yield f"{name} is not on the list"
