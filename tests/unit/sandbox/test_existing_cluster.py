"""What a cluster of a cloud with a profile has before a stack comes up: what its pages say, and nothing of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from committed_stacks import STACKS
from rows import tables
from stack_plans import stack_plan

from gpu_fabric.catalog import catalog
from gpu_fabric.spec.load import load_stack
from gpu_fabric.spec.stack import StackSpec
from sandbox.existing_cluster import OF_CLOUD_LABEL, objects_of_cloud, place_objects
from sandbox.hardware.device_plugins import is_plugin, resources_of
from sandbox.hardware.operands import OPERAND_LABEL
from sandbox.hardware.resource_slices import devices_of_driver
from sandbox.kubernetes_api import Api
from sandbox.simulated_nodes import cloud_devices, desired_nodes

TABLES = tables(Path(__file__).parents[2] / "sandbox" / "test_cloud_clusters.yaml")
CLUSTERS = TABLES["clusters"]
GPU = "nvidia.com/gpu"
Object = dict[str, Any]


def spec_of(stack: str) -> StackSpec:
    return load_stack(stack, STACKS)


def handed_out(objects: list[Object], node: Object) -> tuple[dict[str, int], int]:
    """What the DaemonSets of a cloud offer on a node by a device plug-in, and how many devices they publish."""
    offered, published = {}, 0
    for item in objects:
        if item["kind"] == "DaemonSet":
            pod = item["spec"]["template"]
            if is_plugin(pod):
                offered |= resources_of(pod, node, {})
            else:
                driver = catalog().dra_drivers[pod["metadata"]["labels"][OPERAND_LABEL]]
                published += len(devices_of_driver(driver, pod, node))
    return offered, published


@pytest.mark.parametrize("stack", CLUSTERS)
def test_nodes_and_pods_are_those_of_the_clouds_page(stack: str) -> None:
    row, spec = CLUSTERS[stack], spec_of(stack)
    system, *nodes = desired_nodes(spec)

    assert len(nodes) == 2
    for node in nodes:
        assert row["labels"].items() <= node["metadata"]["labels"].items()
        offered, published = handed_out(objects_of_cloud(spec), node)
        gpus = {name: amount for name, amount in node["status"]["allocatable"].items() if name == GPU}
        assert gpus | {name: str(amount) for name, amount in offered.items()} == row["offers"]
        assert published == row.get("claims", {}).get("devices", 0)
    assert cloud_devices(system) == {}
    plan = stack_plan(stack, STACKS)
    devices = {name: str(amount) for name, amount in plan.workload.resources.items() if name != "memory"}
    assert devices | row.get("webhook", {}) == row["asks"]
    assert {release.name for release in plan.releases} == {*row["installs"]}


def test_what_hands_out_nics_by_claims_has_the_class_that_the_plan_claims() -> None:
    for stack in ("eks-efa-claims", "gke-rdma-claims"):
        made = [item["metadata"]["name"] for item in objects_of_cloud(spec_of(stack)) if item["kind"] == "DeviceClass"]
        planned = [entry.object for entry in stack_plan(stack, STACKS).objects]
        claimed = {
            request["exactly"]["deviceClassName"]
            for template in planned
            if template.kind == "ResourceClaimTemplate"
            for request in template.manifest()["spec"]["spec"]["devices"]["requests"]
        }
        assert claimed == {*made}


class FakeApi(Api):
    """Keeps objects by their paths, as the API server would."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.writes: list[str] = []

    def request(self, method: str, path: str, body: Object | None = None, kind: str = "") -> Object:
        place = urlsplit(path).path
        if method == "GET" and place.count("/") == 3:
            names = {"DaemonSet": ("daemonsets", True), "DeviceClass": ("deviceclasses", False)}
            return {"resources": [{"kind": k, "name": n, "namespaced": own} for k, (n, own) in names.items()]}
        if method == "GET":
            found = [item for name, item in self.objects.items() if name.startswith(f"{place}/")]
            return {"items": [item for item in found if OF_CLOUD_LABEL in item["metadata"].get("labels", {})]}
        self.writes.append(f"{method} {place.rpartition('/')[2]}")
        if method == "DELETE":
            return self.objects.pop(place)
        assert body is not None
        self.objects[place] = body
        return body


def test_a_clouds_objects_come_once_and_go_with_the_next_cloud_and_others_stay() -> None:
    api, others = FakeApi(), "/apis/apps/v1/namespaces/kube-system/daemonsets/coredns"
    api.objects[others] = {"metadata": {"name": "coredns"}}

    assert place_objects(api, objects_of_cloud(spec_of("eks-efa")))
    assert not place_objects(api, objects_of_cloud(spec_of("eks-efa")))
    assert place_objects(api, objects_of_cloud(spec_of("eks-efa-claims")))
    assert place_objects(api, objects_of_cloud(spec_of("nebius-infiniband")))

    assert api.writes == [
        "PATCH eks-nic-plugin",
        "DELETE eks-nic-plugin",
        "PATCH efa.networking.k8s.aws",
        "PATCH eks-dra-driver",
        "DELETE eks-dra-driver",
        "DELETE efa.networking.k8s.aws",
    ]
    assert api.objects.keys() == {others}
    assert objects_of_cloud(spec_of("host-network")) == []
