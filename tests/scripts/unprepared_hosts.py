"""For each host script a node on which everything lacks that the script does, with the environment that it gets."""

from collections.abc import Callable

from fake_host import FakeHost

Settings = dict[str, str]

FIRST, SECOND = "0000:0c:00.0", "0000:48:00.1"


def fabric_rule(host: FakeHost) -> Settings:
    return {"FABRIC_RANGE": "172.16.0.0/16", "RULE_PRIORITY": "2000"}


def nic_addresses(host: FakeHost) -> Settings:
    for rail, subnet in enumerate(("172.16.11", "172.16.12")):
        host.write(f"addresses/{rail:02d}/node1", f"rdma{rail} {subnet}.10/24 {subnet}.1\n")
        host.write(f"ip/link.rdma{rail}", "BROADCAST,MULTICAST 1500\n")
    host.write("ip/routes.main-4", "default via 10.0.0.1 dev eth0 \n")
    return {
        "NODE_NAME": "node1",
        "ADDRESSES": str(host.folder / "addresses"),
        "MTU": "4200",
        "FABRIC_RANGE": "172.16.0.0/16",
        "RULE_PRIORITY": "2100",
        "FIRST_TABLE": "151",
    }


def claimed_nic_addresses(host: FakeHost) -> Settings:
    for nic, interface in ((FIRST, "rdma0"), (SECOND, "rdma1")):
        host.write(f"sys/bus/pci/devices/{nic}/driver/module", "")
        host.write(f"sys/bus/pci/devices/{nic}/net/{interface}/type", "1\n")
    return {**nic_addresses(host), "CLAIMED": f"rdma0={FIRST} rdma1={SECOND}"}


def lossless(host: FakeHost) -> Settings:
    host.write("proc/sys/net/ipv4/tcp_ecn", "2\n")
    for rail in range(2):
        ethernet_nic(host, f"rdma{rail}", f"mlx5_{rail}")
    return {"INTERFACES": "rdma0 rdma1", "PRIORITY": "5", "CNP_PRIORITY": "6", "DSCP": "40", "CNP_DSCP": "48"}


def acs(host: FakeHost) -> Settings:
    for function, word in (("0000:00:00.0", None), ("0000:0a:01.0", "001d"), ("0000:0a:02.0", "0000")):
        host.write(f"sys/bus/pci/devices/{function}/class", "0x060400\n")
        if word is not None:
            host.write(f"acs/{function}", f"{word}\n")
    return {}


def rdma_mode(host: FakeHost) -> Settings:
    host.write("mode", "shared\n")
    return {"RDMA_MODE": "exclusive"}


def ipoib(host: FakeHost) -> Settings:
    for name in ("ib0", "ib1"):
        host.write(f"modules/ib_ipoib/class/net/{name}/type", "32\n")
    return {"INTERFACES": "ib0 ib1"}


def link_type(host: FakeHost) -> Settings:
    """One NIC is already as wanted, the other is port 2 of its card."""
    for nic, layer in ((FIRST, "Ethernet"), (SECOND, "InfiniBand")):
        host.write(f"sys/bus/pci/devices/{nic}/infiniband/mlx5_0/ports/1/link_layer", f"{layer}\n")
        host.write(f"firmware/{nic}", "        LINK_TYPE_P1      ETH(2)\n        LINK_TYPE_P2      IB(1)\n")
    return {"PCI_ADDRESSES": f"{FIRST} {SECOND}", "LINK_TYPE": "ether", "CHANGE": "true"}


HOSTS: dict[str, Callable[[FakeHost], Settings]] = {
    "acs": acs,
    "claimed_nic_addresses": claimed_nic_addresses,
    "fabric_rule": fabric_rule,
    "ipoib": ipoib,
    "lossless": lossless,
    "nic_addresses": nic_addresses,
    "rdma_mode": rdma_mode,
}
"""Those that a script can prepare in one go; a link type takes a reboot."""


def ethernet_nic(host: FakeHost, interface: str, device: str) -> None:
    """An interface with an RDMA device, as its driver begins."""
    net = f"sys/class/net/{interface}"
    host.write(f"{net}/type", "1\n")
    host.write(f"{net}/device/infiniband/{device}/node_type", "1: CA\n")
    for side in ("np", "rp"):
        host.write(f"{net}/ecn/roce_{side}/enable/5", "0\n")
    host.write(f"{net}/ecn/roce_np/cnp_dscp", "0\n")
    host.write(f"sys/class/infiniband/{device}/tc/1/traffic_class", "Global tclass=0\n")
    host.write(f"qos/{interface}/trust", "pcp\n")
    host.write(f"qos/{interface}/pfc", "0   0   0   0   0   0   0   0\n")
    host.write(f"cma/{device}.tos", "0\n")
    host.write(f"cma/{device}.mode", "IB/RoCE v1\n")
