"""What goes wrong at DigitalOcean, played on stacks: how a run ends, what is left, and what puts it right."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from cloud_driver import CloudSandbox
from driver import until

# A version that DigitalOcean can raise, and a time limit that is over soon.
FILE: dict[str, Any] = {"version": "1.36.0-do.0", "createMinutes": 10}
RAW: dict[str, Any] = {**FILE, "kubeconfig": {"mode": "raw"}}
MORE = {"name": "more", "shape": "gpu-h200x8-1128gb-fabric-contracted", "nodes": 1}


class Started(NamedTuple):
    """A stack that is up, and what its first `up` said."""

    sandbox: CloudSandbox
    said: str


@pytest.fixture(scope="module")
def started(cloud: Callable[..., CloudSandbox]) -> Started:
    """A stack whose first requests were limited, up all the same; the tests of the module go on from one another."""
    sandbox = cloud("doks-h200")
    sandbox.fault("rate-limited", times=2)
    return Started(sandbox, sandbox.up(**RAW))


@pytest.fixture
def stack(started: Started) -> CloudSandbox:
    return started.sandbox


@pytest.fixture
def fresh(cloud: Callable[..., CloudSandbox]) -> CloudSandbox:
    """A sandbox in which nothing was ever brought up."""
    return cloud("doks-h200")


def issued(sandbox: CloudSandbox) -> set[str]:
    """The kubeconfigs' tokens that DigitalOcean has handed out."""
    return {token for cluster in sandbox.found("clusters") for token in cluster["tokens"]}


def test_a_stack_comes_up_although_requests_were_limited_twice(started: Started) -> None:
    assert "429 from the API, trying again (2 of 4)" in started.said
    assert started.sandbox.faults_left == {}
    assert "25 created" in started.said


def test_a_version_that_was_raised_elsewhere_plans_nothing_unless_the_file_says_always(stack: CloudSandbox) -> None:
    stack.fault("version-bumped")
    stack.refresh()
    assert stack.found("clusters")[0]["version"] == "1.36.0-do.1"
    assert stack.preview(**RAW).steps == {}
    always = stack.preview(**RAW, versionApplies="always", acknowledge=["cluster-doks"])
    assert always.steps["cluster-doks"] == "replace"


def test_a_raw_kubeconfig_that_has_expired_is_renewed_by_a_refresh_and_not_by_up(stack: CloudSandbox) -> None:
    stack.fault("credentials-expired")
    before = issued(stack)
    said = stack.up(**RAW, fails=True)
    assert "the cluster refuses the stack's credentials" in said
    assert "`pulumi refresh` renews it" in said
    assert issued(stack) == before
    # what lies on the cluster is still asked for with the old one
    stack.refresh(fails=True)
    assert len(issued(stack) - before) == 1
    assert "~ 1 updated" in stack.up(**RAW)


def test_the_api_token_as_kubeconfig_does_not_expire(stack: CloudSandbox) -> None:
    stack.up(**FILE)
    stack.fault("credentials-expired")
    assert "25 unchanged" in stack.up(**FILE)


def test_a_cluster_that_is_gone_is_made_anew_once_a_refresh_has_seen_it(
    stack: CloudSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = stack.known("KubernetesCluster")
    stack.fault("cluster-gone")
    with monkeypatch.context() as environment:
        # the Kubernetes provider's own word for it: what lay on a cluster that is not reached is gone
        environment.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
        stack.refresh()
    assert stack.known("KubernetesCluster") == stack.known("KubernetesNodePool") == []
    assert len(stack.known("Vpc")) == 1
    stack.up(**FILE)
    (after,) = stack.known("KubernetesCluster")
    assert [cluster["id"] for cluster in stack.found("clusters")] == [after]
    assert after != before


def test_a_pool_that_is_not_ready_in_time_is_left_behind_and_can_be_adopted(stack: CloudSandbox) -> None:
    gpu = {"name": "gpu", "shape": MORE["shape"], "nodes": 2}
    wanted = {**FILE, "pools": [gpu, MORE]}
    stack.fault("pool-never-ready")
    said = stack.up(**wanted, fails=True)
    assert "Timeout waiting to create nodepool" in said
    assert "the pool more of the cluster doks-h200 was not created, but DigitalOcean may have it nonetheless" in said
    assert "`doctl kubernetes cluster node-pool list doks-h200` shows it" in said
    assert "gpu-fabric:cluster.adopt.pools.more" in said
    (orphan,) = (pool["id"] for pool in stack.found("pools") if pool["name"] == "more")
    assert orphan not in stack.known("KubernetesNodePool")
    assert "a node pool with the name more exists already" in stack.up(**wanted, fails=True)
    stack.up(**wanted, adopt={"pools": {"more": orphan}})
    assert orphan in stack.known("KubernetesNodePool")
    assert stack.preview(**wanted).steps == {}


def test_destroy_outlasts_a_vpc_that_is_busy(stack: CloudSandbox) -> None:
    stack.fault("vpc-busy", seconds=300)
    assert "the VPC still has members, trying again" in stack.destroy()
    assert stack.faults_left == {}
    stack.assert_nothing_is_left()


def test_after_ctrl_c_in_a_clusters_creation_destroy_names_the_cluster_and_both_ways_out(fresh: CloudSandbox) -> None:
    running = fresh.start("pulumi", "up", *fresh.options)
    until(lambda: fresh.found("clusters"), "DigitalOcean has begun to create the cluster")
    running.send_signal(signal.SIGINT)
    assert running.wait() != 0
    (orphan,) = fresh.found("clusters")
    assert fresh.known("KubernetesCluster") == []

    said = fresh.destroy(fails=True)
    assert "the VPC doks-h200 still has members. What to do:" in said
    assert "a cluster doks-h200 whose creation was interrupted" in said
    assert "either delete it: `doctl kubernetes cluster delete doks-h200`" in said
    assert "or take it over: write its id as gpu-fabric:cluster.adopt.cluster, and run `up`" in said

    # The command of the advice is one that can be typed, and what it asks for helps.
    assert orphan["id"] in fresh.run("doctl", "kubernetes", "cluster", "list")
    fresh.run("doctl", "kubernetes", "cluster", "delete", "doks-h200", "--force")
    fresh.destroy()
    fresh.assert_nothing_is_left()


@pytest.mark.parametrize(("fault", "status"), [("rate-limited", 429), ("server-error", 500)])
def test_more_refusals_than_there_are_tries_end_the_run_and_say_how_many(
    fresh: CloudSandbox, fault: str, status: int
) -> None:
    fresh.fault(fault, times=5)
    said = fresh.up(**FILE, fails=True)
    assert f"{status} (request" in said
    assert "giving up after 5 attempt(s)" in said
    assert not any(fresh.everything.values())


def test_a_cluster_in_state_error_is_left_behind_and_can_be_adopted(fresh: CloudSandbox) -> None:
    fresh.fault("cluster-error")
    said = fresh.up(**FILE, fails=True)
    assert "the cluster doks-h200 was not created, but DigitalOcean may have it nonetheless" in said
    assert "`doctl kubernetes cluster list` shows it" in said
    assert "gpu-fabric:cluster.adopt.cluster" in said
    (orphan,) = fresh.found("clusters")
    assert (orphan["name"], orphan["status"]) == ("doks-h200", "error")
    assert fresh.known("KubernetesCluster") == []
    fresh.up(**FILE, adopt={"cluster": orphan["id"]})
    assert fresh.known("KubernetesCluster") == [orphan["id"]]
    assert fresh.preview(**FILE).steps == {}
    fresh.destroy()
    fresh.assert_nothing_is_left()
