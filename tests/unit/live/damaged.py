"""What is damaged in clusters and states as people have them: a row each, with the rule that must find it.

What is planted is written as Helm, Pulumi, Kubernetes and the operators write it, not from the code that judges.
"""

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Literal, NamedTuple

from gpu_fabric.live.state import Lock, StackState
from tests.support.played_cluster import PULUMI, Object, PlayedCluster
from tests.support.resource_slices import (
    CLAIMS,
    CLASSES,
    COLLECTION,
    TEMPLATES,
    claim,
    device_class,
    gpu,
    nic,
    request,
    resource_slice,
)

NOW = 1_800_000_000
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VALIDATING = "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SERVICES = "apis/apiregistration.k8s.io/v1/apiservices"
DEPLOYMENTS = "apis/apps/v1/deployments"
SECRETS = "api/v1/secrets"
URN = "urn:pulumi:dev::gpu-fabric::"
RELEASE = "kubernetes:helm.sh/v3:Release"
NAMESPACE = "kubernetes:core/v1:Namespace"
# A label of a node, an annotation of it: (operator's state of the driver upgrade).
GPU_STATE = "nvidia.com/gpu-driver-upgrade-state"
OFED_STATE = "nvidia.com/ofed-driver-upgrade-state"
WAIT = "network.nvidia.com/operator.mofed.wait"
SRIOV_STATE = "sriovnetwork.openshift.io/state"
CLUSTER_QUEUES = "clusterqueues.kueue.x-k8s.io"


@dataclass
class Scene:
    """A cluster and a state, to be damaged."""

    cluster: PlayedCluster
    resources: list[Object] = field(default_factory=list)
    pending: list[Object] = field(default_factory=list)
    locks: list[Lock] = field(default_factory=list)
    is_settled: bool = False

    @property
    def state(self) -> StackState:
        return StackState(tuple(self.resources), tuple(self.pending), tuple(self.locks))


Plant = Callable[[Scene], object]


class Planted(NamedTuple):
    """What is planted in words, the rule that must find it, how; whether it is mended, and without a question."""

    what: str
    rule: str
    plant: Plant
    is_mendable: bool = True
    is_own: bool = True
    stack: str = "dev"
    purpose: Literal["up", "destroy"] = "up"


def every(*plants: Plant) -> Plant:
    return lambda scene: [plant(scene) for plant in plants]


def revision(
    name: str, namespace: str, status: str, number: int = 1, age: int | None = 7200, manifest: str = ""
) -> Plant:
    """A record of Helm, as its driver for Secrets writes it."""

    def plant(scene: Scene) -> None:
        record = gzip.compress(json.dumps({"name": name, "manifest": manifest}).encode())
        labels = {"owner": "helm", "name": name, "status": status, "version": str(number)}
        if age is not None:
            labels["modifiedAt"] = str(NOW - age)
        secret = {
            "kind": "Secret",
            "type": "helm.sh/release.v1",
            "metadata": {"name": f"sh.helm.release.v1.{name}.v{number}", "namespace": namespace, "labels": labels},
            "data": {"release": base64.b64encode(base64.b64encode(record)).decode()},
        }
        scene.cluster.add(SECRETS, secret, "Helm")

    return plant


def resource(name: str, kind: str, inputs: Object | None = None) -> Object:
    return {"urn": f"{URN}{kind}::{name}", "type": kind, "inputs": inputs or {}}


def release(name: str, namespace: str) -> Object:
    return resource(name, RELEASE, {"name": name, "namespace": namespace})


def knows(*resources: Object) -> Plant:
    """The state has these resources, as it has its stack."""
    own = {"urn": f"{URN}pulumi:pulumi:Stack::gpu-fabric-dev", "type": "pulumi:pulumi:Stack"}
    return lambda scene: scene.resources.extend([own, *resources])


def interrupted(doing: str, entry: Object) -> Plant:
    return lambda scene: scene.pending.append({"type": doing, "resource": entry})


def lock(holder: Literal["runs", "gone", "unknown"]) -> Plant:
    return lambda scene: scene.locks.append(Lock("1b2c.json", "process 4711 of ada on build-3", holder))


