"""What the catalog says about clusters that a cloud runs, and what DOKS adds to a pool by itself."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.version import lies_below

DOKS, OKE = catalog().doks_clusters, catalog().oke_clusters


@pytest.mark.parametrize(
    ("version", "limit"),
    [("1.33.1-do.4", "1.33.1-do.5"), ("1.32", "1.33.1-do.5"), ("1.9.12", "1.27.10"), ("1.27.2", "1.27.10")],
)
def test_a_version_lies_below_a_limit_by_its_numbers(version: str, limit: str) -> None:
    assert lies_below(version, limit)


@pytest.mark.parametrize("version", ["1.33", "1.33.1", "1.33.1-do.5", "1.33.1-do.10", "1.34", "latest"])
def test_a_version_that_may_mean_a_newer_one_does_not_lie_below(version: str) -> None:
    assert not lies_below(version, "1.33.1-do.5")


def test_a_vcn_that_is_too_small_for_a_subnet_has_none() -> None:
    assert OKE.subnets["bastion"].within(ip_network("10.140.0.0/20")) is None
