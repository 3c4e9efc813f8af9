"""The NICs of the pools' nodes, as far as the SR-IOV operator and Node Feature Discovery show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.catalog import Nic
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.k8s.mellanox import NVIDIA
from gpu_fabric.k8s.scheduling import vendor_label
from gpu_fabric.k8s.sriov_operator import SriovNetworkPoolConfig
from gpu_fabric.live.cluster import Cluster, Json, api_path, called, field, labels_of, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pools import Pool, pools_of
from gpu_fabric.live.several import of_some_nodes, some, verb
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.case import MTU_OF_RDMA_4096, shape_on_nodes
from gpu_fabric.plan.managers import MANAGERS
from gpu_fabric.spec.places import dotted

_LINK_TYPES = {"ETH": "ether", "IB": "infiniband"}
_DISCOVERED = "feature.node.kubernetes.io/"


def device_differences(case: Examination) -> Iterator[Finding]:
    """What differs between the rails and the NICs that are seen."""
    stack, cluster = case.stack, case.cluster
    states = {
        name_of(item): item
        for item in cluster.items(api_path("sriovnetwork.openshift.io/v1", "sriovnetworknodestates"))
    }
    for fabric in stack.by_fabric:
        yield from _of_fabric(fabric, stack, cluster, states)


def _of_fabric(stack: Stack, whole: Stack, cluster: Cluster, states: dict[str, Json]) -> Iterator[Finding]:
    numbers = {pool.name: number for number, pool in enumerate(whole.spec.cluster.pools)}
    for pool in pools_of(stack, cluster):
        pool = pool._replace(number=numbers[pool.spec.name])
        if not pool.certain:
            continue
        yield from _resources(stack, cluster, pool)
        yield from _discovery(pool)
        seen = {name_of(node): states[name_of(node)] for node in pool.nodes if name_of(node) in states}
        yield from _nics(stack, pool, seen)
        yield from _rdma_mode(stack, pool, seen)
        yield from _failed(pool, seen)


def _resources(stack: Stack, cluster: Cluster, pool: Pool) -> Iterator[Finding]:
    """The rails' resources: before the stack's own plug-in runs, only a cloud's plug-in offers them."""
    by_cloud = MANAGERS[stack.plan.choices.manager].devices_advertised_by is not None
    if by_cloud:
        lacking = [node for node in pool.nodes if stack.resources - (field(node, "status", "allocatable") or {}).keys()]
        if lacking:
            missing = sorted(stack.resources - (field(lacking[0], "status", "allocatable") or {}).keys())
            yield of_some_nodes(
                finding(
                    "PRE071",
                    dotted(stack.in_fabric("manager")),
                    f"pool {pool.spec.name}: {_names(lacking)} {verb(lacking, 'does', 'do')} not offer "
                    f"{some(missing)}, which the cloud's own plug-in does on nodes of a fabric",
                    seen=_of_node(lacking[0], f"status.allocatable[{missing[0]}]", "missing"),
                ),
                len(lacking),
                len(pool.nodes),
            )
        return
    # Operators that are there offer them as well, and stacks of one cluster share its device plug-ins.
    if stack.has_been_up(cluster) or stack.sharing is not None:
        return
    offering = [node for node in pool.nodes if stack.resources & (field(node, "status", "capacity") or {}).keys()]
    if offering:
        found = sorted(stack.resources & (field(offering[0], "status", "capacity") or {}).keys())
        yield finding(
            "PRE070",
            dotted(stack.in_fabric()),
            f"pool {pool.spec.name}: {_names(offering)} {verb(offering, 'offers', 'offer')} {some(found)} already, "
            "by a device plug-in that is not the stack's",
            seen=_of_node(
                offering[0], f"status.capacity[{found[0]}]", str(field(offering[0], "status", "capacity", found[0]))
            ),
        )


