"""What DRA drivers publish for a simulated node: names and types of the catalog, values of the shape."""

import math
import re
from types import SimpleNamespace
from typing import Any

import pytest
from each_case import each
from played_objects import NAMESPACE, operand_pod

from gpu_fabric.catalog import Shape, catalog
from sandbox.hardware.device_plugins import PluginFailureError
from sandbox.hardware.inventory import inventory_annotation, machine_annotation, machine_inventory
from sandbox.hardware.resource_slices import (
    COMPUTE_DOMAIN,
    DRANET,
    NVIDIA_GPU,
    PLAYED,
    SRIOV,
    WIPED_AFTER_S,
    ResourceSlices,
    devices_of_driver,
    slices_of,
)
from sandbox.hardware.writing import Complaints

Object = dict[str, Any]

H100 = "BM.GPU.H100.8"
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "dra.net/numaNode"
UID = "7e4a0d7c-7d06-4c3f-9f5c-8a1b6d1d9e10"
DRIVERS = catalog().dra_drivers
TYPES = {"string": str, "version": str, "int": int, "bool": bool}


def _node(shape: Shape, labels: dict[str, str] | None = None, **annotations: str) -> Object:
    named = {f"sandbox.gpu-fabric/{key.replace('_', '-')}": text for key, text in annotations.items()}
    metadata = {
        "name": "gpu-0",
        "uid": UID,
        "labels": labels or {},
        "annotations": {**inventory_annotation(shape), **named},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def _pod(driver: str, *arguments: str, image: str = "") -> Object:
    pod = operand_pod(driver)
    pod["spec"]["nodeName"] = "gpu-0"
    pod["spec"]["containers"] = [
        {"name": "driver", "image": image or f"x/{DRIVERS[driver].images[0]}", "args": arguments}
    ]
    return pod


def _policy(kind: str, name: str, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"kind": kind, "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels or {}}, "spec": spec}


def _published(driver: str, shape: str, *arguments: str, policies: tuple[Object, ...] = ()) -> dict[str, Object]:
    """Attributes by the device's name, as slices have them."""
    node = _node(catalog().shapes[shape])
    found = devices_of_driver(DRIVERS[driver], _pod(driver, *arguments), node, policies)
    return {device["name"]: device["attributes"] for device in found}


def _values(attributes: Object) -> dict[str, Any]:
    return {name: value for name, typed in attributes.items() for value in typed.values()}


ALL_FUNCTIONS = _policy("SriovResourcePolicy", "all", configs=[{}])


@each("shape", sorted(catalog().shapes))
def test_every_attribute_is_one_of_the_drivers_with_its_type_and_within_the_apis_limits(shape: str) -> None:
    functions = catalog().shapes[shape].model_copy(update={"vfs_per_nic": 2, "vf_support": "host"})
    for driver in PLAYED:
        row = DRIVERS[driver]
        node = _node(functions if functions.nics else catalog().shapes[shape])
        devices = devices_of_driver(row, _pod(driver), node, [ALL_FUNCTIONS])
        names = [device["name"] for device in devices]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name) for name in names)
        facts = {row.slice_name(name): fact.type for name, fact in row.attributes.items()}
        for device in devices:
            assert len(device["attributes"]) <= 32
            for name, typed in device["attributes"].items():
                ((kind, value),) = typed.items()
                assert kind == facts[name]
                assert type(value) is TYPES[kind]
                assert not isinstance(value, str) or len(value) <= 64


def test_dranet_publishes_every_nic_but_the_one_with_the_default_route() -> None:
    published = _published(DRANET, H100)
    assert "pci-0000-1f-00-0" not in published
    assert len(published) == 1 + 16 + 16
    assert _values(published["pci-0000-0c-00-0"]) == {
        "dra.net/pciAddress": "0000:0c:00.0",
        NUMA: 0,
        ROOT: "pcifffe:08",
        "dra.net/rdma": True,
        "dra.net/ifName": "rdma0",
        "dra.net/mtu": 4220,
        "dra.net/encapsulation": "ether",
        "dra.net/alias": "",
        "dra.net/state": "up",
        "dra.net/type": "device",
        "dra.net/sriov": True,
        "dra.net/sriovVfs": 1,
        "dra.net/virtual": False,
        "dra.net/ebpf": False,
    }
    function = _values(published["pci-0000-0c-00-2"])
    assert (function["dra.net/isSriovVf"], function[ROOT], function["dra.net/sriov"]) == (True, "pcifffe:08", False)


