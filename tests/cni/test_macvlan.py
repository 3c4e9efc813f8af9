"""Shared NICs: every pod gets a sub-interface with an address of its own, and the NIC stays with the node."""

from collections.abc import Callable

import pytest
from attachments import Pod, addresses, attachments, links, tables_by_source
from namespaces import CommandFailed, Machine, Namespace

from gpu_fabric.plan import Plan


@pytest.fixture
def node(machine: Machine) -> Namespace:
    """A node with two NICs of the MTU that the fabric has."""
    node, fabric = machine.namespace(), machine.namespace()
    for name in ("rdma0", "rdma1"):
        machine.nic(node, name, fabric, mtu=9000)
    try:
        node.run("ip", "link", "add", "probe", "link", "rdma0", "type", "macvlan", "mode", "bridge")
    except CommandFailed as error:
        pytest.skip(f"this kernel makes no macvlan interfaces: {error}")
    node.run("ip", "link", "delete", "probe")
    return node


def test_a_sub_interface_comes_up_in_the_pod_as_the_plan_says_and_goes_with_its_rule(
    machine: Machine, node: Namespace, plan_of: Callable[..., Plan]
) -> None:
    first, second, *_ = attachments(plan_of("roce-macvlan"))
    pod = Pod(machine, node)
    pod.attach(first)
    pod.attach(second)

    inside = links(pod.namespace)
    assert {name: (link["linkinfo"]["info_kind"], link["mtu"]) for name, link in inside.items()} == {
        "net1": ("macvlan", 4220),
        "net2": ("macvlan", 4220),
    }
    assert addresses(pod.namespace, "net1") == [first.address]
    assert set(tables_by_source(pod.namespace)) == {first.source, second.source}
    assert {path: pod.namespace.run("cat", f"/proc/sys/{path}").strip() for path in first.sysctls} == first.sysctls
    assert set(links(node)) == {"rdma0", "rdma1"}

    for attachment in (first, second):
        pod.detach(attachment)
    assert (links(pod.namespace), tables_by_source(pod.namespace)) == ({}, {})
    assert {name: link["mtu"] for name, link in links(node).items()} == {"rdma0": 9000, "rdma1": 9000}
