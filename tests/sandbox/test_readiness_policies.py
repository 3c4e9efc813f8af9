"""What the account of the pods that prove nodes can write: every field of Node and Pod, on a real API server."""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from api_fields import Fields
from changes import changed
from committed_stacks import folder_of
from driver import STACK, Sandbox, until

from components.engine.waves.marks import HOOKED, PROVE, UPGRADED, WAVE
from gpu_fabric.on_nodes.readiness_agent import Agent, Host, Refused
from gpu_fabric.on_nodes.readiness_agent import Api as AgentApi
from gpu_fabric.on_nodes.readiness_pair import Pairing
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from sandbox.kubernetes_api import STRATEGIC_PATCH, Api, ApiError, Object, apply_object

NODE, NEIGHBOUR = "gpu-0", "gpu-1"
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
MANAGERS = "nvidia-network-operator"
ACCOUNT = "fabric-readiness"
TAINT = {"key": "startup-taint.cluster-autoscaler.kubernetes.io/gpu-fabric-not-ready", "effect": "NoSchedule"}


class Account(NamedTuple):
    """The account on one node: its client, what the program gets, and the client that the program uses."""

    sandbox: Sandbox
    api: Api
    agent: Agent
    pairing: Pairing

    def node(self) -> Object:
        return self.sandbox.api.get(f"{NODES}/{NODE}")

    def pod(self) -> Object:
        """The pod that the program creates on its own node."""
        return copy.deepcopy(self.pairing._pod(NODE, NEIGHBOUR))


@pytest.fixture(scope="module")
def account(cluster: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Account:
    """A sandbox of the module's own with what a plan says of the account, and a token for a pod on a node."""
    cluster.run("up", "-s", STACK)
    until(lambda: cluster.items("/api/v1/namespaces/default/serviceaccounts"), "pods can be created")
    return _account(cluster, tmp_path_factory.mktemp("account"))


def _account(sandbox: Sandbox, folder: Path) -> Account:
    document = changed(read_document(STACK, folder_of(STACK)), {"fabric.readiness": {"pair": {}}})
    planned = [entry.object.manifest() for entry in prepare(document, for_up=False).plan.applied("readiness")]
    namespaces = {entry["metadata"]["namespace"] for entry in planned if "namespace" in entry["metadata"]}
    for name in namespaces:
        apply_object(sandbox.api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for manifest in planned:
        if manifest["kind"] != "DaemonSet":
            apply_object(sandbox.api, manifest)
    for kind, version, more in (("ServiceAccount", "v1", {}), ("RuntimeClass", "node.k8s.io/v1", {"handler": "runc"})):
        apply_object(sandbox.api, {"apiVersion": version, "kind": kind, "metadata": {"name": "tried"}, **more})
    token = _token(sandbox, _bound_pod(sandbox))
    (facts,) = [yaml.safe_load(text) for text in _files(planned, "expected.json")]
    program = _client_of_the_program(sandbox, token, folder)
    facts_without_pair = {key: value for key, value in facts.items() if key != "pair"}
    made = Account(
        sandbox,
        Api(sandbox.home.kubeconfig, token=token),
        Agent(NODE, facts_without_pair, Host(folder, folder), program),
        Pairing(program, NODE, facts["pair"], Refused),
    )
    # Tried without effect: what is written before the policy holds would be no change, and so allowed, ever after.
    cordon = {"spec": {"unschedulable": True}}
    until(
        lambda: "prove nodes" in said(made.api.patch, f"{NODES}/{NODE}?dryRun=All", cordon),
        "a node's policy is in effect",
    )
    wrong_pod = {**made.pod(), "spec": {**made.pod()["spec"], "nodeName": NODE}}
    until(lambda: "prove nodes" in said(made.api.post, f"{PODS}?dryRun=All", wrong_pod), "both policies are in effect")
    return made


def _files(planned: list[Object], name: str) -> Iterator[str]:
    yield from (entry["data"][name] for entry in planned if name in entry.get("data", {}))


def _bound_pod(sandbox: Sandbox) -> Object:
    container = {"name": "main", "image": "agent"}
    spec = {"serviceAccountName": ACCOUNT, "nodeName": NODE, "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent"}, "spec": spec}
    return sandbox.api.post(f"/api/v1/namespaces/{MANAGERS}/pods", pod)


def _token(sandbox: Sandbox, pod: Object) -> str:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": None, "boundObjectRef": bound},
    }
    path = f"/api/v1/namespaces/{MANAGERS}/serviceaccounts/{ACCOUNT}/token"
    token: str = sandbox.api.post(path, request)["status"]["token"]
    return token


