"""`gpu-fabric:cluster` with provider `existing`: an existing cluster."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from gpu_fabric.base.grammar import DnsLabel, LineText, Spelled
from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.distribution import USUAL_NETWORKS, USUAL_PLUGINS
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.cluster import DISTINCT_POOL_NAMES, ClusterBase, KubernetesVersion, PoolSpec
from gpu_fabric.spec.suggestion import nearest

_LONGEST_PATH, _LONGEST_NAME = 4095, 255


def _path(value: str) -> str:
    # The message does not repeat the value, which may be the text of a kubeconfig with its token.
    names = value.encode("utf-8", "surrogatepass").split(b"/")
    too_long = len(value) > _LONGEST_PATH or any(len(name) > _LONGEST_NAME for name in names)
    if too_long or value != value.strip() or re.search(r"[\x00-\x1f\x7f]|[{}]|\w:\s", value):
        raise ValueError(
            "this is not a valid path; write that of a kubeconfig file, or seal the kubeconfig's text by `pulumi "
            "config set --secret gpu-fabric:kubeconfig` and write kubeconfigSecret: kubeconfig in place of this key"
        )
    return value


KubeconfigPath = Annotated[str, AfterValidator(_path)]


HostFolder = Annotated[str, Spelled(r"/[A-Za-z0-9._/-]{1,250}", "folder", "an absolute path, such as /opt/cni/bin")]


def _known_cloud(value: str) -> str:
    known = catalog().clouds
    if value not in known:
        raise ValueError(f"no profile {value!r}; {nearest(value, known)}allowed: {', '.join(known)}")
    return value


CloudName = Annotated[str, AfterValidator(_known_cloud)]


class CniFoldersSpec(FrozenModel):
    """Folders of the nodes in which the container runtime looks for what CNI needs."""

    plugins: HostFolder = Field(default=USUAL_PLUGINS, description="folder of CNI plug-ins")
    networks: HostFolder = Field(default=USUAL_NETWORKS, description="folder of CNI configurations, Multus' among them")


class ExistingClusterSpec(ClusterBase):
    """An existing cluster, in which this program creates no machines."""

    absent_keys: ClassVar[dict[str, str]] = {
        "otherPools": "a cluster that exists has its nodes without a fabric already; leave them out of the file: list "
        "the nodes with RDMA NICs alone, under pools"
    }

    provider: Literal["existing"] = Field(description="where the cluster comes from: it exists")
    kubeconfig_secret: DnsLabel | None = Field(
        default=None, description="name of the secret configuration key that holds the kubeconfig, instead of a path"
    )
    kubeconfig: KubeconfigPath | None = Field(
        default=None,
        min_length=1,
        validate_default=True,
        description="path of the kubeconfig file; relative to the project's root",
    )
    context: LineText | None = Field(
        default=None,
        description="context of the kubeconfig; its current one by default, which is a warning where it "
        "has contexts of several clusters",
    )
    profile: CloudName | None = Field(
        default=None,
        description="cloud that runs the cluster, such as eks: its machine types, and what its nodes have and its pods "
        "ask for (docs/clouds.md)",
    )
    id: LineText | None = Field(
        default=None,
        description="identity of the cluster; by default derived from its API server's address and authority",
    )
    kubernetes: KubernetesVersion | None = Field(
        default=None, description="Kubernetes version, in quotes; lets the release line's needs be checked"
    )
    clean_nodes: bool = Field(
        default=False,
        description="whether destroy takes away the labels and annotations that NVIDIA's operators leave on nodes",
    )
    cni_folders: CniFoldersSpec | None = Field(
        default=None,
        description="CNI's folders on the nodes, for all that the stack installs there; by default the usual ones, "
        "which K3s, MicroK8s, GKE and OpenShift have elsewhere (docs/managed-kubernetes.md)",
    )
    pools: Annotated[tuple[PoolSpec, ...], DISTINCT_POOL_NAMES] = Field(min_length=1, description="the GPU pools")

    # Validators of single fields, because a validator of the model does not run while another field is invalid.
    @field_validator("kubeconfig")
    @classmethod
    def _one_kubeconfig(cls, value: str | None, info: ValidationInfo) -> str | None:
        if "kubeconfig_secret" in info.data and (value is None) == (info.data["kubeconfig_secret"] is None):
            given = "neither is given" if value is None else "both are given"
            raise ValueError(f"{given}; write kubeconfig (a path) or kubeconfigSecret (the name of a secret key)")
        return value
