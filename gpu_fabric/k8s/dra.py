"""resource.k8s.io/v1: classes of devices and templates of claims (Dynamic Resource Allocation).

Source: Kubernetes 1.34 to 1.36, staging/src/k8s.io/api/resource/v1/types.go.
"""

from typing import Any, Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject

MOST_REQUESTS = 32
"""Requests of one claim, and devices that it can get (DeviceRequestsMaxSize, AllocationResultsMaxSize)."""

STANDARD_PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
"""The attribute for the PCI root of a device, which all drivers fill in alike (KEP 4381)."""


class CelSelector(KubernetesModel):
    """A CEL expression over `device` that is true for the devices that fit."""

    expression: str = Field(max_length=10 * 1024)


class DeviceSelector(KubernetesModel):
    """How devices are selected."""

    cel: CelSelector


class DeviceToleration(KubernetesModel):
    """A taint of devices in spite of which a request gets them."""

    key: str
    operator: Literal["Equal", "Exists"]
    effect: Literal["NoSchedule", "NoExecute"]


class ExactRequest(KubernetesModel):
    """So many devices of a class."""

    device_class_name: str
    count: int = Field(default=1, ge=1, le=MOST_REQUESTS)
    selectors: tuple[DeviceSelector, ...] | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None


class DeviceRequest(KubernetesModel):
    """A request of a claim."""

    name: str
    exactly: ExactRequest


class DeviceConstraint(KubernetesModel):
    """An attribute whose value all devices of the requests have in common."""

    requests: tuple[str, ...]
    match_attribute: str


class OpaqueConfiguration(KubernetesModel):
    """What a driver reads of a claim; Kubernetes does not look at it."""

    driver: str
    parameters: dict[str, Any]


class DeviceConfiguration(KubernetesModel):
    """The configuration of the devices of some requests."""

    requests: tuple[str, ...]
    opaque: OpaqueConfiguration


class DeviceClaim(KubernetesModel):
    """Requests, what their devices have in common, and their configuration."""

    requests: tuple[DeviceRequest, ...] = Field(min_length=1, max_length=MOST_REQUESTS)
    constraints: tuple[DeviceConstraint, ...] | None = None
    config: tuple[DeviceConfiguration, ...] | None = None


class ClaimSpec(KubernetesModel):
    """The spec of a claim."""

    devices: DeviceClaim


class ClaimTemplateSpec(KubernetesModel):
    """The spec of the claims that come of a template."""

    spec: ClaimSpec


class ResourceClaimTemplate(KubernetesObject, api_version="resource.k8s.io/v1"):
    """A template by which each pod gets a claim of its own; its spec cannot change."""

    spec: ClaimTemplateSpec


class DeviceClassSpec(KubernetesModel):
    """The devices of a class."""

    selectors: tuple[DeviceSelector, ...]


class DeviceClass(KubernetesObject, api_version="resource.k8s.io/v1", plural="deviceclasses", scope="Cluster"):
    """A class of devices, which requests name."""

    spec: DeviceClassSpec


def cel(expression: str) -> tuple[DeviceSelector, ...]:
    """One selector."""
    return (DeviceSelector(cel=CelSelector(expression=expression)),)
