"""spiderpool.spidernet.io/v2beta1: pools, reserved addresses, networks and the coordinator of Spiderpool (line 1.2).

The validation follows Spiderpool's admission webhook, which fails closed: an object that it refuses is never created.

Spiderpool creates the only SpiderCoordinator of the cluster, named `default`, when its chart is installed. Patch it,
but never own or delete it: only the job that runs when the chart is uninstalled removes its finalizer.
"""

import ipaddress
import json
import re
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from gpu_fabric.base.grammar import is_label_value
from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.cni import LinkState, PartitionKey
from gpu_fabric.k8s.field_types import Address, Cidr, ExtendedResource, InterfaceName, IpAddress, Network
from gpu_fabric.k8s.names import NETWORK_RESOURCE_INJECT_ANNOTATION, RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.scheduling import LabelSelector

_API_VERSION = "spiderpool.spidernet.io/v2beta1"

PoolName = Annotated[str, Field(pattern=r"^[a-z0-9*?\[]([a-z0-9.*?\[\]-]*[a-z0-9*?\]])?$")]
"""The name of a SpiderIPPool, or a pattern with `*`, `?` and `[..]` as for files."""


class SpiderPools(KubernetesModel):
    """Pools for a network's pods; `match_master_subnet` keeps those of the host interface's subnet."""

    ipv4: tuple[PoolName, ...] | None = None
    ipv6: tuple[PoolName, ...] | None = None
    match_master_subnet: bool | None = None


class Bond(KubernetesModel):
    """A bond of several host interfaces; `mode` is the kernel's number."""

    name: InterfaceName
    mode: int = Field(ge=0, le=6)
    options: str | None = None


VlanId = Annotated[int, Field(ge=0, le=4094)]
HostMtu = Annotated[int, Field(ge=0, le=9216)]
"""MTU in bytes; with 0, the kernel's default is used."""


class SpiderMacvlan(KubernetesModel):
    """A macvlan in bridge mode on an Ethernet interface, several of them bonded."""

    master: tuple[InterfaceName, ...] = Field(min_length=1)
    vlan_id: VlanId | None = None
    mtu: HostMtu | None = None
    bond: Bond | None = None
    rdma_resource_name: ExtendedResource | None = None
    ippools: SpiderPools | None = None

    @model_validator(mode="after")
    def _one_parent(self) -> Self:
        if len(self.master) > 1 and self.bond is None:
            raise ValueError(f"{len(self.master)} masters need a bond")
        parent = self.master[0] if self.bond is None else self.bond.name
        tagged = f"{parent}.{self.vlan_id}"
        if self.vlan_id and len(tagged) > 15:
            raise ValueError(f"the VLAN's interface {tagged} has {len(tagged)} characters: allowed are 15")
        return self


class SpiderSriov(KubernetesModel):
    """A virtual function of an Ethernet NIC; `rdma_isolation` needs the node in RDMA mode `exclusive`."""

    resource_name: ExtendedResource
    vlan_id: VlanId | None = None
    mtu: HostMtu | None = None
    min_tx_rate_mbps: int | None = Field(default=None, ge=0)
    max_tx_rate_mbps: int | None = Field(default=None, ge=0)
    rdma_isolation: bool | None = None
    ippools: SpiderPools | None = None

    @model_validator(mode="after")
    def _rates_in_order(self) -> Self:
        if None not in (self.min_tx_rate_mbps, self.max_tx_rate_mbps) and (
            (self.min_tx_rate_mbps or 0) > (self.max_tx_rate_mbps or 0)
        ):
            raise ValueError(f"minTxRateMbps {self.min_tx_rate_mbps} exceeds maxTxRateMbps {self.max_tx_rate_mbps}")
        return self


class SpiderIbSriov(KubernetesModel):
    """A virtual function of an InfiniBand NIC; isolation is on unless switched off."""

    resource_name: ExtendedResource
    pkey: PartitionKey | None = None
    link_state: LinkState | None = None
    rdma_isolation: bool | None = None
    enable_ib_kubernetes: bool | None = None
    ippools: SpiderPools | None = None


class SpiderIpoib(KubernetesModel):
    """TCP/IP on an InfiniBand interface; `master` is one name, not a list."""

    master: InterfaceName
    ippools: SpiderPools | None = None


COORDINATOR_NAME = "default"
"""The SpiderCoordinator that Spiderpool's chart creates by default."""

_MAC_PREFIX = re.compile(r"[0-9a-fA-F]{2}:[0-9a-fA-F]{2}")


def _address_or_network(value: str) -> str:
    try:
        if "/" in value:
            ipaddress.ip_network(value)
        else:
            ipaddress.ip_address(value)
    except ValueError as error:
        raise ValueError(
            f"{value!r} is neither an address nor a network: {error}; write CIDR notation without host bits"
        ) from None
    return value


def _mac_prefix(value: str) -> str:
    if not _MAC_PREFIX.fullmatch(value):
        raise ValueError(f"podMACPrefix {value!r}: write the first two bytes, such as 0a:1b")
    if int(value[:2], 16) % 2:
        raise ValueError(f"podMACPrefix {value}: an odd first byte is a multicast address; write an even one")
    return value


