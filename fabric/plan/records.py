"""What a component is handed: a chart to release, or an object to apply, each with its readiness decided."""

from __future__ import annotations

from pydantic import Field, JsonValue, SerializeAsAny, field_serializer

from fabric.k8s.base import KubernetesObject
from fabric.model import FrozenModel


class ChartReference(FrozenModel):
    """Where a chart comes from: `path` for a folder of this repository, else `repository` (https or oci)."""

    name: str
    version: str
    repository: str | None = None
    path: str | None = None


class HelmRelease(FrozenModel):
    """A release with a fixed name. `timeout` is in seconds and covers the wait for every object of the chart."""

    name: str
    namespace: str
    chart: ChartReference
    values: dict[str, JsonValue]
    timeout: int = Field(ge=60)


class PlannedObject(FrozenModel):
    """An object to apply. `wait_for` is a `pulumi.com/waitFor` condition; None says that it is ready when created.

    `timeout` is in seconds.
    """

    object: SerializeAsAny[KubernetesObject]
    wait_for: str | None = None
    timeout: int = Field(default=300, ge=1)

    @field_serializer("object")
    def _as_manifest(self, value: KubernetesObject) -> dict[str, JsonValue]:
        return value.manifest()

    @property
    def name(self) -> str:
        """The object's own name."""
        return self.object.metadata.name


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
