"""Clusters as people have them: operators installed by hand, and everything on a cluster, to compare before and after.

A test that wants something else in the way (a webhook, a strict Pod Security, pools of somebody) applies it with
`by_hand`, before it looks at `everything`.
"""

import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from driver import POLICY, Sandbox, until

from sandbox.home import project_root
from sandbox.kubernetes_api import APPLY_PATCH, Api, ApiError

Json = dict[str, Any]

NAMESPACES = {"gpu-operator": "gpu-operator", "network-operator": "nvidia-network-operator"}
"""The namespaces of the vendor's own instructions."""

MULTUS = {"image": "multus-cni", "repository": "nvcr.io/nvidia/mellanox", "version": "network-operator-v26.4.1"}
MULTUS_POLICY: Json = {"secondaryNetwork": {"multus": MULTUS}}
"""A policy as somebody has it who wants Multus and nothing else."""

# Kinds that the cluster itself writes all the time, or that follow from others: what a node runs at the moment, which
# revision of a template it is, how far an election is.
_PASSING = {"events", "leases", "pods", "controllerrevisions", "endpoints", "endpointslices", "replicasets"}
# The simulation of machines keeps its own books on nodes and on its own objects.
_SIMULATION = "sandbox.gpu-fabric/"
_VERSIONS = ("v1", "v1beta1", "v1alpha1")
_NOT_YET, _LOOKS = 429, 4
_PASSING_METADATA = ("resourceVersion", "managedFields", "generation", "creationTimestamp")


def install_by_hand(sandbox: Sandbox, chart: str, namespace: str | None = None, values: Mapping[str, str] = {}) -> None:
    """Install a stand-in chart of release line 26.4 by Helm, as a user does, and wait until its pods are ready."""
    place = ("--namespace", namespace or NAMESPACES[chart], "--create-namespace", "--wait")
    settings = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    sandbox.helm("install", chart, str(project_root() / "sandbox/charts/26.4" / chart), *place, *settings)


def by_hand(sandbox: Sandbox, path: str, manifest: Json, manager: str = "kubectl-create") -> None:
    """Apply an object as somebody who is not the stack."""
    sandbox.api.request("PATCH", f"{path}?fieldManager={manager}&force=true", manifest, APPLY_PATCH)


def nvidia_operators(sandbox: Sandbox, policy: Json = MULTUS_POLICY) -> None:
    """Both of NVIDIA's operators with one Node Feature Discovery, and a policy made by hand, ready."""
    install_by_hand(sandbox, "gpu-operator")
    no_second = {"nfd.enabled": "false", "nfd.deployNodeFeatureRules": "false"}
    install_by_hand(sandbox, "network-operator", values=no_second)
    write_policy(sandbox, policy)


def write_policy(sandbox: Sandbox, spec: Json) -> None:
    """The one policy, as somebody wrote it, and ready."""
    metadata = {"name": "nic-cluster-policy"}
    manifest = {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicClusterPolicy", "metadata": metadata, "spec": spec}
    by_hand(sandbox, POLICY, manifest)
    until(lambda: sandbox.api.get(POLICY).get("status", {}).get("state") == "ready", "the policy is ready")


def everything(api: Api) -> dict[str, Json]:
    """Every object of a cluster by its path, without what changes by itself: versions, managers, status."""
    found: dict[str, Json] = {}
    groups = [
        "/api/v1",
        *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in api.get("/apis")["groups"]),
    ]
    for group in groups:
        try:
            listed = api.get(group)["resources"]
        except ApiError as error:
            if error.status == 404:
                continue
            raise
        for kind in listed:
            if "/" in kind["name"] or "list" not in kind["verbs"] or kind["name"] in _PASSING:
                continue
            for item in api.get(f"{group}/{kind['name']}")["items"]:
                metadata = item["metadata"]
                place = f"{group}/{kind['name']}/{metadata.get('namespace', '')}/{metadata['name']}"
                kept = {key: value for key, value in metadata.items() if key not in _PASSING_METADATA}
                if notes := metadata.get("annotations"):
                    kept["annotations"] = {key: text for key, text in notes.items() if not key.startswith(_SIMULATION)}
                rest = {key: value for key, value in item.items() if key not in ("metadata", "status")}
                found[place] = {"metadata": kept, **rest}
    return found


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    """A line for every object that is new, gone, or not as it was."""
    lines = [f"new: {place}" for place in sorted(after.keys() - before.keys())]
    lines += [f"gone: {place}" for place in sorted(before.keys() - after.keys())]
    for place in sorted(before.keys() & after.keys()):
        lines += [f"changed: {place} {line}" for line in _changes(before[place], after[place])]
    return lines


def _changes(before: Any, after: Any, path: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _changes(before.get(key), after.get(key), f"{path}.{key}")
    elif before != after:
        yield f"{path}: {before!r} -> {after!r}"


def assert_as_before(
    before: Mapping[str, Json], api: Api, seconds: float = 120, left: Collection[str] = frozenset()
) -> None:
    """Everything on the cluster is as it was, once its controllers are at rest, but for definitions that are left."""
    definitions = [f"/customresourcedefinitions//{name}" for name in left]
    served = [f"/apiservices//{version}.{name.partition('.')[2]}" for name in left for version in _VERSIONS]
    expected = tuple(definitions + served)

    def lines() -> list[str]:
        return [line for line in differences(before, settled(api)) if not _is_new(line, expected)]

    end = time.monotonic() + seconds
    while (found := lines()) and time.monotonic() < end:
        time.sleep(1)
    assert not found, "\n".join(found)


def _is_new(line: str, places: tuple[str, ...]) -> bool:
    return line.startswith("new: ") and line.endswith(places)


def settled(api: Api) -> dict[str, Json]:
    """Everything on a cluster once it stays the same for some seconds: controllers are still busy after a change."""
    seen: list[dict[str, Json]] = []

    def is_at_rest() -> bool:
        time.sleep(1)
        try:
            seen.append(everything(api))
        except ApiError as error:
            # The storage of a kind that was just defined is not ready at once.
            if error.status != _NOT_YET:
                raise
            return False
        return len(seen) >= _LOOKS and all(look == seen[-1] for look in seen[-_LOOKS:])

    until(is_at_rest, "the cluster is at rest")
    return seen[-1]
