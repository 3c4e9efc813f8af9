"""Spiderpool: the values of its chart, and what is patched of its coordinator.

Its device plug-ins look for NICs when they start, so drivers, RDMA mode and link layer come first. Pools and networks
are deleted before it, through its webhooks; the coordinator is never deleted here, since only the chart's last job
takes its finalizer off.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig
from gpu_fabric.k8s.spiderpool import COORDINATOR_NAME, SpiderCoordinator, SpiderCoordinatorSpec
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import LABELLED, ON_NODES, Operator, OwnChart
from gpu_fabric.plan.operators.policy import configuration_digest
from gpu_fabric.plan.operators.releases import merged
from gpu_fabric.plan.records import HelmRelease, PlannedPatch, SecretValue
from gpu_fabric.plan.steps import Context, Step, Words

_CERTIFICATE = {"tlsCert": "certificate", "tlsKey": "key", "tlsCa": "authority"}


def _needed(case: Case) -> bool:
    return manager_of(case).chart == CHART.name


def _values(case: Case) -> dict[str, JsonValue]:
    switches = case.spec.software.spiderpool
    return merged(
        {
            "multus": {"multusCNI": {"install": switches.multus and case.spec.software.multus.install}},
            "plugins": _cni_plugins(case),
        },
        _sriov(case) if manager_of(case).installs_sriov_operator else {},
        _controller(case),
        _observed(case),
        {"global": {"imageRegistryOverride": switches.image_registry}} if switches.image_registry else {},
        {"global": {"cniBinHostPath": stated.plugins, "cniConfHostPath": stated.networks}}
        if (stated := case.cni_folders)
        else {},
    )


CHART = OwnChart("spiderpool", _values, _needed)


def spiderpool(case: Case, shared: RdmaSharedDevicePluginConfig | None) -> HelmRelease:
    """Spiderpool with the device plug-in that the model needs, configured from the rails."""
    planned = CHART.release(case, {} if shared is None else _shared_plugin(shared))
    secret = case.spec.software.spiderpool.tls.secret
    if secret is None:
        return planned
    values = tuple(
        SecretValue(path=f"spiderpoolController.tls.provided.{value}", key=secret, entry=entry)
        for value, entry in _CERTIFICATE.items()
    )
    return planned.model_copy(update={"secret_values": values})


def _steps(context: Context) -> Iterator[Step]:
    planned = spiderpool(context.case, context.shared_plugin)
    yield CHART.step(planned, (*LABELLED, "ofed-driver", *ON_NODES))
    yield from _coordinator(context)


def _coordinator(context: Context) -> Iterator[Step]:
    if (patch := coordinator_patch(context.case)) is not None:
        words = (Words(title="coordinator", what=f"{', '.join(patch.spec)} of {patch.kind}"),)
        name, kind, after = CHART.name, CHART.kind, (CHART.name,)
        yield Step(name="coordinator", component=name, kind=kind, items=(patch,), after=after, words=words)


OPERATOR = Operator(_steps, CHART, steps_of_present=_coordinator)


def coordinator_patch(case: Case) -> PlannedPatch | None:
    """What the stack file says about the one SpiderCoordinator; None where it says nothing.

    The chart's values for it have an effect when it is first installed only. The chart's job makes the object, and only
    its other job can delete it.
    """
    settings = case.spec.software.spiderpool.coordinator
    wanted = SpiderCoordinatorSpec(
        pod_cidr_type=settings.pod_cidr_type,
        tune_pod_routes=settings.tune_pod_routes,
        hijack_cidr=None if settings.hijack_cidr is None else tuple(map(str, settings.hijack_cidr)),
        veth_mtu=settings.veth_mtu,
        pod_mac_prefix=settings.pod_mac_prefix,
        tx_queue_len=settings.tx_queue_len,
    ).to_dict()
    if not wanted:
        return None
    kind = SpiderCoordinator
    return PlannedPatch(api_version=kind.api_version, kind=kind.kind, name=COORDINATOR_NAME, spec=wanted)


def cleans_up(case: Case) -> bool:
    """Whether uninstalling removes Spiderpool's definitions, and with them those of every SR-IOV operator."""
    others = {"sriov-operator", "network-operator"} & case.spec.present
    return case.spec.software.spiderpool.cleanup and not others


