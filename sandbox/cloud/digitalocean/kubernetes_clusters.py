"""The resource type KubernetesCluster."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from ..resource import Call, CloudError, HalfMade
from ..schema import Change, differences
from ..store import Record
from ..wire import Properties, Secret
from . import facts
from .api import Api, ApiResource, doing, gone_is_deleted
from .cluster_records import (
    changed_cluster,
    cluster_properties,
    cluster_urn,
    kubeconfig,
    new_cluster,
    upgraded_cluster,
)
from .machines import bring_about, mint_credentials, start_cluster, wait_for_nodes
from .node_pools import LIMIT_S, NodePool
from .pool_records import DEFAULT_POOL_TAG, count_is_met, pool_properties
from .projects import leave_projects

# How long the simulated cloud takes to provision a cluster, and how long a deleted one still counts in its VPC.
_CREATE_S = 4 * 60
_LINGERS_S = 60
# Fields that the provider only keeps for itself.
_NOT_SENT = ("registryIntegration", "destroyAllAssociatedResources", "kubeconfigExpireSeconds")


class KubernetesCluster(ApiResource):
    """A cluster with its default pool: a control plane of the sandbox, with simulated nodes."""

    kind, reading = "KubernetesCluster", "Error retrieving Kubernetes cluster"
    time_limits = ("create",)

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._pools = NodePool(api)

    def adjust(self, changes: dict[str, Change], state: Properties, news: Properties) -> dict[str, Change]:
        old, new = state.get("version"), news.get("version")
        if "version" in changes and isinstance(old, str) and isinstance(new, str):
            changes["version"] = Change(changes["version"].kind, replaces=facts.is_lower(new, old))
        pool, asked = state.get("nodePool"), news.get("nodePool")
        if isinstance(pool, dict) and isinstance(asked, dict) and count_is_met(pool, asked):
            changes.pop("nodePool.nodeCount", None)
        return changes

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        api = self._api
        watch, limit = api.clock.stopwatch(), call.limit(LIMIT_S)
        try:
            cluster, pool = api.request(call, "POST", "/v2/kubernetes/clusters", lambda: new_cluster(api, inputs))
            if cluster["status"] == "error":
                raise CloudError(cluster["message"])
            self._provision(call, cluster, pool["id"])
            watch.wait_until(min(_CREATE_S, limit), call.cancelled)
            call.check_cancelled()
            if limit < _CREATE_S:
                raise CloudError("Timeout waiting to create cluster")
        except CloudError as error:
            # the provider forgets the cluster, which stays
            raise CloudError(f"Error creating Kubernetes cluster: {error}") from None
        return cluster["id"], self._shown(call, self._get(call, cluster["id"]), inputs)

    def _shown_to(self, call: Call, identifier: str, state: Properties) -> Properties:
        cluster = self._get(call, identifier)
        imported = "name" not in state
        if imported:
            self._find_default_pool(call, cluster)
            if cluster["status"] == "error":
                cluster = self._provisioned_after_all(call, cluster)
        return self._shown(call, cluster, state, imported=imported)

    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        api, path = self._api, f"/v2/kubernetes/clusters/{identifier}"
        changes = self.adjust(differences(self.fields, state, news), state, news)
        of_pool = [name for name in changes if name.startswith("nodePool")]
        sent = [name for name in changes if name not in (*of_pool, *_NOT_SENT, "version")]
        found = partial(api.found, "clusters", identifier)
        with doing("Unable to update cluster"):
            if sent:
                api.request(call, "PUT", path, lambda: changed_cluster(api, found(), news, state))
            if "version" in changes:
                api.request(call, "POST", f"{path}/upgrade", lambda: upgraded_cluster(api, found(), news["version"]))
        bring_about(api, identifier)
        pool = {**state["nodePool"], **news["nodePool"]}
        known = {**news, "nodePool": pool, "kubeConfigs": state.get("kubeConfigs")}
        if of_pool:
            try:
                self._pools.change(call, pool["id"], identifier, news["nodePool"])
            except CloudError as error:
                reason = f"Error updating the cluster's default node pool: {error}"
                raise HalfMade(reason, self._shown(call, self._get(call, identifier), known)) from None
        return self._shown(call, self._get(call, identifier), known)

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        api, path = self._api, f"/v2/kubernetes/clusters/{identifier}"
        with doing("Unable to delete cluster"), gone_is_deleted():
            api.request(call, "DELETE", path, lambda: forget_cluster(api, identifier))
        # no other process would do it: for the provider it is not there any longer
        api.clusters.delete(identifier)

    def _provision(self, call: Call, cluster: Record, pool_id: str) -> None:
        api, identifier = self._api, cluster["id"]
        call.say("provisioning the control plane")
        start_cluster(api, cluster)
        bring_about(api, identifier)
        wait_for_nodes(api, call, identifier, pool_id)
        api.change("clusters", identifier, lambda record: record.update(status="running", message=""))

    def _provisioned_after_all(self, call: Call, cluster: Record) -> Record:
        """A cluster whose provisioning failed, after it was repaired: only a running cluster can be adopted."""
        pool = default_pool(self._api, cluster["id"])
        assert pool is not None
        self._provision(call, cluster, pool["id"])
        return self._get(call, cluster["id"])

    def _get(self, call: Call, identifier: str) -> Record:
        path = f"/v2/kubernetes/clusters/{identifier}"
        return self._api.request(call, "GET", path, lambda: self._api.found("clusters", identifier))

    def _shown(self, call: Call, cluster: Record, state: Properties, *, imported: bool = False) -> Properties:
        """The cluster's properties; `state` is the program's inputs or the stack's state."""
        kept = {name: state[name] for name in _NOT_SENT if state.get(name) is not None}
        defaults = {"registryIntegration": False, "destroyAllAssociatedResources": False}
        properties = {**cluster_properties(cluster), **defaults, **kept}
        pool = default_pool(self._api, cluster["id"])
        if pool is None:
            # the provider does not find the pool again, and shows what it knew
            properties["nodePool"] = state.get("nodePool")
        else:
            with_count = imported or bool((state.get("nodePool") or {}).get("nodeCount"))
            properties["nodePool"] = {"id": pool["id"], **pool_properties(pool, with_count=with_count)}
        properties["kubeConfigs"] = Secret(self._credentials(call, cluster, state))
        return properties

    def _credentials(self, call: Call, cluster: Record, state: Properties) -> list[Any]:
        """The kubeconfig of the state; a new one when there is none, or when it has expired by the cloud's date."""
        known = state.get("kubeConfigs") or []
        expires = known[0].get("expiresAt") if known else None
        if expires and datetime.fromisoformat(expires) > self._api.clock.today():
            return list(known)
        return [fetch_credentials(self._api, call, cluster, state.get("kubeconfigExpireSeconds") or 0)]

    def _find_default_pool(self, call: Call, cluster: Record) -> None:
        """Tag the default pool of an imported cluster that has just one. Raises CloudError when it has several."""
        pools = self._api.pools(cluster["id"])
        if any(DEFAULT_POOL_TAG in pool["own_tags"] for pool in pools):
            return
        if len(pools) != 1:
            raise CloudError(
                f"Cluster {cluster['id']} has {len(pools)} node pools and none of them the tag {DEFAULT_POOL_TAG}: "
                "give it to the one that is to be the default, and import the others as KubernetesNodePool"
            )
        path = f"/v2/kubernetes/clusters/{cluster['id']}/node_pools/{pools[0]['id']}"
        tagged = {**pools[0], "own_tags": [*pools[0]["own_tags"], DEFAULT_POOL_TAG]}
        self._api.request(call, "PUT", path, lambda: self._api.store.put("pools", tagged))


