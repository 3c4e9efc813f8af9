"""Dynamic groups and policies: one statement for each thing that must be allowed, and for nothing else."""

import pytest
from changes import Changes
from planned_oke import EVERYTHING, HOSTS, PLACEMENTS, POOL, names_of, record_of, resources_of

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Ref, Text

ROWS = {row.name for row in catalog().oke_clusters.policies}
ALWAYS = {"cluster-security-groups"}
NATIVE = {"pod-subnets", "pod-interfaces", "pod-security-groups"}
SCALER = {name for name in ROWS if name.startswith("autoscaler-")}
RACK = {name for name in ROWS if name.startswith("memory-cluster-")}
_HOST_GROUP = {f"{POOL}.placement": "compute-cluster", f"{POOL}.hostGroupId": "ocid1.computehostgroup.oc1.iad.x"}

WANTED: dict[str, tuple[tuple[str, Changes], set[str]]] = {
    "cluster-network": (PLACEMENTS["cluster-network"], {"join"}),
    "compute-cluster": (PLACEMENTS["compute-cluster"], {"launch-in-compute-cluster"}),
    "compute-cluster-instances": (PLACEMENTS["compute-cluster-instances"], {"join"}),
    "gpu-memory-cluster": (PLACEMENTS["gpu-memory-cluster"], {"join"} | RACK),
    "host group": (("oke-h100-26-4", _HOST_GROUP), {"launch-in-compute-cluster", "launch-on-host-group"}),
    "native pods": (("oke-h100-26-4", {"cluster.cni": "vcn-native"}), {"join"} | NATIVE),
    "managed nodes with native pods": (
        ("oke-h100-26-4", {"cluster.cni": "vcn-native", f"{POOL}.placement": "compute-cluster"}),
        {"launch-in-compute-cluster"},
    ),
    "pools that scale": (
        (
            "oke-h100-26-4",
            {f"{POOL}.placement": "compute-cluster", f"{POOL}.autoScale": {"minNodes": 1, "maxNodes": 8}},
        ),
        {"launch-in-compute-cluster"} | SCALER,
    ),
    "registry": (("oke-h100-26-4", {"cluster.identity": {"registry": True}}), {"join", "images"}),
    "file storage": (
        ("oke-h100-26-4", {"cluster.vcn": {"fileStorage": True}}),
        {"join", "cluster-file-systems", "cluster-file-networks"},
    ),
    "operator host": (("oke-h100-26-4", {"cluster.access": HOSTS}), {"join", "operator"}),
}


def statements(resources: OkeResources) -> list[str]:
    """The statements in Oracle's words, but for the cluster's id."""
    found = [entry for policy in resources.identity.policies for entry in policy.statements]
    return [entry.text.format(cluster="{cluster}") if isinstance(entry, Text) else str(entry) for entry in found]


def test_every_row_of_the_catalog_is_wanted_by_a_cluster() -> None:
    assert ALWAYS.union(*(rows for _, rows in WANTED.values())) == ROWS


@pytest.mark.parametrize("name", WANTED)
def test_a_cluster_gets_just_the_statements_that_it_needs(name: str) -> None:
    stack, rows = WANTED[name]
    resources = resources_of(*stack)

    assert resources.identity.reasons.keys() == rows | ALWAYS
    assert all(resources.identity.reasons.values())
    assert len(statements(resources)) == len(rows | ALWAYS)


@pytest.mark.parametrize("stack", [*PLACEMENTS.values(), *EVERYTHING.values()])
def test_no_statement_allows_everything_or_the_whole_tenancy(stack: tuple[str, Changes]) -> None:
    for text in statements(resources_of(*stack)):
        assert "all-resources" not in text
        assert "in tenancy" not in text
        assert " in compartment id ocid1." in text
        assert not text.startswith("Allow any-user") or " where " in text


def test_policies_come_before_nodes_and_the_join_policy_after_cluster_and_group() -> None:
    order = [record.logical_name for record in resources_of("oke-h100-26-4").records]

    assert order.index("cluster") < order.index("policy-join") < order.index("pool-gpu")
    assert order.index("group-nodes") < order.index("policy-join")
    assert order.index("policy-services") < order.index("system-pool")


def test_the_operator_host_comes_before_the_group_that_holds_it_alone() -> None:
    resources = resources_of("oke-h100-26-4", {"cluster.access": HOSTS})
    order = [record.logical_name for record in resources.records]
    rule = record_of(resources, "group-operator").arguments["matching_rule"]

    assert order.index("host-operator") < order.index("group-operator") < order.index("policy-operator")
    assert rule == Text(text="ALL {{instance.id = '{operator}'}}", refs={"operator": Ref(ref="host-operator")})


def test_in_an_identity_domain_groups_are_the_domains_and_policies_name_it() -> None:
    resources = resources_of(*EVERYTHING["there-already"])

    assert record_of(resources, "group-nodes").arguments["idcs_endpoint"] == (
        "https://idcs-example.identity.oraclecloud.com:443"
    )
    assert names_of(resources, "identity.DynamicGroup") == []
    assert any("dynamic-group 'Machines'/'oke-h100-26-4-nodes' to" in text for text in statements(resources))
