"""What Spiderpool's controller makes of its objects, and when its Jobs are done: pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gpu_fabric.k8s.base import compact_json
from gpu_fabric.k8s.names import RESOURCE_NAME_ANNOTATION
from sandbox.hardware.device_plugins import annotations_of, labels_of
from sandbox.hardware.operands import PLAYED_LABEL, owner_reference, with_revision
from sandbox.hardware.sriov_operator import WEBHOOK
from sandbox.hardware.virtual_functions import environment_of

Object = dict[str, Any]

SPIDERPOOL = "spiderpool"
CONTROLLER = {"app.kubernetes.io/name": SPIDERPOOL, "app.kubernetes.io/component": "spiderpool-controller"}
"""Labels of the controller's Deployment."""

GROUP = "spiderpool.spidernet.io"
FINALIZER = GROUP
INIT_JOB, CLEAN_JOB = "spiderpool-init", "spiderpool-clean"
"""Values of OPERAND_LABEL: the pods of the chart's two hook Jobs."""

COMPLETES_ANNOTATION = "sandbox.gpu-fabric/completes-after"
"""On a pod: how long after its start it ends well, such as `0s`; without it a pod runs on."""

NAME_ANNOTATION = "multus.spidernet.io/cr-name"
VERSION_ANNOTATION = "multus.spidernet.io/cni-version"
CONFIG_NAME_ANNOTATION = "cni.spidernet.io/cniconfig-name"

SECTIONS = {"macvlan": "macvlan", "sriov": "sriov", "ib-sriov": "ibsriov", "ipoib": "ipoib"}
"""Kind of network -> the field of a SpiderMultusConfig that describes it."""

_SRIOV_GROUP = "sriovnetwork.openshift.io"
_KEPT_DEFINITION = f"sriovoperatorconfigs.{_SRIOV_GROUP}"
SRIOV_WEBHOOKS = (WEBHOOK, "network-resources-injector-config")


def is_controller(deployment: Mapping[str, Any]) -> bool:
    """Whether a Deployment is that of Spiderpool's controller."""
    return CONTROLLER.items() <= labels_of(deployment).items()


def is_available(deployment: Mapping[str, Any]) -> bool:
    """Whether a Deployment has a pod that works."""
    return bool((deployment.get("status") or {}).get("availableReplicas"))


def definition_of(network: Mapping[str, Any]) -> Object:
    """The NetworkAttachmentDefinition of a SpiderMultusConfig, which owns it.

    The pools are in `ipam` under the names of the section: Spiderpool's own form of that part is not known here.
    Raises ValueError where a CNI configuration in it is not JSON, and LookupError where its section lacks a key.
    """
    metadata, spec = network["metadata"], network["spec"]
    annotations = annotations_of(network)
    name = annotations.get(NAME_ANNOTATION) or metadata["name"]
    kind = spec.get("cniType", "custom")
    section = spec.get(SECTIONS.get(kind, "")) or {}
    frame = {
        "cniVersion": annotations.get(VERSION_ANNOTATION, "0.3.1"),
        "name": annotations.get(CONFIG_NAME_ANNOTATION) or name,
    }
    config = _custom(spec) if kind == "custom" else {**frame, "plugins": list(_plugins(kind, section, spec))}
    resource = section.get("rdmaResourceName") or section.get("resourceName")
    definition = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {PLAYED_LABEL: SPIDERPOOL},
            "annotations": {RESOURCE_NAME_ANNOTATION: resource} if resource else {},
            "ownerReferences": [owner_reference(network)],
        },
        "spec": {"config": compact_json(config)},
    }
    return with_revision(definition)


def _custom(spec: Mapping[str, Any]) -> Object:
    config: Object = json.loads(spec.get("customCNI") or "{}")
    return config


def _plugins(kind: str, section: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterable[Object]:
    """The chain: bond and VLAN interfaces first, then the network, then what works on its interface."""
    ipam: Object = {} if spec.get("disableIPAM") else {"ipam": _ipam(section.get("ippools") or {})}
    vlan, bond, isolated = section.get("vlanID") or 0, section.get("bond"), section.get("rdmaIsolation")
    match kind:
        case "macvlan":
            master = bond["name"] if bond else section["master"][0]
            if bond or vlan:
                interfaces = {"interfaces": section["master"], "vlanID": vlan, **({"bond": bond} if bond else {})}
                yield {"type": "ifacer", **interfaces}
            parent = f"{master}.{vlan}" if vlan else master
            yield {"type": "macvlan", "master": parent, "mode": "bridge", **_mtu(section), **ipam}
        case "sriov":
            rates = {"min_tx_rate": section.get("minTxRateMbps"), "max_tx_rate": section.get("maxTxRateMbps")}
            given = {key: rate for key, rate in rates.items() if rate is not None}
            yield {"type": "sriov", "vlan": vlan, **given, **ipam}
        case "ib-sriov":
            link = {"link_state": section.get("linkState", "enable"), "rdmaIsolation": isolated is not False}
            key = {"pkey": section["pkey"]} if section.get("pkey") else {}
            by_manager = {"ibKubernetesEnabled": True} if section.get("enableIbKubernetes") else {}
            yield {"type": "ib-sriov", **link, **key, **by_manager, **ipam}
        case _:
            yield {"type": kind, "master": section.get("master", ""), **ipam}
    if spec.get("enableCoordinator", True):
        yield {"type": "coordinator"}
    if kind == "sriov":
        if section.get("mtu"):
            yield {"type": "tuning", **_mtu(section)}
        if isolated:
            yield {"type": "rdma"}
    for text in spec.get("chainCNIJsonData") or ():
        yield json.loads(text)


def _mtu(section: Mapping[str, Any]) -> Object:
    return {"mtu": section["mtu"]} if section.get("mtu") else {}


def _ipam(pools: Mapping[str, Any]) -> Object:
    return {"type": "spiderpool", **{key: value for key, value in pools.items() if value}}


def coordinator(pod: Mapping[str, Any]) -> Object | None:
    """The cluster's one SpiderCoordinator, by the variables COORDINATOR_NAME and COORDINATOR of the init Job's pod.

    The latter is the spec as JSON. None where COORDINATOR_NAME is not set. Raises ValueError for invalid JSON.
    """
    environment = environment_of(pod)
    name = environment.get("COORDINATOR_NAME")
    if not name:
        return None
    return {
        "apiVersion": f"{GROUP}/v2beta1",
        "kind": "SpiderCoordinator",
        "metadata": {"name": name, "finalizers": [FINALIZER]},
        "spec": json.loads(environment.get("COORDINATOR") or "{}"),
    }


def cleaned_definitions(names: Iterable[str]) -> tuple[str, ...]:
    """The custom resource definitions that the clean Job removes, Spiderpool's own and those of any SR-IOV operator."""
    return tuple(
        sorted(name for name in names if name.endswith((f".{GROUP}", f".{_SRIOV_GROUP}")) and name != _KEPT_DEFINITION)
    )
