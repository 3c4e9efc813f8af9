"""Checks of the group `resources`: what jobs request is advertised, and each resource selects its own NICs only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabric.catalog import FrontEndNic, Nic
from fabric.k8s.device_plugin import DeviceSelectors
from fabric.k8s.rdma_device_plugin import RdmaSelectors
from fabric.plan.case import Case
from fabric.plan.plan import Plan
from fabric.rules.chart_values import value_at
from fabric.rules.registry import Problem, check
from fabric.spec.places import dotted

_OURS = (
    "leave the names and NICs of rails out where the shape states them; if that does not help, this program is wrong"
)


class _Resource(NamedTuple):
    """A resource that a device plug-in of the plan advertises, and how it selects NICs."""

    name: str
    selectors: tuple[DeviceSelectors | RdmaSelectors, ...]

    def takes(self, nic: Nic | FrontEndNic) -> bool:
        return any(_matches(selectors, nic) for selectors in self.selectors)


@check("RES001")
def requests_are_advertised(case: Case) -> Iterator[Problem]:
    """Every resource that a job requests is advertised on every node, in at least that number."""
    plan = case.plan
    if plan is None:
        return
    offered = _offered(case, plan)
    lacking = [
        f"{wanted} of {name} where a node has {offered.get(name, 'none')}"
        for name, wanted in plan.workload.resources.items()
        if int(wanted) > offered.get(name, 0)
    ]
    if lacking:
        yield Problem(dotted(("fabric", "rails")), f"a job requests {', '.join(lacking)}", _OURS)


@check("RES002")
def resources_select_their_rails(case: Case) -> Iterator[Problem]:
    """Every resource selects the NICs of its rails, and no other rail's."""
    plan = case.plan
    if plan is None:
        return
    for resource in _advertised(plan):
        own = {rail.index for rail in plan.rails if rail.resource_name == resource.name}
        taken = {number for number, nic in enumerate(case.shape.nics) if resource.takes(nic)}
        if own != taken:
            yield Problem(
                dotted(("fabric", "rails")),
                f"{resource.name} is for rail {_list(own)}, but selects the NICs of rail {_list(taken)}",
                "give all rails their PCI addresses, or all rails their interfaces, but not some this and some that",
            )


@check("RES003")
def front_end_nics_stay_on_the_host(case: Case) -> Iterator[Problem]:
    """No resource selects a NIC of the node network."""
    for resource in _advertised(case.plan) if case.plan else ():
        for nic in case.shape.front_end_nics or ():
            if resource.takes(nic):
                yield Problem(
                    dotted(("fabric", "rails")),
                    f"{resource.name} selects the front-end NIC {nic.interface or nic.pci}",
                    _OURS,
                )


@check("RES004")
def no_nic_is_in_two_resources(case: Case) -> Iterator[Problem]:
    """Every NIC is selected by one resource at most, whichever device plug-in advertises it."""
    resources = _advertised(case.plan) if case.plan else []
    for number, nic in enumerate(case.shape.nics):
        takers = [resource.name for resource in resources if resource.takes(nic)]
        if len(takers) > 1:
            yield Problem(dotted(("fabric", "rails")), f"{' and '.join(takers)} select the NIC of rail {number}", _OURS)


@check("RES005")
def rails_are_the_shapes_nics(case: Case) -> Iterator[Problem]:
    """Rail k of the plan is the shape's k-th RDMA NIC: in number, address, names and nearest GPU."""
    if case.plan is None:
        return
    rails, nics = case.plan.rails, case.shape.nics
    if [rail.index for rail in rails] != list(range(len(nics))):
        yield Problem(dotted(("fabric", "rails")), f"{len(nics)} NICs, but rails {[r.index for r in rails]}", _OURS)
        return
    facts = ("pci", "rdma_device", "interface", "nearest_gpu")
    other = {
        rail.index
        for rail, nic in zip(rails, nics, strict=True)
        if any(getattr(rail, fact) != getattr(nic, fact) for fact in facts)
    }
    if other:
        yield Problem(dotted(("fabric", "rails")), f"rail {_list(other)} is not the shape's NIC of its number", _OURS)


