"""Every rule about manifests: it finds what is wrong at its place, accepts the rest, and is silent about others."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
import yaml
from attached_pods import NETWORKS, contract_of
from each_case import each

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.contract import read_contract
from gpu_fabric.findings import InputError, Severity, rules

# Those of the contract, of the KRM function and of groups have tests of their own.
BOOK = {name for name, rule in rules().items() if rule.group == "attach"} - {"ATT004", "ATT030", "ATT031"}

STAMP = "gpu-fabric.dev/attached"
INJECT = "cni.spidernet.io/rdma-resource-inject"
GPU = "nvidia.com/gpu"
GPUS = {"resources": {"limits": {GPU: 8}}}


class AttachCase(NamedTuple):
    """A text, and where a rule must find something in it: places as a user reads them, or nowhere.

    `stack` is a committed one; `examples/` before its name says which of two is meant. `said` is a part of the finding.
    """

    rule: str
    text: str
    places: tuple[str, ...]
    stack: str
    wishes: AttachOptions
    said: str


def pod(container: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod whose one container asks for all GPUs."""
    main = {"name": "main", "image": "registry.example/train:7", **GPUS, **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", **(metadata or {})},
        "spec": {"containers": [main], **spec},
    }


def asks(limits: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A pod whose container has these limits."""
    return pod({"resources": {"limits": limits, **more}})


def set_to(name: str, value: str) -> dict[str, Any]:
    """A pod whose container sets a variable."""
    return pod({"env": [{"name": name, "value": value}]})


def secured(context: dict[str, Any]) -> dict[str, Any]:
    """A pod whose container has a security context."""
    return pod({"securityContext": context})


def annotated(value: Any, key: str = NETWORKS) -> dict[str, Any]:
    """A pod with an annotation: its networks, where no other is named."""
    return pod(metadata={"annotations": {key: value}})


def mpi_job(launcher: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """An MPIJob whose worker asks for all GPUs, and a container of its launcher."""
    main = {"name": "main", "image": "registry.example/train:7"}
    replicas = {
        role: {"template": {"spec": {"containers": [main | asked]}}}
        for role, asked in (("Launcher", launcher), ("Worker", GPUS))
    }
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "one"},
        "spec": {"mpiReplicaSpecs": replicas, **spec},
    }


def workload(kind: str, version: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A workload with one pod template."""
    template = {"spec": pod(container)["spec"]}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, "spec": {"template": template, **spec}}


def job_set(*containers: list[dict[str, Any]]) -> dict[str, Any]:
    """A JobSet whose jobs, called `one` alike, have these containers."""
    jobs = [{"name": "one", "template": {"spec": {"template": {"spec": {"containers": own}}}}} for own in containers]
    version = "jobset.x-k8s.io/v1alpha2"
    return {"apiVersion": version, "kind": "JobSet", "metadata": {"name": "one"}, "spec": {"replicatedJobs": jobs}}


def nodes(values: list[str], operator: str = "In", key: str = "node.kubernetes.io/instance-type") -> dict[str, Any]:
    """An affinity for nodes with a label."""
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def train_job(**spec: Any) -> dict[str, Any]:
    """A TrainJob."""
    runtime = {"runtimeRef": {"name": "torch-distributed"}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "one"},
        "spec": {**runtime, **spec},
    }


RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainingRuntime",
    "metadata": {"name": "one"},
    "spec": {
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": workload("", "")["spec"]}}]}}
    },
}


