"""The items of steps: a chart to release, an object to apply or a wait, each with its readiness decided."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, JsonValue, SerializeAsAny, field_serializer

from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.version import RangeText
from gpu_fabric.k8s.base import KubernetesObject, ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.busbw import Bar
from gpu_fabric.spec.verification import Launcher

if TYPE_CHECKING:
    from gpu_fabric.nccl.verdict.result import Expectation


class Conflict(NamedTuple):
    """What two fabrics of a stack want to be different: the item, the place in it, and whose wishes these are."""

    what: str
    place: str
    first: str
    second: str


class ChartReference(FrozenModel):
    """Where a chart comes from: `path` for a folder of this repository, else `repository` (https or oci)."""

    name: str
    version: str
    repository: str | None = None
    path: str | None = None


class SecretValue(FrozenModel):
    """A value from a secret: its dotted `path`, and the `entry` of the JSON that the configuration key holds.

    Without an `entry` it is the whole text. Charts and Secrets take it in Base64.
    """

    path: str
    key: str
    entry: str | None


class HelmRelease(FrozenModel):
    """A release with a fixed name. `timeout` is in seconds and covers the wait for every object of the chart.

    `secret_values` are not in `values`: the plan never holds them.
    """

    name: str
    namespace: str
    chart: ChartReference
    values: dict[str, JsonValue]
    secret_values: tuple[SecretValue, ...] = ()
    timeout: int = Field(ge=60)


class PlannedObject(FrozenModel):
    """An object to apply. `wait_for` is a `pulumi.com/waitFor` condition; None says that it is ready when created.

    `timeout` is in seconds. An object that changes in one of the paths `replaced_on` is replaced, since the API refuses
    that change. One that is not `awaited` counts as ready once it is created, whatever its kind.
    """

    object: SerializeAsAny[KubernetesObject]
    wait_for: str | None = None
    timeout: int = Field(default=300, ge=1)
    replaced_on: tuple[str, ...] = ()
    awaited: bool = True

    @field_serializer("object")
    def _as_manifest(self, value: KubernetesObject) -> dict[str, JsonValue]:
        return value.manifest()

    @property
    def name(self) -> str:
        """The object's own name."""
        return self.object.metadata.name


DOCKER_CONFIGURATION = ".dockerconfigjson"
"""The entry of a Secret for pulling images: a Docker configuration."""


class PlannedPullSecret(FrozenModel):
    """A Secret for pulling images, which the stack creates; its content is that of the secret configuration key `key`.

    The plan never holds it.
    """

    name: str
    namespace: str
    key: str


def config_map_name(name: str, content: str) -> str:
    """A name that carries the content's hash, so that new content restarts the pods."""
    return f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def file_config_map(
    name: str, namespace: str, file: str, content: str, labels: dict[str, str] | None = None
) -> ConfigMap:
    """An immutable ConfigMap with one file, under a name that carries the content's hash."""
    metadata = ObjectMeta(name=config_map_name(name, content), namespace=namespace, labels=labels)
    return ConfigMap(metadata=metadata, immutable=True, data={file: content})


class PlannedGroup(FrozenModel):
    """Objects, one or more a node, that are one resource of the stack together.

    So the number of resources does not depend on that of nodes. `cut` states as text what cannot change in an object: a
    changed one replaces the group. `timeout` is in seconds, until the last deleted object is gone.
    """

    name: str
    cut: str
    objects: tuple[PlannedObject, ...]
    timeout: int = Field(default=300, ge=1)

    @property
    def manifests(self) -> dict[str, dict[str, Any]]:
        """The objects by kind and name."""
        by_kind: dict[str, dict[str, Any]] = {}
        for entry in self.objects:
            by_kind.setdefault(entry.object.kind, {})[entry.name] = entry.object.manifest()
        return by_kind

    @property
    def plurals(self) -> dict[str, str]:
        """The kinds' names in paths of the API."""
        return {entry.object.kind: entry.object.plural for entry in self.objects}


class PlannedQueues(FrozenModel):
    """A queue of Kueue with what it stands on (`flavors`), and every namespace's way into it.

    `namespace` and `controller` are those of the Deployment that takes finalizers off what is deleted. Of the stack's
    own controller the first queue `stops_controller` once all of them are deleted. `tenants` are the queues of
    namespaces with a share of their own, in one cohort with the queue.
    """

    name: str
    namespace: str
    controller: str
    flavors: tuple[PlannedObject, ...]
    queue: PlannedObject
    tenants: tuple[PlannedObject, ...] = ()
    local_queues: tuple[PlannedObject, ...]
    stops_controller: bool = Field(default=True, exclude_if=bool)

    @property
    def objects(self) -> tuple[PlannedObject, ...]:
        """Every object, in the order in which they are needed."""
        return (*self.flavors, self.queue, *self.tenants, *self.local_queues)

    @property
    def each(self) -> tuple[PlannedQueues, ...]:
        """The same once for every queue, under the queue's name."""
        names = (self.queue.name, *(entry.name for entry in self.tenants))
        return tuple(self.model_copy(update={"name": name}) for name in names)