def _cni_plugins(case: Case) -> dict[str, JsonValue]:
    """The plug-ins that the model's networks call; the chart's own default is all but the ordinary ones."""
    model, install = case.choices.model, case.spec.software.cni_plugins == "install"
    called = {
        # macvlan, and tuning, by which a virtual function gets its MTU
        "installCNI": model in ("macvlan", "sriov"),
        "installRdmaCNI": case.choices.rdma_mode == "exclusive",
        "installSriovCNI": model == "sriov",
        "installibSriovCNI": model == "ib-sriov",
        "installIpoibCNI": model == "ipoib",
        "installOvsCNI": False,
        "installVlanCNI": False,
    }
    return {key: install and needed for key, needed in called.items()}


def _shared_plugin(shared: RdmaSharedDevicePluginConfig) -> dict[str, JsonValue]:
    return {
        "rdma": {
            "rdmaSharedDevicePlugin": {
                "install": True,
                # The chart's template does not roll the plug-in when its configuration changes.
                "podAnnotations": {"gpu-fabric/configuration": configuration_digest(shared)},
                "deviceConfig": shared.to_dict(),
            }
        }
    }


def _sriov(case: Case) -> dict[str, JsonValue]:
    selector: dict[str, JsonValue] = dict(case.node_selector)
    operator: dict[str, JsonValue] = {
        # On NVIDIA NICs without a policy its daemon sets the firmware's number of functions to zero.
        "configDaemonNodeSelector": selector,
        # Without draining it also changes all nodes at once, and may reboot them.
        "disableDrain": case.choices.virtual_functions == "externally-managed",
    }
    if case.choices.control_plane_apart:
        # Its webhook runs on nodes of the control plane only, and without a pod every policy would be refused.
        operator["enableOperatorWebhook"] = False
    sriov: dict[str, JsonValue] = {"install": True, "operatorConfig": operator}
    tls = case.spec.software.spiderpool.tls
    if tls.method == "certmanager":
        sriov["webhooktls"] = _certmanager(tls.issuer)
    return {"sriov": sriov}


def _controller(case: Case) -> dict[str, JsonValue]:
    switches = case.spec.software.spiderpool
    controller: dict[str, JsonValue] = {}
    if switches.injection is not None:
        # Its webhook fails closed, so it is kept to where jobs run.
        namespaces: list[JsonValue] = [entry.name for entry in case.spec.fabric.namespaces]
        controller["podResourceInject"] = {"enabled": True, "namespacesInclude": namespaces}
    if switches.tls.method == "certmanager":
        controller["tls"] = _certmanager(switches.tls.issuer)
    elif switches.tls.method == "provided":
        controller["tls"] = {"method": "provided"}
    if not cleans_up(case):
        controller["cleanup"] = {"enable": False}
    return {"spiderpoolController": controller} if controller else {}


def _certmanager(issuer: str | None) -> dict[str, JsonValue]:
    own: dict[str, JsonValue] = {} if issuer is None else {"certmanager": {"issuerName": issuer}}
    return {"method": "certmanager", **own}


def _observed(case: Case) -> dict[str, JsonValue]:
    switches = case.spec.software.spiderpool
    values: dict[str, JsonValue] = {}
    if switches.metrics:
        monitor: dict[str, JsonValue] = {"serviceMonitor": {"install": True}} if switches.service_monitor else {}
        values["spiderpoolAgent"] = {"prometheus": {"enabled": True, "enabledRdmaMetric": True, **monitor}}
        values["spiderpoolController"] = {"prometheus": {"enabled": True, **monitor}}
    if switches.grafana_dashboards:
        labels: dict[str, JsonValue] = dict(switches.grafana_labels)
        own: dict[str, JsonValue] = {"instanceSelector": {"matchLabels": labels}} if labels else {}
        values["grafanaDashboard"] = {"install": True, **own}
    return values
