"""Merge the fabric's networks and annotations into those of a pod."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_fabric.attach.place import Place
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, RDMA_RESOURCE_INJECT_ANNOTATION, TOPOLOGY_ANNOTATIONS

# Spiderpool's webhook replaces the networks of a pod, and keeps no others.
_INJECTING = (RDMA_RESOURCE_INJECT_ANNOTATION, "cni.spidernet.io/network-resource-inject")
_POOLS = ("ipam.spidernet.io/ippools", "ipam.spidernet.io/ippool")
# A superset of the names, namespaces and interfaces that Multus accepts: Multus itself validates them.
_PART = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class _Request:
    """One network that a pod requests; `rest` contains the other fields of its JSON form."""

    name: str
    namespace: str | None = None
    interface: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)

    def qualify(self, namespace: str) -> tuple[str, str]:
        return self.namespace or namespace, self.name

    def as_text(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{place}{self.name}" + (f"@{self.interface}" if self.interface else "")

    def as_json(self) -> dict[str, Any]:
        named = {"name": self.name, "namespace": self.namespace, "interface": self.interface}
        return {key: value for key, value in named.items() if value is not None} | dict(self.rest)


def attach_annotations(metadata: Place, wanted: Mapping[str, str], namespace: str) -> None:
    """Set the contract's annotations on a pod; `namespace` is the pod's."""
    annotations = metadata.made("annotations")
    for key, value in wanted.items():
        if key == NETWORKS_ANNOTATION:
            _attach_networks(annotations, value, namespace)
        elif key in _INJECTING:
            _attach_injection(annotations, key, value)
        elif key in TOPOLOGY_ANNOTATIONS:
            _attach_topology(annotations, key, value)
        else:
            annotations.keep_or_set(key, value)


def _attach_topology(annotations: Place, key: str, value: str) -> None:
    """Set the topology level at which Kueue keeps pods together. It accepts one annotation; the user's stays."""
    own = next((name for name in TOPOLOGY_ANNOTATIONS if annotations.content.get(name) is not None), key)
    if own == key:
        annotations.keep_or_set(key, value)
    else:
        annotations.note("ATT051", own, f"stays; the fabric's is {key}: {value}")


def _attach_injection(annotations: Place, key: str, value: str) -> None:
    if annotations.content.get(key) not in (None, value):
        annotations.refuse("ATT016", key, "names another fabric", f"remove it, or write {value}")
        return
    beside = [name for name in (NETWORKS_ANNOTATION, *_POOLS) if annotations.content.get(name)]
    for name in beside:
        message = f"Spiderpool's webhook replaces it: {key} provides every network"
        annotations.refuse("ATT016", name, message, "remove one of the two annotations")
    annotations.content[key] = value


def _attach_networks(annotations: Place, value: str, namespace: str) -> None:
    for name in (name for name in _INJECTING if annotations.content.get(name)):
        annotations.refuse("ATT016", name, "Spiderpool's webhook would replace the fabric's networks", "remove it")
    before = annotations.text(NETWORKS_ANNOTATION)
    if not (before or "").strip():
        annotations.content[NETWORKS_ANNOTATION] = value
        return
    assert before is not None
    wanted = list(_parse_requests(value))
    try:
        own = list(_parse_requests(before))
    except ValueError as error:
        remedy = "correct it, or leave it to this command"
        annotations.refuse("ATT014", NETWORKS_ANNOTATION, f"cannot be read: {error}", remedy)
        return
    for name in dict.fromkeys(
        one.name for one in own if is_former_name(one.name, (network.name for network in wanted))
    ):
        message = f"the stack has no network {name} any more, and the pod would not start"
        remedy = "remove it, or attach the manifest as it was before the fabric"
        annotations.refuse("ATT028", NETWORKS_ANNOTATION, message, remedy)
    merged = _merge(own, wanted, namespace)
    if merged == own:
        return
    names = [request.interface or f"net{position}" for position, request in enumerate(merged, start=1)]
    if taken := sorted({name for name in names if names.count(name) > 1}):
        message = f"the fabric's interfaces are named {', '.join(taken)}, too"
        annotations.refuse("ATT015", NETWORKS_ANNOTATION, message, "rename yours")
        return
    moved: dict[str, list[str]] = {}
    for position, request in enumerate(merged, start=1):
        if request in own and request.interface is None and own.index(request) + 1 != position:
            moved.setdefault(request.as_text(), []).append(f"net{position}")
    for name, now in moved.items():
        interface = f"its interface is {now[0]}" if len(now) == 1 else f"its interfaces are {now[0]} to {now[-1]}"
        message = f"{name} comes after the fabric's networks: {interface} now"
        annotations.note("ATT054", NETWORKS_ANNOTATION, message)
    annotations.content[NETWORKS_ANNOTATION] = _format_requests(merged, before)


