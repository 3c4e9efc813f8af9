"""A pod's attachments as planned, executed as Multus has them executed on a node.

Networks, their order and the interfaces' names come from the contract, the chains from the planned
NetworkAttachmentDefinitions. Three things are not as on a node:

- `ipam`: nv-ipam's daemon is not here, so the plug-in `static` gives the address that the plan has for that node and
  rail, with the planned prefix and gateway.
- The device of a whole NIC: the device plug-in chooses it and Multus adds its PCI address. A NIC here is one end of a
  virtual cable and has none, so it is named as the rail's interface on the host.
- A network without a name gets that of its object: Multus does the same, and CNI wants one.
"""

import json
from typing import Any, NamedTuple, Protocol

from gpu_fabric.plan import Plan

Chain = list[dict[str, Any]]


class Namespace(Protocol):
    """A network namespace in which programs run; a program that fails raises CommandFailed with what it printed."""

    def run(self, *command: str) -> str: ...


class Machine(Protocol):
    """Where the plug-ins run: this machine (tests/cni) or one of the tests' own (tests/node)."""

    def namespace(self) -> Namespace: ...

    def write_network(self, file: str, config: str) -> None: ...

    def cnitool(self, action: str, network: str, node: Namespace, pod: Namespace, interface: str) -> str: ...


class Attachment(NamedTuple):
    """One interface of a pod. `device` is the NIC on the host, `address` has its prefix length; MTU in bytes."""

    network: str
    interface: str
    device: str
    address: str | None
    mtu: int | None
    config: dict[str, Any]

    @property
    def chain(self) -> Chain:
        """The plug-ins in order; a network without a chain is one plug-in."""
        plugins: Chain = self.config.get("plugins", [self.config])
        return plugins

    @property
    def source(self) -> str:
        """The address alone."""
        assert self.address is not None
        return self.address.partition("/")[0]

    @property
    def sysctls(self) -> dict[str, str]:
        """What the network wants set in the pod, as paths below /proc/sys."""
        stated = [plugin.get("sysctl", {}) for plugin in self.chain]
        return {name.replace(".", "/"): value for part in stated for name, value in part.items()}


def attachments(plan: Plan, node: int = 0) -> tuple[Attachment, ...]:
    """What a full-node pod on the n-th node attaches to, in the contract's order, which is the rails' order."""
    configs = {entry.name: entry.object.manifest()["spec"]["config"] for entry in plan.applied("networks")}
    made = []
    for rail, attached in zip(plan.rails, plan.workload.networks, strict=True):
        device = rail.interface
        assert device is not None
        config = {"name": attached.network, **json.loads(configs[attached.network])}
        address, gateway = _address(plan, node, rail.index)
        first = config.get("plugins", [config])[0]
        if address is not None:
            first["ipam"] = {"type": "static", "addresses": [{"address": address, **gateway}]}
        if first["type"] == "host-device":
            first.setdefault("device", device)
        made.append(Attachment(attached.network, attached.interface, device, address, attached.mtu, config))
    return tuple(made)


def _address(plan: Plan, node: int, rail: int) -> tuple[str | None, dict[str, str]]:
    pool = plan.addresses.pool_of(rail)
    address = plan.addresses.nic_address(node, rail)
    if pool is None or address is None:
        return None, {}
    number = plan.addresses.numbers[node]
    gateway = pool.gateway_of(number)
    subnet = pool.node_prefix(number) or pool.subnet
    return f"{address}/{subnet.prefixlen}", {} if gateway is None else {"gateway": str(gateway)}


class Pod:
    """A pod on a node: its network namespace and what it is attached to."""

    def __init__(self, machine: Machine, node: Namespace) -> None:
        self._machine = machine
        self._node = node
        self.namespace = machine.namespace()

    def attach(self, attachment: Attachment) -> dict[str, Any]:
        """The chain's result; raises CommandFailed with the plug-in's own words."""
        self._write(attachment)
        result: dict[str, Any] = json.loads(self._cnitool("add", attachment))
        return result

    def detach(self, attachment: Attachment) -> None:
        self._write(attachment)
        self._cnitool("del", attachment)

    def _write(self, attachment: Attachment) -> None:
        # All networks lie in one folder, where CNI finds them by name; a flat fabric's changes from rail to rail.
        ending = "conflist" if "plugins" in attachment.config else "conf"
        self._machine.write_network(f"{attachment.network}.{ending}", json.dumps(attachment.config))

    def _cnitool(self, action: str, attachment: Attachment) -> str:
        return self._machine.cnitool(action, attachment.network, self._node, self.namespace, attachment.interface)


def links(namespace: Namespace) -> dict[str, dict[str, Any]]:
    """The namespace's interfaces but loopback, by name, in the order in which they came."""
    found = json.loads(namespace.run("ip", "-json", "-details", "address"))
    return {link["ifname"]: link for link in sorted(found, key=lambda link: link["ifindex"]) if link["ifname"] != "lo"}


def addresses(namespace: Namespace, interface: str) -> list[str]:
    """An interface's addresses with prefix lengths, without the one that every IPv6 interface gives itself."""
    found = links(namespace)[interface]["addr_info"]
    return [f"{entry['local']}/{entry['prefixlen']}" for entry in found if entry["scope"] == "global"]


def tables_by_source(namespace: Namespace) -> dict[str, str]:
    """The routing table of every address that has a rule of its own."""
    rules = [rule for family in "46" for rule in json.loads(namespace.run("ip", f"-{family}", "-json", "rule"))]
    return {rule["src"]: rule["table"] for rule in rules if rule["src"] != "all"}


def routes(namespace: Namespace, address: str, table: str = "main") -> list[tuple[str, str]]:
    """Destination and interface (or `via` a router) of the routes of an address's family in a table."""
    family = "-6" if ":" in address else "-4"
    found = json.loads(namespace.run("ip", family, "-json", "route", "show", "table", table))
    return [(route["dst"], f"via {route['gateway']}" if "gateway" in route else route["dev"]) for route in found]
