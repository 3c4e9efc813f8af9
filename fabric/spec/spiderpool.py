"""`gpu-fabric:software.spiderpool`: switches of Spiderpool and of its chart."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from fabric.model import FrozenModel
from fabric.spec.cluster import DnsLabel
from fabric.spec.network_types import Network

TlsMethod = Literal["auto", "certmanager", "provided"]
LabelValue = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")]
ImageRegistry = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9._/-]+)?$")]


class WebhookCertificate(FrozenModel):
    """Where the certificate of Spiderpool's admission webhooks comes from."""

    method: TlsMethod = Field(
        default="auto",
        description="`auto`: the chart makes a new authority at every change of the release; `certmanager`: "
        "cert-manager makes and renews it; `provided`: from a secret",
    )
    issuer: str | None = Field(
        default=None, min_length=1, description="issuer of cert-manager; by default one that the chart makes"
    )
    secret: DnsLabel | None = Field(
        default=None,
        description="method `provided`: name of the secret configuration key that holds JSON with the keys "
        "certificate, key and authority, each in PEM",
    )

    @model_validator(mode="after")
    def _fits_the_method(self) -> Self:
        if (self.method == "provided") != (self.secret is not None):
            raise ValueError("method provided needs `secret`, and no other method takes it")
        if self.issuer is not None and self.method != "certmanager":
            raise ValueError("`issuer` is for method certmanager only")
        return self


class Coordinator(FrozenModel):
    """Settings of the cluster's one SpiderCoordinator that are patched; what is left out stays as it is."""

    pod_cidr_type: Literal["auto", "cluster", "calico", "cilium", "none"] | None = Field(
        default=None, description="where the pod range is found; `none` where none of the ways works"
    )
    tune_pod_routes: bool | None = Field(
        default=None, description="whether each interface of a pod gets a route table of its own"
    )
    hijack_cidr: tuple[Network, ...] | None = Field(
        default=None, description="ranges that pods reach by their first interface, such as node-local DNS"
    )
    veth_mtu: int | None = Field(
        default=None, ge=1, le=65535, description="bytes; that of the pod network where it is an overlay"
    )
    pod_mac_prefix: Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F][02468aceACE]:[0-9a-fA-F]{2}$")] | None = (
        Field(default=None, description="first two bytes of the pods' MAC addresses, of which the first is even")
    )
    tx_queue_len: int | None = Field(default=None, ge=0, description="length of the interfaces' transmit queue")


class Spiderpool(FrozenModel):
    """Switches of Spiderpool."""

    multus: bool = Field(default=True, description="whether its chart brings Multus; false where the cluster has one")
    injection: LabelValue | None = Field(
        default=None,
        description="a word; pods that carry it as annotation get all networks and resources of the fabric, by "
        "Spiderpool's webhook, in the fabric's namespaces",
    )
    cleanup: bool = Field(
        default=True,
        description="whether uninstalling removes all of Spiderpool's objects and definitions; it takes those of "
        "every SR-IOV operator with it, so it is off where the cluster has another one",
    )
    ib_kubernetes: bool = Field(
        default=False, description="whether the cluster has ib-kubernetes, which then gets the pods' partition from UFM"
    )
    metrics: bool = Field(default=False, description="whether RDMA traffic and addresses are counted for Prometheus")
    service_monitor: bool = Field(
        default=False, description="whether Prometheus is told of them; needs the Prometheus operator in the cluster"
    )
    grafana_dashboards: bool = Field(
        default=False, description="whether its dashboards are installed; needs the Grafana operator in the cluster"
    )
    grafana_labels: dict[str, str] = Field(
        default={}, description="labels of the Grafana that shows them; the chart's own default fits one vendor's only"
    )
    image_registry: ImageRegistry | None = Field(
        default=None, description="registry that all its images come from, such as a mirror"
    )
    tls: WebhookCertificate = WebhookCertificate()
    coordinator: Coordinator = Coordinator()
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class ContainerOfedDriver(FrozenModel):
    """The vendor's network drivers in a container, by the chart ofed-driver of Spiderpool's project."""

    os: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")] = Field(
        description="operating system of the nodes, such as ubuntu"
    )
    os_version: str = Field(min_length=1, description='its version, in quotes, such as "22.04"')
    arch: Literal["amd64", "arm64"] = Field(default="amd64", description="processor architecture of the nodes")
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")
