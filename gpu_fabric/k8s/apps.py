"""apps/v1: the DaemonSet and the Deployment, with the fields that the program uses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.templates import filled
from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject, ObjectMeta
from gpu_fabric.k8s.core import LocalReference
from gpu_fabric.k8s.field_types import NumberOrPercent, Quantity
from gpu_fabric.k8s.scheduling import EnvVar, LabelSelector, NodeAffinity, Toleration

PartName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
"""The name of a container or a volume of a pod."""

AbsolutePath = Annotated[str, Field(pattern=r"^/[^:]*$")]


class Capabilities(KubernetesModel):
    """Capabilities that a container has more, or less, than its runtime gives."""

    add: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None


class SeccompProfile(KubernetesModel):
    """The filter of system calls."""

    type: Literal["RuntimeDefault"] = "RuntimeDefault"


class SecurityContext(KubernetesModel):
    """Permissions of a container on the node."""

    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    read_only_root_filesystem: bool | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = Field(default=None, ge=0)
    seccomp_profile: SeccompProfile | None = None


NOBODY = 65534
"""The user without rights of its own, by Linux' custom."""


def confined(*, capabilities: tuple[str, ...] = (), user: int | None = None) -> SecurityContext:
    """The least that a container can do with: of the capabilities none but these, as this user unless it is root.

    The root file system is read-only: what the container writes goes to a volume.
    """
    return SecurityContext(
        allow_privilege_escalation=False,
        capabilities=Capabilities(add=capabilities or None, drop=("ALL",)),
        read_only_root_filesystem=True,
        run_as_non_root=None if user is None else True,
        run_as_user=user,
        seccomp_profile=SeccompProfile(),
    )


class ExecAction(KubernetesModel):
    """A command in the container; exit status 0 means yes."""

    command: tuple[str, ...] = Field(min_length=1)


class ReadinessProbe(KubernetesModel):
    """A check whether the container has finished its work; times in seconds."""

    exec: ExecAction
    initial_delay_seconds: int | None = Field(default=None, ge=0)
    period_seconds: int | None = Field(default=None, ge=1)
    timeout_seconds: int | None = Field(default=None, ge=1)
    failure_threshold: int | None = Field(default=None, ge=1)


class Resources(KubernetesModel):
    """Requests and limits of a container, by resource."""

    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None


class VolumeMount(KubernetesModel):
    """A volume of the pod at a path of the container."""

    name: PartName
    mount_path: AbsolutePath
    read_only: bool | None = None
    mount_propagation: Literal["None", "HostToContainer", "Bidirectional"] | None = None


class FieldReference(KubernetesModel):
    """A field of the pod itself."""

    field_path: Literal["spec.nodeName", "metadata.name", "metadata.namespace"]


class ValueSource(KubernetesModel):
    """The source of a variable's value."""

    field_ref: FieldReference


class ContainerVariable(EnvVar):
    """An environment variable: a plain value, or a field of the pod."""

    value_from: ValueSource | None = None


NODE_NAME = ContainerVariable(
    name="NODE_NAME", value_from=ValueSource(field_ref=FieldReference(field_path="spec.nodeName"))
)
"""The name of the node that a pod runs on."""


class Container(KubernetesModel):
    """One container; `command` replaces the image's entry point, `args` its arguments."""

    name: PartName
    image: str = Field(min_length=1)
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[ContainerVariable, ...] | None = None
    resources: Resources | None = None
    volume_mounts: tuple[VolumeMount, ...] | None = None
    readiness_probe: ReadinessProbe | None = None
    security_context: SecurityContext | None = None

    @model_validator(mode="after")
    def _mounts(self) -> Self:
        mounts = self.volume_mounts or ()
        _refuse_doubles(f"container {self.name}: mountPath", [mount.mount_path for mount in mounts])
        privileged = self.security_context is not None and self.security_context.privileged
        for mount in mounts:
            if mount.mount_propagation == "Bidirectional" and not privileged:
                raise ValueError(f"container {self.name}: only a privileged one may mount {mount.name} Bidirectional")
        return self


class HostPath(KubernetesModel):
    """A path of the node; with a `type`, the pod starts only if the path has that type."""

    path: AbsolutePath
    type: (
        Literal["DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"] | None
    ) = None


class ConfigMapFiles(KubernetesModel):
    """The entries of a ConfigMap as files; `default_mode` are their permission bits, for example 0o755."""

    name: str
    default_mode: int | None = Field(default=None, ge=0, le=0o777)


class EmptyDir(KubernetesModel):
    """A folder that is deleted with the pod."""


