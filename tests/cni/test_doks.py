"""DOKS: single plug-ins that name the NIC; addresses and MTU are the host's affair, and no IPAM is asked."""

from collections.abc import Callable

import pytest
from attachments import Attachment, Pod, addresses, attachments, links
from namespaces import CommandFailed, Machine, Namespace

from gpu_fabric.plan import Plan

PlanOf = Callable[..., Plan]

SIZES = [
    pytest.param("gpu-h200x8-1128gb-fabric-contracted", 8, id="8 NICs"),
    pytest.param("gpu-mi325x8-2048gb-fabric-contracted", 8, id="8 NICs of AMD nodes"),
    pytest.param("gpu-b300x8-2304gb-fabric-contracted", 16, id="16 NICs"),
]


def node_of(machine: Machine, wanted: tuple[Attachment, ...]) -> Namespace:
    """A node with the NICs that the attachments name, wired to a fabric that answers nothing."""
    node, fabric = machine.namespace(), machine.namespace()
    for attachment in wanted:
        machine.nic(node, attachment.device, fabric)
    return node


@pytest.mark.parametrize(("shape", "nics"), SIZES)
def test_every_fabric_nic_keeps_its_name_in_one_pod_at_a_time_and_goes_back(
    machine: Machine, plan_of: PlanOf, shape: str, nics: int
) -> None:
    wanted = attachments(plan_of("doks-h200", shape=shape))
    node = node_of(machine, wanted)
    first, second = Pod(machine, node), Pod(machine, node)
    names = [f"fabric{number}" for number in range(nics)]
    for attachment in wanted:
        first.attach(attachment)

    inside = links(first.namespace)
    assert list(inside) == names
    assert all("UP" in link["flags"] for link in inside.values())
    assert [addresses(first.namespace, name) for name in names] == [[]] * nics
    assert links(node) == {}
    for attachment in wanted:
        with pytest.raises(CommandFailed, match=rf"{attachment.network}.*failed to find host device"):
            second.attach(attachment)
    # The second one's failure took nothing from the first.
    assert (list(links(first.namespace)), links(second.namespace)) == (names, {})

    for attachment in wanted:
        first.detach(attachment)
        second.attach(attachment)
    assert (links(first.namespace), list(links(second.namespace))) == ({}, names)
    for attachment in wanted:
        second.detach(attachment)
    assert sorted(links(node)) == sorted(names)
