"""`gpu-fabric:software`: the release line, the source of its charts, and changes to them."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_snake

from gpu_fabric.base import grammar
from gpu_fabric.base.repeats import repeated, require_unique
from gpu_fabric.catalog import Catalog, catalog
from gpu_fabric.k8s.field_types import Quantity
from gpu_fabric.k8s.kueue import MOST_LEVELS
from gpu_fabric.k8s.names import HOSTNAME_LABEL
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.network_types import Network
from gpu_fabric.spec.suggestion import nearest

DEFAULT_QUEUE = "default"
"""Volcano's queue that exists without configuration."""

ProxyAddress = Annotated[str, AfterValidator(grammar.web_address("http", "https"))]
# What Go, curl and APT read alike: a host or a domain, with a port or not, or a range.
ProxyException = Annotated[
    str,
    grammar.Spelled(
        r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(:[0-9]{1,5})?|[0-9.]+/[0-9]{1,2}|[0-9a-fA-F:]*:[0-9a-fA-F:]*(/[0-9]{1,3})?",
        "exception",
        "a host, a domain such as .example.com, an address or a range such as 10.0.0.0/8",
    ),
]


class OperatorSpec(FrozenModel):
    """The section of an operator that a cluster may have."""

    install: bool = Field(
        default=True, description="false where the cluster has it: the stack then installs no second one"
    )


class PlacedOperatorSpec(OperatorSpec):
    """The section of an operator whose namespace must be known if it is the cluster's own."""

    namespace: grammar.DnsLabel | None = Field(
        default=None,
        description="install: false only: the namespace of the cluster's own; by default that of the stack's charts",
    )

    @model_validator(mode="after")
    def _namespace_of_the_cluster(self) -> Self:
        if self.install and self.namespace is not None:
            raise ValueError(
                "namespace is that of an operator which the cluster has; add install: false, or leave it out"
            )
        return self


