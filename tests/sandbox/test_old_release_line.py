"""The OKE guide's release line, whose chart makes the NicClusterPolicy, and the way from it to today's.

The tests go on from one another, on a cluster that never had another line.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from driver import Sandbox
from test_models import assert_a_job_runs, assert_whole_life

pytestmark = pytest.mark.sandbox

STACK, RESOURCE, DEVICES = "oke-guide", "nvidia.com/sriov_rdma_vf", 16
# Of the old GPU Operator's chart: it has to have a field that today's chart no longer writes.
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterpolicies.nvidia.com"


def test_the_oke_guides_stack_comes_up_runs_a_job_stays_as_it_is_and_goes(trying: Callable[[str], Sandbox]) -> None:
    assert_whole_life(trying(STACK), RESOURCE, DEVICES)


def test_todays_line_comes_up_in_its_place_once_the_definition_that_helm_has_left_is_deleted(
    trying: Callable[[str], Sandbox],
) -> None:
    sandbox = trying(STACK)
    sandbox.up_with(software={"releaseLine": "26.4"}, fails=True)
    sandbox.run("pulumi", "destroy", *sandbox.options)
    sandbox.api.delete(DEFINITION)
    sandbox.up_with(software={"releaseLine": "26.4"})
    policies = sandbox.items("/apis/nvidia.com/v1/clusterpolicies")
    assert ["defaultRuntime" in entry["spec"]["operator"] for entry in policies] == [False]
    assert_a_job_runs(sandbox, RESOURCE, DEVICES)
    sandbox.run("pulumi", "destroy", *sandbox.options)
