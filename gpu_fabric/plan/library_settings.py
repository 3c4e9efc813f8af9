"""The settings of libraries other than NCCL. What all must state alike is taken from the stack's NCCL settings."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_fabric.catalog import Catalog, DeviceAccess, NcclVariable, Shape
from gpu_fabric.catalog.nccl import UNSET
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.nccl.name_list import NameList
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.nccl_settings import fabric_facts

Environments = dict[str, dict[str, str]]
"""Variables with their values, by library; libraries without any are left out."""


def library_environments(case: Case, nccl: Mapping[str, str]) -> Environments:
    """What the jobs of a stack need of each library; `nccl` is NCCL's environment of the same jobs.

    A variable that the stack file sets itself is in that environment, and not here again.
    """
    kept = fabric_facts(case).own
    found = {
        library: {name: value for name, value in variables.items() if name not in kept}
        for library, variables in library_values(case, nccl).items()
    }
    return {library: variables for library, variables in found.items() if variables}


def library_values(case: Case, nccl: Mapping[str, str]) -> Environments:
    """The same whatever the stack file sets itself, except for what it tells NCCL."""
    facts = fabric_facts(case)
    own = {"storagePorts": ",".join(f"{name}:1" for name in facts.storage)} if facts.storage else {}
    if _rails_are_apart(case):
        own["railsApart"] = "y"
    if facts.plane_devices:
        own["hcaPrefix"] = "rdma"
    return environments(case.shape, case.known, case.choices.access or "physical", facts.link, nccl, own)


def environments(
    shape: Shape,
    known: Catalog,
    devices: DeviceAccess,
    link: LinkType | None,
    nccl: Mapping[str, str],
    own: Mapping[str, str],
) -> Environments:
    """The same for pods on a shape; `own` are further facts by the names that rows have for them."""
    facts = {**own, **shared_facts(known, nccl)}
    found = {
        library.name: {
            variable.name: value
            for variable in library.variables
            if (value := decided(variable, shape, devices, link, facts)) is not None
        }
        for library in known.libraries.libraries
    }
    return {library: variables for library, variables in found.items() if variables}


def decided(
    variable: NcclVariable, shape: Shape, devices: DeviceAccess, link: LinkType | None, facts: Mapping[str, str]
) -> str | None:
    """The value by the first row that is for the pods and whose names are all known; None leaves the variable alone."""
    for row in variable.settings:
        if row.applies_to(shape, devices, link):
            value = row.value_on(shape, facts)
            if value is not None or row.value == UNSET:
                return value
    return None


def shared_facts(known: Catalog, nccl: Mapping[str, str]) -> dict[str, str]:
    """What all libraries state as NCCL does. An interface counts where NCCL has one by name; others read no lists."""
    found = {name: nccl[variable] for name, variable in known.libraries.facts.items() if variable in nccl}
    if "controlInterface" in found:
        taken = NameList.parse(found.pop("controlInterface"))
        if len(taken.names) == 1 and not taken.others:
            found["controlInterface"] = taken.names[0]
    return found


def _rails_are_apart(case: Case) -> bool:
    """Whether each rail is a subnet of the stack's own without a gateway, so that a NIC reaches its own rail alone."""
    planned = case.addresses
    return (
        case.choices.layout == "per-rail"
        and case.choices.ipam != "host"
        and isinstance(planned, AddressPlan)
        and len(planned.pools) > 1
        and all(pool.gateway is None and pool.node_prefix_length is None for pool in planned.pools)
    )
