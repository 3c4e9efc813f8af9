"""Whole NICs: the chain host-device, tuning, sbr moves them in, sets them up, and gives them back as they were."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attachments import Attachment, Pod, addresses, attachments, links, routes, tables_by_source
from namespaces import Machine, Namespace

from gpu_fabric.plan import Plan

pytestmark = pytest.mark.cni


class Scene:
    """A node with the NICs of some attachments, wired to a fabric that answers nothing, and a pod on it."""

    def __init__(self, machine: Machine, wanted: tuple[Attachment, ...]) -> None:
        self.node, fabric = machine.namespace(), machine.namespace()
        for attachment in wanted:
            machine.nic(self.node, attachment.device, fabric)
        self.pod = Pod(machine, self.node)
        self.inside: Namespace = self.pod.namespace


def test_a_nic_comes_up_in_the_pod_as_the_plan_says(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    first, *_ = attachments(plan_of("host-device"))
    scene = Scene(machine, (first,))
    scene.pod.attach(first)

    assert (first.device, first.interface, first.address, first.mtu) == ("rdma0", "net1", "192.168.0.1/20", 4220)
    assert links(scene.node) == {}
    link = links(scene.inside)["net1"]
    assert "UP" in link["flags"]
    assert link["mtu"] == 4220
    assert addresses(scene.inside, "net1") == ["192.168.0.1/20"]


def test_every_sysctl_of_the_network_holds_in_the_pod(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    first, *_ = attachments(plan_of("host-device"))
    scene = Scene(machine, (first,))
    for path in first.sysctls:
        # whatever the kernel starts with, the plug-in must have written what holds afterwards
        scene.inside.run("sh", "-c", f"echo 0 > /proc/sys/{path}")
    scene.inside.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter")
    scene.pod.attach(first)

    assert {path: scene.inside.run("cat", f"/proc/sys/{path}").strip() for path in first.sysctls} == {
        "net/ipv4/conf/all/accept_local": "1",
        "net/ipv4/conf/all/arp_announce": "2",
        "net/ipv4/conf/all/arp_filter": "1",
        "net/ipv4/conf/all/arp_ignore": "1",
        "net/ipv4/conf/all/rp_filter": "0",
    }


def test_what_comes_from_the_nics_address_has_routes_of_its_own(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    first, *_ = attachments(plan_of("host-device"))
    scene = Scene(machine, (first,))
    scene.pod.attach(first)

    (table,) = tables_by_source(scene.inside).values()
    assert tables_by_source(scene.inside) == {"192.168.0.1": table}
    assert routes(scene.inside, first.source, table) == [("192.168.0.0/20", "net1")]
    assert routes(scene.inside, first.source) == []


def test_a_planned_gateway_is_the_default_route_of_the_nics_own_table_only(
    machine: Machine, plan_of: Callable[..., Plan]
) -> None:
    plan = plan_of("host-device", addressing={"supernet": "192.168.0.0/16", "gateway": "first"})
    first, *_ = attachments(plan)
    scene = Scene(machine, (first,))
    scene.pod.attach(first)

    (table,) = tables_by_source(scene.inside).values()
    assert routes(scene.inside, first.source, table) == [("default", "via 192.168.0.1"), ("192.168.0.0/20", "net1")]
    assert routes(scene.inside, first.source) == []


def test_an_ipv6_address_has_a_rule_and_routes_too(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    first, *_ = attachments(plan_of("host-device", addressing={"supernet": "fd00:10::/48"}))
    scene = Scene(machine, (first,))
    scene.pod.attach(first)

    assert addresses(scene.inside, "net1") == ["fd00:10::1/52"]
    table = tables_by_source(scene.inside)["fd00:10::1"]
    assert ("fd00:10::/52", "net1") in routes(scene.inside, first.source, table)
    assert routes(scene.inside, first.source) == []


def test_a_detached_nic_is_the_nodes_again_as_it_was(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    first, *_ = attachments(plan_of("host-device"))
    scene = Scene(machine, (first,))
    before = links(scene.node)["rdma0"]
    scene.pod.attach(first)
    scene.pod.detach(first)

    after = links(scene.node)["rdma0"]
    assert (after["address"], after["mtu"]) == (before["address"], before["mtu"])
    assert after["addr_info"] == []
    assert links(scene.inside) == {}
    assert tables_by_source(scene.inside) == {}


def test_a_nic_that_was_given_back_serves_the_next_pod(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    first, *_ = attachments(plan_of("host-device"))
    scene = Scene(machine, (first,))
    scene.pod.attach(first)
    scene.pod.detach(first)
    successor = Pod(machine, scene.node)
    successor.attach(first)

    assert addresses(successor.namespace, "net1") == ["192.168.0.1/20"]


@pytest.mark.parametrize("addressing", [{}, {"layout": "flat"}], ids=["a subnet per rail", "one subnet"])
def test_a_full_node_pod_gets_every_rail_in_order_and_gives_all_back(
    machine: Machine, plan_of: Callable[..., Plan], addressing: dict[str, str]
) -> None:
    wanted = attachments(plan_of("host-device", addressing={"supernet": "192.168.0.0/16", **addressing}), node=3)
    scene = Scene(machine, wanted)
    for attachment in wanted:
        scene.pod.attach(attachment)

    assert list(links(scene.inside)) == [f"net{number}" for number in range(1, 17)]
    assert {name: addresses(scene.inside, name) for name in links(scene.inside)} == {
        attachment.interface: [attachment.address] for attachment in wanted
    }
    tables = tables_by_source(scene.inside)
    assert set(tables) == {attachment.source for attachment in wanted}
    assert len(set(tables.values())) == 16

    for attachment in reversed(wanted):
        scene.pod.detach(attachment)
    assert set(links(scene.node)) == {attachment.device for attachment in wanted}
    assert tables_by_source(scene.inside) == {}
