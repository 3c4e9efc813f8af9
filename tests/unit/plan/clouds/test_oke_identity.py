"""Dynamic groups and policies: one statement for each thing that must be allowed, and for nothing else."""

from __future__ import annotations

import pytest
from changes import Changes
from planned_oke import EVERYTHING, HOSTS, PLACEMENTS, POOL, names_of, record_of, resources_of

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Ref, Text

COMPARTMENT = "ocid1.compartment.oc1..aaaaaaaaexample"
_IN = f"in compartment id {COMPARTMENT}"
_OF_CLUSTER = "where target.cluster.id = '{cluster}'"
_SCALES = (
    "where ALL {request.principal.type = 'workload', request.principal.namespace = 'kube-system', "
    "request.principal.service_account = 'cluster-autoscaler', request.principal.cluster_id = '{cluster}'}"
)
_RACKS = "where request.principal.type = 'compute-gpu-memory-clusters'"

STATEMENTS = {
    "join": f"Allow dynamic-group 'oke-h100-26-4-nodes' to {{CLUSTER_JOIN}} {_IN} {_OF_CLUSTER}",
    "images": f"Allow dynamic-group 'oke-h100-26-4-nodes' to read repos {_IN}",
    "pod-subnets": f"Allow dynamic-group 'oke-h100-26-4-nodes' to use subnets {_IN}",
    "pod-interfaces": f"Allow dynamic-group 'oke-h100-26-4-nodes' to use vnics {_IN}",
    "pod-security-groups": f"Allow dynamic-group 'oke-h100-26-4-nodes' to use network-security-groups {_IN}",
    "launch-in-compute-cluster": (
        f"Allow any-user to {{COMPUTE_CLUSTER_LAUNCH_INSTANCE}} {_IN} where request.principal.type = 'nodepool'"
    ),
    "launch-on-host-group": (
        f"Allow any-user to {{HOST_GROUP_LAUNCH_INSTANCE}} {_IN} where request.principal.type = 'nodepool'"
    ),
    "cluster-security-groups": (
        f"Allow any-user to manage network-security-groups {_IN} where request.principal.type = 'cluster'"
    ),
    "cluster-file-systems": f"Allow any-user to manage file-family {_IN} where request.principal.type = 'cluster'",
    "cluster-file-networks": (
        f"Allow any-user to use virtual-network-family {_IN} where request.principal.type = 'cluster'"
    ),
    "memory-cluster-instances": f"Allow any-user to manage instance-family {_IN} {_RACKS}",
    "memory-cluster-networks": f"Allow any-user to use virtual-network-family {_IN} {_RACKS}",
    "memory-cluster-volumes": f"Allow any-user to use volume-family {_IN} {_RACKS}",
    "memory-cluster-tags": f"Allow any-user to use tag-namespaces {_IN} {_RACKS}",
    "memory-cluster-configurations": f"Allow any-user to read compute-management-family {_IN} {_RACKS}",
    "operator": f"Allow dynamic-group 'oke-h100-26-4-operator' to use clusters {_IN} {_OF_CLUSTER}",
    "autoscaler-node-pools": f"Allow any-user to manage cluster-node-pools {_IN} {_SCALES}",
    "autoscaler-instances": f"Allow any-user to manage instance-family {_IN} {_SCALES}",
    "autoscaler-subnets": f"Allow any-user to use subnets {_IN} {_SCALES}",
    "autoscaler-networks": f"Allow any-user to read virtual-network-family {_IN} {_SCALES}",
    "autoscaler-interfaces": f"Allow any-user to use vnics {_IN} {_SCALES}",
    "autoscaler-compartments": f"Allow any-user to inspect compartments {_IN} {_SCALES}",
}

ALWAYS = {"cluster-security-groups"}
NATIVE = {"pod-subnets", "pod-interfaces", "pod-security-groups"}
SCALER = {name for name in STATEMENTS if name.startswith("autoscaler-")}
RACK = {name for name in STATEMENTS if name.startswith("memory-cluster-")}
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


def test_every_row_of_the_catalog_is_expected_here() -> None:
    assert {row.name for row in catalog().oke_clusters.policies} == set(STATEMENTS)


@pytest.mark.parametrize("name", WANTED)
def test_a_cluster_gets_just_the_statements_that_it_needs(name: str) -> None:
    stack, rows = WANTED[name]
    resources = resources_of(*stack)

    assert sorted(statements(resources)) == sorted(STATEMENTS[row] for row in rows | ALWAYS)
    assert set(resources.identity.reasons) == rows | ALWAYS
    assert all(resources.identity.reasons.values())


@pytest.mark.parametrize("stack", [*PLACEMENTS.values(), *EVERYTHING.values()])
def test_no_statement_allows_everything_or_the_whole_tenancy(stack: tuple[str, Changes]) -> None:
    for text in statements(resources_of(*stack)):
        assert "all-resources" not in text
        assert "in tenancy" not in text
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
