"""The software on nodes as the waves see it: which pods are of an earlier template, and which are no jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpu_fabric.base.api_objects import is_true
from gpu_fabric.plan.records import ObeyedPolicy, PlannedWaves

from ..cluster_api import ClusterApi, Json, api_path, find
from .marks import annotations_of, labels_of

_HASH = "controller-revision-hash"
_STATIC = "kubernetes.io/config.mirror"
_ENDED = ("Succeeded", "Failed")


class Seen(NamedTuple):
    """Pods of the software's DaemonSets by node: all, those of an earlier template, and those of device plug-ins.

    `unsettled` says why the DaemonSets may still change; empty if they are as the policies ask.
    """

    pods: Mapping[str, list[Json]]
    outdated: Mapping[str, list[Json]]
    plugins: Mapping[str, list[Json]]
    unsettled: str


def look(planned: PlannedWaves, api: ClusterApi) -> Seen:
    """The software on all nodes. Raises RequestError."""
    pods: dict[str, list[Json]] = {}
    outdated: dict[str, list[Json]] = {}
    plugins: dict[str, list[Json]] = {}
    sets: dict[str, list[Json]] = {}
    for namespace in planned.namespaces:
        sets[namespace] = api.items(api_path("apps/v1", "daemonsets", namespace), "")
        by_uid = {item["metadata"]["uid"]: item for item in sets[namespace]}
        if not by_uid:
            continue
        newest = _newest(api.items(api_path("apps/v1", "controllerrevisions", namespace), ""))
        for pod in api.items(api_path("v1", "pods", namespace), ""):
            owner, node = by_uid.get(_owner(pod, "DaemonSet")), pod["spec"].get("nodeName")
            if owner is None or node is None:
                continue
            pods.setdefault(node, []).append(pod)
            if _on_delete(owner) and labels_of(pod).get(_HASH) != newest.get(owner["metadata"]["uid"]):
                outdated.setdefault(node, []).append(pod)
            if owner["metadata"]["name"] in planned.plugins:
                plugins.setdefault(node, []).append(pod)
    unsettled = next(filter(None, (_unsettled(policy, api, sets) for policy in planned.policies)), "")
    return Seen(pods, outdated, plugins, unsettled or next(_unseen(sets), ""))


def outdated_in(namespace: str, api: ClusterApi) -> bool:
    """Whether a pod of a namespace waits for its node's wave. Raises RequestError."""
    sets = {item["metadata"]["uid"]: item for item in api.items(api_path("apps/v1", "daemonsets", namespace), "")}
    waiting = {uid for uid, item in sets.items() if _on_delete(item)}
    if not waiting:
        return False
    newest = _newest(api.items(api_path("apps/v1", "controllerrevisions", namespace), ""))
    found = api.items(api_path("v1", "pods", namespace), "")
    owners = ((_owner(pod, "DaemonSet"), labels_of(pod).get(_HASH)) for pod in found)
    return any(uid in waiting and digest != newest.get(uid) for uid, digest in owners)


def jobs(planned: PlannedWaves, api: ClusterApi, node: str) -> list[Json]:
    """The pods that a node's wave waits for: all but those of DaemonSets, of the software, and static ones."""
    found: list[Json] = api.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")["items"]
    return [
        pod
        for pod in found
        if pod.get("status", {}).get("phase") not in _ENDED
        and pod["metadata"]["namespace"] not in planned.namespaces
        and not _owner(pod, "DaemonSet")
        and _STATIC not in annotations_of(pod)
    ]


def path_of(pod: Json) -> str:
    """A pod's path in the API."""
    return api_path("v1", "pods", pod["metadata"]["namespace"], pod["metadata"]["name"])


def is_ready(pod: Json) -> bool:
    """Whether a pod runs and is ready, and is not being deleted."""
    return is_true(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]


def _owner(item: Json, kind: str) -> str:
    """The uid of the controller of this kind; empty if it has none."""
    owners = item["metadata"].get("ownerReferences") or ()
    return next((str(owner["uid"]) for owner in owners if owner["kind"] == kind and owner.get("controller")), "")


def _on_delete(daemon_set: Json) -> bool:
    """Whether pods are only replaced when something deletes them: drivers, and all of the GPU Operator's with waves."""
    return bool((daemon_set["spec"].get("updateStrategy") or {}).get("type") == "OnDelete")


def _newest(revisions: list[Json]) -> dict[str, str]:
    """The hash of each DaemonSet's last template, by the DaemonSet's uid."""
    found: dict[str, tuple[int, str]] = {}
    for item in revisions:
        uid, digest = _owner(item, "DaemonSet"), labels_of(item).get(_HASH, "")
        if uid and item["revision"] > found.get(uid, (-1, ""))[0]:
            found[uid] = (item["revision"], digest)
    return {uid: digest for uid, (_, digest) in found.items()}


def _unseen(sets: Mapping[str, list[Json]]) -> Iterator[str]:
    for namespace, items in sets.items():
        for item in items:
            if (item.get("status") or {}).get("observedGeneration") != item["metadata"].get("generation"):
                yield f"Kubernetes has not seen the last change of DaemonSet {namespace}/{item['metadata']['name']}"


def _unsettled(policy: ObeyedPolicy, api: ClusterApi, sets: Mapping[str, list[Json]]) -> str:
    """Why an operator has not written its DaemonSets as its policy asks: their images are those of the policy.

    Images of drivers have the operating system at the end of the policy's version (state_ofed.go of the Network
    Operator, internal/state/driver.go of the GPU Operator).
    """
    found = find(api, api_path(policy.api_version, policy.plural, name=policy.name))
    if found is None:
        return f"there is no {policy.name}"
    versions: dict[str, set[str]] = {}
    for image, version in _images(found["spec"]):
        versions.setdefault(image, set()).add(version)
    for item in sets.get(policy.namespace, ()):
        for container in item["spec"]["template"]["spec"]["containers"]:
            image, _, version = re.sub("[:@]", " ", container["image"].rpartition("/")[2], count=1).partition(" ")
            if image in versions and not any(version.startswith(wanted) for wanted in versions[image]):
                wanted = " or ".join(sorted(versions[image]))
                name = item["metadata"]["name"]
                return f"DaemonSet {policy.namespace}/{name} has {image} {version}, and {policy.name} asks for {wanted}"
    return ""


def _images(section: Any) -> Iterator[tuple[str, str]]:
    """The images of a policy's sections with their versions, at any depth."""
    if not isinstance(section, Mapping):
        return
    image, version = section.get("image"), section.get("version")
    if isinstance(image, str) and isinstance(version, str) and image and version:
        yield image.rpartition("/")[2], version
    for inner in section.values():
        yield from _images(inner)
