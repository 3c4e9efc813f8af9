"""Whole NICs: the chain host-device, tuning, sbr moves them in, sets them up, and gives them back as they were."""

from collections.abc import Callable

import pytest
from attachments import Attachment, Pod, addresses, attachments, links, routes, tables_by_source
from namespaces import CommandFailed, Machine, Namespace

from gpu_fabric.plan import Plan

PlanOf = Callable[..., Plan]


class Scene:
    """A node with the NICs of some attachments, wired to a fabric that answers nothing, and a pod on it."""

    def __init__(self, machine: Machine, wanted: tuple[Attachment, ...]) -> None:
        self.node, fabric = machine.namespace(), machine.namespace()
        for attachment in wanted:
            machine.nic(self.node, attachment.device, fabric)
        self.pod = Pod(machine, self.node)
        self.inside: Namespace = self.pod.namespace


def test_every_sysctl_of_the_network_holds_in_the_pod(machine: Machine, plan_of: PlanOf) -> None:
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


@pytest.mark.parametrize(
    ("addressing", "address", "found"),
    [
        ({}, "192.168.0.1/20", [("192.168.0.0/20", "net1")]),
        # the default route of the NIC's own table only
        ({"gateway": "first"}, "192.168.0.2/20", [("default", "via 192.168.0.1"), ("192.168.0.0/20", "net1")]),
        ({"supernet": "fd00:10::/48"}, "fd00:10::1/52", [("fd00:10::/52", "net1")]),
    ],
    ids=["no gateway", "gateway", "IPv6"],
)
def test_what_comes_from_the_nics_address_has_routes_of_its_own(
    machine: Machine, plan_of: PlanOf, addressing: dict[str, str], address: str, found: list[tuple[str, str]]
) -> None:
    first, *_ = attachments(plan_of("host-device", addressing={"supernet": "192.168.0.0/16", **addressing}))
    scene = Scene(machine, (first,))
    scene.pod.attach(first)

    assert addresses(scene.inside, "net1") == [address]
    table = tables_by_source(scene.inside)[first.source]
    assert set(found) <= set(routes(scene.inside, first.source, table))
    assert ("default" in dict(routes(scene.inside, first.source, table))) is ("gateway" in addressing)
    assert routes(scene.inside, first.source) == []


@pytest.mark.parametrize("addressing", [{}, {"layout": "flat"}], ids=["a subnet per rail", "one subnet"])
def test_a_full_node_pod_gets_every_rail_in_order_and_gives_all_back_as_it_was(
    machine: Machine, plan_of: PlanOf, addressing: dict[str, str]
) -> None:
    wanted = attachments(plan_of("host-device", addressing={"supernet": "192.168.0.0/16", **addressing}), node=3)
    scene = Scene(machine, wanted)
    before = {name: (link["address"], link["mtu"]) for name, link in links(scene.node).items()}
    for attachment in wanted:
        scene.pod.attach(attachment)

    inside = links(scene.inside)
    assert list(inside) == [f"net{number}" for number in range(1, 17)]
    assert {link["mtu"] for link in inside.values()} == {4220}
    assert all("UP" in link["flags"] for link in inside.values())
    assert {name: addresses(scene.inside, name) for name in inside} == {
        attachment.interface: [attachment.address] for attachment in wanted
    }
    tables = tables_by_source(scene.inside)
    assert set(tables) == {attachment.source for attachment in wanted}
    assert len(set(tables.values())) == 16
    assert links(scene.node) == {}

    for attachment in reversed(wanted):
        scene.pod.detach(attachment)
    after = links(scene.node)
    assert {name: (link["address"], link["mtu"]) for name, link in after.items()} == before
    assert [link["addr_info"] for link in after.values()] == [[]] * 16
    assert (links(scene.inside), tables_by_source(scene.inside)) == ({}, {})
    successor = Pod(machine, scene.node)
    successor.attach(wanted[0])
    assert addresses(successor.namespace, "net1") == [wanted[0].address]


def test_a_nic_that_got_stuck_half_way_is_given_back(machine: Machine, plan_of: PlanOf) -> None:
    first, *_ = attachments(plan_of("host-device"))
    scene = Scene(machine, (first,))
    first.chain[1]["sysctl"]["net.ipv4.conf.IFNAME.arp_ignored"] = "1"

    with pytest.raises(CommandFailed, match="net/ipv4/conf/net1/arp_ignored"):
        scene.pod.attach(first)
    assert list(links(scene.inside)) == ["net1"]
    # what Multus does after a failed attachment
    scene.pod.detach(first)
    assert list(links(scene.node)) == ["rdma0"]