class ChartSpec(OperatorSpec):
    """The section of an operator that is its chart alone."""

    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class VolcanoSpec(FrozenModel):
    """Volcano as in the OKE guide: gang scheduling, and jobs whose pods reach each other through ssh."""

    install: bool = Field(
        default=True,
        description="false where the cluster has Volcano: the stack then installs no second one, and creates "
        "queue and accounts alone",
    )
    queue: grammar.DnsLabel = Field(
        default=DEFAULT_QUEUE, description="queue of the fabric's jobs; one of another name than `default` is created"
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class KueueSpec(FrozenModel):
    """Kueue, which suspends jobs until all resources that they request are free."""

    install: bool = Field(
        default=True,
        description="false where the cluster has Kueue: the stack then installs no second one, and creates "
        "the queue alone",
    )
    queue: grammar.DnsLabel = Field(
        default="fabric",
        description="name of the ClusterQueue, and in every namespace of the fabric of the LocalQueue that jobs name; "
        "in a namespace with one named `default`, jobs that name none are queued, too",
    )
    quotas: dict[str, Quantity] = Field(
        default={},
        description="quota of a resource in place of the plan's, or of one that the plan does not know, such as "
        "`{cpu: 768, memory: 8Ti}`; a job that requests a resource without a quota never starts",
    )
    topology: Literal["none"] | tuple[grammar.LabelKey, ...] | None = Field(
        default=None,
        description="labels of the nodes that say how close they are, the widest level first; `none` for none. "
        "By default those of Oracle's RDMA pools, and none elsewhere",
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")

    @field_validator("topology")
    @classmethod
    def _levels_are_levels(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if not isinstance(value, tuple):
            return value
        if value == ("none",):
            # Programs in typed languages have a list here.
            return "none"
        if not 1 <= len(value) <= MOST_LEVELS:
            raise ValueError(f"{len(value)} levels; write 1 to {MOST_LEVELS}, or none")
        if found := repeated(value):
            raise ValueError(f"{', '.join(found)} is there twice; a label is for one level")
        if HOSTNAME_LABEL in value[:-1]:
            raise ValueError(f"{HOSTNAME_LABEL} must come last: no other level is within a node")
        return value


class MpiOperatorSpec(OperatorSpec):
    """The MPI operator, which creates the launcher and workers of an MPIJob."""

    image: grammar.ImageReference | None = Field(
        default=None, description="another image of the operator; by default the release line's"
    )


class JobSetSpec(ChartSpec):
    """JobSet, which creates several Jobs together, with DNS names for their pods."""


class LeaderWorkerSetSpec(ChartSpec):
    """LeaderWorkerSet, which creates groups of a leader and its workers, as for inference on several nodes."""


class SchedulersSpec(FrozenModel):
    """Schedulers in addition to Kubernetes' own, and job controllers; by default none.

    Each has the name by which `cluster.installed` has it, with underscores.
    """

    volcano: VolcanoSpec | None = Field(
        default=None,
        description="Volcano with its queue, and in every namespace of the fabric the account `mpi-worker-view` of the "
        "OKE guide's jobs; `{}` installs it with defaults",
    )
    kueue: KueueSpec | None = Field(
        default=None,
        description="Kueue with a queue of the stack's GPUs and NICs, and their topology where it is known; `{}` "
        "installs it with defaults",
    )
    mpi_operator: MpiOperatorSpec | None = Field(
        default=None, description="the MPI operator, for jobs of kind MPIJob; `{}` installs it with defaults"
    )
    job_set: JobSetSpec | None = Field(
        default=None, description="JobSet, for jobs of that kind; `{}` installs it with defaults"
    )
    leader_worker_set: LeaderWorkerSetSpec | None = Field(
        default=None, description="LeaderWorkerSet, for workloads of that kind; `{}` installs it with defaults"
    )


TlsMethod = Literal["auto", "certmanager", "provided"]


class WebhookCertificateSpec(FrozenModel):
    """The source of the certificate of Spiderpool's admission webhooks."""

    method: TlsMethod = Field(
        default="auto",
        description="`auto`: the chart creates a new authority at every change of the release; `certmanager`: "
        "cert-manager creates and renews it; `provided`: from a secret",
    )
    issuer: grammar.ObjectName | None = Field(
        default=None, description="issuer of cert-manager; by default one that the chart creates"
    )
    secret: grammar.DnsLabel | None = Field(
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


class CoordinatorSpec(FrozenModel):
    """Patched settings of the cluster's SpiderCoordinator; settings that are left out do not change."""

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
        default=None, ge=1280, le=65535, description="bytes; that of the pod network where it is an overlay"
    )
    pod_mac_prefix: (
        Annotated[
            str,
            grammar.Spelled(
                r"[0-9a-fA-F][02468aceACE]:[0-9a-fA-F]{2}",
                "beginning of MAC addresses",
                'two bytes in quotes, of which the first is even, such as "0a:1b"',
            ),
        ]
        | None
    ) = Field(default=None, description="first two bytes of the pods' MAC addresses, of which the first is even")
    tx_queue_len: int | None = Field(default=None, ge=0, description="length of the interfaces' transmit queue")


class SpiderpoolSpec(PlacedOperatorSpec):
    """Settings of Spiderpool."""

    multus: bool = Field(default=True, description="whether its chart installs Multus; false where the cluster has one")
    injection: grammar.LabelValue | None = Field(
        default=None,
        min_length=1,
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
        default=False,
        description="whether a ServiceMonitor for Prometheus is created; needs the Prometheus operator in the cluster",
    )
    grafana_dashboards: bool = Field(
        default=False, description="whether its dashboards are installed; needs the Grafana operator in the cluster"
    )
    grafana_labels: dict[str, str] = Field(
        default={}, description="labels of the Grafana that shows them; the chart's own default fits one vendor's only"
    )
    image_registry: grammar.ImageMirror | None = Field(
        default=None, description="registry that all its images come from, such as a mirror"
    )
    tls: WebhookCertificateSpec = WebhookCertificateSpec()
    coordinator: CoordinatorSpec = CoordinatorSpec()
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class ContainerOfedDriverSpec(FrozenModel):
    """The vendor's network drivers in a container, installed by the chart ofed-driver of the Spiderpool project."""

    os: Annotated[str, grammar.Spelled(r"[a-z]+", "operating system", "its id in lower case, such as ubuntu")] = Field(
        description="operating system of the nodes, such as ubuntu"
    )
    os_version: Annotated[
        str, grammar.Spelled(r"[A-Za-z0-9._-]+", "version", "letters, digits, '.', '_' and '-' in quotes")
    ] = Field(description='its version, in quotes, such as "22.04"')
    arch: Literal["amd64", "arm64"] = Field(default="amd64", description="processor architecture of the nodes")
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


GpuDirect = Literal["dma-buf", "peermem"]
CniPlugins = Literal["install", "node-image"]
MigStrategy = Literal["none", "single", "mixed"]

_CHARTS = grammar.web_address("https", "oci")


class GpuOperatorSpec(FrozenModel):
    """Settings of the GPU Operator."""

    install: bool | None = Field(
        default=None,
        description="whether the stack installs the operator; false where the cluster has one. By default for NVIDIA's "
        "GPUs, but not where DigitalOcean manages the nodes' plug-ins",
    )
    driver: bool = Field(
        default=False,
        description="whether the operator installs the GPU driver; false where the node image contains it",
    )
    toolkit: bool | None = Field(
        default=None,
        description="whether the operator installs the container toolkit; by default it does, but not on "
        "DigitalOcean's nodes, which have it",
    )
    feature_discovery: bool = Field(
        default=True, description="whether the chart installs Node Feature Discovery; false where the cluster has one"
    )
    gpu_direct: GpuDirect | None = Field(
        default=None,
        description="how NICs reach GPU memory: `dma-buf` (open kernel modules, nothing else) or `peermem` (the module "
        "nvidia-peermem and the vendor's network drivers); by default what the release line names",
    )
    gdrcopy: bool = Field(default=False, description="whether the operator loads GDRCopy's kernel module")
    cdi: bool | None = Field(
        default=None,
        description="whether GPUs come into containers by the Container Device Interface; by default the chart's own",
    )
    mig: MigStrategy | None = Field(
        default=None,
        description="partitioned GPUs: `single` (requested as whole ones are) or `mixed` (a resource per partition "
        "size); a pool's label nvidia.com/mig.config names the partitions; by default the chart's own, `single`",
    )
    dcgm_exporter: bool = Field(default=True, description="whether GPU metrics are exported")
    service_monitor: bool = Field(
        default=False,
        description="whether a ServiceMonitor for Prometheus is created; needs the Prometheus operator in the cluster",
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class PartitionKeysSpec(FrozenModel):
    """ib-kubernetes, which adds the GUIDs of pods to the fabric's partition through UFM."""

    ufm_secret: grammar.ObjectName = Field(
        description="name of the secret in the operator's namespace that holds UFM's address and login"
    )
    guid_range_start: grammar.Guid = Field(description="first GUID for pods, eight bytes with colons")
    guid_range_end: grammar.Guid = Field(description="last GUID for pods")

    @model_validator(mode="after")
    def _start_before_end(self) -> Self:
        if self.guid_range_start.lower() >= self.guid_range_end.lower():
            raise ValueError("guidRangeStart must be before guidRangeEnd")
        return self


PolicyOwner = Literal["own", "adopt", "theirs"]


class NetworkOperatorSpec(FrozenModel):
    """Settings of the Network Operator."""

    install: bool = Field(
        default=True,
        description="false where the cluster has the Network Operator: the stack then installs no second "
        "one, and uses its policy as `policy` states",
    )
    namespace: grammar.DnsLabel | None = Field(
        default=None,
        description="the namespace of the operator, its operands and its pools of addresses: that of an older line "
        "stays when the line changes, and a NicClusterPolicy of the older chart is taken over; by default the "
        "release line's",
    )
    policy: PolicyOwner = Field(
        default="own",
        description="`own`: the stack creates the one NicClusterPolicy; `adopt`: it adds the sections that the fabric "
        "needs to the one that exists, and takes them out again; `theirs`: it writes nothing, and what it needs is "
        "compared with the policy before `up`. The last two need install: false",
    )
    multus: bool = Field(
        default=True, description="whether its policy installs Multus; false where the cluster has one"
    )
    ofed_driver: bool = Field(
        default=False, description="whether it loads the vendor's network drivers; false where the node image has them"
    )
    partition_keys: PartitionKeysSpec | None = Field(
        default=None, description="the controller ib-kubernetes with UFM, for `fabric.pkey`"
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")

    @model_validator(mode="after")
    def _policy_of_the_cluster_has_an_operator(self) -> Self:
        if self.install and self.policy != "own":
            raise ValueError(f"policy: {self.policy} is for a cluster that has the operator; add install: false")
        return self


class MultusSpec(FrozenModel):
    """Settings of Multus: whether the cluster has one, and of the one that the stack itself installs.

    It installs one with the managers `doks` and `amd-network-operator`.
    """

    install: bool = Field(
        default=True,
        description="false where the cluster has Multus: the stack then installs no second one, whichever "
        "chart or policy would install it",
    )
    memory: grammar.Memory | None = Field(
        default=None, description="memory of its daemon on every node, such as 1Gi; by default the release line's"
    )
    image: grammar.ImageReference | None = Field(
        default=None, description="another image of the thick form; by default the release line's"
    )


class ImagePullSecretSpec(FrozenModel):
    """A Secret with the login of a registry, by which nodes pull images."""

    name: grammar.ObjectName = Field(description="name of the Secret, in every namespace where pods of the stack run")
    secret: grammar.DnsLabel | None = Field(
        default=None,
        description="name of the secret configuration key that holds a Docker configuration (JSON with `auths`), from "
        "which the stack creates the Secret in each of these namespaces; without, it must exist there",
    )


class ProxySpec(FrozenModel):
    """The HTTP proxy of containers that download packages; images are pulled by the nodes' container runtime."""

    http: ProxyAddress | None = Field(default=None, description="proxy of http:// addresses, without a login in it")
    https: ProxyAddress | None = Field(
        default=None, description="proxy of https:// addresses; its own address may begin with http://"
    )
    no_proxy: tuple[ProxyException, ...] = Field(
        default=(),
        description="hosts, domains and ranges that are reached directly, besides the cluster's own ranges and names",
    )

    @model_validator(mode="after")
    def _names_a_proxy(self) -> Self:
        if self.http is None and self.https is None:
            raise ValueError("neither http nor https is written; write the proxy's address, or leave the section out")
        return self


class DranetSpec(PlacedOperatorSpec):
    """DRANET, the DRA driver for NICs, which is installed with the manager `dranet`."""

    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class AmdNetworkOperatorSpec(PlacedOperatorSpec):
    """AMD's Network Operator, which is installed with the manager `amd-network-operator`."""

    metrics_exporter: bool = Field(
        default=False,
        description="whether nodes run AMD's exporter of the NICs' metrics, with a ServiceMonitor where "
        "`cluster.installed` names prometheus-operator",
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class AmdGpuOperatorSpec(ChartSpec):
    """AMD's GPU Operator: the device plug-in of AMD's GPUs, or their DRA driver where pods claim them."""

    metrics_exporter: bool = Field(
        default=True,
        description="whether nodes run AMD's exporter of the GPUs' metrics, with a ServiceMonitor where "
        "`cluster.installed` names prometheus-operator",
    )


class GpuDraDriverSpec(ChartSpec):
    """NVIDIA's DRA driver for GPUs.

    It hands out the GPUs that pods claim (`fabric.claims.gpus: claims`), and runs domains of NVLink (`fabric.domains`).
    """


class WhereaboutsSpec(ChartSpec):
    """Settings of Whereabouts, which is installed if `addressing.ipam` names it."""


class SriovOperatorSpec(PlacedOperatorSpec):
    """The SR-IOV operator, which the manager's chart contains."""

    install: bool = Field(
        default=True,
        description="false where the cluster has the SR-IOV operator: the manager's chart then installs no second one, "
        "and the stack's policies are for the cluster's",
    )


class NodeFeatureDiscoverySpec(FrozenModel):
    """Node Feature Discovery, which a chart of NVIDIA's operators installs."""

    install: bool | None = Field(
        default=None,
        description="false where the cluster has Node Feature Discovery: no chart then installs a second one",
    )


class SoftwareSpec(FrozenModel):
    """The software that the stack installs."""

    release_line: str = Field(default="26.4", description="the tested set of versions")
    charts: str = Field(
        default="upstream",
        description="`upstream`: the vendor's chart repository; `bundled`: the sandbox's stand-ins; or a mirror's URL",
    )
    registries: dict[grammar.RegistryName, grammar.ImageMirror] = Field(
        default={},
        description="registries that nodes pull images from instead, such as `nvcr.io: mirror.example/nvcr`; `*` is "
        "every registry without a line of its own; charts are included if they come from `oci://`",
    )
    image_pull_secrets: Annotated[
        tuple[ImagePullSecretSpec, ...],
        require_unique(attrgetter("name"), "{} is listed twice; list each Secret once"),
    ] = Field(
        default=(),
        description="Secrets by which nodes pull the images of charts, policies, DaemonSets and the verification",
    )
    proxy: ProxySpec | None = Field(
        default=None,
        description="HTTP proxy of the containers that install drivers; by default they download without one",
    )
    gpu_operator: GpuOperatorSpec = GpuOperatorSpec()
    network_operator: NetworkOperatorSpec = NetworkOperatorSpec()
    spiderpool: SpiderpoolSpec = SpiderpoolSpec()
    amd_network_operator: AmdNetworkOperatorSpec = AmdNetworkOperatorSpec()
    amd_gpu_operator: AmdGpuOperatorSpec | None = Field(
        default=None,
        description="AMD's GPU Operator, which hands out AMD's GPUs on clusters that exist; `{}` installs it with "
        "defaults",
    )
    dranet: DranetSpec = DranetSpec()
    gpu_dra_driver: GpuDraDriverSpec | None = Field(
        default=None,
        description="NVIDIA's DRA driver for GPUs, for `fabric.claims.gpus: claims` and `fabric.domains`; `{}` "
        "installs it with defaults",
    )
    multus: MultusSpec = MultusSpec()
    whereabouts: WhereaboutsSpec = WhereaboutsSpec()
    sriov_operator: SriovOperatorSpec = SriovOperatorSpec()
    node_feature_discovery: NodeFeatureDiscoverySpec = NodeFeatureDiscoverySpec()
    schedulers: SchedulersSpec = SchedulersSpec()
    ofed_driver: ContainerOfedDriverSpec | None = Field(
        default=None,
        description="the vendor's network drivers in a container, with Spiderpool; by default the nodes have them",
    )
    cni_plugins: CniPlugins = Field(
        default="install",
        description="CNI plug-ins that a network needs and no operator installs (sriov, ib-sriov, rdma), and those of "
        "Spiderpool's chart: `install`, or `node-image` where the nodes have them",
    )
    keep_operators: bool = Field(
        default=False,
        description="whether operators, with their policies and namespaces, stay on the cluster when they leave the "
        "stack; for one `up` before `install: false`. As long as it is true, `destroy` leaves them there as well",
    )
    host_image: grammar.ImageReference | None = Field(
        default=None,
        description="image of the DaemonSets that prepare nodes, which take only chroot from it; by default the "
        "release line's",
    )

    def section(self, path: str) -> FrozenModel | None:
        """The section of an operator, such as `schedulers.kueue`; None if the stack file does not have it."""
        found: FrozenModel | None = self
        for name in _fields(path):
            found = None if found is None else getattr(found, name)
        return found

    @property
    def present(self) -> frozenset[str]:
        """The operators that the cluster has by the switches `install: false`."""
        sections = {name: facts.section for name, facts in catalog().operators.items() if facts.section is not None}
        return frozenset(
            name for name, path in sections.items() if getattr(self.section(path), "install", None) is False
        )

    @field_validator("release_line")
    @classmethod
    def _line_is_in_the_catalog(cls, value: str, info: ValidationInfo) -> str:
        known: Catalog = (info.context or {})["catalog"]
        if value not in known.releases:
            why = known.upgrades.named_only(value)
            reason = f": {why}" if why else ""
            guess = "" if why else nearest(value, known.releases)
            raise ValueError(f"no release line {value!r}{reason}; {guess}allowed: {', '.join(sorted(known.releases))}")
        return value

    @field_validator("charts")
    @classmethod
    def _charts_can_be_found(cls, value: str) -> str:
        if value in ("upstream", "bundled"):
            return value
        try:
            return _CHARTS(value)
        except ValueError as error:
            # The message repeats the value only if it cannot contain a login or signature.
            wrong = (
                str(error).partition("; ")[0]
                if "@" in value or "?" in value
                else f"{grammar.shown(value)} names no charts"
            )
            raise ValueError(f"{wrong}; allowed: upstream, bundled, or a mirror (https://… or oci://…)") from None


@cache
def _fields(path: str) -> tuple[str, ...]:
    return tuple(to_snake(key) for key in path.split("."))
