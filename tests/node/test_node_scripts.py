"""The host scripts on a node with real SR-IOV NICs and a real RDMA subsystem.

Script and environment are those of the planned ConfigMap and DaemonSet. Replaced are the NICs' PCI addresses, and in
the script the name of the driver that binds virtual functions.
"""

from __future__ import annotations

import subprocess

from attachments import links
from guest import FUNCTIONS, NICS, Guest
from planned_fabrics import plan_of


def run(guest: Guest, stack: str, component: str, mode: str, **changes: str) -> subprocess.CompletedProcess[str]:
    objects = [entry.object.manifest() for entry in plan_of(stack).objects]
    pod = next(
        found["spec"]["template"]["spec"]
        for found in objects
        if (found["kind"], found["metadata"]["name"]) == ("DaemonSet", component)
    )
    files = next(volume["configMap"]["name"] for volume in pod["volumes"] if volume["name"] == "script")
    (text,) = next(found["data"] for found in objects if found["metadata"]["name"] == files).values()
    environment = {entry["name"]: entry["value"] for entry in pod["containers"][0]["env"] if "value" in entry}
    return guest.host_script(text.replace("/mlx5_core/", "/igbvf/"), mode, {**environment, **changes})


def virtual_functions(guest: Guest, mode: str = "once", count: int = 1) -> subprocess.CompletedProcess[str]:
    nics = " ".join(NICS.values())
    return run(guest, "oke-a100", "virtual-functions", mode, PCI_ADDRESSES=nics, VFS_PER_NIC=str(count))


def rdma_mode(guest: Guest, mode: str = "once") -> subprocess.CompletedProcess[str]:
    return run(guest, "spiderpool-sriov", "rdma-mode", mode)


def test_functions_are_made_and_a_second_run_changes_nothing(guest: Guest) -> None:
    first = virtual_functions(guest, count=2)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.splitlines()[-1] == "ready: 2 NICs with 2 virtual functions each, RDMA mode exclusive"
    before = links(guest.node)
    assert len(before) == 2 + 2 * 2
    for nic in NICS:
        assert before[nic]["mtu"] == 4220
        # What the NIC assigns is what the function has: its RDMA identity is made of that.
        assigned = [function["address"] for function in before[nic]["vfinfo_list"]]
        names = [guest.run(f"ls /sys/bus/pci/devices/{guest.function(nic, n)}/net").strip() for n in range(2)]
        assert assigned == [before[name]["address"] for name in names]

    assert virtual_functions(guest, "check", 2).returncode == 0
    second = virtual_functions(guest, count=2)
    assert (second.returncode, second.stdout.splitlines()) == (0, first.stdout.splitlines()[-1:])
    assert links(guest.node) == before


def test_another_count_replaces_the_functions(guest: Guest) -> None:
    assert virtual_functions(guest, count=2).returncode == 0

    result = virtual_functions(guest, count=FUNCTIONS)

    assert result.returncode == 0, result.stderr
    assert f"rail 1, NIC {NICS['far0']}: removing 2 virtual functions, {FUNCTIONS} wanted" in result.stdout
    assert len(links(guest.node)) == 2 + 2 * FUNCTIONS


def test_more_functions_than_a_nic_has_are_refused_before_anything_is_changed(guest: Guest) -> None:
    assert virtual_functions(guest).returncode == 0
    before = links(guest.node)

    result = virtual_functions(guest, count=FUNCTIONS + 1)

    assert result.returncode == 1
    assert f"rail 0, NIC {NICS['rdma0']}: allows {FUNCTIONS} virtual functions, {FUNCTIONS + 1} wanted" in result.stderr
    assert links(guest.node) == before


def test_a_function_in_a_pod_keeps_the_count(guest: Guest) -> None:
    assert virtual_functions(guest).returncode == 0
    pod = guest.namespace()
    name = guest.run(f"ls /sys/bus/pci/devices/{guest.function('rdma0')}/net").strip()
    guest.node.run("ip", "link", "set", name, "netns", pod.name)

    assert virtual_functions(guest, "check").returncode == 0
    result = virtual_functions(guest, count=2)

    assert result.returncode == 1
    assert f"a pod holds virtual function {guest.function('rdma0')}, so their number stays" in result.stderr
    assert list(links(pod)) == [name]


def test_the_rdma_mode_is_set_and_kept(guest: Guest) -> None:
    result = rdma_mode(guest)

    assert (result.returncode, result.stderr) == (0, "")
    assert "netns exclusive" in guest.node.run("rdma", "system")
    assert rdma_mode(guest).stdout == "ready: RDMA mode exclusive; nothing had to be changed\n"


def test_the_kernel_refuses_the_mode_where_pods_run_and_starts_with_it(guest: Guest) -> None:
    pod = guest.namespace()

    result = rdma_mode(guest)

    assert result.returncode == 1
    assert "the kernel refuses exclusive while pods run (error: Device or resource busy)" in result.stderr
    assert "REBOOT NEEDED: RDMA mode: this node starts with exclusive" in result.stdout
    guest.node.run("ip", "netns", "delete", pod.name)
    # The module's next load is what the node's next start is.
    guest.run("modprobe -r rdma_rxe ib_uverbs ib_core && modprobe rdma_rxe && modprobe ib_uverbs")
    assert "netns exclusive" in guest.node.run("rdma", "system")
    assert rdma_mode(guest, "check").returncode == 0
