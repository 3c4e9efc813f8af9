"""For each rule about manifests: some that it finds at a place, some that it accepts, and some it is not about."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

import yaml
from attached_pods import NETWORKS

from gpu_fabric.attach.attachment import Wishes

STAMP = "gpu-fabric.dev/attached"
INJECT = "cni.spidernet.io/rdma-resource-inject"
GPU = "nvidia.com/gpu"
GPUS = {"resources": {"limits": {GPU: 8}}}


class AttachCase(NamedTuple):
    """A text, and where a rule must find something in it: places as a user reads them, or nowhere.

    `stack` is a committed one; `examples/` before its name says which of two is meant.
    """

    rule: str
    sort: Literal["good", "bad", "irrelevant"]
    text: str
    places: tuple[str, ...] = ()
    stack: str = "dev"
    wishes: Wishes = Wishes()


def pod(container: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod whose one container asks for all GPUs."""
    main = {"name": "main", "image": "registry.example/train:7", **GPUS, **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", **(metadata or {})},
        "spec": {"containers": [main], **spec},
    }


def annotated(**annotations: Any) -> dict[str, Any]:
    """A pod with annotations."""
    return pod(
        metadata={"annotations": {NETWORKS if key == "networks" else INJECT: v for key, v in annotations.items()}}
    )


def stamped(stamp: str) -> dict[str, Any]:
    """A pod with a stamp."""
    return pod(metadata={"annotations": {STAMP: stamp}})


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


def _text(*documents: Any) -> str:
    written = [one if isinstance(one, str) else yaml.safe_dump(one, sort_keys=False) for one in documents]
    return "---\n".join(written)


def _case(sort: Literal["good", "bad", "irrelevant"], rule: str, *documents: Any, **about: Any) -> AttachCase:
    places = tuple(about.pop("at", ()))
    return AttachCase(rule, sort, _text(*documents), places, about.pop("stack", "dev"), Wishes(**about))


def bad(rule: str, at: str | tuple[str, ...], *documents: Any, **about: Any) -> AttachCase:
    """Manifests in which the rule finds something at exactly these places."""
    return _case("bad", rule, *documents, at=(at,) if isinstance(at, str) else at, **about)


def good(rule: str, *documents: Any, **about: Any) -> AttachCase:
    """Manifests that the rule looks at and accepts."""
    return _case("good", rule, *documents, **about)


def irrelevant(rule: str, *documents: Any, **about: Any) -> AttachCase:
    """Manifests that the rule is not about."""
    return _case("irrelevant", rule, *documents, **about)


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


OF_JOB = "spec.replicatedJobs[0].template.spec.template"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "None"}}
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

