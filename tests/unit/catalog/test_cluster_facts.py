"""What the catalog says about clusters that a cloud runs, and about every pod on the fabric."""

from __future__ import annotations

import re
import string
from ipaddress import ip_network
from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.distribution import USUAL_KUBELET_ROOT, USUAL_NETWORKS, USUAL_PLUGINS
from gpu_fabric.catalog.version import lies_below

FACTS = catalog().oke_clusters


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
    assert FACTS.subnets["bastion"].within(ip_network("10.140.0.0/20")) is None


def test_no_security_rule_is_written_twice() -> None:
    rows = [row.model_copy(update={"why": ""}) for row in FACTS.security_rules]

    assert [row for place, row in enumerate(rows) if row in rows[:place]] == []


def test_what_may_leave_towards_a_group_is_let_in_there_for_every_port_of_the_control_plane() -> None:
    def ports(direction: str, group: str, peer: str) -> set[tuple[int, int] | None]:
        return {
            row.ports
            for row in FACTS.security_rules
            if (row.direction, row.group, row.peer, row.protocol) == (direction, group, peer, "tcp")
        }

    for client in ("pods", "operator", "bastion"):
        assert ports("egress", client, "control-plane") <= ports("ingress", "control-plane", client)
    assert {(6443, 6443), (12250, 12250)} <= ports("ingress", "control-plane", "workers")


def test_every_statement_names_only_what_the_plan_fills_in() -> None:
    for row in FACTS.policies:
        names = {name for _, name, _, _ in string.Formatter().parse(row.statement) if name}
        assert names <= {"compartment", "cluster", "nodes", "operator"}, row.name
        assert row.why.endswith(".")


def test_statements_that_name_the_cluster_are_in_the_policies_that_come_after_it() -> None:
    named = {row.policy for row in FACTS.policies if "{cluster}" in row.statement}
    assert named == {"join", "operator", "autoscaler"}


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


def test_the_page_on_clusters_of_others_has_each_distribution_with_its_marks_and_folders(root: Path) -> None:
    lines = (root / "docs/managed-kubernetes.md").read_text(encoding="utf-8").splitlines()
    usual = {USUAL_PLUGINS, USUAL_NETWORKS, USUAL_KUBELET_ROOT}

    assert set(catalog().distributions) >= {"eks", "gke", "aks", "rke2", "k3s", "openshift"}
    of_clouds = [cloud.nodes for cloud in catalog().clouds.values() if cloud.nodes is not None]
    for row in (row for row in catalog().distributions.values() if row not in of_clouds):
        table = [line for line in lines if re.match(rf"\| {row.title}\b.*\|.*\|.*\|.*\|", line)]
        facts = {row.kubelet, row.label, row.plugins, row.networks, row.kubelet_root} - usual - {""}
        assert [fact for fact in facts if f"`{fact.strip('.')}" not in table[0]] == [], row.title
        if row.socket:
            assert any(row.socket in line and row.title in line for line in lines), row.title
