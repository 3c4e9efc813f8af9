"""Software that is there: what the stack would install a second time, and what it expects and does not find."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from gpu_fabric.catalog import OperatorFacts, catalog
from gpu_fabric.catalog.release import Needed
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Cluster, Json, called, field, labels_of, name_of, namespace_of, release_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.stack import Stack
from gpu_fabric.spec.places import Location, dotted

_PLUG_INS = ("sriov-device-plugin", "rdma-shared-device-plugin", "gpu-device-plugin")
_NEEDED: tuple[Needed, ...] = ("gpu-operator", "network-operator", "nfd")
_VERSION_LABEL = "app.kubernetes.io/version"


class Running(NamedTuple):
    """A workload of a row: its kind, the object, and the image by which it was recognised."""

    kind: str
    item: Json
    image: str

    @property
    def name(self) -> str:
        """The workload for people."""
        return called(self.kind, self.item)

    @property
    def version(self) -> str:
        """Its version by its label, or by the image's tag; empty where neither says one."""
        tag = self.image.rpartition("/")[2].partition("@")[0].partition(":")[2]
        return (labels_of(self.item).get(_VERSION_LABEL) or tag).removeprefix("v").removeprefix("network-operator-v")


@cache
def known_software() -> dict[str, OperatorFacts]:
    """The software that is recognised by its images."""
    return {name: facts for name, facts in catalog().operators.items() if facts.images}


def running(cluster: Cluster, component: str) -> list[Running]:
    """The workloads of a row that the cluster has."""
    row = known_software()[component]
    return [
        Running(kind, item, image)
        for kind, item in cluster.workloads
        if kind == row.workload and not (row.besides and row.besides in name_of(item))
        for image in _images(item)
        if has_image(image, row.images)
    ]


def _images(item: Json) -> Iterator[str]:
    for container in field(item, "spec", "template", "spec", "containers") or ():
        yield str(container.get("image", ""))


def has_image(image: str, names: tuple[str, ...]) -> bool:
    """Whether an image is one of these, whatever its registry and tag."""
    path = image.partition("@")[0]
    repository = path.rpartition(":")[0] if ":" in path.rpartition("/")[2] else path
    return any(f"/{repository}".endswith(f"/{name}") for name in names)


def software_differences(case: Examination) -> Iterator[Finding]:
    """What is wrong with the software that the cluster has."""
    stack, cluster = case.stack, case.cluster
    for component in known_software():
        if component in stack.present:
            yield from _expected(stack, cluster, component)
        elif (place := installs(stack, component)) is not None:
            yield from _twice(stack, cluster, component, place)


def installs(stack: Stack, component: str) -> Location | None:
    """The place in the stack file that decides that the stack installs a component; None where it does not."""
    row, policy = known_software()[component], stack.policy
    gpu, network = ("software", "gpuOperator"), ("software", "networkOperator")
    with_sriov = (
        stack.value("network-operator", "sriovNetworkOperator", "enabled") is True
        or stack.value("spiderpool", "sriov", "install") is True
    )
    places: dict[str, tuple[bool, Location]] = {
        "gpu-operator": ("gpu-operator" in stack.releases, (*gpu, "install")),
        "network-operator": ("network-operator" in stack.releases, ("fabric", "manager")),
        "spiderpool": ("spiderpool" in stack.releases, ("fabric", "manager")),
        "sriov-operator": (
            with_sriov,
            ("fabric", "virtualFunctions"),
        ),
        "maintenance-operator": (
            stack.value("network-operator", "maintenanceOperator", "enabled") is True,
            (*network, "values"),
        ),
        "nfd": (
            ("gpu-operator" in stack.releases and stack.value("gpu-operator", "nfd", "enabled") is not False)
            or stack.value("network-operator", "nfd", "enabled") is True,
            (*gpu, "nfd"),
        ),
        "multus": (
            _policy_has_multus(stack)
            or stack.value("spiderpool", "multus", "multusCNI", "install") is True
            or _applies(stack, "DaemonSet", "kube-multus-ds"),
            (*network, "multus"),
        ),
        "nv-ipam": ("nvIpam" in policy, ("fabric", "addressing", "ipam")),
        "mpi-operator": (_applies(stack, "Deployment", "mpi-operator"), ("software", "schedulers", "mpiOperator")),
        "sriov-device-plugin": (
            "sriovDevicePlugin" in policy
            or (with_sriov and bool(stack.node_policies) and not stack.is_answered_by_claims),
            ("fabric", "model"),
        ),
        "rdma-shared-device-plugin": (
            "rdmaSharedDevicePlugin" in policy
            or stack.value("spiderpool", "rdma", "rdmaSharedDevicePlugin", "install") is True,
            ("fabric", "model"),
        ),
        "gpu-device-plugin": (
            "gpu-operator" in stack.releases and stack.value("gpu-operator", "devicePlugin", "enabled") is not False,
            (*gpu, "install"),
        ),
    }
    comes, place = places.get(component, (row.release in stack.releases, _switch(component)[:-1]))
    return place if comes else None


