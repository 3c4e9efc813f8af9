"""resource.nvidia.com/v1beta1: domains of NVLink between nodes, of NVIDIA's DRA driver.

Source: dra-driver-nvidia-gpu v0.4.1, api/nvidia.com/resource/v1beta1/computedomain.go.
"""

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject

CLIQUE_LABEL = "nvidia.com/gpu.clique"
"""The label by which GPU Feature Discovery marks the nodes of one NVLink domain: the cluster's UUID and the clique."""


class ClaimTemplateName(KubernetesModel):
    """The ResourceClaimTemplate that the driver's controller creates next to the domain."""

    name: str


class Channel(KubernetesModel):
    """What a pod of the domain gets: one IMEX channel, or all of them."""

    resource_claim_template: ClaimTemplateName
    allocation_mode: Literal["Single", "All"] = "Single"


class ComputeDomainSpec(KubernetesModel):
    """The API server refuses every change. With 0 nodes the domain is of those on which its pods run."""

    num_nodes: int = Field(default=0, ge=0)
    channel: Channel


class ComputeDomain(KubernetesObject, api_version="resource.nvidia.com/v1beta1"):
    """A domain, whose IMEX daemons the driver runs on the nodes of its pods."""

    spec: ComputeDomainSpec
