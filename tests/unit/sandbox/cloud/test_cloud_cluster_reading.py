"""Refresh and import of the simulated provider's clusters, and their kubeconfigs."""

from __future__ import annotations

import pytest
import yaml
from cloud_engine import Engine, Failed, Resource
from digitalocean_inputs import INPUTS, POOL, gpu_pool, refreshed


@pytest.fixture
def cluster(engine: Engine) -> Resource:
    return engine.up("KubernetesCluster", "one", INPUTS)


def test_the_kubeconfig_reaches_the_cluster_with_a_token_that_ends(engine: Engine, cluster: Resource) -> None:
    parts = cluster.outputs["kubeConfigs"][0]
    config = yaml.safe_load(parts["rawConfig"])
    assert config["clusters"][0]["cluster"]["server"] == parts["host"] == cluster.outputs["endpoint"]
    assert config["current-context"] == "do-nyc2-one"
    assert config["users"][0]["user"]["token"] == parts["token"]
    assert engine.planes.tokens[cluster.id][parts["token"]] is not None
    assert engine.planes.tokens[cluster.id][engine.api.account_token] is None


def test_an_expired_kubeconfig_is_renewed_by_a_refresh_and_by_nothing_else(engine: Engine, cluster: Resource) -> None:
    old = cluster.outputs["kubeConfigs"][0]
    assert refreshed(engine, cluster).outputs["kubeConfigs"][0] == old
    engine.api.clock.advance(8 * 24 * 3600)
    assert engine.diff(cluster, INPUTS).paths == ()
    new = refreshed(engine, cluster).outputs["kubeConfigs"][0]
    assert new["token"] != old["token"]
    assert new["expiresAt"] > old["expiresAt"]


def test_a_default_pool_that_lost_its_tag_keeps_what_the_stack_knows(engine: Engine, cluster: Resource) -> None:
    pool = engine.api.pools(cluster.id)[0]
    engine.api.store.put("pools", {**pool, "own_tags": []})
    assert refreshed(engine, cluster).outputs["nodePool"] == cluster.outputs["nodePool"]


def test_an_imported_cluster_is_as_the_program_that_made_it_says(engine: Engine, cluster: Resource) -> None:
    found = engine.imported("KubernetesCluster", cluster.id)
    assert found is not None
    assert found.outputs["kubeConfigs"][0]["token"]
    assert engine.diff(found, INPUTS).paths == ()
    assert found.inputs["nodePool"] == POOL


def test_importing_a_cluster_of_one_pool_without_the_tag_tags_it(engine: Engine, cluster: Resource) -> None:
    pool = engine.api.pools(cluster.id)[0]
    engine.api.store.put("pools", {**pool, "own_tags": []})
    found = engine.imported("KubernetesCluster", cluster.id)
    assert found is not None
    assert found.outputs["nodePool"]["name"] == "system"


def test_importing_a_cluster_of_several_pools_without_the_tag_is_refused(engine: Engine, cluster: Resource) -> None:
    engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    pool = engine.api.pools(cluster.id)[0]
    engine.api.store.put("pools", {**pool, "own_tags": []})
    with pytest.raises(Failed, match="terraform:default-node-pool"):
        engine.imported("KubernetesCluster", cluster.id)


def test_an_ignored_version_makes_no_replacement_after_a_forced_upgrade(engine: Engine, cluster: Resource) -> None:
    engine.api.change("clusters", cluster.id, lambda record: record.update(version="1.35.6-do.0"))
    after = refreshed(engine, cluster)
    assert after.inputs["version"] == "1.35.6-do.0"
    assert engine.diff(after, INPUTS).replaces == ("version",)
    assert engine.diff(after, INPUTS, ignore=["version"]).paths == ()
