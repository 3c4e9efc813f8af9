"""Deletes labels and annotations that operators leave on nodes.

Neither of NVIDIA's operators takes back what it wrote on a node. What is left decides what the next installation does
there, also one by another program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, UpdateResult

from gpu_fabric.resources.dynamic import label_cleanup

from ..engine.cluster_api import PATIENCE, ClusterApi, Json, RequestError, api_path, counts_as_deleted, merge
from ..engine.registration import DynamicProvider, DynamicResource

_NODES = api_path("v1", "nodes")
_PARTS = ("labels", "annotations")


class LabelCleanupError(pulumi.RunError):
    """The cluster refused a request; Pulumi prints the message without a traceback."""


class LabelCleanupProvider(DynamicProvider):
    """Notes at its creation which keys nodes have already, and deletes all others with these prefixes at its end."""

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Raises LabelCleanupError."""
        try:
            nodes = _nodes(_api(props))
        except RequestError as error:
            raise LabelCleanupError(f"the nodes' labels could not be read: {error}") from None
        kept = {key for node in nodes for part in _PARTS for key in _left(node, part, props["prefixes"])}
        return CreateResult("node-labels", {**props, "kept": sorted(kept)})

    def is_due(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        """Other prefixes are noted in place."""
        return bool(old.get("prefixes") != new.get("prefixes"))

    def update(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> UpdateResult:
        return UpdateResult({**new, "kept": old["kept"]})

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        """Raises LabelCleanupError."""
        try:
            api = _api(props)
            for node in _nodes(api):
                if changes := _removed(node, props["prefixes"], props["kept"]):
                    merge(api, api_path("v1", "nodes", name=node["metadata"]["name"]), {"metadata": changes})
        except RequestError as error:
            if not counts_as_deleted(error):
                raise LabelCleanupError(f"what operators left on the nodes could not be deleted: {error}") from None


class LabelCleanup(DynamicResource, name="LabelCleanup", provider=LabelCleanupProvider, planned=label_cleanup):
    """Registered before the operators' namespaces, and so deleted after them; see LabelCleanupProvider."""


def _api(props: Mapping[str, Any]) -> ClusterApi:
    return ClusterApi(props["kubeconfig"], props.get("context"), 1, PATIENCE)


def _nodes(api: ClusterApi) -> list[Json]:
    nodes: list[Json] = api.request("GET", _NODES)["items"]
    return nodes


def _left(node: Json, part: str, prefixes: Collection[str]) -> Iterator[str]:
    """The keys of a node that begin with one of the prefixes."""
    return (key for key in node["metadata"].get(part) or {} if key.startswith(tuple(prefixes)))


def _removed(node: Json, prefixes: Collection[str], kept: Collection[str]) -> dict[str, dict[str, None]]:
    """The merge patch of a node's metadata; empty where nothing is left."""
    found = {part: {key: None for key in _left(node, part, prefixes) if key not in kept} for part in _PARTS}
    return {part: keys for part, keys in found.items() if keys}
