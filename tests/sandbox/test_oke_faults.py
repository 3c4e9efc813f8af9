"""What goes wrong at Oracle, played on a stack: how a run ends, what it tells to do, and what comes of doing it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from cloud_driver import NODES, CloudSandbox
from driver import until

H100 = "BM.GPU.H100.8"
IMAGE = "ocid1.image.oc1.iad.aaaaaaaaofanothershape"
IMAGE_URI = "https://objectstorage.us-ashburn-1.oraclecloud.com/n/example/b/images/o/gpu"
POOL = {"name": "gpu", "shape": H100, "nodes": 2}
MORE = {"name": "more", "shape": H100, "nodes": 1, "placement": "compute-cluster"}
# An administrator makes policies here, and has made none at first.
FILE: dict[str, Any] = {"identity": {"create": False}, "joinMinutes": 10}
ADDONS = {"addons": [{"name": "CertManager"}]}


def wanted(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**FILE, "pools": list(pools), **more}


FIRST = wanted({**POOL, "availabilityDomain": "AD-1"})
ELSEWHERE = {**POOL, "availabilityDomain": "AD-2"}
WHOLE = wanted(ELSEWHERE, {**MORE, "imageUri": IMAGE_URI}, **ADDONS)


class Started(NamedTuple):
    """A stack whose machines Oracle had no hosts for, and what its first `up` said."""

    sandbox: CloudSandbox
    said: str


@pytest.fixture(scope="module")
def started(cloud: Callable[..., CloudSandbox]) -> Started:
    """The tests of the module go on from one another: from a failure to what puts it right, and on to the next."""
    sandbox = cloud("oke-h100", "oci")
    sandbox.fault("out-of-capacity")
    return Started(sandbox, sandbox.up(**FIRST, fails=True))


@pytest.fixture
def stack(started: Started) -> CloudSandbox:
    return started.sandbox


def domains(sandbox: CloudSandbox) -> list[str]:
    """The availability domains of the machines that Oracle runs."""
    return [machine["inputs"]["availabilityDomain"][-4:] for machine in sandbox.found("instance")]


def sized(**sizes: int) -> dict[str, Any]:
    """The whole stack with pools of these sizes."""
    return {**WHOLE, "pools": [{**pool, "nodes": sizes[pool["name"]]} for pool in WHOLE["pools"]]}


def changes(said: str) -> dict[str, int]:
    """What a run has done, by its own count, but for what it left alone."""
    counted = re.findall(r"(\d+) (created|updated|replaced|deleted|errored)$", said, re.MULTILINE)
    return {done: int(count) for count, done in counted}


def nodes(sandbox: CloudSandbox) -> set[str]:
    return {node["metadata"]["uid"] for node in sandbox.items(NODES)}


def nodes_of(sandbox: CloudSandbox, pool: str) -> int:
    found = sandbox.items(NODES)
    # A node that went is made again, bare, by what plays Node Feature Discovery unless that only patches.
    strange = [node for node in found if "labels" not in node["metadata"]]
    assert not strange, json.dumps(strange)
    return sum(node["metadata"]["labels"].get("gpu-fabric/pool") == pool for node in found)


def test_without_free_hosts_the_run_ends_with_what_to_ask_oracle_for(started: Started) -> None:
    assert "500-InternalError, Out of host capacity" in started.said
    assert "Oracle has no free hosts for pool gpu (2 of BM.GPU.H100.8) now. What to do:" in started.said
    for way in ("capacityReservationId", "availabilityDomain", "fewer nodes"):
        assert way in started.said
    assert started.sandbox.found("instance") == []


def test_machines_in_another_domain_run_and_without_a_policy_do_not_join_and_it_is_named(stack: CloudSandbox) -> None:
    # Acknowledged: the guard knows of a plan with machines, and not that Oracle had no hosts for them.
    said = stack.up(**wanted(ELSEWHERE), acknowledge=["cluster-pool-gpu"], fails=True)
    assert domains(stack) == ["AD-2", "AD-2"]
    assert "pool gpu: 0 of 2 nodes have joined the cluster" in said
    assert (
        "an administrator is to make (identity.create is false) a dynamic group with the rule: ALL {instance." in said
    )
    (cluster,) = stack.planes.ids()
    assert "a policy is to say: Allow dynamic-group 'oke-h100-nodes' to {CLUSTER_JOIN} in compartment id" in said
    assert f"where target.cluster.id = '{cluster}'" in said
    assert "(terminate the instance, and the cluster network makes another)" in said


def test_with_the_policy_and_new_machines_the_stack_comes_up_and_outlasts_another_change_of_its_add_ons(
    stack: CloudSandbox,
) -> None:
    stack.fault("policies-given")
    stack.fault("unjoined-terminated")
    stack.fault("addon-busy", times=2)
    said = stack.up(**wanted(ELSEWHERE, **ADDONS))
    assert "another change of the cluster or its add-ons is under way, which addon-certmanager has to wait for" in said
    assert "trying again in 30 s (2 of 10)" in said
    assert stack.faults_left == {}
    assert nodes_of(stack, "gpu") == 2


def test_an_image_that_does_not_start_on_its_shape_is_imported_for_it(stack: CloudSandbox) -> None:
    stack.fault("image-incompatible")
    said = stack.up(**wanted(ELSEWHERE, {**MORE, "imageId": IMAGE}, **ADDONS), fails=True)
    assert f"400-InvalidParameter, Shape {H100} is incompatible with image {IMAGE}" in said
    assert "the image does not start on the shape of pool more (1 of BM.GPU.H100.8); nothing was launched" in said
    assert "imageUri of the pool, in the place of imageId" in said
    stack.up(**WHOLE)
    assert [each["inputs"]["shapeName"] for each in stack.found("shapemanagement")] == [H100]
    assert nodes_of(stack, "more") == 1


def test_a_pool_that_failed_at_oracle_stays_broken_until_a_refresh_and_comes_up_after_it(stack: CloudSandbox) -> None:
    third = {"name": "third", "shape": H100, "nodes": 1, "availabilityDomain": "AD-2"}
    wished = {**WHOLE, "pools": [*WHOLE["pools"], third]}
    stack.fault("pool-fails")
    said = stack.up(**wished, fails=True)
    assert "but the service reported unexpected state: TERMINATED" in said
    assert "then `make refresh`, which takes what is gone out of the state, and `up`" in said

    # The state has what Oracle has not, so that every further run is an update of nothing.
    said = stack.up(**wished, fails=True)
    assert "404-NotAuthorizedOrNotFound" in said
    assert "make refresh" in said

    stack.refresh()
    stack.up(**wished)
    assert nodes_of(stack, "third") == 1
    stack.up(**WHOLE, acknowledge=["cluster-pool-third"])
    assert nodes_of(stack, "third") == 0


def test_pools_grow_and_shrink_in_place(stack: CloudSandbox) -> None:
    first = nodes(stack)
    assert changes(stack.up(**sized(gpu=3, more=2))) == {"updated": 2}
    until(lambda: (nodes_of(stack, "gpu"), nodes_of(stack, "more")) == (3, 2), "a node more in each pool")
    assert first < nodes(stack)
    # Acknowledged, or the guard refuses fewer nodes.
    fewer = stack.up(**sized(gpu=2, more=1), acknowledge=["cluster-pool-gpu", "cluster-pool-more"])
    assert changes(fewer) == {"updated": 2}
    until(lambda: nodes(stack) == first, "the newer node of each pool is gone, and no other")


def test_a_destroy_that_meets_an_instance_configuration_in_use_says_by_whom_and_goes_on_afterwards(
    stack: CloudSandbox,
) -> None:
    stack.fault("configuration-used")
    said = stack.destroy(fails=True)
    assert "409-Conflict, The Instance Configuration" in said
    assert (
        "an instance pool that is none of this stack's, or that is still being deleted, uses configuration-gpu" in said
    )
    assert "oci compute-management instance-pool list --compartment-id ocid1.compartment.oc1..aaaaaaaaexample" in said
    stack.fault("configuration-released")
    stack.destroy()
    # what an administrator made is the administrator's
    stack.store.remove("policy", stack.found("policy")[0]["id"])
    stack.assert_nothing_is_left()
