"""Policies of the API server that attach the fabric at admission, without a webhook's server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from gpu_fabric.attach.cel import ANNOTATIONS, additions, all_of, asking, fits_nodes, has_fabric, variables
from gpu_fabric.attach.devices import gpu_resource
from gpu_fabric.base.cel import literal
from gpu_fabric.base.tables import read_table
from gpu_fabric.base.templates import filled
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.fabric import without_channel

MutatingVersion = Literal["v1", "v1beta1", "v1alpha1"]
"""Versions of mutating policies: v1 in Kubernetes 1.36, v1beta1 from 1.34, v1alpha1 from 1.32."""

OPT_IN = "gpu-fabric.dev/attach"
"""The label of a pod or of its namespace, `enabled`, with which its pods get the fabric; a pod's `disabled` wins."""


def admission_policies(contract: FabricContract, version: MutatingVersion = "v1") -> list[dict[str, Any]]:
    """The policies and their bindings, as manifests; `version` is that of the mutating policy's API.

    They see single pods and not how many a job has, so they give none a channel: `attach` does.
    """
    contract = without_channel(contract)
    whole = f"{asking(contract, contract.gpus_per_node)}.exists(whole, whole)"
    what = "is not on the node's own network" if contract.host_network else "has no networks of it"
    text = (
        f" takes a node of stack {contract.stack} ({contract.gpus_per_node} {gpu_resource(contract)}) and {what}: "
        f"NCCL would use TCP; label the pod or its namespace {OPT_IN}=enabled, or run gpu-fabric attach"
    )
    metadata = "object.metadata"
    who = f'(has({metadata}.name) ? {metadata}.name : has({metadata}.generateName) ? {metadata}.generateName : "a pod")'
    values = {
        "version": version,
        "attach": _name("attach", contract),
        "warn": _name("warn", contract),
        "namespaces": list(contract.namespaces),
        "asksOnce": f"{asking(contract)}.filter(asks, asks).size() == 1",
        "variables": _named(variables(contract)),
        "patch": f"!variables.fits ? [] :\n{additions(contract)}",
        "takesWhole": all_of([whole, *fits_nodes(contract)]),
        "annotations": _named(ANNOTATIONS),
        "hasFabric": has_fabric(contract),
        "message": f"{who} + {literal(text)}",
    }
    manifests: list[dict[str, Any]] = filled(read_table(Path(__file__).with_suffix(".yaml")), values)
    return manifests


def _named(expressions: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "expression": text} for name, text in expressions.items()]


def _name(what: str, contract: FabricContract) -> str:
    """A name for the cluster, which may have the policies of several stacks."""
    fabric = f"-{contract.fabric}" if contract.fabric else ""
    return f"gpu-fabric-{what}-{re.sub('[^a-z0-9]+', '-', contract.stack.lower()).strip('-')}{fabric}"