CASES = [
    bad("ATT001", "", "a: ["),
    bad("ATT001", "", "a: &a [*a]\n"),
    bad("ATT001", "", "a: !mine x: 1\n"),
    bad("ATT001", "", '{"a":' * 9000 + "1" + "}" * 9000),
    good("ATT001", json.dumps(pod())),
    irrelevant("ATT001", ""),
    bad("ATT002", "", "apiVersion: v1\nkind: Pod\nkind: Pod\n"),
    bad("ATT002", "", '{"kind": "Pod", "kind": "Pod"}'),
    good("ATT002", pod()),
    irrelevant("ATT002", "# nothing\n"),
    bad("ATT003", "", MERGED),
    good("ATT003", BESIDE, containers=("main",)),
    irrelevant("ATT003", SERVICE),
    bad("ATT005", "document 2", SERVICE, "7\n"),
    bad("ATT005", "document 1", "kind: Pod\n"),
    good("ATT005", pod()),
    irrelevant("ATT005", "---\n---\n"),
    bad("ATT006", "document 1, kind", workload("TFJob", "kubeflow.org/v1")),
    bad(
        "ATT006",
        "document 1, kind",
        {**SERVICE, "kind": "Flow", "spec": {"templates": [{"container": {"image": "a"}}]}},
    ),
    bad(
        "ATT006",
        "document 1, kind",
        {**SERVICE, "kind": "Served", "spec": {"model": {"resources": {"limits": {"gpu": "8"}}}}},
    ),
    bad(
        "ATT006",
        "document 1, spec.templates[1].resource.manifest",
        workflow({"name": "job", "resource": {"action": "create", "manifest": "kind: Job\ncontainers:\n- a"}}),
    ),
    good("ATT006", workload("Job", "batch/v1")),
    good("ATT006", workflow({"name": "job", "resource": {"manifest": "kind: ConfigMap\ndata: {}"}})),
    bad("ATT065", "document 1, kind", workload("TFJob", "kubeflow.org/v1"), skipped=("TFJob",)),
    good("ATT065", workload("Job", "batch/v1"), skipped=("TFJob",)),
    irrelevant("ATT065", SERVICE),
    bad("ATT066", "document 1, spec.containers[0].env[0]", pod({"env": [{"name": "NCCL_IB_DISABLE", "value": "1"}]})),
    bad("ATT066", "document 1, spec.containers[0].args", pod({"args": ["mpirun", "-genv", "NCCL_NET", "Socket", "a"]})),
    good("ATT066", pod({"args": ["mpirun", "-genv", "NCCL_NET", "IB", "NCCL_NET", "Socket"]})),
    bad("ATT066", "document 1, spec.containers[0].args", pod({"args": ["NCCL_NET=Socket mpirun a"]})),
    good("ATT066", pod({"env": [{"name": "NCCL_IB_DISABLE", "value": "0"}]})),
    irrelevant("ATT066", pod()),
    irrelevant("ATT006", SERVICE),
    bad("ATT007", "document 1, apiVersion", {**workload("Job", "batch/v1beta1")}),
    good("ATT007", workload("Job", "batch/v1")),
    irrelevant("ATT007", SERVICE),
    bad("ATT008", "document 1, spec.containers[0].env[0].name", pod({"env": [{"name": ["A"], "value": "b"}]})),
    bad("ATT008", "document 1, spec.volumes[0].name", pod(volumes=[{"name": {"a": "b"}}])),
    bad("ATT008", "document 1, spec.containers", {**pod(), "spec": {"containers": []}}),
    bad("ATT008", "document 1, spec", {**workload("Job", "batch/v1"), "spec": {}}),
    good("ATT008", pod({"env": None}, tolerations=None)),
    irrelevant("ATT008", {**SERVICE, "spec": "anything"}),
    bad("ATT009", "all documents", pod(), containers=("trainer",)),
    good("ATT009", pod(), containers=("main",)),
    irrelevant("ATT009", pod()),
    bad("ATT010", ("document 1", "document 2"), pod(IDLE), pod(IDLE)),
    good("ATT010", pod(IDLE), pod()),
    bad("ATT010", "document 1", pod(IDLE)),
    bad("ATT010", "document 1", job_set([{"name": "a"}], [{"name": "b"}])),
    good("ATT010", pod(IDLE), containers=("main",)),
    irrelevant("ATT010", SERVICE),
    bad(
        "ATT011", f"document 1, {OF_JOB}.spec.containers", job_set([{"name": "a"}, {"name": "b"}]), containers=("one",)
    ),
    bad("ATT011", "document 1, spec.containers", pod(containers=[{"name": "a", **GPUS}, {"name": "b", **GPUS}])),
    good("ATT011", pod(containers=[{"name": "a", **GPUS}, {"name": "b"}])),
    irrelevant("ATT011", pod()),
    bad("ATT012", "document 1, metadata.namespace", pod(), namespace="research"),
    good("ATT012", pod(metadata={"namespace": "default"}), namespace="research"),
    irrelevant("ATT012", SERVICE, namespace="research"),
    bad("ATT013", "document 1", workload("DaemonSet", "apps/v1"), queue="a"),
    bad(
        "ATT013",
        "document 1, metadata.labels[kueue.x-k8s.io/queue-name]",
        pod(metadata={"labels": {"kueue.x-k8s.io/queue-name": "b"}}),
        queue="a",
    ),
    good("ATT013", pod(), queue="a"),
    irrelevant("ATT013", workload("DaemonSet", "apps/v1")),
    bad("ATT014", f"document 1, metadata.annotations[{NETWORKS}]", annotated(networks="[" * 9000)),
    bad("ATT014", f"document 1, metadata.annotations[{NETWORKS}]", annotated(networks='{"name": "nfs"}')),
    good("ATT014", annotated(networks='[{"name": "nfs", "interface": "nfs0"}]')),
    irrelevant("ATT014", pod()),
    bad("ATT015", f"document 1, metadata.annotations[{NETWORKS}]", annotated(networks="nfs@net3")),
    good("ATT015", annotated(networks="nfs@nfs0")),
    irrelevant("ATT015", pod()),
    bad("ATT016", f"document 1, metadata.annotations[{INJECT}]", annotated(inject="other")),
    bad(
        "ATT016",
        f"document 1, metadata.annotations[{NETWORKS}]",
        annotated(networks="nfs@nfs0"),
        stack="examples/spiderpool-ib",
    ),
    good("ATT016", pod(), stack="examples/spiderpool-ib"),
    irrelevant("ATT016", annotated(networks="nfs@nfs0")),
    bad("ATT017", "document 1, spec.hostNetwork", pod(hostNetwork=True)),
    bad("ATT017", "document 1, spec.hostNetwork", pod(hostNetwork=False), stack="host-network"),
    good("ATT017", pod(hostNetwork=True), stack="host-network"),
    bad("ATT017", "document 1, spec.hostNetwork", workflow(hostNetwork=True)),
    irrelevant("ATT017", pod()),
    bad("ATT018", f"document 1, spec.nodeSelector[{SELECTOR}]", pod(nodeSelector={SELECTOR: "BM.GPU4.8"})),
    good("ATT018", pod(nodeSelector={SELECTOR: "BM.GPU.H100.8", "row": "1"})),
    bad("ATT018", f"document 1, spec.nodeSelector[{SELECTOR}]", workflow(nodeSelector={SELECTOR: "BM.GPU4.8"})),
    irrelevant("ATT018", pod(nodeSelector=None)),
    bad("ATT018", f"document 1, {REQUIRED}.nodeSelectorTerms", pod(affinity=nodes(["BM.GPU4.8"]))),
    bad("ATT018", f"document 1, {REQUIRED}.nodeSelectorTerms", pod(affinity=nodes(["BM.GPU.H100.8"], "NotIn"))),
    bad("ATT018", f"document 1, {REQUIRED}.nodeSelectorTerms", pod(affinity=nodes([], "DoesNotExist"))),
    good("ATT018", pod(affinity=nodes(["BM.GPU4.8", "BM.GPU.H100.8"]))),
    good("ATT018", pod(affinity=nodes([], "Exists"))),
    irrelevant("ATT018", pod(affinity=nodes(["b"], key="row"))),
    bad("ATT027", f"document 1, spec.containers[0].resources.limits[{GPU}]", pod({"resources": {"limits": {GPU: 16}}})),
    good("ATT027", pod({"resources": {"limits": {GPU: 4}}})),
    irrelevant("ATT027", SERVICE),
    bad(
        "ATT028",
        "document 1, spec.containers[0].resources.limits[nvidia.com/rail_16]",
        pod({"resources": {"limits": {GPU: 8, "nvidia.com/rail_16": 1}}}),
    ),
    bad("ATT028", f"document 1, metadata.annotations[{NETWORKS}]", annotated(networks="rail-16@net17")),
    good("ATT028", pod({"resources": {"limits": {GPU: 8, **SIXTEEN_RAILS}}})),
    irrelevant("ATT028", annotated(networks="nfs2@nfs0")),
    bad("ATT029", f"document 1, metadata.annotations[{STAMP}]", stamped("{")),
    bad("ATT029", f"document 1, metadata.annotations[{STAMP}]", stamped('{"contract": 7}')),
    good("ATT029", stamped('{"contract": "0"}')),
    irrelevant("ATT029", pod()),
    bad("ATT070", "document 1, spec.containers[0]", stamped('{"contract":"0","added":{"/spec":{"shareHosts":true}}}')),
    good("ATT070", stamped('{"contract": "0"}')),
    irrelevant("ATT070", pod()),
    bad("ATT067", "document 1, spec.clusterSelector", {**RAY_JOB, "spec": {"clusterSelector": {"a": "b"}}}),
    good("ATT067", pod(), {**RAY_JOB, "metadata": {}}, containers=("main",)),
    bad("ATT067", "document 1, spec.workflowTemplateRef", workflow(workflowTemplateRef={"name": "t"})),
    bad("ATT067", "document 1, spec.templates", workflow() | {"spec": {"templates": [{"name": "a", "steps": []}]}}),
    good("ATT067", workflow()),
    irrelevant("ATT067", SERVICE),
    bad("ATT068", "document 1, spec.containers[0].securityContext.runAsUser", pod(ANYBODY)),
    bad("ATT068", "document 1, spec.securityContext.runAsUser", pod(**ANYBODY)),
    bad("ATT068", "document 1, spec.securityContext.runAsNonRoot", pod(securityContext={"runAsNonRoot": True})),
    good("ATT068", pod({"securityContext": {"runAsUser": 0}}, securityContext={"runAsNonRoot": True})),
    good("ATT068", pod({"securityContext": {"runAsNonRoot": False}}, securityContext={"runAsNonRoot": True})),
    good("ATT068", pod({"securityContext": {"runAsUser": 0}}, **ANYBODY)),
    irrelevant("ATT068", pod()),
    bad(
        "ATT019",
        f"document 1, spec.containers[0].resources.requests[{GPU}]",
        pod({"resources": {"limits": {GPU: 8}, "requests": {GPU: 4}}}),
    ),
    good("ATT019", pod({"resources": {"limits": {GPU: 8}, "requests": {GPU: "8"}}})),
    irrelevant("ATT019", pod({"resources": {"limits": {GPU: 8, "cpu": 8}, "requests": {"cpu": 4}}})),
    bad(
        "ATT020",
        "document 1, spec.containers[0].resources.limits[nvidia.com/rail_00]",
        pod({"resources": {"limits": {GPU: 8, "nvidia.com/rail_00": 0}}}),
    ),
    good("ATT020", pod({"resources": {"limits": {GPU: 8, **SIXTEEN_RAILS}}})),
    irrelevant("ATT020", pod({"resources": {"limits": {GPU: 4}}})),
    bad(
        "ATT021",
        "document 1, spec.containers[0].resources.limits[amd.com/gpu]",
        pod({"resources": {"limits": {"amd.com/gpu": 8}}}),
    ),
    good("ATT021", pod()),
    bad(
        "ATT021",
        "document 1, spec.containers[0].resources.requests[google.com/tpu]",
        pod({"resources": {"limits": {GPU: 8}, "requests": {"google.com/tpu": 4}}}),
    ),
    bad(
        "ATT021",
        "document 1, spec.containers[0].resources.claims",
        pod({"resources": {"claims": [{"name": "gpus"}]}}),
    ),
    good("ATT021", pod({"resources": {"limits": {"amd.com/gpu": 8}}}), containers=("main",)),
    irrelevant(
        "ATT021", pod(containers=[{"name": "a", **GPUS}, {"name": "b", "resources": {"limits": {"amd.com/gpu": 1}}}])
    ),
    bad(
        "ATT064",
        "document 1, spec.containers[0].resources.limits[rdma/ib]",
        pod({"resources": {"limits": {GPU: 8, "rdma/ib": 8}}}),
    ),
    good("ATT064", pod({"resources": {"limits": {GPU: 8, "nvidia.com/rail_00": 1}}})),
    irrelevant("ATT064", pod({"resources": {"limits": {GPU: 8, "cpu": 4, "hugepages-2Mi": "1Gi"}}})),
    bad(
        "ATT022",
        "document 1, spec.containers[0].securityContext.capabilities.drop",
        pod({"securityContext": {"capabilities": {"drop": ["IPC_LOCK"]}}}),
    ),
    good("ATT022", pod({"securityContext": {"capabilities": {"drop": ["ALL"]}}})),
    irrelevant("ATT022", pod({"securityContext": {"runAsUser": 1000}})),
    bad(
        "ATT023",
        "document 1, spec.containers[0].securityContext.privileged",
        pod({"securityContext": {"privileged": False}}),
        stack="host-network",
    ),
    bad(
        "ATT023",
        "document 1, spec.containers[0].securityContext.allowPrivilegeEscalation",
        pod({"securityContext": {"allowPrivilegeEscalation": False}}),
        stack="host-network",
    ),
    good("ATT023", pod({"securityContext": {"privileged": True}}), stack="host-network"),
    irrelevant("ATT023", pod({"securityContext": {"privileged": False}})),
    bad("ATT024", "document 1, spec.podSpecOverrides", train_job(podSpecOverrides=[{"targetJobs": []}])),
    bad("ATT024", ("document 1, spec", "document 1, spec"), train_job(), stack="host-network"),
    bad("ATT024", ("document 1, spec.hostNetwork", "document 1, spec.dnsPolicy"), workflow(), stack="host-network"),
    good("ATT024", train_job()),
    good("ATT024", workflow(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"), stack="host-network"),
    irrelevant("ATT024", pod(), stack="host-network"),
    bad(
        "ATT025",
        "document 1, spec.containers[0].ports[0].hostPort",
        pod({"ports": [{"containerPort": 22, "hostPort": 2222}]}),
        stack="host-network",
    ),
    good(
        "ATT025", pod({"ports": [{"containerPort": 22, "hostPort": 22}, {"containerPort": 80}]}), stack="host-network"
    ),
    irrelevant("ATT025", pod({"ports": [{"containerPort": 22, "hostPort": 2222}]})),
    bad("ATT026", "document 1, spec.containers[0].env[0]", pod({"env": [{"name": "NCCL_GRAPH_FILE", "value": "/g"}]})),
    good("ATT026", pod({"env": [{"name": "NCCL_DEBUG", "value": "INFO"}]})),
    irrelevant("ATT026", pod()),
    bad("ATT051", "document 1, spec.containers[0].env[0]", pod({"env": [{"name": "NCCL_IB_TC", "value": "106"}]})),
    bad(
        "ATT051",
        "document 1, spec.containers[0].env[0]",
        pod({"env": [{"name": "NCCL_IB_TC", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
    ),
    bad(
        "ATT051",
        f"document 1, spec.containers[0].resources.limits[{GPU}]",
        pod({"resources": {"limits": {GPU: "1e999999999"}}}),
    ),
    good("ATT051", pod({"env": [{"name": "NCCL_IB_TC", "value": "41"}]})),
    irrelevant("ATT051", pod({"env": [{"name": "HOME", "value": "/"}]})),
    bad("ATT052", "document 1, spec.containers[0].envFrom", pod({"envFrom": [{"configMapRef": {"name": "a"}}]})),
    good("ATT052", pod({"envFrom": []})),
    irrelevant("ATT052", pod(initContainers=[{"name": "i", "envFrom": [{"configMapRef": {"name": "a"}}]}])),
    bad("ATT053", "document 1, spec.containers[0].volumeMounts[0]", pod(SHARED_MEMORY, volumes=OWN_VOLUME)),
    bad(
        "ATT053",
        "document 1, spec.containers[0].volumeMounts[0]",
        pod({"volumeMounts": [{"name": "own", "mountPath": "/dev//shm/"}]}, volumes=OWN_VOLUME),
    ),
    good("ATT053", pod({"volumeMounts": [{"name": "own", "mountPath": "/data"}]}, volumes=OWN_VOLUME)),
    irrelevant("ATT053", pod(initContainers=[{"name": "i", **SHARED_MEMORY}], volumes=OWN_VOLUME)),
    bad("ATT054", f"document 1, metadata.annotations[{NETWORKS}]", annotated(networks="nfs")),
    bad(
        "ATT054",
        f"document 1, metadata.annotations[{NETWORKS}]",
        annotated(networks='[{"name": "nfs", "interface": ""}]'),
    ),
    good("ATT054", annotated(networks="nfs@nfs0")),
    irrelevant("ATT054", pod()),
    bad("ATT055", "document 1", pod(IDLE), pod()),
    good("ATT055", pod(), pod()),
    irrelevant("ATT055", SERVICE, pod()),
    bad("ATT056", "document 1, metadata.namespace", pod(), stack="doks-h200", namespace="research"),
    good("ATT056", pod(), stack="doks-h200", namespace="default"),
    irrelevant("ATT056", SERVICE, stack="doks-h200", namespace="research"),
    bad(
        "ATT057",
        "document 1, spec.volumes[0].configMap",
        pod({"volumeMounts": [{"name": "own", "mountPath": "/etc/nccl.conf"}]}, volumes=OLD_FILE),
    ),
    good(
        "ATT057",
        pod(
            {"volumeMounts": [{"name": "own", "mountPath": "/settings"}]},
            volumes=[{"name": "own", "configMap": {"name": "mine"}}],
        ),
    ),
    irrelevant("ATT057", pod(SHARED_MEMORY, volumes=OWN_VOLUME)),
    bad(
        "ATT058",
        "document 1, spec.containers[0].securityContext.privileged",
        pod({"securityContext": {"privileged": True}}),
    ),
    good("ATT058", pod({"securityContext": {"privileged": False}})),
    irrelevant("ATT058", pod({"securityContext": {"privileged": True}}), stack="host-network"),
    bad(
        "ATT059",
        "document 1, spec.strategy.type",
        workload("Deployment", "apps/v1", strategy={"rollingUpdate": {"maxSurge": 1}}),
    ),
    good("ATT059", workload("Deployment", "apps/v1", strategy={"rollingUpdate": {"maxSurge": 0}})),
    irrelevant("ATT059", workload("StatefulSet", "apps/v1")),
    bad("ATT060", "document 1, spec.runtimePatches", train_job()),
    good("ATT060", RUNTIME, containers=("node",)),
    irrelevant("ATT060", pod()),
    bad("ATT063", "document 1, spec.containers[0]", pod()),
    bad("ATT063", "document 1, spec.containers[0]", pod(IDLE), containers=("main",)),
    good("ATT063", SERVICE, pod(IDLE, hostNetwork=True)),
    irrelevant("ATT063", SERVICE),
    bad("ATT069", f"document 1, {OF_JOB}.spec.containers[0].resources", job_set([{"name": "a"}], [MAIN]), queue="q"),
    good("ATT069", job_set([{"name": "a", **IDLE}], [MAIN]), queue="q"),
    irrelevant("ATT069", job_set([{"name": "a"}], [MAIN])),
    bad("ATT071", "document 1, spec", DYNAMO),
    bad("ATT071", "document 1, spec.podSpecPatch", workflow(podSpecPatch='{"containers": []}')),
    bad("ATT071", "document 1, spec.templates[0].podSpecPatch", workflow(step={"podSpecPatch": "{}"})),
    bad("ATT071", "document 1, spec.templateDefaults", workflow(templateDefaults={"timeout": "1h"})),
    good("ATT071", pod()),
    good("ATT071", workflow({"name": "other", "container": {"image": "b"}, "podSpecPatch": "{}"})),
    irrelevant("ATT071", SERVICE),
    bad(
        "ATT072",
        f"document 1, metadata.annotations[{NETWORKS}]",
        annotated(networks="nfs@nfs0"),
        stack="host-network",
    ),
    good("ATT072", annotated(networks=""), stack="host-network"),
    irrelevant("ATT072", annotated(networks="nfs@nfs0")),
    bad("ATT073", "document 1, spec.mpiReplicaSpecs.Launcher.template", mpi_job(GPUS)),
    good("ATT073", mpi_job(GPUS, runLauncherAsWorker=True)),
    good("ATT073", mpi_job({})),
    irrelevant("ATT073", pod()),
    bad("ATT061", ("all documents",) * 4, pod(), stack="doks-b300"),
    good("ATT061", pod()),
    irrelevant("ATT061", SERVICE, stack="doks-b300"),
    bad("ATT062", "document 1, spec.containers[0].env[0]", pod({"env": [{"name": "NCCL_TOPO_FILE", "value": "/a"}]})),
    good("ATT062", pod({"env": [{"name": "NCCL_TOPO_FILE", "value": "/etc/nccl/topo.xml"}]})),
    irrelevant("ATT062", pod()),
]
