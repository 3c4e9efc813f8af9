"""What the switches of `software.spiderpool` and their like turn into: chart values, networks, and what pods carry."""

from typing import Any

import pytest
from planned_fabrics import example

from gpu_fabric.catalog.chart import value_at
from gpu_fabric.plan import Plan
from gpu_fabric.resources import resources

_OF_OTHERS = ["cert-manager", "prometheus-operator", "grafana-operator"]
SWITCHED = {
    "metrics": True,
    "serviceMonitor": True,
    "grafanaDashboards": True,
    "grafanaLabels": {"dashboards": "main"},
    "imageRegistry": "mirror.example.com",
    "tls": {"method": "certmanager", "issuer": "ours"},
    "cleanup": False,
    "injection": "ai",
}
VALUES = {
    "spiderpoolAgent.prometheus.enabledRdmaMetric": True,
    "spiderpoolController.prometheus.enabled": True,
    "spiderpoolAgent.prometheus.serviceMonitor.install": True,
    "spiderpoolController.prometheus.serviceMonitor.install": True,
    "grafanaDashboard.install": True,
    "grafanaDashboard.instanceSelector.matchLabels": {"dashboards": "main"},
    "global.imageRegistryOverride": "mirror.example.com",
    "spiderpoolController.tls.method": "certmanager",
    "spiderpoolController.tls.certmanager.issuerName": "ours",
    "spiderpoolController.cleanup.enable": False,
    "spiderpoolController.podResourceInject.enabled": True,
}


def values(plan: Plan) -> Any:
    release = plan.release("spiderpool")
    assert release is not None
    return release.values


def test_a_switch_is_a_value_of_the_chart_and_none_unless_it_is_switched() -> None:
    switches = {f"software.spiderpool.{name}": value for name, value in SWITCHED.items()}
    plain, switched = (
        values(example("spiderpool-macvlan", {"cluster.installed": _OF_OTHERS, **more})) for more in ({}, switches)
    )

    assert {path: value_at(switched, path) for path in VALUES} == VALUES
    assert [path for path in VALUES if value_at(plain, path) is not None] == []


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


@pytest.mark.parametrize("stack", ["spiderpool-ib", "spiderpool-sriov", "roce-macvlan"])
def test_a_default_network_is_the_pods_own_first_interface_beside_the_fabrics(stack: str) -> None:
    before = example(stack, {"fabric.defaultNetwork": "kube-system/calico"}).workload.annotations
    network = "v1.multus-cni.io/default-network"

    assert before[network] == "kube-system/calico"
    assert {**example(stack).workload.annotations, network: "kube-system/calico"} == before


def test_a_reservation_is_deleted_in_the_background_and_nothing_else_is() -> None:
    """Spiderpool's webhook lets no finalizer be taken from it, as foreground deletion would have to."""
    policy = "pulumi.com/deletionPropagationPolicy"
    said = {
        (one.properties["kind"], one.properties["metadata"].get("annotations", {}).get(policy))
        for one in resources(example("spiderpool-macvlan"))
        if one.type.startswith("kubernetes:") and "kind" in one.properties
    }
    assert {entry for entry in said if entry[1] is not None} == {("SpiderReservedIP", "background")}
