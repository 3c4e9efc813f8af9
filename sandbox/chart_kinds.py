"""Kinds of the stand-in charts that the program never writes: those of controllers and charts, and jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import OpenObject


class Condition(KubernetesModel):
    """A condition in the form that all Kubernetes controllers use."""

    type: str = Field(min_length=1, max_length=316)
    status: Literal["True", "False", "Unknown"]
    reason: str = Field(min_length=1, max_length=1024)
    message: str = Field(max_length=32768)
    last_transition_time: str
    observed_generation: int | None = Field(default=None, ge=0)


class SriovOperatorConfigSpec(KubernetesModel):
    """How the SR-IOV operator runs its daemon and its webhooks; `log_level` 2 is the most verbose."""

    enable_injector: bool | None = None
    enable_operator_webhook: bool | None = None
    config_daemon_node_selector: dict[str, str] | None = None
    config_daemon_env_vars: dict[str, str] | None = None
    log_level: int | None = Field(default=None, ge=0, le=2)
    disable_drain: bool | None = None
    configuration_mode: Literal["daemon", "systemd"] | None = None
    disable_plugins: tuple[Literal["mellanox"], ...] | None = None
    feature_gates: dict[str, bool] | None = None


class OVSNetworkSpec(KubernetesModel):
    """A network of virtual functions behind an Open vSwitch bridge, as far as the operator must find the kind."""

    resource_name: str
    network_namespace: str | None = None
    bridge: str | None = None


class OVSNetwork(KubernetesObject, api_version="sriovnetwork.openshift.io/v1"):
    """A kind without which the SR-IOV operator does not start."""

    spec: OVSNetworkSpec


class SriovOperatorConfigStatus(KubernetesModel):
    """Which webhooks run."""

    injector: str | None = None
    operator_webhook: str | None = None


class SriovOperatorConfig(KubernetesObject, api_version="sriovnetwork.openshift.io/v1"):
    """The SR-IOV operator's settings; it reads only the object named `default` in its own namespace."""

    spec: SriovOperatorConfigSpec
    status: SriovOperatorConfigStatus | None = None


class IPAllocation(KubernetesModel):
    """Who has an address: a container, and its pod as namespace/name."""

    id: str
    podref: str
    ifname: str | None = None


class WhereaboutsIPPoolSpec(KubernetesModel):
    """A range in CIDR notation, and its addresses in use by their position in it."""

    range: str
    allocations: dict[str, IPAllocation]


class WhereaboutsIPPool(KubernetesObject, api_version="whereabouts.cni.cncf.io/v1alpha1", kind="IPPool"):
    """The addresses of one range, kept by Whereabouts."""

    spec: WhereaboutsIPPoolSpec


class ReservationSpec(KubernetesModel):
    """Who has the address that the object is named after."""

    podref: str
    containerid: str | None = None
    ifname: str | None = None


class OverlappingRangeIPReservation(KubernetesObject, api_version="whereabouts.cni.cncf.io/v1alpha1"):
    """One address in use, so that ranges that overlap do not hand it out twice."""

    spec: ReservationSpec


class NodeSlicePoolSpec(KubernetesModel):
    """A range that is cut into slices of one size, one for each node."""

    range: str
    slice_size: str


class NodeSlice(KubernetesModel):
    """The slice of a node; one without a node's name is free."""

    node_name: str
    slice_range: str


class NodeSlicePoolStatus(KubernetesModel):
    """All slices of the range."""

    allocations: tuple[NodeSlice, ...]


class NodeSlicePool(KubernetesObject, api_version="whereabouts.cni.cncf.io/v1alpha1"):
    """A range shared out among the nodes, kept by Whereabouts."""

    spec: NodeSlicePoolSpec
    status: NodeSlicePoolStatus | None = None


class SubnetRoute(KubernetesModel):
    """A destination and the address that leads there."""

    dst: str
    gw: str


class SpiderSubnetSpec(KubernetesModel):
    """A range of addresses that Spiderpool cuts pools of, one for each application."""

    subnet: str
    ip_version: Literal[4, 6] | None = None
    ips: tuple[str, ...] | None = None
    exclude_ips: tuple[str, ...] | None = None
    gateway: str | None = None
    routes: tuple[SubnetRoute, ...] | None = None