def _client_of_the_program(sandbox: Sandbox, token: str, folder: Path) -> AgentApi:
    (cluster,) = yaml.safe_load(sandbox.home.kubeconfig.read_text())["clusters"]
    (folder / "ca.crt").write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
    (folder / "token").write_text(token)
    with pytest.MonkeyPatch.context() as environment:
        host, _, port = cluster["cluster"]["server"].removeprefix("https://").partition(":")
        environment.setenv("KUBERNETES_SERVICE_HOST", host)
        environment.setenv("KUBERNETES_SERVICE_PORT", port)
        return AgentApi(folder)


def said(request: Any, *arguments: Any) -> str:
    """Why a request is refused; empty where it is not."""
    try:
        request(*arguments)
    except ApiError as error:
        return str(error)
    return ""


# Values for fields and types that the schema describes by a pattern of texts, or by rules between fields.
_EXEC = {"exec": {"command": ["true"]}}
_SELECTED = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
KNOWN: dict[str, Any] = {
    "Quantity": "1",
    "IntOrString": 7,
    "OwnerReference": {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "1"},
    "ObjectMeta.finalizers": ["example.com/tried"],
    "ManagedFieldsEntry": {"manager": "tried", "operation": "Update", "apiVersion": "v1"},
    "NodeSpec.podCIDR": "10.9.0.0/24",
    "NodeSpec.podCIDRs": ["10.9.0.0/24"],
    "NodeSpec.taints": [{"key": "tried", "effect": "NoExecute"}],
    "Taint.effect": "NoExecute",
    "NodeStatus.daemonEndpoints": {"kubeletEndpoint": {"Port": 4444}},
    "NodeStatus.declaredFeatures": ["Tried"],
    "Probe": _EXEC,
    "LifecycleHandler": _EXEC,
    "Lifecycle": {"postStart": _EXEC},
    "EnvVar": {"name": "TRIED"},
    "EnvVarSource": {"fieldRef": {"fieldPath": "metadata.name"}},
    "EnvFromSource": {"configMapRef": {"name": "tried"}},
    "Container": {"name": "tried", "image": "tried"},
    "PodSpec.containers": [{"name": "tried", "image": "tried"}],
    "PodSpec.dnsPolicy": "Default",
    "PodSpec.restartPolicy": "OnFailure",
    "PodSpec.priorityClassName": "system-node-critical",
    "PodSecurityContext": {"runAsUser": 7},
    "PodResourceClaim": {"name": "tried", "resourceClaimName": "tried"},
    "PodDNSConfig": {"nameservers": ["10.9.9.9"]},
    "PodDNSConfigOption": {"name": "tried"},
    "HostAlias": {"ip": "10.9.9.9", "hostnames": ["tried"]},
    "PodOS": {"name": "linux"},
    "PodReadinessGate": {"conditionType": "example.com/tried"},
    "PodSchedulingGate": {"name": "example.com/tried"},
    "TopologySpreadConstraint": {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **_SELECTED},
    "Toleration": {"operator": "Exists"},
    "Volume": {"name": "tried"},
    "PodSpec.volumes": [{"name": "tried", "emptyDir": {}}],
    "Container.imagePullPolicy": "Always",
    "Container.restartPolicy": "Never",
    "Container.terminationMessagePolicy": "FallbackToLogsOnError",
    "ContainerPort": {"containerPort": 7},
    "ContainerResizePolicy": {"resourceName": "cpu", "restartPolicy": "NotRequired"},
    "VolumeMount": {"name": "script", "mountPath": "/tried"},
    "Container.securityContext": {"runAsUser": 7},
    "HostPathVolumeSource": {"path": "/"},
}


