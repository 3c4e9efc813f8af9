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
