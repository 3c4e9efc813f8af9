"""What a kubelet does for pods with claims, and what NVIDIA's DRA driver does on nodes for ComputeDomains.

A pod with claims starts once all of them are prepared. Those of other drivers are as soon as the pod is bound. Of
ComputeDomains the controller really runs (sandbox/controllers); its parts on nodes are played, as they are in
dra-driver-nvidia-gpu v0.4.1 with the feature gates at their defaults:

- The kubelet plug-in gives a node on which a channel is claimed the label of the channel's domain, unless it has the
  label of another. The channel is prepared once the node's daemon is ready. With the claim the label goes
  (cmd/compute-domain-kubelet-plugin/device_state.go and computedomain.go).
- A daemon labels its pod with the clique of the node's GPUs. With a clique it enters its node into the
  ComputeDomainClique of domain and clique, under the lowest index that is free, and takes it out at its end; what such
  an object belongs to are the pods (cmd/compute-domain-daemon/main.go and cdclique.go). No IMEX daemon runs: one counts
  as ready with its pod (podmanager.go).
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpu_fabric.base.api_objects import is_true
from ..kubernetes_api import Api, ApiError, Object
from ..simulated_nodes import CLIQUE_ANNOTATION
from .device_plugins import annotations_of, labels_of, runs
from .resource_slices import COMPUTE_DOMAIN
from .views import Collections
from .watching import RETRY_S, key_of
from .writing import Complaints, Writer

DOMAIN_LABEL = "resource.nvidia.com/computeDomain"
"""On a node whose channel is claimed, and on what belongs to a domain: the domain's UID."""

CLIQUE_LABEL = f"{DOMAIN_LABEL}.cliqueID"
PREPARED_ANNOTATION = "sandbox.gpu-fabric/claims-prepared"
"""On a pod whose claims are all prepared."""

_VERSION = "resource.nvidia.com/v1beta1"
_TICK_S = 0.5

log = logging.getLogger("sandbox.hardware")


class Channel(NamedTuple):
    """A channel that pods have claimed: its node, the UID of its domain, and the namespace of the claim."""

    node: str
    domain: str
    namespace: str


def channel_of(claim: Mapping[str, Any]) -> Channel | None:
    """The channel that a claim of a pod has; None for claims of other devices, and for one that no pod has."""
    status = claim.get("status") or {}
    devices = (status.get("allocation") or {}).get("devices") or {}
    if not status.get("reservedFor"):
        return None
    for row, config in itertools.product(devices.get("results") or (), devices.get("config") or ()):
        opaque = config.get("opaque") or {}
        parameters = opaque.get("parameters") or {}
        is_of_row = row["request"] in (config.get("requests") or (row["request"],))
        is_channel = parameters.get("kind") == "ComputeDomainChannelConfig"
        if row["driver"] == opaque.get("driver") == COMPUTE_DOMAIN and is_of_row and is_channel:
            return Channel(row["pool"], parameters["domainID"], claim["metadata"]["namespace"])
    return None


