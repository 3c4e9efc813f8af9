"""What the switches of `software.spiderpool` and their like turn into: chart values, networks, and what pods carry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from planned_fabrics import example

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedPatch

# Of other people, in the cluster.
HAS = ["cert-manager", "prometheus-operator", "grafana-operator"]
INJECT = "cni.spidernet.io/rdma-resource-inject"


def values(plan: Plan) -> Any:
    assert plan.release("spiderpool") is not None
    return plan.release("spiderpool").values


def macvlan(**switches: Any) -> Plan:
    """The guide's macvlan cluster with switches of `software.spiderpool`."""
    present = [*HAS, "multus"] if switches.get("multus") is False else HAS
    changed = {f"software.spiderpool.{name}": value for name, value in switches.items()}
    return example("spiderpool-macvlan", {"cluster.installed": present, **changed})


def at(found: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


@pytest.mark.parametrize(
    ("switches", "path", "value"),
    [
        ({"multus": False}, "multus.multusCNI.install", False),
        ({"metrics": True}, "spiderpoolAgent.prometheus.enabledRdmaMetric", True),
        ({"metrics": True}, "spiderpoolController.prometheus.enabled", True),
        ({"metrics": True, "serviceMonitor": True}, "spiderpoolAgent.prometheus.serviceMonitor.install", True),
        ({"metrics": True, "serviceMonitor": True}, "spiderpoolController.prometheus.serviceMonitor.install", True),
        ({"grafanaDashboards": True}, "grafanaDashboard.install", True),
        (
            {"grafanaDashboards": True, "grafanaLabels": {"dashboards": "main"}},
            "grafanaDashboard.instanceSelector.matchLabels",
            {"dashboards": "main"},
        ),
        ({"imageRegistry": "mirror.example.com"}, "global.imageRegistryOverride", "mirror.example.com"),
        ({"tls": {"method": "certmanager"}}, "spiderpoolController.tls.method", "certmanager"),
        (
            {"tls": {"method": "certmanager", "issuer": "ours"}},
            "spiderpoolController.tls.certmanager.issuerName",
            "ours",
        ),
        ({"tls": {"method": "provided", "secret": "webhook"}}, "spiderpoolController.tls.method", "provided"),
        ({"cleanup": False}, "spiderpoolController.cleanup.enable", False),
        ({"injection": "ai"}, "spiderpoolController.podResourceInject.enabled", True),
    ],
)
def test_a_switch_is_off_by_default_and_its_value_of_the_chart_when_on(
    switches: dict[str, Any], path: str, value: Any
) -> None:
    assert at(values(macvlan(**switches)), path) == value
    assert at(values(macvlan()), path) in (None, True if path.startswith("multus") else None)


def test_a_users_values_come_last() -> None:
    own = {"ipam": {"enableGatewayDetection": True}, "plugins": {"installRdmaCNI": True}}
    found = values(macvlan(values=own))

    assert found["ipam"] == {"enableGatewayDetection": True}
    assert (found["plugins"]["installRdmaCNI"], found["plugins"]["installCNI"]) == (True, True)


def test_cert_manager_serves_the_sr_iov_operators_webhook_too() -> None:
    tls = {"method": "certmanager", "issuer": "ours"}
    plan = example("spiderpool-sriov", {"cluster.installed": HAS, "software.spiderpool.tls": tls})

    assert values(plan)["sriov"]["webhooktls"] == {"method": "certmanager", "certmanager": {"issuerName": "ours"}}


def test_a_plan_names_the_secret_of_a_provided_certificate_and_has_none_of_it() -> None:
    release = macvlan(tls={"method": "provided", "secret": "webhook"}).release("spiderpool")
    assert release is not None

    assert [(entry.path, entry.key, entry.entry) for entry in release.secret_values] == [
        ("spiderpoolController.tls.provided.tlsCert", "webhook", "certificate"),
        ("spiderpoolController.tls.provided.tlsKey", "webhook", "key"),
        ("spiderpoolController.tls.provided.tlsCa", "webhook", "authority"),
    ]
    assert at(release.values, "spiderpoolController.tls.provided") is None


@pytest.mark.parametrize("other", ["sriov-operator", "network-operator"])
def test_uninstalling_leaves_the_definitions_of_another_sr_iov_operator_alone(other: str) -> None:
    plan = example("spiderpool-macvlan", {"cluster.installed": [other]})

    assert values(plan)["spiderpoolController"]["cleanup"] == {"enable": False}


@pytest.mark.parametrize(
    ("stack", "changes", "called"),
    [
        ("spiderpool-macvlan", {}, {"installCNI"}),
        # `tuning`, which gives a virtual function its MTU, is one of the ordinary plug-ins.
        ("spiderpool-sriov", {}, {"installCNI", "installSriovCNI", "installRdmaCNI"}),
        ("spiderpool-ib", {}, {"installibSriovCNI", "installRdmaCNI"}),
        ("spiderpool-ipoib", {}, {"installIpoibCNI"}),
        ("spiderpool-sriov", {"software.cniPlugins": "node-image"}, set()),
    ],
)
def test_the_chart_installs_the_plug_ins_that_the_models_networks_call_and_no_others(
    stack: str, changes: dict[str, Any], called: set[str]
) -> None:
    plugins = values(example(stack, changes))["plugins"]

    assert {name for name, installed in plugins.items() if installed} == called
    # What is left out the chart would install by itself.
    assert len(plugins) == 7


def test_what_the_stack_file_says_of_the_coordinator_is_patched_in_the_words_of_its_definition() -> None:
    coordinator = {
        "podCidrType": "none",
        "tunePodRoutes": False,
        "hijackCidr": ["169.254.0.0/16"],
        "vethMtu": 1400,
        "podMacPrefix": "0a:1b",
        "txQueueLen": 1000,
    }
    patch = macvlan(coordinator=coordinator).record(PlannedPatch, "coordinator")
    assert patch is not None

    assert (patch.kind, patch.name) == ("SpiderCoordinator", "default")
    assert patch.spec == {
        "podCIDRType": "none",
        "tunePodRoutes": False,
        "hijackCIDR": ["169.254.0.0/16"],
        "vethMTU": 1400,
        "podMACPrefix": "0a:1b",
        "txQueueLen": 1000,
    }
    assert macvlan().record(PlannedPatch, "coordinator") is None


def test_a_drivers_chart_is_told_the_nodes_system_and_comes_before_spiderpool() -> None:
    plan = example("spiderpool-macvlan", {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}})
    assert plan.release("ofed-driver") is not None

    assert [release.name for release in plan.releases] == ["gpu-operator", "ofed-driver", "spiderpool"]
    assert plan.release("ofed-driver").values["image"] == {"OSName": "ubuntu", "OSVer": "22.04", "Arch": "amd64"}
    assert plan.release("ofed-driver").chart.repository == "https://spidernet-io.github.io/charts"
    assert "ofed-driver" in [entry.name for entry in plan.applied("namespaces")]


