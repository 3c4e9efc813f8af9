"""The script of the fabric check, run in a pod made of files: what ip prints, and the RDMA part of sysfs."""

import signal
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from gpu_fabric.on_nodes import FOLDER

SCRIPT = FOLDER / "fabric_check.sh"

# Answers from files named after what is asked for: link, address, rule4, route6.main.
_IP = """#!/bin/sh
family=4
for word; do
    case $word in
        -6) family=6 ;;
        link | address) what=$word ;;
        rule | route) what=$word$family ;;
    esac
done
[ "$what" != "route$family" ] || what=$what.$word
echo "$what" >>"$POD/calls"
cat "$POD/$what" 2>/dev/null || { echo "no $what" >&2; exit 2; }
"""


class FakePod:
    """A pod with eth0 and rails. A rail k is net(k+1), has table 101+k and uses port 1 of the host's mlx5_k."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sys = folder / "sys"
        self.log = folder / "termination-log"
        self.rails: list[str] = []
        self.routes = "yes"
        (folder / "bin").mkdir()
        (folder / "bin/ip").write_text(_IP)
        (folder / "bin/ip").chmod(0o755)
        self.add("route4.main", "default via 169.254.1.1 dev eth0 ")
        self.add("route6.main", "default via fe80::1 dev eth0 metric 1024 pref medium")
        self.add("rule6", "0:\tfrom all lookup local", "32766:\tfrom all lookup main")
        self.add("rule4", "0:\tfrom all lookup local")
        self.add_interface("eth0", "10.244.3.17/32")

    def add(self, file: str, *lines: str) -> None:
        with (self.folder / file).open("a") as text:
            text.writelines(f"{line}\n" for line in lines)

    def add_interface(self, name: str, address: str = "", *, kind: str = "ether", mtu: int = 1500) -> None:
        flags = "BROADCAST,MULTICAST,UP,LOWER_UP"
        self.add("link", rf"3: {name}@if7: <{flags}> mtu {mtu} qdisc noqueue state UP qlen 1000\    link/{kind} 02:0a")
        if address:
            family = "inet6" if ":" in address else "inet"
            self.add("address", rf"3: {name}    {family} {address} scope global {name}\       valid_lft forever")
        self.add("address", rf"3: {name}    inet6 fe80::a/64 scope link \       valid_lft forever")

    def add_port(self, device: str, *, state: str = "4: ACTIVE", layer: str = "Ethernet") -> Path:
        port = self.sys / "class/infiniband" / device / "ports/1"
        for folder in ("gids", "gid_attrs/ndevs"):
            (port / folder).mkdir(parents=True)
        (port / "state").write_text(f"{state}\n")
        (port / "link_layer").write_text(f"{layer}\n")
        return port

    def lists(self, device: str, index: int, interface: str, gid: str) -> None:
        port = self.sys / "class/infiniband" / device / "ports/1"
        (port / "gids" / str(index)).write_text(f"{gid}\n")
        (port / "gid_attrs/ndevs" / str(index)).write_text(f"{interface}\n")

    def change(self, file: str, old: str, new: str) -> None:
        """Replaces text of a file at once, for a script that may be reading."""
        path = self.folder / file
        text = path.read_text()
        assert old in text
        (self.folder / "changed").write_text(text.replace(old, new))
        (self.folder / "changed").replace(path)

    def command(self, mode: str, shell: str = "sh") -> list[str]:
        return [shell, str(SCRIPT), mode]

    def environment(self, **settings: str) -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "POD": str(self.folder),
            "SYS": str(self.sys),
            "NODE_NAME": "gpu-7",
            "RAILS": "".join(f"{rail}\n" for rail in self.rails),
            "ROUTES": self.routes,
            "LOOK_AGAIN_SECONDS": "0",
            "TERMINATION_LOG": str(self.log),
            **settings,
        }

    def run(self, mode: str, shell: str = "sh", **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(mode, shell), env=self.environment(**settings), capture_output=True, text=True
        )

    def failures(self) -> list[str]:
        """What `check` prints; its exit status fits."""
        result = self.run("check")
        assert (result.returncode, result.stderr) == (int(bool(result.stdout)), "")
        return result.stdout.splitlines()


@pytest.fixture
def bare(tmp_path: Path) -> FakePod:
    """A pod without rails."""
    return FakePod(tmp_path)


@pytest.fixture
def pod(bare: FakePod) -> FakePod:
    """A pod with two rails that are as planned, on NICs that it shares with another pod."""
    for rail in (0, 1):
        name, table, subnet = f"net{rail + 1}", 101 + rail, f"172.16.{11 + rail}"
        bare.rails.append(f"{rail} {name} rail-{rail:02} {subnet}.0/24 {subnet}.254 shared ether 4220")
        bare.add_interface(name, f"{subnet}.10/24", mtu=4220)
        bare.add("rule4", f"{32765 - rail}:\tfrom {subnet}.10 lookup {table} ")
        bare.add(f"route4.{table}", f"default via {subnet}.254 dev {name} ", f"{subnet}.0/24 dev {name} scope link ")
        bare.add_port(f"mlx5_{rail}")
        # The other pod's interface, which it names the other way round.
        bare.lists(f"mlx5_{rail}", 0, f"net{2 - rail}", f"0000:0000:0000:0000:0000:ffff:ac10:{11 + rail:02x}63")
        bare.lists(f"mlx5_{rail}", 3, name, f"0000:0000:0000:0000:0000:ffff:ac10:{11 + rail:02x}0a")
    bare.add("rule4", "32766:\tfrom all lookup main", "32767:\tfrom all lookup default")
    return bare


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_pod_as_planned_is_shown_with_every_rail(pod: FakePod, shell: str) -> None:
    result = pod.run("once", shell)

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "node gpu-7: as planned\n"
        "RAIL  NETWORK  INTERFACE  STATE  LINK   MTU   ADDRESS          TABLE  GATEWAY        RDMA-PORT  PORT-STATE"
        "  PORT-LINK\n"
        "0     rail-00  net1       up     ether  4220  172.16.11.10/24  101    172.16.11.254  mlx5_0/1   ACTIVE    "
        "  Ethernet\n"
        "1     rail-01  net2       up     ether  4220  172.16.12.10/24  102    172.16.12.254  mlx5_1/1   ACTIVE    "
        "  Ethernet\n"
    )
    assert not pod.log.exists()
    assert pod.run("check", shell).stdout == ""


_NET2 = "net2@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 4220 qdisc noqueue state UP qlen 1000\\    link/ether"
_IN_102 = "route table 102 of 172.16.12.10 has"
_PORT = "sys/class/infiniband/mlx5_1/ports/1"


# What `ip` itself can change is broken in tests/cni/test_fabric_check.py.
@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("link", "net2@", "net3@", "the pod has no interface net2;"),
        ("link", _NET2, _NET2.replace("<BROADCAST,MULTICAST,UP,LOWER_UP>", "<NO-CARRIER,UP>"), "the interface has no"),
        ("link", _NET2, _NET2.replace("ether", "infiniband"), "link type infiniband, not ether;"),
        ("route4.102", "net2", "eth0", f"{_IN_102} no route by net2;"),
        ("route4.102", "/24 dev net2", "/24 dev net1", f"{_IN_102} a route by net1, another rail;"),
        ("route4.102", "254 dev net2", "254 dev eth0", "the default route in table 102 of 172.16.12.10 leaves by eth0"),
        ("route4.102", "default", "10.0.0.0/8", f"{_IN_102} no default route to 172.16.12.254;"),
        (f"{_PORT}/gids/3", "0c0a", "0c0b", "no RDMA device has the interface's address among its GIDs;"),
        ("sys/class/infiniband/mlx5_0/ports/1/gids/0", "0b63", "0c0a", "RDMA port mlx5_0/1 is also that of rail 0;"),
        (f"{_PORT}/state", "4: ACTIVE", "1: DOWN", "RDMA port mlx5_1/1 is DOWN, not ACTIVE;"),
        (f"{_PORT}/link_layer", "Ethernet", "Infini", "the link layer of RDMA port mlx5_1/1 is Infini, not ether;"),
    ],
)
def test_one_fault_is_one_failure_that_names_node_and_rail(
    pod: FakePod, file: str, old: str, new: str, told: str
) -> None:
    pod.change(file, old, new)

    (failure,) = pod.failures()
    assert failure.startswith(f"FAILED node gpu-7, rail 1 (net2, network rail-01): {told}")


def _with_addresses(pod: FakePod, pairs: list[tuple[str, str]]) -> None:
    for number, (address, subnet) in enumerate(pairs):
        pod.add_interface(f"net{number}", address)
        pod.rails.append(f"{number} net{number} rail {subnet} - - - -")
    pod.routes = "no"


@pytest.mark.parametrize(
    ("address", "lengths"),
    [("172.21.203.86", (1, 8, 17, 20, 27, 32)), ("fd5a:10:8001:7fff::a5c3:5", (1, 16, 33, 52, 127, 128))],
)
def test_addresses_are_in_a_subnet_up_to_its_borders_and_no_further(
    bare: FakePod, address: str, lengths: tuple[int, ...]
) -> None:
    pairs = []
    for length in lengths:
        subnet = ip_network(f"{address}/{length}", strict=False)
        first, last = subnet.network_address, subnet.broadcast_address
        near = [first, last] if length == 1 else [first - 1, first, last, last + 1]
        pairs += [(str(one), str(subnet)) for one in near]
    _with_addresses(bare, pairs)

    outside = [number for number, (one, subnet) in enumerate(pairs) if ip_address(one) not in ip_network(subnet)]
    assert len(outside) == 2 * len(lengths) - 2
    told = [failure for failure in bare.failures() if "no address in" in failure]
    assert [int(failure.partition("rail ")[2].split()[0]) for failure in told] == outside


def test_an_address_counts_whatever_its_own_prefix_and_however_it_is_written(bare: FakePod) -> None:
    _with_addresses(bare, [("172.16.12.37/27", "172.16.12.0/24"), ("fd00:10::1/128", "FD00:0010:0:0::/52")])

    assert bare.failures() == []


def test_an_address_of_the_other_family_is_none_of_the_subnets(bare: FakePod) -> None:
    _with_addresses(bare, [("172.16.12.1", "::/0"), ("::ffff", "0.0.0.0/0")])

    assert len(bare.failures()) == 2


def test_infiniband_functions_bring_their_own_devices(bare: FakePod) -> None:
    for rail, state in enumerate(("4: ACTIVE", "2: INIT")):
        bare.rails.append(f"{rail} net{rail + 1} rail-{rail:02} - - own infiniband 2044")
        bare.add_interface(f"net{rail + 1}", kind="infiniband", mtu=2044)
        device = bare.add_port(f"mlx5_{rail + 8}", state=state, layer="InfiniBand").parent.parent
        own = bare.sys / f"class/net/net{rail + 1}/device/infiniband"
        own.mkdir(parents=True)
        (own / device.name).symlink_to(device)
    bare.add_interface("net3", kind="infiniband")
    bare.rails.append("2 net3 rail-02 - - own infiniband -")

    result = bare.run("once")

    assert result.returncode == 1
    shown = result.stdout.splitlines()
    assert shown[0] == "node gpu-7: not as planned"
    assert [line.split()[9:] for line in shown[2:5]] == [
        ["mlx5_8/1", "ACTIVE", "InfiniBand"],
        ["mlx5_9/1", "INIT", "InfiniBand"],
        ["-", "-", "-"],
    ]
    assert (
        shown[5:]
        == bare.log.read_text().splitlines()
        == [
            "FAILED node gpu-7, rail 1 (net2, network rail-01): RDMA port mlx5_9/1 is INIT, not ACTIVE; "
            "look at the fabric's subnet manager",
            "FAILED node gpu-7, rail 2 (net3, network rail-02): the interface has no RDMA device; look at the node's "
            "RDMA mode (rdma system): exclusive needs plug-in rdma (Spiderpool: rdmaIsolation)",
        ]
    )


def test_watch_prints_only_changes_and_leaves_the_last_failure_behind(pod: FakePod) -> None:
    with subprocess.Popen(pod.command("watch"), env=pod.environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(4)]
        while (pod.folder / "calls").read_text().count("link\n") < 3:
            assert process.poll() is None
        pod.change("link", "net2@", "net3@")
        shown += [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143

    assert [line.split(":")[-1].strip() for line in shown if line.startswith("node")] == [
        "as planned",
        "not as planned",
    ]
    assert shown[-1].startswith("FAILED node gpu-7, rail 1 (net2, network rail-01): the pod has no interface net2;")
    assert pod.log.read_text() == shown[-1]


def test_an_image_without_ip_is_told(pod: FakePod) -> None:
    (pod.folder / "empty").mkdir()
    result = subprocess.run(
        ["/bin/sh", str(SCRIPT), "watch"],
        env=pod.environment(PATH=str(pod.folder / "empty"), LOOK_AGAIN_SECONDS="30"),
        capture_output=True,
        text=True,
    )

    assert result.returncode == 2
    assert "FAILED node gpu-7: no program ip in this image; choose an image with it\n" in result.stderr
    assert pod.log.read_text() == result.stderr


def test_an_ip_that_fails_is_told_in_its_own_words(pod: FakePod) -> None:
    (pod.folder / "link").unlink()

    assert pod.failures() == ["FAILED node gpu-7: ip fails: no link; look at the image and at what the pod may do"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("NODE_NAME", ""),
        ("ROUTES", ""),
        ("LOOK_AGAIN_SECONDS", "30s"),
        ("RAILS", ""),
        ("RAILS", "0 net1 rail-00 172.16.11.0/24 - own ether"),
        ("RAILS", "0 net1 rail-00 172.16.11.0 - own ether 4220"),
        ("RAILS", "0 net1 rail-00 172.16.311.0/24 - own ether 4220"),
        ("RAILS", "0 net1 rail-00 fd00:10:/64 - own ether 4220"),
        ("RAILS", "0 net1 rail-00 - 172.16.11 own ether 4220"),
        ("RAILS", "0 net1 rail-00 - - owned ether 4220"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_is_looked_at(pod: FakePod, setting: str, value: str) -> None:
    result = pod.run("once", **{setting: value})

    assert (result.returncode, result.stdout) == (2, "")
    assert setting in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (pod.folder / "calls").exists()


def test_an_unknown_mode_is_answered_with_the_known_ones(pod: FakePod) -> None:
    assert pod.run("look").stderr == "FAILED node gpu-7: mode is 'look'; give watch, once or check\n"
