"""What changes in a cluster after `up`: a row each, with the rule that must find it."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from lived_in_clusters import NETWORKS, RESOURCE, SECRETS, LivedInCluster, Object, manager, record_of

from gpu_fabric.k8s.names import FABRIC_READY
from gpu_fabric.plan import Plan
from tests.support.resource_slices import COLLECTION, gpu, nic, resource_slice, virtual_function

DAEMON_SETS, CONFIG_MAPS = "apis/apps/v1/daemonsets", "api/v1/configmaps"
POLICIES = "apis/mellanox.com/v1alpha1/nicclusterpolicies"
IP_POOLS, CIDR_POOLS = "apis/nv-ipam.nvidia.com/v1alpha1/ippools", "apis/nv-ipam.nvidia.com/v1alpha1/cidrpools"
NODE_POLICIES = "apis/sriovnetwork.openshift.io/v1/sriovnetworknodepolicies"
STATES = "apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"
RANGES = "apis/whereabouts.cni.cncf.io/v1alpha1/ippools"
RESERVATIONS = "apis/whereabouts.cni.cncf.io/v1alpha1/overlappingrangeipreservations"
SPIDER_POOLS = "apis/spiderpool.spidernet.io/v2beta1/spiderippools"
ENDPOINTS = "apis/spiderpool.spidernet.io/v2beta1/spiderendpoints"
Changes = dict[str, dict[str, Any]]


class Changed(NamedTuple):
    """What is changed in words, the rule that must find it, how; in a cluster of which stack, with which file."""

    what: str
    rule: str
    change: Callable[[LivedInCluster, Plan], object]
    stack: str = "dev"
    changes: Changes = {}
    seen: str = ""


def first(collection: str, change: Callable[[Object], object]) -> Callable[[LivedInCluster, Plan], object]:
    """A change of the first object of a collection."""
    return lambda cluster, plan: change(cluster.objects[collection][0])


def without(collection: str) -> Callable[[LivedInCluster, Plan], object]:
    """The first object of a collection is deleted."""
    return lambda cluster, plan: cluster.objects[collection].pop(0)


def by(name: str, fields: dict[str, Any], change: Callable[[Object], object]) -> Callable[[Object], object]:
    """A change by a client, with the fields that the API server notes as the client's."""

    def written(item: Object) -> None:
        change(item)
        item["metadata"]["managedFields"].append(manager(name, fields))

    return written


def of_chart(change: Callable[[Object], object]) -> Callable[[LivedInCluster, Plan], object]:
    """A change of the container of the played chart's DaemonSet."""

    def written(cluster: LivedInCluster, plan: Plan) -> None:
        item = next(item for item in cluster.objects[DAEMON_SETS] if item["metadata"]["name"].endswith("-part"))
        change(item["spec"]["template"]["spec"]["containers"][0])

    return written


def record(**changes: Any) -> Callable[[LivedInCluster, Plan], object]:
    """Helm's newest record of the first release says something else."""

    def written(cluster: LivedInCluster, plan: Plan) -> None:
        release = plan.releases[0]
        more = {"config": {**release.values, **changes["config"]}} if "config" in changes else {}
        cluster.add(SECRETS, record_of(release, version=4, **{**changes, **more}), "helm")

    return written


def published(change: Callable[[list[Object]], object]) -> Callable[[LivedInCluster, Plan], object]:
    """What DRANET and the GPU driver publish of every node, of the first one with a change of its NICs."""

    def written(cluster: LivedInCluster, plan: Plan) -> None:
        for number, node in enumerate(cluster.nodes):
            name, nics = node["metadata"]["name"], [nic(str(rail.pci)) for rail in plan.rails]
            if number == 0:
                change(nics)
            cluster.add(COLLECTION, resource_slice("dra.net", name, nics), "dranet")
            gpus = [gpu(index, f"0000:{index + 1:02x}:00.0") for index in range(8)]
            cluster.add(COLLECTION, resource_slice("gpu.nvidia.com", name, gpus), "driver")

    return written


def published_functions(cluster: LivedInCluster, plan: Plan) -> None:
    """The SR-IOV driver publishes a virtual function of every rail but the last."""
    functions = [virtual_function(f"0000:{rail.index:02x}:01.0", str(rail.pci), "") for rail in plan.rails]
    for node in cluster.nodes:
        item = resource_slice("sriovnetwork.k8snetworkplumbingwg.io", node["metadata"]["name"], functions[:-1])
        cluster.add(COLLECTION, item, "driver")


