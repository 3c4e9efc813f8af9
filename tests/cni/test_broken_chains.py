"""Chains broken on purpose: the tier fails, and says what is wrong, where a planned chain would be wrong."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
from attachments import Attachment, Chain, Pod, attachments, links
from namespaces import CommandFailed, Machine

from gpu_fabric.plan import Plan

pytestmark = pytest.mark.cni


def unknown_sysctl(chain: Chain) -> None:
    chain[1]["sysctl"]["net.ipv4.conf.IFNAME.arp_ignored"] = "1"


def sysctl_of_the_node(chain: Chain) -> None:
    chain[1]["sysctl"]["kernel.panic"] = "1"


def unknown_plugin(chain: Chain) -> None:
    chain[1]["type"] = "tunning"


def missing_device(chain: Chain) -> None:
    chain[0]["device"] = "rdma99"


def impossible_mtu(chain: Chain) -> None:
    chain[1]["mtu"] = 100_000


def no_address(chain: Chain) -> None:
    del chain[0]["ipam"]


def routes_before_the_interface(chain: Chain) -> None:
    chain.reverse()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (unknown_sysctl, "net/ipv4/conf/net1/arp_ignored"),
        (sysctl_of_the_node, "kernel/panic"),
        (unknown_plugin, r'failed to find plugin "tunning"'),
        (missing_device, "failed to find host device"),
        (impossible_mtu, "invalid argument"),
        (no_address, "No IP addresses supplied on interface: net1"),
        (routes_before_the_interface, "must be called as chained plugin"),
    ],
)
def test_a_broken_chain_fails_and_says_why(
    machine: Machine, plan_of: Callable[..., Plan], spoil: Callable[[Chain], None], told: str
) -> None:
    first, *_ = attachments(plan_of("host-device"))
    node = machine.namespace()
    machine.nic(node, "rdma0", machine.namespace())
    broken: Attachment = first._replace(config=deepcopy(first.config))
    spoil(broken.chain)

    with pytest.raises(CommandFailed, match=told):
        Pod(machine, node).attach(broken)


def test_a_nic_that_got_stuck_half_way_is_given_back(machine: Machine, plan_of: Callable[..., Plan]) -> None:
    first, *_ = attachments(plan_of("host-device"))
    node = machine.namespace()
    machine.nic(node, "rdma0", machine.namespace())
    broken = first._replace(config=deepcopy(first.config))
    unknown_sysctl(broken.chain)
    pod = Pod(machine, node)

    with pytest.raises(CommandFailed):
        pod.attach(broken)
    assert list(links(pod.namespace)) == ["net1"]
    # what Multus does after a failed attachment
    pod.detach(broken)
    assert list(links(node)) == ["rdma0"]
