"""The Job that looks at a node, and the namespace that it runs in."""

from __future__ import annotations

from typing import Any

from gpu_fabric.discover.look import script

NAMESPACE = "gpu-fabric-look"
NAME = "gpu-fabric-look"
"""The name of the Job, and of its container."""

_LEVELS = tuple(f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "audit", "warn"))
_MARK = {"gpu-fabric.dev/created-for": "look"}
_SECONDS = 300
"""The longest that the Job may take, pulling its image included."""


def namespace(name: str) -> dict[str, Any]:
    """A namespace that allows privileged pods, with the mark of one that its look deletes."""
    labels = {**dict.fromkeys(_LEVELS, "privileged"), "app.kubernetes.io/managed-by": "gpu-fabric"}
    metadata = {"name": name, "labels": labels, "annotations": _MARK}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def is_of_a_look(found: dict[str, Any]) -> bool:
    """Whether a look created this namespace, and was killed before it deleted it unless its Job is there."""
    metadata = found.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.items() >= _MARK.items()


def refused_level(found: dict[str, Any]) -> str | None:
    """The Pod Security level of a namespace that forbids the pod; None if its labels forbid none."""
    metadata = found.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    level = labels.get(_LEVELS[0]) if isinstance(labels, dict) else None
    return level if isinstance(level, str) and level != "privileged" else None


def job(node: str, in_namespace: str, image: str) -> dict[str, Any]:
    """One privileged pod on this node, which runs the script in the node's own root, and is not tried again."""
    labels = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/managed-by": "gpu-fabric"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": NAME, "namespace": in_namespace, "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": _SECONDS,
            # For the case that the command is killed before it deletes the Job.
            "ttlSecondsAfterFinished": 60,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    # Past the scheduler: no taint, no quota of GPUs and no queue concerns a pod that only reads.
                    "nodeName": node,
                    "tolerations": [{"operator": "Exists"}],
                    "restartPolicy": "Never",
                    # sysfs lists the interfaces of its reader's network namespace.
                    "hostNetwork": True,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [
                        {
                            "name": NAME,
                            "image": image,
                            # In the node's own root: its bash, setpci and nvidia-smi; only chroot is from the image.
                            "command": ["chroot", "/host", "/bin/bash", "-c", script()],
                            # Reads the configuration space of PCI functions.
                            "securityContext": {"privileged": True},
                            "volumeMounts": [{"name": "host", "mountPath": "/host", "readOnly": True}],
                        }
                    ],
                    "volumes": [{"name": "host", "hostPath": {"path": "/", "type": "Directory"}}],
                },
            },
        },
    }
