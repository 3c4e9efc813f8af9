"""The NetworkAttachmentDefinition that the SR-IOV operator makes of a SriovNetwork or a SriovIBNetwork."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gpu_fabric.k8s.base import compact_json
from gpu_fabric.k8s.names import RESOURCE_NAME_ANNOTATION
from sandbox.hardware.operands import PLAYED_LABEL, with_revision
from sandbox.hardware.sriov_operator import SRIOV_OPERATOR

Object = dict[str, Any]

# The operator's fields and the keys of the CNI plug-ins that they become.
_ETHERNET = {
    "vlan": "vlan",
    "vlanQoS": "vlanQoS",
    "vlanProto": "vlanProto",
    "spoofChk": "spoofchk",
    "trust": "trust",
    "linkState": "link_state",
    "minTxRate": "min_tx_rate",
    "maxTxRate": "max_tx_rate",
    "logLevel": "logLevel",
    "logFile": "logFile",
}
_INFINIBAND = {"linkState": "link_state"}


class UnusableNetworkError(ValueError):
    """The network's `ipam`, `capabilities` or `metaPlugins` is not JSON; the operator makes nothing of it."""


def definition_of(network: Mapping[str, Any], prefix: str) -> Object:
    """The definition of a network, in the namespace that the network names, else in its own.

    `prefix` is that of the operator's resources. Raises UnusableNetworkError.
    """
    spec, metadata = network["spec"], network["metadata"]
    definition = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {
            "name": metadata["name"],
            "namespace": spec.get("networkNamespace") or metadata["namespace"],
            "labels": {PLAYED_LABEL: SRIOV_OPERATOR},
            "annotations": {RESOURCE_NAME_ANNOTATION: f"{prefix}/{spec['resourceName']}"},
        },
        "spec": {
            "config": compact_json({"cniVersion": "1.0.0", "name": metadata["name"], "plugins": _plugins(network)})
        },
    }
    return with_revision(definition)


def _plugins(network: Mapping[str, Any]) -> list[Object]:
    spec = network["spec"]
    infiniband = network["kind"] == "SriovIBNetwork"
    fields = _INFINIBAND if infiniband else _ETHERNET
    plugin: Object = {"type": "ib-sriov" if infiniband else "sriov"}
    plugin |= {key: spec[field] for field, key in fields.items() if spec.get(field) is not None}
    plugin["ipam"] = _json("ipam", spec.get("ipam") or "{}")
    if spec.get("capabilities"):
        plugin["capabilities"] = _json("capabilities", spec["capabilities"])
    # several plug-ins are written one after the other with commas between, as in a list without its brackets
    return [plugin, *_json("metaPlugins", f"[{spec.get('metaPlugins') or ''}]")]


def _json(field: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnusableNetworkError(f"spec.{field} is not JSON: {error}") from None