def tried_on_the_node(account: Account) -> Iterator[tuple[str, str]]:
    """Each field of the node that the account tries to change, and why it is refused."""
    node = account.node()
    fields = Fields(account.sandbox.api.get("/openapi/v3/api/v1")["components"]["schemas"], KNOWN)
    for section, type_name in {"metadata": "ObjectMeta", "spec": "NodeSpec", "status": "NodeStatus"}.items():
        path = f"{NODES}/{NODE}{'/status' if section == 'status' else ''}?dryRun=All"
        for name, field, value in fields.changes(type_name, node[section]):
            body = {section: {field: value}}
            yield f"{section}/{name}", answered(partial(account.api.patch, path, body), node, section, field, value)


def tried_as_a_pod(account: Account) -> Iterator[tuple[str, str]]:
    """Each field of the pod of a pair that the account tries to change, and why it is refused."""
    stored = account.api.post(f"{PODS}?dryRun=All", account.pod())
    fields = Fields(account.sandbox.api.get("/openapi/v3/api/v1")["components"]["schemas"], KNOWN)
    pod = account.pod()
    for section, type_name in {"metadata": "ObjectMeta", "spec": "PodSpec"}.items():
        for name, field, value in fields.changes(type_name, pod[section]):
            tried = {**pod, section: {**pod[section], field: value}}
            yield f"{section}/{name}", answered(partial(_posted, account, tried), stored, section, field, value)
    (container,) = pod["spec"]["containers"]
    for name, field, value in fields.changes("Container", container):
        tried = {**pod, "spec": {**pod["spec"], "containers": [{**container, field: value}]}}
        whole = tried["spec"]["containers"]
        yield f"container/{name}", answered(partial(_posted, account, tried), stored, "spec", "containers", whole)


def _posted(account: Account, pod: Object) -> Object:
    return account.api.post(f"{PODS}?dryRun=All", pod)


def answered(request: Any, before: Object, section: str, field: str, value: Any) -> str:
    """Why a request is refused, that it is accepted, or that it changes nothing."""
    try:
        after = request()
    except ApiError as error:
        return str(error)
    found, was = after[section].get(field), before[section].get(field)
    # The API server writes these itself.
    is_its_own = field in ("creationTimestamp", "managedFields", "uid") and found != value
    return NOTHING if found == was or is_its_own else ACCEPTED


NOTHING, ACCEPTED, BY_POLICY = "changes nothing", "accepted", "the pods that prove nodes "
# Fields that the policies leave to the API server, with what it does; every other one is refused by the policies.
_OF_METADATA = {"creationTimestamp": NOTHING, "generation": NOTHING, "managedFields": NOTHING}
LEFT = {
    tried_on_the_node: {
        **{f"metadata/{field}": answer for field, answer in _OF_METADATA.items()},
        "metadata/namespace": NOTHING,
        "metadata/name": "does not match the name on the URL",
        "metadata/resourceVersion": "invalid syntax",
        **{f"metadata/{key}": "immutable" for key in ("deletionGracePeriodSeconds", "deletionTimestamp", "uid")},
        # Of kubelet's dynamic configuration, which Kubernetes has no more.
        **{"spec/configSource": NOTHING, "status/config": NOTHING, "spec/externalID": "may not be updated"},
    },
    tried_as_a_pod: {
        **{f"metadata/{field}": answer for field, answer in _OF_METADATA.items()},
        **{
            f"metadata/{key}": NOTHING for key in ("deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid")
        },
        "metadata/namespace": "does not match the namespace sent on the request",
        # Off by default in this version.
        "spec/schedulingGroup": NOTHING,
        # The old name of serviceAccountName, by which it is overwritten.
        "spec/serviceAccount": NOTHING,
        **{f"spec/{key}": "must not be provided in pod spec" for key in ("preemptionPolicy", "priority")},
        "spec/ephemeralContainers": "cannot be set on create",
        "spec/overhead": "must be a standard resource type",
        "spec/volumes": "Not found",
        "container/restartPolicyRules": "must specify restartPolicy",
        "container/volumeDevices": "Not found",
        # What the page allows.
        "spec/activeDeadlineSeconds": ACCEPTED,
        "spec/imagePullSecrets": ACCEPTED,
        "spec/imagePullSecrets[].name": ACCEPTED,
        "container/imagePullPolicy": ACCEPTED,
    },
}


