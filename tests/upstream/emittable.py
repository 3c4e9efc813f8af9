"""The custom resources that the program can write, two that only the sandbox has, and a maximal manifest of each."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import gpu_fabric.k8s
from gpu_fabric.k8s.base import KubernetesObject
from sandbox.operator_kinds import ClusterPolicy, NodeFeatureRule

Manifest = dict[str, Any]


# The definitions of the Prometheus operator and of the Node Readiness Controller are not among those to compare with.
NOT_AT_HAND = {"PrometheusRule", "NodeReadinessRule"}


def every_emittable_kind() -> tuple[type[KubernetesObject], ...]:
    """Every model of `gpu_fabric.k8s` that is a custom resource, and two of the sandbox's, by group and kind."""
    for module in pkgutil.iter_modules(gpu_fabric.k8s.__path__, "gpu_fabric.k8s."):
        importlib.import_module(module.name)
    found = [kind for kind in _subclasses(KubernetesObject) if kind.__module__.startswith("gpu_fabric.k8s.")]
    found += [ClusterPolicy, NodeFeatureRule]
    compared = (kind for kind in found if is_custom(kind) and kind.kind not in NOT_AT_HAND)
    return tuple(sorted(compared, key=lambda kind: (kind.group(), kind.kind)))


def is_custom(kind: type[KubernetesObject]) -> bool:
    """Whether it is no kind of Kubernetes itself, whose groups have no dot or end with .k8s.io."""
    return "." in kind.group() and not kind.group().endswith(".k8s.io")


def _subclasses(kind: type[KubernetesObject]) -> Iterator[type[KubernetesObject]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