def pod(name: str, node: str = "gpu-0", namespace: str = "default") -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"nodeName": node}}


def whereabouts(**pods: str) -> Callable[[LivedInCluster, Plan], object]:
    """Whereabouts' record of a range: addresses by their places, of pods."""

    def written(cluster: LivedInCluster, plan: Plan) -> None:
        subnet = str(plan.addresses.pools[0].subnet)
        rows = {place.removeprefix("at_"): {"id": "c0ffee", "podref": name} for place, name in pods.items()}
        metadata = {"name": subnet.replace("/", "-"), "namespace": "kube-system"}
        cluster.add(RANGES, {"metadata": metadata, "spec": {"range": subnet, "allocations": rows}}, "whereabouts")
        cluster.add("api/v1/pods", pod("alive"), "kubectl")

    return written


def reservation(name: str) -> Callable[[LivedInCluster, Plan], object]:
    def written(cluster: LivedInCluster, plan: Plan) -> None:
        address = str(plan.addresses.pools[0].subnet[9])
        metadata = {"name": address, "namespace": "kube-system"}
        cluster.add(RESERVATIONS, {"metadata": metadata, "spec": {"podref": name}}, "whereabouts")

    return written


def full(cluster: LivedInCluster, plan: Plan) -> None:
    whereabouts()(cluster, plan)
    count = int(plan.addresses.pools[0].available.count * 0.95)
    rows = {str(place): {"id": "c0ffee", "podref": "default/alive"} for place in range(1, count + 1)}
    cluster.objects[RANGES][0]["spec"]["allocations"] = rows


def spiderpool(pod_name: str, endpoint: str = "", used: int = 1) -> Callable[[LivedInCluster, Plan], object]:
    """Spiderpool's record of a pool, and the endpoint of a pod."""

    def written(cluster: LivedInCluster, plan: Plan) -> None:
        pool = cluster.objects[SPIDER_POOLS][0]
        address = str(pool["spec"]["ips"][0]).partition("-")[0]
        held = json.dumps({address: {"pod": pod_name, "podUid": "1"}})
        pool["status"] = {"allocatedIPs": held, "totalIPCount": 100, "allocatedIPCount": used}
        cluster.add("api/v1/pods", pod("alive"), "kubectl")
        if endpoint:
            namespace, _, name = pod_name.partition("/")
            item = {"metadata": {"name": name, "namespace": namespace}, "status": {"ownerControllerType": endpoint}}
            cluster.add(ENDPOINTS, item, "spiderpool-agent")

    return written


def endpoint_alone(cluster: LivedInCluster, plan: Plan) -> None:
    item = {"metadata": {"name": "gone", "namespace": "default"}, "status": {"ownerControllerType": "Job"}}
    cluster.add(ENDPOINTS, item, "spiderpool-agent")


OVERDUE = "2026-06-01T03:20:00Z"
"""Before this time the SR-IOV operator should have deleted states that it keeps for a while."""


def stale_state(kept_until: str | None) -> Callable[[LivedInCluster, Plan], object]:
    def written(cluster: LivedInCluster, plan: Plan) -> None:
        kept = {} if kept_until is None else {"sriovnetwork.openshift.io/keep-state-until": kept_until}
        metadata = {"name": "gpu-lost", "namespace": "nvidia-network-operator", "annotations": kept}
        cluster.add(STATES, {"metadata": metadata, "status": {"syncStatus": "Succeeded"}}, "sriov-network-operator")

    return written


def condition(status: str) -> Callable[[LivedInCluster, Plan], object]:
    entry = {"type": FABRIC_READY, "status": status, "reason": "LinkDown", "message": "rail 3 has no link"}
    return lambda cluster, plan: cluster.nodes[0]["status"]["conditions"].append(entry)


def offers(resource: int, amount: str) -> Callable[[LivedInCluster, Plan], object]:
    def written(cluster: LivedInCluster, plan: Plan) -> None:
        name = [rail.resource_name for rail in plan.rails][resource]
        for part in ("capacity", "allocatable"):
            cluster.nodes[0]["status"][part][name] = amount

    return written


def allocatable(gone: Callable[[str], bool]) -> Callable[[LivedInCluster, Plan], object]:
    """A node offers no device of these resources."""

    def written(cluster: LivedInCluster, plan: Plan) -> None:
        offered = cluster.nodes[0]["status"]["allocatable"]
        offered.update({name: "0" for name in offered if gone(name)})

    return written


