"""Rails on which the holders of addresses differ between two plans, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_fabric.changes.holders import Holders, has_equal_shares
from gpu_fabric.changes.model import Keeper, Move, RailDiff, RailReason
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.addresses import AddressPool
from gpu_fabric.plan.addresses.plan import span_text
from gpu_fabric.plan.allocation import Allocation, PoolNics
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL
from gpu_fabric.render.model import RenderedPlan


def rail_diffs(base: RenderedPlan, head: RenderedPlan) -> Iterator[RailDiff]:
    """Compare the addresses of every rail of every fabric."""
    before, after = base.by_fabric, head.by_fabric
    for name in dict.fromkeys([*before, *after]):
        sides = (side.get(name) or RenderedPlan(stack=head.stack) for side in (before, after))
        for found in _rail_diffs(*sides):
            yield found.model_copy(update={"fabric": name}) if name else found


def _rail_diffs(base: RenderedPlan, head: RenderedPlan) -> Iterator[RailDiff]:
    """Compare the addresses of a fabric's rails: their range, their allocator, the nodes that hold them, their NICs."""
    old, new = Side.of(base), Side.of(head)
    for rail in sorted({rail for side in (old, new) for pool in side.holders.pools for rail in pool.rails}):
        before, after = old.holders.pool_of(rail), new.holders.pool_of(rail)
        found = RailDiff(
            rail=rail,
            old_space=None if before is None else str(before.space),
            new_space=None if after is None else str(after.space),
            added=() if after is None else tuple(_unmatched(new, after, old, before, is_new=True)),
            removed=() if before is None else tuple(_unmatched(old, before, new, after, is_new=False)),
        )
        if before is not None and after is not None:
            reasons = tuple(_reasons(old, before, new, after, rail))
            forgets = any(reason.key in _FORGETTING for reason in reasons)
            found = found.model_copy(
                update={
                    "reasons": reasons,
                    "moved": tuple(_all_moves(old, before, new, after) if forgets else _moved(old, before, new, after)),
                    "hosts": tuple(_hosts(old, before, new, after)),
                }
            )
        if found.differs:
            keepers = () if before is None else tuple(_keepers(base, before.name, rail))
            yield found.model_copy(update={"keepers": keepers})


# After such a change, an allocator has no record of what each node holds and starts from the beginning.
_FORGETTING = ("allocator", "leases", "pinned", "gateway")


def _reasons(old: Side, before: AddressPool, new: Side, after: AddressPool, rail: int) -> Iterator[RailReason]:
    had, has = old.holders, new.holders
    if had.ipam and has.ipam and had.ipam != has.ipam:
        yield RailReason(
            key="allocator", text=f"{has.ipam} has no record of the addresses that {had.ipam} has allocated"
        )
    elif has.ipam in ("nv-ipam", "spiderpool") and before.name != after.name:
        text = f"the pool {after.name} has no record of the addresses that {before.name} has allocated"
        yield RailReason(key="allocator", text=text)
    elif has.ipam == "whereabouts" and before.subnet != after.subnet:
        # Whereabouts keeps its leases by range: doc/architecture of whereabouts, IPPoolName.
        text = f"Whereabouts keeps its leases by range, and {after.subnet} has none of those of {before.subnet}"
        yield RailReason(key="leases", text=text)
    elif has.ipam == "whereabouts" and (old_home := _leases(old)) and old_home != _leases(new):
        # doc/crds/daemonset-install.yaml of whereabouts 0.9.4, WHEREABOUTS_NAMESPACE.
        text = f"another Whereabouts takes its place, which has no record of the leases in namespace {old_home}"
        yield RailReason(key="leases", text=text)
    elif has.layout == had.layout == "per-node" and has.pinned and not had.pinned:
        text = f"{has.ipam} had numbered the nodes itself, and now their names decide"
        yield RailReason(key="pinned", text=text)
    elif (
        _is_numbered_by_nv_ipam(new) and before.node_prefix_length and before.gateway_position != after.gateway_position
    ):
        # An allocation whose gateway differs from the pool's is discarded: pkg/ipam-controller/controllers/cidrpool,
        # 0.3.7.
        text = "nv-ipam discards allocations with another gateway, and numbers the nodes again"
        yield RailReason(key="gateway", text=text)
    elif (
        _is_numbered_by_nv_ipam(new)
        and before.node_prefix_length
        and before.node_prefix_length != after.node_prefix_length
    ):
        text = f"nv-ipam discards prefixes that are not a /{after.node_prefix_length}, and numbers the nodes again"
        yield RailReason(key="gateway", text=text)
    if old.allocation is None or new.allocation is None:
        return
    if len(after.rails) == 1:
        for one, other in dict.fromkeys(nics_moved(old.allocation, new.allocation, rail)):
            yield RailReason(key="nic", text=f"NIC {one} → {other}")
    if more := _more_labels(old.allocation, new.allocation):
        labels = ", ".join(f"{key}={text}" for key, text in more.items())
        yield RailReason(key="selector", text=f"nodes without {labels} lose their addresses")