def _policy_has_multus(stack: Stack) -> bool:
    """Whether the Network Operator installs Multus; where its chart makes the policy, that has it by default."""
    multus = field(stack.policy, "secondaryNetwork", "multus")
    if catalog().releases[stack.plan.release_line].policy_by == "chart":
        return "network-operator" in stack.releases and field(multus, "deploy") is not False
    return multus is not None


def _applies(stack: Stack, kind: str, name: str) -> bool:
    return any(entry.object.kind == kind and entry.name == name for entry in stack.objects)


def _twice(stack: Stack, cluster: Cluster, component: str, place: Location) -> Iterator[Finding]:
    row = known_software()[component]
    foreign = [found for found in running(cluster, component) if not _is_of(stack, cluster, found)]
    for found in foreign[:1]:
        seen = Seen(object=found.name, field="spec.template.spec.containers[].image", value=found.image)
        release = release_of(found.item)
        switch = dotted(_switch(component)) if row.section else None
        remedy = f"uninstall {_way(found)}" + (f", or use it: write {switch}: false" if switch else "")
        if release is not None and stack.has_released(found.item):
            yield finding(
                "PRE011",
                dotted(place),
                f"the release {release[0]} in namespace {release[1]} exists, and this stack has not installed it",
                f"uninstall it: `helm uninstall {release[0]} -n {release[1]}`",
                seen=Seen(object=found.name, field="metadata.annotations[meta.helm.sh/release-name]", value=release[0]),
            )
        elif component == "multus":
            yield finding(
                "PRE012", dotted(place), f"{found.name} is a Multus, and the stack installs one", remedy, seen=seen
            )
        elif component == "nfd":
            message = f"{found.name} is a Node Feature Discovery, and the stack installs one"
            yield finding("PRE013", dotted(place), message, remedy, seen=seen)
        elif component in _PLUG_INS:
            message = f"{found.name} is {row.title}, and the stack installs it for the same devices"
            yield finding("PRE014", dotted(place), message, f"delete {found.name}, with what keeps it", seen=seen)
        else:
            yield finding(
                "PRE010", dotted(place), f"{found.name} is {row.title}, and the stack installs it", remedy, seen=seen
            )


def _is_of(stack: Stack, cluster: Cluster, found: Running) -> bool:
    """Whether a workload is the stack's own: it is in a namespace that the stack created, or is one of its objects."""
    namespace = namespace_of(found.item)
    if namespace in stack.namespaces and stack.keeps(cluster, namespace):
        return True
    return any(
        entry.object.kind == found.kind
        and (entry.object.metadata.namespace, entry.name) == (namespace, field(found.item, "metadata", "name"))
        for entry in stack.objects
    )


def _way(found: Running) -> str:
    release = release_of(found.item)
    return found.name if release is None else f"the release {release[0]} in namespace {release[1]}"


def _expected(stack: Stack, cluster: Cluster, component: str) -> Iterator[Finding]:
    row, found = known_software()[component], running(cluster, component)
    place = place_of_present(stack, component)
    if not found:
        if all(cluster.is_readable(f"/apis/apps/v1/{plural}") for plural in ("deployments", "daemonsets")):
            yield finding(
                "PRE015",
                dotted(place),
                f"the cluster has no {row.workload} of {row.title} ({' or '.join(row.images)})",
                seen=Seen(
                    object=f"{row.workload}s", field="spec.template.spec.containers[].image", value="none of its images"
                ),
            )
        return
    needed = {name: found[0].version for name in _NEEDED if name == component and found[0].version}
    line = catalog().releases[stack.plan.release_line]
    try:
        unmet = line.unmet(tuple(stack.releases), needed)
    except ValueError:
        # Not a version, such as a branch's name: nothing is known of it.
        unmet = ()
    for need in unmet:
        yield finding(
            "PRE016",
            dotted(place),
            f"{need.component} of release line {line.name} asks for {need.needs} {need.versions}, and the cluster's is "
            f"{found[0].version}: {need.why.rstrip('.')}",
            f"bring it to a version within {need.versions}, or choose another release line",
            seen=Seen(object=found[0].name, field="version", value=found[0].version),
        )
    status, (wanted, ready) = field(found[0].item, "status") or {}, _counts(row.workload)
    if status.get(wanted) and not status.get(ready):
        yield finding(
            "PRE017",
            dotted(place),
            f"{row.title} does not run: none of {status[wanted]} pods is ready",
            f"see why: `kubectl describe pods -n {namespace_of(found[0].item)}`",
            seen=Seen(object=found[0].name, field=f"status.{ready}", value=str(status.get(ready, 0))),
        )


def place_of_present(stack: Stack, component: str) -> Location:
    """The place in the stack file that says that the cluster has a component."""
    listed: tuple[str, ...] = stack.spec.cluster.installed
    return ("cluster", "installed", listed.index(component)) if component in listed else _switch(component)


def _switch(component: str) -> Location:
    """The key `install` of a component's section."""
    return ("software", *(known_software()[component].section or component).split("."), "install")


def _counts(kind: str | None) -> tuple[str, str]:
    return ("replicas", "readyReplicas") if kind == "Deployment" else ("desiredNumberScheduled", "numberReady")
