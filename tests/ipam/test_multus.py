"""Multus attaches every pod of the program's to one network a rail, with the planned interface and device.

Its own parser reads the annotation and the networks' definitions. The definitions that Spiderpool and the SR-IOV
operator make, and the annotation of Spiderpool's webhook, come from their own code. The kubelet's part is the number of
devices that the pod's containers ask for.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from attached_pods import MANIFESTS, NETWORKS, documents_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ipam_programs import Attachments, Json, Programs
from planned_networks import FILES, definitions, document, planned
from planned_wishes import few
from program_lists import IPAMS, LAYOUTS, MODELS

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.k8s.names import DEFAULT_NETWORK_ANNOTATION, RDMA_RESOURCE_INJECT_ANNOTATION, RESOURCE_NAME_ANNOTATION
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.workloads.nccl_test import JobError, JobScheduler, NcclTest, nccl_test

OF_GPUS = re.compile(r'nvidia\.com/gpu("?): 8')
ATTACHES = (NETWORKS, RDMA_RESOURCE_INJECT_ANNOTATION)
# Networks that are not the fabric's: a user's in examples/workloads, and the cluster's where a stack names it.
OTHERS = [
    {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"config": '{"cniVersion": "0.3.1", "type": "bridge"}'},
    }
    for namespace, name in (("stores", "nfs"), ("kube-system", "calico"))
]


def pods_in(value: Any, namespace: str) -> Iterator[Json]:
    """Every pod below a manifest that is attached to something, in the namespace of its object.

    A pod is left with one container, which asks for what all of them do. What a TrainJob says of the pods of its
    runtime has none: what they ask for is elsewhere in the manifest.
    """
    for written, template, place in templates(value, namespace):
        asked: dict[str, int] = {}
        for limits in list(found_below(template, "limits")) or found_below(value, "limits"):
            for name, amount in limits.items():
                asked[name] = asked.get(name, 0) + (int(amount) if "/" in name else 0)
        wanted = {name: str(amount) for name, amount in asked.items() if amount}
        container = {"name": "main", "resources": {"limits": wanted, "requests": wanted}}
        named = {"name": "pod", "namespace": place, "annotations": written}
        yield {"metadata": named, "spec": {"containers": [container]}}


def templates(value: Any, namespace: str) -> Iterator[tuple[Json, Json, str]]:
    """The annotations of every attached pod below a value, what they are annotations of, and the pod's namespace."""
    if isinstance(value, list):
        for entry in value:
            yield from templates(entry, namespace)
    elif isinstance(value, dict):
        metadata = value.get("metadata") or {}
        place = metadata.get("namespace") or namespace
        # A clique of Grove's has its pods' annotations itself.
        annotations = metadata.get("annotations") or value.get("annotations") or {}
        if not annotations.keys().isdisjoint(ATTACHES):
            yield annotations, value, place
            return
        for entry in value.values():
            yield from templates(entry, place)


def found_below(value: Any, key: str) -> Iterator[Any]:
    """The values of a key, wherever it is."""
    if isinstance(value, list):
        for entry in value:
            yield from found_below(entry, key)
    elif isinstance(value, dict):
        for name, entry in value.items():
            if name == key:
                yield entry
            else:
                yield from found_below(entry, key)


def documents(contract: FabricContract, namespace: str) -> Iterator[Any]:
    """What the program writes for a stack's users: the examples, attached, and the job that measures."""
    gpus = rf"{contract.gpu_resource}\1: {contract.gpus_per_node}"
    for path in sorted(MANIFESTS.glob("*.[jy]*")):
        with suppress(AttachError):
            text = OF_GPUS.sub(gpus, path.read_text(encoding="utf-8"))
            yield from filter(None, documents_of(attach_text(text, contract, AttachOptions(namespace=namespace)).text))
    for scheduler in JobScheduler:
        with suppress(AttachError, JobError):
            yield from nccl_test(contract, NcclTest(scheduler, "tests:1", namespace=namespace)).documents


def workloads(plan: Plan) -> list[Json]:
    """The pods of everything that is attached to a stack's fabric, the stack's own verification included."""
    contract = plan.workload
    run = plan.record(PlannedVerification, "verification")
    own: list[Any] = [] if run is None else list(run.manifests)
    # On DigitalOcean's nodes pods of other namespaces can have the networks, too.
    others = ["elsewhere"] if contract.networks_from_elsewhere else []
    found = [(contract.namespaces[-1], own), *((namespace, []) for namespace in others)]
    return [
        pod
        for namespace, applied in found
        for document in (*applied, *documents(contract, namespace))
        # Of which namespace the pods of a runtime for all of them are, its TrainJobs say.
        for pod in pods_in(document, contract.namespaces[-1] if document["kind"].startswith("Cluster") else namespace)
    ]


def devices(pod: Json) -> dict[str, int]:
    """How many devices of every resource the pod has."""
    (container,) = pod["spec"]["containers"]
    return {name: int(amount) for name, amount in container["resources"]["limits"].items()}


