"""DRA drivers on the cluster: those that hand out NICs and GPUs that the stack gives to pods in another way."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gpu_fabric.base.enumeration import grouped, quantity
from gpu_fabric.catalog import Nic, Shape, catalog
from gpu_fabric.catalog.dra_driver import DraDriver
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.k8s.resource_slices import Device, DeviceId, devices_of
from gpu_fabric.live.cluster import Cluster, called, field, labels_of, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pools import Pool, pools_of
from gpu_fabric.live.published import holders, is_readable, objects, version_served
from gpu_fabric.live.several import of_some_nodes, some, verb
from gpu_fabric.live.software import has_image, installs, known_software, running
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.case import shape_on_nodes
from gpu_fabric.plan.waves import OPERATORS_PLUGIN
from gpu_fabric.plan.ways import WAYS
from gpu_fabric.spec.places import dotted

# The ends of the attributes' names by which drivers say which NIC a device is, that of a virtual function included.
_ADDRESSES = ("pciAddress", "pfPciAddress", "pciBusID")
_INTERFACES = ("ifName", "PFName")
# Device plug-ins by what a DRA driver hands out in their place.
_OF_NICS = ("sriov-device-plugin", "rdma-shared-device-plugin")
_PLUG_INS = {"nic": _OF_NICS, "virtual-function": _OF_NICS, "gpu": ("gpu-device-plugin",)}
_SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
# The driver of a manager's own.
_OF_MANAGER = frozenset({"dra.net"})
_BUS, _ROOT = "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot"


def driver_differences(case: Examination) -> Iterator[Finding]:
    """DRA drivers that hand out what the stack hands out, and those of which it is not known yet."""
    stack, cluster = case.stack, case.cluster
    if version_served(cluster) is None:
        return
    published = grouped(devices_of(objects(cluster, "resourceslices")), lambda device: device.id.driver)
    own, upgrade = planned_drivers(stack), stack.spec.upgrade
    waved = upgrade is not None and upgrade.from_manager is not None
    left = () if waved else tuple(_left_by_waves(stack, cluster, published))
    yield from left
    # While waves take nodes from one manager to another, the label of each node decides, which the waves look after.
    settled = _OF_MANAGER if waved or left else frozenset()
    others = {driver: found for driver, found in published.items() if driver not in own | settled}
    for fabric in stack.by_fabric:
        pools = [pool for pool in pools_of(fabric, cluster) if pool.certain]
        for driver, found in others.items():
            for pool in pools:
                yield from _nics(fabric, cluster, pool, driver, found)
                if fabric is stack.by_fabric[0]:
                    yield from _gpus(stack, pool, driver, found)
    yield from _silent(stack, cluster, own | settled, published)
    yield from _plug_ins(stack, cluster, own - settled)


def published_drift(case: Examination) -> Iterator[Finding]:
    """What drivers whose devices the stack claims do not publish of a pool's nodes, or publish otherwise."""
    stack, cluster = case.stack, case.cluster
    own, aligned = planned_drivers(stack), "matchAttribute" in _planned_claims(stack)
    if not own or not is_readable(cluster, "resourceslices"):
        return
    published = [device for device in devices_of(objects(cluster, "resourceslices")) if device.id.driver in own]
    held = holders(cluster)
    for fabric in stack.by_fabric:
        for pool in pools_of(fabric, cluster):
            shape = shape_on_nodes(pool.shape, fabric.spec.fabric)
            nodes = [name_of(node) for node in pool.nodes] if pool.certain else []
            reasons = [
                (why, node)
                for node in nodes
                if (why := unlike(shape, own, [one for one in published if one.node == node], held, aligned=aligned))
            ]
            for (what, seen), entries in grouped(reasons, lambda entry: entry[0]).items():
                found = [node for _, node in entries]
                yield finding(
                    "DRI032",
                    dotted(fabric.in_fabric("rails")),
                    f"pool {pool.spec.name}: {some(found)} {verb(found, 'publishes', 'publish')} {what}",
                    seen=Seen(object=f"ResourceSlices of Node {found[0]}", field=seen[0], value=seen[1]),
                )