def test_pods_that_ask_by_one_word_get_networks_that_lie_once_in_spiderpools_namespace() -> None:
    plan = example("spiderpool-ib", {"fabric.namespaces": ["jobs", "more"]})
    metadata = [entry.object.manifest()["metadata"] for entry in plan.applied("networks")]
    job = plan.workload

    assert metadata == [
        {"name": f"rail-{rail:02d}", "namespace": "spiderpool", "annotations": {INJECT: "rdma-network"}}
        for rail in range(8)
    ]
    assert {network.namespace for network in job.networks} == {"spiderpool"}
    # The webhook passes pods over that name networks themselves.
    assert job.annotations == {INJECT: "rdma-network"}
    assert job.pod_template_patch["metadata"] == {"annotations": {INJECT: "rdma-network"}}
    assert values(plan)["spiderpoolController"]["podResourceInject"]["namespacesInclude"] == ["jobs", "more"]


def test_without_a_word_pods_name_the_networks_of_their_own_namespace() -> None:
    job = example("spiderpool-ib", {"software.spiderpool.injection": None}).workload

    assert [entry["name"] for entry in json.loads(job.annotations[NETWORKS_ANNOTATION])] == [
        f"rail-{rail:02d}" for rail in range(8)
    ]
    assert INJECT not in job.annotations
    assert {network.namespace for network in job.networks} == {None}


@pytest.mark.parametrize("stack", ["spiderpool-ib", "spiderpool-sriov", "roce-macvlan"])
def test_a_default_network_is_the_pods_own_first_interface_beside_the_fabrics(stack: str) -> None:
    before = example(stack, {"fabric.defaultNetwork": "kube-system/calico"}).workload.annotations
    network = "v1.multus-cni.io/default-network"

    assert before[network] == "kube-system/calico"
    assert {**example(stack).workload.annotations, network: "kube-system/calico"} == before


def test_partition_keys_come_from_ib_kubernetes_where_the_cluster_has_it() -> None:
    plan = example("spiderpool-ib", {"software.spiderpool.ibKubernetes": True, "fabric.pkey": "0x0011"})
    section = plan.applied("networks")[0].object.manifest()["spec"]["ibsriov"]

    assert (section["pkey"], section["enableIbKubernetes"]) == ("0x0011", True)
