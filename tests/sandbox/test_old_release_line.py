"""The OKE guide's release line, whose chart makes the NicClusterPolicy, on a cluster that never had another one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from driver import Sandbox
from test_models import assert_whole_life

pytestmark = pytest.mark.sandbox


def test_the_oke_guides_stack_comes_up_runs_a_job_stays_as_it_is_and_goes(trying: Callable[[str], Sandbox]) -> None:
    assert_whole_life(trying("oke-guide"), "nvidia.com/sriov_rdma_vf", 16)
