"""`gpu-fabric:cluster`: which cluster, and what machines it has."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from fabric.catalog import Catalog
from fabric.model import FrozenModel
from fabric.spec.suggestion import nearest

DnsLabel = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class Taint(FrozenModel):
    """A taint the pool's nodes carry: every operand and every job needs to tolerate it."""

    key: str = Field(min_length=1, description="key of the taint")
    value: str = Field(default="", description="value of the taint")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        default="NoSchedule", description="what the taint does to pods that do not tolerate it"
    )


class Pool(FrozenModel):
    """A group of equal GPU nodes."""

    name: DnsLabel = Field(description="name of the pool, unique in the stack")
    shape: str = Field(description="machine type from the catalog; `python -m fabric shapes` lists them")
    nodes: int = Field(ge=1, le=8192, description="number of GPU nodes in the pool")
    labels: dict[str, str] = Field(
        default={}, description="labels the pool's nodes carry; jobs select by those that all pools have in common"
    )
    taints: tuple[Taint, ...] = Field(
        default=(Taint(key="nvidia.com/gpu", value="present"),), description="taints of the pool's nodes"
    )

    @field_validator("shape")
    @classmethod
    def _shape_is_in_the_catalog(cls, value: str, info: ValidationInfo) -> str:
        known: Catalog = (info.context or {})["catalog"]
        if value not in known.shapes:
            guess = nearest(value, known.shapes)
            raise ValueError(f"no shape {value!r} in the catalog; {guess}allowed: {', '.join(sorted(known.shapes))}")
        return value


class AddressRanges(FrozenModel):
    """Ranges the cluster uses already, which the fabric must not touch."""

    pods: IPv4Network | None = Field(default=None, description="pod range")
    services: IPv4Network | None = Field(default=None, description="service range")
    nodes: IPv4Network | None = Field(default=None, description="range of the node network (VPC, VCN)")
    reserved: tuple[IPv4Network, ...] = Field(default=(), description="further ranges in use, such as peered networks")


class ExistingCluster(FrozenModel):
    """A cluster that is there already; this program creates no machine in it."""

    provider: Literal["existing"] = Field(description="where the cluster comes from: it is there already")
    kubeconfig_secret: DnsLabel | None = Field(
        default=None, description="name of the secret configuration key that holds the kubeconfig, instead of a path"
    )
    kubeconfig: str | None = Field(
        default=None, validate_default=True, description="path of the kubeconfig file; relative to the project's root"
    )
    context: str | None = Field(default=None, description="context of the kubeconfig; its current one by default")
    id: str | None = Field(
        default=None,
        description="identity of the cluster; by default derived from its API server's address and authority",
    )
    pools: tuple[Pool, ...] = Field(min_length=1, description="the GPU pools")
    ranges: AddressRanges = AddressRanges()

    # Checks of single fields, not of the model: those would not run while another field is faulty.
    @field_validator("kubeconfig")
    @classmethod
    def _one_kubeconfig(cls, value: str | None, info: ValidationInfo) -> str | None:
        if "kubeconfig_secret" in info.data and (value is None) == (info.data["kubeconfig_secret"] is None):
            given = "neither is given" if value is None else "both are given"
            raise ValueError(f"{given}; write kubeconfig (a path) or kubeconfigSecret (the name of a secret key)")
        return value

    @field_validator("pools")
    @classmethod
    def _pool_names_differ(cls, value: tuple[Pool, ...]) -> tuple[Pool, ...]:
        names = [pool.name for pool in value]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two pools have the name {', '.join(repeated)}; give each its own")
        return value
