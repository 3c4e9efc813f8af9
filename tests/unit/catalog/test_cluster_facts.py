"""What the catalog says about clusters that a cloud runs, and what DOKS adds to a pool by itself."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.version import lies_below
from gpu_fabric.spec.cluster import TaintSpec
from gpu_fabric.spec.doks import DoksPoolSpec

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


def test_every_published_end_of_support_comes_before_the_upgrades_that_it_forces() -> None:
    for minor in DOKS.versions.values():
        assert minor.forced_upgrades_from is None or minor.support_ends < minor.forced_upgrades_from


@pytest.mark.parametrize(
    ("subnet", "network"),
    [
        ("control-plane", "10.140.0.0/29"),
        ("operator", "10.140.0.16/29"),
        ("public-lb", "10.140.0.64/27"),
        ("workers", "10.140.64.0/19"),
        ("pods", "10.140.128.0/17"),
    ],
)
def test_the_published_address_plan_of_oke_is_rebuilt_from_the_vcns_range(subnet: str, network: str) -> None:
    plans = {str(name): plan for name, plan in OKE.subnets.items()}

    assert plans[subnet].within(ip_network("10.140.0.0/16")) == ip_network(network)


def test_a_vcn_that_is_too_small_for_a_subnet_has_none() -> None:
    assert OKE.subnets["bastion"].within(ip_network("10.140.0.0/20")) is None


def test_jobs_on_doks_tolerate_the_vendors_taint_besides_the_stated_ones() -> None:
    pool = DoksPoolSpec.model_construct(taints=(TaintSpec(key="example.com/team"),))

    assert [taint.key for taint in pool.taints_with("amd")] == ["amd.com/gpu", "example.com/team"]