def _discovery(pool: Pool) -> Iterator[Finding]:
    vendor = pool.shape.nic_model.vendor_id if pool.shape.nic_model else None
    if vendor is None:
        return
    label = vendor_label(vendor)
    blind = [node for node in pool.nodes if _was_discovered(node) and labels_of(node).get(label) != "true"]
    if blind:
        yield of_some_nodes(
            finding(
                "PRE078",
                dotted(pool.at("shape")),
                f"pool {pool.spec.name}: Node Feature Discovery saw {_names(blind)} and no NIC of vendor {vendor}, by "
                "whose label the operators' pods select nodes",
                "see `lspci -d " + vendor + ":` on the node, and whether discovery lists class 02 by vendor",
                seen=_of_node(blind[0], f"metadata.labels[{label}]", labels_of(blind[0]).get(label, "missing")),
            ),
            len(blind),
            len(pool.nodes),
        )


def _was_discovered(node: Json) -> bool:
    return any(key.startswith(f"{_DISCOVERED}pci-") for key in labels_of(node))


class _Port(NamedTuple):
    """A rail's NIC in the stack, and as it is seen on a node."""

    rail: int
    nic: Nic
    state: Json
    item: Json

    def seen(self, name: str) -> Seen:
        """The field of the interface, and its value."""
        return Seen(
            object=called("SriovNetworkNodeState", self.state),
            field=f"status.interfaces[{self.nic.pci}].{name}",
            value=str(self.item.get(name, "missing")),
        )


def _nics(stack: Stack, pool: Pool, states: dict[str, Json]) -> Iterator[Finding]:
    """Differences of each type once a pool, with the first NIC that has it."""
    found: dict[str, list[Finding]] = {}
    compared = [(name, state) for name, state in sorted(states.items()) if field(state, "status", "interfaces")]
    for name, state in compared:
        by_rule: dict[str, Finding] = {}
        for entry in _of_one(stack, pool, name, state):
            by_rule.setdefault(entry.id, entry)
        for rule, entry in by_rule.items():
            found.setdefault(rule, []).append(entry)
    for entries in found.values():
        yield of_some_nodes(entries[0], len(entries), len(compared))


def _of_one(stack: Stack, pool: Pool, name: str, state: Json) -> Iterator[Finding]:
    shape = shape_on_nodes(pool.shape, stack.spec.fabric)
    by_address = {item.get("pciAddress"): item for item in field(state, "status", "interfaces")}
    missing = [
        f"rail {rail} ({nic.pci})" for rail, nic in enumerate(shape.nics) if nic.pci and nic.pci not in by_address
    ]
    if missing:
        yield finding(
            "PRE072",
            dotted(stack.in_fabric("rails")),
            f"node {name} has no NIC of {some(missing)}",
            seen=Seen(
                object=called("SriovNetworkNodeState", state),
                field="status.interfaces[].pciAddress",
                value=f"{len(by_address)} NICs",
            ),
        )
    driver = shape.nic_model.driver if shape.nic_model else None
    for rail, nic in enumerate(shape.nics):
        if nic.pci in by_address:
            port = _Port(rail, nic, state, by_address[nic.pci])
            yield from _functions(stack, port)
            yield from _identifiers(stack, port)
            yield from _link(stack, port, driver)
            yield from _name(stack, port)


