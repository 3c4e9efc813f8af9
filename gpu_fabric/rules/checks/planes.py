"""Checks of the group `planes`: what `fabric.planes` needs of machines, operators and other keys."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.shape import adapter_of
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.rules.registry import Problem, check, in_cluster, in_fabric, in_software
from gpu_fabric.spec.fabric import PlanesSpec

_PLANES = in_fabric("planes")
_ADDRESSING = "addressing"


def _is_sold(case: Case) -> bool:
    """Whether the machines are a cloud's, so that no other key can make planes possible."""
    return case.choices.provider != "existing" or case.cloud is not None


def _planes(case: Case) -> tuple[PlanesSpec, ...]:
    return () if case.planes is None or _is_sold(case) else (case.planes,)


@check("PLN001")
def planes_are_of_own_metal(case: Case) -> Iterator[Problem]:
    """The cluster is of own metal, and the stack installs the Network Operator with its SR-IOV operator."""
    if (planes := case.planes) is not None:
        choices, software = case.choices, case.spec.software
        if _is_sold(case):
            yield Problem(
                _PLANES,
                f"a customer of a cloud cannot configure {planes.mode}: what it sells are ports, each a rail",
                "leave planes out; each port of a NIC is a rail of the machine's",
            )
        elif not manager_of(case).configures_planes:
            yield Problem(
                _PLANES,
                f"the manager {choices.manager} configures no planes",
                "write manager: network-operator, or leave planes out",
            )
        elif not (software.network_operator.install and software.sriov_operator.install):
            section = "sriovOperator" if software.network_operator.install else "networkOperator"
            yield Problem(
                in_software(section, "install"),
                "planes need settings of an operator that the stack does not install: OVS bridges, and the order of "
                "NIC and SR-IOV configuration",
                "let the stack install it, or leave planes out",
            )


@check("PLN002")
def line_has_the_spectrum_x_operator(case: Case) -> Iterator[Problem]:
    """The release line has the Spectrum-X operator whose objects this program writes."""
    if case.planes is not None and case.line.spectrum_x is None:
        lines = [line.name for line in case.known.releases.values() if line.spectrum_x is not None]
        yield Problem(
            in_software("releaseLine"),
            f"planes are for the release line {' or '.join(lines)}, not for {case.line.name}",
            f'write releaseLine: "{lines[0]}", or leave planes out',
        )


@check("PLN003")
def machines_have_the_planes(case: Case) -> Iterator[Problem]:
    """Each machine's NICs have the mode, and the number of planes."""
    for planes in _planes(case):
        for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
            offered = shape.planes
            modes = {} if offered is None else {"swplb": offered.swplb, "hwplb": offered.hwplb}
            modes = {mode: counts for mode, counts in modes.items() if counts}
            counts = modes.get(planes.mode, ())
            if not counts:
                able = " or ".join(modes)
                yield Problem(
                    in_cluster("pools", place, "shape"),
                    f"{pool.shape} has no planes by {planes.mode}",
                    f"write mode: {able}" if able else "leave fabric.planes out: its NICs have one plane each",
                )
            elif planes.count not in counts:
                allowed = " or ".join(map(str, counts))
                yield Problem(
                    in_fabric("planes", "count"),
                    f"{pool.shape} is published with {allowed} planes by {planes.mode}, not with {planes.count}",
                    f"write count: {allowed}",
                )