class PlannedWebhookCleanup(FrozenModel):
    """Webhook configurations, by their one name, that an operator of the namespace registers while it runs.

    They are no objects of its chart. Those that outlive their Service refuse everything that they look at, so they are
    deleted before the namespace is created, and after it is deleted.
    """

    name: str
    namespace: str


class PlannedLabelCleanup(FrozenModel):
    """Labels and annotations of nodes, by how their keys begin, that operators leave when they are uninstalled.

    Keys that a node has before the operators come are kept.
    """

    prefixes: tuple[str, ...]


class PlannedPatch(FrozenModel):
    """Settings in an object that other software owns: it is never created and never deleted."""

    api_version: str
    kind: str
    name: str
    spec: dict[str, JsonValue]


class PlannedAdoption(FrozenModel):
    """Sections that the stack adds to an object that exists, and takes out again when they are not wanted any more.

    What other software wrote is never changed: a field of another value is a conflict, which is reported.
    """

    api_version: str
    kind: str
    plural: str
    name: str
    spec: dict[str, JsonValue]


class ExpectedDefinition(FrozenModel):
    """A kind that the stack uses and does not define: the name of its definition, and the version of the API."""

    name: str
    version: str


class ExpectedOperator(FrozenModel):
    """An operator that the cluster has, with the kinds that the stack uses of it.

    `tested` is the release line's own version, and `versions` the range that counts as that: both are None for an
    operator that no chart of the line is. `namespace` is None where the stack puts nothing into the operator's.
    """

    name: str
    title: str
    tested: str | None = None
    versions: RangeText | None = None
    namespace: str | None = None
    definitions: tuple[ExpectedDefinition, ...] = ()


class ExpectedResource(FrozenModel):
    """A resource that a device plug-in of the cluster must offer, and the NICs that it must select for it.

    `shared` is that of the RDMA shared plug-in. `addresses` are the NICs' PCI addresses and `interfaces` their names,
    None where one is not known; `all_rails`: they are all RDMA NICs of the node. `pods` share each NIC.
    """

    name: str
    shared: bool
    addresses: tuple[str | None, ...]
    interfaces: tuple[str | None, ...]
    all_rails: bool
    pods: int


class ExpectedPolicy(FrozenModel):
    """What the cluster's own NicClusterPolicy must have: dotted sections, and resources of its device plug-ins."""

    sections: tuple[str, ...]
    resources: tuple[ExpectedResource, ...]


class PlannedSharing(FrozenModel):
    """What a stack that shares a cluster finds there, which is checked before anything is registered.

    `stack` is the mark of the stack's objects: one that exists without it is another's. `policy` is None where the
    stack writes a policy, or needs none.
    """

    stack: str
    operators: tuple[ExpectedOperator, ...] = ()
    policy: ExpectedPolicy | None = None


class PlannedReadiness(FrozenModel):
    """An object that a chart creates and whose condition is waited for before anything that relies on it.

    `wait_for` is a `pulumi.com/waitFor` condition, and `also_for` one that must hold as well; `timeout` is in seconds.
    """

    api_version: str
    kind: str
    name: str
    wait_for: str
    also_for: str | None = None
    timeout: int = Field(ge=1)

    @property
    def conditions(self) -> tuple[str, ...]:
        """All that must hold at once."""
        return (self.wait_for,) if self.also_for is None else (self.wait_for, self.also_for)


class PlannedRollout(FrozenModel):
    """An operator's DaemonSet whose pods are restarted when our annotation in their template changes.

    `timeout` is in seconds, until Kubernetes has observed the change.
    """

    namespace: str
    daemon_set: str
    annotations: dict[str, str]
    timeout: int = Field(ge=1)


class PlannedConfiguration(FrozenModel):
    """A device plug-in's configuration, as the operator must have written it before its pods count as restarted.

    `text` is JSON, compared by its meaning; `timeout` is in seconds.
    """

    namespace: str
    config_map: str
    daemon_set: str
    text: str
    timeout: int = Field(ge=1)