class Volume(KubernetesModel):
    """A named volume with one source."""

    name: PartName
    host_path: HostPath | None = None
    config_map: ConfigMapFiles | None = None
    empty_dir: EmptyDir | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if [self.host_path, self.config_map, self.empty_dir].count(None) != 2:
            raise ValueError(f"volume {self.name} needs one of hostPath, configMap and emptyDir")
        return self


class Affinity(KubernetesModel):
    """Required and preferred nodes of a pod."""

    node_affinity: NodeAffinity | None = None


class PodSpec(KubernetesModel):
    """A pod's containers and scheduling; init containers run first, one after another."""

    service_account_name: str | None = None
    automount_service_account_token: bool | None = None
    image_pull_secrets: tuple[LocalReference, ...] | None = None
    host_network: bool | None = None
    host_pid: bool | None = None
    priority_class_name: str | None = None
    termination_grace_period_seconds: int | None = Field(default=None, ge=0)
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    containers: tuple[Container, ...] = Field(min_length=1)
    volumes: tuple[Volume, ...] | None = None

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        containers = [*(self.init_containers or ()), *self.containers]
        volumes = [volume.name for volume in self.volumes or ()]
        _refuse_doubles("container", [container.name for container in containers])
        _refuse_doubles("volume", volumes)
        for container in containers:
            for mount in container.volume_mounts or ():
                if mount.name not in volumes:
                    raise ValueError(f"container {container.name} mounts volume {mount.name}, which the pod has not")
        for container in self.init_containers or ():
            if container.readiness_probe is not None:
                raise ValueError(f"init container {container.name} takes no readinessProbe: it ends instead")
        return self


def pod_spec(table: Path, values: Mapping[str, Any]) -> PodSpec:
    """The pod of a table with places for values, as those of `gpu_fabric.base.templates` are.

    Raises:
        KeyError: a place has no value.
        pydantic.ValidationError: it is not a valid pod.
    """
    return PodSpec.model_validate(filled(read_table(table), values))


class PodTemplateMetadata(KubernetesModel):
    """Labels and annotations of every pod; its name comes from the DaemonSet."""

    labels: dict[str, str] = Field(min_length=1)
    annotations: dict[str, str] | None = None


class PodTemplate(KubernetesModel):
    """The template of every pod; a change restarts the DaemonSet's pods (rolling)."""

    metadata: PodTemplateMetadata
    spec: PodSpec


class RollingUpdate(KubernetesModel):
    """The number of nodes that may be without their pod during an update; by default 1."""

    max_unavailable: NumberOrPercent | None = None


class UpdateStrategy(KubernetesModel):
    """Replaces pods node by node."""

    type: Literal["RollingUpdate"] = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class _SelectedPods(KubernetesModel):
    selector: LabelSelector
    template: PodTemplate

    @model_validator(mode="after")
    def _selects_its_pods(self) -> Self:
        wanted = self.selector.match_labels or {}
        if not wanted:
            raise ValueError("the pods need selector.matchLabels")
        missing = dict(wanted.items() - self.template.metadata.labels.items())
        if missing:
            raise ValueError(f"selector.matchLabels {missing} are not among the template's labels")
        return self


class DaemonSetSpec(_SelectedPods):
    """The pods; the selector, which never changes, must match the template's labels."""

    update_strategy: UpdateStrategy | None = None


class DaemonSet(KubernetesObject, api_version="apps/v1"):
    """One pod on every node that its template allows."""

    spec: DaemonSetSpec


def daemon_set(
    name: str,
    namespace: str,
    labels: dict[str, str],
    pod: PodSpec,
    *,
    selected_by: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    max_unavailable: str = "100%",
) -> DaemonSet:
    """A DaemonSet of pods with its labels, by all of which it selects them unless it is `selected_by` some."""
    metadata = PodTemplateMetadata(labels=labels, annotations=annotations)
    spec = DaemonSetSpec(
        selector=LabelSelector(match_labels=selected_by or labels),
        template=PodTemplate(metadata=metadata, spec=pod),
        update_strategy=UpdateStrategy(rolling_update=RollingUpdate(max_unavailable=max_unavailable)),
    )
    return DaemonSet(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), spec=spec)


def _refuse_doubles(what: str, names: list[str]) -> None:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"{what} {', '.join(doubled)} is given twice")


class DeploymentSpec(_SelectedPods):
    """The pods; the selector, which never changes, must match the template's labels."""

    replicas: int = Field(ge=0)


class Deployment(KubernetesObject, api_version="apps/v1"):
    """A number of equal pods on any nodes."""

    spec: DeploymentSpec