def test_a_gpu_and_the_nics_that_its_pci_tree_has_at_the_same_root_port_have_one_root() -> None:
    nics, gpus = _published(DRANET, H100), _published(NVIDIA_GPU, H100)
    roots = {name: _values(attributes).get(ROOT) for name, attributes in {**nics, **gpus}.items()}
    functions = {"pci-0000-86-00-2", "pci-0000-86-00-3"}
    near = {name for name, root in roots.items() if root == roots["gpu-4"]}
    assert near == {"gpu-4", "pci-0000-86-00-0", "pci-0000-86-00-1", *functions}
    gpu = _values(gpus["gpu-4"])
    assert (gpu["type"], gpu["resource.kubernetes.io/pciBusID"]) == ("gpu", "0000:89:00.0")
    # published since 0.5.0
    assert "resource.kubernetes.io/numaNode" not in gpu
    assert len({_values(attributes)["uuid"] for attributes in gpus.values()}) == 8


def test_what_a_shape_does_not_say_is_left_out_and_not_made_equal() -> None:
    nics = _published(DRANET, "BM.GPU.GB200.4")
    assert nics
    assert not any({ROOT, NUMA} & set(attributes) for attributes in nics.values())
    shape = catalog().shapes["server.hgx-h200.8"].model_copy(update={"vfs_per_nic": 1, "vf_support": "host"})
    found = devices_of_driver(DRIVERS[SRIOV], _pod(SRIOV), _node(shape), [ALL_FUNCTIONS])
    functions = {device["name"]: device["attributes"] for device in found}
    assert len(functions) == 8
    assert {_values(attributes)[NUMA] for attributes in functions.values()} == {-1}
    assert not any(ROOT in attributes for attributes in functions.values())


def test_addresses_on_the_host_are_published_with_the_interface() -> None:
    rows = '[{"interface": "rdma1", "address": "192.168.0.1/24", "gateway": ""}]'
    found = devices_of_driver(DRIVERS[DRANET], _pod(DRANET), _node(catalog().shapes[H100], nic_addresses=rows))
    addresses = {device["name"]: device["attributes"].get("dra.net/ipv4") for device in found}
    assert {name: text for name, text in addresses.items() if text} == {
        "pci-0000-0c-00-1": {"string": "192.168.0.1/24"}
    }


def test_without_moving_ipoib_a_nic_has_no_interface_but_the_name_of_its_rdma_device() -> None:
    shape, option = "server.dgx-h100.8", "--move-ib-interfaces=false"
    with_interface, without = _published(DRANET, shape), _published(DRANET, shape, option)
    rails = [nic for nic in catalog().shapes[shape].nics if nic.pci]
    assert rails
    for nic in rails:
        name = f"pci-{nic.pci}".replace(":", "-").replace(".", "-")
        assert _values(with_interface[name])["dra.net/type"] == "ipoib"
        attributes = _values(without[name])
        assert attributes.get("dra.net/rdmaDevice") == nic.rdma_device
        assert not {"dra.net/ifName", "dra.net/type", "dra.net/mtu"} & set(attributes)


@each(
    ("text", "kept"),
    [
        (
            '"dra.net/pciAddress" in attributes && attributes["dra.net/pciAddress"].StringValue == "0000:0c:00.0"',
            ["rdma0"],
        ),
        # On an interface without the attribute the filter fails, and what it fails on is published.
        ('attributes["dra.net/pciAddress"].StringValue == "0000:0c:00.0"', ["rdma0", "veth-simulated"]),
        ('attributes["dra.net/mtu"].IntValue == 9000', ["eth1", "veth-simulated"]),
        ('attributes["dra.net/type"].StringValue == "veth"', ["veth-simulated"]),
    ],
)
def test_the_filter_keeps_what_it_holds_for_and_what_it_fails_on(text: str, kept: list[str]) -> None:
    published = _published(DRANET, H100, f"--filter={text}")
    assert sorted(_values(attributes)["dra.net/ifName"] for attributes in published.values()) == kept


