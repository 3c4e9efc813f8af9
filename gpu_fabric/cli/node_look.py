"""Runs the Job that looks at a node, and removes it and what was made for it, whatever happens."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gpu_fabric.base.clock import pause
from gpu_fabric.catalog import catalog
from gpu_fabric.cli.kubectl import UNNAMED, ClusterError, Kubectl
from gpu_fabric.discover.cluster_objects import PATHS
from gpu_fabric.discover.look import is_whole
from gpu_fabric.discover.look_job import NAME, is_of_a_look, job, namespace, refused_level
from gpu_fabric.spec.software import SoftwareSpec

_EVERY_S = 2
_TRIES_WITHOUT_POD = 5
_TRIES = 150
"""So often the pod is asked for, every other second: as long as the Job may take."""


def default_image() -> str:
    """The image of this project's pods on nodes, of the release line that stacks have by default."""
    known = catalog()
    image = known.releases[SoftwareSpec().release_line].standalone["hostPreparation"].image
    assert image is not None, "the catalog's row has one"
    return known.pinned(image.reference)


def look_at(kubectl: Kubectl, node: str, in_namespace: str, image: str, say: Callable[[str], None]) -> str:
    """What the script printed on a node.

    Raises:
        ClusterError: the Job cannot be created, or does not end well; nothing is left in the cluster then either.
    """
    with (
        _ended_as_by_ctrl_c(),
        _namespace(kubectl, in_namespace, say),
        _job(kubectl, node, in_namespace, image, say),
    ):
        return _result(kubectl, node, in_namespace)


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Has SIGTERM, by which a CI ends a command, leave through everything that cleans up."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _namespace(kubectl: Kubectl, name: str, say: Callable[[str], None]) -> Iterator[None]:
    """The namespace, which is removed again only if it was not there; one that a killed look left is removed first."""
    found = _namespace_that_stays(kubectl, name)
    if found is not None and is_of_a_look(found):
        _no_job(kubectl, name)
        say(f"namespace {name} was left behind by a look that was killed, and is removed")
        kubectl.delete(f"/api/v1/namespaces/{name}")
        found = _namespace_that_stays(kubectl, name)
    if found is not None:
        if (level := refused_level(found)) is not None:
            raise ClusterError(
                f"namespace {name} is at Pod Security level {level}, and the look needs a privileged pod; name another "
                "namespace by --look-namespace: one that does not exist is created, and removed afterwards"
            )
        yield
        return
    with _created(kubectl, "/api/v1/namespaces", namespace(name), f"kubectl delete namespace {name}", say):
        yield


def _namespace_that_stays(kubectl: Kubectl, name: str) -> dict[str, Any] | None:
    """The namespace, or None; one that is being removed, as after another look, is waited for."""
    for _ in range(_TRIES):
        found = kubectl.get(f"/api/v1/namespaces/{name}")
        if (found or {}).get("status", {}).get("phase") != "Terminating":
            return found
        pause(_EVERY_S)
    raise ClusterError(f"namespace {name} is being removed, and does not end; name another one by --look-namespace")


@contextmanager
def _job(kubectl: Kubectl, node: str, in_namespace: str, image: str, say: Callable[[str], None]) -> Iterator[None]:
    path = _no_job(kubectl, in_namespace)
    say(f"{node}: Job {NAME} in namespace {in_namespace} looks at it, with image {image}")
    with _created(kubectl, path, job(node, in_namespace, image), f"kubectl -n {in_namespace} delete job {NAME}", say):
        yield


def _no_job(kubectl: Kubectl, in_namespace: str) -> str:
    """The path of a namespace's Jobs, among which there is none of a look."""
    path = f"/apis/batch/v1/namespaces/{in_namespace}/jobs"
    if kubectl.get(f"{path}/{NAME}") is not None:
        raise ClusterError(
            f"Job {NAME} is in namespace {in_namespace}: another look is under way, or was left behind; "
            f"kubectl -n {in_namespace} delete job {NAME}"
        )
    return path


@contextmanager
def _created(
    kubectl: Kubectl, collection: str, manifest: dict[str, Any], by_hand: str, say: Callable[[str], None]
) -> Iterator[None]:
    """An object, which is deleted in the end, also after an error or Ctrl-C; where that fails, that is said."""
    is_ours = True
    try:
        try:
            kubectl.create(collection, manifest)
        except ClusterError as error:
            # What the API server refuses is not there, or is another's. Without its word it may be there.
            is_ours = error.reason in ("", UNNAMED)
            raise
        yield
    finally:
        if is_ours:
            try:
                kubectl.delete(f"{collection}/{manifest['metadata']['name']}")
            except BaseException as error:
                say(f"left in the cluster: remove it with {by_hand}" + (f" ({error})" if str(error) else ""))
                raise


