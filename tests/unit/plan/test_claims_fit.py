"""How many pods of each size fit on a node: the plan's statement, and what a checker of its own finds in the slices.

The slices are those that the sandbox has of DRANET, with the plan's values, and of NVIDIA's driver.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from allocation_checker import Allocation, Id, Node
from changes import changed

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import PlannedStack, prepare
from gpu_fabric.spec.load import read_document
from sandbox.hardware.resource_slices import DRANET, NVIDIA_GPU, devices_of_driver, slices_of
from sandbox.simulated_nodes import desired_nodes

STACKS = Path(__file__).parents[2] / "stacks"
ROOT = "resource.kubernetes.io/pcieRoot"
Object = dict[str, Any]
SHAPES = [name for name, shape in catalog().shapes.items() if shape.gpus.vendor == "nvidia" and shape.nics]


def _planned(shape: str, *sizes: str) -> PlannedStack | None:
    """A stack whose pods claim NICs and GPUs of a shape; None where a rule refuses it."""
    nic_model = catalog().shapes[shape].nic_model
    infiniband = nic_model is not None and nic_model.link_type == "infiniband"
    document = changed(
        read_document("dranet-infiniband", STACKS),
        {
            "cluster.pools[0].shape": shape,
            "fabric.claims.sizes": list(sizes),
            # The NICs of a NUMA node are claimed without GPUs.
            **({"fabric.claims.gpus": "plugin", "software.gpuDraDriver": None} if "numa-node" in sizes else {}),
            **({} if infiniband else {"fabric.linkType": "ether"}),
        },
    )
    try:
        return prepare(document, for_up=False)
    except ConfigurationError:
        return None


def _slices(stack: PlannedStack) -> list[Object]:
    """What is published for a node of the stack."""
    values = next(release.values for release in stack.plan.releases if release.name == "dranet")["args"]
    options = [
        f"--filter={values['filter']}",
        f"--move-ib-interfaces={str(values.get('moveIBInterfaces', True)).lower()}",
    ]
    node = desired_nodes(stack.spec)[1]
    node["metadata"]["uid"] = "7e4a0d7c-7d06-4c3f-9f5c-8a1b6d1d9e10"
    pod = {"metadata": {"namespace": "n"}, "spec": {"containers": [{"image": "i", "args": options}]}}
    drivers = [catalog().dra_drivers[name] for name in (DRANET, NVIDIA_GPU)]
    return [item for one in drivers for item in slices_of(one.name, node, devices_of_driver(one, pod, node), 1)]


def _objects(plan: Plan, kind: str) -> dict[str, Object]:
    return {entry.name: entry.object.manifest() for entry in plan.objects if entry.object.kind == kind}


def _classes(plan: Plan) -> list[Object]:
    """The plan's classes, and the one that comes with NVIDIA's driver."""
    expression = catalog().dra_drivers[NVIDIA_GPU].classes[NVIDIA_GPU].expression
    of_gpus = {"metadata": {"name": NVIDIA_GPU}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    return [*_objects(plan, "DeviceClass").values(), of_gpus]


def _pods(stack: PlannedStack, template: Object) -> Iterator[Allocation]:
    """The devices of one pod after another, until the next finds none."""
    slices, taken = _slices(stack), frozenset[Id]()
    while found := Node(slices, _classes(stack.plan), taken).allocation([template]):
        yield found[0]
        taken |= {device for _, device in found[0]}


@pytest.mark.parametrize("shape", SHAPES)
def test_as_many_pods_fit_as_the_plan_says_and_together_they_have_every_nic(shape: str) -> None:
    rails = len(catalog().shapes[shape].nics)
    for size in ("node", "pci-root", "pair"):
        stack = _planned(shape, size)
        if stack is None:
            continue
        (claim,) = stack.plan.workload.claims
        pods = list(_pods(stack, _objects(stack.plan, "ResourceClaimTemplate")[claim.template]))

        assert len(pods) == catalog().shapes[shape].gpus.count // claim.gpus
        nics = [[device for _, device in pod if device[0] == DRANET] for pod in pods]
        assert {len(found) for found in nics} == {claim.nics}
        assert {len(pod) for pod in pods} == {claim.nics + claim.gpus}
        assert len({device for found in nics for device in found}) == (rails if size != "pair" else len(pods))


def test_a_gpu_with_a_nic_is_refused_where_not_every_gpu_has_one_at_its_root() -> None:
    planned = {shape: (_planned(shape, "node"), _planned(shape, "pair")) for shape in SHAPES}
    assert sum(parts is not None for _, parts in planned.values()) > 12
    for shape, (whole, parts) in planned.items():
        if whole is not None and parts is None:
            roots = [(device.id[0], device.attributes.get(ROOT)) for device in Node(_slices(whole)).devices]
            of_nics = {root for driver, root in roots if driver == DRANET} - {None}
            gpus = [root for driver, root in roots if driver == NVIDIA_GPU]
            assert not all(root in of_nics for root in gpus), shape


def test_the_nics_of_a_numa_node_are_those_of_one_and_all_of_them() -> None:
    fitting = {}
    for shape in SHAPES:
        if (stack := _planned(shape, "numa-node")) is None:
            continue
        (claim,) = stack.plan.workload.claims
        devices = {device.id: device.attributes for device in Node(_slices(stack)).devices}
        pods = list(_pods(stack, _objects(stack.plan, "ResourceClaimTemplate")[claim.template]))
        numbers = [{devices[device]["dra.net/numaNode"] for _, device in pod} for pod in pods]
        assert [len(found) for found in numbers] == [1] * len(pods)
        assert {len(pod) for pod in pods} == {claim.nics}
        assert len(set.union(*numbers)) == len(pods)
        assert sum(map(len, pods)) == len(catalog().shapes[shape].nics)
        fitting[shape] = len(pods)
    four, two = ("BM.GPU4.8", "BM.GPU.A100-v2.8"), ("BM.GPU.H100.8", "BM.GPU.GB200-v3.4", "BM.GPU.GB300.4")
    assert fitting == {**dict.fromkeys(four, 4), **dict.fromkeys(two, 2)}
