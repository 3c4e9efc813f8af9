"""Claims: the class of a fabric's NICs, and the templates by which pods claim them, alone or with GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue

from gpu_fabric.base.cel import literal
from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.shape import GpuLeaf, NicLeaf, adapter_of, branches, parse_tree
from gpu_fabric.contract.fabric import PodClaim
from gpu_fabric.k8s import dra
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.names import RAIL_TAINT
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.rail import Rail
from gpu_fabric.spec.fabric import ClaimSize, ClaimsSpec

DRIVER = "dra.net"
"""DRANET's name in slices and claims."""

NUMA_NODE = f"{DRIVER}/numaNode"
"""DRANET's own attribute of the NUMA node; v1.4.0 publishes no other, and NVIDIA's driver has not this one."""

# On Grace boards GPUs are not below the NICs' PCI roots (NIC pci0000:00, GPU pci0008:00 in the slices of
# examples/oci_oke_examples/BM.GPU.GB200-v3.4 of DRANET v1.4.0), whichever GPU is nearest.
APART = ("GB200", "GB300")


WHOLE: frozenset[ClaimSize] = frozenset({"node", "repair"})
"""The sizes by which a pod claims all NICs of a node."""

_CLOSED = (dra.DeviceToleration(key=RAIL_TAINT, operator="Exists", effect="NoSchedule"),)


def claims_spec(case: Case) -> ClaimsSpec:
    """The section `fabric.claims`, or its defaults."""
    return case.spec.fabric.claims or ClaimsSpec()


def gpu_driver(case: Case) -> str:
    """The DRA driver of the GPUs' vendor, which is the name of its class of whole GPUs as well."""
    return f"gpu.{case.shape.gpus.vendor}.com"


class NicNames(NamedTuple):
    """The attribute that tells the fabric's NICs from others, without its domain, and its values on all nodes."""

    attribute: str
    values: tuple[str, ...]

    def condition(self, attributes: str, key: str, value: str) -> str:
        """A CEL condition; an attribute that a device lacks is asked for first, since reading it is an error."""
        return f"{key} in {attributes} && {attributes}[{key}]{value} in {literal(list(self.values))}"


def nic_names(case: Case) -> NicNames:
    """How the fabric's NICs are selected: by PCI address, or by interface where the shape has no addresses."""
    nics = [nic for group in case.groups for nic in group.shape.nics]
    attribute = "pciAddress" if all(nic.pci for nic in nics) else "ifName"
    values = (nic.pci if attribute == "pciAddress" else nic.interface for nic in nics)
    return NicNames(attribute, tuple(dict.fromkeys(filter(None, values))))


def published(case: Case) -> str:
    """DRANET's `--filter`: the NICs of the stack's fabrics alone. It publishes a device if the expression is an error.

    Source: DRANET v1.4.0, pkg/filter/filter.go.
    """
    values: dict[str, list[str]] = {}
    for names in map(nic_names, case.fabrics):
        values.setdefault(names.attribute, []).extend(names.values)
    conditions = [
        NicNames(attribute, tuple(dict.fromkeys(found))).condition(
            "attributes", literal(f"{DRIVER}/{attribute}"), ".StringValue"
        )
        for attribute, found in values.items()
    ]
    return conditions[0] if len(conditions) == 1 else " || ".join(f"({text})" for text in conditions)


def class_name(case: Case) -> str:
    """The name of the fabric's class."""
    return case.own_name("fabric-nics")


def nic_class(case: Case) -> dra.DeviceClass:
    """The class of the fabric's NICs."""
    names = nic_names(case)
    own = names.condition(f"device.attributes[{literal(DRIVER)}]", literal(names.attribute), "")
    spec = dra.DeviceClassSpec(selectors=dra.cel(f"device.driver == {literal(DRIVER)} && {own}"))
    return dra.DeviceClass(metadata=ObjectMeta(name=class_name(case)), spec=spec)


