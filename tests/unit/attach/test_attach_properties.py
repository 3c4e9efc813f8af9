"""For any pod, written in any way: a second time changes nothing, and what the user wrote is there afterwards."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from attached_pods import MANIFESTS, NETWORKS, assert_kept, contract_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.place import AttachError, deep_copy
from gpu_fabric.findings import rules

MAIN = AttachOptions(("main",))


@pytest.mark.parametrize(
    "stack", ["dev", "host-network", "doks-h200", "examples/spiderpool-ib", "dranet", "dranet-infiniband"]
)
def test_a_workload_of_any_kind_keeps_all_that_it_has_and_changes_once(stack: str) -> None:
    contract = contract_of(stack)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(pods(), st.sampled_from(sorted(WRAPPED)))
    def holds(pod: dict[str, Any], kind: str) -> None:
        template = {"metadata": pod["metadata"], "spec": pod["spec"]}
        workload = {
            "apiVersion": WRAPPED[kind][0],
            "kind": kind,
            "metadata": {"name": "one"},
            "extra": [None, {"a": 1}],
        }
        workload["spec"] = WRAPPED[kind][1](template)
        workload |= {"metadata": pod["metadata"]} if kind == "Pod" else {}
        try:
            (once,) = attach([workload], contract, MAIN).documents
        except AttachError as error:
            unfit = [problem for problem in error.problems if problem.id not in rules() or not problem.remedy]
        else:
            unfit = []
            assert attach([once], contract, MAIN).documents == (once,)
            assert_kept(workload, once)
        assert unfit == []

    holds()


def _roles(template: Any) -> Any:
    return {"Launcher": {"template": {"spec": {"containers": [{"name": "other"}]}}}, "Worker": {"template": template}}


def _jobs(template: Any) -> Any:
    return [{"name": "main", "template": {"spec": {"template": template}}}]


WRAPPED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Pod": ("v1", lambda template: template["spec"]),
    "Deployment": ("apps/v1", lambda template: {"template": template, "strategy": {"type": "RollingUpdate"}}),
    "StatefulSet": (
        "apps/v1",
        lambda template: {"template": template, "volumeClaimTemplates": [{"metadata": {"name": "shared-memory"}}]},
    ),
    "Job": ("batch/v1", lambda template: {"template": template}),
    "CronJob": ("batch/v1", lambda template: {"jobTemplate": {"spec": {"template": template}}}),
    "MPIJob": ("kubeflow.org/v2beta1", lambda template: {"mpiReplicaSpecs": _roles(template)}),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", lambda template: {"replicatedJobs": _jobs(template)}),
    "TrainingRuntime": (
        "trainer.kubeflow.org/v1alpha1",
        lambda template: {"template": {"spec": {"replicatedJobs": _jobs(template)}}},
    ),
    "RayCluster": ("ray.io/v1", lambda template: {"workerGroupSpecs": [{"groupName": "gpu", "template": template}]}),
}
"""Kinds with their version, and what makes a spec of one from a pod template."""

names = st.sampled_from(["NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_IB_TC", "HOME", "A_B"])
words = st.sampled_from(["", "a", "yes", "0x1f", "1e3", "~", "a: b", "#c", "it's", '"', "é", "two\nlines\n", " x "])
labels = st.dictionaries(st.sampled_from(["app", "team.example/name", "k"]), words, max_size=2)
variables = st.dictionaries(names, words, max_size=3).map(
    lambda values: [{"name": name, "value": value} for name, value in values.items()]
)
own_networks = st.sampled_from(
    ["", "nfs", "stores/nfs@nfs0", "rail-03", "rail-03@net4, nfs", '[{"name":"nfs","ips":["10.9.0.7/24"]}]', "nfs@net1"]
)
amounts = st.sampled_from([8, "8", 4, "16"])
gpus = st.dictionaries(st.just("nvidia.com/gpu"), amounts)
tolerations = st.lists(
    st.sampled_from(
        [{"operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}, {"key": "a", "value": "b"}]
    ),
    max_size=2,
)
mounts = st.lists(
    st.sampled_from([("/dev/shm", "shm"), ("/data", "shared-memory"), ("/etc/nccl.conf", "mine"), ("/x/", "x")]),
    max_size=3,
    unique=True,
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Pods with any of what the fabric touches, and some of what it does not."""
    mounted = draw(mounts)
    container: dict[str, Any] = {"name": "main", "image": draw(words)}
    optional = {
        "env": variables,
        "args": st.lists(words, max_size=3),
        "resources": st.none() | st.fixed_dictionaries({}, optional={"limits": gpus, "requests": gpus}),
        "securityContext": st.sampled_from([None, {}, {"capabilities": {"drop": ["ALL"]}}, {"runAsUser": 1000}]),
    }
    for key in draw(st.permutations(sorted(optional))):
        if draw(st.booleans()):
            container[key] = draw(optional[key])
    if mounted:
        container["volumeMounts"] = [{"name": name, "mountPath": path} for path, name in mounted]
    spec: dict[str, Any] = {"containers": [container]}
    if mounted:
        spec["volumes"] = [{"name": name, "emptyDir": {}} for _, name in mounted]
    if draw(st.booleans()):
        spec["tolerations"] = draw(tolerations)
    if draw(st.booleans()):
        spec = {"nodeSelector": draw(st.sampled_from([None, {}, {"row": "1"}])), **spec}
    metadata: dict[str, Any] = {"name": "one", "labels": draw(labels)}
    if draw(st.booleans()):
        metadata["annotations"] = {NETWORKS: draw(own_networks), "note": draw(words)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


JUNK: list[Any] = [None, {}, [], "x", 5, True, [None], [{}], {"a": None}, "", [[]], {"name": "a"}, 1.5]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, part in parts for inner in _paths(part, (*path, key)))]


@pytest.mark.parametrize("stack", ["dev", "host-network", "doks-h200"])
def test_whatever_a_manifest_has_in_a_place_it_is_attached_once_or_refused_by_a_rule(stack: str) -> None:
    contract = contract_of(stack)
    documents = [
        one for path in sorted(MANIFESTS.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text()) if one
    ]

    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(documents),
        st.data(),
        st.sampled_from([AttachOptions(), AttachOptions(("node",)), AttachOptions(queue="q")]),
    )
    def holds(document: Any, data: st.DataObject, wishes: AttachOptions) -> None:
        spoiled = deep_copy(document)
        place = data.draw(st.sampled_from([path for path in _paths(spoiled) if path]))
        inside = spoiled
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = data.draw(st.sampled_from(JUNK))
        try:
            (once,) = attach([spoiled], contract, wishes).documents
        except AttachError as error:
            unfit = [problem for problem in error.problems if problem.id not in rules() or not problem.remedy]
        else:
            unfit = []
            assert attach([once], contract, wishes).documents == (once,)
        assert unfit == []

    holds()
