"""`gpu-fabric:cluster` with provider `existing`: a cluster that is there already."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from fabric.spec.cluster import ClusterBase, DnsLabel, KubernetesVersion, Pool, distinct_pool_names


class ExistingCluster(ClusterBase):
    """A cluster that is there already; this program creates no machine in it."""

    provider: Literal["existing"] = Field(description="where the cluster comes from: it is there already")
    kubeconfig_secret: DnsLabel | None = Field(
        default=None, description="name of the secret configuration key that holds the kubeconfig, instead of a path"
    )
    kubeconfig: str | None = Field(
        default=None,
        min_length=1,
        validate_default=True,
        description="path of the kubeconfig file; relative to the project's root",
    )
    context: str | None = Field(
        default=None, min_length=1, description="context of the kubeconfig; its current one by default"
    )
    id: str | None = Field(
        default=None,
        min_length=1,
        description="identity of the cluster; by default derived from its API server's address and authority",
    )
    kubernetes: KubernetesVersion | None = Field(
        default=None, description="Kubernetes version, in quotes; lets the release line's needs be checked"
    )
    pools: tuple[Pool, ...] = Field(min_length=1, description="the GPU pools")

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
        distinct_pool_names(value)
        return value