def _more_labels(old: Allocation, new: Allocation) -> dict[str, str]:
    """The labels by which the later plan selects nodes, and by which the earlier one did not.

    Another value of the machine type's label is for other machines, which have had no addresses.
    """
    if old.selector is None or new.selector is None:
        return {}
    more = {key: text for key, text in new.selector.items() if old.selector.get(key) != text}
    return more | ({INSTANCE_TYPE_LABEL: new.machine_type} if old.machine_type == "" and new.machine_type else {})


def _leases(side: Side) -> str | None:
    return None if side.allocation is None else side.allocation.leases


def _is_numbered_by_nv_ipam(side: Side) -> bool:
    return side.holders.ipam == "nv-ipam" and side.holders.layout == "per-node" and not side.holders.pinned


def _all_moves(old: Side, before: AddressPool, new: Side, after: AddressPool) -> Iterator[Move]:
    """Every node of both plans, since the allocator has no record of the addresses that it held."""
    had, has = old.holders, new.holders
    for name, number in list(has.shares.items())[: had.nodes]:
        # An allocator that numbers nodes itself does not do it by name.
        gave = f"chosen by {had.ipam}" if has.pinned and not had.pinned else _text(old, before, name, number)
        takes = _text(new, after, name, number)
        yield Move(node=name, old=gave, new=takes if had.ipam == has.ipam else f"{takes} by {has.ipam}")


def _text(side: Side, pool: AddressPool, name: str, number: int, *, spans: bool = False) -> str:
    """A node's share as text, with the host's own address where it holds one."""
    host = host_text(pool, side.holders.hosts.get(name, number)) if side.sets_hosts else ""
    return share_text(pool, number, spans=spans) + (f", host {host}" if host else "")


def _moved(old: Side, before: AddressPool, new: Side, after: AddressPool) -> Iterator[Move]:
    """Nodes whose share loses an address, where the plan says which node holds it."""
    had, has = old.holders, new.holders
    alike = has_equal_shares(before, after)
    if had.pinned and has.pinned:
        numbers = {name: (place, has.shares[name]) for name, place in had.shares.items() if name in has.shares}
        numbers = {name: pair for name, pair in numbers.items() if not alike or pair[0] != pair[1]}
    elif alike:
        return
    elif had.pinned or before.division == "sequence":
        # An address stays allocated, even where no name binds it to a node any more.
        numbers = {name: (place, place) for name, place in had.shares.items()}
    else:
        labels = [*(had.shares if len(had.shares) <= len(has.shares) else has.shares)]
        numbers = {name: (place, place) for place, name in enumerate(labels)}
    for name in lost_shares(before, after, numbers):
        one, other = numbers[name]
        spans = share_text(before, one) == share_text(after, other)
        yield Move(
            node=name, old=_text(old, before, name, one, spans=spans), new=_text(new, after, name, other, spans=spans)
        )


def _hosts(old: Side, before: AddressPool, new: Side, after: AddressPool) -> Iterator[Move]:
    """Hosts whose own address changes, or is given to a pod while the host may still use it."""
    if not old.sets_hosts:
        return
    for name, number in old.holders.hosts.items():
        held = host_text(before, number)
        if not held:
            continue
        if new.sets_hosts and name in new.holders.hosts:
            holds = host_text(after, new.holders.hosts[name])
            if holds != held:
                yield Move(node=name, old=held, new=holds or "none")
        elif new.allocation is not None and not new.sets_hosts:
            value = int(before.host_address(number) or 0)
            if any(after.share(place).clipped(value, value).runs for place in new.holders.shares.values()):
                yield Move(node=name, old=held, new="a pod's")


def _unmatched(one: Side, pool: AddressPool, other: Side, its: AddressPool | None, *, is_new: bool) -> Iterator[Move]:
    """Nodes with a share in one plan and none in the other, as added (`is_new`) or removed ones."""
    ours, theirs = one.holders, other.holders
    by_name = (ours.pinned and theirs.pinned) or (one.sets_hosts and other.sets_hosts)
    for place, (name, number) in enumerate(ours.shares.items()):
        if its is None or (name not in theirs.shares if by_name else place >= theirs.nodes):
            text = _text(one, pool, name, number)
            yield Move(node=name, old=None if is_new else text, new=text if is_new else None)