class PolicyRoute(KubernetesModel):
    """A destination and the gateway that leads there, in the route tables of a pod's interfaces."""

    dst: Cidr
    gw: Address

    @model_validator(mode="after")
    def _one_family(self) -> Self:
        if ipaddress.ip_network(self.dst).version != ipaddress.ip_address(self.gw).version:
            raise ValueError(f"policyRoutes {self.dst}: gw {self.gw} is of the other address family")
        return self


class SpiderCoordinatorSpec(KubernetesModel):
    """Settings for all pods of the cluster, or in a SpiderMultusConfig those of one network.

    Where none is given, mode is `auto`, `tune_pod_routes` true and the rest Spiderpool's. The cluster's object needs
    `pod_cidr_type`: it has it from the chart, so a patch may leave it out. `hijack_cidr` are ranges that pods reach by
    their first interface. `veth_mtu` in bytes; `pod_rp_filter` 0, 1 or 2 is written to the interfaces, a negative one
    leaves them as they are.
    """

    mode: Literal["auto", "underlay", "overlay", "disabled"] | None = None
    pod_cidr_type: Literal["auto", "cluster", "calico", "cilium", "none"] | None = None
    hijack_cidr: tuple[Annotated[str, AfterValidator(_address_or_network)], ...] | None = None
    policy_routes: tuple[PolicyRoute, ...] | None = None
    pod_mac_prefix: Annotated[str, AfterValidator(_mac_prefix)] | None = None
    pod_default_route_nic: InterfaceName | None = None
    tune_pod_routes: bool | None = None
    host_rule_table: int | None = None
    pod_rp_filter: int | None = Field(default=None, le=2)
    tx_queue_len: int | None = Field(default=None, ge=0)
    veth_link_address: Address | None = None
    veth_mtu: int | None = Field(default=None, ge=1)


class SpiderCoordinator(KubernetesObject, api_version=_API_VERSION, scope="Cluster"):
    """The coordinator's settings for the whole cluster; a SpiderMultusConfig may have others for its pods."""

    spec: SpiderCoordinatorSpec


Span = tuple[IpAddress, IpAddress]
"""First and last address of a range, both included."""


def _span(text: str) -> Span:
    """The first and last address of `a` or `a-b`; raises ValueError for any other form."""
    low, dash, high = text.partition("-")
    try:
        first = ipaddress.ip_address(low)
        last = ipaddress.ip_address(high) if dash else first
    except ValueError:
        raise ValueError(
            f"{text!r} is not a valid range: write one address, or first-last without spaces or prefix"
        ) from None
    if first.version != last.version:
        raise ValueError(f"range {text} mixes IPv4 and IPv6")
    if int(first) > int(last):
        raise ValueError(f"range {text} runs backwards: write the lower address first")
    return first, last


def ip_ranges(parts: Iterable[IpAddress | Span]) -> tuple[str, ...]:
    """Addresses and (first, last) pairs in Spiderpool's form: sorted, and merged where they touch or overlap.

    The webhook rewrites any other form, so every refresh would show a difference. Raises ValueError for a pair whose
    first address is higher than the last, and for addresses of both families.
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
            raise ValueError(f"{name} {text} is outside {network}")
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
            raise ValueError(f"route {route.dst}: gw {route.gw} is outside {network}")
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
                raise ValueError(f"gateway {gateway} is outside {network}")
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


class SpiderIPPool(KubernetesObject, api_version=_API_VERSION, scope="Cluster"):
    """A pool of addresses of one subnet; the subnet cannot change later, and other pools' subnets must not overlap."""

    spec: SpiderIPPoolSpec


class SpiderReservedIPSpec(KubernetesModel):
    """Addresses of one family that no pool assigns."""

    ip_version: Literal[4, 6] | None = None
    ips: AddressRanges = Field(min_length=1)

    @model_validator(mode="after")
    def _one_family(self) -> Self:
        version = _span(self.ips[0])[0].version
        if self.ip_version not in (None, version):
            raise ValueError(f"ipVersion {self.ip_version} does not fit {self.ips[0]}: leave it out or write {version}")
        return self


class SpiderReservedIP(KubernetesObject, api_version=_API_VERSION, scope="Cluster"):
    """Addresses of switches, hosts and storage, kept out of every pool of the cluster."""

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
        """The only section that is set."""
        found = self.macvlan or self.sriov or self.ibsriov or self.ipoib
        assert found is not None
        return found

    @property
    def pools(self) -> SpiderPools:
        """The pools of that section; empty if it names none."""
        return self.section.ippools or SpiderPools()

    @property
    def resource(self) -> str | None:
        """The extended resource of the network; None for IPoIB."""
        if isinstance(self.section, SpiderMacvlan):
            return self.section.rdma_resource_name
        return None if isinstance(self.section, SpiderIpoib) else self.section.resource_name


class SpiderMultusConfig(KubernetesObject, api_version=_API_VERSION):
    """A network of a namespace, which pods name or get by injection."""

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
