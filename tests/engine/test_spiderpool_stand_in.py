"""What the stand-ins for Spiderpool's charts make of their values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rendered_charts import NODES_SYSTEM, Helm, Objects, Values, names, of_kind, only

pytestmark = pytest.mark.engine

CHART, DRIVER = "26.4/spiderpool", "26.4/ofed-driver"
PLUGIN = "spiderpool-rdma-shared-device-plugin"
PLAYED, OPERAND = "sandbox.gpu-fabric/played-by", "sandbox.gpu-fabric/operand"


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm()


def named(objects: Objects, kind: str, name: str) -> dict[str, Any]:
    (found,) = (entry for entry in of_kind(objects, kind) if entry["metadata"]["name"] == name)
    return found


def pod(workload: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = workload["spec"]["template"]["spec"]
    return spec


def containers(objects: Objects) -> list[dict[str, Any]]:
    pods = [pod(entry) for entry in objects if entry["kind"] in ("Deployment", "DaemonSet", "Job")]
    return [item for spec in pods for item in (*spec.get("initContainers", ()), *spec["containers"])]


def everything() -> Values:
    return {
        "rdma": {"rdmaSharedDevicePlugin": {"install": True}},
        "sriov": {"install": True, "operatorConfig": {"enableInjector": True}},
        "plugins": {"installCNI": True},
    }


# --- what is always there


def test_controller_agent_and_multus_come_with_the_chart_and_the_device_plugins_only_when_asked_for(helm: Helm) -> None:
    objects = helm.objects(CHART)
    assert names(objects, "Deployment") == {"spiderpool-controller"}
    assert names(objects, "DaemonSet") == {"spiderpool-agent", "spiderpool-multus"}
    assert names(objects, "ConfigMap") == {"spiderpool-conf"}
    labels = only(objects, "Deployment")["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "spiderpool"
    assert labels["app.kubernetes.io/component"] == "spiderpool-controller"


def test_the_definitions_come_with_or_without_the_sriov_operator(helm: Helm) -> None:
    kinds = {
        entry["spec"]["names"]["kind"]
        for entry in of_kind(helm.objects(CHART, {}, "--include-crds"), "CustomResourceDefinition")
    }
    assert {"SpiderIPPool", "SpiderSubnet", "SpiderReservedIP", "SpiderCoordinator", "SpiderEndpoint"} < kinds
    assert {"SpiderMultusConfig", "NetworkAttachmentDefinition"} < kinds
    assert {"SriovNetworkNodePolicy", "SriovNetworkPoolConfig", "SriovNetworkNodeState", "SriovOperatorConfig"} < kinds


def test_a_cluster_with_a_multus_of_its_own_keeps_it(helm: Helm) -> None:
    objects = helm.objects(CHART, {"multus": {"multusCNI": {"install": False}}})
    assert names(objects, "DaemonSet") == {"spiderpool-agent"}


def test_no_cni_plugin_is_installed_where_all_are_switched_off(helm: Helm) -> None:
    switches = ("Rdma", "Ovs", "Sriov", "ibSriov", "Ipoib", "Vlan")
    off = {"plugins": {f"install{name}CNI": False for name in switches}}
    assert "initContainers" not in pod(named(helm.objects(CHART, off), "DaemonSet", "spiderpool-agent"))
    (installer,) = pod(named(helm.objects(CHART), "DaemonSet", "spiderpool-agent"))["initContainers"]
    assert "installSriovCNI" in installer["args"]
    assert "installCNI" not in installer["args"]


def test_an_agent_without_privileges_is_what_the_real_chart_makes_of_two_switches(helm: Helm) -> None:
    def agent(values: Values) -> dict[str, Any]:
        (found,) = pod(named(helm.objects(CHART, {"spiderpoolAgent": values}), "DaemonSet", "spiderpool-agent"))[
            "containers"
        ]
        return dict(found)

    without = agent({"tuneSysctlConfig": False})
    assert "securityContext" not in without
    assert "Bidirectional" in [mount.get("mountPropagation") for mount in without["volumeMounts"]]
    counting = {"tuneSysctlConfig": False, "prometheus": {"enabledRdmaMetric": True}}
    assert agent(counting)["securityContext"] == {"privileged": True}


def test_every_image_comes_from_the_one_registry_that_is_named(helm: Helm) -> None:
    objects = helm.objects(CHART, {"global": {"imageRegistryOverride": "mirror.example.com:5000"}, **everything()})
    images = [item["image"] for item in containers(objects)]
    images += [
        variable["value"]
        for item in containers(objects)
        for variable in item.get("env", ())
        if variable["name"].endswith("_IMAGE") and not variable["name"].endswith("CNI_IMAGE")
    ]
    assert [image for image in images if not image.startswith("mirror.example.com:5000/")] == []
    assert len(images) == 12


def test_images_of_the_project_have_the_charts_version_unless_tag_or_digest_is_given(helm: Helm) -> None:
    def image(values: Values) -> str:
        objects = helm.objects(CHART, {"spiderpoolController": {"image": values}})
        return str(pod(only(objects, "Deployment"))["containers"][0]["image"])

    repository = "ghcr.io/spidernet-io/spiderpool/spiderpool-controller"
    assert image({}) == f"{repository}:v1.2.2"
    assert image({"tag": "v1.2.3"}) == f"{repository}:v1.2.3"
    assert image({"tag": "v1.2.3", "digest": "sha256:ab"}) == f"{repository}@sha256:ab"


def test_a_value_that_the_chart_does_not_know_changes_nothing(helm: Helm) -> None:
    certificate = dict.fromkeys(("tlsCert", "tlsKey", "tlsCa"), "YQ==")
    provided = {"spiderpoolController": {"tls": {"method": "provided", "provided": certificate}}}
    unknown = {**provided, "spiderpoolAgents": {"name": "other"}, "coordinator": {"detectGateway": True}}
    assert helm.objects(CHART, unknown) == helm.objects(CHART, provided)


# --- device plug-ins


def test_the_shared_device_plugin_gets_its_list_as_it_was_written(helm: Helm) -> None:
    entry = {
        "resourcePrefix": "spidernet.io",
        "resourceName": "rail_00",
        "rdmaHcaMax": 100,
        "selectors": {"ifNames": ["rdma0"]},
    }
    plugin = {"install": True, "podAnnotations": {"digest": "a"}, "deviceConfig": {"configList": [entry]}}
    objects = helm.objects(CHART, {"rdma": {"rdmaSharedDevicePlugin": plugin}})
    config = named(objects, "ConfigMap", PLUGIN)
    assert json.loads(config["data"]["config.json"]) == {"periodicUpdateInterval": 300, "configList": [entry]}
    assert config["metadata"]["labels"][PLAYED] == "spiderpool"
    template = named(objects, "DaemonSet", PLUGIN)["spec"]["template"]
    assert template["metadata"]["annotations"] == {"digest": "a"}
    assert template["metadata"]["labels"][OPERAND] == "rdma-device-plugin"
    assert {"name": "config", "configMap": {"name": PLUGIN}} in template["spec"]["volumes"]


def test_a_shared_device_plugin_without_devices_is_not_the_charts_to_refuse(helm: Helm) -> None:
    objects = helm.objects(CHART, {"rdma": {"rdmaSharedDevicePlugin": {"install": True, "name": "plugin"}}})
    assert json.loads(named(objects, "ConfigMap", "plugin")["data"]["config.json"])["configList"] == []
    assert "plugin" in names(objects, "DaemonSet")


def test_the_sriov_operator_gets_its_prefix_and_the_authority_that_signed_its_webhooks_certificate(helm: Helm) -> None:
    objects = helm.objects(CHART, {"sriov": {"install": True, "resourcePrefix": "example.com"}})
    operator = pod(named(objects, "Deployment", "spiderpool-sriov-operator"))["containers"][0]
    variables = {entry["name"]: entry.get("value") for entry in operator["env"]}
    prefix = "ADMISSION_CONTROLLERS_CERTIFICATES_OPERATOR"
    assert variables["RESOURCE_PREFIX"] == "example.com"
    secret = named(objects, "Secret", variables[f"{prefix}_SECRET_NAME"])
    assert secret["data"]["ca.crt"] == variables[f"{prefix}_CA_CRT"]
    assert "ADMISSION_CONTROLLERS_CERTIFICATES_INJECTOR_SECRET_NAME" not in variables


def test_the_sriov_operators_settings_follow_their_values(helm: Helm) -> None:
    chosen = {"disableDrain": False, "configDaemonNodeSelector": {"pool": "gpu"}}
    objects = helm.objects(CHART, {"sriov": {"install": True, "operatorConfig": chosen}})
    config = only(objects, "SriovOperatorConfig")
    assert (config["metadata"]["name"], config["metadata"]["namespace"]) == ("default", "operators")
    assert config["spec"] == {
        "enableInjector": False,
        "enableOperatorWebhook": True,
        "configDaemonNodeSelector": {"kubernetes.io/os": "linux", "pool": "gpu"},
        "logLevel": 2,
        "disableDrain": False,
        "configurationMode": "daemon",
        "featureGates": {"metricsExporter": False, "resourceInjectorMatchCondition": True, "parallelNicConfig": True},
    }
    assert of_kind(helm.objects(CHART), "SriovOperatorConfig") == []


def test_the_sriov_operators_webhooks_have_certificates_where_they_are_on(helm: Helm) -> None:
    objects = helm.objects(CHART, {"sriov": {"install": True}})
    own = "spiderpool-controller-server-certs"
    assert names(objects, "Secret") == {own, "sriov-operator-webhook"}
    assert names(helm.objects(CHART, everything()), "Secret") == {own, "sriov-operator-webhook", "sriov-injector"}


# --- jobs


def test_two_jobs_run_as_hooks_and_tolerate_nothing(helm: Helm) -> None:
    objects = helm.objects(CHART)
    hooks = {
        entry["metadata"]["name"]: (
            entry["metadata"]["annotations"]["helm.sh/hook"],
            entry["spec"]["template"]["metadata"]["labels"][OPERAND],
        )
        for entry in of_kind(objects, "Job")
    }
    assert hooks == {
        "spiderpool-init": ("post-install", "spiderpool-init"),
        "spiderpool-controller-hook-pre-delete": ("pre-delete", "spiderpool-clean"),
    }
    pods = [pod(entry) for entry in of_kind(objects, "Job")]
    assert [spec.get("tolerations") for spec in pods] == [None, None]
    assert all(spec["hostNetwork"] for spec in pods)


def test_cleaning_up_can_be_left_out(helm: Helm) -> None:
    objects = helm.objects(CHART, {"spiderpoolController": {"cleanup": {"enable": False}}})
    assert names(objects, "Job") == {"spiderpool-init"}


def test_the_coordinators_values_go_to_the_job_of_the_first_install(helm: Helm) -> None:
    def variables(values: Values) -> dict[str, str]:
        job = named(helm.objects(CHART, {"coordinator": values}), "Job", "spiderpool-init")
        return {entry["name"]: entry["value"] for entry in pod(job)["containers"][0]["env"]}

    prefix = "SPIDERPOOL_INIT_DEFAULT_COORDINATOR"
    made = variables({"podCIDRType": "none", "vethMTU": 1400})
    assert {name.removeprefix(f"{prefix}_"): value for name, value in made.items() if name.startswith(prefix)} == {
        "NAME": "default",
        "MODE": "auto",
        "POD_CIDR_TYPE": "none",
        "TUNE_POD_ROUTES": "true",
        "HIJACK_CIDR": '["169.254.0.0/16"]',
        "POLICY_ROUTES": "[]",
        "VETH_LINK_ADDRESS": "",
        "VETH_MTU": "1400",
    }
    assert [name for name in variables({"enabled": False}) if name.startswith(prefix)] == []


# --- monitoring


def test_prometheus_is_told_of_both_parts_only_when_asked_for(helm: Helm) -> None:
    monitor = {"prometheus": {"enabled": True, "serviceMonitor": {"install": True}}}
    values = {"spiderpoolAgent": monitor, "spiderpoolController": monitor}
    objects = helm.objects(CHART, values)
    assert names(objects, "ServiceMonitor") == {"spiderpool-agent", "spiderpool-controller"}
    for entry in of_kind(objects, "ServiceMonitor"):
        service = named(objects, "Service", entry["metadata"]["name"])
        assert entry["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert "metrics" in [port["name"] for port in service["spec"]["ports"]]
    assert of_kind(helm.objects(CHART), "ServiceMonitor") == []


def test_labels_of_the_agents_monitor_are_those_of_the_dashboards_as_in_the_real_chart(helm: Helm) -> None:
    monitor = {"enabled": True, "serviceMonitor": {"install": True, "labels": {"release": "prometheus"}}}
    values = {"spiderpoolAgent": {"prometheus": monitor}, "grafanaDashboard": {"labels": {"folder": "network"}}}
    labels = only(helm.objects(CHART, values), "ServiceMonitor")["metadata"]["labels"]
    assert "release" not in labels
    assert labels["folder"] == "network"


def test_five_dashboards_go_to_the_grafana_that_is_meant(helm: Helm) -> None:
    assert of_kind(helm.objects(CHART), "GrafanaDashboard") == []
    chosen = {"install": True, "namespace": "monitoring", "instanceSelector": {"matchLabels": {"grafana": "main"}}}
    dashboards = of_kind(helm.objects(CHART, {"grafanaDashboard": chosen}), "GrafanaDashboard")
    assert len(dashboards) == 5
    assert {entry["apiVersion"] for entry in dashboards} == {"grafana.integreatly.org/v1beta1"}
    assert {entry["metadata"]["namespace"] for entry in dashboards} == {"monitoring"}
    selectors = [entry["spec"]["instanceSelector"]["matchLabels"] for entry in dashboards]
    assert selectors == [{"grafana": "main"}] * 5


# --- the driver in a container


def test_the_drivers_image_is_the_one_of_the_nodes_system(helm: Helm) -> None:
    daemon_set = only(helm.objects(DRIVER, NODES_SYSTEM), "DaemonSet")
    (driver,) = pod(daemon_set)["containers"]
    assert driver["image"] == "nvcr.io/nvidia/mellanox/doca-driver:24.04-0.6.6.0-0-ubuntu22.04-amd64"
    assert daemon_set["spec"]["updateStrategy"] == {"type": "OnDelete"}
    chosen = helm.objects(DRIVER, {"image": {"registry": "mirror.example.com", "tagOverwrite": "own"}})
    (driver,) = pod(only(chosen, "DaemonSet"))["containers"]
    assert driver["image"] == "mirror.example.com/nvidia/mellanox/doca-driver:own"
