"""CNI plug-ins that the networks call and no operator of the stack brings: put on the nodes by a DaemonSet of ours."""

from __future__ import annotations

from fabric.catalog import Component
from fabric.k8s.apps import (
    Container,
    DaemonSet,
    DaemonSetSpec,
    HostPath,
    PodSpec,
    PodTemplate,
    PodTemplateMetadata,
    SecurityContext,
    Volume,
    VolumeMount,
)
from fabric.k8s.base import ObjectMeta
from fabric.k8s.mellanox import NIC_LABEL
from fabric.k8s.scheduling import LabelSelector
from fabric.plan.case import Case
from fabric.plan.operators import tolerations
from fabric.plan.records import PlannedObject

COMPONENT_LABEL = "gpu-fabric/component"
"""On what this project runs on the nodes itself: which part of it."""

_NAME = "fabric-cni-plugins"
_INTERFACE_PLUGINS: dict[str, Component] = {"sriov": "sriovCni", "ib-sriov": "ibSriovCni"}
_IMAGES: dict[str, Component] = {**_INTERFACE_PLUGINS, "rdma": "rdmaCni"}


def lacking_plugins(case: Case) -> tuple[str, ...]:
    """Plug-ins of the networks' chains that neither the Network Operator's images nor the SR-IOV operator bring."""
    choices = case.choices
    if choices.manager != "network-operator" or choices.model == "host-network" or choices.by_sriov_operator:
        return ()
    called: list[str] = [choices.model] if choices.model in _INTERFACE_PLUGINS else []
    if choices.rdma_mode == "exclusive":
        called.append("rdma")
    return tuple(called)


def cni_plugins(case: Case) -> tuple[PlannedObject, ...]:
    """The DaemonSet that lays the lacking plug-ins into the nodes' CNI folder; none where the node image has them."""
    plugins = lacking_plugins(case)
    if not plugins or case.spec.software.cni_plugins == "node-image":
        return ()
    labels = {COMPONENT_LABEL: "cni-plugins"}
    template = PodTemplate(
        metadata=PodTemplateMetadata(labels=labels),
        spec=PodSpec(
            automount_service_account_token=False,
            # The pod network may be what is waited for.
            host_network=True,
            priority_class_name="system-node-critical",
            # The images' program sleeps for ever once it has copied its plug-in, and does not listen.
            termination_grace_period_seconds=1,
            node_selector=case.node_labels or {NIC_LABEL: "true"},
            tolerations=tolerations(case) or None,
            containers=tuple(_container(case, name) for name in plugins),
            volumes=(
                Volume(name="cni-bin", host_path=HostPath(path="/opt/cni/bin", type="DirectoryOrCreate")),
                Volume(name="os-release", host_path=HostPath(path="/etc/os-release", type="File")),
            ),
        ),
    )
    metadata = ObjectMeta(name=_NAME, namespace=case.line.charts["network-operator"].namespace, labels=labels)
    spec = DaemonSetSpec(selector=LabelSelector(match_labels=labels), template=template)
    return (PlannedObject(object=DaemonSet(metadata=metadata, spec=spec), timeout=900),)


def _container(case: Case, plugin: str) -> Container:
    return Container(
        name=f"{plugin}-cni",
        image=case.line.images.image(_IMAGES[plugin]).reference,
        # The folder is the host's, and root's.
        security_context=SecurityContext(privileged=True),
        volume_mounts=(
            VolumeMount(name="cni-bin", mount_path="/host/opt/cni/bin"),
            # By it an image chooses the build that fits the host's libraries.
            VolumeMount(name="os-release", mount_path="/host/etc/os-release", read_only=True),
        ),
    )