def test_a_filter_that_is_not_read_here_is_said_and_nothing_is_published() -> None:
    with pytest.raises(PluginFailureError, match=r"--filter: .*is not read here"):
        _published(DRANET, H100, "--filter=attributes.exists(name, true)")


def test_an_older_driver_publishes_what_its_version_did() -> None:
    shape = _node(catalog().shapes[H100])
    old = devices_of_driver(DRIVERS[DRANET], _pod(DRANET, image="registry.k8s.io/networking/dranet:v1.0.0"), shape)
    assert not any("dra.net/isSriovVf" in device["attributes"] for device in old)


def test_virtual_functions_are_published_where_a_policy_selects_them_with_its_attributes() -> None:
    names = [
        _policy(
            "DeviceAttributes", "a", {"rail": "0"}, attributes={"k8s.cni.cncf.io/resourceName": {"string": "x/old"}}
        ),
        _policy(
            "DeviceAttributes",
            "b",
            {"rail": "0"},
            attributes={"k8s.cni.cncf.io/resourceName": {"string": "x/rail0"}, f"{SRIOV}/vfID": {"int": 77}},
        ),
    ]
    selected = {
        "deviceAttributesSelector": {"matchLabels": {"rail": "0"}},
        "resourceFilters": [{"pfNames": ["rdma0"], "vendors": ["15b3"], "linkType": "eth"}],
    }
    policies = (
        _policy("SriovResourcePolicy", "z", configs=[{"resourceFilters": [{"pfPciAddresses": ["0000:0c:00.1"]}]}]),
        _policy("SriovResourcePolicy", "b", configs=[selected]),
        _policy("SriovResourcePolicy", "c", configs=[{"resourceFilters": [{"linkType": "infiniband"}]}]),
        *names,
    )
    found = {name: _values(attributes) for name, attributes in _published(SRIOV, H100, policies=policies).items()}
    assert {name: attributes.get("k8s.cni.cncf.io/resourceName") for name, attributes in found.items()} == {
        "0000-0c-00-2": "x/rail0",
        "0000-0c-00-3": None,
    }
    first = found["0000-0c-00-2"]
    assert (first[f"{SRIOV}/vfID"], first[f"{SRIOV}/PFName"], first[f"{SRIOV}/pfDeviceID"]) == (0, "rdma0", "1021")
    assert _published(SRIOV, H100) == {}


@each(
    ("term", "count"),
    [
        ({"key": "pool", "operator": "In", "values": ["a", "b"]}, 16),
        ({"key": "pool", "operator": "NotIn", "values": ["a"]}, 0),
        ({"key": "pool", "operator": "Exists"}, 16),
        ({"key": "pool", "operator": "DoesNotExist"}, 0),
        ({"key": "other", "operator": "NotIn", "values": ["a"]}, 16),
    ],
)
def test_a_policy_counts_on_the_nodes_that_it_selects(term: Object, count: int) -> None:
    policy = _policy(
        "SriovResourcePolicy", "p", configs=[{}], nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    )
    node = _node(catalog().shapes[H100], {"pool": "a"})
    assert len(devices_of_driver(DRIVERS[SRIOV], _pod(SRIOV), node, [policy])) == count


def test_a_pool_has_as_many_slices_as_its_devices_need() -> None:
    shape = catalog().shapes[H100].model_copy(update={"vfs_per_nic": 10})
    annotations = machine_annotation(shape, machine_inventory([shape]), None)
    node = {"metadata": {"name": "gpu-0", "uid": UID, "labels": {}, "annotations": annotations}}
    devices = devices_of_driver(DRIVERS[SRIOV], _pod(SRIOV), node, [ALL_FUNCTIONS])
    slices = slices_of(SRIOV, node, devices, 3)
    assert [len(item["spec"]["devices"]) for item in slices] == [128, 32]
    assert {str(item["spec"]["pool"]) for item in slices} == {
        str({"name": "gpu-0", "generation": 3, "resourceSliceCount": 2})
    }
    assert len({item["metadata"]["name"] for item in slices}) == 2
    (empty,) = slices_of(SRIOV, node, [], 1)
    assert empty["spec"]["devices"] == []


