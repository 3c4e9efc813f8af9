"""What Spiderpool's Jobs make and remove, and when they are done: pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.hardware.device_plugins import labels_of
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

_SRIOV_GROUP = "sriovnetwork.openshift.io"
_KEPT_DEFINITION = f"sriovoperatorconfigs.{_SRIOV_GROUP}"
SRIOV_WEBHOOKS = (WEBHOOK, "network-resources-injector-config")


def is_controller(deployment: Mapping[str, Any]) -> bool:
    """Whether a Deployment is that of Spiderpool's controller."""
    return CONTROLLER.items() <= labels_of(deployment).items()


def is_available(deployment: Mapping[str, Any]) -> bool:
    """Whether a Deployment has a pod that works."""
    return bool((deployment.get("status") or {}).get("availableReplicas"))


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
