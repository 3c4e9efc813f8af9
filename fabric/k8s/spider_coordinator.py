"""spiderpool.spidernet.io/v2beta1: how Spiderpool's coordinator sets up the network inside every pod (line 1.2).

Spiderpool itself makes the one object of the cluster, named `default`, when its chart is installed. Patch that one and
never own or delete it: its finalizer is removed by nobody but the job that runs when the chart is uninstalled.
"""

import ipaddress
import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fabric.k8s.addresses import Address, Cidr
from fabric.k8s.base import KubernetesModel, KubernetesObject
from fabric.k8s.names import InterfaceName

COORDINATOR_NAME = "default"
"""The SpiderCoordinator that Spiderpool's chart makes unless its values say otherwise."""

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
    pod_cidr_type: Literal["auto", "cluster", "calico", "cilium", "none"] | None = Field(
        default=None, validation_alias="podCIDRType", serialization_alias="podCIDRType"
    )
    hijack_cidr: tuple[Annotated[str, AfterValidator(_address_or_network)], ...] | None = Field(
        default=None, validation_alias="hijackCIDR", serialization_alias="hijackCIDR"
    )
    policy_routes: tuple[PolicyRoute, ...] | None = None
    pod_mac_prefix: Annotated[str, AfterValidator(_mac_prefix)] | None = Field(
        default=None, validation_alias="podMACPrefix", serialization_alias="podMACPrefix"
    )
    pod_default_route_nic: InterfaceName | None = Field(
        default=None, validation_alias="podDefaultRouteNIC", serialization_alias="podDefaultRouteNIC"
    )
    tune_pod_routes: bool | None = None
    host_rule_table: int | None = None
    pod_rp_filter: int | None = Field(
        default=None, le=2, validation_alias="podRPFilter", serialization_alias="podRPFilter"
    )
    tx_queue_len: int | None = Field(default=None, ge=0)
    veth_link_address: Address | None = None
    veth_mtu: int | None = Field(default=None, ge=1, validation_alias="vethMTU", serialization_alias="vethMTU")


class SpiderCoordinatorStatus(KubernetesModel):
    """What the controller found out about the cluster's own ranges; `reason` says why it could not."""

    phase: str
    reason: str | None = None
    overlay_pod_cidr: tuple[str, ...] | None = Field(
        default=None, validation_alias="overlayPodCIDR", serialization_alias="overlayPodCIDR"
    )
    service_cidr: tuple[str, ...] | None = Field(
        default=None, validation_alias="serviceCIDR", serialization_alias="serviceCIDR"
    )


class SpiderCoordinator(KubernetesObject):
    """The coordinator's settings for the whole cluster; a SpiderMultusConfig may have others for its pods."""

    api_version: ClassVar[str] = "spiderpool.spidernet.io/v2beta1"
    kind: ClassVar[str] = "SpiderCoordinator"
    plural: ClassVar[str] = "spidercoordinators"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Cluster"
    short_names: ClassVar[tuple[str, ...]] = ("scc",)
    categories: ClassVar[tuple[str, ...]] = ("spiderpool",)

    spec: SpiderCoordinatorSpec
    status: SpiderCoordinatorStatus | None = None