def _functions(stack: Stack, port: _Port) -> Iterator[Finding]:
    own = {resource.rpartition("/")[2] for resource in stack.resources}
    policies = (policy.spec for policy in stack.node_policies if policy.spec.resource_name in own)
    wanted = next((policy.num_vfs for policy in policies if not policy.externally_managed), 0)
    # The operator leaves the key out where it is 0, that is where SR-IOV is off in the firmware.
    total = int(port.item.get("totalvfs") or 0)
    if port.item.get("vendor") == NVIDIA and wanted not in (0, total):
        yield finding(
            "PRE085",
            dotted(stack.in_fabric("vfsPerNic")),
            f"rail {port.rail}: the NIC's firmware has {total} virtual functions and the stack {wanted}, so the SR-IOV "
            "operator writes the firmware and reboots the node",
            f"run `up` before jobs run, or set NUM_OF_VFS={wanted} and SRIOV_EN=1 by mlxconfig and reboot the nodes "
            "yourself; where the kernel is locked down (Secure Boot), only that works"
            + (f"; or write vfsPerNic: {total}" if total else ""),
            seen=port.seen("totalvfs"),
        )
    elif total < wanted:
        yield finding(
            "PRE073",
            dotted(stack.in_fabric("vfsPerNic")),
            f"rail {port.rail}: the NIC allows {total} virtual functions, and the stack creates {wanted}",
            f"write vfsPerNic: {total}, or raise the number by the maker's tool and reboot"
            if total
            else "switch SR-IOV on in the NIC's firmware and the machine's, and reboot",
            seen=port.seen("totalvfs"),
        )
    choices = stack.plan.choices
    if choices.virtual_functions in ("node-image", "externally-managed"):
        shape = stack.spec.catalog.find(stack.plan.cluster.pools[0].shape)
        expected = stack.spec.fabric.vfs_per_nic or (shape.vfs_per_nic if shape else 0)
        there = int(port.item.get("numVfs") or 0)
        if there < expected:
            yield finding(
                "PRE074",
                dotted(stack.in_fabric("virtualFunctions")),
                f"rail {port.rail}: the NIC has {there} virtual functions, and the stack expects that {expected} exist",
                seen=port.seen("numVfs"),
            )


def _identifiers(stack: Stack, port: _Port) -> Iterator[Finding]:
    """GUIDs of InfiniBand's functions, unless ib-kubernetes gives each pod one."""
    if stack.plan.choices.model != "ib-sriov" or _asks_ib_kubernetes(stack):
        return
    functions = port.item.get("Vfs") or ()
    without = [item for item in functions if "guid" in item and not str(item["guid"]).strip("0:")]
    if without:
        yield finding(
            "PRE086",
            dotted(stack.in_fabric("virtualFunctions")),
            f"rail {port.rail}: {len(without)} of {len(functions)} virtual functions have no GUID, and pods that get "
            "one stay in ContainerCreating (`GUID is not valid`)",
            seen=Seen(
                object=called("SriovNetworkNodeState", port.state),
                field=f"status.interfaces[{port.nic.pci}].Vfs[{without[0].get('vfID', 0)}].guid",
                value=str(without[0]["guid"]),
            ),
        )


def _asks_ib_kubernetes(stack: Stack) -> bool:
    """Whether ib-kubernetes writes the GUID of each pod."""
    software = stack.spec.software
    by_operator = stack.spec.fabric.pkey is not None and software.network_operator.partition_keys is not None
    return by_operator or software.spiderpool.ib_kubernetes


def _name(stack: Stack, port: _Port) -> Iterator[Finding]:
    """The interface on top of which pods get theirs."""
    planned = port.nic.interface
    if stack.plan.choices.model not in ("macvlan", "ipoib") or planned is None:
        return
    has = port.item.get("name")
    if has and planned not in (has, *(port.item.get("altNames") or ())):
        yield finding(
            "PRE087",
            dotted(stack.in_fabric("rails", port.rail, "interface")),
            f"rail {port.rail}: the NIC's interface is {has}, and the network is made on top of {planned}: pods stay "
            "in ContainerCreating (`Link not found`)",
            f"write interface: {has}, or give it the planned name where the node is prepared",
            seen=port.seen("name"),
        )


