"""The policies of `gpu-fabric admission` in a real API server: a labelled pod gets what `attach` gives the same pod."""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attached_pods import EXPECTED, NETWORKS, as_template, at, contract_of, documents_of, pod_of, text_of
from driver import PODS, STACK, Sandbox, until

from gpu_fabric.attach.admission import OPT_IN, admission_policies
from gpu_fabric.attach.attachment import AttachOptions, attach, is_for_gpus
from gpu_fabric.attach.place import AttachError
from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.names import QUEUE_LABEL, TOPOLOGY_ANNOTATIONS
from sandbox.kubernetes_api import Object, apply_object, delete_object

STACKS = ("dev", "doks-h200", "examples/spiderpool-ib", "host-network", "sriov-dpdk", "kueue", "dranet")
GPU = "nvidia.com/gpu"
# What a policy leaves out, since it belongs to the workload; the page lists it.
NOT_AT_ADMISSION = (QUEUE_LABEL, *TOPOLOGY_ANNOTATIONS, OPT_IN)


@pytest.fixture(scope="module")
def server(cluster: Sandbox) -> Sandbox:
    """A sandbox of the module's own, in which no stack is up."""
    cluster.run("up", "-s", STACK)
    until(lambda: cluster.items("/api/v1/namespaces/default/serviceaccounts"), "pods can be created")
    return cluster


Policies = Callable[[str], FabricContract]


@pytest.fixture
def policies(server: Sandbox) -> Iterator[Policies]:
    """Puts the policies of a stack into effect, until the end of the test."""
    applied: list[Object] = []

    def put(stack: str) -> FabricContract:
        contract = contract_of(stack)
        applied.extend(admission_policies(contract))
        for manifest in applied:
            apply_object(server.api, manifest)
        until(lambda: has_variables(admitted(server, pod())), "the policies are in effect")
        # Each policy is known to the API server at a moment of its own.
        until(lambda: created(server, pod(labels={}))[1], "the policy that warns is in effect")
        return contract

    yield put
    for manifest in applied:
        delete_object(server.api, manifest)
    until(lambda: not has_variables(admitted(server, pod())), "the policies are in effect no more")


def has_variables(created: Object) -> bool:
    return any("env" in container for container in created["spec"]["containers"])


def pod(labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **changes: Any) -> Object:
    """A pod that asks for all GPUs of a node, with the label unless others are given."""
    container = {"name": "main", "image": "registry.example/train:7", "resources": {"limits": {GPU: 8}}}
    container |= changes.pop("container", {})
    metadata = {"name": "one", "labels": {OPT_IN: "enabled"} if labels is None else labels}
    spec = {"containers": [container], "automountServiceAccountToken": False, **changes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"annotations": annotations or {}}, "spec": spec}


def admitted(server: Sandbox, given: Object) -> Object:
    """A pod as it would be stored."""
    return server.api.post(f"{PODS}?dryRun=All&fieldValidation=Strict", given)


def compared(stored: Object) -> Any:
    """What of a stored pod the fabric may change; the API server's own tolerations may come before or after."""
    spec = {**stored["spec"], "tolerations": sorted(stored["spec"].get("tolerations", []), key=json.dumps)}
    metadata = stored["metadata"]
    names = ("labels", "annotations")
    kept = [{k: v for k, v in metadata.get(name, {}).items() if k not in NOT_AT_ADMISSION} for name in names]
    return kept, spec


# Of the user's own: what stays, what has the fabric's name, and what `attach` refuses or would merge.
OWN: dict[str, Object] = {
    "what a pod has of its own": pod(
        container={
            "env": [{"name": "NCCL_IB_TC", "value": "106"}],
            "volumeMounts": [{"name": "shared-memory", "mountPath": "/mine"}, {"name": "shm", "mountPath": "/dev/shm"}],
            "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}},
        },
        volumes=[{"name": "shared-memory", "emptyDir": {}}, {"name": "shm", "emptyDir": {"medium": "Memory"}}],
        tolerations=[{"operator": "Exists"}],
    ),
    "a volume with the fabric's name": pod(
        container={"volumeMounts": [{"name": "shared-memory", "mountPath": "/mine"}]},
        volumes=[{"name": "shared-memory", "emptyDir": {}}],
    ),
    "the node's own network": pod(hostNetwork=True),
    "other nodes": pod(nodeSelector={"node.kubernetes.io/instance-type": "other"}),
    "networks of its own": pod(annotations={NETWORKS: "storage"}),
    "injected networks": pod(annotations={"cni.spidernet.io/rdma-resource-inject": "x"}),
    "more GPUs than a node has": pod(container={"resources": {"limits": {GPU: 16}}}),
    "a capability is dropped": pod(container={"securityContext": {"capabilities": {"drop": ["IPC_LOCK"]}}}),
}


