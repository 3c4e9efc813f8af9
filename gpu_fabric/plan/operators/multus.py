"""Multus where no operator installs it: on nodes of DigitalOcean, whose clusters come without one.

The thick form: a daemon on every node does the work, and the container runtime calls a small program that asks it. All
of it is in kube-system.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from gpu_fabric.k8s.apps import (
    ConfigMapFiles,
    Container,
    ContainerVariable,
    DaemonSet,
    FieldReference,
    HostPath,
    PodSpec,
    Resources,
    SecurityContext,
    ValueSource,
    Volume,
    VolumeMount,
    daemon_set,
)
from gpu_fabric.k8s.cni import network_kind_definition
from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import SYSTEM_NAMESPACE, manager_of
from gpu_fabric.plan.operators.operator import Operator, rights_of, service_account
from gpu_fabric.plan.records import PlannedObject, file_config_map
from gpu_fabric.plan.steps import NODES, Context, Step, Words, daemon_sets

_NAME = "multus"
_DAEMON_SET = "kube-multus-ds"
_LABELS = {"app": _NAME, "tier": "node", "name": _NAME}
_PROGRAMS = "/usr/src/multus-cni/bin"
_CONFIGURATION = {
    # Plug-ins are run in the host's root, where their libraries and state are.
    "chrootDir": "/hostroot",
    "cniVersion": "0.3.1",
    "logLevel": "verbose",
    "logToStderr": True,
    "cniConfigDir": "/host/etc/cni/net.d",
    "multusAutoconfigDir": "/host/etc/cni/net.d",
    # Its own network is made from the cluster's, which it follows when that changes.
    "multusConfigFile": "auto",
    "socketDir": "/host/run/multus/",
}
# Volume, path on the host, path in the daemon's container, and whether mounts made later on the host must appear there.
_HOST_FOLDERS = (
    ("cni", "/etc/cni/net.d", "/host/etc/cni/net.d", False),
    # The daemon wants the plug-ins' folder where the host has it.
    ("cnibin", "/opt/cni/bin", "/opt/cni/bin", False),
    ("host-run", "/run", "/host/run", False),
    ("host-var-lib-cni-multus", "/var/lib/cni/multus", "/var/lib/cni/multus", False),
    ("host-var-lib-kubelet", "/var/lib/kubelet", "/var/lib/kubelet", True),
    ("host-run-k8s-cni-cncf-io", "/run/k8s.cni.cncf.io", "/run/k8s.cni.cncf.io", False),
    ("host-run-netns", "/run/netns", "/run/netns", True),
    ("hostroot", "/", "/hostroot", True),
    ("multus-conf-dir", "/etc/cni/multus/net.d", "/etc/cni/multus/net.d", False),
)


def brings_multus(case: Case) -> bool:
    """Whether the stack installs it: where networks need it, no manager installs it, and the cluster has none."""
    manager = manager_of(case)
    return manager.multus_switch is None and manager.dra_driver is None and "multus" not in case.spec.present


def _steps(context: Context) -> Iterator[Step]:
    """Its DaemonSet waits for the nodes, so that its readiness is theirs, too; the rest does not.

    Networks come after it: they are of the kind that it defines, and a pod that starts on a node without it gets none.
    """
    component, kind = "multus", "operators:Multus"
    planned = multus(context.case)
    what = f"{daemon_sets(planned)} in {SYSTEM_NAMESPACE}, and the kind NetworkAttachmentDefinition"
    yield Step(
        name=component,
        component=component,
        kind=kind,
        items=planned[:-1],
        after=("namespaces",),
        in_order=True,
        words=(Words(title="Multus", what=what, waits="the kind, and its pods on every node"),),
    )
    after = ("namespaces", component, NODES)
    yield Step(name="multus-daemon", component=component, kind=kind, items=planned[-1:], after=after)


OPERATOR = Operator(_steps)


def multus_memory(case: Case) -> str:
    """The memory of the daemon, in Mi or Gi: the stack's, or the catalog's."""
    memory = case.spec.software.multus.memory or case.line.standalone["multus"].memory
    assert memory is not None, "the catalog's row has one"
    return memory


def multus(case: Case) -> tuple[PlannedObject, ...]:
    """Definition, identity, configuration and DaemonSet, in the order in which they are needed."""
    if not brings_multus(case):
        return ()
    # The daemon reads it when it starts: another text is another name, which rolls the pods.
    text = json.dumps(_CONFIGURATION, indent=2) + "\n"
    configuration = file_config_map("multus-daemon-config", SYSTEM_NAMESPACE, "daemon-config.json", text, _LABELS)
    return (
        PlannedObject(object=network_kind_definition(), wait_for="condition=Established"),
        *service_account(_NAME, SYSTEM_NAMESPACE, _LABELS, rights_of(_NAME)),
        PlannedObject(object=configuration),
        # Images of every node, CPU nodes too, are pulled first.
        PlannedObject(object=_daemon_set(case, configuration.metadata.name), timeout=900),
    )


def _daemon_set(case: Case, configuration: str) -> DaemonSet:
    image = case.standalone_image("multus", case.spec.software.multus.image)
    pod = PodSpec(
        service_account_name=_NAME,
        image_pull_secrets=case.pull_secrets,
        host_network=True,
        # The pods' network namespaces are reached by the processes in them.
        host_pid=True,
        priority_class_name="system-node-critical",
        termination_grace_period_seconds=10,
        # Every pod of a node is made through it, so no taint keeps it away.
        tolerations=tuple(Toleration(operator="Exists", effect=effect) for effect in ("NoSchedule", "NoExecute")),
        init_containers=(_installer(image),),
        containers=(_daemon(image, multus_memory(case)),),
        volumes=(
            *(
                Volume(name=name, host_path=HostPath(path=path, type="DirectoryOrCreate"))
                for name, path, _, _ in _HOST_FOLDERS
            ),
            Volume(name="configuration", config_map=ConfigMapFiles(name=configuration)),
        ),
    )
    # A node starts no pod while its daemon is replaced.
    most = "10%"
    return daemon_set(_DAEMON_SET, SYSTEM_NAMESPACE, _LABELS, pod, selected_by={"name": _NAME}, max_unavailable=most)


def _installer(image: str) -> Container:
    return Container(
        name="install-multus-binary",
        image=image,
        # The image has no shell; this program replaces a file that is just being run.
        command=(f"{_PROGRAMS}/install_multus", "-d", "/host/opt/cni/bin", "-t", "thick"),
        resources=Resources(requests={"cpu": "10m", "memory": "15Mi"}),
        security_context=SecurityContext(privileged=True),
        volume_mounts=(VolumeMount(name="cnibin", mount_path="/host/opt/cni/bin", mount_propagation="Bidirectional"),),
    )


def _daemon(image: str, memory: str) -> Container:
    return Container(
        name="kube-multus",
        image=image,
        command=(f"{_PROGRAMS}/multus-daemon",),
        env=(
            ContainerVariable(
                name="MULTUS_NODE_NAME", value_from=ValueSource(field_ref=FieldReference(field_path="spec.nodeName"))
            ),
        ),
        # No limit on processor time: the daemon would be slow just when many pods start.
        resources=Resources(requests={"cpu": "100m", "memory": memory}, limits={"memory": memory}),
        security_context=SecurityContext(privileged=True),
        volume_mounts=(
            *(
                VolumeMount(name=name, mount_path=path, mount_propagation="HostToContainer" if follows else None)
                for name, _, path, follows in _HOST_FOLDERS
            ),
            VolumeMount(name="configuration", mount_path="/etc/cni/net.d/multus.d", read_only=True),
        ),
    )
