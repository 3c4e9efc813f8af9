"""DOKS: single plug-ins that name the NIC; addresses and MTU are the host's affair, and no IPAM is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attachments import Pod, addresses, attachments, links
from namespaces import CommandFailed, Machine

from fabric.plan import Plan

pytestmark = pytest.mark.cni


def test_every_fabric_nic_keeps_its_name_in_the_pod_and_goes_back(
    machine: Machine, plan_of: Callable[..., Plan]
) -> None:
    wanted = attachments(plan_of("doks-h200"))
    node, fabric = machine.namespace(), machine.namespace()
    for attachment in wanted:
        machine.nic(node, attachment.device, fabric)
    pod = Pod(machine, node)
    names = [f"fabric{number}" for number in range(8)]
    for attachment in wanted:
        pod.attach(attachment)

    assert list(links(pod.namespace)) == names
    assert all("UP" in link["flags"] for link in links(pod.namespace).values())
    assert [addresses(pod.namespace, name) for name in names] == [[]] * 8
    assert links(node) == {}

    for attachment in wanted:
        pod.detach(attachment)
    assert sorted(links(node)) == names
    assert links(pod.namespace) == {}


def test_a_missing_nic_is_told_with_the_network_that_wants_it(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    wanted = attachments(plan_of("doks-h200"))
    node = machine.namespace()
    machine.nic(node, "fabric0", machine.namespace())

    with pytest.raises(CommandFailed, match=r"roce-net-fabric5.*failed to find host device"):
        Pod(machine, node).attach(wanted[5])
    assert list(links(node)) == ["fabric0"]