class Share(NamedTuple):
    """NICs that a GPU has of its PCI root, the same for every GPU; or why that is not so, in words."""

    nics: int = 0
    reason: str = ""


def root_share(case: Case, shape: Shape) -> Share:
    """A GPU's share of the NICs of its PCI root, by the PCI tree of the shape or by the nearest GPUs."""
    if shape.gpus.model in APART:
        return Share(reason=f"on {shape.gpus.model} boards GPUs and NICs have no PCI root in common")
    roots = list(_by_tree(case, shape) or _by_nearest_gpu(shape))
    if sum(gpus for gpus, _ in roots) != shape.gpus.count or sum(nics for _, nics in roots) != shape.rails:
        return Share(reason=f"which NICs of {shape.name} are below the PCI root of which GPU is not known")
    shares = {nics / gpus if gpus else 0 for gpus, nics in roots}
    share = shares.pop()
    if shares or share != int(share) or not share:
        each = ", ".join(f"{nics} for {gpus} GPU{'s' if gpus > 1 else ''}" for gpus, nics in sorted(set(roots)))
        return Share(reason=f"the NICs of {shape.name} cannot be shared out evenly below its PCI roots: {each}")
    return Share(int(share))


def _by_tree(case: Case, shape: Shape) -> Iterator[tuple[int, int]] | None:
    """GPUs and NICs below each root of the tree; None without a tree."""
    tree = case.known.topologies.get(shape.name)
    if tree is None:
        return None
    functions = [adapter_of(nic.pci) for nic in shape.nics if nic.pci]
    found = []
    for numa in tree.numa:
        for root in parse_tree(numa.tree):
            leaves = [leaf for leaf, _ in branches((root,))]
            adapters = [adapter_of(leaf.address) for leaf in leaves if isinstance(leaf, NicLeaf)]
            gpus = sum(isinstance(leaf, GpuLeaf) for leaf in leaves)
            found.append((gpus, sum(functions.count(adapter) for adapter in adapters)))
    return iter(found)


def _by_nearest_gpu(shape: Shape) -> Iterator[tuple[int, int]]:
    """A root for each GPU, with the NICs that share a PCI switch with it."""
    nearest = [nic.nearest_gpu for nic in shape.nics]
    return ((1, nearest.count(gpu)) for gpu in range(shape.gpus.count))


def numa_share(case: Case, shape: Shape) -> Share:
    """The NICs of a NUMA node, the same number on each; or why that is not so, in words."""
    tree = case.known.topologies.get(shape.name)
    if tree is None:
        nodes = [nic.numa_node for nic in shape.nics]
    else:
        by_adapter = {
            adapter_of(leaf.address): numa.node
            for numa in tree.numa
            for leaf, _ in branches(parse_tree(numa.tree))
            if isinstance(leaf, NicLeaf)
        }
        nodes = [by_adapter.get(adapter_of(nic.pci)) if nic.pci else None for nic in shape.nics]
    if None in nodes or not nodes:
        return Share(reason=f"the NUMA nodes of the NICs of {shape.name} are not known")
    counts = set(Counter(nodes).values())
    if len(counts) > 1:
        return Share(reason=f"the NUMA nodes of {shape.name} have different numbers of NICs")
    return Share(counts.pop())


class _Size(NamedTuple):
    """What a pod claims of a size; `aligned` is the attribute that all its devices have in common, if so."""

    gpus: int
    nics: int
    aligned: str | None = None


def _size(case: Case, size: ClaimSize) -> _Size:
    if size in WHOLE:
        gpus = case.shape.gpus.count if claims_spec(case).gpus == "claims" else 0
        return _Size(gpus, case.shape.rails)
    # Rules refuse shapes without such a share.
    if size == "numa-node":
        return _Size(0, max(1, numa_share(case, case.shape).nics), NUMA_NODE)
    nics = 1 if size == "pair" else max(1, root_share(case, case.shape).nics)
    return _Size(1, nics, dra.STANDARD_PCIE_ROOT)