def unlike(
    shape: Shape, drivers: Collection[str], published: Sequence[Device], held: Collection[DeviceId], *, aligned: bool
) -> tuple[str, tuple[str, str]] | None:
    """How what drivers publish of a node differs from its shape: in words, with the field and what was seen.

    Each NIC of the rails is known by its PCI address, or by its interface where the shape has no address, and must be
    an RDMA NIC unless a claim holds it: DRANET publishes neither interface nor RDMA of a NIC that is in a pod. Each GPU
    is known by its PCI address. Where claims are `aligned`, a NIC must have the PCI root of its nearest GPU, if that is
    published too.
    """
    rows, lacking = catalog().dra_drivers, list[str]()
    nics: dict[int, Device] = {}
    for driver in sorted(drivers):
        own = [device for device in published if device.id.driver == driver]
        if rows[driver].hands_out == "gpu":
            known = {device.text(_BUS) for device in own}
            lacking += [f"GPU {number} ({pci})" for number, pci in enumerate(shape.gpus.pci) if pci not in known]
        elif rows[driver].hands_out != "channel":
            for rail, nic in enumerate(shape.nics):
                found = next((device for device in own if _rail_attribute(device, (nic,))), None)
                if found is None and (nic.pci or (nic.interface and len(own) < len(shape.nics))):
                    lacking.append(f"rail {rail} ({nic.pci or nic.interface})")
                elif found is not None:
                    nics[rail] = found
    if lacking:
        return f"no {some(lacking)}", ("spec.devices", quantity(len(published), "device"))
    for rail, device in nics.items():
        if device.id not in held and device.facts.attributes.get(f"{device.id.driver}/rdma") is False:
            return f"rail {rail} ({device.id.name}) without RDMA", (f"attributes[{device.id.driver}/rdma]", "false")
    if not aligned:
        return None
    return _apart(shape, nics, {device.text(_BUS): device.text(_ROOT) for device in published if device.text(_BUS)})


def _apart(
    shape: Shape, nics: Mapping[int, Device], gpu_roots: Mapping[str, str]
) -> tuple[str, tuple[str, str]] | None:
    for rail, device in nics.items():
        nearest = shape.nics[rail].nearest_gpu
        if nearest is None or nearest >= len(shape.gpus.pci):
            continue
        of_gpu, of_nic = gpu_roots.get(shape.gpus.pci[nearest]), device.text(_ROOT)
        if of_gpu and of_nic and of_gpu != of_nic:
            return (
                f"rail {rail} below another PCI root than its nearest GPU {nearest}, so that no claim can align them",
                (f"attributes[{_ROOT}]", f"{of_nic}, and {of_gpu} of the GPU"),
            )
    return None


def planned_drivers(stack: Stack) -> frozenset[str]:
    """The drivers whose devices the stack's own classes select, or its templates name by a chart's class.

    The SR-IOV operator writes the classes of its driver itself, and a cloud those of its own.
    """
    text = _planned_claims(stack)
    named = [name for name in catalog().dra_drivers if f'"{name}"' in text]
    if stack.cloud is not None and stack.cloud.claims is not None and stack.spec.fabric.devices == "claims":
        named.append(stack.cloud.claims.driver)
    return frozenset((*named, _SRIOV) if stack.is_answered_by_claims else named)


def _planned_claims(stack: Stack) -> str:
    """The stack's own classes and templates as text, without the marks of quotes in texts."""
    kinds = ("DeviceClass", "ResourceClaimTemplate")
    found = [entry.object.manifest().get("spec") for entry in stack.objects if entry.object.kind in kinds]
    return json.dumps(found).replace("\\", "")


