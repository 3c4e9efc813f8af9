"""The annotations of a pod: the fabric's networks among those that it has already."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fabric.attach.place import Place
from fabric.k8s.cni import NETWORKS_ANNOTATION
from fabric.k8s.kueue import TOPOLOGY_ANNOTATIONS
from fabric.k8s.spiderpool import RDMA_RESOURCE_INJECT_ANNOTATION

# Spiderpool's webhook writes the networks of a pod anew, and takes none beside its own.
_INJECTING = (RDMA_RESOURCE_INJECT_ANNOTATION, "cni.spidernet.io/network-resource-inject")
_POOLS = ("ipam.spidernet.io/ippools", "ipam.spidernet.io/ippool")
# What Multus takes as a name, a namespace or an interface, and a little more: it is Multus that judges.
_PART = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class _Request:
    """One network that a pod asks for; `rest` is what else its JSON form says."""

    name: str
    namespace: str | None = None
    interface: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)

    def in_(self, namespace: str) -> tuple[str, str]:
        return self.namespace or namespace, self.name

    def as_text(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{place}{self.name}" + (f"@{self.interface}" if self.interface else "")

    def as_json(self) -> dict[str, Any]:
        named = {"name": self.name, "namespace": self.namespace, "interface": self.interface}
        return {key: value for key, value in named.items() if value is not None} | dict(self.rest)


def attach_annotations(metadata: Place, wanted: Mapping[str, str], namespace: str) -> None:
    """Give a pod the contract's annotations; `namespace` is the one it runs in."""
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
    """The level at which Kueue keeps pods together; it takes one such annotation, and what is written stays."""
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
        message = f"Spiderpool's webhook replaces it: {key} brings every network"
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
    wanted = list(_requests(value))
    try:
        own = list(_requests(before))
    except ValueError as error:
        remedy = "correct it, or leave it to this command"
        annotations.refuse("ATT014", NETWORKS_ANNOTATION, f"cannot be read: {error}", remedy)
        return
    merged = _merged(own, wanted, namespace)
    if merged == own:
        return
    names = [request.interface or f"net{position}" for position, request in enumerate(merged, start=1)]
    if taken := sorted({name for name in names if names.count(name) > 1}):
        message = f"the fabric's interfaces are named {', '.join(taken)}, too"
        annotations.refuse("ATT015", NETWORKS_ANNOTATION, message, "name yours otherwise")
        return
    for position, request in enumerate(merged, start=1):
        if request in own and request.interface is None and own.index(request) + 1 != position:
            message = f"{request.as_text()} comes after the fabric's networks: its interface is net{position} now"
            annotations.note("ATT054", NETWORKS_ANNOTATION, message)
    annotations.content[NETWORKS_ANNOTATION] = _written(merged, before)


def _merged(own: Sequence[_Request], wanted: Sequence[_Request], namespace: str) -> list[_Request]:
    """All requests; one of the user's own that is for a wanted network takes its interface name where it has none."""
    result = list(own)
    open_positions = set(range(len(own)))
    missing: list[_Request] = []
    # Those that are there under their very name first: of one network there may be several.
    for exact in (True, False):
        left, missing = (wanted if exact else missing), []
        for request in left:
            of_it = [k for k in sorted(open_positions) if result[k].in_(namespace) == request.in_(namespace)]
            named = [k for k in of_it if result[k].interface == request.interface]
            unnamed = [k for k in of_it if result[k].interface is None]
            found = named if exact else [*unnamed, *of_it]
            if not found:
                missing.append(request)
                continue
            open_positions.discard(found[0])
            if result[found[0]].interface is None:
                result[found[0]] = replace(result[found[0]], interface=request.interface)
    # An interface without a name is called after its position, which must be none of the fabric's names.
    fabric_names = {request.interface for request in wanted}
    collides = any(
        request.interface is None and f"net{position}" in fabric_names for position, request in enumerate(result, 1)
    )
    return [*missing, *result] if collides and missing else [*result, *missing]


def _written(requests: Sequence[_Request], before: str) -> str:
    """Requests in the form that the user chose."""
    if before.lstrip().startswith("["):
        return json.dumps([request.as_json() for request in requests], separators=(",", ":"), ensure_ascii=False)
    return ", ".join(request.as_text() for request in requests)


def _listed(value: str) -> list[Any]:
    try:
        found: list[Any] = json.loads(value)
    except RecursionError:
        raise ValueError("its JSON list lies too deep in itself") from None
    return found


def _requests(value: str) -> Iterator[_Request]:
    """The networks of an annotation in either form: a JSON list, or names with commas.

    Raises:
        ValueError: it is neither.
    """
    if value.lstrip().startswith("["):
        for entry in _listed(value):
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