class Domains(NamedTuple):
    """The nodes by name, the ComputeDomains by UID, and all ComputeDomainCliques."""

    nodes: Mapping[str, Object]
    by_uid: Mapping[str, Object]
    cliques: Sequence[Object]

    def refusal(self, channel: Channel) -> str:
        """Why the plug-in does nothing for a channel, in its words; empty if it labels the node."""
        domain = self.by_uid.get(channel.domain)
        if domain is None:
            return f"ComputeDomain not found: {channel.domain}"
        if domain["metadata"]["namespace"] != channel.namespace:
            return "the ResourceClaim's namespace is different than the ComputeDomain's namespace"
        return ""

    def lacks(self, channel: Channel) -> str:
        """Why a channel is not prepared yet, in the plug-in's words; empty if it is."""
        if refusal := self.refusal(channel):
            return refusal
        label = labels_of(self.nodes.get(channel.node) or {"metadata": {}}).get(DOMAIN_LABEL)
        if label not in (None, channel.domain):
            return "label already exists for a different ComputeDomain"
        is_ready = label is not None and channel.node in self._ready(channel.domain)
        return "" if is_ready else "current node not ready in ComputeDomain"

    def _ready(self, uid: str) -> set[str]:
        """The nodes whose daemon is ready: by a clique or, where GPUs have none, by the status of the domain."""
        of_cliques = (
            (daemon["nodeName"], daemon["status"])
            for clique in self.cliques
            if labels_of(clique).get(DOMAIN_LABEL) == uid
            for daemon in clique.get("daemons") or ()
        )
        entries = (self.by_uid[uid].get("status") or {}).get("nodes") or ()
        of_status = ((entry["name"], entry["status"]) for entry in entries)
        return {node for node, status in (*of_cliques, *of_status) if status == "Ready"}

    def labels(self, channels: Iterable[Channel]) -> dict[str, str | None]:
        """Node -> the label that it gets, or None where it loses its own; nodes that keep theirs are left out."""
        claimed = defaultdict[str, list[str]](list)
        for channel in channels:
            if not self.refusal(channel):
                claimed[channel.node].append(channel.domain)
        found: dict[str, str | None] = {}
        for name, node in self.nodes.items():
            present, wanted = labels_of(node).get(DOMAIN_LABEL), claimed[name]
            if present is None and wanted:
                found[name] = wanted[0]
            elif present is not None and present not in wanted:
                found[name] = None
        return found


def clique_of(name: str, present: Mapping[str, Any] | None, pods: Sequence[Object], namespace: str) -> Object:
    """The ComputeDomainClique of this name with the daemons in `pods`, which run on nodes of the clique."""
    uid, _, clique = name.partition(".")
    metadata = (present or {}).get("metadata") or {}
    by_node = {pod["spec"]["nodeName"]: pod for pod in pods}
    listed = (present or {}).get("daemons") or ()
    entries = {entry["nodeName"]: entry for entry in listed if entry["nodeName"] in by_node}
    for node in sorted(by_node.keys() - entries.keys()):
        taken = {entry["index"] for entry in entries.values()}
        index = next(number for number in itertools.count() if number not in taken)
        entries[node] = {"nodeName": node, "cliqueID": clique, "index": index}
    owners = {owner["uid"]: owner for owner in metadata.get("ownerReferences") or ()}
    for pod in pods:
        named = {key: pod["metadata"][key] for key in ("name", "uid")}
        owners.setdefault(named["uid"], {"apiVersion": "v1", "kind": "Pod", **named})
    return {
        "apiVersion": _VERSION,
        "kind": "ComputeDomainClique",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {DOMAIN_LABEL: uid, CLIQUE_LABEL: clique},
            "ownerReferences": list(owners.values()),
        },
        "daemons": [
            {**entry, "ipAddress": by_node[node]["status"]["podIP"], "status": _readiness(by_node[node])}
            for node, entry in entries.items()
        ],
    }


def _told(clique: Mapping[str, Any] | None) -> object:
    """What a daemon writes of a clique."""
    return clique and (clique["metadata"].get("ownerReferences") or [], clique.get("daemons") or [])


def _readiness(pod: Mapping[str, Any]) -> str:
    return "Ready" if is_true(pod, "Ready") else "NotReady"


def claims_of(pod: Mapping[str, Any]) -> set[str] | None:
    """The names of a pod's claims; None as long as one that is made of a template has no name yet."""
    listed = pod["spec"].get("resourceClaims") or ()
    made = {entry["name"]: entry.get("resourceClaimName") for entry in pod["status"].get("resourceClaimStatuses") or ()}
    if any("resourceClaimName" not in entry and entry["name"] not in made for entry in listed):
        return None
    return {name for entry in listed if (name := entry.get("resourceClaimName") or made[entry["name"]])}


class _ClaimsViews(Collections):
    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        super().__init__(kubeconfig, changed)
        self.claims = self._plain("/apis/resource.k8s.io/v1/resourceclaims")
        self.nodes = self._plain("/api/v1/nodes")
        self.daemons = self._plain("/api/v1/pods", DOMAIN_LABEL)
        self.domains = self._custom(_VERSION, "computedomains")
        self.cliques = self._custom(_VERSION, "computedomaincliques")