class PlannedState(FrozenModel):
    """An object of the whole cluster that software of the stack creates, and the value that a field of it must have.

    `field` is a dotted path, `creator` the software in words; `timeout` is in seconds. Another value is enough while
    pods in the namespace `or_due_in` wait for their node's wave: pods of an earlier template that are replaced only
    when something deletes them.
    """

    api_version: str
    kind: str
    plural: str
    name: str
    creator: str
    field: str
    value: str
    timeout: int = Field(ge=1)
    or_due_in: str | None = Field(default=None, exclude_if=lambda value: value is None)


class PlannedRetention(FrozenModel):
    """An object of the whole cluster that a release's chart has made and a newer one has not: it stays nevertheless.

    Without Helm's annotation for that, the upgrade deletes it, and Kubernetes deletes all that it owns.
    """

    api_version: str
    kind: str
    plural: str
    name: str


class WantedFunctions(FrozenModel):
    """What a node policy asks of each node with the labels `nodes`: the interfaces that its object's spec must have.

    `addresses` are PCI addresses; where there are none, one interface at least. `mtu` None is not asked for.
    """

    policy: str
    resource: str
    nodes: dict[str, str]
    addresses: tuple[str, ...] = ()
    count: int
    mtu: int | None = None


class PlannedWait(FrozenModel):
    """Objects, one a node, that an operator makes, and the field of theirs that must have a value on every GPU node.

    An object is named after its node. The nodes that count have the labels `nodes` and some of the resource `having`.
    `field` is a dotted path, and `failed` its value where waiting longer is of no use; `reason` is the path at which
    the operator says why. `resources` are what every node must offer at least: a field alone may still be the one of
    an earlier wish. `functions` are what the node policies ask for: until an object's spec says that, its status is one
    of before. `served_by` is a DaemonSet of the namespace that must have a pod that works. `timeout` is in seconds.
    """

    api_version: str
    plural: str
    namespace: str
    nodes: dict[str, str]
    having: str
    resources: dict[str, int]
    field: str
    value: str
    failed: str
    reason: str
    functions: tuple[WantedFunctions, ...] = ()
    served_by: str | None = None
    timeout: int = Field(ge=1)


class PlannedCapacity(FrozenModel):
    """What every GPU node must offer before jobs may come: some of each of the `resources`, which name their rails.

    The nodes have the labels `nodes`, and there are `count` of them or more. A resource without a rail is the GPUs'.
    `timeout` is in seconds.
    """

    nodes: dict[str, str]
    count: int = Field(ge=0)
    resources: dict[str, int | None]
    timeout: int = Field(ge=1)


class PublishedNics(FrozenModel):
    """NICs that a DRA driver publishes of a node without jobs: the values that an attribute has on one of them each."""

    driver: str
    attribute: str
    values: tuple[str, ...]


class ProvenNodes(FrozenModel):
    """What each node with all of the labels must offer before jobs may come back: numbers of resources, and NICs."""

    labels: dict[str, str]
    resources: dict[str, int]
    nics: PublishedNics | None = Field(default=None, exclude_if=lambda value: value is None)


Way = Literal["plugin", "claims"]
CHANGING = "changing"
"""The value of the label of a node on which neither way hands out NICs, since the one has ended."""


class PlannedWay(FrozenModel):
    """How the NICs of every node are handed out in the end, where waves take nodes from one manager to another.

    Nodes without the label have the way `home`. `images` are ends of images' names: of the device plug-ins, and of the
    DRA driver `driver`, whose DaemonSets must choose their nodes by the label.
    """

    way: Way
    home: Way
    driver: str
    images: tuple[str, ...]


class ObeyedPolicy(FrozenModel):
    """A policy whose operator writes the DaemonSets of `namespace`: their images are those that the policy names."""

    api_version: str
    plural: str
    name: str
    namespace: str


class PlannedHook(FrozenModel):
    """A pod that runs once on each node; `manifest` is without the node's name. `digest` is that of what it does."""

    digest: str
    manifest: dict[str, JsonValue]


class PlannedMachines(FrozenModel):
    """Managed node pools at Oracle whose machines are replaced where they were made for another version or image.

    `pools` are their names, of the cluster's `compartment` and `region`. What has been replaced is kept in a ConfigMap
    `name` of a `namespace`, since the Node object of a machine is deleted with it.
    """

    compartment: str
    region: str
    pools: tuple[str, ...]
    namespace: str
    name: str


