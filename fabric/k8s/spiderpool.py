"""spiderpool.spidernet.io/v2beta1: address pools, reserved addresses and networks of Spiderpool (line 1.2).

The rules are those of its admission webhook, which fails closed: what it refuses never becomes a pod's network.
"""

import ipaddress
import json
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from fabric.k8s.addresses import Address, Cidr, IpAddress, Network
from fabric.k8s.base import KubernetesModel, KubernetesObject, is_label_value
from fabric.k8s.scheduling import LabelSelector
from fabric.k8s.spider_networks import SpiderIbSriov, SpiderIpoib, SpiderMacvlan, SpiderPools, SpiderSriov

RDMA_RESOURCE_INJECT_ANNOTATION = "cni.spidernet.io/rdma-resource-inject"
"""On a SpiderMultusConfig: its group. On a pod or namespace: the group to attach, with every network's resource."""

NETWORK_RESOURCE_INJECT_ANNOTATION = "cni.spidernet.io/network-resource-inject"
"""As the other one, for networks of which some have no resource."""

Span = tuple[IpAddress, IpAddress]
"""First and last address of a range, both included."""


def _span(text: str) -> Span:
    """The ends of `a` or `a-b`; raises ValueError for any other form."""
    low, dash, high = text.partition("-")
    try:
        first = ipaddress.ip_address(low)
        last = ipaddress.ip_address(high) if dash else first
    except ValueError:
        raise ValueError(f"{text!r} is no range: write one address, or first-last without spaces or prefix") from None
    if first.version != last.version:
        raise ValueError(f"range {text} mixes IPv4 and IPv6")
    if int(first) > int(last):
        raise ValueError(f"range {text} runs backwards: write the lower address first")
    return first, last


def ip_ranges(parts: Iterable[IpAddress | Span]) -> tuple[str, ...]:
    """Addresses and (first, last) pairs as Spiderpool writes them: sorted, and merged where they meet or overlap.

    The webhook rewrites any other form, and every refresh would show a difference. Raises ValueError for a pair that
    runs backwards and for addresses of both families.
    """
    spans = [part if isinstance(part, tuple) else (part, part) for part in parts]
    if len({end.version for span in spans for end in span}) > 1:
        raise ValueError("a pool holds addresses of one family: IPv4 and IPv6 are mixed")
    merged: list[Span] = []
    for first, last in sorted(spans, key=lambda span: (int(span[0]), int(span[1]))):
        if int(first) > int(last):
            raise ValueError(f"range {first}-{last} runs backwards: write the lower address first")
        if merged and int(first) <= int(merged[-1][1]) + 1:
            begin, end = merged[-1]
            merged[-1] = (begin, end if int(end) >= int(last) else last)
        else:
            merged.append((first, last))
    return tuple(str(first) if first == last else f"{first}-{last}" for first, last in merged)


def _merged(values: tuple[str, ...]) -> tuple[str, ...]:
    return ip_ranges(_span(value) for value in values)


AddressRanges = Annotated[tuple[str, ...], AfterValidator(_merged)]
"""Single addresses and `first-last` texts; kept in the form of `ip_ranges`."""


class PoolRoute(KubernetesModel):
    """A destination and the address inside the pool's subnet that leads there."""

    dst: Cidr
    gw: Address


def _spans_inside(network: Network, name: str, ranges: tuple[str, ...] | None) -> list[Span]:
    spans = []
    for text in ranges or ():
        first, last = _span(text)
        if first not in network or last not in network:
            raise ValueError(f"{name} {text} lies outside {network}")
        spans.append((first, last))
    return spans


def _holds(spans: list[Span], address: IpAddress) -> bool:
    return any(int(first) <= int(address) <= int(last) for first, last in spans)


def _check_routes(network: Network, routes: tuple[PoolRoute, ...]) -> None:
    seen: set[Network] = set()
    for route in routes:
        destination = ipaddress.ip_network(route.dst)
        if destination.version != network.version:
            raise ValueError(f"route {route.dst} is not of the address family of {network}")
        if destination.prefixlen == 0:
            raise ValueError(f"route {route.dst} is the default route: set gateway for that")
        if destination in seen:
            raise ValueError(f"route {route.dst} is given twice")
        if ipaddress.ip_address(route.gw) not in network:
            raise ValueError(f"route {route.dst}: gw {route.gw} lies outside {network}")
        seen.add(destination)


