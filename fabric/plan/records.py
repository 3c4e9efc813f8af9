"""What a component is handed: a chart to release, or an object to apply, each with its readiness decided."""

from __future__ import annotations

import hashlib

from pydantic import Field, JsonValue, SerializeAsAny, field_serializer

from fabric.k8s.base import KubernetesObject
from fabric.model import FrozenModel

OBJECTS_CHART_VERSION = "1.0.0"
"""Of charts/objects, this project's own."""


class ChartReference(FrozenModel):
    """Where a chart comes from: `path` for a folder of this repository, else `repository` (https or oci)."""

    name: str
    version: str
    repository: str | None = None
    path: str | None = None


class SecretValue(FrozenModel):
    """A chart value from a secret: its dotted `path`, and the `entry` of the JSON that the configuration key holds.

    The chart takes it in Base64.
    """

    path: str
    key: str
    entry: str


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

    `timeout` is in seconds. An object that changes in one of the paths `replaced_on` is deleted and made anew, since
    the API refuses that change. One that is not `awaited` counts as there once it is created, whatever its kind.
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


class PlannedGroup(FrozenModel):
    """Objects, one or more a node, that are applied together by a release of this project's own chart.

    So their number is no number of resources of the stack, and one node more changes one value of the release. `fixed`
    is what no object can change later: in its digest, which ends the release's name, so that another one replaces it.
    """

    name: str
    namespace: str
    fixed: str
    objects: tuple[PlannedObject, ...]
    timeout: int = Field(default=900, ge=60)

    @property
    def release(self) -> HelmRelease:
        """The release, whose values are the objects by kind and name."""
        by_kind: dict[str, JsonValue] = {}
        for entry in self.objects:
            of_kind = by_kind.setdefault(entry.object.kind, {})
            assert isinstance(of_kind, dict)
            of_kind[entry.name] = entry.object.manifest()
        return HelmRelease(
            name=f"pools-{self.name}-{hashlib.sha256(self.fixed.encode()).hexdigest()[:8]}",
            namespace=self.namespace,
            chart=ChartReference(name="objects", version=OBJECTS_CHART_VERSION, path="charts/objects"),
            values={"objects": by_kind},
            timeout=self.timeout,
        )


class PlannedPatch(FrozenModel):
    """Settings in an object of somebody else's, which stays his: it is never created, and never deleted."""

    api_version: str
    kind: str
    name: str
    spec: dict[str, JsonValue]


class PlannedReadiness(FrozenModel):
    """An object that a chart creates and whose condition is waited for before anything that relies on it.

    `wait_for` is a `pulumi.com/waitFor` condition; `timeout` is in seconds.
    """

    api_version: str
    kind: str
    name: str
    wait_for: str
    timeout: int = Field(ge=1)


class PlannedRollout(FrozenModel):
    """A DaemonSet of an operator's whose pods are made anew when an annotation of ours in their template changes.

    `timeout` is in seconds, until Kubernetes has taken the change up.
    """

    namespace: str
    daemon_set: str
    annotations: dict[str, str]
    timeout: int = Field(ge=1)


class PlannedWait(FrozenModel):
    """Objects, one a node, that an operator makes, and the field of theirs that must have a value on every GPU node.

    An object is named after its node. The nodes that count have the labels `nodes` and some of the resource `having`.
    `field` is a dotted path, and `failed` its value where waiting longer is of no use; `reason` is the path at which
    the operator says why. `resources` are what every node must offer at least: a field alone may still be the one of
    an earlier wish. `timeout` is in seconds.
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
    timeout: int = Field(ge=1)