def webhook(name: str, service: tuple[str, str], policy: str = "Fail") -> Plant:
    """A configuration that asks a Service about every pod that is created; what counts if it does not answer."""
    hook = {
        "name": f"pods.{name}.example",
        "failurePolicy": policy,
        "clientConfig": {"service": {"namespace": service[0], "name": service[1]}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
    }
    return lambda scene: scene.cluster.add(VALIDATING, {"metadata": {"name": name}, "webhooks": [hook]})


def operator(name: str, namespace: str, image: str, ready: int) -> Plant:
    """A Deployment of an operator with so many ready pods."""
    item = {
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": {"containers": [{"name": "manager", "image": image}]}}},
        "status": {"replicas": 1, "readyReplicas": ready} if ready else {"replicas": 1},
    }
    return lambda scene: scene.cluster.add(DEPLOYMENTS, item, "helm")


def definition(
    plural: str, group: str, kind: str, versions: dict[str, bool], stored: list[str], schema: Object | None = None
) -> Plant:
    """A definition with versions, each served or not; the last one is stored."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    item = {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": name,
                    "served": served,
                    "storage": name == list(versions)[-1],
                    "schema": {"openAPIV3Schema": schema or open_schema},
                }
                for name, served in versions.items()
            ],
        },
        "status": {"storedVersions": stored},
    }
    return lambda scene: scene.cluster.add(DEFINITIONS, item, "helm")


def deleted(collection: str, kind: str, name: str, *finalizers: str, namespace: str | None = None) -> Plant:
    """An object that is being deleted, and that finalizers hold."""
    place = {} if namespace is None else {"namespace": namespace}
    metadata = {"name": name, **place, "finalizers": list(finalizers), "deletionTimestamp": "2026-05-05T10:00:00Z"}
    return lambda scene: scene.cluster.add(collection, {"kind": kind, "metadata": metadata})


def on_a_node(change: Callable[[Object], object]) -> Plant:
    return lambda scene: change(scene.cluster.nodes[0])


def label(key: str, value: str) -> Plant:
    return on_a_node(lambda node: node["metadata"]["labels"].update({key: value}))


def note(key: str, value: str) -> Plant:
    return on_a_node(lambda node: node["metadata"].setdefault("annotations", {}).update({key: value}))


def cordoned(manager: str) -> Plant:
    """A node that a client has cordoned."""
    entry = {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:unschedulable": {}}}}

    def change(node: Object) -> None:
        node["spec"]["unschedulable"] = True
        node["metadata"]["managedFields"].append(entry)

    return on_a_node(change)


def pod(name: str, owner: Object, phase: str = "Running") -> Plant:
    """A pod on the first node, of an owner."""

    def plant(scene: Scene) -> None:
        metadata = {"name": name, "namespace": "training", "ownerReferences": [owner]}
        node = scene.cluster.nodes[0]["metadata"]["name"]
        item = {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}
        scene.cluster.add("api/v1/pods", item, "kube-controller-manager")

    return plant


def api_service(reason: str) -> Plant:
    condition = {"type": "Available", "status": "False", "reason": reason, "message": "as the aggregator says"}
    item = {"metadata": {"name": "v1beta1.metrics.example"}, "status": {"conditions": [condition]}}
    return lambda scene: scene.cluster.add(SERVICES, item)


def terminating(*conditions: tuple[str, str]) -> Plant:
    def plant(scene: Scene) -> None:
        item = scene.cluster.namespace("training")
        item["metadata"]["deletionTimestamp"] = "2026-05-05T10:00:00Z"
        rows = [{"type": name, "status": "True", "message": message} for name, message in conditions]
        item["status"] = {"phase": "Terminating", "conditions": rows}

    return plant


KUEUES = "kueue-validating-webhook-configuration", ("kueue-system", "kueue-webhook-service")
KUEUE_WEBHOOK = webhook(*KUEUES)
KINDS = "DaemonSet", "Deployment", "StatefulSet", "Job"
KNOWS_IT = knows(release("gpu-operator", "gpu-operator"))


def gpu_operator(status: str, number: int = 1, age: int | None = 7200, manifest: str = "") -> Plant:
    """Helm's record of the GPU Operator's release."""
    return revision("gpu-operator", "gpu-operator", status, number, age, manifest)


def kueue(ready: int) -> Plant:
    """Kueue's Deployment with so many ready pods."""
    return operator("kueue-controller-manager", "kueue-system", "registry.k8s.io/kueue/kueue:v0.19.2", ready)


GPU_OPERATOR = operator("gpu-operator", "gpu-operator", "nvcr.io/nvidia/gpu-operator:v26.3.3", 1)
FAILED_UPGRADE = every(GPU_OPERATOR, label(GPU_STATE, "upgrade-failed"))
NO_QUOTA = (
    'pods "gpu-operator-6d7f8c9b5-" is forbidden: insufficient quota to match these scopes: '
    "[{PriorityClass In [system-node-critical system-cluster-critical]}]"
)


# What the API server answers where it refuses a pod.
REFUSED_PODS = (
    NO_QUOTA,
    'pods "of-it-" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=10, limited: pods=10',
    'pods "of-it-" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    'admission webhook "validate.kyverno.svc-fail" denied the request: image is not signed',
    'pods "of-it-" is forbidden: error looking up service account',
)


def of_the_operator(kind: str, status: Object) -> Plant:
    """A Deployment or DaemonSet in the GPU Operator's namespace."""
    item = {"kind": kind, "metadata": {"name": "of-it", "namespace": "gpu-operator"}, "status": status}
    group = "batch" if kind == "Job" else "apps"
    return lambda scene: scene.cluster.add(f"apis/{group}/v1/{kind.lower()}s", item, "helm")


def event(reason: str, message: str, at: str) -> Plant:
    """What a controller reports of the DaemonSet."""
    item = {
        "metadata": {"name": f"of-it.{at}", "namespace": "gpu-operator"},
        "involvedObject": {"kind": "DaemonSet", "name": "of-it", "namespace": "gpu-operator"},
        "type": "Warning" if reason.startswith("Failed") else "Normal",
        "reason": reason,
        "message": message,
        "lastTimestamp": f"2026-05-05T{at}:00Z",
    }
    return lambda scene: scene.cluster.add("api/v1/events", item, "kube-controller-manager")


TAINTED = "0/5 nodes are available: 5 node(s) had untolerated taint(s). preemption: 0/5 nodes are available."
PULL = 'Failed to pull image "nvcr.io/nvidia/gpu-operator:v26.3.3": rpc error: code = Unknown desc = failed to'


def unready(pod_status: Object, *events: tuple[str, str], kind: str = "DaemonSet", **metadata: object) -> Plant:
    """A workload of the GPU Operator's namespace with a pod that is not ready, in its status and by its events."""
    counts = {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberReady": 1, "replicas": 1, "active": 1}

    def plant(scene: Scene) -> None:
        of_the_operator(kind, counts)(scene)
        spec = {"selector": {"matchLabels": {"app": "of-it"}}}
        scene.cluster.find(f"apis/{'batch' if kind == 'Job' else 'apps'}/v1/{kind.lower()}s", "of-it")["spec"] = spec
        place = {"name": "of-it-x2b7q", "namespace": "gpu-operator"}
        pod = {"kind": "Pod", "metadata": {**place, "labels": {"app": "of-it"}, **metadata}, "status": pod_status}
        scene.cluster.add("api/v1/pods", pod, "kubelet")
        for minute, (reason, message) in enumerate(events):
            item = {
                "metadata": {"name": f"of-it-x2b7q.{minute}", "namespace": "gpu-operator"},
                "involvedObject": {"kind": "Pod", **place},
                "type": "Normal" if reason == "Pulling" else "Warning",
                "reason": reason,
                "message": message,
                # As older and newer clients write the time of an event.
                "eventTime" if minute else "lastTimestamp": f"2026-05-05T10:{minute:02}:00Z",
            }
            scene.cluster.add("api/v1/events", item, "kubelet")

    return plant


def container(key: str = "containerStatuses", *, before: Object | None = None, **state: Object) -> Object:
    """A pod's status with one container in a state."""
    last = {"lastState": {"terminated": before}, "restartCount": 4} if before else {"restartCount": 0}
    return {"phase": "Pending", key: [{"name": "ctr", "ready": False, "state": state, **last}]}


def waiting(reason: str, message: str = "", key: str = "containerStatuses", before: Object | None = None) -> Object:
    return container(key, before=before, waiting={"reason": reason, **({"message": message} if message else {})})


def unscheduled(message: str, reason: str = "Unschedulable") -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"phase": "Pending", "conditions": [condition]}


BACK_OFF = 'Back-off pulling image "nvcr.io/nvidia/gpu-operator:v26.3.3"'
CREATING = waiting("ContainerCreating")
LONG_AGO = {"startedAt": "2026-05-05T10:00:00Z"}
SANDBOX = "Failed to create pod sandbox: rpc error: code = Unknown desc = "

# A pod's status and events as Kubernetes 1.36 and containerd 2 write them; the reason that is named, and what mends it.
UNREADY: tuple[tuple[Object, list[tuple[str, str]], str, str], ...] = (
    (waiting("ImagePullBackOff", BACK_OFF), [("Failed", f"{PULL} authorize: 401 Unauthorized")],
     "ImagePullBackOff", "software.imagePullSecrets"),
    (waiting("ErrImagePull", f"{PULL} pull: nvcr.io/x: not found"), [], "ErrImagePull", "no such image"),
    (waiting("ErrImagePull", f"{PULL} pull: dial tcp: lookup nvcr.io: no such host"), [],
     "ErrImagePull", "do not reach the registry"),
    (waiting("ErrImagePull", f"{PULL} pull: 429 Too Many Requests"), [], "ErrImagePull", "how often"),
    (waiting("ErrImagePull", f"{PULL} pull: x509: certificate signed by unknown authority"), [],
     "ErrImagePull", "do not trust"),
    (waiting("ImagePullBackOff", BACK_OFF), [], "ImagePullBackOff", "tries again by itself"),
    (waiting("ErrImageNeverPull"), [], "ErrImageNeverPull", "imagePullPolicy"),
    (waiting("InvalidImageName"), [], "InvalidImageName", "software.registries"),
    (waiting("CrashLoopBackOff", "back-off 5m0s restarting", before={"exitCode": 1, "reason": "Error"}), [],
     "CrashLoopBackOff", "kubectl logs -n gpu-operator of-it-x2b7q -c ctr --previous"),
    (waiting("CrashLoopBackOff", "back-off", "initContainerStatuses", {"exitCode": 137, "reason": "OOMKilled"}), [],
     "CrashLoopBackOff", "more memory"),
    (container(before={"exitCode": 2, "reason": "Error"}, terminated={"exitCode": 2, "reason": "Error"}), [],
     "CrashLoopBackOff", "--previous"),
    (waiting("CreateContainerConfigError", 'secret "ngc" not found'), [],
     "CreateContainerConfigError", "in namespace gpu-operator"),
    (waiting("RunContainerError", "nvidia-container-cli: initialization error: driver not loaded"), [],
     "RunContainerError", "nvidia-smi"),
    (waiting("CreateContainerError", "the sandbox has moved"), [], "CreateContainerError", "journalctl"),
    # The table of error texts knows more than the row for all texts of a reason.
    (waiting("CreateContainerError", 'failed to reserve container name "a": name is reserved for "0f"'), [],
     "CreateContainerError", "`gpu-fabric explain container-name-reserved` has more"),
    (CREATING, [("FailedCreatePodSandBox", f'{SANDBOX}no runtime for "nvidia" is configured')],
     "FailedCreatePodSandBox", "container toolkit"),
    (CREATING, [("FailedCreatePodSandBox", f'{SANDBOX}failed to find plugin "rdma" in path [/opt/cni/bin]')],
     "FailedCreatePodSandBox", "CNI plug-in is not in the folder"),
    ({"phase": "Pending"}, [("FailedCreatePodSandBox", f"{SANDBOX}plugin type multus failed (add)")],
     "FailedCreatePodSandBox", "log of its pod"),
    (CREATING, [("FailedPrepareDynamicResources", "Failed to prepare dynamic resources: prepare devices: x")],
     "FailedPrepareDynamicResources", "log of the driver's pod"),
    (waiting("PodInitializing"), [("FailedMount", 'MountVolume.SetUp failed for volume "c": configmap "c" not found')],
     "FailedMount", "in namespace gpu-operator"),
    (CREATING, [("FailedMount", "timed out"), ("FailedCreatePodSandBox", f"{SANDBOX}no runtime for x is configured")],
     "FailedCreatePodSandBox", "container toolkit"),
    (unscheduled(TAINTED), [], "Unschedulable", "kubectl taint nodes"),
    (unscheduled("0/5 nodes are available: 5 Insufficient cpu."), [], "Unschedulable", "room for it"),
    (unscheduled("0/5 nodes are available: 5 node(s) didn't match Pod's node affinity/selector."), [],
     "Unschedulable", "label the nodes"),
    (unscheduled(f"{TAINTED[:-1]}, 2 node(s) didn't match Pod's node affinity/selector."), [], "Unschedulable",
     "tolerates it; or label the nodes"),
    (unscheduled("0/5 nodes are available: 5 node(s) were unschedulable."), [], "Unschedulable", "scheduler says"),
    (unscheduled("Scheduling is blocked", "SchedulingGated"), [], "SchedulingGated", "schedulingGates"),
    (container(running=LONG_AGO), [("Unhealthy", "Readiness probe failed: connection refused")],
     "Unhealthy", "why its probe fails"),
    (container("initContainerStatuses", running=LONG_AGO), [], "InitContainerRuns", "wait for other software"),
)  # fmt: skip

IS_NIC = 'device.driver == "dra.net" && device.attributes["dra.net"].rdma'
IS_GPU = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
NICS = [nic(f"0000:0{bus}:00.0", f"rdma{number}", f"pci0000:0{bus}") for number, bus in enumerate("abcd")]
GPUS = [gpu(number, f"0000:{bus}1:00.0", root=f"pci0000:0{bus}") for number, bus in enumerate("abcd")]
TAINT = {"key": "fabric.example/rail", "value": "down", "effect": "NoSchedule"}
ROOT = "resource.kubernetes.io/pcieRoot"
CANNOT = "0/3 nodes are available: 3 cannot allocate all claims. still not schedulable, preemption: 0/3 nodes."


def wants(
    *claims: Object,
    nics: list[Object] = NICS,
    gpus: list[Object] = GPUS,
    held: tuple[str, ...] = (),
    names: tuple[str, ...] = ("worker-0",),
    events: tuple[tuple[str, str, str], ...] = (),
    template: str = "rails",
    rule: Object | None = None,
    resources: Object | None = None,
    **condition: str,
) -> Plant:
    """Pods with claims wait; two nodes have NICs and GPUs, of which other claims hold some by their names.

    `events` are kind, reason and message; with them the pod is on a node. With `resources` it names these alone.
    """

    def plant(scene: Scene) -> None:
        add = scene.cluster.add
        nics_class = device_class("nics", IS_NIC)
        nics_class["spec"]["extendedResourceName"] = "example.com/nic"
        add(CLASSES, nics_class, "kubectl")
        add(CLASSES, device_class("gpus", IS_GPU), "helm")
        add(TEMPLATES, {"metadata": {"name": "rails", "namespace": "default"}, "spec": {}})
        for node in ("gpu-0", "gpu-1"):
            add(COLLECTION, resource_slice("dra.net", node, nics), "dranet")
            add(COLLECTION, resource_slice("gpu.nvidia.com", node, gpus), "driver")
            for name in held:
                driver, of_class = ("gpu.nvidia.com", "gpus") if name.startswith("gpu") else ("dra.net", "nics")
                other = claim(f"of-{node}-{name}", request("any", of_class), held=((driver, node, name),))
                add(CLAIMS, other, "kube-scheduler")
        if rule:
            add("apis/resource.k8s.io/v1beta2/devicetaintrules", {"metadata": {"name": "down"}, "spec": rule})
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": CANNOT, **condition}
        on_node = {"nodeName": "gpu-0"} if events else {}
        for pod in names:
            status = {"phase": "Pending", "conditions": [] if events else [said]}
            named = [{"name": "rails", "resourceClaimName": f"{pod}-{one['metadata']['name']}"} for one in claims]
            spec = {"resourceClaims": [{"name": "rails", "resourceClaimTemplateName": template}], **on_node}
            if resources is not None:
                spec = {"containers": [{"name": "main", "resources": {"limits": resources}}]}
            item = {"metadata": {"name": pod, "namespace": "default"}, "spec": spec, "status": status}
            add("api/v1/pods", {**item, "status": {**status, "resourceClaimStatuses": named}}, "kubelet")
            for one in claims:
                metadata = {**one["metadata"], "name": f"{pod}-{one['metadata']['name']}"}
                add(CLAIMS, {**one, "metadata": metadata}, "kube-controller-manager")
        for kind, reason, message in events:
            name = names[0] if kind == "Pod" else f"{names[0]}-{claims[0]['metadata']['name']}"
            about = {"kind": kind, "name": name, "namespace": "default"}
            metadata = {"name": f"{name}.{reason}", "namespace": "default"}
            add("api/v1/events", {"metadata": metadata, "involvedObject": about, "type": "Warning", "reason": reason,
                                  "message": message, "lastTimestamp": "2026-05-05T10:00:00Z"}, "kubelet")  # fmt: skip

    return plant


FOUR = claim("nics", request("nic", "nics", count=4))
EITHER = claim("either", {"name": "nic", "firstAvailable": [
    {"name": "all", "deviceClassName": "nics", "count": 9}, {"name": "one", "deviceClassName": "nics"}]})  # fmt: skip
# As DRANET publishes NICs that are in pods, or that did not come back from them.
IN_PODS = [nic(f"0000:0{bus}:00.0", None, f"pci0000:0{bus}", rdma=False) for bus in "abcd"]
PAIR = claim("pair", request("gpu", "gpus"), request("nic", "nics"), match=ROOT)
HOLD = "pci-0000-0a-00-0"


def about(expression: str, count: int = 1) -> Object:
    """A claim of NICs that an expression selects."""
    return claim("nics", request("nic", "nics", expression, count=count))


def alike(attribute: str, value: str) -> list[Object]:
    """GPUs of which an attribute has the same value."""
    return [{**entry, "attributes": {**entry["attributes"], attribute: {"string": value}}} for entry in GPUS]


# Pods that wait for claims: the rule, and what is said of the reason.
def closed_rail(node: str, closed: str = "07:30", looked: str = "07:59", key: str = "rail-not-ready") -> Plant:
    """A DeviceTaintRule of a node's proof, since a time of the day of NOW, and when its condition was last written."""

    def plant(scene: Scene) -> None:
        scene.cluster.add(CLASSES, device_class("nics", IS_NIC), "kubectl")
        selector = {"driver": "dra.net", "pool": node, "device": "pci-0000-0c-00-0"}
        spec = {"deviceSelector": selector, "taint": {"key": f"gpu-fabric.dev/{key}", "effect": "NoSchedule"}}
        metadata = {"name": f"ready-{node}-00", "creationTimestamp": f"2027-01-15T{closed}:00Z"}
        scene.cluster.add("apis/resource.k8s.io/v1beta2/devicetaintrules", {"metadata": metadata, "spec": spec})
        condition = {"type": "gpu-fabric.dev/FabricReady", "status": "True", "reason": "RailsClosed"}
        for item in scene.cluster.nodes:
            if item["metadata"]["name"] == node:
                said = {"message": "rail 0 is down", "lastHeartbeatTime": f"2027-01-15T{looked}:00Z"}
                item["status"].setdefault("conditions", []).append({**condition, **said})

    return plant


WAITING: tuple[tuple[Plant, str, str], ...] = (
    (wants(claim("nics", request("nic", "rdma"))), "DOC074",
     "request nic of claim rails: the cluster has no DeviceClass rdma"),
    (wants(FOUR, nics=[], gpus=[]), "DOC074", "no device is published on any node"),
    (wants(FOUR, nics=[]), "DOC074", "of DeviceClass nics selects none of 8 devices of gpu.nvidia.com"),
    (wants(about('device.attributes["dra.net"].ifName == "eth7"')), "DOC074",
     "selects none of 8 devices of dra.net: dra.net/ifName is rdma0, rdma1, rdma2, rdma3"),
    (wants(about('device.attributes["dra.net"].rdmaDevice == "mlx5_0"')), "DOC074",
     "reads dra.net/rdmaDevice, which device gpu-0/pci-0000-0a-00-0 does not have; its evaluation ends in an error"),
    (wants(about('"rdmaDevice" in device.attributes["dra.net"] && device.attributes["dra.net"].rdmaDevice == "a"')),
     "DOC074", "selects none of 8 devices of dra.net: none has dra.net/rdmaDevice"),
    (wants(claim("nics", request("nic", "nics", count=5))), "DOC074",
     "no node has the devices, even if all were free: gpu-0, gpu-1: 4 of 5 devices for request nic of claim rails"),
    (wants(FOUR, nics=[{**NICS[0], "taints": [TAINT]}, *NICS[1:]]), "DOC074",
     "3 of 4 devices for request nic of claim rails, 1 tainted (fabric.example/rail)"),
    (wants(FOUR, rule={"deviceSelector": {"driver": "dra.net", "device": HOLD}, "taint": TAINT}), "DOC074",
     "3 of 4 devices for request nic of claim rails, 1 tainted (fabric.example/rail)"),
    (wants(PAIR, gpus=alike(ROOT, "pci0000:ff")), "DOC074",
     f"gpu-0, gpu-1: no value of {ROOT} is on devices of all of gpu, nic"),
    (wants(claim("pair", request("gpu", "gpus"), request("nic", "nics", count=2), match=ROOT)), "DOC074",
     f"no value of {ROOT} has enough devices for all of gpu, nic: pci0000:0a 1 and 1"),
    (wants(claim("nics", request("a", "nics", count=3), request("b", "nics", count=3))), "DOC074",
     "too few devices for request a of claim rails, request b of claim rails at once"),
    (wants(template="rail"), "DOC074", "namespace default has no ResourceClaimTemplate rail"),
    (wants(FOUR, held=(HOLD,)), "DOC075",
     "devices on gpu-0, gpu-1 would do, and other claims hold them: default/of-gpu-0-pci-0000-0a-00-0, default/of-"),
    (wants(FOUR, nics=IN_PODS, held=tuple(one["name"] for one in NICS)), "DOC075",
     "devices on gpu-0, gpu-1 would do, and other claims hold them"),
    (wants(FOUR, nics=IN_PODS), "DOC074", "of DeviceClass nics selects none of 16 devices"),
    (wants(EITHER), "DOC075", "by what is published the claims can be met on gpu-0, gpu-1"),
    (wants(PAIR, held=(HOLD, "gpu-1", "gpu-2", "gpu-3")), "DOC075", "would do, and other claims hold them"),
    (wants(PAIR), "DOC075", "by what is published the claims can be met on gpu-0, gpu-1"),
    (wants(FOUR, events=(("Pod", "FailedPrepareDynamicResources", "Failed to prepare dynamic resources: prepare"),)),
     "DOC074", "FailedPrepareDynamicResources on gpu-0, Failed to prepare dynamic resources: prepare"),
    (wants(FOUR, events=(("ResourceClaim", "ClaimPrepareFailed", "failed to unmarshal strict JSON data"),
                         ("Pod", "FailedPrepareDynamicResources", "Failed to prepare dynamic resources"))),
     "DOC074", "ClaimPrepareFailed on gpu-0, failed to unmarshal strict JSON data"),
    (wants(resources={"example.com/nic": "5"}), "DOC074",
     "no node has the devices, even if all were free: gpu-0, gpu-1: 4 of 5 devices for request example.com/nic"),
    (wants(resources={"example.com/nic": "4"}, held=(HOLD,)), "DOC075", "would do, and other claims hold them"),
    (wants(FOUR, nics=[], names=("a", "b", "c")), "DOC074",
     "Pod default/a, Pod default/b, Pod default/c wait for claims"),
)  # fmt: skip

QUEUES = definition("clusterqueues", "kueue.x-k8s.io", "ClusterQueue", {"v1beta2": True}, ["v1beta2"])
QUEUE = deleted("apis/kueue.x-k8s.io/v1beta2/clusterqueues", "ClusterQueue", "gpus", "kueue.x-k8s.io/resource-in-use")
POOLS = "ippools", "nv-ipam.nvidia.com", "IPPool"
NCCL = resource(
    "nccl",
    "kubernetes:core/v1:ConfigMap",
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nccl", "namespace": "default"}},
)

PLANTED = (
    # The state.
    Planted("a lock of a killed run", "DOC001", lock("gone")),
    Planted("a lock of a run on another machine", "DOC001", lock("unknown"), is_own=False),
    Planted("a run that goes on", "DOC003", every(lock("runs"), interrupted("updating", NCCL)), is_mendable=False),
    Planted("an interrupted update", "DOC002", interrupted("updating", NCCL)),
    Planted("an interrupted creation", "DOC002", interrupted("creating", NCCL)),
    Planted("a machine that the cloud may have created", "DOC002",
        interrupted("creating", resource("vpc", "digitalocean:index/vpc:Vpc")), is_own=False),
    # Releases.
    *(Planted(f"a release in {status}", "DOC010", gpu_operator(status))
        for status in ("pending-install", "pending-upgrade", "pending-rollback")),
    Planted("another's release in pending-upgrade", "DOC010", revision("db", "data", "pending-upgrade"), is_own=False),
    Planted("a release on which Helm may be at work", "DOC012", gpu_operator("pending-upgrade", age=30),
        is_mendable=False),
    Planted("a release that Helm may be uninstalling", "DOC012", gpu_operator("uninstalling", age=30),
        is_mendable=False),
    Planted("a pending release without a time", "DOC012", gpu_operator("pending-upgrade", age=None), is_mendable=False),
    Planted("a failed first installation", "DOC011", every(knows(), gpu_operator("failed"))),
    Planted("an installation of which the provider did not hear the end", "DOC011",
        every(knows(), gpu_operator("deployed"),
            lambda scene: scene.cluster.namespace("gpu-operator", PULUMI, team="fabric"))),
    Planted("an uninstallation that did not end", "DOC011", every(KNOWS_IT, gpu_operator("uninstalling"))),
    Planted("a release that a destroy would not find", "DOC013", every(knows(), gpu_operator("pending-install")),
        purpose="destroy"),
    Planted("a release whose operator was deleted by hand", "DOC014", every(KNOWS_IT, gpu_operator("deployed", 2)),
        is_mendable=False),
    # Webhooks and APIs.
    Planted("the webhook of an operator that was deleted", "DOC020", KUEUE_WEBHOOK, stack="kueue"),
    Planted("the webhook of a deleted operator that the stack does not install", "DOC020", KUEUE_WEBHOOK, is_own=False),
    Planted("the webhook of an operator without a ready pod", "PRE090", every(KUEUE_WEBHOOK, kueue(0)),
        is_mendable=False, stack="kueue"),
    Planted("a webhook of a policy engine", "PRE090", webhook("policy", ("policy", "engine")), is_mendable=False),
    Planted("an API without its Service", "DOC040", api_service("ServiceNotFound"), is_own=False),
    Planted("an API whose server is down", "PRE093", api_service("MissingEndpoints"), is_mendable=False),
    # Deletions without an end.
    Planted("a queue whose controller was deleted", "DOC030", every(QUEUES, QUEUE), stack="kueue"),
    Planted("a queue that is not the stack's", "DOC030", every(QUEUES, QUEUE), is_own=False),
    Planted("a pod with Kueue's finalizer", "DOC030",
        every(deleted("api/v1/pods", "Pod", "worker-0", "kueue.x-k8s.io/managed", namespace="training"),
            lambda scene: scene.cluster.find("api/v1/pods", "worker-0")["metadata"].update(
                labels={"kueue.x-k8s.io/managed": "true"})),
        stack="kueue"),
    Planted("a network of the SR-IOV operator", "DOC030",
        every(definition("sriovnetworks", "sriovnetwork.openshift.io", "SriovNetwork", {"v1": True}, ["v1"]),
            deleted("apis/sriovnetwork.openshift.io/v1/sriovnetworks", "SriovNetwork", "old",
                "netattdef.finalizers.sriovnetwork.openshift.io", namespace="nvidia-network-operator")),
        stack="sriov-operator"),
    Planted("a Spiderpool pool whose controller was deleted", "DOC030",
        every(definition("spiderippools", "spiderpool.spidernet.io", "SpiderIPPool", {"v2beta1": True}, ["v2beta1"]),
            deleted("apis/spiderpool.spidernet.io/v2beta1/spiderippools", "SpiderIPPool", "old",
                "spiderpool.spidernet.io")),
        stack="spiderpool-sriov"),
    Planted("a GPUCluster whose operator was deleted", "DOC030",
        every(definition("gpuclusters", "nvidia.com", "GPUCluster", {"v1alpha1": True}, ["v1alpha1"]),
            deleted("apis/nvidia.com/v1alpha1/gpuclusters", "GPUCluster", "gpu-cluster",
                "gpucluster.nvidia.com/dra-resourceclaim"))),
    Planted("a queue whose controller has no ready pod", "DOC031", every(QUEUES, QUEUE, kueue(0)), is_mendable=False,
        stack="kueue"),
    Planted("a namespace that an API holds", "DOC032",
        terminating(("NamespaceDeletionDiscoveryFailure", "unable to retrieve the complete list of server APIs")),
        is_mendable=False),
    # Definitions.
    Planted("a definition of an older chart", "PRE020", definition(*POOLS, {"v1alpha0": True}, ["v1alpha0"]),
        is_mendable=False),
    Planted("a definition without a field", "DOC051",
        definition(*POOLS, {"v1alpha1": True}, ["v1alpha1"],
            {"properties": {"spec": {"properties": {"subnet": {"type": "string"}}}}}),
        is_mendable=False),
    Planted("a version that is stored and not served", "DOC052",
        definition(*POOLS, {"v1alpha0": False, "v1alpha1": True}, ["v1alpha0", "v1alpha1"])),
    # Pods.
    Planted("a Deployment whose pods a quota refuses", "DOC070",
        of_the_operator("Deployment",
            {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": NO_QUOTA}]}),
        is_mendable=False),
    Planted("a DaemonSet whose pods a quota refuses", "DOC070",
        every(of_the_operator("DaemonSet", {"desiredNumberScheduled": 3, "currentNumberScheduled": 0}),
            event("FailedCreate", NO_QUOTA, "10:00")),
        is_mendable=False),
    *(
        Planted(f"{kind} with a pod in {why}: {text}", "DOC071", unready(status, *events, kind=kind), is_mendable=False)
        for kind, (status, events, why, text) in zip(cycle(KINDS), UNREADY)
    ),
    # Nodes.
    Planted("a node that waits for a deleted operator", "DOC060", label(WAIT, "true")),
    Planted("a node whose driver nobody upgrades any more", "DOC061", label(GPU_STATE, "drain-required")),
    Planted("a node that was cordoned for that", "DOC061",
        every(label(GPU_STATE, "pod-restart-required"), cordoned("gpu-operator"))),
    Planted("a node that any operator may have cordoned", "DOC061",
        every(label(OFED_STATE, "pod-restart-required"), cordoned("manager")), is_own=False),
    Planted("a node that the SR-IOV operator was draining", "DOC061", note(SRIOV_STATE, "Draining"), is_own=False),
    Planted("a node that is cordoned after its upgrade", "DOC062",
        every(GPU_OPERATOR, label(GPU_STATE, "upgrade-done"), cordoned("gpu-operator"))),
    Planted("an empty node whose upgrade failed", "DOC063",
        every(FAILED_UPGRADE, cordoned("gpu-operator"), pod("driver", {"kind": "DaemonSet"}),
            pod("ended", {"kind": "Job"}, "Succeeded"))),
    Planted("a node with a job whose upgrade failed", "DOC063",
        every(FAILED_UPGRADE, cordoned("gpu-operator"), pod("worker", {"kind": "Job"})), is_mendable=False),
    Planted("a node that takes jobs and whose upgrade failed", "DOC063", FAILED_UPGRADE, is_mendable=False),
    # What is not known.
    Planted("webhooks that may not be read", "PRE101", lambda scene: scene.cluster.forbidden.add(f"/{VALIDATING}"),
        is_mendable=False),
    Planted("a claim that no device meets", "DOC074", WAITING[1][0], is_mendable=False),
    Planted("a claim that waits for others", "DOC075", wants(FOUR, held=(HOLD,)), is_mendable=False),
    Planted("a rail that fails", "DOC076", closed_rail("gpu-0"), is_mendable=False),
    Planted("a rail of a node that is gone", "DOC076", closed_rail("gone"), is_mendable=False),
    Planted("a rail that nothing looks at", "DOC076", closed_rail("gpu-0", looked="07:00"), is_mendable=False),
)  # fmt: skip

# What looks like a damage and is none.
SOUND = (
    ("a rail that was closed a moment ago", closed_rail("gpu-0", closed="08:00")),
    ("a device that others have tainted", closed_rail("gone", key="others")),
    ("a pod that names what nodes offer", wants(resources={"nvidia.com/gpu": "9"})),
    ("a pod whose queue has not admitted it", wants(FOUR, nics=[], reason="SchedulingGated")),
    ("a pod on a node, with its claims", wants(FOUR, events=(("Pod", "BackOff", "restarting"),))),
    ("a release that is deployed", every(GPU_OPERATOR, knows(), gpu_operator("deployed"))),
    ("a release that the stack has, though its last upgrade failed", every(KNOWS_IT, gpu_operator("failed", 3))),
    ("a pending revision that a later one has overtaken",
        every(GPU_OPERATOR, KNOWS_IT, gpu_operator("pending-upgrade", 2), gpu_operator("deployed", 3))),
    ("another's release that failed", every(knows(), revision("db", "data", "failed"))),
    ("a failed release of a stack that Pulumi never had", gpu_operator("failed")),
    ("a webhook that does not fail closed", webhook(*KUEUES, "Ignore")),
    ("a queue that its controller is just deleting", every(QUEUES, QUEUE, kueue(1))),
    ("an object that another's finalizer holds",
        every(QUEUES,
            deleted("apis/kueue.x-k8s.io/v1beta2/clusterqueues", "ClusterQueue", "q", "backup.example/keep"))),
    ("an object of another operator that uses the same domain as the GPU Operator",
        every(definition("dynamographdeployments", "nvidia.com", "DynamoGraphDeployment", {"v1": True}, ["v1"]),
            deleted("apis/nvidia.com/v1/dynamographdeployments", "DynamoGraphDeployment", "llm",
                "nvidia.com/finalizer"))),
    ("a DaemonSet whose pods were refused before",
        every(of_the_operator("DaemonSet", {"desiredNumberScheduled": 3, "currentNumberScheduled": 3}),
            event("FailedCreate", NO_QUOTA, "10:00"))),
    ("a DaemonSet whose pods are just being created",
        every(of_the_operator("DaemonSet", {"desiredNumberScheduled": 3, "currentNumberScheduled": 2}),
            event("SuccessfulCreate", "Created pod: of-it-x", "10:00"))),
    ("a pod whose image is just being pulled", unready(CREATING, ("Pulling", "Pulling image"))),
    ("a pod that was just created", unready(unscheduled(TAINTED), creationTimestamp="2027-01-15T07:59:30Z")),
    ("a pod that is on its way", unready(waiting("CrashLoopBackOff"), deletionTimestamp="2026-05-05T10:00:00Z")),
    ("a pod that has ended", unready({**waiting("Completed"), "phase": "Succeeded"}, kind="Job")),
    ("a pod whose first container has just begun", unready(
        container("initContainerStatuses", running={"startedAt": "2027-01-15T07:55:00Z"}))),
    ("a pod of others beside it",
        every(of_the_operator("DaemonSet", {"desiredNumberScheduled": 2, "numberReady": 1}),
            lambda scene: scene.cluster.add("api/v1/pods",
                {"metadata": {"name": "theirs", "namespace": "gpu-operator", "labels": {"app": "theirs"}},
                    "status": unscheduled(TAINTED)}))),
    ("a namespace that is just being emptied", terminating(("NamespaceContentRemaining", "pods. has 3 instances"))),
    ("a node that its user cordoned",
        every(GPU_OPERATOR, label(GPU_STATE, "upgrade-done"), cordoned("kubectl-cordon"))),
    ("a node whose upgrade goes on", every(GPU_OPERATOR, label(GPU_STATE, "drain-required"), cordoned("gpu-operator"))),
    ("a node without an upgrade", every(label(WAIT, "false"), note(SRIOV_STATE, "Idle"))),
)  # fmt: skip