class SpiderIPPoolSpec(KubernetesModel):
    """A subnet and the addresses of it that pods may get: `ips` without `exclude_ips`.

    Node, namespace and network names are exact and take precedence over the affinity of the same kind; a network is
    written `namespace/name`.
    """

    subnet: Cidr
    ip_version: Literal[4, 6] | None = None
    ips: AddressRanges | None = None
    exclude_ips: AddressRanges | None = None
    gateway: Address | None = None
    routes: tuple[PoolRoute, ...] | None = None
    pod_affinity: LabelSelector | None = None
    namespace_affinity: LabelSelector | None = None
    namespace_name: tuple[str, ...] | None = None
    node_affinity: LabelSelector | None = None
    node_name: tuple[str, ...] | None = None
    multus_name: tuple[str, ...] | None = None
    default: bool | None = None
    disable: bool | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        network = ipaddress.ip_network(self.subnet)
        if self.ip_version not in (None, network.version):
            raise ValueError(
                f"ipVersion {self.ip_version} does not fit {network}: leave it out or write {network.version}"
            )
        allowed, excluded = (
            _spans_inside(network, "ips", self.ips),
            _spans_inside(network, "excludeIPs", self.exclude_ips),
        )
        if self.gateway is not None:
            gateway = ipaddress.ip_address(self.gateway)
            if gateway not in network:
                raise ValueError(f"gateway {gateway} lies outside {network}")
            if _holds(allowed, gateway) and not _holds(excluded, gateway):
                raise ValueError(
                    f"gateway {gateway} would be handed to a pod: take it out of ips, or put it in excludeIPs"
                )
        _check_routes(network, self.routes or ())
        return self

    @field_validator("pod_affinity")
    @classmethod
    def _selects_pods(cls, value: LabelSelector | None) -> LabelSelector | None:
        if value is not None and not (value.match_labels or value.match_expressions):
            raise ValueError("podAffinity is empty: give labels or expressions, or leave it out for all pods")
        return value


class SpiderIPPoolStatus(KubernetesModel):
    """What the controller counted; `allocated_ips` is JSON text."""

    allocated_ips: str | None = Field(default=None, validation_alias="allocatedIPs", serialization_alias="allocatedIPs")
    total_ip_count: int | None = Field(default=None, ge=0)
    allocated_ip_count: int | None = Field(default=None, ge=0)


class SpiderIPPool(KubernetesObject):
    """A pool of addresses of one subnet; the subnet cannot change later, and other pools' subnets must not overlap."""

    api_version: ClassVar[str] = "spiderpool.spidernet.io/v2beta1"
    kind: ClassVar[str] = "SpiderIPPool"
    plural: ClassVar[str] = "spiderippools"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Cluster"
    short_names: ClassVar[tuple[str, ...]] = ("sp",)
    categories: ClassVar[tuple[str, ...]] = ("spiderpool",)
    printer_columns: ClassVar[dict[str, str]] = {"SUBNET": ".spec.subnet"}

    spec: SpiderIPPoolSpec
    status: SpiderIPPoolStatus | None = None


class SpiderReservedIPSpec(KubernetesModel):
    """Addresses of one family that no pool hands out."""

    ip_version: Literal[4, 6] | None = None
    ips: AddressRanges = Field(min_length=1)

    @model_validator(mode="after")
    def _one_family(self) -> Self:
        version = _span(self.ips[0])[0].version
        if self.ip_version not in (None, version):
            raise ValueError(f"ipVersion {self.ip_version} does not fit {self.ips[0]}: leave it out or write {version}")
        return self


