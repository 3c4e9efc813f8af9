"""Virtual functions made by a DaemonSet of ours: one per kind of nodes, with the script that does it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fabric.k8s.apps import (
    ConfigMapFiles,
    Container,
    DaemonSet,
    ExecAction,
    HostPath,
    ReadinessProbe,
    SecurityContext,
    Volume,
    VolumeMount,
)
from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import ConfigMap
from fabric.k8s.scheduling import EnvVar
from fabric.plan.case import Case, NodeGroup
from fabric.plan.host.daemon import COMPONENT_LABEL, namespace_of, node_daemon
from fabric.plan.rails import group_rails
from fabric.plan.records import PlannedObject

VIRTUAL_FUNCTIONS = "virtual-functions"
"""The value of the label `gpu-fabric/component` on the DaemonSet's pods."""

_SCRIPT = "virtual_functions.sh"
_NODES_LABEL = "gpu-fabric/nodes"
# Seconds: a NIC that resets takes a minute or two; the whole DaemonSet twice that for every NIC and the retries.
_WAIT_SECONDS, _TIMEOUT = 300, 1800


def virtual_functions_script() -> str:
    """The Bash script that makes a node's SR-IOV virtual functions; its head names its modes and environment."""
    return Path(__file__).with_name(_SCRIPT).read_text(encoding="utf-8")


def virtual_functions(case: Case) -> tuple[PlannedObject, ...]:
    """The script and a DaemonSet per kind of nodes, ready where every NIC has its functions; none by other makers."""
    if case.choices.virtual_functions != "daemon-set":
        return ()
    namespace, script = namespace_of(case), virtual_functions_script()
    files = ConfigMap(
        metadata=ObjectMeta(name=_config_map(script), namespace=namespace), immutable=True, data={_SCRIPT: script}
    )
    daemons = (_daemon_set(case, group, namespace, files.metadata.name) for group in case.groups)
    return (
        PlannedObject(object=files),
        *(PlannedObject(object=daemon, timeout=_TIMEOUT) for daemon in daemons),
    )


def _config_map(script: str) -> str:
    """A new script is a new ConfigMap, which rolls the pods."""
    return f"{VIRTUAL_FUNCTIONS}-{hashlib.sha256(script.encode()).hexdigest()[:8]}"


def _daemon_set(case: Case, group: NodeGroup, namespace: str, script: str) -> DaemonSet:
    labels = {COMPONENT_LABEL: VIRTUAL_FUNCTIONS, _NODES_LABEL: group.name}
    container = Container(
        name=VIRTUAL_FUNCTIONS,
        image=case.spec.software.host_image or _image(case),
        command=_command("configure"),
        env=tuple(EnvVar(name=name, value=value) for name, value in _environment(case, group, namespace).items()),
        readiness_probe=ReadinessProbe(
            exec=ExecAction(command=_command("check")), period_seconds=30, timeout_seconds=20, failure_threshold=1
        ),
        security_context=SecurityContext(privileged=True),
        volume_mounts=(
            VolumeMount(name="host", mount_path="/host", mount_propagation="HostToContainer"),
            VolumeMount(name="script", mount_path="/script", read_only=True),
        ),
    )
    suffix = f"-{group.name}" if len(case.groups) > 1 else ""
    return node_daemon(
        case,
        f"{VIRTUAL_FUNCTIONS}{suffix}",
        labels,
        group.labels,
        (container,),
        (
            Volume(name="host", host_path=HostPath(path="/", type="Directory")),
            Volume(name="script", config_map=ConfigMapFiles(name=script)),
        ),
        grace_seconds=10,
        # The host's interfaces and processes are what it works on.
        sees_processes=True,
    )


def _command(mode: str) -> tuple[str, ...]:
    # In the host's own root: its ip, rdma and crictl fit its kernel, and nothing but chroot comes from the image.
    return ("/bin/sh", "-c", f"exec chroot /host /bin/bash -s -- {mode} < /script/{_SCRIPT}")


def _environment(case: Case, group: NodeGroup, namespace: str) -> dict[str, str]:
    plugin = case.line.plugin_daemon_sets["sriovDevicePlugin"]
    return {
        "PCI_ADDRESSES": " ".join(rail.pci for rail in group_rails(case, group) if rail.pci),
        "VFS_PER_NIC": str(max(1, group.shape.vfs_per_nic)),
        "MTU": "" if case.mtu is None or case.choices.link_type != "ether" else str(case.mtu),
        "RDMA_MODE": case.choices.rdma_mode,
        "WAIT_SECONDS": str(_WAIT_SECONDS),
        "PLUGIN_POD": f"{namespace}/{plugin}",
    }


def _image(case: Case) -> str:
    image = case.line.standalone["hostPreparation"].image
    assert image is not None, "the catalog's row has one"
    return image.reference