def _result(kubectl: Kubectl, node: str, in_namespace: str) -> str:
    for number in range(_TRIES):
        pod = _pod(kubectl, in_namespace)
        if not pod and number >= _TRIES_WITHOUT_POD and (reason := _warning(kubectl, in_namespace)):
            raise ClusterError(f"{node}: the look's pod is not created: {reason}")
        phase = (pod.get("status") or {}).get("phase")
        if phase in ("Running", "Succeeded", "Failed"):
            text = _printed(kubectl, in_namespace, pod["metadata"]["name"])
            if is_whole(text):
                return text
            if phase != "Running":
                last = text.strip().rpartition("\n")[2][:200]
                raise ClusterError(f"{node}: the look ended before its end" + (f": {last}" if last else ""))
        pause(_EVERY_S)
    raise ClusterError(f"{node}: the look did not end in {_TRIES * _EVERY_S} s: {_reason(kubectl, in_namespace)}")


def _pod(kubectl: Kubectl, in_namespace: str) -> dict[str, Any]:
    """The Job's pod; an empty object while there is none."""
    pods = kubectl.get(f"/api/v1/namespaces/{in_namespace}/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D{NAME}")
    found: dict[str, Any] = next(iter((pods or {}).get("items") or ()), {})
    return found


def _printed(kubectl: Kubectl, in_namespace: str, pod: str) -> str:
    """What the pod has printed so far; empty while its container cannot say."""
    try:
        return kubectl.logs(in_namespace, pod)
    except ClusterError as error:
        if error.reason not in ("BadRequest", "NotFound"):
            raise
        return ""


def _reason(kubectl: Kubectl, in_namespace: str) -> str:
    """Why there is no result, by the pod's state or by the events of its namespace."""
    for container in (_pod(kubectl, in_namespace).get("status") or {}).get("containerStatuses") or ():
        if waiting := (container.get("state") or {}).get("waiting"):
            return f"{waiting.get('reason', '')} {waiting.get('message', '')}".strip()
    return _warning(kubectl, in_namespace) or "no pod of the Job ran"


def _warning(kubectl: Kubectl, in_namespace: str) -> str:
    """The last warning about the Job, such as that a policy forbids its pod; empty if there is none."""
    about = f"involvedObject.kind%3DJob%2CinvolvedObject.name%3D{NAME}%2Ctype%3DWarning"
    events = kubectl.get(f"/api/v1/namespaces/{in_namespace}/events?fieldSelector={about}")
    return next((str(event.get("message")) for event in reversed((events or {}).get("items") or ())), "")


_METADATA = ("name", "labels")
_STATUS = ("capacity", "conditions", "addresses", "nodeInfo", "interfaces", "node", "type", "ports")


def cluster_text(kubectl: Kubectl) -> tuple[str, tuple[str, ...]]:
    """A list of what is read of the cluster as JSON, and what the user may not read.

    Raises:
        ClusterError: the cluster was not reached, or its nodes may not be read.
    """
    items, forbidden = list[dict[str, Any]](), list[str]()
    for what, path in PATHS.items():
        try:
            found = kubectl.get(path)
        except ClusterError as error:
            if error.reason != "Forbidden" or what == "nodes":
                raise
            forbidden.append(f"{what} are not read: {error}")
            continue
        items += _items(found or {})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), tuple(forbidden)


def _items(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of an answer, each with its kind, which the API server leaves out in a list."""
    if "items" not in found:
        return [_needed(found)] if found else []
    kind = str(found.get("kind", "")).removesuffix("List")
    return [_needed({"kind": kind, **item}) for item in found["items"] if isinstance(item, dict)]


def _needed(item: dict[str, Any]) -> dict[str, Any]:
    """An object without most of its length, which says nothing of a machine."""
    for part, keys in (("metadata", _METADATA), ("status", _STATUS)):
        if isinstance(found := item.get(part), dict):
            item = {**item, part: {key: value for key, value in found.items() if key in keys}}
    if item.get("kind") in ("SriovNetworkNodeState", "NicDevice", "NicClusterPolicy"):
        # What is asked of the NICs, and not what they are.
        item.pop("spec", None)
    return item