def _link(stack: Stack, port: _Port, driver: str | None) -> Iterator[Finding]:
    link = _LINK_TYPES.get(str(port.item.get("linkType", "")).upper())
    if link is not None and link != stack.plan.choices.link_type:
        yield finding(
            "PRE075",
            dotted(stack.in_fabric("linkType")),
            f"rail {port.rail}: the port runs {'InfiniBand' if link == 'infiniband' else 'Ethernet'}, and the stack is "
            f"planned for {'Ethernet' if link == 'infiniband' else 'InfiniBand'}",
            f"write linkType: {link}, or set LINK_TYPE_P1 by mlxconfig and reboot (hostPreparation.linkType)",
            seen=port.seen("linkType"),
        )
    mtu = next((network.mtu for network in stack.plan.workload.networks if network.mtu), None)
    sets_it = any(policy.spec.mtu for policy in stack.node_policies)
    own = port.item.get("mtu")
    if mtu is not None and not sets_it and isinstance(own, int) and own < mtu:
        yield finding(
            "PRE076",
            dotted(stack.in_fabric("mtu")),
            f"rail {port.rail}: the host's interface has an MTU of {own}, and pods' interfaces get {mtu}",
            f"write mtu: {own}, or raise it on the host",
            seen=port.seen("mtu"),
        )
    elif mtu is None and link == "ether" and isinstance(own, int) and own < MTU_OF_RDMA_4096:
        yield finding(
            "PRE088",
            dotted(stack.in_fabric("mtu")),
            f"rail {port.rail}: the host's interface has an MTU of {own}, which leaves no room for RDMA's largest "
            "packets of 4096 bytes: NCCL's GIN hangs, and everything else is slower",
            f"raise it on hosts and switches to {MTU_OF_RDMA_4096} or more, and write it as mtu",
            seen=port.seen("mtu"),
        )
    has = port.item.get("driver")
    if driver is not None and has and has != driver:
        yield finding(
            "PRE077",
            dotted(stack.in_fabric("rails")),
            f"rail {port.rail}: the NIC is driven by {has}, and the device plug-in selects {driver}",
            f"bind it to {driver}",
            seen=port.seen("driver"),
        )


def _rdma_mode(stack: Stack, pool: Pool, states: dict[str, Json]) -> Iterator[Finding]:
    """The mode of the nodes' RDMA subsystems, unless the stack sets it."""
    choices = stack.plan.choices
    operators = (entry.object for entry in stack.objects if isinstance(entry.object, SriovNetworkPoolConfig))
    # With planes another operator writes the pool of nodes, with its mode.
    by_operator = stack.spec.fabric.planes.mode != "none"
    by_operator = by_operator or any(config.spec.rdma_mode for config in operators)
    if by_operator or stack.spec.fabric.host_preparation.rdma_mode or choices.virtual_functions == "daemon-set":
        return
    modes = {name: field(state, "status", "system", "rdmaMode") for name, state in states.items()}
    other = [states[name] for name, mode in sorted(modes.items()) if mode not in (None, "", choices.rdma_mode)]
    if other:
        mode = str(field(other[0], "status", "system", "rdmaMode"))
        yield finding(
            "PRE063",
            dotted(stack.in_fabric("rdmaMode")),
            f"pool {pool.spec.name}: the RDMA subsystem of {_names(other)} is in mode {mode}, and the stack is planned "
            f"for mode {choices.rdma_mode}",
            f"write rdmaMode: {mode}, or have the stack set it (hostPreparation.rdmaMode: true)",
            seen=Seen(object=called("SriovNetworkNodeState", other[0]), field="status.system.rdmaMode", value=mode),
        )


def _failed(pool: Pool, states: dict[str, Json]) -> Iterator[Finding]:
    failed = [state for _, state in sorted(states.items()) if field(state, "status", "syncStatus") == "Failed"]
    if failed:
        reason = str(field(failed[0], "status", "lastSyncError") or "no reason is given")
        yield finding(
            "PRE079",
            dotted(pool.at("nodes")),
            f"the SR-IOV operator failed to configure {_names(failed)}: {reason}",
            seen=Seen(object=called("SriovNetworkNodeState", failed[0]), field="status.syncStatus", value="Failed"),
        )


def _of_node(node: Json, name: str, value: str) -> Seen:
    return Seen(object=f"Node {name_of(node)}", field=name, value=value)


def _names(items: list[Json]) -> str:
    return some(sorted(map(name_of, items)))
