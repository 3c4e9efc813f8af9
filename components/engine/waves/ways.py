"""What hands out a node's NICs while waves take nodes from one manager to another: its label, and what runs there.

A DaemonSet whose pods choose their nodes by the label heeds it: Kubernetes takes its pods off a node, and puts them on
it, when the label changes. Between the two ways a node has neither.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.k8s.resource_slices import Device, devices_of
from gpu_fabric.plan.records import CHANGING, PlannedWay, PublishedNics

from ..cluster_api import ClusterApi, Json, api_path
from .marks import labels_of


class Serving(NamedTuple):
    """By node the pods of DaemonSets that heed the label; by DaemonSet that should and does not, its nodes."""

    pods: Mapping[str, list[str]]
    heedless: Mapping[str, set[str]]


def way_of(planned: PlannedWay, node: Json) -> str:
    """What hands out a node's NICs by its label."""
    return labels_of(node).get(WAY_LABEL, planned.home)


def serving(planned: PlannedWay, api: ClusterApi) -> Serving:
    """What hands out NICs on the cluster's nodes. Raises RequestError."""
    heeding, heedless = set[str](), dict[str, str]()
    places = set[str]()
    for item in api.items(api_path("apps/v1", "daemonsets"), ""):
        pods, metadata = item["spec"]["template"]["spec"], item["metadata"]
        if WAY_LABEL in json.dumps([pods.get("affinity"), pods.get("nodeSelector")]):
            heeding.add(metadata["uid"])
        elif any(_has_image(entry["image"], planned.images) for entry in pods.get("containers") or ()):
            heedless[metadata["uid"]] = f"{metadata['namespace']}/{metadata['name']}"
        else:
            continue
        places.add(metadata["namespace"])
    found, others = dict[str, list[str]](), dict[str, set[str]]()
    for place in sorted(places):
        for pod in api.items(api_path("v1", "pods", place), ""):
            node = pod["spec"].get("nodeName", "")
            for owner in pod["metadata"].get("ownerReferences") or ():
                if owner["uid"] in heeding:
                    found.setdefault(node, []).append(pod["metadata"]["name"])
                elif owner["uid"] in heedless:
                    others.setdefault(heedless[owner["uid"]], set()).add(node)
    return Serving(found, others)


def heedless(found: Serving, nodes: Collection[str]) -> str:
    """The DaemonSets that hand out NICs of these nodes whatever their label is, in words; empty if there are none."""
    names = sorted(name for name, on in found.heedless.items() if on & set(nodes))
    return f"DaemonSet {', '.join(names)} runs on nodes whatever their label {WAY_LABEL} is" if names else ""


def next_label(planned: PlannedWay, api: ClusterApi, node: Json, pods: Iterable[str]) -> tuple[str, str]:
    """The label that a node without jobs gets next, empty for none, and what is not yet done. Raises RequestError.

    `pods` are those of DaemonSets that heed the label on the node.
    """
    current = way_of(planned, node)
    if current == planned.way:
        return "", ""
    if current != CHANGING:
        return CHANGING, f"what hands out its NICs ({current}) ends"
    if left := sorted(pods):
        return "", f"pods of the earlier way are still there: {', '.join(left)}"
    if devices := published(planned.driver, api, node):
        return "", f"{len(devices)} devices of {planned.driver} are still published"
    return planned.way, f"its NICs are handed out by {planned.way}"


def published(driver: str, api: ClusterApi, node: Json) -> list[Device]:
    """The devices that a DRA driver publishes of a node. Raises RequestError."""
    slices = api.items(api_path("resource.k8s.io/v1", "resourceslices"), "")
    own = [item for item in slices if item["spec"].get("driver") == driver]
    return [device for device in devices_of(own) if device.node == node["metadata"]["name"]]


def unpublished(nics: PublishedNics, api: ClusterApi, node: Json) -> str:
    """The planned NICs that a driver does not publish of a node, in words; empty if there are none."""
    found = {device.text(nics.attribute) for device in published(nics.driver, api, node)}
    lacking = [value for value in nics.values if value not in found]
    many = f"{len(lacking)} of {len(nics.values)} planned NICs"
    return f"{nics.driver} does not publish {many}, such as {lacking[0]}" if lacking else ""


def _has_image(image: str, ends: Iterable[str]) -> bool:
    """Whether an image's name, without tag and digest, ends with one of these."""
    head, slash, last = image.partition("@")[0].rpartition("/")
    return any(f"/{head}{slash}{last.partition(':')[0]}".endswith(f"/{end}") for end in ends)
