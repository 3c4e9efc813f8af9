"""Addresses of the fabric: no other network may use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

from pulumi_policy import PolicyResource
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import NoSettings, Violation, stack_policy
from .reading import at, at_known, kind_of, many, mappings, of_kind

_POOLS = ("IPPool", "CIDRPool", "SpiderIPPool", "KeptObjects", "NetworkAttachmentDefinition")
# Where clusters have the ranges of their pods and services: DigitalOcean's, then Oracle's.
_OF_CLUSTERS = (
    ("clusterSubnet",),
    ("serviceSubnet",),
    ("options", "kubernetesNetworkConfig", "podsCidr"),
    ("options", "kubernetesNetworkConfig", "servicesCidr"),
)


class Range(NamedTuple):
    """Addresses from the first to the last, and their owner."""

    first: int
    last: int
    text: str
    owner: str
    urn: str


@stack_policy("disjoint-addresses", NoSettings)
def disjoint_addresses(resources: list[PolicyResource], _settings: NoSettings) -> Iterator[Violation]:
    ranges = sorted({entry for resource in resources for entry in _ranges(resource)})
    reached: Range | None = None
    for entry in ranges:
        if reached is not None and entry.first <= reached.last and entry.owner != reached.owner:
            yield Violation(f"{entry.text} of {entry.owner} overlaps {reached.text} of {reached.owner}", entry.urn)
        if reached is None or entry.last > reached.last:
            reached = entry


def _ranges(resource: PolicyResource) -> Iterator[Range]:
    """The ranges of addresses that a pool assigns, or that a cloud's network has.

    A VPC contains its subnets, so that only the outer range counts; pods and services have ranges of their own. A range
    that the cloud chooses is known, and compared, only after its creation.
    """
    kind, props = kind_of(resource.resource_type), resource.props
    if kind in ("Vpc", "Vcn"):
        for text in (at_known(props, "ipRange"), *many(at_known(props, "cidrBlocks"))):
            yield from _range(text, kind, resource.urn)
    for path in _OF_CLUSTERS:
        yield from _range(at_known(props, *path), path[-1], resource.urn)
    for name, spec in _pools(resource):
        for text in many(spec.get("ips")) or (spec.get("subnet"), spec.get("cidr"), spec.get("range")):
            yield from _range(text, name, resource.urn)


def _pools(resource: PolicyResource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and contents of the pools of a resource: of many pools, or of one network."""
    kind, name = kind_of(resource.resource_type), at(resource.props, "metadata", "name") or resource.name
    if kind == "KeptObjects":
        for pool, content in (at(resource.props, "objects", "SpiderIPPool") or {}).items():
            yield pool, at(content, "spec")
    elif kind == "NetworkAttachmentDefinition":
        yield from ((name, part) for part in mappings(at(resource.props, "spec", "config")) if "range" in part)
    elif kind in _POOLS:
        yield name, at(resource.props, "spec") or {}


def _range(text: str | None, owner: str, urn: str) -> Iterator[Range]:
    """The addresses of a range; none for text that is not a range, which the cluster or the cloud refuses itself."""
    try:
        if text and "-" in text:
            first, last = (int(ip_address(part.strip())) for part in text.split("-"))
            yield Range(first, last, text, owner, urn)
        elif text:
            network = ip_network(text, strict=False)
            yield Range(int(network.network_address), int(network.broadcast_address), text, owner, urn)
    except ValueError:
        return


class PrivateRanges(FrozenModel):
    """What addresses a fabric may have."""

    ranges: tuple[str, ...] = Field(
        default=("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
        description="allowed ranges of the pools",
    )


@stack_policy("private-fabric", PrivateRanges)
def private_fabric(resources: list[PolicyResource], settings: PrivateRanges) -> Iterator[Violation]:
    allowed = [outer for text in settings.ranges for outer in _range(text, "", "")]
    for resource in of_kind(resources, *_POOLS):
        for entry in _ranges(resource):
            if not any(outer.first <= entry.first and entry.last <= outer.last for outer in allowed):
                yield Violation(f"{entry.text} of {entry.owner} is not private", resource.urn)
