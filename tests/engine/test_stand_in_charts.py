"""What each stand-in chart brings with which values, and that its own definitions accept it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from rendered_charts import NODES_SYSTEM, PINNED, TYPICAL, Helm, Values, names, of_kind, only
from structural_schema import refusals

from sandbox.crds import CHARTS

pytestmark = pytest.mark.engine

NICS = "feature.node.kubernetes.io/pci-15b3.present"


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm()


def schemas(chart: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The schemas of all charts of a chart's line, by group and kind; of a kind that two bring, the chart's own."""
    found = {}
    line, own = CHARTS / chart.partition("/")[0], CHARTS / chart
    for path in sorted(line.rglob("crds/*.yaml"), key=lambda path: own in path.parents):
        for spec in (document["spec"] for document in yaml.safe_load_all(path.read_text())):
            found[spec["group"], spec["names"]["kind"]] = spec["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("chart", PINNED)
def test_a_chart_renders_with_what_its_release_line_always_sets(helm: Helm, chart: str) -> None:
    objects = helm.objects(chart, NODES_SYSTEM if chart.endswith("/ofed-driver") else {})
    assert of_kind(objects, "Deployment") or of_kind(objects, "DaemonSet")


@pytest.mark.parametrize(("chart", "values"), TYPICAL)
def test_the_definitions_of_a_line_accept_what_its_charts_render(helm: Helm, chart: str, values: Values) -> None:
    known = schemas(chart)
    custom = [
        (entry, known[group, entry["kind"]])
        for entry in helm.objects(chart, values)
        if (group := entry["apiVersion"].rpartition("/")[0], entry["kind"]) in known
    ]
    assert [refusals(entry, schema) for entry, schema in custom] == [[] for _ in custom]


@pytest.mark.parametrize(
    ("chart", "values", "missing"),
    [
        ("26.4/network-operator", {"nfd": {"enabled": False}, "maintenanceOperator": {"enabled": True}}, "maintenance"),
        ("23.10/network-operator", {}, "no Node Feature Discovery: install gpu-operator first"),
        (
            "23.10/network-operator",
            {"nfd": {"enabled": False}, "sriovNetworkOperator": {"enabled": True}},
            "no sriovNetworkOperator",
        ),
        ("26.4/spiderpool", {"clusterDefaultPool": {"installIPv4IPPool": True}}, "no clusterDefaultPool"),
        (
            "26.4/spiderpool",
            {"spiderpoolAgent": {"networkResourcePlugin": {"enabled": True}}},
            "no networkResourcePlugin",
        ),
        (
            "26.4/spiderpool",
            {"spiderpoolController": {"prometheus": {"prometheusRule": {"install": True}}}},
            "no prometheusRule",
        ),
        ("26.4/spiderpool", {"iaasNetworkProvider": {"serverUrl": "https://a"}}, "no iaasNetworkProvider"),
        ("26.4/ofed-driver", {"image": {"OSName": "ubuntu", "Arch": "amd64"}}, "no default of image.OSVer"),
    ],
)
def test_what_a_stand_in_lacks_is_refused_by_name(helm: Helm, chart: str, values: Values, missing: str) -> None:
    result = helm.template(chart, values)
    assert result.returncode != 0
    assert missing in result.stderr


# --- SR-IOV operator


def test_the_sriov_operator_comes_only_when_asked_for(helm: Helm) -> None:
    without = helm.objects("26.4/network-operator", None, "--include-crds")
    assert "sriovnetworks.sriovnetwork.openshift.io" not in names(without, "CustomResourceDefinition")
    assert len(of_kind(without, "Deployment")) == 1


def test_the_sriov_operator_brings_its_kinds_its_settings_and_runs_in_the_releases_namespace(helm: Helm) -> None:
    objects = helm.objects("26.4/network-operator", {"sriovNetworkOperator": {"enabled": True}}, "--include-crds")
    kinds = {entry["spec"]["names"]["kind"] for entry in of_kind(objects, "CustomResourceDefinition")}
    assert {"SriovNetworkNodePolicy", "SriovNetworkPoolConfig", "SriovNetwork", "SriovIBNetwork"} < kinds
    assert {"SriovNetworkNodeState", "SriovOperatorConfig"} < kinds
    (operator,) = (
        entry
        for entry in of_kind(objects, "Deployment")
        if entry["metadata"]["labels"]["app.kubernetes.io/name"] == "sriov-network-operator"
    )
    assert operator["metadata"]["namespace"] == "operators"
    config = only(objects, "SriovOperatorConfig")
    assert (config["metadata"]["name"], config["metadata"]["namespace"]) == ("default", "operators")
    assert config["spec"]["configDaemonNodeSelector"] == {
        "beta.kubernetes.io/os": "linux",
        "network.nvidia.com/operator.mofed.wait": "false",
    }


def test_the_sriov_operators_settings_can_be_left_to_others(helm: Helm) -> None:
    values = {
        "sriovNetworkOperator": {"enabled": True},
        "sriov-network-operator": {"sriovOperatorConfig": {"deploy": False}},
    }
    assert of_kind(helm.objects("26.4/network-operator", values), "SriovOperatorConfig") == []


def test_switches_under_the_operators_settings_do_nothing_and_its_webhooks_follow_one_value(helm: Helm) -> None:
    part: Values = {"sriovOperatorConfig": {"enableInjector": True}}
    values = {"sriovNetworkOperator": {"enabled": True}, "sriov-network-operator": part}
    assert not only(helm.objects("26.4/network-operator", values), "SriovOperatorConfig")["spec"]["enableInjector"]
    part["operator"] = {"admissionControllers": {"enabled": True}}
    assert only(helm.objects("26.4/network-operator", values), "SriovOperatorConfig")["spec"]["enableInjector"]


# --- the policy that the chart of 23.10 makes


def policy(helm: Helm, values: Values) -> dict[str, Any]:
    found: dict[str, Any] = only(helm.objects("23.10/network-operator", values), "NicClusterPolicy")
    return found


def test_the_chart_of_23_10_makes_the_policy_only_when_asked_for(helm: Helm) -> None:
    assert of_kind(helm.objects("23.10/network-operator", {"deployCR": False}), "NicClusterPolicy") == []
    assert policy(helm, {"deployCR": True})["metadata"]["name"] == "nic-cluster-policy"


def test_the_policy_of_23_10_shares_nics_and_brings_whereabouts_unless_told_otherwise(helm: Helm) -> None:
    spec = policy(helm, {})["spec"]
    assert spec.keys() == {"psp", "rdmaSharedDevicePlugin", "secondaryNetwork"}
    assert spec["secondaryNetwork"].keys() == {"cniPlugins", "multus", "ipamPlugin"}


def test_a_virtual_resource_of_23_10_has_a_fixed_prefix_rdma_and_empty_lists(helm: Helm) -> None:
    resource = {"name": "sriov_rdma_vf", "vendors": ["15b3"], "devices": ["101e"], "isRdma": [False]}
    values = {"sriovDevicePlugin": {"deploy": True, "resources": [resource]}}
    (made,) = json.loads(policy(helm, values)["spec"]["sriovDevicePlugin"]["config"])["resourceList"]
    assert (made["resourcePrefix"], made["resourceName"]) == ("nvidia.com", "sriov_rdma_vf")
    empty = ("drivers", "pfNames", "pciAddresses", "rootDevices", "linkTypes")
    assert made["selectors"] == {
        "vendors": ["15b3"],
        "devices": ["101e"],
        "isRdma": True,
        **{name: [] for name in empty},
    }


def test_a_shared_resource_of_23_10_keeps_its_number_and_has_empty_lists(helm: Helm) -> None:
    resources = [{"name": "a", "rdmaHcaMax": 1000, "ifNames": ["rdma0"]}, {"name": "b", "vendors": ["15b3"]}]
    values = {"rdmaSharedDevicePlugin": {"resources": resources}}
    first, second = json.loads(policy(helm, values)["spec"]["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert (first["resourceName"], first["rdmaHcaMax"], second["rdmaHcaMax"]) == ("a", 1000, 63)
    assert first["selectors"] == {
        "ifNames": ["rdma0"],
        **{name: [] for name in ("vendors", "deviceIDs", "drivers", "linkTypes")},
    }


def test_the_policy_of_23_10_carries_the_stacks_tolerations(helm: Helm) -> None:
    accepted = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert policy(helm, {"tolerations": accepted})["spec"]["tolerations"] == accepted


def test_a_value_that_the_chart_of_23_10_does_not_know_changes_nothing(helm: Helm) -> None:
    assert policy(helm, {"nvPeerDriver": {"deploy": True}}) == policy(helm, {})


def test_the_rule_that_labels_nodes_is_the_charts_unless_told_otherwise(helm: Helm) -> None:
    rule = only(helm.objects("23.10/network-operator"), "NodeFeatureRule")
    assert rule["spec"]["rules"][0]["labels"] == {NICS: "true"}
    assert of_kind(helm.objects("26.4/network-operator"), "NodeFeatureRule") == []


# --- GPU Operator


def driver_containers(helm: Helm, chart: str, values: Values) -> list[str]:
    sets = of_kind(helm.objects(chart, values), "DaemonSet")
    pods = [
        entry["spec"]["template"]["spec"] for entry in sets if entry["metadata"]["name"].startswith("nvidia-driver")
    ]
    return [container["name"] for pod in pods for container in pod["containers"]]


def test_modules_for_gpu_memory_access_come_with_the_driver_and_never_without_it(helm: Helm) -> None:
    modules = {"gdrcopy": {"enabled": True}}
    asked = {**modules, "driver": {"rdma": {"enabled": True}}}
    assert driver_containers(helm, "26.4/gpu-operator", asked) == [
        "nvidia-driver-ctr",
        "nvidia-peermem-ctr",
        "nvidia-gdrcopy-ctr",
    ]
    absent = {**modules, "driver": {"enabled": False, "rdma": {"enabled": True}}}
    assert driver_containers(helm, "26.4/gpu-operator", absent) == []


def test_the_gpu_operator_of_23_10_ignores_gdrcopy_and_has_a_runtime_to_name(helm: Helm) -> None:
    values = {"gdrcopy": {"enabled": True}, "operator": {"defaultRuntime": "crio"}}
    spec = only(helm.objects("23.10/gpu-operator", values), "ClusterPolicy")["spec"]
    assert "gdrcopy" not in spec
    assert spec["operator"]["defaultRuntime"] == "crio"
    assert driver_containers(helm, "23.10/gpu-operator", values) == ["nvidia-driver-ctr"]


def test_the_gpu_operator_of_26_4_ignores_the_runtime(helm: Helm) -> None:
    values = {"operator": {"defaultRuntime": "crio"}}
    spec = only(helm.objects("26.4/gpu-operator", values), "ClusterPolicy")["spec"]
    assert "defaultRuntime" not in spec["operator"]


def test_each_line_runs_its_own_node_feature_discovery(helm: Helm) -> None:
    def image(chart: str) -> str:
        pods = [entry["spec"]["template"]["spec"] for entry in of_kind(helm.objects(chart), "DaemonSet")]
        (found,) = (pod["containers"][0]["image"] for pod in pods if pod["containers"][0]["name"] == "worker")
        return str(found)

    assert image("26.4/gpu-operator").endswith(":v0.18.3")
    assert image("23.10/gpu-operator").endswith(":v0.14.2")


def test_prometheus_is_told_of_the_exporter_only_when_asked_and_only_when_there_is_one(helm: Helm) -> None:
    monitor = {"serviceMonitor": {"enabled": True, "additionalLabels": {"release": "prometheus"}}}
    made = only(helm.objects("26.4/gpu-operator", {"dcgmExporter": monitor}), "ServiceMonitor")
    assert made["metadata"]["labels"]["release"] == "prometheus"
    assert of_kind(helm.objects("26.4/gpu-operator"), "ServiceMonitor") == []
    without = {"dcgmExporter": {**monitor, "enabled": False}}
    assert of_kind(helm.objects("26.4/gpu-operator", without), "ServiceMonitor") == []


# --- Whereabouts


def test_whereabouts_goes_where_its_own_value_says(helm: Helm) -> None:
    default = {"namespaceOverride": "kube-system"}
    assert only(helm.objects("26.4/whereabouts", default), "DaemonSet")["metadata"]["namespace"] == "kube-system"
    chosen = only(helm.objects("26.4/whereabouts", {"namespaceOverride": "addresses"}), "DaemonSet")
    assert chosen["metadata"]["namespace"] == "addresses"


def test_whereabouts_is_named_after_release_and_chart_unless_named_otherwise(helm: Helm) -> None:
    assert names(helm.objects("26.4/whereabouts"), "DaemonSet") == {"whereabouts-whereabouts-chart"}
    named = helm.objects("26.4/whereabouts", {"fullnameOverride": "whereabouts"})
    assert names(named, "DaemonSet") == {"whereabouts"}
    assert names(named, "Deployment") == {"whereabouts-controller", "whereabouts-reconciler"}


def test_whereabouts_controllers_tolerate_nothing(helm: Helm) -> None:
    objects = helm.objects("26.4/whereabouts")
    pods = [entry["spec"]["template"]["spec"] for entry in objects if entry["kind"] == "Deployment"]
    assert [pod.get("tolerations") for pod in pods] == [None, None]


def test_whereabouts_reaches_tainted_nodes(helm: Helm) -> None:
    pod = only(helm.objects("26.4/whereabouts"), "DaemonSet")["spec"]["template"]["spec"]
    assert pod["tolerations"] == [{"operator": "Exists", "effect": "NoSchedule"}]