def unknown(kind: str, **spec: Any) -> dict[str, Any]:
    """An object of a kind that nobody knows."""
    return {"apiVersion": "example.org/v1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}


def bad(rule: str, at: str | tuple[str, ...], *documents: Any, **about: Any) -> AttachCase:
    """Manifests in which the rule finds something at exactly these places, of the first document where none is said."""
    written = [one if isinstance(one, str) else yaml.safe_dump(one, sort_keys=False) for one in documents]
    given = (at,) if isinstance(at, str) else at
    places = [f"spec.containers[0]{place[4:]}" if place.startswith("main") else place for place in given]
    places = [place if place.startswith(("doc", "all")) or not place else f"document 1, {place}" for place in places]
    stack, said = about.pop("stack", "dev"), about.pop("said", "")
    return AttachCase(rule, "---\n".join(written), tuple(places), stack, AttachOptions(**about), said)


def good(rule: str, *documents: Any, **about: Any) -> AttachCase:
    """Manifests in which the rule finds nothing."""
    return bad(rule, (), *documents, **about)


QUEUED = {"stack": "dranet-kueue"}


def claim_template(request: dict[str, Any]) -> dict[str, Any]:
    """A template of claims with one request."""
    spec = {"spec": {"devices": {"requests": [{"name": "a", **request}]}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def claiming(name: str, template: str) -> dict[str, Any]:
    """A pod that claims devices by a template."""
    return pod(resourceClaims=[{"name": name, "resourceClaimTemplateName": template}])


def workflow(*others: dict[str, Any], step: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """An Argo Workflow whose first template asks for all GPUs."""
    templates = [{"name": "train", "container": {"image": "a", **GPUS}, **(step or {})}, *others]
    version = "argoproj.io/v1alpha1"
    return {
        "apiVersion": version,
        "kind": "Workflow",
        "metadata": {"name": "w"},
        "spec": {"templates": templates, **spec},
    }


AT_NETWORKS = f"metadata.annotations[{NETWORKS}]"
OF_JOB = "spec.replicatedJobs[0].template.spec.template"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "None"}}
# Documents of a chart's folder `templates` that are no YAML before Helm has rendered them.
TEMPLATES = (
    "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}\n",
    "{{- if .Values.train }}\napiVersion: batch/v1\nkind: Job\n{{- end }}\n",
    '{{ include "chart.job" . }}\n',
    "kind: Job\nmetadata:\n  labels:\n    {{- toYaml .Values.labels | nindent 4 }}\n",
)
RDMA = {"resources": {"limits": {"rdma/ib": "1"}}}
IDLE = {"resources": {"limits": {"cpu": 1}}}
MERGED = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - &base
    name: main
    resources: {limits: {nvidia.com/gpu: 8}}
  - <<: *base
    name: other
    resources: {}
"""
BESIDE = """\
apiVersion: v1
kind: Pod
spec:
  initContainers:
  - &base
    name: init
    image: a
  containers:
  - <<: *base
    name: main
"""
MAIN = {"name": "main", **GPUS}
ANYBODY: dict[str, Any] = {"securityContext": {"runAsUser": 1000}}
REQUIRED = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
RAY_JOB = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "spec": {"rayClusterSpec": {"headGroupSpec": {"template": pod()}}},
}
DYNAMO = {
    "apiVersion": "nvidia.com/v1beta1",
    "kind": "DynamoGraphDeployment",
    "spec": {"components": [{"name": "decode", "podTemplate": pod()}]},
}
SELECTOR = "node.kubernetes.io/instance-type"
SHARED_MEMORY = {"volumeMounts": [{"name": "own", "mountPath": "/dev/shm"}]}
OWN_VOLUME = [{"name": "own", "emptyDir": {}}]
OLD_FILE = [{"name": "own", "configMap": {"name": "nccl-settings-bm-gpu-h100-8-00000000"}}]
SIXTEEN_RAILS = {f"nvidia.com/rail_{rail:02d}": 1 for rail in range(16)}

UNREADABLE = ["[", "a//b", "@net1", '[{"interface": "net1"}]', "[1]", "a,,b", '{"name": "nfs"}', "[" * 9000]
# What keeps a job off the fabric, and what does not.
OFF = [
    ("NCCL_IB_DISABLE", "1"),
    ("NCCL_NET", "Socket"),
    ("NCCL_NET_PLUGIN", "libnccl-net-ofi.so"),
    ("FI_PROVIDER", "efa"),
    ("NCCL_NET_GDR_LEVEL", "LOC"),
    ("NCCL_P2P_DISABLE", "1"),
    ("NCCL_SOCKET_IFNAME", "net1"),
    ("NCCL_IB_HCA", "^mlx5"),
    ("NCCL_IB_HCA", "^bnxt_re,mlx5_"),
]
HARMLESS = [
    ("NCCL_IB_DISABLE", "0"),
    ("NCCL_NET", "IB"),
    ("NCCL_NET_PLUGIN", "none"),
    ("NCCL_NET_GDR_LEVEL", "PHB"),
    ("UCX_TLS", "tcp"),
    ("NCCL_SOCKET_IFNAME", "=eth0"),
    ("NCCL_IB_HCA", "^=mlx5"),
    ("NCCL_IB_HCA", "^mlx5_0"),
]
GKE = "cloud.google.com/gke-accelerator"
# Of other stacks: accelerators, and devices beside the stack's own GPUs.
OTHER = [
    ("limits", "google.com/tpu"),
    ("limits", "nvidia.com/mig-3g.40gb"),
    ("limits", "nvidia.com/gpu.shared"),
    ("requests", "amd.com/gpu"),
    ("requests", "gpu.intel.com/xe"),
    ("limits", "aws.amazon.com/neuroncore"),
    ("limits", "volcano.sh/vgpu-number"),
]
DEVICES = [
    "nvidia.com/rdma-vf",
    "vpc.amazonaws.com/efa",
    "rdma/ib",
    "rdma/rdma_shared_device_a",
    "amd.com/nic",
    "a.b/c",
]
JOB_SET_TEXT = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec:\n  x:\n  - containers:\n    - name: a\n"
# Kinds that nobody knows, each with GPUs or pods somewhere.
UNKNOWN = [
    unknown("Graph", services={"a": {"extraPodSpec": {"mainContainer": {"image": "a", "command": ["b"]}}}}),
    unknown("Graph", services={"a": {"resources": {"limits": {"gpu": "8"}}}}),
    unknown("Served", predictor={"model": {"resources": {"requests": {GPU: 1}}}}),
    unknown("Served", predictor={"model": {"resources": {"limits": {"amd.com/gpu": "1"}}}}),
    unknown("Runtime", deploymentConfig={"resources": {"gpu": "1", "cpu": 4}}),
    unknown("Spark", executor={"gpu": {"name": GPU, "quantity": 1}}),
    unknown("Flow", templates=[{"resource": {"action": "create", "manifest": JOB_SET_TEXT}}]),
    unknown("Flow", templates=[{"podSpecPatch": '{"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}]}'}]),
    unknown("Flow", templates=[{"script": {"x": {"sidecarContainer": {"image": "a"}}}}]),
    unknown("Flow", templates=[{"container": {"image": "a"}}]),
    unknown("Chart", values={"resources": {"limits": {"gpuCount": 2}}}),
    unknown("Templated", resources={"limits": {GPU: "${GPUS}"}}),
    workload("Service", "serving.knative.dev/v1"),
    workload("PodList", "v1"),
]
# Amounts and texts of what makes no pods.
WITHOUT_PODS = [
    unknown("ResourceQuota", hard={"requests.nvidia.com/gpu": 8}, limits={GPU: 8}) | {"apiVersion": "v1"},
    unknown("LimitRange", limits=[{"max": {GPU: 8}}]) | {"apiVersion": "v1"},
    *(
        unknown("ClusterQueue", resources=resources) | {"apiVersion": f"kueue.x-k8s.io/{version}"}
        for version, resources in (("v1beta1", [{"name": GPU, "nominalQuota": 8}]), ("v1beta2", {GPU: 8}))
    ),
    unknown("NodePool", limits={GPU: 80}) | {"apiVersion": "karpenter.sh/v1"},
    unknown("Queue", guarantee={"resources": {GPU: 8}}) | {"apiVersion": "scheduling.volcano.sh/v1beta1"},
    unknown("ConfigMap", **{"job.yaml": JOB_SET_TEXT}) | {"apiVersion": "v1"},
    unknown("Idle", resources={"limits": {GPU: 0, "gpu": "0", "cpu": 8}}),
    unknown("Queue", resources={"gpu": {"quota": -1}}),
    unknown("Text", text="a container: and a kind: of text\nover lines"),
    {"apiVersion": "v1", "kind": "ConfigMap", "data": {"containers": "- name: main"}},
    {"apiVersion": "v1", "kind": "List", "items": []},
]

CASES = [
    bad("ATT001", "", "a: ["),
    bad("ATT001", "", "a: &a [*a]\n"),
    bad("ATT001", "", "a: !mine x: 1\n"),
    bad("ATT001", "", '{"a":' * 9000 + "1" + "}" * 9000),
    *(bad("ATT001", "", text, said="render it first") for text in TEMPLATES),
    good("ATT001", json.dumps(pod())),
    good("ATT001", ""),
    bad("ATT002", "", "apiVersion: v1\nkind: Pod\nkind: Pod\n"),
    bad("ATT002", "", '{"kind": "Pod", "kind": "Pod"}'),
    good("ATT002", "# nothing\n"),
    bad("ATT003", "", MERGED, said="cannot be added to; write the workloads in block style, no merge keys"),
    good("ATT003", BESIDE, containers=("main",)),
    bad("ATT005", "document 2", SERVICE, "7\n"),
    bad("ATT005", "document 1", "kind: Pod\n"),
    good("ATT005", "---\n---\n"),
    bad(
        "ATT006",
        "kind",
        workload("TFJob", "kubeflow.org/v1"),
        said="TFJob of kubeflow.org/v1 makes pods (spec.template.spec.containers), but is not known here",
    ),
    bad(
        "ATT006",
        "spec.templates[1].resource.manifest",
        workflow({"name": "job", "resource": {"action": "create", "manifest": "kind: Job\ncontainers:\n- a"}}),
    ),
    good("ATT006", workload("Job", "batch/v1")),
    good("ATT006", workflow({"name": "job", "resource": {"manifest": "kind: ConfigMap\ndata: {}"}})),
    bad("ATT065", "kind", workload("TFJob", "kubeflow.org/v1"), skipped=("TFJob",)),
    good("ATT065", workload("Job", "batch/v1"), skipped=("TFJob",)),
    bad("ATT066", "main.args", pod({"args": ["mpirun", "-genv", "NCCL_NET", "Socket", "a"]})),
    good("ATT066", pod({"args": ["mpirun", "-genv", "NCCL_NET", "IB", "NCCL_NET", "Socket"]})),
    bad("ATT066", "main.args", pod({"args": ["NCCL_NET=Socket mpirun a"]})),
    bad("ATT066", "main.args", pod({"args": ["-c", "# don't\nexport NCCL_NET=Socket  # sockets"]})),
    good("ATT066", pod({"args": ["-c", "# export NCCL_NET=Socket\na 'b' # NCCL_NET=Socket\n(c)#NCCL_NET=Socket"]})),
    bad("ATT007", "apiVersion", {**workload("Job", "batch/v1beta1")}),
    good("ATT007", workload("Job", "batch/v1")),
    bad("ATT008", "main.env[0].name", pod({"env": [{"name": ["A"], "value": "b"}]})),
    bad("ATT008", "spec.volumes[0].name", pod(volumes=[{"name": {"a": "b"}}])),
    bad("ATT008", "spec", {**workload("Job", "batch/v1"), "spec": {}}),
    good("ATT008", pod({"env": None}, tolerations=None)),
    good("ATT008", {**SERVICE, "spec": "anything"}),
    bad("ATT009", "", pod(), containers=("trainer",), said="no role and no container is named 'trainer'"),
    good("ATT009", pod(), containers=("main",)),
    bad("ATT010", ("document 1", "document 2"), pod(IDLE), pod(IDLE)),
    good("ATT010", pod(IDLE), pod()),
    bad("ATT010", "document 1", pod(IDLE)),
    bad("ATT010", "document 1", job_set([{"name": "a"}], [{"name": "b"}])),
    good("ATT010", pod(IDLE), containers=("main",)),
    bad("ATT011", f"{OF_JOB}.spec.containers", job_set([{"name": "a"}, {"name": "b"}]), containers=("one",)),
    bad(
        "ATT011",
        "spec.containers",
        pod(containers=[{"name": "a", **GPUS}, {"name": "b", **GPUS}]),
        said="2 containers ask for nvidia.com/gpu: a, b",
    ),
    good("ATT011", pod(containers=[{"name": "a", **GPUS}, {"name": "b"}])),
    bad(
        "ATT012", "metadata.namespace", pod(), namespace="research", said="-> use default (in the manifest, or with -n)"
    ),
    good("ATT012", pod(metadata={"namespace": "default"}), namespace="research"),
    good("ATT012", SERVICE, namespace="research"),
    bad("ATT013", "document 1", workload("DaemonSet", "apps/v1"), queue="a", said="a DaemonSet has no queue"),
    bad(
        "ATT013",
        "metadata.labels[kueue.x-k8s.io/queue-name]",
        pod(metadata={"labels": {"kueue.x-k8s.io/queue-name": "b"}}),
        queue="a",
        said="'b' already",
    ),
    good("ATT013", pod(), queue="a"),
    good("ATT013", workload("DaemonSet", "apps/v1")),
    good("ATT014", annotated('[{"name": "nfs", "interface": "nfs0"}]')),
    bad("ATT015", AT_NETWORKS, annotated("nfs@net3"), said="the fabric's interfaces are named net3, too"),
    good("ATT015", annotated("nfs@nfs0")),
    bad(
        "ATT016",
        f"metadata.annotations[{INJECT}]",
        annotated("other", INJECT),
        said="would replace the fabric's networks",
    ),
    bad("ATT016", AT_NETWORKS, annotated("nfs@nfs0"), stack="examples/spiderpool-ib"),
    good("ATT016", pod(), stack="examples/spiderpool-ib"),
    good("ATT016", annotated("nfs@nfs0")),
    bad("ATT017", "spec.hostNetwork", pod(hostNetwork=True), said="-> remove it"),
    bad("ATT017", "spec.hostNetwork", pod(hostNetwork=True), stack="examples/spiderpool-ib"),
    bad("ATT017", "spec.hostNetwork", pod(hostNetwork=False), stack="host-network"),
    good("ATT017", pod(hostNetwork=True), stack="host-network"),
    bad("ATT017", "spec.hostNetwork", workflow(hostNetwork=True)),
    bad("ATT018", f"spec.nodeSelector[{SELECTOR}]", pod(nodeSelector={SELECTOR: "BM.GPU4.8"})),
    good("ATT018", pod(nodeSelector={SELECTOR: "BM.GPU.H100.8", "row": "1"})),
    bad("ATT018", f"spec.nodeSelector[{SELECTOR}]", workflow(nodeSelector={SELECTOR: "BM.GPU4.8"})),
    good("ATT018", pod(nodeSelector=None)),
    bad("ATT018", f"{REQUIRED}.nodeSelectorTerms", pod(affinity=nodes(["BM.GPU4.8"]))),
    bad("ATT018", f"{REQUIRED}.nodeSelectorTerms", pod(affinity=nodes(["BM.GPU.H100.8"], "NotIn"))),
    bad("ATT018", f"{REQUIRED}.nodeSelectorTerms", pod(affinity=nodes([], "DoesNotExist"))),
    good("ATT018", pod(affinity=nodes(["BM.GPU4.8", "BM.GPU.H100.8"]))),
    good("ATT018", pod(affinity=nodes([], "Exists"))),
    good("ATT018", pod(affinity=nodes(["b"], key="row"))),
    bad("ATT027", f"main.resources.limits[{GPU}]", asks({GPU: 16})),
    good("ATT027", asks({GPU: 4})),
    bad("ATT028", "main.resources.limits[nvidia.com/rail_16]", asks({GPU: 8, "nvidia.com/rail_16": 1})),
    bad("ATT028", AT_NETWORKS, annotated("rail-16@net17")),
    good("ATT028", asks({GPU: 8, **SIXTEEN_RAILS})),
    good("ATT028", annotated("nfs2@nfs0")),
    bad("ATT029", f"metadata.annotations[{STAMP}]", annotated("{", STAMP)),
    bad("ATT029", f"metadata.annotations[{STAMP}]", annotated('{"contract": 7}', STAMP)),
    good("ATT029", annotated('{"contract": "0"}', STAMP)),
    bad("ATT070", "main", annotated('{"contract":"0","added":{"/spec":{"shareHosts":true}}}', STAMP)),
    bad("ATT032", "document 1", pod(), claim="node"),
    bad("ATT032", "document 1", pod(), stack="dranet", claim="pair"),
    good("ATT032", pod(), stack="dranet", claim="node"),
    bad(
        "ATT033",
        "spec.resourceClaims[0].resourceClaimTemplateName",
        claiming("x", "fabric-pair"),
        stack="dranet-infiniband",
        claim="node",
        containers=("main",),
    ),
    bad("ATT033", "spec.resourceClaims[0].name", claiming("fabric", "own"), stack="dranet"),
    bad("ATT033", f"main.resources.limits[{GPU}]", pod(), stack="dranet-infiniband"),
    good("ATT033", claiming("x", "fabric-node"), claiming("y", "own"), stack="dranet"),
    *(
        bad("ATT034", f"document 1, spec.spec.devices.requests[0].{place}", claim_template(request), **QUEUED)
        for place, request in (
            ("firstAvailable", {"firstAvailable": [{"name": "a"}]}),
            ("exactly.allocationMode", {"exactly": {"allocationMode": "All"}}),
            ("exactly.adminAccess", {"exactly": {"adminAccess": True}}),
        )
    ),
    bad("ATT034", "kind", {**claim_template({}), "kind": "ResourceClaim"}, **QUEUED),
    good("ATT034", claim_template({"exactly": {"count": 2}}), **QUEUED),
    good("ATT034", pod(), claim_template({"exactly": {"allocationMode": "All"}}), stack="dranet"),
    bad("ATT067", "spec.clusterSelector", {**RAY_JOB, "spec": {"clusterSelector": {"a": "b"}}}),
    good("ATT067", pod(), {**RAY_JOB, "metadata": {}}, containers=("main",)),
    bad("ATT067", "spec.workflowTemplateRef", workflow(workflowTemplateRef={"name": "t"})),
    bad("ATT067", "spec.templates", workflow() | {"spec": {"templates": [{"name": "a", "steps": []}]}}),
    good("ATT067", workflow()),
    bad("ATT068", "main.securityContext.runAsUser", pod(ANYBODY)),
    bad("ATT068", "spec.securityContext.runAsUser", pod(**ANYBODY)),
    bad("ATT068", "spec.securityContext.runAsNonRoot", pod(securityContext={"runAsNonRoot": True})),
    good("ATT068", pod({"securityContext": {"runAsUser": 0}}, securityContext={"runAsNonRoot": True})),
    good("ATT068", pod({"securityContext": {"runAsNonRoot": False}}, securityContext={"runAsNonRoot": True})),
    good("ATT068", pod({"securityContext": {"runAsUser": 0}}, **ANYBODY)),
    bad(
        "ATT019",
        f"main.resources.requests[{GPU}]",
        asks({GPU: 8}, requests={GPU: 4}),
        said="the request 4 is not the limit 8",
    ),
    good("ATT019", asks({GPU: 8}, requests={GPU: "8"})),
    good("ATT019", asks({GPU: 8, "cpu": 8}, requests={"cpu": 4})),
    bad("ATT020", "main.resources.limits[nvidia.com/rail_00]", asks({GPU: 8, "nvidia.com/rail_00": 0})),
    good("ATT020", asks({GPU: 8, **SIXTEEN_RAILS})),
    good("ATT020", asks({GPU: 4})),
    bad(
        "ATT021",
        "main.resources.limits[amd.com/gpu]",
        asks({"amd.com/gpu": 8}),
        said="asks for GPUs; the stack's nodes have nvidia.com/gpu",
    ),
    bad("ATT021", "main.resources.requests[google.com/tpu]", asks({GPU: 8}, requests={"google.com/tpu": 4})),
    bad("ATT021", "main.resources.claims", pod({"resources": {"claims": [{"name": "gpus"}]}})),
    good("ATT021", asks({"amd.com/gpu": 8}), containers=("main",)),
    good("ATT021", pod(containers=[{"name": "a", **GPUS}, {"name": "b", "resources": {"limits": {"amd.com/gpu": 1}}}])),
    good("ATT064", asks({GPU: 8, "nvidia.com/rail_00": 1})),
    good("ATT064", asks({GPU: 8, "cpu": 4, "hugepages-2Mi": "1Gi"})),
    bad(
        "ATT022",
        "main.securityContext.capabilities.drop",
        secured({"capabilities": {"drop": ["IPC_LOCK"]}}),
        said="-> remove IPC_LOCK",
    ),
    good("ATT022", secured({"capabilities": {"drop": ["ALL"]}})),
    good("ATT022", secured({"runAsUser": 1000})),
    bad("ATT023", "main.securityContext.privileged", secured({"privileged": False}), stack="host-network"),
    bad(
        "ATT023",
        "main.securityContext.allowPrivilegeEscalation",
        secured({"allowPrivilegeEscalation": False}),
        stack="host-network",
    ),
    good("ATT023", secured({"privileged": True}), stack="host-network"),
    good("ATT023", secured({"privileged": False})),
    bad(
        "ATT024",
        "spec.podSpecOverrides",
        train_job(podSpecOverrides=[{"targetJobs": []}]),
        said="attach the fabric to the TrainingRuntime",
    ),
    bad(
        "ATT024",
        ("spec", "spec"),
        train_job(),
        stack="host-network",
        said="a TrainJob cannot set hostNetwork of its pods",
    ),
    bad("ATT024", ("spec.hostNetwork", "spec.dnsPolicy"), workflow(), stack="host-network"),
    good("ATT024", train_job()),
    good("ATT024", workflow(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"), stack="host-network"),
    good("ATT024", pod(), stack="host-network"),
    bad(
        "ATT025",
        "main.ports[0].hostPort",
        pod({"ports": [{"containerPort": 22, "hostPort": 2222}]}),
        stack="host-network",
    ),
    good(
        "ATT025", pod({"ports": [{"containerPort": 22, "hostPort": 22}, {"containerPort": 80}]}), stack="host-network"
    ),
    good("ATT025", pod({"ports": [{"containerPort": 22, "hostPort": 2222}]})),
    bad(
        "ATT026",
        "main.env[0]",
        set_to("NCCL_GRAPH_FILE", "/g"),
        said="NCCL_GRAPH_FILE forces rings and trees for the exact ranks of one job",
    ),
    good("ATT026", set_to("NCCL_DEBUG", "INFO")),
    bad(
        "ATT051",
        "main.env[0]",
        set_to("NCCL_IB_TC", "106"),
        said="NCCL_IB_TC keeps '106'; the fabric's value is '41'",
    ),
    bad(
        "ATT051",
        "main.env[0]",
        pod({"env": [{"name": "NCCL_IB_TC", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
        said="what it refers to",
    ),
    bad("ATT051", f"main.resources.limits[{GPU}]", asks({GPU: "1e999999999"})),
    good("ATT051", set_to("NCCL_IB_TC", "41")),
    good("ATT051", set_to("HOME", "/")),
    bad(
        "ATT051",
        "spec.dnsPolicy",
        pod(dnsPolicy="Default"),
        stack="host-network",
        said="keeps 'Default'; the fabric's value is 'ClusterFirstWithHostNet'",
    ),
    good("ATT051", pod(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"), stack="host-network"),
    bad(
        "ATT052",
        "main.envFrom",
        pod({"envFrom": [{"configMapRef": {"name": "a"}}]}),
        said="win over those of the same name",
    ),
    good("ATT052", pod({"envFrom": []})),
    good("ATT052", pod(initContainers=[{"name": "i", "envFrom": [{"configMapRef": {"name": "a"}}]}])),
    bad(
        "ATT053",
        "main.volumeMounts[0]",
        pod(SHARED_MEMORY, volumes=OWN_VOLUME),
        said="/dev/shm keeps what is mounted there",
    ),
    bad(
        "ATT053",
        "main.volumeMounts[0]",
        pod({"volumeMounts": [{"name": "own", "mountPath": "/dev//shm/"}]}, volumes=OWN_VOLUME),
    ),
    good("ATT053", pod({"volumeMounts": [{"name": "own", "mountPath": "/data"}]}, volumes=OWN_VOLUME)),
    good("ATT053", pod(initContainers=[{"name": "i", **SHARED_MEMORY}], volumes=OWN_VOLUME)),
    bad("ATT054", AT_NETWORKS, annotated("nfs")),
    bad("ATT054", AT_NETWORKS, annotated('[{"name": "nfs", "interface": ""}]')),
    good("ATT054", annotated("nfs@nfs0")),
    bad("ATT055", "document 1", pod(IDLE), pod()),
    bad("ATT056", "metadata.namespace", pod(), stack="doks-h200", namespace="research"),
    good("ATT056", pod(), stack="doks-h200", namespace="default"),
    good("ATT056", SERVICE, stack="doks-h200", namespace="research"),
    bad(
        "ATT057",
        "spec.volumes[0].configMap",
        pod({"volumeMounts": [{"name": "own", "mountPath": "/etc/nccl.conf"}]}, volumes=OLD_FILE),
    ),
    good(
        "ATT057",
        pod(
            {"volumeMounts": [{"name": "own", "mountPath": "/settings"}]},
            volumes=[{"name": "own", "configMap": {"name": "mine"}}],
        ),
    ),
    good("ATT057", pod(SHARED_MEMORY, volumes=OWN_VOLUME)),
    bad("ATT058", "main.securityContext.privileged", secured({"privileged": True})),
    good("ATT058", secured({"privileged": False})),
    good("ATT058", secured({"privileged": True}), stack="host-network"),
    bad("ATT059", "spec.strategy.type", workload("Deployment", "apps/v1", strategy={"rollingUpdate": {"maxSurge": 1}})),
    good("ATT059", workload("Deployment", "apps/v1", strategy={"rollingUpdate": {"maxSurge": 0}})),
    good("ATT059", workload("StatefulSet", "apps/v1")),
    bad("ATT060", "spec.runtimePatches", train_job()),
    good("ATT060", RUNTIME, containers=("node",)),
    bad("ATT063", "main", pod()),
    bad("ATT063", "main", pod(IDLE), containers=("main",)),
    good("ATT063", SERVICE, pod(IDLE, hostNetwork=True)),
    bad("ATT069", f"{OF_JOB}.spec.containers[0].resources", job_set([{"name": "a"}], [MAIN]), queue="q"),
    good("ATT069", job_set([{"name": "a", **IDLE}], [MAIN]), queue="q"),
    good("ATT069", job_set([{"name": "a"}], [MAIN])),
    bad("ATT071", "spec", DYNAMO),
    bad("ATT071", "spec.podSpecPatch", workflow(podSpecPatch='{"containers": []}')),
    bad("ATT071", "spec.templates[0].podSpecPatch", workflow(step={"podSpecPatch": "{}"})),
    bad("ATT071", "spec.templateDefaults", workflow(templateDefaults={"timeout": "1h"})),
    good("ATT071", workflow({"name": "other", "container": {"image": "b"}, "podSpecPatch": "{}"})),
    bad("ATT072", AT_NETWORKS, annotated("nfs@nfs0"), stack="host-network"),
    good("ATT072", annotated(""), stack="host-network"),
    good("ATT072", annotated("nfs@nfs0")),
    bad("ATT073", "spec.mpiReplicaSpecs.Launcher.template", mpi_job(GPUS)),
    good("ATT073", mpi_job(GPUS, runLauncherAsWorker=True)),
    good("ATT073", mpi_job({})),
    bad("ATT061", ("",) * 4, pod(), stack="doks-b300"),
    good("ATT061", SERVICE, stack="doks-b300"),
    bad(
        "ATT062",
        "main.env[0]",
        set_to("NCCL_TOPO_FILE", "/a"),
        said="NCCL ignores a path without a file, and does not say so",
    ),
    good("ATT062", set_to("NCCL_TOPO_FILE", "/etc/nccl/topo.xml")),
    *(bad("ATT014", AT_NETWORKS, annotated(text), said="cannot be read: ") for text in UNREADABLE),
    bad("ATT012", "metadata.namespace", pod(metadata={"namespace": "research"}), namespace="default"),
    bad(
        "ATT016",
        f"metadata.annotations[{INJECT}]",
        annotated("other", INJECT),
        stack="examples/spiderpool-ib",
        said="names another fabric",
    ),
    bad(
        "ATT010",
        "document 1",
        workload("Deployment", "apps/v1", IDLE),
        said="-> ask for nvidia.com/gpu in what does, or name it: --container main",
    ),
    bad(
        "ATT010",
        "document 1",
        job_set([{"name": "a"}, {"name": "b"}]),
        said="nothing here asks for nvidia.com/gpu, so it is not clear what trains: one/a, one/b",
    ),
    bad(
        "ATT009",
        "",
        pod(initContainers=[{"name": "warm-up"}]),
        containers=("warm-up",),
        said="-> there are Pod one: main",
    ),
    *(good("ATT051", asks({GPU: amount})) for amount in ("8", "8000m", 8.0)),
    bad("ATT008", "main.env", pod({"env": {"A": "b"}})),
    bad("ATT008", "main.env[0]", pod({"env": ["A=b"]})),
    bad("ATT008", "main.resources", pod({"resources": []})),
    bad("ATT008", "main.securityContext.capabilities.add", secured({"capabilities": {"add": "IPC_LOCK"}})),
    bad("ATT008", AT_NETWORKS, annotated(5)),
    bad("ATT008", "spec.containers", {"apiVersion": "v1", "kind": "Pod"}),
    bad("ATT008", "spec", {**workload("Job", "batch/v1"), "spec": "x"}),
    bad("ATT008", "spec.mlPolicy", {**RUNTIME, "spec": {**RUNTIME["spec"], "mlPolicy": [{}]}}, containers=("node",)),
    bad("ATT008", "items[0]", {"apiVersion": "v1", "kind": "List", "items": [3]}),
    *(bad("ATT006", "kind", one, said=f"--skip {one['kind']}; known are ") for one in UNKNOWN),
    *(
        bad("ATT006", "kind", workload("LLMInferenceService", f"serving.kserve.io/{version}"), said=said)
        for version in ("v1alpha1", "v1alpha2")
        for said in ("differ in which annotations reach a pod", "--skip LLMInferenceService", "attach the fabric to")
    ),
    *(good("ATT006", one) for one in WITHOUT_PODS),
    bad("ATT007", "apiVersion", workload("MPIJob", "kubeflow.org/v1"), said="-> known is kubeflow.org/v2beta1"),
    *(
        bad("ATT007", "apiVersion", {**DYNAMO, "apiVersion": "nvidia.com/v1alpha1"}, said=said)
        for said in ("in which order they are merged differs", "v1beta1, where each service is a component with")
    ),
    *(bad("ATT066", "main.env[0]", set_to(*one)) for one in OFF),
    *(bad("ATT066", "main.args", pod({"args": ["-c", f"mpirun -x {name}={value} a"]})) for name, value in OFF),
    *(good("ATT066", set_to(*one)) for one in HARMLESS),
    bad(
        "ATT066",
        "spec.templates[1].script.source",
        workflow({"name": "b", "script": {"image": "a", "source": "export NCCL_IB_DISABLE=1", **GPUS}}),
    ),
    *(
        bad("ATT021", f"main.resources.{side}[{name}]", pod({"resources": {side: {name: 1}}}), said="--container main")
        for side, name in OTHER
    ),
    *(
        bad(
            "ATT021",
            f"main.resources.{side}[{name}]",
            asks({GPU: 8, **({name: 1} if side == "limits" else {})}, **more),
        )
        for side, name in OTHER
        for more in ([{}] if side == "limits" else [{"requests": {name: 1}}])
    ),
    *(bad("ATT064", f"main.resources.limits[{name}]", asks({GPU: 8, name: 1})) for name in DEVICES),
    *(bad("ATT064", f"main.resources.requests[{name}]", asks({GPU: 8}, requests={name: 1})) for name in DEVICES),
    bad("ATT074", f"spec.nodeSelector[{GKE}]", pod(nodeSelector={GKE: "h100"}), said="the pod stays pending"),
    bad(
        "ATT074", f"{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].key", pod(affinity=nodes([], "Exists", key=GKE))
    ),
    good(
        "ATT074", pod(nodeSelector={"kubernetes.io/arch": "amd64", "feature.node.kubernetes.io/pci-15b3.present": "x"})
    ),
    good("ATT074", pod(affinity=nodes([], "DoesNotExist", key=GKE))),
    bad("ATT064", "spec.containers[1].resources.limits[rdma/ib]", pod(containers=[MAIN, {"name": "b", **RDMA}])),
    bad("ATT064", "main.resources.claims", asks({GPU: 8}, claims=[{"name": "channel"}])),
    bad("ATT064", "main.resources.limits[amd.com/gpu]", asks({"amd.com/gpu": 8}), containers=("main",)),
    good("ATT064", asks({GPU: 8, **SIXTEEN_RAILS, "rdma/ib": 0, "requests.kubernetes.io/x": 1})),
    bad("ATT075", "", SERVICE),
    bad("ATT075", "", SERVICE, "# nothing\n"),
    # Of what is skipped something is said already.
    good("ATT075", pod(), skipped=("Pod",)),
    good("ATT075", SERVICE, pod()),
]


def found_in(case: AttachCase) -> tuple[list[tuple[str, str]], str]:
    """Rules and places of what is said about a case's text, and how it is said."""
    try:
        said, severity = attach_text(case.text, contract_of(case.stack), case.wishes).notes, Severity.NOTE
    except AttachError as error:
        said, severity = error.problems, Severity.ERROR
    except InputError as error:
        said, severity = (error.finding,), Severity.ERROR
    assert {entry.severity for entry in said} <= {severity}
    return [(entry.id, entry.place) for entry in said], "\n".join(line for entry in said for line in entry.lines())


@each("case", CASES, ids=[f"{case.rule}-{number}" for number, case in enumerate(CASES)])
def test_a_rule_finds_what_is_wrong_and_nothing_else(case: AttachCase) -> None:
    found, text = found_in(case)

    assert [place for rule, place in found if rule == case.rule] == list(case.places)
    assert case.said in text


def test_every_rule_has_a_case_that_it_finds() -> None:
    assert {case.rule for case in CASES if case.places} == BOOK


@each("document", [SERVICE, pod(), workload("Job", "batch/v1"), workflow(), "", "# nothing\n"])
def test_of_what_is_sound_nothing_is_said_but_what_it_gets_or_that_nothing_is_there_to_get_it(document: Any) -> None:
    assert {rule for rule, _ in found_in(good("", document))[0]} <= {"ATT063", "ATT075"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"fabric": {}}', '{"schemaVersion": "v9"}', '{"schemaVersion": "v1"}']
)
def test_what_is_no_contract_is_said_with_its_rule(text: str) -> None:
    with pytest.raises(InputError, match=r"^error ATT004: ") as raised:
        read_contract(text)

    assert raised.value.finding.id == "ATT004"


def test_all_problems_are_said_at_once_with_document_and_path() -> None:
    sound = [pod(hostNetwork=True), "", annotated("["), pod(nodeSelector=3), "7\n"]
    with pytest.raises(AttachError) as raised:
        attach_text(bad("", "", *sound).text, contract_of("dev"))

    assert [(problem.document, problem.path) for problem in raised.value.problems] == [
        (1, "spec.hostNetwork"),
        (3, f"metadata.annotations[{NETWORKS}]"),
        (4, "spec.nodeSelector"),
        (5, ""),
    ]
    text = raised.value.explanation("jobs.yaml")
    assert text.startswith("jobs.yaml: 4 problems, nothing was attached.\n  error ATT017 document 1, spec.hostNetwork")
