"""What a cluster's objects say besides the machine: ranges, taints, labels, versions, NVIDIA's records of NICs."""

import json
from typing import Any

import pytest
import yaml

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.stack_file import Discovered, StackFileOptions, stack_text
from gpu_fabric.spec.network_types import parse_network
from tests.support.cluster_objects import nic_device, node_and_state, objects, simulated_nodes
from tests.support.resource_slices import SRIOV, gpu, nic, resource_slice, virtual_function

Object = dict[str, Any]


def found_in(items: list[Object], group: str | None = None) -> Discovered:
    return discovered(read_files({"objects.json": objects(items).encode()}, {}, group), catalog())


def stack_of(items: list[Object], group: str | None = None, wishes: StackFileOptions | None = None) -> str:
    return stack_text(found_in(items, group), wishes or StackFileOptions()).text


def config_of(text: str) -> Any:
    return yaml.safe_load(text)["config"]


def nodes_of(shape: str = "BM.GPU.H100.8") -> list[Object]:
    """Three GPU nodes, a CPU node, and what the SR-IOV operator saw."""
    return simulated_nodes(shape)


def each_node(items: list[Object]) -> list[Object]:
    return [item for item in items if item["kind"] == "Node"]


# Ranges


def test_the_range_of_pods_is_the_smallest_that_has_the_ranges_of_all_nodes_and_to_be_checked() -> None:
    items = nodes_of()
    for number, node in enumerate(each_node(items)):
        node["spec"]["podCIDRs"] = [f"10.244.{number}.0/24", f"fd00:{number}::/64"]
    text = stack_of(items)

    assert config_of(text)["gpu-fabric:cluster"]["ranges"] == {"pods": "10.244.0.0/22"}
    assert "# pods: CHOOSE: the cluster's whole range; the podCIDRs of 4 nodes are in this part of it" in text


def test_the_range_of_pods_is_not_known_where_a_node_has_none() -> None:
    items = nodes_of()
    each_node(items)[0]["spec"]["podCIDRs"] = ["10.244.0.0/24"]
    text = stack_of(items)

    assert "ranges" not in config_of(text)["gpu-fabric:cluster"]
    assert (
        "# ranges: {pods: …, services: …, nodes: …}  # CHOOSE: what the cluster uses; nodes have 10.0.10.1 to" in text
    )