def pod_claims(case: Case) -> tuple[PodClaim, ...]:
    """What the contract says of each size."""
    return tuple(
        PodClaim(
            name=case.fabric or "fabric",
            template=template_name(case, size),
            size=size,
            nics=_size(case, size).nics,
            gpus=_size(case, size).gpus,
        )
        for size in claims_spec(case).sizes
    )


def template_name(case: Case, size: ClaimSize) -> str:
    """The name of the template of a size, in every namespace the same."""
    return case.own_name(f"fabric-{size}")


def claim_templates(case: Case, rails: tuple[Rail, ...], namespace: str) -> Iterator[dra.ResourceClaimTemplate]:
    """The templates of a namespace, one a size."""
    for size in claims_spec(case).sizes:
        spec = dra.ClaimTemplateSpec(spec=dra.ClaimSpec(devices=device_claim(case, rails, size)))
        yield dra.ResourceClaimTemplate(
            metadata=ObjectMeta(name=template_name(case, size), namespace=namespace), spec=spec
        )


def device_claim(case: Case, rails: tuple[Rail, ...], size: ClaimSize) -> dra.DeviceClaim:
    """The claim of a pod.

    Of a whole node the class alone selects the NICs, since the class has no others; with interface names of their own
    each rail has a request. DRANET takes the first configuration of a request and no other, so each request has one.
    """
    wanted, nics = _size(case, size), class_name(case)
    tolerations = _CLOSED if size == "repair" else None
    requests: list[dra.DeviceRequest] = []
    config: list[dra.DeviceConfiguration] = []
    if wanted.gpus:
        exactly = dra.ExactRequest(device_class_name=gpu_driver(case), count=wanted.gpus)
        requests.append(dra.DeviceRequest(name="gpus", exactly=exactly))
    if size in WHOLE and claims_spec(case).interface_names == "rails":
        for rail in rails:
            name = f"rail-{rail.index:02d}"
            exactly = dra.ExactRequest(
                device_class_name=nics, selectors=dra.cel(_of_rail(case, rail)), tolerations=tolerations
            )
            requests.append(dra.DeviceRequest(name=name, exactly=exactly))
            config += _configuration(case, name, rail.pod_interface)
    else:
        exactly = dra.ExactRequest(device_class_name=nics, count=wanted.nics, tolerations=tolerations)
        requests.append(dra.DeviceRequest(name="nics", exactly=exactly))
        config += _configuration(case, "nics", None)
    constraint = wanted.aligned and dra.DeviceConstraint(
        requests=tuple(request.name for request in requests), match_attribute=wanted.aligned
    )
    return dra.DeviceClaim(
        requests=tuple(requests),
        constraints=(constraint,) if constraint else None,
        config=tuple(config) or None,
    )


def _of_rail(case: Case, rail: Rail) -> str:
    attribute = nic_names(case).attribute
    value = rail.pci if attribute == "pciAddress" else rail.interface
    return NicNames(attribute, (value or "",)).condition(
        f"device.attributes[{literal(DRIVER)}]", literal(attribute), ""
    )


def _configuration(case: Case, request: str, name: str | None) -> Iterator[dra.DeviceConfiguration]:
    if parameters := claim_parameters(case, name):
        opaque = dra.OpaqueConfiguration(driver=DRIVER, parameters=parameters)
        yield dra.DeviceConfiguration(requests=(request,), opaque=opaque)


def claim_parameters(case: Case, name: str | None) -> dict[str, JsonValue]:
    """DRANET's configuration of a request: name and MTU of the interface where they are stated, and its own keys."""
    stated = dict(claims_spec(case).parameters)
    interface = stated.pop("interface", None)
    own: dict[str, JsonValue] = {} if name is None else {"name": name}
    if case.spec.fabric.mtu is not None and case.choices.link_type == "ether":
        own["mtu"] = case.spec.fabric.mtu
    merged = {**own, **interface} if isinstance(interface, dict) else own
    return {"interface": merged, **stated} if merged else stated
