"""Spiderpool's webhook for pods: one annotation adds all networks of a group and their resources. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from sandbox.hardware.device_plugins import annotations_of, labels_of
from sandbox.hardware.spider_checks import RefusedError
from sandbox.hardware.spider_defaults import INJECT_ANNOTATIONS
from sandbox.hardware.spiderpool import SECTIONS
from sandbox.hardware.watching import key_of

Object = dict[str, Any]


def injected(pod: Object, namespace: Mapping[str, str], networks: Iterable[Mapping[str, Any]]) -> Object:
    """A pod with the networks of its group; the pod itself where neither it nor its namespace names one.

    `namespace` are the annotations of its namespace, `networks` the SpiderMultusConfigs of all namespaces.
    Raises RefusedError where no network has the group.
    """
    sources = (annotations_of(pod), namespace)
    asked = ((key, source[key]) for source in sources for key in INJECT_ANNOTATIONS if key in source)
    key, group = next(asked, ("", ""))
    if not key:
        return pod
    chosen = sorted((item for item in networks if labels_of(item).get(key) == group), key=_order)
    if not chosen:
        raise RefusedError(f"no SpiderMultusConfig has {key}={group}")
    names = ",".join(key_of(item) for item in chosen)
    metadata = {**pod["metadata"], "annotations": {**annotations_of(pod), NETWORKS_ANNOTATION: names}}
    return {**pod, "metadata": metadata, "spec": _with_limits(pod["spec"], filter(None, map(_resource, chosen)))}


def _section(network: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = network["spec"]
    section: Mapping[str, Any] = spec.get(SECTIONS.get(spec.get("cniType", ""), "")) or {}
    return section


def _order(network: Mapping[str, Any]) -> tuple[str, str]:
    """What networks are sorted by: their interface or resource as text, so that gpu10 comes before gpu2."""
    section, name = _section(network), key_of(network)
    match network["spec"].get("cniType"):
        case "macvlan":
            return (section.get("bond") or {}).get("name") or section["master"][0], name
        case "sriov":
            return section["resourceName"], name
    return name, name


def _resource(network: Mapping[str, Any]) -> str | None:
    section = _section(network)
    return section.get("rdmaResourceName") or section.get("resourceName")


def _with_limits(spec: Mapping[str, Any], resources: Iterable[str]) -> Object:
    """The pod's spec with one of each resource for the first container, but of none that any container limits."""
    containers = spec["containers"]
    known = {name for item in containers for name in ((item.get("resources") or {}).get("limits") or {})}
    added = {name: "1" for name in resources if name not in known}
    if not added:
        return dict(spec)
    first = containers[0]
    present = first.get("resources") or {}
    limits = {**(present.get("limits") or {}), **added}
    return {**spec, "containers": [{**first, "resources": {**present, "limits": limits}}, *containers[1:]]}
