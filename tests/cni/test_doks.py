"""DOKS: single plug-ins that name the NIC; addresses and MTU are the host's affair, and no IPAM is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attachments import Attachment, Pod, addresses, attachments, links
from namespaces import CommandFailed, Machine, Namespace

from gpu_fabric.plan import Plan

pytestmark = pytest.mark.cni

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
def test_every_fabric_nic_keeps_its_name_in_the_pod_and_goes_back(
    machine: Machine, plan_of: PlanOf, shape: str, nics: int
) -> None:
    wanted = attachments(plan_of("doks-h200", shape=shape))
    node = node_of(machine, wanted)
    pod = Pod(machine, node)
    names = [f"fabric{number}" for number in range(nics)]
    for attachment in wanted:
        pod.attach(attachment)

    assert list(links(pod.namespace)) == names
    assert all("UP" in link["flags"] for link in links(pod.namespace).values())
    assert [addresses(pod.namespace, name) for name in names] == [[]] * nics
    assert links(node) == {}

    for attachment in wanted:
        pod.detach(attachment)
    assert sorted(links(node)) == sorted(names)
    assert links(pod.namespace) == {}


@pytest.mark.parametrize(("shape", "nics"), SIZES)
def test_a_second_pod_gets_no_nic_until_the_first_one_is_gone(
    machine: Machine, plan_of: PlanOf, shape: str, nics: int
) -> None:
    wanted = attachments(plan_of("doks-h200", shape=shape))
    node = node_of(machine, wanted)
    first, second = Pod(machine, node), Pod(machine, node)
    for attachment in wanted:
        first.attach(attachment)

    for attachment in wanted:
        with pytest.raises(CommandFailed, match=rf"{attachment.network}.*failed to find host device"):
            second.attach(attachment)
    # The second one's failure took nothing from the first.
    assert len(links(first.namespace)) == nics
    assert links(second.namespace) == {}

    for attachment in wanted:
        first.detach(attachment)
        second.attach(attachment)
    assert len(links(second.namespace)) == nics
    assert links(first.namespace) == {}


def test_an_address_that_the_host_gave_a_nic_is_lost_in_the_pod(machine: Machine, plan_of: PlanOf) -> None:
    """Why routed rails have a plug-in of their own; on rails that are not routed RoCE needs no such address."""
    wanted = attachments(plan_of("doks-h200"))[0]
    node = node_of(machine, (wanted,))
    node.run("ip", "address", "add", "10.0.0.1/24", "dev", "fabric0")
    pod = Pod(machine, node)
    pod.attach(wanted)

    assert addresses(pod.namespace, "fabric0") == []


def test_a_missing_nic_is_told_with_the_network_that_wants_it(machine: Machine, plan_of: PlanOf) -> None:
    wanted = attachments(plan_of("doks-h200"))
    node = machine.namespace()
    machine.nic(node, "fabric0", machine.namespace())

    with pytest.raises(CommandFailed, match=r"roce-net-fabric5.*failed to find host device"):
        Pod(machine, node).attach(wanted[5])
    assert list(links(node)) == ["fabric0"]