@check("RES006")
def gpus_are_advertised(case: Case) -> Iterator[Problem]:
    """A device plug-in of the stack, or of the provider, advertises the GPUs."""
    if case.plan is None or case.choices.provider == "doks" or case.choices.manager == "doks":
        return
    gpus, release = case.shape.gpus, case.plan.gpu_operator
    if release is None and "gpu-operator" not in case.spec.cluster.installed:
        yield Problem(
            dotted(("cluster", "pools", 0, "shape")),
            f"this stack brings no device plug-in for {gpus.resource}",
            "nothing to do if the cluster brings one, as managed clusters do; else install its vendor's",
        )
    elif release is not None and value_at(release.values, "devicePlugin", "enabled") is False:
        yield Problem(
            dotted(("software", "gpuOperator", "values", "devicePlugin", "enabled")),
            f"without the operator's device plug-in nothing in this stack advertises {gpus.resource}",
            "leave it out, unless the cluster brings one",
        )


def _advertised(plan: Plan) -> list[_Resource]:
    """The resources of both device plug-ins' configurations."""
    virtual = plan.sriov_plugin.resource_list if plan.sriov_plugin else ()
    shared = plan.shared_plugin.config_list if plan.shared_plugin else ()
    return [_Resource(resource.name, resource.alternatives) for resource in virtual] + [
        _Resource(entry.name, (entry.selectors,)) for entry in shared
    ]


def _offered(case: Case, plan: Plan) -> dict[str, int]:
    """How many of each resource a node has."""
    offered = {case.shape.gpus.resource: case.shape.gpus.count}
    virtual = case.choices.row is not None and case.choices.row.access == "virtual"
    per_nic = case.shape.vfs_per_nic if virtual else 1
    if plan.sriov_plugin:
        for resource in plan.sriov_plugin.resource_list:
            entry = _Resource(resource.name, resource.alternatives)
            offered[entry.name] = per_nic * sum(entry.takes(nic) for nic in case.shape.nics)
    if plan.shared_plugin:
        offered |= {entry.name: entry.rdma_hca_max for entry in plan.shared_plugin.config_list}
    if case.choices.manager == "doks":
        # DigitalOcean's own plug-in: rdma/fabric0, rdma/fabric1, … for the NICs of the size.
        nics = case.shapes[0].nics if case.shape.provider == "doks" else case.shape.nics
        offered |= {f"rdma/{nic.interface or f'fabric{number}'}": 1 for number, nic in enumerate(nics)}
    if case.choices.manager == "spiderpool" and virtual:
        # Spiderpool's SR-IOV operator advertises by node policies, which are not part of the plan: a rule says so.
        offered |= {rail.resource_name: per_nic for rail in plan.rails if rail.resource_name is not None}
    return offered


def _matches(selectors: DeviceSelectors | RdmaSelectors, nic: Nic | FrontEndNic) -> bool:
    """Whether a NIC, or a virtual function of it, can be selected; what is not known about it does not rule it out."""
    if isinstance(selectors, RdmaSelectors):
        return _named(selectors.if_names, nic.interface)
    addresses = (*(selectors.root_devices or ()), *(selectors.pci_addresses or ())) or None
    return _named(addresses, nic.pci) and _named(selectors.pf_names, nic.interface)


def _named(names: Sequence[str] | None, name: str | None) -> bool:
    """Whether a list selects a name; a list that is not given selects all, and one that is given no unknown name."""
    # A name may end in `#first-last`: some virtual functions of it.
    return names is None or name in {entry.partition("#")[0] for entry in names}


def _list(rails: set[int]) -> str:
    return ", ".join(map(str, sorted(rails))) or "none"