@pytest.mark.parametrize("tried", LEFT)
def test_no_field_of_the_schema_can_be_changed_but_what_the_page_allows(account: Account, tried: Any) -> None:
    answers = dict(tried(account))
    refused = [name for name, answer in answers.items() if BY_POLICY in answer]
    # Fields within a field, of which the API server refuses some values itself, must not be accepted.
    left = {
        name: answer
        for name, answer in answers.items()
        if BY_POLICY not in answer and (answer == ACCEPTED or "." not in name)
    }

    assert len(refused) >= 60
    assert sorted(left) == sorted(LEFT[tried])
    assert {name: left[name] for name, expected in LEFT[tried].items() if expected not in left[name]} == {}


OTHERS = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
# Other values of fields that the property above has changed once.
ON_ITS_NODE: dict[str, tuple[Object, str]] = {
    "evicts jobs": ({"spec": {"taints": [*OTHERS, {**TAINT, "effect": "NoExecute"}]}}, "spec.taints of others"),
    "opens its node to pods without GPUs": ({"spec": {"taints": []}}, "spec.taints of others"),
    **{
        f"marks its node with {mark}": ({"metadata": {"annotations": {mark: "yes"}}}, "metadata.annotations of others")
        for mark in (HOOKED, PROVE, UPGRADED, WAVE)
    },
    "says that it is ready": (
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        "status.conditions of others",
    ),
}


@pytest.mark.parametrize("what", ON_ITS_NODE)
def test_the_account_does_no_harm_to_its_node(account: Account, what: str) -> None:
    body, field = ON_ITS_NODE[what]
    path = f"{NODES}/{NODE}{'/status' if 'status' in body else ''}?dryRun=All"

    assert f"{BY_POLICY}may not change {field}" in said(account.api.patch, path, body, STRATEGIC_PATCH)


def test_the_account_writes_to_no_other_node_and_creates_and_deletes_none(account: Account) -> None:
    other = f"{NODES}/{NEIGHBOUR}"
    mark = {"metadata": {"annotations": {"gpu-fabric.dev/tried": "yes"}}}
    new = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}}

    assert f"{BY_POLICY}write to their own node alone" in said(account.api.patch, f"{other}?dryRun=All", mark)
    for request in (
        (account.api.post, f"{NODES}?dryRun=All", new),
        (account.api.delete, f"{NODES}/{NODE}?dryRun=All"),
        (account.api.get, f"{NODES}/{NODE}/proxy/pods"),
        (account.api.get, "/api/v1/secrets"),
        (account.api.get, PODS),
    ):
        assert re.match(r"403: .* cannot ", said(*request)), request


def test_what_the_program_does_is_allowed(account: Account) -> None:
    def is_closed(node: Object) -> bool:
        return any(entry["key"] == TAINT["key"] for entry in node["spec"].get("taints", ()))

    agent, before = account.agent, account.node()
    closed = agent._set_taint(before, wanted=True)
    written = agent._write(closed, {"gpu-fabric.dev/proved": "a cable"}, ("True", "Proven", "all is well"))
    opened = agent._set_taint(written, wanted=False)

    assert (is_closed(closed), is_closed(opened)) == (True, False)
    assert opened["metadata"]["annotations"]["gpu-fabric.dev/proved"] == "a cable"
    assert opened["spec"] == before["spec"]
    pairing = account.pairing
    assert pairing._begin(NEIGHBOUR)
    both = [account.sandbox.api.get(pairing._path(name)) for name in (NODE, NEIGHBOUR)]
    pairing._delete_both(both[0])
    assert [entry["metadata"]["annotations"]["gpu-fabric.dev/candidate"] for entry in both] == [NODE, NODE]
    for name in (NODE, NEIGHBOUR):
        until(lambda name=name: pairing._api.find(pairing._path(name)) is None, "the pods of the pair are gone")


