"""The resource type KubernetesNodePool."""

from __future__ import annotations

from ..clock import Stopwatch
from ..resource import Call, CloudError, HalfMade
from ..schema import Change
from ..store import Record
from ..wire import Properties
from .api import ApiError, ApiResource, doing
from .machines import bring_about, wait_for_nodes
from .pool_records import (
    DEFAULT_POOL_TAG,
    changed_pool,
    count_is_met,
    new_pool,
    pool_properties,
)

LIMIT_S = 30 * 60
"""The provider's time limit for a pool: to create, change and delete it."""

# How long the simulated cloud takes.
_CREATE_S = 2 * 60
_DELETE_S = 60


class NodePool(ApiResource):
    """A pool in addition to the default one; size, cluster and partition mode are for life."""

    kind, reading = "KubernetesNodePool", "Error retrieving Kubernetes node pool"
    time_limits = ("create", "delete")

    def adjust(self, changes: dict[str, Change], state: Properties, news: Properties) -> dict[str, Change]:
        if count_is_met(state, news):
            changes.pop("nodeCount", None)
        return changes

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        api, cluster_id = self._api, inputs["clusterId"]

        def post() -> Record:
            cluster = api.found("clusters", cluster_id)
            pool = new_pool(api, cluster, inputs)
            api.store.put("clusters", cluster)
            return pool

        try:
            pool = api.request(call, "POST", f"/v2/kubernetes/clusters/{cluster_id}/node_pools", post)
            self._await(call, pool, api.clock.stopwatch())
        except ApiError as error:
            why = "Error creating Kubernetes node pool: Unable to create new default node pool"
            raise ApiError(error.status, f"{why}: {error}") from None
        except CloudError as error:
            # the provider forgets the pool, which stays
            raise CloudError(f"Error creating Kubernetes node pool: {error}") from None
        return pool["id"], self._found(call, pool["id"], inputs)

    def _shown_to(self, call: Call, identifier: str, state: Properties) -> Properties:
        if not state.get("clusterId"):
            state = {"clusterId": self._cluster_of(call, identifier)}
        imported = "name" not in state
        if imported:
            self._join_after_all(call, state["clusterId"], identifier)
        return self._found(call, identifier, state, imported=imported)

    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        try:
            self.change(call, identifier, news["clusterId"], news)
        except ApiError as error:
            raise ApiError(error.status, f"Error updating node pool: Unable to update nodepool: {error}") from None
        except CloudError as error:
            outputs = self._found(call, identifier, news)
            raise HalfMade(f"Error updating node pool: {error}", outputs) from None
        return self._found(call, identifier, news)

    def change(self, call: Call, identifier: str, cluster_id: str, asked: Properties) -> None:
        """Update a pool, the default one too, and wait for its nodes. Raises CloudError."""
        api = self._api

        def put() -> Record:
            pool = api.found("pools", identifier)
            return changed_pool(api, pool, api.found("clusters", cluster_id), asked)

        pool = api.request(call, "PUT", _path(cluster_id, identifier), put)
        self._await(call, pool, api.clock.stopwatch(), at_least=0)

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        api, cluster_id = self._api, state["clusterId"]

        def remove() -> None:
            api.found("pools", identifier)
            api.store.remove("pools", identifier)

        watch, limit = api.clock.stopwatch(), call.limit(LIMIT_S)
        with doing("Unable to delete node pool"):
            api.request(call, "DELETE", _path(cluster_id, identifier), remove)
        bring_about(api, cluster_id)
        watch.wait_until(min(_DELETE_S, limit), call.cancelled)
        call.check_cancelled()
        if limit < _DELETE_S:
            raise CloudError("Timeout waiting to delete nodepool")

    def _await(self, call: Call, pool: Record, watch: Stopwatch, at_least: float = _CREATE_S) -> None:
        limit = call.limit(LIMIT_S)
        if pool["stuck"]:
            call.say("waiting for the pool's nodes")
            at_least = float("inf")
        else:
            bring_about(self._api, pool["cluster_id"])
            wait_for_nodes(self._api, call, pool["cluster_id"], pool["id"])
        watch.wait_until(min(at_least, limit), call.cancelled)
        call.check_cancelled()
        if limit < at_least:
            raise CloudError("Timeout waiting to create nodepool")

    def _join_after_all(self, call: Call, cluster_id: str, identifier: str) -> None:
        """Let the nodes of a stuck pool join: a pool can be adopted only after that."""
        pool = self._api.store.get("pools", identifier)
        if pool is not None and pool["stuck"]:
            self._api.change("pools", identifier, lambda record: record.update(stuck=False))
            bring_about(self._api, cluster_id)
            wait_for_nodes(self._api, call, cluster_id, identifier)

    def _found(self, call: Call, identifier: str, state: Properties, *, imported: bool = False) -> Properties:
        cluster_id = state["clusterId"]
        pool = self._api.request(
            call, "GET", _path(cluster_id, identifier), lambda: self._api.found("pools", identifier)
        )
        with_count = imported or state.get("nodeCount") is not None
        return {"clusterId": cluster_id, **pool_properties(pool, with_count=with_count)}

    def _cluster_of(self, call: Call, identifier: str) -> str:
        pools = self._api.request(call, "GET", "/v2/kubernetes/clusters", lambda: self._api.store.list("pools"))
        pool = next((pool for pool in pools if pool["id"] == identifier), None)
        if pool is None:
            raise CloudError(f"Did not find the cluster owning the node pool {identifier}")
        if DEFAULT_POOL_TAG in pool["own_tags"]:
            raise CloudError(
                f"Node pool {identifier} has the default node pool's tag: it is part of cluster {pool['cluster_id']}, "
                "which is to be imported instead"
            )
        cluster_id: str = pool["cluster_id"]
        return cluster_id


def _path(cluster_id: str, pool_id: str) -> str:
    return f"/v2/kubernetes/clusters/{cluster_id}/node_pools/{pool_id}"
