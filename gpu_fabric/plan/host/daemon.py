"""A DaemonSet of this project on the GPU nodes: what all of them have in common."""

from __future__ import annotations

from gpu_fabric.k8s.apps import (
    Container,
    DaemonSet,
    DaemonSetSpec,
    PodSpec,
    PodTemplate,
    PodTemplateMetadata,
    RollingUpdate,
    UpdateStrategy,
    Volume,
)
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.scheduling import LabelSelector
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.releases import namespace_of, tolerations

COMPONENT_LABEL = "gpu-fabric/component"
"""On what this project runs on the nodes itself: which part of it."""


def node_daemon(
    case: Case,
    name: str,
    labels: dict[str, str],
    nodes: dict[str, str],
    containers: tuple[Container, ...],
    volumes: tuple[Volume, ...],
    *,
    grace_seconds: int,
    sees_processes: bool = False,
) -> DaemonSet:
    """A privileged DaemonSet on the nodes with the given labels.

    It runs on the host's network, since the pod network may be what is waited for. Nodes are set up independently and
    keep what is right already, so all of them are updated at once. `sees_processes` is the host's process namespace.
    """
    pod = PodSpec(
        automount_service_account_token=False,
        host_network=True,
        host_pid=True if sees_processes else None,
        priority_class_name="system-node-critical",
        termination_grace_period_seconds=grace_seconds,
        node_selector=nodes,
        tolerations=tolerations(case) or None,
        containers=containers,
        volumes=volumes,
    )
    return DaemonSet(
        metadata=ObjectMeta(name=name, namespace=namespace_of(case), labels=labels),
        spec=DaemonSetSpec(
            selector=LabelSelector(match_labels=labels),
            template=PodTemplate(metadata=PodTemplateMetadata(labels=labels), spec=pod),
            update_strategy=UpdateStrategy(rolling_update=RollingUpdate(max_unavailable="100%")),
        ),
    )