# Which libraries a container uses is not looked at when pods are admitted (docs/attach.md).
NO_LIBRARY = AttachOptions(libraries=("none",))


def pods_of_manifests() -> dict[str, Object]:
    """A pod of each template in the examples, as the controller of its kind would create it."""
    found = {}
    for name, expected in EXPECTED.items():
        document = documents_of(text_of(name))[expected.document]
        for path in (*expected.attached, *expected.others):
            if "dag" in (found_there := at(document, path)):
                continue  # of a workflow, without a pod
            found[f"{name} {path}"] = pod_of(copy.deepcopy(as_template(found_there)))
    return found


def labelled(given: Object) -> Object:
    metadata = given["metadata"]
    return given | {"metadata": metadata | {"labels": {**metadata.get("labels", {}), OPT_IN: "enabled"}}}


@pytest.mark.parametrize("stack", STACKS)
def test_pods_of_every_kind_get_at_admission_what_attach_gives_them(
    server: Sandbox, policies: Policies, stack: str
) -> None:
    contract = policies(stack)
    different, attached_ones = [], 0
    for name, given in (pods_of_manifests() | (OWN if stack == "dev" else {})).items():
        wanted = given
        try:
            if is_for_gpus(given, contract):
                wanted = attach([given], contract, NO_LIBRARY).documents[0]
        except AttachError:
            pass
        if NETWORKS in contract.annotations and NETWORKS in given["metadata"]["annotations"]:
            wanted = given  # merged by `attach` alone
        attached_ones += wanted is not given
        if compared(admitted(server, labelled(given))) != compared(admitted(server, wanted)):
            different.append(name)
        if compared(admitted(server, labelled(wanted))) != compared(admitted(server, wanted)):
            different.append(f"{name}, attached before")

    assert different == []
    assert attached_ones > 15


def test_without_the_label_nothing_is_added_and_a_warning_says_so(server: Sandbox, policies: Policies) -> None:
    policies("dev")
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/gpu-fabric-warn-dev"
    status = until(lambda: server.api.get(path).get("status"), "the API server has checked the policy's types")
    assert status["typeChecking"] == {}
    stored, warnings = created(server, pod(labels={}))

    assert not has_variables(stored)
    (warning,) = warnings
    assert (
        "'gpu-fabric-warn-dev': one takes a node of stack dev (8 nvidia.com/gpu) and has no networks of it" in warning
    )
    assert "label the pod or its namespace gpu-fabric.dev/attach=enabled, or run gpu-fabric attach" in warning


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(pod(), id="labelled"),
        pytest.param(pod(labels={}, container={"resources": {"limits": {GPU: 1}}}), id="a part of a node"),
        pytest.param(pod(labels={}, nodeSelector={"node.kubernetes.io/instance-type": "other"}), id="other nodes"),
        pytest.param(pod(labels={}, container={"resources": {}}), id="no GPUs"),
    ],
)
def test_no_warning_is_about_a_pod_with_the_fabric_or_that_does_not_take_a_node_whole(
    server: Sandbox, policies: Policies, given: Object
) -> None:
    policies("dev")

    assert created(server, given)[1] == []


def test_a_label_of_the_namespace_is_for_all_of_its_pods_but_those_that_are_labelled_otherwise(
    server: Sandbox, policies: Policies
) -> None:
    policies("dev")
    namespace = "/api/v1/namespaces/default"
    server.api.patch(namespace, {"metadata": {"labels": {OPT_IN: "enabled"}}})
    try:
        until(lambda: has_variables(admitted(server, pod(labels={}))), "the label of the namespace is seen")
        assert not has_variables(admitted(server, pod(labels={OPT_IN: "disabled"})))
    finally:
        server.api.patch(namespace, {"metadata": {"labels": {OPT_IN: None}}})


def created(server: Sandbox, given: Object) -> tuple[Object, list[str]]:
    """A pod as it would be stored, and the warnings that the API server gives a client with it."""
    api, said = server.api, list[str]()
    connection = api._connection
    response = connection.getresponse

    def keep() -> http.client.HTTPResponse:
        answer = response()
        said.extend(answer.headers.get_all("Warning") or ())
        return answer

    connection.getresponse = keep  # type: ignore[method-assign]
    stored = api.post(f"{PODS}?dryRun=All", given)
    return stored, [entry.partition('"')[2].rstrip('"') for entry in said]