class SpiderSubnetStatus(KubernetesModel):
    """What the controller counted; `controlled_ip_pools` is JSON text."""

    controlled_ip_pools: str | None = Field(
        default=None, validation_alias="controlledIPPools", serialization_alias="controlledIPPools"
    )
    total_ip_count: int | None = Field(default=None, ge=0)
    allocated_ip_count: int | None = Field(default=None, ge=0)


class SpiderSubnet(KubernetesObject, api_version="spiderpool.spidernet.io/v2beta1", scope="Cluster"):
    """Addresses for pools that Spiderpool makes by itself; networks of rails have pools of their own instead."""

    spec: SpiderSubnetSpec
    status: SpiderSubnetStatus | None = None


class EndpointAddress(KubernetesModel):
    """What one interface of a pod got."""

    interface: str
    ipv4: str | None = None
    ipv4_pool: str | None = None
    ipv4_gateway: str | None = None
    ipv6: str | None = None
    ipv6_pool: str | None = None
    ipv6_gateway: str | None = None
    clean_gateway: bool | None = None
    routes: tuple[SubnetRoute, ...] | None = None
    vlan: int | None = Field(default=None, ge=0, le=4094)
    mac: str | None = None


class EndpointAllocation(KubernetesModel):
    """The addresses of the pod with this `uid`, on its node."""

    uid: str
    node: str
    ips: tuple[EndpointAddress, ...]


class SpiderEndpointStatus(KubernetesModel):
    """The pod's owner and its current addresses."""

    current: EndpointAllocation
    owner_controller_type: str
    owner_controller_name: str


class SpiderEndpoint(KubernetesObject, api_version="spiderpool.spidernet.io/v2beta1"):
    """The addresses of the pod of the same name, kept by Spiderpool's agent."""

    status: SpiderEndpointStatus | None = None


Share = Annotated[int | str, WithJsonSchema({"x-kubernetes-int-or-string": True})]
"""A number, 0 included, or a percentage as text."""


class GroupVolumeRetention(KubernetesModel):
    """What happens to the volume claims of a group's pods."""

    when_deleted: Literal["Retain", "Delete"] | None = None
    when_scaled: Literal["Retain", "Delete"] | None = None


class SubGroups(KubernetesModel):
    """The division of a group, such as by accelerator island."""

    sub_group_policy_type: Literal["LeaderWorker", "LeaderExcluded"] | None = None
    sub_group_size: int | None = None


class GroupTemplate(KubernetesModel):
    """A group: `size` pods, the leader among them, which is a worker's kind of pod if it has no template of its own."""

    leader_template: OpenObject | None = None
    worker_template: OpenObject
    size: int | None = None
    restart_policy: Literal["Default", "RecreateGroupOnPodRestart", "None"] | None = None
    sub_group_policy: SubGroups | None = None
    volume_claim_templates: tuple[OpenObject, ...] | None = None
    persistent_volume_claim_retention_policy: GroupVolumeRetention | None = None


class GroupUpdate(KubernetesModel):
    """The number of groups that are replaced at the same time."""

    max_surge: Share | None = None
    max_unavailable: Share | None = None
    partition: int | None = None


class GroupRollout(KubernetesModel):
    """The way to a new template."""

    type: Literal["RollingUpdate"]
    rolling_update_configuration: GroupUpdate | None = None


class GroupNetwork(KubernetesModel):
    """Whether the groups share a subdomain."""

    subdomain_policy: Literal["Shared", "UniquePerReplica"]


class LeaderWorkerGroups(KubernetesModel):
    """A number of equal groups."""

    replicas: int | None = None
    leader_worker_template: GroupTemplate
    rollout_strategy: GroupRollout | None = None
    startup_policy: Literal["LeaderCreated", "LeaderReady"] | None = None
    network_config: GroupNetwork | None = None


