"""Checks of the group `doks`: Multus, and networks that leave the NICs as DigitalOcean has set them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.host import lacking_plugins
from gpu_fabric.plan.operators.multus import brings_multus, multus_memory
from gpu_fabric.plan.rails import rails_are_routed
from gpu_fabric.rules.registry import Problem, check, check_plan
from gpu_fabric.spec.places import dotted

_LEAST_MEBIBYTES = 200
_MOVING = ("latest", "stable", "snapshot", "master", "main", "edge")
_MULTUS = ("software", "multus")
_NETWORKS = dotted(("fabric", "rails"))
_OURS = "leave the rails' names out; if that does not help, this program is wrong"


@check("DOK040")
def nobody_else_drives_the_fabric(case: Case) -> Iterator[Problem]:
    """No operator of the NICs' maker runs beside DigitalOcean's plug-in and the stack's Multus."""
    installed = case.spec.cluster.installed
    if case.choices.manager == "doks" and "network-operator" in installed:
        yield Problem(
            dotted(("cluster", "installed", installed.index("network-operator"))),
            "it installs a Multus and a device plug-in of its own for NICs that DigitalOcean's plug-in advertises",
            "uninstall it, and take it out of this list",
        )


@check_plan("DOK041")
def networks_fit_the_fabric(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every network has the CNI plug-in that its fabric needs, and somebody brings that plug-in."""
    if case.choices.manager != "doks":
        return
    wanted = "ip-preserving-host-device" if rails_are_routed(case) else "host-device"
    for name, config in _configs(plan):
        if config.get("type") != wanted:
            yield Problem(_NETWORKS, f"network {name} is of type {config.get('type')} and not {wanted}", _OURS)
    lacking = lacking_plugins(case)
    if lacking and not plan.applied("cni-plugins") and case.spec.software.cni_plugins == "install":
        yield Problem(
            dotted(("software", "cniPlugins")), f"nothing installs the CNI plug-in {' and '.join(lacking)}", _OURS
        )


@check_plan("DOK042")
def networks_leave_addresses_alone(case: Case, plan: Plan) -> Iterator[Problem]:
    """No network gives addresses to NICs that have DigitalOcean's."""
    if case.choices.manager != "doks":
        return
    for name, config in _configs(plan):
        if "ipam" in config:
            yield Problem(_NETWORKS, f"network {name} asks {config['ipam'].get('type')} for addresses", _OURS)


@check("DOK043")
def multus_has_memory(case: Case) -> Iterator[Problem]:
    """Multus' daemon has the memory that bursts of pods take."""
    if brings_multus(case) and _mebibytes(multus_memory(case)) < _LEAST_MEBIBYTES:
        yield Problem(
            dotted((*_MULTUS, "memory")),
            f"{multus_memory(case)} may be too little when many pods start at a time",
            f"write {_LEAST_MEBIBYTES}Mi or more, or leave it out",
        )


@check("DOK044")
def multus_is_pinned(case: Case) -> Iterator[Problem]:
    """Multus' image is a certain one."""
    image = case.spec.software.multus.image
    if not brings_multus(case) or image is None or "@sha256:" in image:
        return
    _, _, tag = image.rpartition("/")[2].partition(":")
    if not tag or tag.startswith(_MOVING):
        yield Problem(
            dotted((*_MULTUS, "image")),
            f"{image} is another image from one day to the next",
            "write a release's tag that ends with -thick, or a digest",
        )


@check("DOK045")
def switches_of_multus_have_an_effect(case: Case) -> Iterator[Problem]:
    """Switches of Multus are written only where the stack itself brings it."""
    section = case.spec.software.multus
    for field in sorted(section.model_fields_set):
        if not brings_multus(case) and getattr(section, field) is not None:
            reason = (
                "the cluster has one (cluster.installed)"
                if case.choices.manager == "doks"
                else f"the manager {case.choices.manager} installs its own"
            )
            yield Problem(dotted((*_MULTUS, field)), f"it has no effect: {reason}", "leave it out")


@check("DOK054")
def the_plug_in_is_checked_on_a_node(case: Case) -> Iterator[Problem]:
    """The reader knows what is not published about DigitalOcean's plug-in for routed rails."""
    if case.choices.manager == "doks" and lacking_plugins(case) and case.spec.software.cni_plugins == "install":
        (plugin,) = lacking_plugins(case)
        yield Problem(
            dotted(("software", "cniPlugins")),
            f"how the image of {plugin} lays its plug-in into the nodes is not published, so its DaemonSet here may "
            "lack something",
            f"check for /opt/cni/bin/{plugin} on a GPU node before the first job; if it is missing, apply "
            f"DigitalOcean's "
            "own manifest and write cniPlugins: node-image",
        )


def _configs(plan: Plan) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every planned network with its CNI configuration."""
    for planned in plan.applied("networks"):
        if isinstance(planned.object, NetworkAttachmentDefinition):
            yield planned.name, json.loads(planned.object.spec.config)


def _mebibytes(memory: str) -> int:
    return int(memory[:-2]) * (1024 if memory.endswith("Gi") else 1)