def default_pool(api: Api, cluster_id: str) -> Record | None:
    """The pool that carries the default pool's tag."""
    return next((pool for pool in api.pools(cluster_id) if DEFAULT_POOL_TAG in pool["own_tags"]), None)


def fetch_credentials(api: Api, call: Call, cluster: Record, expire_seconds: int) -> Properties:
    """A new kubeconfig of a cluster, as every fetch gives one."""
    path = f"/v2/kubernetes/clusters/{cluster['id']}/credentials"
    api.request(call, "GET", path, lambda: api.found("clusters", cluster["id"]))
    token, end = mint_credentials(api, cluster["id"], expire_seconds)
    return kubeconfig(cluster, token, end)


def forget_cluster(api: Api, identifier: str) -> None:
    """Remove a cluster's records, inside a request; its members of the VPC are deleted a little later."""
    cluster = api.found("clusters", identifier)
    for pool in api.pools(identifier):
        api.store.remove("pools", pool["id"])
    if vpc := api.store.get("vpcs", cluster["vpc_uuid"]):
        vpc["busy_until"] = max(vpc["busy_until"], api.clock.real_deadline(_LINGERS_S))
        api.store.put("vpcs", vpc)
    leave_projects(api, cluster_urn(cluster))
    api.store.remove("clusters", identifier)
