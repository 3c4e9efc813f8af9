"""CNI configurations: their one text form, and what Multus, a plug-in or an IPAM would fail on at a pod's start."""

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.cni import (
    CniChain,
    MacvlanPlugin,
    SriovPlugin,
    TuningPlugin,
)


def test_a_chain_that_starts_without_an_interface_is_refused() -> None:
    with pytest.raises(ValidationError, match="tuning cannot come first"):
        CniChain(name="rail-00", plugins=(TuningPlugin(mtu=4200), SriovPlugin()))


def test_a_chain_with_two_interfaces_is_refused() -> None:
    with pytest.raises(ValidationError, match="sriov must come first and alone"):
        CniChain(name="rail-00", plugins=(MacvlanPlugin(master="ens1f0"), SriovPlugin()))
