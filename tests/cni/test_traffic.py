"""Pods on two nodes that talk over their rails: each rail's packets leave and arrive by that rail's own NIC."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from attachments import Attachment, Pod, attachments
from namespaces import Machine

from gpu_fabric.plan import Plan

RAILS = 4

# RoCE v2 travels in UDP packets to this port. 8 is IP_PKTINFO, which tells the interface a packet came in by.
RECEIVE = """
import socket, struct, sys
made = []
for address in sys.argv[1:]:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.IPPROTO_IP, 8, 1)
    receiver.settimeout(5)
    receiver.bind((address, 4791))
    made.append(receiver)
print("ready", flush=True)
for receiver in made:
    _, ancillary, _, sender = receiver.recvmsg(64, 64)
    print(sender[0], socket.if_indextoname(struct.unpack("i8x", ancillary[0][2])[0]))
"""
SEND = """
import socket, sys
for source, destination in zip(sys.argv[1::2], sys.argv[2::2]):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.bind((source, 0))
    sender.sendto(b"rail", (destination, 4791))
"""

Pair = tuple[tuple[Attachment, ...], tuple[Attachment, ...]]


def arrivals(machine: Machine, wanted: Pair) -> list[str]:
    """Sender and ingress interface of a packet over each rail, from a pod on one node to a pod on another."""
    nodes = (machine.namespace(), machine.namespace())
    for attachment in wanted[0]:
        machine.nic(nodes[0], attachment.device, nodes[1])
    pods = tuple(Pod(machine, node) for node in nodes)
    for pod, attached in zip(pods, wanted, strict=True):
        for attachment in attached:
            pod.attach(attachment)
    sources, destinations = ([attachment.source for attachment in attached] for attached in wanted)
    command = pods[1].namespace.command(sys.executable, "-c", RECEIVE, *destinations)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        pairs = [address for pair in zip(sources, destinations, strict=True) for address in pair]
        pods[0].namespace.run(sys.executable, "-c", SEND, *pairs)
        return receiver.stdout.read().splitlines()


def rails_of_two_nodes(plan: Plan) -> Pair:
    return attachments(plan, 0)[:RAILS], attachments(plan, 1)[:RAILS]


@pytest.mark.parametrize("addressing", [{}, {"layout": "flat"}], ids=["a subnet per rail", "one subnet"])
def test_every_rail_carries_its_own_packets(
    machine: Machine, plan_of: Callable[..., Plan], addressing: dict[str, str]
) -> None:
    wanted = rails_of_two_nodes(plan_of("host-device", addressing={"supernet": "192.168.0.0/16", **addressing}))

    assert arrivals(machine, wanted) == [f"{sent.source} {sent.interface}" for sent in wanted[0]]
