"""Pods: their images, their privileges, and their resource requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi_policy import ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import NoSettings, resource_policy
from .reading import at, containers, is_one_of, kind_of, mappings, object_name, pod_spec

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Tags that a registry moves: without a number they name no version.
_MOVING = re.compile(r"[^0-9]*")


class Images(FrozenModel):
    """How exactly an image must be named."""

    digests: bool = Field(default=False, description="whether every image must be named by its digest, not by a tag")


def _images(args: ResourceValidationArgs) -> Iterator[tuple[str, str]]:
    """Names of images without tag or digest, with their tag or digest; empty where there is none."""
    for container in containers(pod_spec(args.resource_type, args.props)):
        yield _split(str(container.get("image") or ""))
    if kind_of(args.resource_type).startswith("Nic"):
        for part in mappings(args.props.get("spec")):
            if part.get("image") and part.get("repository"):
                yield f"{part['repository']}/{part['image']}", str(part.get("version") or "")


def _split(image: str) -> tuple[str, str]:
    name, _, digest = image.partition("@")
    folder, _, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{folder}/{last}".lstrip("/"), digest or tag


@resource_policy("pinned-images", Images)
def pinned_images(workload: ResourceValidationArgs, settings: Images) -> Iterator[str]:
    for name, version in dict.fromkeys(_images(workload)):
        if settings.digests and not _DIGEST.fullmatch(version):
            yield f"image {name} is named by no digest"
        elif _MOVING.fullmatch(version):
            yield f"image {name} is of no version ({version or 'no tag'})"


class Registries(FrozenModel):
    """Where images may come from."""

    registries: tuple[str, ...] = Field(
        default=(
            "nvcr.io/nvidia/*",
            "ghcr.io/k8snetworkplumbingwg/*",
            "ghcr.io/mellanox/*",
            "ghcr.io/spidernet-io/*",
            "ghcr.io/digitalocean-packages/*",
            "docker.io/library/*",
            "docker.io/mpioperator/*",
        ),
        description="registries with folders, as patterns; for a closed site the mirror alone",
    )


@resource_policy("allowed-registries", Registries)
def allowed_registries(workload: ResourceValidationArgs, settings: Registries) -> Iterator[str]:
    for name in dict.fromkeys(name for name, _ in _images(workload)):
        if not is_one_of(name, settings.registries):
            yield f"image {name} comes from a registry that is not on the list"


# What prepares a host cannot do it from inside a container's own namespaces.
_OF_FABRICS = (
    "fabric-cni-plugins",
    "ip-preserving-host-device-cni",
    "virtual-functions",
    "rdma-mode",
    "ipoib",
    "link-type",
    "acs",
    "fabric-rule",
    "lossless",
    "nic-addresses",
    "fabric-readiness",
)
# One of a node group, or of a further fabric, ends with the name of that.
_HOST_COMPONENTS = (
    *(f"*/{name}{end}" for name in _OF_FABRICS for end in ("", "-*")),
    "kube-system/kube-multus-ds",
)


class HostComponents(FrozenModel):
    """Which components may act on their host."""

    allowed: tuple[str, ...] = Field(
        default=_HOST_COMPONENTS, description="namespace/name, or patterns, of components that may"
    )


@resource_policy("no-privileged-pods", HostComponents)
def no_privileged_pods(workload: ResourceValidationArgs, settings: HostComponents) -> Iterator[str]:
    if not is_one_of(object_name(workload.props, workload.name), settings.allowed):
        for container in containers(pod_spec(workload.resource_type, workload.props)):
            if at(container, "securityContext", "privileged"):
                yield f"container {container.get('name')} is privileged"


@resource_policy("no-host-namespaces", HostComponents)
def no_host_namespaces(workload: ResourceValidationArgs, settings: HostComponents) -> Iterator[str]:
    if not is_one_of(object_name(workload.props, workload.name), settings.allowed):
        spec = pod_spec(workload.resource_type, workload.props)
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(key):
                yield f"has {key}"


class Capabilities(FrozenModel):
    """Which capabilities a pod may add."""

    allowed: tuple[str, ...] = Field(default=("IPC_LOCK",), description="capabilities that any pod may add")
    components: tuple[str, ...] = Field(
        default=(*_HOST_COMPONENTS, "*/fabric-check", "*/fabric-check-*"),
        description="namespace/name, or patterns, of those that may more",
    )


@resource_policy("few-capabilities", Capabilities)
def few_capabilities(workload: ResourceValidationArgs, settings: Capabilities) -> Iterator[str]:
    if not is_one_of(object_name(workload.props, workload.name), settings.components):
        for container in containers(pod_spec(workload.resource_type, workload.props)):
            added = at(container, "securityContext", "capabilities", "add") or ()
            if more := [name for name in added if name not in settings.allowed]:
                yield f"container {container.get('name')} adds {', '.join(more)}"


@resource_policy("requests-equal-limits", NoSettings)
def requests_equal_limits(workload: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    for container in containers(pod_spec(workload.resource_type, workload.props)):
        requests, limits = (_devices(at(container, "resources", key)) for key in ("requests", "limits"))
        for name in sorted({*requests, *limits}):
            asked, limit = requests.get(name, limits.get(name)), limits.get(name)
            if asked != limit:
                yield f"container {container.get('name')} requests {asked} of {name}, with a limit of {limit}"


def _devices(amounts: Mapping[str, Any] | None) -> dict[str, str]:
    """Amounts of extended resources: those with a prefix."""
    return {name: str(amount) for name, amount in (amounts or {}).items() if "/" in name}
