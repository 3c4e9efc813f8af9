"""The policies of `gpu-fabric admission` in a real API server: a labelled pod gets what `attach` gives the same pod."""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attached_pods import EXPECTED, NETWORKS, as_template, at, contract_of, documents_of, text_of
from driver import PODS, STACK, Sandbox, until

from gpu_fabric.attach.admission import OPT_IN, admission_policies
from gpu_fabric.attach.attachment import Wishes, attach, is_for_gpus
from gpu_fabric.attach.place import AttachError
from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.names import QUEUE_LABEL, TOPOLOGY_ANNOTATIONS
from sandbox.kubernetes_api import Object, apply_object, delete_object

pytestmark = pytest.mark.sandbox

STACKS = ("dev", "doks-h200", "examples/spiderpool-ib", "host-network", "sriov-dpdk", "kueue")
GPU = "nvidia.com/gpu"
# What a policy leaves out, since it belongs to the workload; the page lists it.
NOT_AT_ADMISSION = (QUEUE_LABEL, *TOPOLOGY_ANNOTATIONS, OPT_IN)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox of the module's own, in which no stack is up."""
    sandbox = Sandbox(tmp_path_factory.mktemp("admission"))
    try:
        sandbox.run("up", "-s", STACK)
        until(lambda: sandbox.items("/api/v1/namespaces/default/serviceaccounts"), "pods can be created")
        yield sandbox
    finally:
        sandbox.run("down")


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


def pods_of_manifests() -> dict[str, Object]:
    """A pod of each template in the examples, as the controller of its kind would create it."""
    found = {}
    for name, expected in EXPECTED.items():
        document = documents_of(text_of(name))[expected.document]
        for path in (*expected.attached, *expected.others):
            if "dag" in (found_there := at(document, path)):
                continue  # of a workflow, without a pod
            template = copy.deepcopy(as_template(found_there))
            own = template.get("metadata") or {}
            metadata = {"name": "one", "labels": own.get("labels") or {}, "annotations": own.get("annotations") or {}}
            spec = template["spec"] | {"automountServiceAccountToken": False}
            spec.pop("serviceAccountName", None)
            claims = {mount["name"] for one in spec["containers"] for mount in one.get("volumeMounts", ())}
            claims -= {volume["name"] for volume in spec.get("volumes", ())}
            spec["volumes"] = [*spec.get("volumes", ()), *({"name": one, "emptyDir": {}} for one in sorted(claims))]
            found[f"{name} {path}"] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
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
    for name, given in pods_of_manifests().items():
        wanted = given
        try:
            if is_for_gpus(given, contract):
                wanted = attach([given], contract, Wishes()).documents[0]
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
    stored, warnings = created(server, pod(labels={}))

    assert not has_variables(stored)
    (warning,) = warnings
    assert (
        "'gpu-fabric-warn-dev': one takes a node of stack dev (8 nvidia.com/gpu) and has no networks of it" in warning
    )
    assert "label the pod or its namespace gpu-fabric.dev/attach=enabled, or run gpu-fabric attach" in warning


@pytest.mark.parametrize("stack", STACKS)
def test_the_api_server_finds_no_wrong_type_in_the_policy_that_warns(
    server: Sandbox, policies: Policies, stack: str
) -> None:
    policies(stack)
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/gpu-fabric-warn-{stack.split('/')[-1]}"
    status = until(lambda: server.api.get(path).get("status"), "its types are checked")

    assert status["observedGeneration"] == 1
    assert status["typeChecking"] == {}


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


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(pod(hostNetwork=True), id="the node's own network"),
        pytest.param(pod(nodeSelector={"node.kubernetes.io/instance-type": "other"}), id="other nodes"),
        pytest.param(pod(annotations={NETWORKS: "storage"}), id="networks of its own"),
        pytest.param(pod(annotations={"cni.spidernet.io/rdma-resource-inject": "x"}), id="injected networks"),
        pytest.param(pod(container={"resources": {"limits": {GPU: 16}}}), id="more GPUs than a node has"),
        pytest.param(
            pod(container={"securityContext": {"capabilities": {"drop": ["IPC_LOCK"]}}}), id="a capability is dropped"
        ),
    ],
)
def test_a_pod_that_attach_would_refuse_or_whose_networks_it_would_merge_stays_as_it_is(
    server: Sandbox, policies: Policies, given: Object
) -> None:
    plain = admitted(server, copy.deepcopy(given) | {"metadata": {**given["metadata"], "labels": {}}})
    policies("dev")

    assert compared(admitted(server, given)) == compared(plain)


def test_what_a_pod_has_of_its_own_stays(server: Sandbox, policies: Policies) -> None:
    policies("dev")
    given = pod(
        container={
            "env": [{"name": "NCCL_IB_TC", "value": "106"}],
            "volumeMounts": [{"name": "shared-memory", "mountPath": "/mine"}, {"name": "shm", "mountPath": "/dev/shm"}],
            "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}},
        },
        volumes=[{"name": "shared-memory", "emptyDir": {}}, {"name": "shm", "emptyDir": {"medium": "Memory"}}],
        tolerations=[{"operator": "Exists"}],
    )
    stored = admitted(server, given)
    (container,) = stored["spec"]["containers"]

    assert {"name": "NCCL_IB_TC", "value": "106"} in container["env"]
    assert [mount["mountPath"] for mount in container["volumeMounts"]][:2] == ["/mine", "/dev/shm"]
    assert [volume["name"] for volume in stored["spec"]["volumes"]][:2] == ["shared-memory", "shm"]
    assert container["securityContext"]["capabilities"]["add"] == ["SYS_PTRACE", "IPC_LOCK"]
    assert "nvidia.com/gpu" not in str(stored["spec"]["tolerations"])


def test_a_volume_of_the_users_with_the_fabrics_name_stays_and_the_fabrics_gets_another(
    server: Sandbox, policies: Policies
) -> None:
    contract = policies("dev")
    given = pod(
        container={"volumeMounts": [{"name": "shared-memory", "mountPath": "/mine"}]},
        volumes=[{"name": "shared-memory", "emptyDir": {}}],
    )
    wanted = attach([given], contract).documents[0]

    assert compared(admitted(server, given)) == compared(admitted(server, wanted))
    assert "fabric-shared-memory" in str(wanted)


def test_pods_of_a_deployment_get_the_fabric_and_its_template_stays(server: Sandbox, policies: Policies) -> None:
    """As a controller creates them: the label is in the template."""
    policies("dev")
    template = {"metadata": {"labels": {"app": "model", OPT_IN: "enabled"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": "model"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "model"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"
    server.api.post(path, deployment)
    try:
        (found,) = until(lambda: server.items(f"{PODS}?labelSelector=app%3Dmodel"), "the deployment has a pod")
        assert NETWORKS in found["metadata"]["annotations"]
        assert NETWORKS not in str(server.api.get(f"{path}/model")["spec"])
    finally:
        server.api.delete(f"{path}/model?propagationPolicy=Foreground")
        until(lambda: not server.items(f"{PODS}?labelSelector=app%3Dmodel"), "its pod is gone")


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
