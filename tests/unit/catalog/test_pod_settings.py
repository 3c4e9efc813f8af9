"""What every pod on the fabric needs: the size of its shared memory, and sysctls for several NICs."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.nodes import PodSettings


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("BM.GPU.H100.8", "32Gi"),
        ("BM.GPU.MI300X.8", "128Gi"),
        ("gpu-h200x8-1128gb-fabric-contracted", "64Gi"),
        ("gpu-mi325x8-2048gb-fabric-contracted", "128Gi"),
        ("server.dgx-h100.8", "32Gi"),
    ],
)
def test_shared_memory_follows_the_gpus_maker_and_the_guide_of_the_provider(shape: str, size: str) -> None:
    assert catalog().pod_settings.shared_memory_of(catalog().shapes[shape]).size == size


def test_a_sysctl_with_two_values_is_refused() -> None:
    wrong = catalog().pod_settings.model_dump()
    wrong["sysctls"] = (*wrong["sysctls"], wrong["sysctls"][0] | {"value": "0"})

    with pytest.raises(ValidationError, match=re.escape("sysctl with two rows: net.ipv4.conf.all.accept_local")):
        PodSettings.model_validate(wrong)