def network_names(value: str) -> list[str]:
    """The networks of an annotation, each as `[namespace/]name`; none if it cannot be parsed."""
    try:
        return [replace(one, interface=None).as_text() for one in _parse_requests(value)]
    except ValueError:
        return []


def remove_networks(value: str, added: str, before: str | None = None) -> str | None:
    """An annotation without the `added` networks, except those of `before`; None if none is left.

    An annotation that cannot be parsed is returned unchanged.
    """
    try:
        own, out = list(_parse_requests(value)), list(_parse_requests(added))
        kept = list(_parse_requests(before)) if before and before.strip() else []
    except ValueError:
        return value
    left = [one for one in own if one not in out or one in kept]
    return _format_requests(left, value) if left else None


def _merge(own: Sequence[_Request], wanted: Sequence[_Request], namespace: str) -> list[_Request]:
    """All requests. A user's request for a wanted network is kept, and gets its interface name if it has none."""
    result = list(own)
    open_positions = set(range(len(own)))
    missing: list[_Request] = []
    # Exact interface names are matched first: a pod may request one network several times.
    for exact in (True, False):
        left, missing = (wanted if exact else missing), []
        for request in left:
            of_it = [k for k in sorted(open_positions) if result[k].qualify(namespace) == request.qualify(namespace)]
            named = [k for k in of_it if result[k].interface == request.interface]
            unnamed = [k for k in of_it if result[k].interface is None]
            found = named if exact else [*unnamed, *of_it]
            if not found:
                missing.append(request)
                continue
            open_positions.discard(found[0])
            if result[found[0]].interface is None:
                result[found[0]] = replace(result[found[0]], interface=request.interface)
    # An unnamed interface is named after its position, which must not equal a name of the fabric's interfaces.
    fabric_names = {request.interface for request in wanted}
    collides = any(
        request.interface is None and f"net{position}" in fabric_names for position, request in enumerate(result, 1)
    )
    return [*missing, *result] if collides and missing else [*result, *missing]


def _format_requests(requests: Sequence[_Request], before: str) -> str:
    """Requests in the form of the user's annotation: JSON or names with commas."""
    if before.lstrip().startswith("["):
        return json.dumps([request.as_json() for request in requests], separators=(",", ":"), ensure_ascii=False)
    return ", ".join(request.as_text() for request in requests)


def _parse_requests(value: str) -> Iterator[_Request]:
    """The networks of an annotation in either form: a JSON list, or names with commas.

    Raises:
        ValueError: the annotation is in neither form.
    """
    if value.lstrip().startswith("["):
        try:
            entries = json.loads(value)
        except RecursionError:
            raise ValueError("its JSON list is nested too deeply") from None
        for entry in entries:
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise ValueError("each entry of the JSON list must be an object with a name")
            named = {key: entry.get(key) for key in ("name", "namespace", "interface")}
            if not all(part is None or isinstance(part, str) for part in named.values()):
                raise ValueError("name, namespace and interface must be text")
            rest = {key: part for key, part in entry.items() if key not in named}
            yield _Request(entry["name"], named["namespace"] or None, named["interface"] or None, rest)
        return
    for text in value.split(","):
        place, slash, after = text.strip().rpartition("/")
        name, at, interface = after.partition("@")
        parts = [name, *([place] if slash else []), *([interface] if at else [])]
        if not all(map(_PART.fullmatch, parts)):
            raise ValueError(f"{text.strip()!r} is not of the form [namespace/]name[@interface]")
        yield _Request(name, place or None, interface or None)


def is_former_name(name: str, there: Iterable[str]) -> bool:
    """Whether a name is missing but differs from a present one in its number alone: `rail-08` next to `rail-00`.

    The stack had such a rail in the past.
    """
    known = set(there)
    return name not in known and _NUMBER.search(name) is not None and _row(name) in map(_row, known)


def _row(name: str) -> str:
    return _NUMBER.sub("0", name)
