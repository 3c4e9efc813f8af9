"""What IPAMs are told where nobody gets an address."""

from __future__ import annotations

import pytest
from planned_addresses import answer

from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.ipam import cni_ipam, pool_objects


@pytest.mark.parametrize("ipam", ["host", "nv-ipam"])
def test_without_addresses_there_is_nothing_to_make_or_to_name(ipam: str) -> None:
    plan = answer({}, {"layout": "none", "ipam": ipam})

    assert isinstance(plan, AddressPlan)
    assert (pool_objects(plan, "nvidia-network-operator"), cni_ipam(plan, plan.pool_of(0))) == ((), None)