def _left_by_waves(stack: Stack, cluster: Cluster, published: Collection[str]) -> Iterator[Finding]:
    """Nodes that waves have not taken to the stack's manager, while what they had still runs on the cluster."""
    way = WAYS.get(stack.plan.choices.manager)
    earlier = (
        any(running(cluster, name) for name in _OF_NICS) if way == "claims" else not _OF_MANAGER.isdisjoint(published)
    )
    if way is None or not earlier:
        return
    for pool in pools_of(stack, cluster):
        if found := [node for node in pool.nodes if labels_of(node).get(WAY_LABEL, way) != way]:
            nodes, other = [name_of(node) for node in found], labels_of(found[0])[WAY_LABEL]
            yield finding(
                "PRE145",
                dotted(("upgrade", "fromManager")),
                f"pool {pool.spec.name}: the NICs of {some(nodes)} are not handed out by {stack.plan.choices.manager} "
                "yet, which would run on all nodes at once",
                "write it as in the run before, and run `up` until its waves have ended",
                seen=Seen(object=f"Node {nodes[0]}", field=f"metadata.labels[{WAY_LABEL}]", value=other),
            )


def _nics(stack: Stack, cluster: Cluster, pool: Pool, driver: str, published: Sequence[Device]) -> Iterator[Finding]:
    nics = shape_on_nodes(pool.shape, stack.spec.fabric).nics
    found = [(device, why) for device in _on(pool, published) if (why := _rail_attribute(device, nics))]
    if not found:
        return
    device, attribute = found[0]
    conflict = finding(
        "PRE140",
        dotted(stack.in_fabric("manager")),
        f"pool {pool.spec.name}: {_title(driver)} hands out {quantity(len(found), 'NIC')} of the rails on "
        f"{_names(one.node for one, _ in found)}, and the stack gives them to pods by networks or a device plug-in",
        _remedy(driver, pool, cluster) + "; or leave these nodes out of the stack",
        seen=_seen(device, attribute),
    )
    yield of_some_nodes(conflict, len({one.node for one, _ in found}), len(pool.nodes))


def _gpus(stack: Stack, pool: Pool, driver: str, published: Sequence[Device]) -> Iterator[Finding]:
    row, resource = catalog().dra_drivers.get(driver), pool.shape.gpus.resource
    if row is None or row.hands_out != "gpu":
        return
    offers = {name_of(node): str(field(node, "status", "capacity", resource) or 0) for node in pool.nodes}
    by_plug_in = {name for name, amount in offers.items() if amount != "0"}
    if installs(stack, "gpu-device-plugin") is not None:
        by_plug_in = {name_of(node) for node in pool.nodes}
    found = [device for device in _on(pool, published) if device.node in by_plug_in]
    if found:
        attribute = next(name for name in (f"{driver}/type", *found[0].facts.attributes) if found[0].text(name))
        conflict = finding(
            "PRE141",
            dotted(("software", "gpuOperator")),
            f"pool {pool.spec.name}: {_title(driver)} hands out {quantity(len(found), 'GPU')} on "
            f"{_names(one.node for one in found)}, which a device plug-in offers as {resource}",
            row.kept_off or "keep the driver or the device plug-in off these nodes",
            seen=_seen(found[0], attribute),
        )
        yield of_some_nodes(conflict, len({one.node for one in found}), len(pool.nodes))


