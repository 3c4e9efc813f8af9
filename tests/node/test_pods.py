"""Planned networks by the real CNI plug-ins on real virtual functions, and RDMA writes between two pods.

Beside what `attachments` replaces, the NIC of the second node is another one of the same machine, and RDMA devices are
made by rxe (rdma.sh), which is on Ethernet what a NIC's own is but for speed.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import NamedTuple

import pytest
from attachments import Attachment, Pod, addresses, attachments, links, routes, tables_by_source
from guest import NICS, CommandFailed, Guest, Namespace
from planned_fabrics import plan_of

from gpu_fabric.on_nodes import FOLDER
from gpu_fabric.plan import Plan

FABRIC_CHECK = FOLDER / "fabric_check.sh"
MESSAGES, BYTES = 100, 4096


class Gid(NamedTuple):
    """An entry of an RDMA port's address table."""

    device: str
    index: int
    kind: str
    interface: str
    address: str


class End(NamedTuple):
    """A pod, its rail, and that address's entry."""

    pod: Namespace
    rail: Attachment
    gid: Gid


def gids(pod: Namespace) -> list[Gid]:
    """What a pod sees of the tables of its RDMA devices."""
    # Bash's own `read`, since there are a thousand entries, and those that nothing uses cannot be read.
    script = (
        "for entry in /sys/class/infiniband/*/ports/1/gids/*; do\n"
        "    port=${entry%/gids/*} index=${entry##*/}\n"
        "    { read -r kind <$port/gid_attrs/types/$index; } 2>/dev/null || continue\n"
        "    read -r interface <$port/gid_attrs/ndevs/$index\n"
        "    read -r address <$entry\n"
        "    device=${port#/sys/class/infiniband/}\n"
        '    echo "${device%%/*}|$index|$kind|$interface|$address"\n'
        "done"
    )
    rows = (line.split("|") for line in pod.run("bash", "-c", script).splitlines())
    return [Gid(device, int(index), *rest) for device, index, *rest in rows]


def own_gid(pod: Namespace, attachment: Attachment) -> Gid:
    """The one RoCE v2 entry of the attachment's address."""
    groups = "".join(f"{int(part):02x}" for part in attachment.source.split("."))
    wanted = f"0000:0000:0000:0000:0000:ffff:{groups[:4]}:{groups[4:]}"
    (found,) = (gid for gid in gids(pod) if gid.address == wanted)
    assert (found.kind, found.interface) == ("RoCE v2", attachment.interface)
    return found


def on_function(guest: Guest, attachment: Attachment, nic: str) -> Attachment:
    """As Multus writes it: every plug-in gets the address of the function that the device plug-in chose."""
    for plugin in attachment.chain:
        plugin.update(deviceID=guest.function(nic), pciBusID=guest.function(nic))
    return attachment


def wait_for_port(end: End) -> None:
    """Until the device's port is up: rxe follows the link, which comes up after the plug-ins have ended."""
    state = f"/sys/class/infiniband/{end.gid.device}/ports/1/state"
    # Bash's own `read`, as above.
    script = f"for try in {{1..99}}; do read -r state <{state}; [[ $state = *ACTIVE ]] && exit; sleep 0.2; done; exit 1"
    end.pod.run("bash", "-c", script)


def write(source: End, target: End) -> str:
    """RDMA writes from one pod into the other's memory, by ib_write_bw; what the sender prints."""

    def command(end: End, *more: str) -> str:
        options = {
            "ib-dev": end.gid.device,
            "gid-index": str(end.gid.index),
            # All routes of the rails are by source: `sbr` leaves none to another program.
            "bind_source_ip": end.rail.source,
            "iters": str(MESSAGES),
            "size": str(BYTES),
        }
        words = (word for name, value in options.items() for word in (f"--{name}", value))
        return end.pod.command("timeout", "40", "ib_write_bw", *words, *more)

    return source.pod.guest.run(
        f"{command(target)} >/tmp/receiver 2>&1 &\n"
        "for try in {1..20}; do\n"
        # Until the receiver listens.
        f"    if {command(source, target.rail.source)}; then wait && exit; fi\n"
        "    sleep 0.5\n"
        "done\n"
        "kill $!; cat /tmp/receiver; exit 1"
    )


def received(end: End) -> int:
    """Bytes that came in by the pod's interface."""
    return int(end.pod.run("cat", f"/sys/class/net/{end.rail.interface}/statistics/rx_bytes"))


def fabric_check(pod: Namespace, plan: Plan, rail: int) -> str:
    """The script of the planned check, for one rail; rxe's devices are found by their addresses, as shared ones are."""
    daemon = next(
        found
        for entry in plan.objects
        if (found := entry.object.manifest())["kind"] == "DaemonSet" and found["metadata"]["name"] == "fabric-check"
    )
    (container,) = daemon["spec"]["template"]["spec"]["containers"]
    environment = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    line = environment["RAILS"].splitlines()[rail].replace(" own ", " shared ")
    settings = {**environment, "RAILS": line, "NODE_NAME": "node1", "TERMINATION_LOG": ""}
    words = shlex.join(f"{name}={value}" for name, value in settings.items())
    script = FABRIC_CHECK.read_text(encoding="utf-8")
    return pod.guest.run(f"{pod.command('env')} {words} sh -s once <<'END_OF_SCRIPT'\n{script}\nEND_OF_SCRIPT")


