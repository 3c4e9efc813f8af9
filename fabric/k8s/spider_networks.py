"""The sections of a SpiderMultusConfig, one per kind of network that is planned, each with its own pools."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fabric.k8s.base import KubernetesModel
from fabric.k8s.cni_config import LinkState, PartitionKey
from fabric.k8s.names import ExtendedResource, InterfaceName

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
"""Bytes; 0 leaves it to the kernel."""


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