def _variable(name: str, value: str) -> Any:
    def change(pod: Object) -> None:
        for entry in pod["spec"]["containers"][0]["env"]:
            if entry["name"] == name:
                entry["value"] = value

    return change


def _annotated(key: str, value: str) -> Any:
    return lambda pod: pod["metadata"]["annotations"].update({key: value})


def _on(node: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


SECRET = {"name": "TRIED", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}
PODS_OF_OTHER_FORM: dict[str, tuple[Any, str]] = {
    "a secret": (lambda pod: pod["spec"]["containers"][0]["env"].append(SECRET), "spec.containers[0].env"),
    "another peer": (_variable("PEER", "example.com"), "spec.containers[0].env"),
    "words of a shell": (_variable("MODE", "measure; id"), "spec.containers[0].env"),
    "another script's folder": (_variable("TERMINATION_LOG", "/script/x"), "spec.containers[0].env"),
    "a node of its choice": (lambda pod: pod["spec"].update(affinity=_on("gpu-2")), "spec.affinity"),
    "any node": (lambda pod: pod["spec"].update(nodeSelector={}), "spec.nodeSelector"),
    "the node's files": (
        lambda pod: pod["spec"]["volumes"].append({"name": "host", "hostPath": {"path": "/"}}),
        "spec.volumes",
    ),
    "a second container": (
        lambda pod: pod["spec"]["containers"].append({"name": "tried", "image": "tried"}),
        "spec.containers",
    ),
    "other networks": (_annotated("k8s.v1.cni.cncf.io/networks", "storage"), "metadata.annotations: k8s.v1"),
    "a name of its own": (lambda pod: pod["metadata"].update(name="tried", generateName="tried"), "metadata."),
}


@pytest.mark.parametrize("what", PODS_OF_OTHER_FORM)
def test_the_account_starts_no_other_program_and_none_elsewhere(account: Account, what: str) -> None:
    change, field = PODS_OF_OTHER_FORM[what]
    pod = account.pod()
    change(pod)

    assert f"{BY_POLICY}may not create a pod with another " in (answer := said(_posted, account, pod))
    assert field in answer


def test_the_account_has_no_other_nodes_measured_and_touches_no_other_pods(account: Account) -> None:
    theirs = account.pod()
    theirs["metadata"]["annotations"]["gpu-fabric.dev/candidate"] = NEIGHBOUR
    foreign = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job"}, "spec": {"containers": []}}
    foreign["spec"]["containers"] = [{"name": "main", "image": "job"}]
    job = f"{PODS}/job"
    account.sandbox.api.post(PODS, foreign)
    try:
        assert f"{BY_POLICY}may have their own node alone measured" in said(_posted, account, theirs)
        assert f"{BY_POLICY}may create and delete pods of pairs alone" in said(_posted, account, foreign)
        assert f"{BY_POLICY}may create and delete pods of pairs alone" in said(account.api.delete, job)
        for request in (
            (account.api.patch, job, {"metadata": {"labels": {"a": "b"}}}),
            (account.api.patch, f"{job}/ephemeralcontainers", {"spec": {}}),
            (account.api.post, f"{job}/exec?command=id", {}),
            (account.api.post, f"{job}/eviction", {}),
            (account.api.post, f"{job}/binding", {}),
            (account.api.delete, PODS),
        ):
            assert re.match(r"403: .* cannot ", said(*request)), request
    finally:
        account.sandbox.api.delete(f"{job}?gracePeriodSeconds=0")


@pytest.mark.parametrize("name", ["gpu-fabric-readiness", "gpu-fabric-readiness-pair"])
def test_the_api_server_finds_no_wrong_type_in_the_policies(account: Account, name: str) -> None:
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}"
    status = until(lambda: account.sandbox.api.get(path).get("status"), "its types are checked")

    assert status["typeChecking"] == {}
