"""The cluster that Oracle is asked for, how it is reached, and the ways in."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from planned_oke import EVERYTHING, HOSTS, POOL, names_of, record_of, resources_of

from gpu_fabric.plan.clouds.record import Ref, Text


def test_the_cluster_is_enhanced_private_and_of_an_exact_version() -> None:
    cluster = resources_of("oke-h100-26-4").cluster

    assert (cluster.type, cluster.kubernetes_version, cluster.name) == ("ENHANCED_CLUSTER", "v1.34.1", "oke-h100-26-4")
    assert cluster.endpoint_config == {
        "subnet_id": Ref(ref="subnet-control-plane"),
        "is_public_ip_enabled": False,
        "nsg_ids": [Ref(ref="nsg-control-plane")],
    }
    assert cluster.cluster_pod_network_options == [{"cni_type": "FLANNEL_OVERLAY"}]


def test_an_overlay_has_its_pod_range_and_native_pods_their_subnet() -> None:
    overlay, native = resources_of("oke-h100-26-4").cluster, resources_of("oke-h200").cluster

    assert overlay.options["kubernetes_network_config"] == {
        "pods_cidr": "10.240.0.0/12",
        "services_cidr": "10.96.0.0/16",
    }
    assert native.options["kubernetes_network_config"] == {"services_cidr": "10.96.0.0/16"}
    assert native.cluster_pod_network_options == [{"cni_type": "OCI_VCN_IP_NATIVE"}]


@pytest.mark.parametrize(("public", "subnet"), [(False, "internal-lb"), (True, "public-lb")])
def test_services_get_their_load_balancers_in_the_private_subnet_unless_the_stack_says_so(
    public: bool, subnet: str
) -> None:
    cluster = resources_of("oke-h100-26-4", {"cluster.vcn.publicLoadBalancers": public}).cluster

    assert cluster.options["service_lb_subnet_ids"] == [Ref(ref=f"subnet-{subnet}")]


def test_a_basic_cluster_can_hold_managed_nodes() -> None:
    changes = {"cluster.enhanced": False, f"{POOL}.placement": "compute-cluster"}

    assert resources_of("oke-h100-26-4", changes).cluster.type == "BASIC_CLUSTER"


def test_what_oracle_fills_in_is_no_change() -> None:
    assert resources_of("oke-h100-26-4").cluster.ignore_changes == ("options.kubernetes_network_config",)


def test_an_add_on_comes_after_the_nodes_that_it_runs_on() -> None:
    (addon,) = resources_of(*EVERYTHING["open"]).addons

    assert (addon.addon_name, addon.version, addon.after) == ("CertManager", "v1.16.1", ("system-pool",))
    assert addon.configurations == [{"key": "replicas", "value": "1"}]
    assert addon.remove_addon_resources_on_delete


def test_a_command_signs_the_deployer_in_at_the_private_address() -> None:
    kubeconfig = resources_of("oke-h100-26-4").kubeconfig

    assert (kubeconfig.mode, kubeconfig.endpoint) == ("exec", "PRIVATE_ENDPOINT")
    assert kubeconfig.command == (
        *("oci", "ce", "cluster", "generate-token", "--cluster-id"),
        Ref(ref="cluster"),
        *("--region", "us-ashburn-1"),
    )
    assert kubeconfig.authority == Ref(ref="cluster-kubeconfig", output="cluster_ca_cert")
    assert kubeconfig.token_secret is None


@pytest.mark.parametrize(("stated", "endpoint"), [(None, "PUBLIC_ENDPOINT"), ("private", "PRIVATE_ENDPOINT")])
def test_a_public_address_is_used_where_there_is_one_unless_the_stack_says_otherwise(
    stated: str | None, endpoint: str
) -> None:
    changes: dict[str, Any] = {"cluster.endpoint": {"public": True, "allowed": ["203.0.113.0/24"]}}
    if stated:
        changes["cluster.kubeconfig"] = {"endpoint": stated}
    kubeconfig = resources_of("oke-h100-26-4", changes).kubeconfig

    assert kubeconfig.endpoint == endpoint
    assert endpoint.lower() in kubeconfig.server.refs["address"].output


def test_a_token_is_known_by_the_name_of_its_secret_only() -> None:
    changes = {"cluster.kubeconfig": {"mode": "token", "tokenSecret": "deployer-token"}}
    kubeconfig = resources_of("oke-h100-26-4", changes).kubeconfig

    assert (kubeconfig.mode, kubeconfig.token_secret, kubeconfig.command) == ("token", "deployer-token", ())


def test_without_access_there_is_no_way_in() -> None:
    access = resources_of("oke-h100-26-4").access

    assert (access.mode, access.records, access.command) == ("none", (), None)


def test_people_jump_over_the_bastion_host_to_the_operator_host() -> None:
    resources = resources_of("oke-h100-26-4", {"cluster.access": HOSTS})

    assert resources.access.command == Text(
        text="ssh -J opc@{bastion} ubuntu@{operator}",
        refs={
            "bastion": Ref(ref="host-bastion", output="public_ip"),
            "operator": Ref(ref="host-operator", output="private_ip"),
        },
    )
    public = {name: record_of(resources, name).arguments["create_vnic_details"] for name in names_of_hosts()}
    assert {name: details["assign_public_ip"] for name, details in public.items()} == {  # type: ignore[index,call-overload]
        "host-bastion": "true",
        "host-operator": "false",
    }


def names_of_hosts() -> list[str]:
    return names_of(resources_of("oke-h100-26-4", {"cluster.access": HOSTS}), "core.Instance")


def test_the_operator_host_gets_a_kubeconfig_of_its_cluster() -> None:
    metadata: Any = record_of(resources_of("oke-h100-26-4", {"cluster.access": HOSTS}), "host-operator").arguments[
        "metadata"
    ]
    script = base64.b64decode(metadata["user_data"]).decode()

    assert metadata["cluster_id"] == Ref(ref="cluster")
    assert "LOGIN=ubuntu" in script
    assert "REGION=us-ashburn-1" in script


def test_the_bastion_service_lets_the_stated_ranges_make_sessions_of_its_own_subnet() -> None:
    resources = resources_of("oke-h200")
    bastion = record_of(resources, "bastion").arguments

    assert bastion["target_subnet_id"] == Ref(ref="subnet-bastion-service")
    assert bastion["client_cidr_block_allow_lists"] == ["203.0.113.0/24"]
    assert bastion["max_session_ttl_in_seconds"] == 10800
    assert resources.access.command is not None
    assert "--target-port 6443" in resources.access.command.text
    assert names_of(resources, "core.Instance") == []


def test_existing_resources_are_taken_over_by_their_ids_and_all_others_are_created() -> None:
    ids = {
        "vcn": "ocid1.vcn.oc1.iad.mine",
        "subnet-workers": "ocid1.subnet.oc1.iad.mine",
        "cluster": "ocid1.cluster.oc1.iad.mine",
        "system-pool": "ocid1.nodepool.oc1.iad.mine",
        "pool-gpu": "ocid1.clusternetwork.oc1.iad.mine",
    }
    found = resources_of("oke-h100-26-4", {"cluster.adopt": ids})

    assert {record.logical_name: record.adopts for record in found.records if record.adopts} == ids
    assert record_of(found, "pool-gpu").ignore_changes == tuple(record_of(found, "pool-gpu").arguments)
    assert [record.logical_name for record in found.records] == [
        record.logical_name for record in resources_of("oke-h100-26-4").records
    ]