def _keepers(plan: RenderedPlan, pool: str, rail: int) -> Iterator[Keeper]:
    """The pool that holds a rail's addresses; without a pool, the rail's networks."""
    networks = {entry["network"] for entry in plan.contract.get("networks", ()) if entry.get("rail") == rail}
    pools, others = [], []
    for entry in plan.resources:
        name = (entry.properties.get("metadata") or {}).get("name")
        keeper = Keeper(name=entry.name, type=entry.type, identity=entry.identity, component=entry.component)
        if (entry.component == "ip-pools" and name == pool) or entry.name == f"node-pools-{pool}":
            pools.append(keeper)
        elif entry.component == "networks" and name in networks:
            others.append(keeper)
    yield from pools or others


class Side(FrozenModel):
    """One of two plans: its address plan, and its allocation where it is recorded."""

    holders: Holders
    allocation: Allocation | None

    @classmethod
    def of(cls, plan: RenderedPlan) -> Side:
        """Read one side from a rendered plan; plans of earlier versions do not record their allocation."""
        found = plan.decisions.get("allocation")
        return cls(
            holders=Holders.of(plan.proof), allocation=None if found is None else Allocation.model_validate(found)
        )

    @property
    def sets_hosts(self) -> bool:
        """Whether the stack sets the hosts' own addresses, as far as that is recorded."""
        return self.allocation is not None and self.allocation.hosts


def lost_shares(old: AddressPool, new: AddressPool, numbers: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Names of nodes whose share loses an address; `numbers` has a number before and one after for each.

    A pool that hands out the next free address may have given any used address to any node. A block stays allocated to
    its node as long as it is not excluded.
    """
    in_turn = new.in_turn and old.division == new.division
    for name, (before, after) in numbers.items():
        if old.share(before).minus(new.available if in_turn else new.share(after)).runs:
            yield name


def share_text(pool: AddressPool, number: int, *, spans: bool = False) -> str:
    """A node's share as text; with `spans`, also the part of its prefix that its pods may hold."""
    text = pool.share_text(number)
    if not spans or pool.node_prefix_length is None:
        return text
    return f"{text} ({span_text(pool.space.version, pool.share(number)) or 'nothing'})"


def host_text(pool: AddressPool, number: int) -> str:
    """A host's own address as text; empty where the host has none."""
    address = pool.host_address(number)
    return "" if address is None else str(address)


def nics_moved(old: Allocation, new: Allocation, rail: int) -> Iterator[tuple[str, str]]:
    """A rail's NICs before and after, for pools of nodes on which they differ.

    Another machine type of the catalog is another machine: its NICs are not compared with those of the earlier one.
    """
    by_interface = old.by_interface or new.by_interface
    for entry in old.nics:
        if (known := _same_machines(entry, old, new)) is None:
            continue
        (pci, interface), (new_pci, new_interface) = _nic(entry, rail), _nic(known, rail)
        taken = interface != new_interface and new_interface in entry.interfaces
        if interface and new_interface and (by_interface or not (pci and new_pci)):
            # A renamed NIC keeps its PCI address.
            differs = interface != new_interface and (taken or not pci or pci != new_pci)
        else:
            differs = bool(pci and new_pci) and (pci != new_pci or bool(new_interface and taken))
        if differs:
            yield _nic_text(pci, interface), _nic_text(new_pci, new_interface)


def _same_machines(nics: PoolNics, old: Allocation, new: Allocation) -> PoolNics | None:
    """The later NICs of the same machines: those of a pool of the same name, or of a renamed pool."""
    alike = [entry for entry in new.nics if entry.shape == nics.shape]
    before = {pool for entry in old.nics for pool in entry.pools}
    named = (entry for entry in alike if not {*nics.pools}.isdisjoint(entry.pools))
    renamed = (entry for entry in alike if before.isdisjoint(entry.pools))
    return next(named, None) or next(renamed, None)


def _nic(nics: PoolNics, rail: int) -> tuple[str, str]:
    pci, interface = (facts[rail] if rail < len(facts) else "" for facts in (nics.pci, nics.interfaces))
    return pci, interface


def _nic_text(pci: str, interface: str) -> str:
    return " ".join(filter(None, (interface, pci)))