class SpiderReservedIP(KubernetesObject):
    """Addresses of switches, hosts and storage, kept out of every pool of the cluster."""

    api_version: ClassVar[str] = "spiderpool.spidernet.io/v2beta1"
    kind: ClassVar[str] = "SpiderReservedIP"
    plural: ClassVar[str] = "spiderreservedips"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Cluster"
    short_names: ClassVar[tuple[str, ...]] = ("sr",)
    categories: ClassVar[tuple[str, ...]] = ("spiderpool",)

    spec: SpiderReservedIPSpec


class SpiderMultusConfigSpec(KubernetesModel):
    """One network: exactly the section that `cni_type` names (`ibsriov` for ib-sriov), with the pools inside it.

    Spiderpool renders the NetworkAttachmentDefinition of the same name from it.
    """

    cni_type: Literal["macvlan", "sriov", "ib-sriov", "ipoib"]
    macvlan: SpiderMacvlan | None = None
    sriov: SpiderSriov | None = None
    ibsriov: SpiderIbSriov | None = None
    ipoib: SpiderIpoib | None = None
    enable_coordinator: bool | None = None
    disable_ipam: bool | None = Field(default=None, validation_alias="disableIPAM", serialization_alias="disableIPAM")
    chain_cni_json_data: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _one_section(self) -> Self:
        wanted = self.cni_type.replace("-", "")
        present = [name for name in ("macvlan", "sriov", "ibsriov", "ipoib") if getattr(self, name) is not None]
        if present != [wanted]:
            found = f"not {', '.join(present)}" if present else "and it is missing"
            raise ValueError(f"cniType {self.cni_type} takes exactly the section {wanted}, {found}")
        if self.pools.match_master_subnet and self.cni_type != "sriov":
            raise ValueError(f"matchMasterSubnet works only with sriov, not with {self.cni_type}")
        return self

    @field_validator("chain_cni_json_data")
    @classmethod
    def _are_plugins(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for text in value or ():
            try:
                plugin = json.loads(text)
            except json.JSONDecodeError as error:
                raise ValueError(f"chainCNIJsonData is not JSON: {error}") from None
            if not isinstance(plugin, dict) or "type" not in plugin:
                raise ValueError("chainCNIJsonData must be JSON objects with 'type'")
        return value

    @property
    def section(self) -> SpiderMacvlan | SpiderSriov | SpiderIbSriov | SpiderIpoib:
        """The one section that is present."""
        found = self.macvlan or self.sriov or self.ibsriov or self.ipoib
        assert found is not None
        return found

    @property
    def pools(self) -> SpiderPools:
        """The pools of the present section; empty where it names none."""
        return self.section.ippools or SpiderPools()

    @property
    def resource(self) -> str | None:
        """The extended resource that goes with the network; none for IPoIB."""
        if isinstance(self.section, SpiderMacvlan):
            return self.section.rdma_resource_name
        return None if isinstance(self.section, SpiderIpoib) else self.section.resource_name


class SpiderMultusConfig(KubernetesObject):
    """A network of a namespace, which pods name or get by injection."""

    api_version: ClassVar[str] = "spiderpool.spidernet.io/v2beta1"
    kind: ClassVar[str] = "SpiderMultusConfig"
    plural: ClassVar[str] = "spidermultusconfigs"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    short_names: ClassVar[tuple[str, ...]] = ("smc",)
    categories: ClassVar[tuple[str, ...]] = ("spiderpool",)

    spec: SpiderMultusConfigSpec

    @model_validator(mode="after")
    def _can_be_injected(self) -> Self:
        annotations = self.metadata.annotations or {}
        pools = self.spec.pools.ipv4 or self.spec.pools.ipv6
        for key in (RDMA_RESOURCE_INJECT_ANNOTATION, NETWORK_RESOURCE_INJECT_ANNOTATION):
            if key not in annotations:
                continue
            if not annotations[key] or not is_label_value(annotations[key]):
                raise ValueError(
                    f"{key}={annotations[key]!r}: it becomes a label, so write at most 63 label characters"
                )
            always = key == RDMA_RESOURCE_INJECT_ANNOTATION
            if always and self.spec.resource is None and self.spec.cni_type != "ipoib":
                raise ValueError(f"{key} needs the section's resource name")
            if not pools and (always or self.spec.resource):
                raise ValueError(f"{key} needs at least one pool in ippools")
        return self