def test_ranges_are_those_of_kubeadm_and_of_the_kubernetes_service() -> None:
    networking = "networking: {podSubnet: '10.32.0.0/12,fd00::/56', serviceSubnet: 10.97.0.0/16}\n"
    items = [
        *nodes_of(),
        {"kind": "ConfigMap", "metadata": {"name": "kubeadm-config"}, "data": {"ClusterConfiguration": networking}},
        {"kind": "ServiceCIDR", "metadata": {"name": "more"}, "spec": {"cidrs": ["10.99.0.0/16"]}},
        {"kind": "ServiceCIDR", "metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["fd01::/108", "10.98.0.0/16"]}},
    ]
    text = stack_of(items)

    assert 'ranges: {pods: "10.32.0.0/12", services: "10.98.0.0/16"}  # pods: as kubeadm' in text
    assert 'services: "10.97.0.0/16"' in stack_of(items[:-1])


def test_a_range_that_the_user_states_comes_first() -> None:
    items = nodes_of()
    for number, node in enumerate(each_node(items)):
        node["spec"]["podCIDRs"] = [f"10.244.{number}.0/24"]
    text = stack_of(items, wishes=StackFileOptions(ranges={"pods": parse_network("10.244.0.0/16")}))

    assert '    ranges: {pods: "10.244.0.0/16"}\n' in text


def test_the_supernet_is_outside_of_the_nodes_addresses_and_of_the_ranges_that_were_seen() -> None:
    items = nodes_of()
    for number, node in enumerate(each_node(items)):
        node["spec"]["podCIDRs"] = [f"172.16.{number}.0/24"]
        node["status"]["addresses"][0]["address"] = f"172.24.7.{number + 1}"

    assert "supernet: 10.224.0.0/16" in stack_of(items)


# Nodes


def test_the_version_of_all_nodes_is_the_clusters() -> None:
    items = nodes_of()
    for node in each_node(items):
        node["status"]["nodeInfo"]["kubeletVersion"] = "v1.34.2-gke.100"

    assert config_of(stack_of(items))["gpu-fabric:cluster"]["kubernetes"] == "1.34"
    each_node(items)[-1]["status"]["nodeInfo"]["kubeletVersion"] = "v1.33.1"
    assert "kubernetes" not in config_of(stack_of(items))["gpu-fabric:cluster"]


def test_taints_that_stacks_do_not_expect_are_written_without_those_of_a_nodes_state() -> None:
    items = nodes_of()
    for node in each_node(items):
        node["spec"]["taints"] += [
            {"key": "dedicated", "value": "train", "effect": "NoExecute"},
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
        ]
    pool = config_of(stack_of(items))["gpu-fabric:cluster"]["pools"][0]

    assert pool["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "dedicated", "value": "train", "effect": "NoExecute"},
    ]
    assert "taints" not in config_of(stack_of(nodes_of()))["gpu-fabric:cluster"]["pools"][0]


def test_a_group_beside_others_is_selected_by_a_label_of_its_own() -> None:
    items = [*nodes_of("BM.GPU.H100.8"), *(rename(item, "old") for item in nodes_of("BM.GPU4.8"))]
    old = config_of(stack_of(items, "2"))["gpu-fabric:cluster"]["pools"]

    assert old == [
        {"name": "gpu", "shape": "BM.GPU4.8", "nodes": 3, "labels": {"node.kubernetes.io/instance-type": "BM.GPU4.8"}}
    ]
    assert "labels" not in config_of(stack_of(nodes_of()))["gpu-fabric:cluster"]["pools"][0]


def rename(item: Object, prefix: str) -> Object:
    metadata = item["metadata"]
    name = f"{prefix}-{metadata['name']}"
    labels = {key: value for key, value in metadata.get("labels", {}).items() if "hostname" not in key}
    return {**item, "metadata": {**metadata, "name": name, "labels": labels}}


def test_nodes_that_are_not_ready_or_cordoned_are_counted_and_named() -> None:
    items = nodes_of()
    nodes = {node["metadata"]["name"]: node for node in each_node(items)}
    nodes["gpu-0"]["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    nodes["gpu-1"]["spec"]["unschedulable"] = True
    text = stack_of(items)

    assert "nodes: 3  # as the files list them" in text
    assert "# - gpu-1: cordoned, and counted among the nodes" in text
    assert "# - gpu-0: not ready, and counted among the nodes" in text


def test_a_link_that_is_down_on_one_node_makes_no_group_of_its_own() -> None:
    items = nodes_of()
    for item in items:
        if item["kind"] == "SriovNetworkNodeState":
            for interface in item["status"]["interfaces"]:
                interface["linkSpeed"] = "200000 Mb/s"
    down = next(item for item in items if item["kind"] != "Node" and item["metadata"]["name"] == "gpu-1")
    down["status"]["interfaces"][2]["linkSpeed"] = "-1 Mb/s"
    machine = found_in(items)

    assert machine.node.names == ("gpu-0", "gpu-1", "gpu-2")
    assert {nic.speed_gbps for nic in machine.node.nics} == {200}
    assert [note for note in machine.node.notes if note.startswith("no link at ")] == [
        f"no link at {down['status']['interfaces'][2]['pciAddress']} on gpu-1"
    ]


# The label of the machine type


def test_nodes_without_an_operator_are_the_machine_that_their_label_names() -> None:
    text = stack_of(each_node(nodes_of()))

    assert "shape: BM.GPU.H100.8\n" in text
    assert "PLEASE CHECK: the machine is the catalog's BM.GPU.H100.8 by its label" in text
    assert "# CHOOSE: model: host-device, macvlan, sriov" in text
    assert "model:" not in [line.split()[0] for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(("count", "said"), [("4", "number of GPUs: 4 instead of 8")])
def test_a_label_that_does_not_fit_what_is_seen_is_not_believed(count: str, said: str) -> None:
    items = nodes_of()
    for node in each_node(items):
        if "nvidia.com/gpu" in node["status"]["capacity"]:
            node["status"]["capacity"]["nvidia.com/gpu"] = count
    text = " ".join(line.lstrip("# ") for line in stack_of(items).splitlines())

    assert f"PLEASE CHECK: the label node.kubernetes.io/instance-type says BM.GPU.H100.8, but: {said}" in text
    assert "shapes: " in text


def test_a_cluster_with_nvidias_policy_is_remarked() -> None:
    items = [*nodes_of(), {"kind": "NicClusterPolicy", "metadata": {"name": "nic-cluster-policy"}}]

    assert "NVIDIA's Network Operator with NicClusterPolicy nic-cluster-policy" in " ".join(
        stack_of(items).replace("#", " ").split()
    )


# NicDevices


def devices_of_nodes(shape: Shape, nodes: list[Object]) -> list[Object]:
    ports = [(str(nic.pci), str(nic.interface), f"mlx5_{rail}") for rail, nic in enumerate(shape.nics)]
    return [nic_device(node["metadata"]["name"], [port]) for node in nodes for port in ports]


def test_nvidias_records_alone_place_the_nics_and_name_their_devices() -> None:
    shape = catalog().shapes["BM.GPU.H100.8"]
    node = node_and_state(shape, "gpu-0")[0]
    fields = found_in([node, *devices_of_nodes(shape, [node])]).machine.fields

    assert [(row["pci"], row["interface"], row["rdmaDevice"]) for row in fields["nics"]] == [
        (nic.pci, nic.interface, f"mlx5_{rail}") for rail, nic in enumerate(shape.nics)
    ]
    assert fields["nicModel"]["deviceId"] == "1021"


def test_nvidias_records_and_the_sriov_operators_states_are_the_same_nics() -> None:
    shape = catalog().shapes["BM.GPU.H100.8"]
    items = node_and_state(shape, "gpu-0")
    machine = found_in([*items, *devices_of_nodes(shape, items[:1])])

    assert [nic.rdma_device for nic in machine.choice.rails] == [f"mlx5_{rail}" for rail in range(len(shape.nics))]
    assert machine.machine.fields["nicModel"]["linkType"] == "ether"
    assert machine.machine.fields["vfsPerNic"] == 1


def refusal(text: str, group: str | None = None) -> str:
    with pytest.raises(DiscoveryError) as refused:
        discovered(read_files({"objects.json": text.encode()}, {}, group), catalog())
    return str(refused.value)


def test_labels_of_feature_discovery_name_the_gpus() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
    items = node_and_state(catalog().shapes["BM.GPU.H100.8"], "gpu-0", labels=labels)

    assert found_in(items).machine.fields["gpus"] == {
        "vendor": "nvidia", "model": "H100", "count": 8, "memoryGb": 80,
    }  # fmt: skip


def test_the_label_counts_gpus_where_the_resource_counts_shares_of_them() -> None:
    items = node_and_state(catalog().shapes["BM.GPU.H100.8"], "gpu-0", labels={"nvidia.com/gpu.count": "8"})
    items[0]["status"]["capacity"]["nvidia.com/gpu"] = "32"

    assert found_in(items).machine.fields["gpus"]["count"] == 8


# Groups

MIXED = [
    *node_and_state(catalog().shapes["BM.GPU.H100.8"], "train-0"),
    *node_and_state(catalog().shapes["BM.GPU.H100.8"], "train-1"),
    *node_and_state(catalog().shapes["BM.GPU4.8"], "old-0"),
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cpu-0"}, "status": {"capacity": {"cpu": "8"}}},
]


def test_several_groups_are_told_with_their_nodes_and_one_is_chosen_by_its_number() -> None:
    said = refusal(objects(MIXED))

    assert "objects.json: 2 groups of nodes; name one by its number with --group" in said
    assert "  1: 8 x GPUs of nvidia, " in said
    assert said.splitlines()[1].endswith(": old-0")
    assert said.splitlines()[2].endswith(": train-0, train-1")
    assert found_in(MIXED, "2").node.names == ("train-0", "train-1")
    assert "no group '3'; --group is one of:" in refusal(objects(MIXED), group="3")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"apiVersion": "v1", "items": [', "objects.json:1: this is not valid JSON"),
        ('{"apiVersion": "v1", "items": [7]}', "objects.json:1: this is not a list of objects"),
        ('{"apiVersion": "v1", "items": []}', "objects.json:1: no node with GPUs is among these objects"),
        ('{"apiVersion": "v1", "kind": "Node", "metadata": 7}', "no node with GPUs is among these objects"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused_with_the_command(text: str, said: str) -> None:
    assert said in refusal(text)
    assert "kubectl get nodes,sriovnetworknodestates" in refusal(text)


@pytest.mark.parametrize("wrong", [None, 7, [], {}, "x", [None], [[7]], True, 10**40, -1])
def test_fields_of_other_types_are_taken_as_not_stated(wrong: Any) -> None:
    items = json.loads(objects(node_and_state(catalog().shapes["BM.GPU.H100.8"], "gpu-0")))["items"]
    state = items[1]["status"]
    for entry, key in zip(
        state["interfaces"],
        ("pciAddress", "name", "vendor", "deviceID", "linkType", "mtu", "Vfs", "linkSpeed"),
        strict=False,
    ):
        entry[key] = wrong
    state["interfaces"].append(wrong)
    node = items[0]
    node["metadata"]["labels"] = {"nvidia.com/gpu.product": wrong, "nvidia.com/gpu.memory": wrong}
    node["spec"] = {"taints": wrong, "podCIDRs": wrong, "unschedulable": wrong}
    node["status"] |= {"conditions": wrong, "addresses": wrong, "nodeInfo": wrong}
    device = nic_device("gpu-0", [("0000:0c:00.0", "rdma0", "mlx5_0")])
    device["status"] = {"node": "gpu-0", "ports": wrong, "type": wrong}
    others = [
        {"kind": kind, "metadata": {"name": "kubernetes"}, "spec": wrong} for kind in ("ServiceCIDR", "ConfigMap")
    ]

    assert found_in([*items, device, *others]).machine.fields["gpus"]["count"] == 8


# ResourceSlices

RAILS = [nic("0000:1a:00.0", "rdma0", "pci0000:15"), nic("0000:3c:00.0", "rdma1", "pci0000:37")]
MANAGEMENT = nic("0000:9a:00.0", "eth0", "pci0000:97", rdma=False)
GPUS = [gpu(0, "0000:18:00.0", root="pci0000:15"), gpu(1, "0000:3a:00.0", root="pci0000:37")]


def bare_node(name: str) -> Object:
    """A node of which nothing but claims says that it has GPUs."""
    node, _ = node_and_state(catalog().shapes["BM.GPU.H100.8"], name)
    return {**node, "status": {**node["status"], "capacity": {}, "allocatable": {}}}


def published() -> list[Object]:
    """Two such nodes, and what DRANET and NVIDIA's driver publish of them."""
    names = ("gpu-0", "gpu-1")
    slices = [resource_slice("dra.net", name, [*RAILS, MANAGEMENT]) for name in names]
    slices += [resource_slice("gpu.nvidia.com", name, GPUS) for name in names]
    return [*map(bare_node, names), *slices]


def test_slices_alone_describe_a_machine_and_what_they_lack_is_said() -> None:
    text = stack_of(published())
    shape = config_of(text)["gpu-fabric:cluster"]["shapes"]["h100x2"]

    gpus = {"count": 2, "model": "H100", "vendor": "nvidia", "memoryGb": 80, "pci": ["0000:18:00.0", "0000:3a:00.0"]}
    assert shape["gpus"] == gpus
    assert [(row["pci"], row["interface"], row["nearestGpu"]) for row in shape["nics"]] == [
        ("0000:1a:00.0", "rdma0", 0),
        ("0000:3c:00.0", "rdma1", 1),
    ]
    model = {"vendorId": "15b3", "deviceId": "1021", "linkType": "ether"}
    assert (shape["mtu"], shape["nicModel"].items() >= model.items()) == (4220, True)
    assert "rails are NICs that share a PCI root with a GPU: without 0000:9a:00.0" in text
    assert "ResourceSlices state no link rate" in text


def test_a_nic_that_is_in_a_pod_makes_no_other_machine_of_its_node() -> None:
    items = published()
    items[2]["spec"]["devices"][0] = nic("0000:1a:00.0", None, "pci0000:15")

    assert config_of(stack_of(items)) == config_of(stack_of(published()))


def test_physical_functions_are_seen_by_their_published_virtual_ones_and_operators_know_more() -> None:
    functions = [virtual_function(f"0000:1a:00.{number}", "0000:1a:00.0", "rdma0") for number in (2, 3)]
    found = found_in(
        [bare_node("gpu-0"), resource_slice(SRIOV, "gpu-0", functions), resource_slice("gpu.nvidia.com", "gpu-0", GPUS)]
    )

    assert [(rail.pci, rail.interface) for rail in found.choice.rails] == [("0000:1a:00.0", "rdma0")]
    assert found.node.virtual_functions == 2
    assert stack_of([*nodes_of(), resource_slice("dra.net", "gpu-0", [])]) == stack_of(nodes_of())


def test_slices_of_an_unexpected_form_state_nothing() -> None:
    broken = [
        {"kind": "ResourceSlice", "spec": part} for part in (None, [], {"pool": 1, "devices": [1, {"attributes": []}]})
    ]

    assert stack_of([*nodes_of(), *broken]) == stack_of(nodes_of())