def _silent(
    stack: Stack, cluster: Cluster, own: frozenset[str], published: Mapping[str, Sequence[Device]]
) -> Iterator[Finding]:
    """Drivers that run for nodes of a pool and of which no device is seen there: they may hand out anything."""
    nodes = {name_of(node): node for pool in pools_of(stack, cluster) if pool.certain for node in pool.nodes}
    for driver, row in catalog().dra_drivers.items():
        is_seen = any(device.node in nodes for device in published.get(driver, ()))
        if row.hands_out == "channel" or driver in own or is_seen:
            continue
        for kind, item in cluster.workloads:
            pods = field(item, "spec", "template", "spec") or {}
            selector = pods.get("nodeSelector") or {}
            chosen = [node for node in nodes.values() if selector.items() <= labels_of(node).items()]
            image = _image(row, pods.get("containers") or ())
            if kind == "DaemonSet" and chosen and image and not stack.has_released(item):
                yield finding(
                    "PRE142",
                    dotted(stack.in_fabric("manager")),
                    f"{called(kind, item)} is {row.title}, and no device that it hands out is seen yet on "
                    f"{_names(map(name_of, chosen))}",
                    f"look at its pods; {row.kept_off or 'keep it off these nodes'}",
                    seen=Seen(object=called(kind, item), field="spec.template.spec.containers[].image", value=image),
                )


def _plug_ins(stack: Stack, cluster: Cluster, own: frozenset[str]) -> Iterator[Finding]:
    """Device plug-ins for what the stack's pods claim."""
    claimed = {catalog().dra_drivers[driver].hands_out for driver in own}
    for component in sorted({name for kind in claimed for name in _PLUG_INS.get(kind, ())}):
        for found in running(cluster, component):
            # The SR-IOV operator takes its own plug-in away before it starts its driver.
            if not stack.has_released(found.item) and (_SRIOV not in own or name_of(found.item) != OPERATORS_PLUGIN):
                yield finding(
                    "PRE143",
                    dotted(stack.in_fabric("manager")),
                    f"{found.name} is {known_software()[component].title}, and pods of the stack claim such devices",
                    f"delete {found.name} with what keeps it, keep it off these nodes, or take the claimed devices "
                    "out of its selectors",
                    seen=Seen(object=found.name, field="spec.template.spec.containers[].image", value=found.image),
                )


def _image(row: DraDriver, containers: Sequence[object]) -> str:
    """The image by which a driver's pods are recognised, in the container that publishes the devices."""
    images = {
        str(field(entry, "image"))
        for entry in containers
        if row.container in (None, field(entry, "name")) and has_image(str(field(entry, "image")), row.images)
    }
    return min(images, default="")


def _on(pool: Pool, published: Sequence[Device]) -> list[Device]:
    names = {name_of(node) for node in pool.nodes}
    return [device for device in published if device.node in names]


def _rail_attribute(device: Device, nics: Sequence[Nic]) -> str:
    """The attribute by which a device is known as a NIC of the rails; empty for any other."""
    addresses = {nic.pci for nic in nics} - {None}
    interfaces = {name for nic in nics for name in (nic.interface, nic.other_interface)} - {None}
    for name, value in device.facts.attributes.items():
        end = name.rpartition("/")[2]
        if (end in _ADDRESSES and value in addresses) or (end in _INTERFACES and value in interfaces):
            return name
    return ""


def _remedy(driver: str, pool: Pool, cluster: Cluster) -> str:
    row = catalog().dra_drivers.get(driver)
    if row is None:
        return "take these NICs out of what the driver publishes"
    classes = {name_of(item) for item in objects(cluster, "deviceclasses")}
    labels = {label for node in pool.nodes for label in labels_of(node)}
    managed = (one for one in row.managed_by if one.node_label in labels or one.device_class in classes)
    by_cloud = next(managed, None)
    return by_cloud.remedy if by_cloud else row.kept_off or "take these NICs out of what the driver publishes"


def _title(driver: str) -> str:
    row = catalog().dra_drivers.get(driver)
    return f"the DRA driver {driver}" if row is None else f"{row.title} (DRA driver {driver})"


def _names(nodes: Iterable[str]) -> str:
    return some(sorted(set(nodes)))


def _seen(device: Device, attribute: str) -> Seen:
    return Seen(
        object=f"ResourceSlice {device.published}",
        field=f"spec.devices[{device.id.name}].attributes[{attribute}]",
        value=device.text(attribute),
    )