NAMED: Changes = {
    "cluster": {"pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3, "nodeNames": ["a", "b", "c"]}]}
}
PER_NODE: Changes = {
    **NAMED,
    "fabric": {"addressing": {"layout": "per-node", "ipam": "nv-ipam", "supernet": "192.168.0.0/16"}},
}


def another_prefix(cluster: LivedInCluster, plan: Plan) -> None:
    rows = cluster.objects[CIDR_POOLS][0]["status"]["allocations"]
    row = next(row for row in rows if row["nodeName"] == "a")
    row["prefix"] = str(plan.addresses.pools[0].node_prefix(200))


def renamed(cluster: LivedInCluster, plan: Plan) -> None:
    twin = json.loads(json.dumps(cluster.nodes[0]))
    twin["metadata"]["name"] = "d"
    cluster.objects["api/v1/nodes"].append(twin)
    for pool in cluster.objects.get(IP_POOLS, ()):
        last = pool["status"]["allocations"][-1]
        pool["status"]["allocations"].append({**last, "nodeName": "d"})


def stale(cluster: LivedInCluster, plan: Plan) -> None:
    for pool in cluster.objects[IP_POOLS]:
        pool["status"]["allocations"].append({**pool["status"]["allocations"][-1], "nodeName": "gpu-lost"})


def without_share(cluster: LivedInCluster, plan: Plan) -> None:
    for pool in cluster.objects[IP_POOLS]:
        pool["status"]["allocations"] = [row for row in pool["status"]["allocations"] if row["nodeName"] != "gpu-1"]


POLICY_IMAGE = {"f:spec": {"f:sriovDevicePlugin": {"f:version": {}}}}
CHANGED = (
    # Objects of the plan.
    Changed("a pool is deleted", "DRI001", without(IP_POOLS), seen="missing"),
    Changed("a policy's device plug-in is edited", "DRI002",
        first(POLICIES,
            by("kubectl-edit", POLICY_IMAGE, lambda item: item["spec"]["sriovDevicePlugin"].update(version="v0"))),
        seen="by kubectl-edit at 2026-06-01T03:12:45Z"),
    Changed("an operator takes a section out of the policy", "DRI002",
        first(POLICIES, by("another-operator", {"f:metadata": {}}, lambda item: item["spec"].pop("nvIpam"))),
        seen="by another-operator at 2026-06-01T03:12:45Z"),
    Changed("a block is made smaller", "DRI002", first(IP_POOLS, lambda item: item["spec"].update(perNodeBlockSize=7)),
        seen="no other client is recorded"),
    Changed("a node policy gets fewer virtual functions", "DRI002",
        first(NODE_POLICIES, lambda item: item["spec"].update(numVfs=1)), "sriov-operator"),
    Changed("a network gets another plug-in", "DRI002",
        first(NETWORKS, lambda item: item["spec"].update(config=item["spec"]["config"].replace("macvlan", "ipvlan"))),
        "roce-macvlan"),
    Changed("a file of NCCL's is edited", "DRI002",
        first(CONFIG_MAPS, lambda item: item["data"].update({next(iter(item["data"])): "NCCL_DEBUG=TRACE\n"}))),
    Changed("an exclusion is added to a pool", "DRI003",
        first(IP_POOLS,
            by("kubectl-patch", {"f:spec": {"f:exclusions": {}}},
                lambda item: item["spec"].update(exclusions=[{"startIP": "192.168.0.9", "endIP": "192.168.0.99"}]))),
        seen="by kubectl-patch"),
    Changed("an operator's network is deleted", "DRI004", without(NETWORKS), "sriov-operator"),
    Changed("an operator's network gives another device", "DRI004",
        first(NETWORKS, lambda item: item["metadata"]["annotations"].update({RESOURCE: "nvidia.com/other"})),
        "sriov-operator"),
    Changed("another cluster", "DRI009",
        lambda cluster, plan: [cluster.objects.pop(name)
            for name in list(cluster.objects) if name != "api/v1/nodes" and not name.startswith("apis/networking")]),
    # Releases.
    Changed("a release is gone", "DRI010",
        lambda cluster, plan: cluster.objects.update({SECRETS: cluster.objects[SECRETS][1:]}), seen="missing"),
    Changed("a release is half way", "DRI010", record(info={"status": "pending-upgrade"}), seen="pending-upgrade"),
    Changed("a release is upgraded by hand", "DRI011", record(chart={"metadata": {"version": "v99.1.0"}}),
        seen="99.1.0"),
    Changed("a release gets a value by hand", "DRI012", record(config={"driver": {"enabled": "odd"}})),
    Changed("a release gets one more value", "DRI012", record(config={"more": {"password": "hunter2"}}), seen="more"),
    Changed("an object of a chart is deleted", "DRI013", without("api/v1/serviceaccounts"), seen="missing"),
    Changed("an image of a chart is changed", "DRI014", of_chart(lambda item: item.update(image="evil:1"))),
    Changed("a variable of a chart is changed", "DRI014",
        of_chart(lambda item: item["env"][0].update(value="letmein"))),
    Changed("a secret of a chart is changed", "DRI014",
        lambda cluster, plan: cluster.objects[SECRETS][1]["data"].update({"password": "bGV0bWVpbg=="})),
    # Addresses.
    Changed("a share of a node that is gone", "DRI020", stale, seen="gpu-lost"),
    Changed("a node without a share", "DRI021", without_share, seen="none for gpu-1"),
    Changed("a node with another prefix", "DRI022", another_prefix, changes=PER_NODE),
    Changed("a share outside of the pool", "DRI022",
        first(IP_POOLS, lambda item: item["status"]["allocations"][1].update(startIP="10.9.9.1", endIP="10.9.9.8"))),
    Changed("an address of a pod that is gone", "DRI023", whereabouts(at_3="default/gone", at_4="default/alive"),
        "whereabouts", seen="default/gone"),
    Changed("a reservation of a pod that is gone", "DRI023", reservation("default/gone"), "whereabouts"),
    Changed("an address of Spiderpool's leaks", "DRI024", spiderpool("default/gone"), "mi300x-macvlan",
        seen="default/gone"),
    Changed("an address of a Job's pod leaks", "DRI024", spiderpool("default/gone", "Job"), "mi300x-macvlan"),
    Changed("an endpoint leaks", "DRI024", endpoint_alone, "mi300x-macvlan"),
    Changed("a range is nearly full", "DRI025", full, "whereabouts"),
    Changed("a pool of Spiderpool's is nearly full", "DRI025", spiderpool("default/alive", used=90), "mi300x-macvlan",
        seen="90 of 100"),
    Changed("a node under a new name", "DRI026", renamed, changes=NAMED, seen="d"),
    Changed("a state of a node that is gone", "DRI027", stale_state(None), "sriov-operator", seen="gpu-lost"),
    Changed("one kept too long", "DRI027", stale_state("2026-06-01T03:19:59Z"), "sriov-operator", seen="gpu-lost"),
    Changed("one that is kept", "DRI028", stale_state("2026-06-01T03:42:45Z"), "sriov-operator", seen="gpu-lost"),
    # Nodes.
    Changed("a plug-in offers none of a rail", "DRI030", offers(5, "0"), seen="0"),
    Changed("the GPUs' plug-in is gone", "DRI030", allocatable(lambda name: name == "nvidia.com/gpu"), seen="0"),
    Changed("no plug-in runs on a node", "DRI030", allocatable(lambda name: name.startswith("nvidia.com/")), seen="0"),
    Changed("a NIC that did not come back from a pod", "DRI032",
        published(lambda nics: nics[0]["attributes"].update({"dra.net/rdma": {"bool": False}})), "dranet-infiniband",
        seen="false"),
    Changed("a NIC that a filter leaves out", "DRI032", published(lambda nics: nics.pop()), "dranet-infiniband"),
    Changed("a rail without virtual functions", "DRI032", published_functions, "sriov-operator",
        {"fabric": {"devices": "claims"}}, seen="devices"),
    Changed("a node that failed its check", "DRI031", condition("False"), seen="False, LinkDown"),
    # What `preflight` finds too.
    Changed("a cordoned node", "PRE059", lambda cluster, plan: cluster.nodes[0]["spec"].update(unschedulable=True)),
    Changed("a node less", "PRE050", lambda cluster, plan: _less(cluster)),
)  # fmt: skip


def _less(cluster: LivedInCluster) -> None:
    name = cluster.nodes[-1]["metadata"]["name"]
    cluster.objects["api/v1/nodes"].remove(cluster.nodes[-1])
    for pool in cluster.objects[IP_POOLS]:
        pool["status"]["allocations"] = [row for row in pool["status"]["allocations"] if row["nodeName"] != name]