class Kept:
    """A watched collection of a cluster that is not there."""

    def __init__(self, *items: Object) -> None:
        self.items: dict[str, Object] = {}
        self.changes = 0
        for item in items:
            self.put(item)

    def objects(self) -> dict[str, Object]:
        return dict(self.items)

    def version(self) -> int:
        return self.changes

    def put(self, item: Object) -> None:
        self.changes += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.changes)}
        self.items[metadata["name"]] = {**item, "metadata": metadata}

    def remove(self, name: str) -> None:
        self.changes += 1
        del self.items[name]


class Cluster:
    """One node with a driver's pod, and the publisher at work on it."""

    def __init__(self) -> None:
        self.nodes, self.pods, self.slices = Kept(_node(catalog().shapes[H100])), Kept(_pod(DRANET)), Kept()
        views = SimpleNamespace(
            nodes=self.nodes,
            operand_pods=self.pods,
            slices=self.slices,
            resource_policies=Kept(),
            device_attributes=Kept(),
        )
        writer = SimpleNamespace(
            write=lambda collection, item, present: collection.put(item),
            delete=lambda item: self.slices.remove(item["metadata"]["name"]),
        )
        self._publisher = ResourceSlices(views, writer, Complaints())  # type: ignore[arg-type]

    def looked_at(self, now: float) -> tuple[list[tuple[int, int]], float]:
        """Generation and number of devices of each slice when all is done, and when to look again."""
        before, due = -1, 0.0
        while before != self.slices.changes:
            before, due = self.slices.changes, self._publisher.reconcile(now)
        specs = [item["spec"] for item in self.slices.objects().values()]
        return [(spec["pool"]["generation"], len(spec["devices"])) for spec in specs], due


def test_a_pod_of_nvidias_chart_publishes_what_its_containers_do() -> None:
    channel = {"channel-0": {"type": {"string": "channel"}, "id": {"int": 0}}}
    daemon = {"daemon-0": {"type": {"string": "daemon"}, "id": {"int": 0}}}
    assert _published(COMPUTE_DOMAIN, H100) == channel | daemon
    cluster = Cluster()
    for operand, names, slices in (
        (COMPUTE_DOMAIN, ["compute-domains"], [(1, 2)]),
        (NVIDIA_GPU, ["compute-domains", "gpus"], [(1, 2), (1, 8)]),
        (NVIDIA_GPU, ["gpus"], [(1, 8)]),
    ):
        pod = _pod(operand)
        pod["spec"]["containers"] = [{"name": name, "image": "x/dra-driver-nvidia-gpu:v0.4.1"} for name in names]
        cluster.pods.put(pod)
        cluster.looked_at(0)
        assert sorted(cluster.looked_at(WIPED_AFTER_S)[0]) == slices


def test_slices_come_with_the_drivers_pod_follow_the_node_and_are_withdrawn_some_time_after_the_pod() -> None:
    cluster = Cluster()
    assert cluster.looked_at(0) == ([(1, 33)], math.inf)

    without_functions = catalog().shapes[H100].model_copy(update={"vfs_per_nic": 0})
    cluster.nodes.put(_node(without_functions))
    assert cluster.looked_at(1) == ([(2, 17)], math.inf)

    # a pod that is only replaced leaves the devices where they are
    cluster.pods.remove("pod")
    assert cluster.looked_at(2) == ([(2, 17)], 2 + WIPED_AFTER_S)
    cluster.pods.put(_pod(DRANET))
    assert cluster.looked_at(3) == ([(2, 17)], math.inf)

    cluster.pods.put({**_pod(DRANET), "status": {"phase": "Pending"}})
    cluster.looked_at(4)
    assert cluster.looked_at(4 + WIPED_AFTER_S) == ([], math.inf)
    cluster.pods.put(_pod(DRANET))
    assert cluster.looked_at(9) == ([(1, 17)], math.inf)


def test_a_slice_that_somebody_deletes_comes_back_and_a_driver_that_fails_leaves_its_devices() -> None:
    cluster = Cluster()
    cluster.looked_at(0)
    cluster.slices.remove("gpu-0-dra.net-0")
    assert cluster.looked_at(1) == ([(1, 33)], math.inf)
    cluster.pods.put(_pod(DRANET, "--filter=attributes.exists(name, true)"))
    assert cluster.looked_at(2) == ([(1, 33)], math.inf)