class ClaimsController:
    """Prepares the claims of pods, and plays the daemons of domains, until it is stopped."""

    def __init__(self, kubeconfig: Path) -> None:
        self._changed = threading.Event()
        self._views = _ClaimsViews(kubeconfig, self._changed)
        self._api = Api(kubeconfig)
        # What was not written is written at one of the next looks.
        self._writer = Writer(kubeconfig, lambda: None)
        self._complaints = Complaints()
        self._prepared: set[str] = set()

    def run(self, stopped: threading.Event) -> None:
        """Works until `stopped` is set; errors of the API server are logged and retried."""
        views = self._views
        views.start()
        while not stopped.is_set():
            self._changed.wait(_TICK_S)
            self._changed.clear()
            if not views.known() or not any(one.objects() for one in (views.claims, views.daemons, views.cliques)):
                continue
            try:
                self._look()
            except ApiError as error:
                log.warning("claims: %s; again soon", error)
                self._changed.set()
                stopped.wait(RETRY_S)

    def _look(self) -> None:
        views, claims = self._views, self._views.claims.objects()
        by_uid = {domain["metadata"]["uid"]: domain for domain in views.domains.objects().values()}
        domains = Domains(views.nodes.objects(), by_uid, list(views.cliques.objects().values()))
        channels = {key: channel for key, claim in claims.items() if (channel := channel_of(claim))}
        for name, label in domains.labels(channels.values()).items():
            self._writer.patch(views.nodes, domains.nodes[name], {"metadata": {"labels": {DOMAIN_LABEL: label}}})
        self._daemons(domains)

        of_pods = defaultdict[tuple[str, str, str], set[str]](set)
        for claim in claims.values():
            for pod in (claim.get("status") or {}).get("reservedFor") or ():
                if pod["resource"] == "pods":
                    place = (claim["metadata"]["namespace"], pod["name"], pod["uid"])
                    of_pods[place].add(claim["metadata"]["name"])
        self._prepared &= {uid for _, _, uid in of_pods}
        for (namespace, name, uid), reserved in of_pods.items():
            if uid not in self._prepared:
                held = (channels.get(f"{namespace}/{claim}") for claim in sorted(reserved))
                lacks = next((lack for channel in held if channel and (lack := domains.lacks(channel))), "")
                self._complaints.note(f"{namespace}/{name}", lacks)
                if not lacks and self._start(f"/api/v1/namespaces/{namespace}/pods/{name}", uid, reserved):
                    self._prepared.add(uid)

    def _daemons(self, domains: Domains) -> None:
        views = self._views
        of_cliques = defaultdict[tuple[str, str], list[Object]](list)
        for pod in views.daemons.objects().values():
            node = domains.nodes.get(pod["spec"].get("nodeName", ""))
            if node is None or not runs(pod):
                continue
            clique = annotations_of(node).get(CLIQUE_ANNOTATION, "")
            if labels_of(pod).get(CLIQUE_LABEL) != clique:
                self._writer.patch(views.daemons, pod, {"metadata": {"labels": {CLIQUE_LABEL: clique}}})
            if clique:
                name = f"{labels_of(pod)[DOMAIN_LABEL]}.{clique}"
                of_cliques[pod["metadata"]["namespace"], name].append(pod)
        present = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in domains.cliques}
        for place in of_cliques.keys() | present.keys():
            namespace, name = place
            wanted = clique_of(name, present.get(place), of_cliques[place], namespace)
            if _told(present.get(place)) != _told(wanted):
                self._writer.write(views.cliques, wanted, present.get(place))

    def _start(self, path: str, uid: str, reserved: set[str]) -> bool:
        """Have a pod run that is bound and has all of its claims; gives whether it need not be looked at again."""
        try:
            pod = self._api.get(path)
        except ApiError as error:
            if error.status == 404:
                return True
            raise
        if pod["metadata"]["uid"] != uid or PREPARED_ANNOTATION in annotations_of(pod):
            return True
        names = claims_of(pod)
        if names is None or not names <= reserved or "nodeName" not in pod["spec"]:
            return False
        self._api.patch(path, {"metadata": {"annotations": {PREPARED_ANNOTATION: "true"}}})
        log.info("the claims of %s are prepared", key_of(pod))
        return True