class LeaderWorkerSet(KubernetesObject, api_version="leaderworkerset.x-k8s.io/v1"):
    """Groups of pods, each a leader and its workers; the status is its controller's own."""

    spec: LeaderWorkerGroups
    status: OpenObject | None = None


class FeatureExpression(KubernetesModel):
    """A condition on one attribute of a feature."""

    op: Literal[
        "In", "NotIn", "InRegexp", "Exists", "DoesNotExist", "Gt", "Ge", "Lt", "Le", "GtLt", "GeLe", "IsTrue", "IsFalse"
    ]
    value: tuple[str, ...] | None = None


class FeatureMatch(KubernetesModel):
    """A feature, for example `pci.device`, and what its attributes must be."""

    feature: str
    match_expressions: dict[str, FeatureExpression] | None = None


class FeatureRule(KubernetesModel):
    """Labels for nodes on which every feature matches."""

    name: str
    labels: dict[str, str] | None = None
    match_features: tuple[FeatureMatch, ...] | None = None


class NodeFeatureRuleSpec(KubernetesModel):
    """Rules in the order of evaluation."""

    rules: tuple[FeatureRule, ...] = Field(min_length=1)


class NodeFeatureRule(KubernetesObject, api_version="nfd.k8s-sigs.io/v1alpha1", scope="Cluster"):
    """A set of labelling rules, for example the Network Operator's for NVIDIA NICs."""

    spec: NodeFeatureRuleSpec


class JobSetDependency(KubernetesModel):
    """Another replicated job that must first reach this status."""

    name: str
    status: Literal["Ready", "Complete"]


class ReplicatedJob(KubernetesModel):
    """A number of equal Jobs with a name; the template is that of a Job."""

    name: str
    group_name: str | None = None
    replicas: int | None = None
    depends_on: tuple[JobSetDependency, ...] | None = Field(default=None, max_length=5)
    template: OpenObject


class JobSetNetwork(KubernetesModel):
    """DNS names of the pods, and their subdomain."""

    enable_dns_hostnames: bool | None = None
    publish_not_ready_addresses: bool | None = None
    subdomain: str | None = None


class JobSetSuccessPolicy(KubernetesModel):
    """The jobs that must complete."""

    operator: Literal["All", "Any"]
    target_replicated_jobs: tuple[str, ...] | None = None


class JobSetFailurePolicy(KubernetesModel):
    """The number and kind of restarts after a failure."""

    max_restarts: int | None = None
    restart_strategy: Literal["Recreate", "BlockingRecreate", "InPlaceRestart"] | None = None


class JobSetStartupPolicy(KubernetesModel):
    """Whether the jobs start in their order."""

    startup_policy_order: Literal["AnyOrder", "InOrder"]


class JobSetCoordinator(KubernetesModel):
    """The pod that the others find by an annotation."""

    replicated_job: str
    job_index: int | None = None
    pod_index: int | None = None


class JobSetSpec(KubernetesModel):
    """The jobs and the policies of success and failure; Kueue suspends the JobSet by `suspend`."""

    replicated_jobs: tuple[ReplicatedJob, ...] | None = None
    network: JobSetNetwork | None = None
    success_policy: JobSetSuccessPolicy | None = None
    failure_policy: JobSetFailurePolicy | None = None
    startup_policy: JobSetStartupPolicy | None = None
    coordinator: JobSetCoordinator | None = None
    managed_by: str | None = None
    suspend: bool | None = None
    ttl_seconds_after_finished: int | None = Field(default=None, ge=0)


class ReplicatedJobStatus(KubernetesModel):
    """The number of jobs in each state, of one replicated job."""

    name: str
    ready: int
    succeeded: int
    failed: int
    active: int
    suspended: int


class JobSetStatus(KubernetesModel):
    """The state of the JobSet."""

    conditions: tuple[Condition, ...] | None = None
    replicated_jobs_status: tuple[ReplicatedJobStatus, ...] | None = None
    restarts: int | None = None
    terminal_state: str | None = None


class JobSet(KubernetesObject, api_version="jobset.x-k8s.io/v1alpha2"):
    """Jobs that start, fail and complete together."""

    spec: JobSetSpec
    status: JobSetStatus | None = None