class Cluster:
    """A stack's networks as they are in its cluster, and pods as its webhooks leave them."""

    def __init__(self, programs: Programs, plan: Plan, pods: list[Json]) -> None:
        self._programs, self._plan = programs, plan
        self.networks, self.pods = definitions(programs, plan), pods
        configs = [entry.object.manifest() for entry in plan.applied("networks")]
        if configs and configs[0]["kind"] == "SpiderMultusConfig":
            self.networks, self.pods = programs.spiderpool(configs, pods)

    def attached(self) -> list[Attachments]:
        networks = [*self.networks, *OTHERS]
        return self._programs.multus([{"networks": networks, "pod": pod, "devices": devices(pod)} for pod in self.pods])

    def faults(self) -> Iterator[str]:
        """Where Multus would attach a pod to something else than a network a rail."""
        for pod, found in zip(self.pods, self.attached(), strict=True):
            yield from self._faults(pod, found)

    def _faults(self, pod: Json, found: Attachments) -> Iterator[str]:
        metadata = pod["metadata"]
        if found.error:
            yield found.error
            return
        first, *others = found.delegates
        if first.name != metadata["annotations"].get(DEFAULT_NETWORK_ANNOTATION, "cluster"):
            yield f"the cluster's own network is {first.name}"
        known = {f"{entry['metadata']['namespace']}/{entry['metadata']['name']}": entry for entry in self.networks}
        mine = [delegate for delegate in others if delegate.name in known]
        if len(mine) != len(self._plan.rails):
            yield f"{len(mine)} networks for {len(self._plan.rails)} rails"
        # Multus names what has no name by its place.
        got = {(delegate.name, delegate.interface or f"net{place}") for place, delegate in enumerate(others, start=1)}
        contract, place = self._plan.workload, metadata["namespace"]
        if place not in contract.namespaces:
            place = next(iter(contract.networks_from_elsewhere))
        for entry in contract.networks:
            wanted = f"{entry.namespace or place}/{entry.network}"
            if (wanted, entry.interface) not in got:
                yield f"{entry.interface} is not attached to {wanted}, but {got}"
        taken = [delegate.device for delegate in mine if delegate.device]
        if len(set(taken)) != len(taken):
            yield "two networks take one device"
        for delegate in mine:
            resource = (known[delegate.name]["metadata"].get("annotations") or {}).get(RESOURCE_NAME_ANNOTATION, "")
            if delegate.resource != resource:
                yield f"{delegate.name} takes no device of {resource}, of which the pod has {devices(pod)}"
            plugin = delegate.config.get("plugins", [delegate.config])[0]
            if delegate.device and plugin.get("deviceID") != delegate.device:
                yield f"the plug-in of {delegate.name} does not get the device {delegate.device}"


VERIFICATION = {
    "verification.enabled": True,
    "verification.image": "nccl-tests:1",
    "verification.bar": 1,
    "verification.railBar": 1,
}


def verified(stack: str, changes: Json) -> Plan:
    """The plan of a changed stack that verifies its fabric, if that can be done for its NICs."""
    with suppress(ConfigurationError):
        return planned(stack, VERIFICATION | changes)
    return planned(stack, changes)


def faults(programs: Programs, plan: Plan) -> list[str]:
    """Where Multus would attach one of the stack's pods to something else."""
    if not plan.workload.networks:
        return [f"{entry['metadata']['name']} is of no rail" for entry in definitions(programs, plan)]
    pods = workloads(plan)
    assert len(pods) > 20
    return list(Cluster(programs, plan, pods).faults())


# Networks of planes are made by the Spectrum-X operator, whose code is not at hand.
KNOWN = sorted(stack for stack in FILES if "planes" not in document(stack).sections.get("fabric", {}))


@pytest.mark.parametrize("stack", KNOWN)
def test_every_pod_of_a_stack_gets_one_network_a_rail(programs: Programs, stack: str) -> None:
    assert faults(programs, verified(stack, {})) == []


CHANGES: dict[str, list[Any]] = {
    "fabric.addressing.gateway": ["first", "last"],
    "fabric.addressing.ipam": sorted({*IPAMS} - {"host"}),
    "fabric.addressing.layout": sorted({*LAYOUTS} - {"none"}),
    "fabric.model": sorted({*MODELS} - {"host-network"}),
    "fabric.mtu": [2044, 4096],
    "fabric.namespaces": [["jobs"], ["default", {"name": "lab", "create": True}]],
    "fabric.vfsPerNic": [1, 2, 8],
    "verification.launcher": ["mpi-operator", "volcano"],
}


@given(
    st.sampled_from(KNOWN),
    st.fixed_dictionaries({}, optional={place: st.sampled_from(values) for place, values in CHANGES.items()}),
)
@settings(few, max_examples=40)
def test_so_does_every_pod_of_a_changed_stack(programs: Programs, stack: str, changes: Json) -> None:
    try:
        plan = verified(stack, changes)
    except ConfigurationError:
        assume(False)

    assert faults(programs, plan) == []