class PlannedWaves(FrozenModel):
    """Waves in which nodes are changed: those with pods of an earlier template, and those that the hook has not seen.

    `percent` of all nodes is in place of `nodes_at_a_time`. `namespaces` have the software on nodes, whose pods are no
    jobs; `plugins` are DaemonSets of the fabric's device plug-ins there, which start again on a changed node.
    `revision` stands for the versions of the software: a node that was proven with another one is proven again. Times
    are in seconds: until the jobs on a node end, and for its change and proof. `evict`: jobs that remain are evicted,
    else they stop the waves. Nodes prove themselves where `by_condition` says that the stack has a check that writes
    their condition; else by what they offer, and by their state in `states` where the SR-IOV operator keeps one.
    `machines` says whose machines are replaced, too. `way` has each node's NICs handed out in one way in the end.
    """

    revision: str
    nodes_at_a_time: int
    percent: int | None
    nodes: dict[str, str]
    namespaces: tuple[str, ...]
    plugins: tuple[str, ...]
    policies: tuple[ObeyedPolicy, ...]
    proven: tuple[ProvenNodes, ...]
    states: tuple[PlannedWait, ...]
    by_condition: bool
    hook: PlannedHook | None
    job_seconds: int = Field(ge=0)
    evict: bool
    node_seconds: int = Field(ge=1)
    machines: PlannedMachines | None = None
    way: PlannedWay | None = Field(default=None, exclude_if=lambda value: value is None)

    def at_a_time(self, nodes: int) -> int:
        """How many of so many nodes are changed at a time; a share is rounded down, and is one at least."""
        return self.nodes_at_a_time if self.percent is None else max(1, nodes * self.percent // 100)


REPORT = "fabric-verification"
"""Name of the ConfigMap with the verification's verdict and the files that it comes from."""
SCHEDULE = "fabric-idle"
"""Name of the CronJob that measures idle nodes, and of what belongs to it."""
HISTORY, PRESENT = f"{REPORT}-history", f"{REPORT}-present"
"""Names of the ConfigMaps that a scheduled run writes: its history, and which of its pods are there."""
OWN_BAR = "the stack file"
"""Where a bar of the user's own is written."""


class PlannedPointToPoint(FrozenModel):
    """What the run measures by UCX between two nodes: the program, the bar of a rail, and the rails' networks."""

    program: str
    bar: Bar
    networks: tuple[str | None, ...]


class PlannedVerification(FrozenModel):
    """A run of the verification. `rails` of each node are used, and each is measured alone where `each_rail` says so.

    `name` is that of the job and all its objects; its end is a hash of everything that the run depends on. `pods` are
    all of the job's; `seconds` its limit. `own_bar` and `own_rail_bar` are the stack file's. `shapes` are those of the
    nodes. `keys_secret` is made when the run starts: keys have no place in a plan. `fabric` is the name of the fabric
    that is measured, where it is not that of the section `fabric`.
    """

    name: str
    namespace: str
    launcher: Launcher
    nodes: int
    pods: int
    rails: int
    each_rail: bool
    bar: Bar
    rail_bar: Bar | None
    own_bar: float | None
    own_rail_bar: float | None
    seconds: int
    wait: bool
    report: str = REPORT
    fabric: str = Field(default="", exclude_if=lambda value: not value)
    keys_secret: str | None
    shapes: tuple[Shape, ...]
    point_to_point: PlannedPointToPoint | None = Field(default=None, exclude_if=lambda value: value is None)
    manifests: tuple[dict[str, JsonValue], ...]

    @property
    def expectation(self) -> Expectation:
        """What is asked of the run."""
        from gpu_fabric.nccl.verdict.point_to_point import PointToPoint
        from gpu_fabric.nccl.verdict.result import Expectation

        between = self.point_to_point
        return Expectation(
            shapes=self.shapes,
            rails=self.rails,
            nodes=self.nodes,
            bar=self.own_bar,
            rail_bar=self.own_rail_bar,
            bars_from=OWN_BAR,
            each_rail=self.each_rail,
            point_to_point=None if between is None else PointToPoint(between.bar, between.networks, between.program),
        )


Item = (
    HelmRelease
    | PlannedObject
    | PlannedReadiness
    | PlannedPatch
    | PlannedPullSecret
    | PlannedAdoption
    | PlannedRollout
    | PlannedGroup
    | PlannedQueues
    | PlannedVerification
    | PlannedWait
    | PlannedCapacity
    | PlannedConfiguration
    | PlannedState
    | PlannedWaves
    | PlannedRetention
    | PlannedWebhookCleanup
    | PlannedLabelCleanup
    | PlannedSharing
)
"""What a step applies, or waits for."""


def objects_of(item: Item) -> tuple[PlannedObject, ...]:
    """The objects that an item applies, with those of a group or of queues."""
    if isinstance(item, PlannedGroup | PlannedQueues):
        return item.objects
    return (item,) if isinstance(item, PlannedObject) else ()
