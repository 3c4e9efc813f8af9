"""What a stack meets when the simulated cloud does something wrong."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cloud_engine import MINUTE_S, Engine, Failed, Resource, engine_on
from digitalocean_inputs import gpu_pool

from sandbox.cloud import fault_orders
from sandbox.cloud.digitalocean.events import play_on
from sandbox.cloud.faults import Faults
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome

VPC = {"name": "net", "region": "nyc2", "ipRange": "10.20.0.0/20"}
CLUSTER = {
    "name": "one",
    "region": "nyc2",
    "version": "1.35.1-do.6",
    "nodePool": {"name": "system", "size": "s-4vcpu-8gb", "nodeCount": 1},
}


@pytest.fixture
def cluster(engine: Engine) -> Resource:
    return engine.up("KubernetesCluster", "one", CLUSTER)


@pytest.mark.parametrize("fault", ["rate-limited", "server-error"])
def test_a_few_bad_answers_are_tried_again_unnoticed(engine: Engine, fault: str) -> None:
    engine.order(fault, 4)
    assert engine.up("Vpc", "net", VPC).id


@pytest.mark.parametrize(("fault", "status"), [("rate-limited", 429), ("server-error", 500)])
def test_the_provider_gives_up_after_its_fifth_try(engine: Engine, fault: str, status: int) -> None:
    engine.order(fault, 5)
    with pytest.raises(Failed, match=rf"POST .*/v2/vpcs: {status} .*giving up after 5 attempt\(s\)"):
        engine.up("Vpc", "net", VPC)
    assert engine.up("Vpc", "net", VPC).id


def test_the_number_of_retries_is_the_providers_to_set(engine: Engine) -> None:
    engine.configure(token=engine.api.account_token, httpRetryMax="0")
    engine.order("server-error", 1)
    with pytest.raises(Failed, match=r": 500 \(request"):
        engine.up("Vpc", "net", VPC)


def test_a_cluster_that_goes_to_error_stays_behind_outside_the_state(engine: Engine) -> None:
    engine.order("cluster-error", 1)
    with pytest.raises(
        Failed, match="Error creating Kubernetes cluster: the cluster could not be provisioned"
    ) as error:
        engine.up("KubernetesCluster", "one", CLUSTER)
    assert error.value.kept is None
    assert [record["status"] for record in engine.api.store.list("clusters")] == ["error"]
    with pytest.raises(Failed, match=r"422 .*a cluster with the name one exists"):
        engine.up("KubernetesCluster", "one", CLUSTER)


def test_a_cluster_whose_time_limit_ends_stays_behind_and_can_be_imported(engine: Engine) -> None:
    with pytest.raises(Failed, match="Timeout waiting to create cluster"):
        engine.up("KubernetesCluster", "one", CLUSTER, limit_s=60)
    [left] = engine.api.store.list("clusters")
    found = engine.imported("KubernetesCluster", left["id"])
    assert found is not None
    assert engine.diff(found, CLUSTER).paths == ()


def test_a_pool_that_never_gets_ready_stays_behind_and_keeps_its_name(engine: Engine, cluster: Resource) -> None:
    engine.order("pool-never-ready", 1)
    with pytest.raises(
        Failed, match="Error creating Kubernetes node pool: Timeout waiting to create nodepool"
    ) as error:
        engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    assert error.value.kept is None
    with pytest.raises(Failed, match=r"422 .*a node pool with the name gpu exists"):
        engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))


def test_a_change_of_a_pool_has_the_providers_half_hour_whatever_the_program_says(
    engine: Engine, cluster: Resource
) -> None:
    pool = engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    assert engine.update(pool, {**gpu_pool(cluster), "nodeCount": 3}, limit_s=1).outputs["actualNodeCount"] == 3
    engine.api.change("pools", pool.id, lambda record: record.update(stuck=True))
    began = time.monotonic()
    with pytest.raises(Failed, match="Timeout waiting"):
        engine.update(pool, {**gpu_pool(cluster), "nodeCount": 4}, limit_s=24 * 60 * 60)
    assert time.monotonic() - began < 12 * 60 * MINUTE_S  # half of what was asked for


def test_a_busy_vpc_is_deleted_when_the_time_limit_is_the_longer_one(engine: Engine) -> None:
    one = engine.up("Vpc", "net", VPC)
    engine.order("vpc-busy", 1_000_000)  # half a minute, so that no pause of this machine outlasts it
    with pytest.raises(Failed, match=r"409 .*Can not delete VPC with members"):
        engine.delete(one)
    engine.order("vpc-busy", 300)
    engine.delete(one, limit_s=1_000_000)
    assert engine.refresh(one) is None


def test_expired_credentials_come_back_with_a_refresh(engine: Engine, cluster: Resource) -> None:
    assert "have expired" in play_on(engine.api, "credentials-expired")
    assert engine.diff(cluster, CLUSTER).paths == ()
    after = engine.refresh(cluster)
    assert after is not None
    assert after.outputs["kubeConfigs"][0]["token"] != cluster.outputs["kubeConfigs"][0]["token"]


def test_a_version_raised_elsewhere_threatens_the_cluster_with_replacement(engine: Engine, cluster: Resource) -> None:
    assert play_on(engine.api, "version-bumped") == "one has version 1.35.6-do.0"
    assert engine.diff(cluster, CLUSTER).paths == ()
    after = engine.refresh(cluster)
    assert after is not None
    assert engine.diff(after, CLUSTER).replaces == ("version",)


def test_a_cluster_deleted_elsewhere_drops_out_of_the_state_on_refresh(engine: Engine, cluster: Resource) -> None:
    pool = engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    assert play_on(engine.api, "cluster-gone") == "deleted: one"
    assert engine.refresh(cluster) is None
    assert engine.refresh(pool) is None


def test_an_autoscaled_pool_has_another_node_after_a_refresh(engine: Engine, cluster: Resource) -> None:
    inputs = {**gpu_pool(cluster), "autoScale": True, "minNodes": 1, "maxNodes": 4}
    pool = engine.up("KubernetesNodePool", "gpu", inputs)
    assert play_on(engine.api, "pool-resized") == "gpu has 3 nodes"
    after = engine.refresh(pool)
    assert after is not None
    assert [node["status"] for node in after.outputs["nodes"]] == ["running"] * 3
    assert engine.diff(after, {**inputs, "nodeCount": 3}).paths == ()


def test_a_lost_tag_of_the_default_pool_leaves_the_state_as_it_is(engine: Engine, cluster: Resource) -> None:
    play_on(engine.api, "default-tag-lost")
    after = engine.refresh(cluster)
    assert after is not None
    assert after.outputs["nodePool"] == cluster.outputs["nodePool"]


@pytest.mark.parametrize(
    ("fault", "message"), [("contract-missing", "no contract"), ("not-enough-quota", "droplet limit")]
)
def test_the_account_may_not_have_a_pool(engine: Engine, cluster: Resource, fault: str, message: str) -> None:
    engine.order(fault, 1)
    with pytest.raises(Failed, match=f": 422 .*{message}"):
        engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    assert engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster)).id


def test_a_missing_contract_does_not_hinder_a_size_without_one(engine: Engine) -> None:
    engine.order("contract-missing", 1)
    assert engine.up("KubernetesCluster", "one", CLUSTER).id


def test_a_run_that_is_ended_does_not_wait_for_the_cloud(tmp_path: Path) -> None:
    with engine_on(tmp_path, minute_s=5.0) as engine, ThreadPoolExecutor() as threads:
        vpc = engine.up("Vpc", "net", VPC)
        engine.order("vpc-busy", 100 * 60)
        deletion = threads.submit(engine.delete, vpc, 100 * 60)
        from google.protobuf import empty_pb2

        engine.stub.Cancel(empty_pb2.Empty())
        with pytest.raises(Failed, match="cancelled"):
            deletion.result(timeout=20)


def test_a_fault_happens_just_as_often_as_ordered_whoever_asks(tmp_path: Path) -> None:
    ordered = Faults(tmp_path)
    with ordered.open() as left:
        left["rate-limited"] = 25
    with ThreadPoolExecutor(8) as threads:
        happened = list(threads.map(lambda _: Faults(tmp_path).happens("rate-limited"), range(60)))
    assert happened.count(True) == 25


def test_faults_are_ordered_by_name_with_an_amount_and_taken_back(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    assert "3 times" in fault_orders.add(home, "rate-limited", times=3)
    assert "300 s" in fault_orders.add(home, "vpc-busy")
    fault_orders.clear(home)
    assert not Faults(home.cloud).happens("rate-limited")
    assert Faults(home.cloud).seconds("vpc-busy") == 0


@pytest.mark.parametrize(
    ("name", "amounts", "message"),
    [
        ("rate-limit", {}, "no fault"),
        ("vpc-busy", {"times": 2}, "takes no --times"),
        ("cluster-error", {"seconds": 2}, "takes no --seconds"),
        ("cluster-gone", {"times": 1}, "takes no --times"),
        ("rate-limited", {"times": 0}, "too little"),
    ],
)
def test_a_wrong_order_says_what_is_wrong(tmp_path: Path, name: str, amounts: dict[str, int], message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        fault_orders.add(SandboxHome(tmp_path), name, **amounts)


def test_every_fault_says_what_it_does() -> None:
    assert all(about.strip() for about in fault_orders.names().values())