class Scene:
    """A pod on each of two nodes, attached to the first rail of a plan."""

    def __init__(self, guest: Guest, plan: Plan, adapt: Callable[[Attachment, str], Attachment]) -> None:
        self.plan = plan
        self.rails = [adapt(attachments(plan, node)[0], nic) for node, nic in enumerate(NICS)]
        self.pods = [Pod(guest, guest.node) for _ in NICS]

    def attach(self) -> list[Namespace]:
        for pod, attachment in zip(self.pods, self.rails, strict=True):
            pod.attach(attachment)
        return [pod.namespace for pod in self.pods]

    def detach(self) -> None:
        for pod, attachment in zip(self.pods, self.rails, strict=True):
            pod.detach(attachment)

    def writes_arrive(self) -> list[Gid]:
        """Writes from the first pod to the second; the table entries that both used."""
        ends = [
            End(pod.namespace, rail, own_gid(pod.namespace, rail))
            for pod, rail in zip(self.pods, self.rails, strict=True)
        ]
        for end in ends:
            wait_for_port(end)
        before = received(ends[1])
        printed = write(*ends)
        assert f" {BYTES} " in printed, printed
        assert received(ends[1]) - before > MESSAGES * BYTES
        return [end.gid for end in ends]


def scene_of_functions(guest: Guest, mode: str) -> Scene:
    """The committed stack `dev`, on NICs that are prepared as its nodes come: two functions each, and the MTU."""
    guest.run(f"rdma system set netns {mode}")
    for nic in NICS:
        guest.run(f"ip link set {nic} mtu 4220 up && echo 2 >/sys/class/net/{nic}/device/sriov_numvfs")
    plan = plan_of("dev", {"fabric.check": {}, "fabric.vfsPerNic": 2})
    return Scene(guest, plan, lambda attachment, nic: on_function(guest, attachment, nic))


@pytest.fixture
def functions(guest: Guest) -> Scene:
    return scene_of_functions(guest, "exclusive")


def test_a_function_comes_up_in_the_pod_as_planned_and_is_given_back(guest: Guest, functions: Scene) -> None:
    before = links(guest.node)
    pod, _ = functions.attach()
    rail, _ = functions.rails

    (link,) = links(pod).values()
    assert (link["ifname"], link["mtu"], addresses(pod, "net1")) == ("net1", 4220, [rail.address])
    assert "UP" in link["flags"]
    assert {path: pod.run("cat", f"/proc/sys/{path}").strip() for path in rail.sysctls} == rail.sysctls
    (table,) = tables_by_source(pod).values()
    assert routes(pod, rail.source, table) == [("192.168.0.0/20", "net1")]
    assert routes(pod, rail.source) == []
    assert len(links(guest.node)) == len(before) - 2
    # In mode `exclusive` an RDMA device is seen in one namespace alone.
    assert len(pod.run("rdma", "dev").splitlines()) == 1
    assert guest.node.run("rdma", "dev") == ""

    functions.detach()
    assert links(pod) == {}
    assert tables_by_source(pod) == {}
    assert links(guest.node).keys() == before.keys()
    assert pod.run("rdma", "dev") == ""
    pod, _ = functions.attach()
    assert addresses(pod, "net1") == [rail.address]


def test_pods_write_into_each_others_memory_over_the_planned_rail(functions: Scene) -> None:
    pod, _ = functions.attach()

    used = functions.writes_arrive()

    # The planned index. A ConnectX has every address twice, for RoCE v1 and then v2; rxe has v2 alone.
    planned = int(functions.plan.nccl.environment["NCCL_IB_GID_INDEX"])
    assert [2 * gid.index + 1 for gid in used] == [planned, planned]
    shown = fabric_check(pod, functions.plan, 0).splitlines()
    assert shown[0] == "node node1: as planned"
    assert shown[2].split()[:7] == ["0", "rail-00", "net1", "up", "ether", "4220", "192.168.0.1/20"]
    assert shown[2].split()[-3:] == [f"{used[0].device}/1", "ACTIVE", "Ethernet"]


def test_the_plug_in_rdma_refuses_a_node_in_mode_shared(guest: Guest) -> None:
    scene = scene_of_functions(guest, "shared")

    with pytest.raises(CommandFailed, match="namespace awareness mode is set to shared, expecting it to be set to exc"):
        scene.attach()


def test_sub_interfaces_of_one_nic_have_an_entry_each_in_its_table(guest: Guest) -> None:
    for nic in NICS:
        guest.run(f"ip link set {nic} mtu 4220 up && rdma link add rxe-{nic} type rxe netdev {nic}")
    plan = plan_of("roce-macvlan", {"fabric.check": {}})
    rails = [attachments(plan, node)[0] for node in range(2)]
    pods = [Pod(guest, guest.node) for _ in rails]
    for pod, rail in zip(pods, rails, strict=True):
        pod.attach(rail)

    first, second = (own_gid(pod.namespace, rail) for pod, rail in zip(pods, rails, strict=True))

    assert (first.device, second.device) == ("rxe-rdma0", "rxe-rdma0")
    # No number fits both, so NCCL has to choose.
    assert first.index != second.index
    assert "NCCL_IB_GID_INDEX" not in plan.nccl.environment
    for pod in pods:
        assert fabric_check(pod.namespace, plan, 0).startswith("node node1: as planned\n")
