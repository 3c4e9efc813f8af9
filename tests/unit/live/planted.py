"""What a cluster may have that stands in a plan's way: a row each, with the rule that must find it.

What is planted is written as such clusters have it (manifests and charts of the projects), not from the plan.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.plan.tenants import OF_CLASS
from sandbox.hardware.node_records import devices_on
from sandbox.hardware.sriov import observed_interfaces
from tests.support.played_cluster import PULUMI, Object, PlayedCluster
from tests.support.resource_slices import CLASSES, COLLECTION, device_class, gpu, nic, resource_slice, virtual_function

DEPLOYMENTS, DAEMON_SETS = "apis/apps/v1/deployments", "apis/apps/v1/daemonsets"
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NETWORKS = "apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
POOLS = "apis/nv-ipam.nvidia.com/v1alpha1/ippools"
STATES = "apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"
NODE_POLICIES = "apis/sriovnetwork.openshift.io/v1/sriovnetworknodepolicies"
WEBHOOKS = "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MUTATING = "apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SLICES = "apis/discovery.k8s.io/v1/endpointslices"
ADMISSION = "apis/admissionregistration.k8s.io/v1"
NODES = "api/v1/nodes"
FEATURE = "feature.node.kubernetes.io"
Plant = Callable[[PlayedCluster], object]
Changes = dict[str, dict[str, Any]]


class Planted(NamedTuple):
    """What is planted in words, the rule that must find it, how; in a cluster of which stack, with which changes."""

    what: str
    rule: str
    plant: Plant
    stack: str = "dev"
    changes: Changes = {}


def workload(
    name: str, namespace: str, image: str, release: str = "", pods: tuple[int, int] = (1, 1), **labels: str
) -> Object:
    """A Deployment's or DaemonSet's manifest, with the state of its pods: wanted and ready."""
    annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}
    wanted, ready = pods
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()},
            "annotations": annotations if release else {},
        },
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}},
        "status": {"replicas": wanted, "readyReplicas": ready, "desiredNumberScheduled": wanted, "numberReady": ready},
    }


def operator(name: str, namespace: str, image: str, release: str = "", collection: str = DEPLOYMENTS) -> Plant:
    """An operator by Helm, in a namespace that somebody created."""

    def plant(cluster: PlayedCluster) -> None:
        cluster.namespace(namespace)
        cluster.add(collection, workload(name, namespace, image, release), "helm")

    return plant


def expects(*installed: str, **cluster: Any) -> Changes:
    """A stack file that says what the cluster has."""
    return {"cluster": {"installed": list(installed), **cluster}}


def definition(plural: str, group: str, *versions: str, release: str = "", **metadata: Any) -> Plant:
    """A definition of a kind that serves these versions."""

    def plant(cluster: PlayedCluster) -> None:
        owner = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "networking"}
        item = {
            "metadata": {"name": f"{plural}.{group}", "annotations": owner if release else {}, **metadata},
            "spec": {"group": group, "versions": [{"name": version, "served": True} for version in versions]},
            "status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": list(versions)},
        }
        cluster.add(DEFINITIONS, item, "helm")

    return plant


def custom(collection: str, name: str, spec: Object, namespace: str | None = None, **metadata: Any) -> Plant:
    """An object that somebody applied."""

    def plant(cluster: PlayedCluster) -> None:
        place = {} if namespace is None else {"namespace": namespace}
        cluster.add(collection, {"metadata": {"name": name, **place, **metadata}, "spec": spec})

    return plant


def policy_of_a_plane(owner: str) -> Plant:
    """A policy as the Spectrum-X operator makes it of a SpectrumXRailPoolConfig."""
    spec = {"resourceName": "rail2p1", "nicSelector": {"pfNames": ["eth_p1_r2"]}}
    labels = {"spectrumx.nvidia.com/owner-name": owner}
    return custom(NODE_POLICIES, "rail2p1", spec, "nvidia-network-operator", labels=labels)


def network(name: str, namespace: str, resource: str | None = None, **ipam: Any) -> Plant:
    """A network of Multus."""
    config = {"cniVersion": "0.3.1", "type": "macvlan", "master": "eth1", "ipam": ipam}
    annotations = {"k8s.v1.cni.cncf.io/resourceName": resource} if resource else {}
    return custom(NETWORKS, name, {"config": json.dumps(config)}, namespace, annotations=annotations)


def on_a_node(change: Callable[[Object], object]) -> Plant:
    """A change of one node with GPUs."""
    return lambda cluster: change(cluster.nodes[1])


def on_all_nodes(change: Callable[[Object], object]) -> Plant:
    """A change of every node with GPUs."""
    return lambda cluster: [change(node) for node in cluster.nodes]


def label(key: str, value: str) -> Callable[[Object], object]:
    return lambda node: node["metadata"]["labels"].update({key: value})


def unlabel(key: str) -> Callable[[Object], object]:
    return lambda node: node["metadata"]["labels"].pop(key)


def taint(key: str, effect: str = "NoSchedule") -> Callable[[Object], object]:
    return lambda node: node["spec"]["taints"].append({"key": key, "value": "", "effect": effect})


def info(key: str, value: str) -> Callable[[Object], object]:
    return lambda node: node["status"]["nodeInfo"].update({key: value})


def runtime(text: str, kubelet: str = "v1.35.2") -> Callable[[Object], object]:
    """A container runtime, and the kubelet of the distribution that it comes with."""
    return lambda node: node["status"]["nodeInfo"].update(containerRuntimeVersion=text, kubeletVersion=kubelet)


RKE2 = on_all_nodes(runtime("containerd://2.1.5-k3s1", "v1.35.2+rke2r1"))
K3S = on_all_nodes(runtime("containerd://2.1.5-k3s1", "v1.35.2+k3s1"))
K0S = on_all_nodes(runtime("containerd://2.1.5", "v1.35.2+k0s"))
GKE = on_all_nodes(runtime("containerd://2.1.5", "v1.35.2-gke.1000"))
EKS = on_all_nodes(runtime("containerd://2.1.5", "v1.35.2-eks-1a2b3c"))


def of_eks(node: Object) -> None:
    """A node of Amazon EKS, with EFA."""
    runtime("containerd://2.1.5", "v1.35.2-eks-1a2b3c")(node)
    node["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "p5.48xlarge"


def microk8s(node: Object) -> None:
    """A node of MicroK8s, which is recognised by its label."""
    runtime("containerd://1.7.27")(node)
    node["metadata"]["labels"]["microk8s.io/cluster"] = "true"


def openshift(node: Object) -> None:
    """A node of OpenShift, which is recognised by its system."""
    runtime("cri-o://1.35.1-3.rhaos4.22", "v1.35.2+aba1e8d")(node)
    node["status"]["nodeInfo"]["osImage"] = "Red Hat Enterprise Linux CoreOS 422.94.202607081958-0"


NO_TOOLKIT: Changes = {"software": {"gpuOperator": {"toolkit": False}}}
WITH_OWN_MULTUS = {"cluster": {"installed": ["multus"]}, "software": {"networkOperator": {"multus": False}}}
NO_RANGES: Changes = {"cluster": {"ranges": {}}}
K3S_FOLDERS = {"plugins": "/var/lib/rancher/k3s/data/cni", "networks": "/var/lib/rancher/k3s/agent/etc/cni/net.d"}


def offers(resource: str, amount: int) -> Callable[[Object], object]:
    def change(node: Object) -> None:
        for part in ("capacity", "allocatable"):
            node["status"][part][resource] = str(amount)

    return change


def without_a_node(cluster: PlayedCluster) -> None:
    cluster.objects[NODES].remove(cluster.nodes[0])


def with_another_node(cluster: PlayedCluster) -> None:
    twin = json.loads(json.dumps(cluster.nodes[0]))
    twin["metadata"]["name"] = "another-one"
    cluster.objects[NODES].append(twin)


def not_ready(node: Object) -> None:
    node["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]


def states(
    change: Callable[[list[Object]], object] = lambda _: None, status: str = "Succeeded", nodes: int = 99, **system: str
) -> Plant:
    """An SR-IOV operator of somebody's has looked at every node; the first ones' NICs may be others."""

    def plant(cluster: PlayedCluster) -> None:
        cluster.namespace("sriov")
        for number, node in enumerate(cluster.nodes):
            interfaces = [nic | {"totalvfs": 8} for nic in observed_interfaces(devices_on(node))]
            if number < nodes:
                change(interfaces)
            synced = status if number == 0 else "Succeeded"
            state = {"syncStatus": synced, "interfaces": interfaces, "system": system}
            name = node["metadata"]["name"]
            cluster.add(STATES, {"metadata": {"name": name, "namespace": "sriov"}, "status": state}, "sriov-daemon")

    return plant


def without_functions(interfaces: list[Object]) -> None:
    for interface in interfaces:
        interface.pop("numVfs", None)
        interface.pop("Vfs", None)


def guids(text: str) -> Callable[[list[Object]], object]:
    """Each NIC has one virtual function, with this GUID."""
    one = [{"vfID": 0, "pciAddress": "0000:18:00.1", "guid": text}]
    return lambda interfaces: [nic.update(totalvfs=1, numVfs=1, Vfs=one) for nic in interfaces]


def rail_nic(**fields: Any) -> Callable[[list[Object]], object]:
    """The NIC of the last rail, with other facts."""
    return lambda interfaces: interfaces[-1].update(fields)


def webhook(
    service: tuple[str, str] | None,
    ready: bool | None,
    resource: str = "pods",
    group: str = "",
    collection: str = WEBHOOKS,
    **fields: Any,
) -> Plant:
    """A webhook about a kind; its service has an endpoint that is ready, one that is not, or none."""

    def plant(cluster: PlayedCluster) -> None:
        client = (
            {"service": dict(zip(("namespace", "name"), service, strict=True))} if service else {"url": "https://x"}
        )
        rule = {"operations": ["CREATE", "UPDATE"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}
        hook = {
            "name": "validate.example.org",
            "failurePolicy": "Fail",
            "clientConfig": client,
            "rules": [rule],
            **fields,
        }
        cluster.add(collection, {"metadata": {"name": "engine"}, "webhooks": [hook]}, "helm")
        if service and ready is not None:
            named = {"kubernetes.io/service-name": service[1]}
            metadata = {"name": f"{service[1]}-x7z", "namespace": service[0], "labels": named}
            ends = [{"addresses": ["10.244.0.9"], "conditions": {"ready": ready}}]
            cluster.add(SLICES, {"metadata": metadata, "endpoints": ends}, "kube-controller-manager")

    return plant


def critical_quota(namespace: str) -> Plant:
    """A quota for pods of system classes, as GKE has one in kube-system."""
    row = {
        "operator": "In",
        "scopeName": "PriorityClass",
        "values": ["system-node-critical", "system-cluster-critical"],
    }
    spec = {"hard": {"pods": "1G"}, "scopeSelector": {"matchExpressions": [row]}}
    return custom("api/v1/resourcequotas", "gcp-critical-pods", spec, namespace)


def policy(cluster: PlayedCluster) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["daemonsets"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
    cluster.add(f"{ADMISSION}/validatingadmissionpolicies", {"metadata": {"name": "no-daemons"}, "spec": spec})
    binding = {"policyName": "no-daemons", "validationActions": ["Deny"]}
    cluster.add(f"{ADMISSION}/validatingadmissionpolicybindings", {"metadata": {"name": "everywhere"}, "spec": binding})


def api_service(cluster: PlayedCluster) -> None:
    conditions = [{"type": "Available", "status": "False", "message": "no endpoints for metrics-server"}]
    item = {"metadata": {"name": "v1beta1.metrics.k8s.io"}, "status": {"conditions": conditions}}
    cluster.add("apis/apiregistration.k8s.io/v1/apiservices", item, "helm")


def enforce(name: str, profile: str) -> Plant:
    def plant(cluster: PlayedCluster) -> None:
        labels = cluster.find("api/v1/namespaces", name)["metadata"]["labels"]
        labels["pod-security.kubernetes.io/enforce"] = profile

    return plant


def relabelled(cluster: PlayedCluster) -> None:
    cluster.namespace("gpu-operator", PULUMI, pod_security__x="")
    enforce("gpu-operator", "restricted")(cluster)


def terminating(name: str) -> Plant:
    def plant(cluster: PlayedCluster) -> None:
        cluster.namespace(name)["status"]["phase"] = "Terminating"

    return plant


def release_of_this_name(cluster: PlayedCluster) -> None:
    operator("gpu-operator", "gpu-operator", "nvcr.io/nvidia/gpu-operator:v25.10.0", "gpu-operator")(cluster)


def going(cluster: PlayedCluster) -> None:
    deleted = {"deletionTimestamp": "2026-05-05T10:00:00Z", "finalizers": ["nv-ipam.nvidia.com/ippool"]}
    pool = {"subnet": "192.168.0.0/20", "perNodeBlockSize": 1}
    item = {"metadata": {"name": "rail-00", "namespace": "nvidia-network-operator", **deleted}, "spec": pool}
    cluster.add(POOLS, item, PULUMI)


def pod_ranges(text: str) -> Callable[[Object], object]:
    return lambda node: node["spec"].update(podCIDR=text, podCIDRs=[text])


def address(text: str) -> Callable[[Object], object]:
    return lambda node: node["status"]["addresses"][0].update(address=text)


def denies(kind: str) -> Plant:
    return lambda cluster: cluster.denied.add(kind)


def hides(path: str) -> Plant:
    return lambda cluster: cluster.forbidden.add(path)


def version(text: str) -> Plant:
    return lambda cluster: setattr(cluster, "version", text)


def publishes(driver: str, *devices: Object, generation: int = 1, of: int = 1) -> Plant:
    """A DRA driver has published devices of every node with GPUs."""

    def plant(cluster: PlayedCluster) -> None:
        for node in cluster.nodes:
            item = resource_slice(driver, node["metadata"]["name"], list(devices), generation, of)
            cluster.add(COLLECTION, item, "dranet")

    return plant


def dra_daemon(name: str, image: str, container: str = "main", **selector: str) -> Plant:
    """The DaemonSet of a DRA driver."""

    def plant(cluster: PlayedCluster) -> None:
        item = workload(name, "kube-system", image)
        item["spec"]["template"]["spec"]["containers"][0]["name"] = container
        item["spec"]["template"]["spec"]["nodeSelector"] = selector
        cluster.add(DAEMON_SETS, item, "helm")

    return plant


def every(*plants: Plant) -> Plant:
    return lambda cluster: [plant(cluster) for plant in plants]


DRANET, DRA_GPU = "registry.k8s.io/networking/dranet:v1.4.0", "nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.0"
SRIOV_DRA = "sriovnetwork.k8snetworkplumbingwg.io"
BY_CLAIMS: Changes = {"fabric": {"devices": "claims"}}
CLOSES_RAILS: Changes = {"fabric": {"readiness": {"closes": "rail"}}}
FROM_DRANET: Changes = {"upgrade": {"fromManager": "dranet"}}
RAIL_0, IN_A_POD = nic("0000:0c:00.0", "rdma0"), nic("0000:18:00.0")
NO_RAIL, FUNCTION = nic("0000:9a:00.0", "eth2"), virtual_function("0000:18:00.2", "0000:18:00.0", "eth0")
GPU, NIC = "nvcr.io/nvidia/gpu-operator:v25.10.0", "nvcr.io/nvidia/cloud-native/network-operator:v25.7.0"
NFD = "registry.k8s.io/nfd/node-feature-discovery:v0.17.3"
MULTUS = "ghcr.io/k8snetworkplumbingwg/multus-cni:v4.2.0-thick"


def openshift_cluster(cluster: PlayedCluster) -> None:
    """Nodes of OpenShift, and its Multus."""
    on_all_nodes(openshift)(cluster)
    operator("multus", "openshift-multus", MULTUS, collection=DAEMON_SETS)(cluster)
    definition("network-attachment-definitions", "k8s.cni.cncf.io", "v1")(cluster)


SRIOV_PLUGIN = "ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v3.9.0"
SRIOV_DP = operator("sriov-dp", "plug-ins", SRIOV_PLUGIN, collection=DAEMON_SETS)
OWN_MULTUS = operator("multus", "cni", MULTUS, collection=DAEMON_SETS)
SHARED_PLUGIN = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3"


def pool(**fields: Any) -> Changes:
    """A stack file whose pool of three nodes has these fields."""
    return {"cluster": {"pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3, **fields}]}}


NAMED = pool(nodeNames=["a", "b", "c"])
LABELLED = pool(nodeNames=["a", "b", "c"], labels={"team": "red"})
TAINTED = pool(taints=[{"key": "gpu", "value": "yes"}])
NRI = {"software": {"gpuOperator": {"values": {"cdi": {"nriPluginEnabled": True}}}}}
NO_CDI: Changes = {"software": {"gpuOperator": {"cdi": False}}}
NRI_UNSTATED: Changes = {"fabric": {"claims": {"sizes": ["node", "pair"], "gpus": "claims"}}}
K0S_ROOT = "/var/lib/k0s/kubelet"
K0S_WITH_GPUS: Changes = {
    "software": {"gpuOperator": {"toolkit": False, "values": {"hostPaths": {"kubeletRootDir": K0S_ROOT}}}}
}
OWN_CLASS = {"priorityClassName": "gpu-software"}
SOCKET = {"name": "CONTAINERD_SOCKET", "value": "/run/k3s/containerd/containerd.sock"}

PLANTED = (
    # The cluster itself.
    Planted("an old server", "PRE001", version("v1.19.16"), changes={"software": {"charts": "bundled"}}),
    Planted(
        "a server that no vendor tests",
        "PRE002",
        version("v1.37.0"),
        "host-device",
        # Of the newest line no limit is known.
        {"software": {"charts": "upstream", "releaseLine": "26.4"}},
    ),
    Planted("another version than stated", "PRE003", version("v1.34.1"), changes=expects(kubernetes="1.33")),
    Planted("a kubelet of long ago", "PRE004", on_a_node(info("kubeletVersion", "v1.30.4"))),
    Planted("a kubelet ahead of the server", "PRE004", on_a_node(info("kubeletVersion", "v1.36.0"))),
    # Software.
    Planted("a GPU Operator by hand", "PRE010", operator("gpu-operator", "nvidia", GPU)),
    Planted("an SR-IOV operator", "PRE010",
        operator("sriov-network-operator", "sriov", "ghcr.io/k8snetworkplumbingwg/sriov-network-operator:v1.6.0"),
        "sriov-operator"),
    Planted("the same release", "PRE011", release_of_this_name),
    Planted("a Multus of the distribution", "PRE012", OWN_MULTUS),
    Planted("a Node Feature Discovery", "PRE013", operator("nfd-master", "node-feature-discovery", NFD)),
    Planted("an SR-IOV device plug-in", "PRE014", SRIOV_DP),
    Planted("a shared device plug-in", "PRE014", operator("rdma-dp", "plug-ins", SHARED_PLUGIN, collection=DAEMON_SETS),
        "roce-macvlan"),
    Planted("no cert-manager", "PRE015", lambda _: None, changes=expects("cert-manager")),
    Planted("a discovery that is too old", "PRE016",
        operator("nfd-master", "discovery", "registry.k8s.io/nfd/node-feature-discovery:v0.14.0"),
        changes={**expects("nfd"), "software": {"gpuOperator": {"featureDiscovery": False}}}),
    Planted("a cert-manager that does not run", "PRE017",
        lambda cluster: cluster.add(DEPLOYMENTS,
            workload("cert-manager", "kube-system", "quay.io/jetstack/cert-manager-controller:v1.18.0", pods=(2, 0))),
        changes=expects("cert-manager")),
    # Definitions.
    Planted("an old definition of pools", "PRE020", definition("ippools", "nv-ipam.nvidia.com", "v1alpha0")),
    Planted("a definition that is going", "PRE021",
        definition("ippools", "nv-ipam.nvidia.com", "v1alpha1", deletionTimestamp="2026-05-05T10:00:00Z")),
    Planted("networks defined by another release", "PRE022",
        definition("network-attachment-definitions", "k8s.cni.cncf.io", "v1", release="cni-bundle")),
    Planted("a Multus without its kind", "PRE023", OWN_MULTUS,
        changes={**expects("multus"), "software": {"networkOperator": {"multus": False}}}),
    Planted("no controller for the taint", "PRE024", lambda cluster: None,
        changes={"fabric": {"readiness": {"taint": "node-readiness-controller"}}}),
    Planted("a Prometheus operator without its kind", "PRE023",
        operator("prometheus-operator", "monitoring", "quay.io/prometheus-operator/prometheus-operator:v0.82.0"),
        changes={**expects("prometheus-operator"), "monitoring": {"prometheusRules": True}}),
    # Objects.
    Planted("a network of this name", "PRE030", network("rail-00", "default")),
    Planted("a pool that is going", "PRE031", going),
    Planted("a NicClusterPolicy", "PRE032",
        custom("apis/mellanox.com/v1alpha1/nicclusterpolicies", "nic-cluster-policy", {"ofedDriver": {}})),
    Planted("a network that an operator would write", "PRE033", network("rail-00", "default"), "sriov-operator"),
    Planted("a network of a plane's name", "PRE033", network("rail2p1", "default"), "planes-swplb"),
    Planted("a network with these devices", "PRE034", network("storage", "default", "nvidia.com/rail_05")),
    Planted("a node policy for a rail's NIC", "PRE035",
        custom(NODE_POLICIES, "mine",
            {"resourceName": "mine", "numVfs": 4, "nicSelector": {"rootDevices": ["0000:0c:00.1"]}}, "sriov")),
    Planted("a node policy by an interface's name", "PRE035",
        custom(NODE_POLICIES, "mine", {"resourceName": "mine", "nicSelector": {"pfNames": ["rdma3#0-3"]}}, "sriov")),
    Planted("a node policy of rails that another wrote", "PRE035", policy_of_a_plane("theirs"), "planes-swplb"),
    # Namespaces.
    Planted("an operator's namespace", "PRE040", lambda cluster: cluster.namespace("gpu-operator")),
    Planted("a namespace of jobs that the stack creates", "PRE040", lambda cluster: cluster.namespace("training"),
        "kueue"),
    Planted("a namespace that is going", "PRE041", terminating("nvidia-network-operator")),
    Planted("strict Pod Security for jobs", "PRE042", enforce("default", "restricted")),
    Planted("no namespace for jobs", "PRE043", lambda _: None, changes={"fabric": {"namespaces": ["research"]}}),
    Planted("Pod Security changed since the last up", "PRE044", relabelled),
    Planted("a quota below one pod", "PRE045",
        custom("api/v1/resourcequotas", "gpus", {"hard": {"requests.nvidia.com/gpu": "4"}}, "default")),
    Planted("a quota below one pod's claim", "PRE045",
        custom("api/v1/resourcequotas", "nics", {"hard": {f"fabric-nics{OF_CLASS}": "4"}}, "default"),
        "dranet-infiniband"),
    Planted("a quota on an operator's memory", "PRE046",
        custom("api/v1/resourcequotas", "memory", {"hard": {"limits.memory": "64Gi"}}, "gpu-operator")),
    Planted("limits by default", "PRE047",
        custom("api/v1/limitranges", "small", {"limits": [{"type": "Container", "default": {"memory": "512Mi"}}]},
            "default")),
    Planted("a quota for pods of system classes, as on GKE", "PRE048", critical_quota("kube-system")),
    # Nodes.
    Planted("a node less", "PRE050", without_a_node),
    Planted("a node more", "PRE051", with_another_node),
    Planted("no node of a name", "PRE052", lambda cluster: cluster.objects[NODES].remove(cluster.find(NODES, "b")),
        changes=NAMED),
    Planted("nodes without their label", "PRE053", on_all_nodes(unlabel("team")), changes=LABELLED),
    Planted("a node without its taint", "PRE054", on_a_node(lambda node: node["spec"].update(taints=[])),
        changes=TAINTED),
    Planted("half the GPUs", "PRE055", on_all_nodes(offers("nvidia.com/gpu", 4))),
    Planted("four pods for a GPU", "PRE066", on_all_nodes(offers("nvidia.com/gpu", 32))),
    Planted("a broken GPU", "PRE062", on_a_node(offers("nvidia.com/gpu", 7))),
    Planted("a node without its label", "PRE062", on_a_node(unlabel("team")), changes=LABELLED),
    Planted("a node with a broken NIC", "PRE062", states(lambda nics: nics.pop(), nodes=1)),
    Planted("a taint of somebody's", "PRE056", on_all_nodes(taint("reserved-for", "NoExecute"))),
    Planted("a node of another type by its name", "PRE057",
        on_a_node(label("node.kubernetes.io/instance-type", "BM.GPU.A100-v2.8")), changes=NAMED),
    Planted("a node that is not ready", "PRE058", on_a_node(not_ready)),
    Planted("a cordoned node", "PRE059", on_a_node(lambda node: node["spec"].update(unschedulable=True))),
    Planted("mixed kernels", "PRE061", on_a_node(info("kernelVersion", "6.8.0-1013-oracle"))),
    Planted("RDMA mode shared", "PRE063", states(rdmaMode="shared")),
    Planted("RKE2's containerd", "PRE064", RKE2),
    Planted("K3s's folders", "PRE111", K3S, changes=NO_TOOLKIT),
    Planted("GKE's folders", "PRE111", GKE),
    Planted("K3s's folders, on nodes of GKE", "PRE111", GKE, changes={"cluster": {"cniFolders": K3S_FOLDERS}}),
    Planted("the usual folders stated for GKE", "PRE111", GKE, changes={"cluster": {"cniFolders": {}}}),
    Planted("K3s's folders, on nodes of EKS", "PRE111", EKS, changes={"cluster": {"cniFolders": K3S_FOLDERS}}),
    Planted("MicroK8s's folders", "PRE111", on_all_nodes(microk8s), changes=NO_TOOLKIT),
    Planted("OpenShift's folder", "PRE111", openshift_cluster, changes=WITH_OWN_MULTUS),
    Planted("k0s's kubelet", "PRE112", K0S, changes=NO_TOOLKIT),
    Planted("a containerd without CDI", "PRE065", on_all_nodes(runtime("containerd://1.6.39"))),
    Planted("CRI-O with the NRI plug-in", "PRE065", on_all_nodes(runtime("cri-o://1.34.2")), changes=NRI),
    Planted("a containerd without NRI", "PRE149", on_all_nodes(runtime("containerd://1.6.39")), "dranet-infiniband",
        NO_CDI),
    Planted("one without NRI, and functions by claims", "PRE149", on_all_nodes(runtime("containerd://1.6.39")),
        "sriov-operator", {**BY_CLAIMS, **NO_CDI}),
    Planted("NRI off by default", "PRE149", on_all_nodes(runtime("containerd://1.7.27")), "dranet-infiniband",
        NRI_UNSTATED),
    Planted("NRI off on Talos", "PRE149", on_all_nodes(info("osImage", "Talos (v1.13.2)")), "dranet-infiniband",
        NRI_UNSTATED),
    Planted("k0s's kubelet, and DRANET in the usual folder", "PRE112", K0S, "dranet-infiniband", K0S_WITH_GPUS),
    # Their cloud.
    Planted("nodes of another cloud than the profile's", "PRE147", on_all_nodes(runtime("containerd://2.1.5")),
        "eks-efa"),
    Planted("EFA by the plug-in and by claims", "PRE146", publishes("dra.net", nic("0000:10:00.0")), "eks-efa"),
    Planted("EKS without its profile", "PRE148", on_all_nodes(of_eks), "ib-sriov"),
    # Their NICs.
    Planted("a plug-in that offers the rails", "PRE070", on_all_nodes(offers("nvidia.com/rail_00", 1))),
    Planted("no NIC of a rail", "PRE072", states(lambda nics: nics.pop())),
    Planted("firmware with few virtual functions", "PRE085", states(rail_nic(totalvfs=4)), "sriov-operator"),
    Planted("firmware with more", "PRE085", states(rail_nic(totalvfs=16)), "sriov-operator"),
    Planted("firmware without SR-IOV", "PRE085", states(lambda nics: nics[-1].pop("totalvfs")), "sriov-operator"),
    Planted("another maker's few functions", "PRE073", states(rail_nic(totalvfs=4, vendor="14e4")), "sriov-operator"),
    Planted("another maker's none", "PRE073", states(rail_nic(totalvfs=0, vendor="14e4")), "sriov-operator"),
    Planted("no virtual functions", "PRE074", states(without_functions)),
    Planted("a port in InfiniBand's mode", "PRE075", states(rail_nic(linkType="IB"))),
    Planted("a small MTU", "PRE076", states(rail_nic(mtu=1500))),
    Planted("a small MTU where none is stated", "PRE088", states(rail_nic(mtu=1500)), "host-device"),
    Planted("functions without a GUID", "PRE086", states(guids("00:00:00:00:00:00:00:00")), "ib-sriov"),
    Planted("an interface of another name", "PRE087", states(rail_nic(name="ens9np0")), "roce-macvlan"),
    Planted("another driver", "PRE077", states(rail_nic(driver="vfio-pci"))),
    Planted("NICs that discovery does not see", "PRE078", on_all_nodes(label(f"{FEATURE}/pci-10de.present", "true"))),
    Planted("a node that the operator could not configure", "PRE079", states(status="Failed")),
    # Ranges.
    Planted("pods in the fabric's range", "PRE080", on_a_node(pod_ranges("192.168.7.0/24")), changes=NO_RANGES),
    Planted("Calico's pods in the fabric's range", "PRE080",
        custom("apis/crd.projectcalico.org/v1/ippools", "default-ipv4-ippool", {"cidr": "192.168.0.0/16"}),
        changes=NO_RANGES),
    Planted("services in the fabric's range", "PRE081",
        custom("apis/networking.k8s.io/v1/servicecidrs", "more", {"cidrs": ["192.168.128.0/20"]}), changes=NO_RANGES),
    Planted("a node in the fabric's range", "PRE082", on_a_node(address("192.168.4.7")), changes=NO_RANGES),
    Planted("a pool of nv-ipam", "PRE083", custom(POOLS, "storage", {"subnet": "192.168.64.0/18"}, "storage")),
    Planted("a network of Whereabouts", "PRE083",
        network("old", "research", type="whereabouts", range="192.168.3.0/24")),
    Planted("a pool of Spiderpool", "PRE083",
        custom("apis/spiderpool.spidernet.io/v2beta1/spiderippools", "v4", {"subnet": "192.168.200.0/24", "ips": []})),
    Planted("pods in another range than stated", "PRE084", on_a_node(pod_ranges("10.7.3.0/24"))),
    # Admission.
    Planted("a webhook whose service is gone", "PRE090", webhook(("policy", "engine"), None)),
    Planted("a mutating webhook on DaemonSets, not ready", "PRE090",
        webhook(("policy", "engine"), False, "daemonsets", "apps", MUTATING)),
    Planted("a policy engine", "PRE091", webhook(("policy", "engine"), True)),
    Planted("a policy engine elsewhere", "PRE091", webhook(None, None)),
    Planted("an admission policy", "PRE092", policy),
    Planted("an API that does not answer", "PRE093", api_service),
    # Permissions.
    Planted("no permission for definitions", "PRE100", denies("customresourcedefinitions")),
    Planted("no permission to see webhooks", "PRE101", hides(f"/{WEBHOOKS}")),
    # DRA drivers.
    Planted("DRANET that hands out a rail's NIC", "PRE140", publishes("dra.net", RAIL_0)),
    Planted("DRANET, a NIC of which is in a pod", "PRE140", publishes("dra.net", IN_A_POD), "host-device"),
    Planted("DRANET on nodes of GKE", "PRE140",
        every(publishes("dra.net", RAIL_0), on_all_nodes(label("cloud.google.com/gke-networking-dra-driver", "true")))),
    Planted("EFA's class", "PRE140",
        every(publishes("dra.net", RAIL_0),
            lambda cluster: cluster.add(CLASSES, device_class("efa.networking.k8s.aws")))),
    Planted("virtual functions of a rail's NIC by claim", "PRE140", publishes(SRIOV_DRA, FUNCTION), "sriov-operator"),
    Planted("a driver that nobody knows", "PRE140", publishes("nic.example.com", RAIL_0)),
    Planted("GPUs by claim and by a device plug-in", "PRE141", publishes("gpu.nvidia.com", gpu(0, "0000:0f:00.0"))),
    Planted("a DRANET that has published nothing", "PRE142", dra_daemon("dranet", DRANET)),
    Planted("a GPU driver that has published nothing", "PRE142", dra_daemon("nvidia-dra", DRA_GPU, "gpus")),
    Planted("a plug-in for NICs that pods claim", "PRE143", SRIOV_DP, "dranet-infiniband"),
    Planted("a plug-in for virtual functions that pods claim", "PRE143", SRIOV_DP, "sriov-operator", BY_CLAIMS),
    Planted("slices that may not be read", "PRE101", every(publishes("dra.net", RAIL_0), hides(f"/{COLLECTION}"))),
    Planted("plug-ins on nodes that waves have not reached, and no waves any more", "PRE145",
        every(on_all_nodes(label(WAY_LABEL, "plugin")), SRIOV_DP), "dranet-infiniband"),
    Planted("claims on a node that waves have not taken back, and no waves any more", "PRE145",
        every(lambda cluster: label(WAY_LABEL, "claims")(cluster.nodes[0]), publishes("dra.net", IN_A_POD)),
        "host-device"),
    Planted("rails to close without the kind for it", "PRE144", lambda _: None, "dranet-infiniband", CLOSES_RAILS),
    # The network.
    Planted("Cilium alone", "PRE110",
        lambda cluster: cluster.add("api/v1/configmaps",
            {"metadata": {"name": "cilium-config", "namespace": "kube-system"}, "data": {"cni-exclusive": "true"}})),
)  # fmt: skip

HARMLESS = (
    Planted("a node policy of the stack's own rails", "PRE035", policy_of_a_plane("gpu-fabric"), "planes-swplb"),
    Planted("AMD's Network Operator, whose image has the same name", "PRE010",
        operator("amd-network-operator-network-operator-charts-controller-manager", "kube-amd-network",
            "docker.io/rocm/network-operator:v1.2.0")),
    Planted("AMD's GPU Operator, whose image has the same name", "PRE010",
        operator("amd-gpu-operator-gpu-operator-charts-controller-manager", "kube-amd-gpu",
            "docker.io/rocm/gpu-operator:v1.5.1")),
    Planted("the namespace has its own quota", "PRE048",
        lambda cluster: [critical_quota(name)(cluster) for name in ("kube-system", "gpu-operator")]),
    Planted("the quota is for another namespace", "PRE048", critical_quota("monitoring")),
    Planted("another class", "PRE048", critical_quota("kube-system"),
        changes={"software": {"gpuOperator": {"values": {"operator": OWN_CLASS, "daemonsets": OWN_CLASS}}}}),
    Planted("the socket is stated", "PRE064", RKE2,
        changes={"software": {"gpuOperator": {"values": {"toolkit": {"env": [SOCKET]}}}}}),
    Planted("the NRI plug-in needs no socket", "PRE064", RKE2, changes=NRI),
    Planted("K3s's folders are stated", "PRE111", K3S, changes={"cluster": {"cniFolders": K3S_FOLDERS}, **NO_TOOLKIT}),
    Planted("K3s with another network plug-in, whose usual folders are stated", "PRE111", K3S,
        changes={"cluster": {"cniFolders": {}}, **NO_TOOLKIT}),
    Planted("EKS has the usual folders", "PRE111", EKS),
    Planted("RKE2 has them as well", "PRE111", RKE2, changes=NO_TOOLKIT),
    Planted("OpenShift's folder is stated", "PRE111", openshift_cluster,
        changes={**WITH_OWN_MULTUS,
            "cluster": {"installed": ["multus"], "cniFolders": {"plugins": "/var/lib/cni/bin"}}}),
    Planted("K3s with another containerd", "PRE064", on_all_nodes(runtime("containerd://2.1.5", "v1.35.2+k3s1"))),
    Planted("containerd with CDI", "PRE065", on_all_nodes(runtime("containerd://1.7.27"))),
    Planted("CRI-O", "PRE065", on_all_nodes(runtime("cri-o://1.34.2"))),
    Planted("NRI is stated", "PRE149", on_all_nodes(runtime("containerd://1.7.27")), "dranet-infiniband"),
    Planted("NRI by default", "PRE149", on_all_nodes(runtime("containerd://2.0.4")), "dranet-infiniband", NRI_UNSTATED),
    Planted("Talos with NRI", "PRE149", on_all_nodes(info("osImage", "Talos (v1.14.0)")), "dranet-infiniband",
        NRI_UNSTATED),
    Planted("no claims", "PRE149", on_all_nodes(runtime("containerd://1.7.27")), "host-device"),
    Planted("k0s's kubelet is stated", "PRE112", K0S, "dranet-infiniband",
        {"software": {**K0S_WITH_GPUS["software"], "dranet": {"values": {"kubeletRootDir": K0S_ROOT}}}}),
    Planted("without CDI", "PRE065", on_all_nodes(runtime("containerd://1.6.39")),
        changes=NO_CDI),
    Planted("partitions", "PRE066",
        on_all_nodes(
            lambda node: (offers("nvidia.com/gpu", 56)(node), label("nvidia.com/mig.config", "all-1g.10gb")(node)))),
    Planted("sharing by the stack's own plug-in", "PRE066", on_all_nodes(offers("nvidia.com/gpu", 32)),
        changes={"software": {"gpuOperator": {"values": {"devicePlugin": {"config": {"name": "sharing"}}}}}}),
    Planted("functions with a GUID", "PRE086", states(guids("02:00:00:00:00:00:00:01")), "ib-sriov"),
    Planted("a second name of the interface", "PRE087",
        states(lambda nics: nics[-1].update(altNames=[nics[-1]["name"]], name="ens9np0")), "roce-macvlan"),
    Planted("a large MTU", "PRE088", states(rail_nic(mtu=9000)), "host-device"),
    Planted("a NIC that is no rail", "PRE140", publishes("dra.net", NO_RAIL)),
    Planted("rails to close with it", "PRE144",
        lambda cluster: cluster.add("apis/resource.k8s.io/v1beta2/devicetaintrules",
            {"metadata": {"name": "others"}, "spec": {}}),
        "dranet-infiniband", CLOSES_RAILS),
    Planted("DRANET, from which waves take the nodes", "PRE140", publishes("dra.net", IN_A_POD), "host-device",
        FROM_DRANET),
    Planted("nodes that waves take back", "PRE145",
        every(on_all_nodes(label(WAY_LABEL, "claims")), publishes("dra.net", IN_A_POD)), "host-device", FROM_DRANET),
    Planted("labels of a change that is over", "PRE145", on_all_nodes(label(WAY_LABEL, "plugin")), "dranet-infiniband"),
    Planted("DRANET's filter leaves the rails out", "PRE142",
        every(dra_daemon("dranet", DRANET), publishes("dra.net", NO_RAIL))),
    Planted("a filter since then", "PRE140",
        every(publishes("dra.net", RAIL_0), publishes("dra.net", NO_RAIL, generation=2))),
    Planted("virtual functions that the SR-IOV operator's driver hands out for the stack", "PRE140",
        publishes(SRIOV_DRA, FUNCTION), "sriov-operator", BY_CLAIMS),
    Planted("the operator's own plug-in, which it takes away", "PRE143",
        operator("sriov-device-plugin", "kube-system", SRIOV_PLUGIN, collection=DAEMON_SETS), "sriov-operator",
        BY_CLAIMS),
    Planted("DRANET on other nodes", "PRE142", dra_daemon("dranet", DRANET, pool="storage")),
    Planted("DRANET before Kubernetes 1.34", "PRE142", every(dra_daemon("dranet", DRANET), version("v1.33.4"))),
    Planted("ComputeDomains alone", "PRE142", dra_daemon("nvidia-dra", DRA_GPU, "compute-domains")),
)  # fmt: skip
"""What is no difference, and the rule that could take it for one."""
