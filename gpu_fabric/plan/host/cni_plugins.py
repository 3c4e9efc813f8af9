"""CNI plug-ins that the networks call and no operator of the stack installs: a DaemonSet of ours installs them."""

from __future__ import annotations

from gpu_fabric.catalog import Component
from gpu_fabric.k8s.apps import Container, HostPath, SecurityContext, Volume, VolumeMount
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL, node_daemon
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.managers.doks import KEEPING_PLUGIN
from gpu_fabric.plan.records import PlannedObject

_NAME = "fabric-cni-plugins"
_KEEPING_NAME = f"{KEEPING_PLUGIN}-cni"
_IMAGES: dict[str, Component] = {"sriov": "sriovCni", "ib-sriov": "ibSriovCni", "rdma": "rdmaCni"}


def cni_plugins(case: Case) -> tuple[PlannedObject, ...]:
    """The DaemonSet that lays the lacking plug-ins into the nodes' CNI folder; none where the node image has them."""
    plugins = manager_of(case).lacking_plugins
    if not plugins or case.spec.software.cni_plugins == "node-image":
        return ()
    if plugins == (KEEPING_PLUGIN,):
        return (_keeping_daemon(case),)
    daemon = node_daemon(
        case,
        case.own_copy(_NAME),
        {COMPONENT_LABEL: case.own_copy("cni-plugins")},
        case.node_selector,
        tuple(_container(case, name) for name in plugins),
        (
            Volume(name="cni-bin", host_path=HostPath(path=case.cni_plugins_folder, type="DirectoryOrCreate")),
            Volume(name="os-release", host_path=HostPath(path="/etc/os-release", type="File")),
        ),
        # The images' program sleeps for ever once it has copied its plug-in, and does not listen.
        grace_seconds=1,
    )
    return (PlannedObject(object=daemon, timeout=900),)


def _keeping_daemon(case: Case) -> PlannedObject:
    """DigitalOcean's DaemonSet for routed rails, as far as its guide describes it.

    Published are its name, namespace and image, that it is privileged, and that it has the plug-ins' folder and one of
    its own below /var/lib/cni. How it copies itself and what that folder is called are not: so it gets all of
    /var/lib/cni, each folder at the path that it has on the host, and the image's own command.
    """
    folders = (("cni-bin", "/opt/cni/bin"), ("cni-state", "/var/lib/cni"))
    container = Container(
        name=KEEPING_PLUGIN,
        image=case.standalone_image("ipPreservingHostDevice", None),
        security_context=SecurityContext(privileged=True),
        volume_mounts=tuple(VolumeMount(name=name, mount_path=path) for name, path in folders),
    )
    daemon = node_daemon(
        case,
        case.own_copy(_KEEPING_NAME),
        {COMPONENT_LABEL: case.own_copy(_KEEPING_NAME)},
        case.node_selector,
        (container,),
        tuple(Volume(name=name, host_path=HostPath(path=path, type="DirectoryOrCreate")) for name, path in folders),
        grace_seconds=10,
    )
    return PlannedObject(object=daemon, timeout=900)


def _container(case: Case, plugin: str) -> Container:
    return Container(
        name=f"{plugin}-cni",
        image=case.pulled(case.known.pinned(case.line.images.image(_IMAGES[plugin]).reference)),
        # The folder is the host's, and root's.
        security_context=SecurityContext(privileged=True),
        volume_mounts=(
            VolumeMount(name="cni-bin", mount_path="/host/opt/cni/bin"),
            # By it an image chooses the build that fits the host's libraries.
            VolumeMount(name="os-release", mount_path="/host/etc/os-release", read_only=True),
        ),
    )