@check("PLN004")
def operators_keep_their_settings(case: Case) -> Iterator[Problem]:
    """No key says otherwise what the Spectrum-X operator, or the profile of the NICs, sets."""
    fabric, choices = case.spec.fabric, case.choices
    stated: tuple[tuple[tuple[str, ...], object, object], ...] = (
        (("model",), choices.model, "sriov"),
        (("linkType",), choices.link_type, "ether"),
        (("rdmaMode",), choices.rdma_mode, "exclusive"),
        (("virtualFunctions",), choices.virtual_functions or "sriov-operator", "sriov-operator"),
        (("vfsPerNic",), fabric.vfs_per_nic or 1, 1),
        (("devices",), fabric.devices, "plugin"),
        ((_ADDRESSING, "layout"), choices.layout, "per-node"),
        ((_ADDRESSING, "ipam"), choices.ipam or "nv-ipam", "nv-ipam"),
        (("hostPreparation", "addresses"), fabric.host_preparation.addresses, False),
        (("hostPreparation", "lossless"), fabric.host_preparation.lossless is not None, False),
        (("hostPreparation", "linkType"), fabric.host_preparation.link_type is not None, False),
        (("hostPreparation", "rdmaMode"), fabric.host_preparation.rdma_mode, False),
    )
    for _ in _planes(case):
        for keys, value, own in stated:
            if value != own:
                is_job = own is False
                yield Problem(
                    in_fabric(*keys),
                    "the job changes what the profile of the NICs and the Spectrum-X operator set"
                    if is_job
                    else f"it is {value}, and the Spectrum-X operator has it {own}",
                    "leave it out" if is_job else f"write {own}, or leave it out",
                )


@check("PLN005")
def nics_have_addresses(case: Case) -> Iterator[Problem]:
    """Each NIC's PCI address is known, and nothing else of it is stated."""
    for planes in _planes(case):
        for group in case.groups:
            nics = group.shape.nics[:: planes.shown]
            if lacking := [str(rail) for rail, nic in enumerate(nics) if nic.pci is None]:
                yield Problem(
                    in_fabric("rails"),
                    f"the PCI address of rail {', '.join(lacking)} of {group.shape.name} is not known",
                    "add an entry {rail: <number>, pci: <address of the NIC's first function>} for each NIC",
                )
        for place, entry in enumerate(case.spec.fabric.rails):
            if entry.pci is not None and not entry.pci.endswith(".0"):
                yield Problem(
                    in_fabric("rails", place, "pci"),
                    f"{entry.pci} is not the first function of a NIC, from which its planes are counted",
                    f"write {adapter_of(entry.pci)}.0, if the NIC is there",
                )
            if any((entry.interface, entry.rdma_device, entry.network, entry.resource)):
                yield Problem(
                    in_fabric("rails", place),
                    f"the names of rail {entry.rail} follow from its number and its planes",
                    "leave interface, rdmaDevice, network and resource out",
                )


@check("PLN006")
def names_exist_once(case: Case) -> Iterator[Problem]:
    """The stack has one fabric, in one namespace, and no prefix."""
    fabric = case.spec.fabric
    for _ in _planes(case):
        if case.fabric or case.all_fabrics:
            yield Problem(_PLANES, "a stack with planes has one fabric", "leave planes or the section fabrics out")
        if fabric.prefix is not None:
            yield Problem(in_fabric("prefix"), "the names of planes take no prefix", "leave it out")
        if len(fabric.namespaces) > 1:
            count = len(fabric.namespaces)
            yield Problem(
                in_fabric("namespaces"), f"it lists {count}, and the networks of planes are in one", "list one"
            )


@check("PLN007")
def owner_states_what_only_the_owner_knows(case: Case) -> Iterator[Problem]:
    """Profile, MTU and the leafs' place in each node's prefix are stated."""
    for planes in _planes(case):
        if planes.profile is None:
            yield Problem(
                in_fabric("planes", "profile"),
                "the ConfigMap with NVIDIA's profile for these NICs is not named",
                "apply the profile that NVIDIA publishes for the architecture, and write the ConfigMap's name",
            )
        if case.mtu is None:
            yield Problem(
                in_fabric("mtu"),
                "the MTU of the fabric is not stated",
                "write mtu: 9216, as in NVIDIA's examples, if the switches carry it",
            )
        if case.spec.fabric.addressing.gateway == "none":
            yield Problem(
                in_fabric(_ADDRESSING, "gateway"),
                "each node reaches the others of a rail through its leaf, whose address is not stated",
                "write gateway: last with nodePrefixLength: 31, as NVIDIA's scheme for IPv4, or gateway: first",
            )
