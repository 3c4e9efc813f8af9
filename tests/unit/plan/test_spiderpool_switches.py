"""What the switches of `software.spiderpool` and their like turn into: chart values, networks, and what pods carry."""

from __future__ import annotations

from typing import Any

import pytest
from planned_fabrics import example

from gpu_fabric.plan import Plan

# Of other people, in the cluster.
HAS = ["cert-manager", "prometheus-operator", "grafana-operator"]


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
