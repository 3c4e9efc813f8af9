"""Checks of the group `clouds`: what a profile of a cloud allows."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.cloud import CloudProfile
from gpu_fabric.catalog.version import Version
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.domains import has_domains, nvlink_domain
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.rules.checks.releases import stated_kubernetes
from gpu_fabric.rules.planned_nodes import AnyPool, placed_pools
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, in_cluster, in_fabric
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.verification import VerificationSpec

_ADDRESSES = ("addressing", "default_network")
_NAMED = {
    "host_preparation": "its nodes are the cloud's to prepare",
    "rails": "the plan names no NIC of this cloud",
    "check": "the rails have no network that a pod could be attached to",
    "readiness": "the names and PCI addresses by which a rail's NIC is found are not published",
}


def _by_cloud(case: Case) -> CloudProfile | None:
    """The profile, where the cloud hands out the NICs."""
    return case.cloud if manager_of(case).by_profile else None


@check_each("CLD001", placed_pools)
def machines_are_of_the_cloud(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """Every pool has a machine type of the profile, or one that the stack file describes itself."""
    cloud, shape = case.cloud, pool.shape
    if shape.cloud is not None and (cloud is None or shape.cloud != cloud.name):
        yield Problem(
            pool.at("shape"),
            f"{shape.name} is a machine type of {case.known.clouds[shape.cloud].title}"
            + ("" if cloud is None else f", and the profile is that of {cloud.title}"),
            f"write cluster.profile: {shape.cloud}"
            + ("" if cloud is None else f", or one of {', '.join(cloud.machines)}"),
        )
    elif cloud is not None and shape.cloud is None and shape.provider != "inline":
        yield Problem(
            pool.at("shape"),
            f"{shape.name} is not a machine type of {cloud.title}",
            f"allowed: {', '.join(cloud.machines)}; or describe the machine in cluster.shapes",
        )


@check("CLD002")
def clouds_are_known(case: Case) -> Iterator[Problem]:
    """The manager `cloud` needs a profile, and a profile needs this manager."""
    by_profile = manager_of(case).by_profile
    if by_profile and case.cloud is None:
        problem = "the manager cloud needs the profile of the cloud that runs the cluster"
        remedy = f"write cluster.profile: {' or '.join(case.known.clouds)}, or another manager"
        yield Problem(in_fabric("manager"), problem, remedy)
    elif case.cloud is not None and not by_profile:
        problem = f"{case.cloud.title} hands out the NICs of its machines, and not {manager_of(case).title}"
        yield Problem(in_fabric("manager"), problem, "leave it out, or describe the machine without a profile")


@check_of("CLD003", _by_cloud)
def clouds_hand_out_nics_so(case: Case, cloud: CloudProfile) -> Iterator[Problem]:
    """The cloud has what hands out NICs as the stack file says, in the version of Kubernetes that it states."""
    claimed = case.spec.fabric.devices == "claims"
    way = cloud.claims if claimed else cloud.plugin
    if way is None and (claimed or not (cloud.privileged or cloud.with_gpus)):
        other = "leave devices out" if claimed else "write devices: claims"
        what = "no DRA driver" if claimed else "no device plug-in"
        yield Problem(in_fabric("devices"), f"{what} for the NICs of {cloud.title} is known", other)
    place, version = stated_kubernetes(case)
    needed = cloud.claims.kubernetes if claimed and cloud.claims is not None else cloud.kubernetes
    if needed is not None and version is not None and not Version.parse(version).has_reached(Version.parse(needed)):
        by = f"claims of {cloud.claims.device_class}" if claimed and cloud.claims is not None else cloud.title
        problem = f"{by} needs Kubernetes {needed}, and this is {version}"
        yield Problem(dotted(place), problem, f"write {needed} or newer")


@check_of("CLD004", _by_cloud)
def clouds_configure_their_nics(case: Case, cloud: CloudProfile) -> Iterator[Problem]:
    """Nothing is stated of networks, addresses and names that are the cloud's."""
    fabric = case.spec.fabric
    reasons = {**dict.fromkeys(_ADDRESSES, cloud.ip_why), **_NAMED}
    for field, reason in reasons.items():
        if field in fabric.model_fields_set and getattr(fabric, field):
            key = type(fabric).model_fields[field].alias or field
            yield Problem(in_fabric(key), f"it has no effect on {cloud.title}: {reason}", "leave it out")
    if case.choices.model != cloud.model:
        problem = f"on {cloud.title} pods get the NICs as {cloud.model}, and not as {case.choices.model}"
        yield Problem(in_fabric("model"), problem, "leave it out")


@check_of("CLD005", lambda case: case.spec.verification if case.spec.verification.enabled else None)
def rails_can_be_named(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """A pod can name the device of each rail that is measured alone."""
    if _by_cloud(case) is None or not wanted.per_rail:
        return
    if any(rail.pod_interface is None and rail.rdma_device is None for rail in plan_rails(case)):
        yield Problem(dotted(("verification", "perRail")), f"the devices' names on {case.shape.name} are not published")


@check_of("CLD006", _by_cloud)
def racks_use_nvlink(case: Case, cloud: CloudProfile) -> Iterator[Problem]:
    """Machines with NVLink between nodes have domains."""
    if nvlink_domain(case) is not None and not has_domains(case):
        problem = f"NVLink connects the nodes of a rack of {case.shape.name} on {cloud.title}"
        yield Problem(in_cluster("pools", 0, "shape"), problem)
