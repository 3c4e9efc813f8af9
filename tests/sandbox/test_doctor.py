"""Each kind of damage planted on a brought-up stack: named with its evidence, mended, and nothing the second time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver import POLICY, STACK, Sandbox, until

from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError

pytestmark = pytest.mark.sandbox

Json = dict[str, Any]
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SECRETS = "/api/v1/namespaces/gpu-operator/secrets"
NODE = "/api/v1/nodes/gpu-0"
WAIT, STATE = "network.nvidia.com/operator.mofed.wait", "nvidia.com/ofed-driver-upgrade-state"
POOLS = "ippools.nv-ipam.nvidia.com"


class Doctor:
    """The command as a user types it, with the sandbox's kubectl and its workspace of Pulumi."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def run(self, *options: str) -> tuple[int, Json]:
        """Exit status and what it prints as JSON."""
        result = subprocess.run(
            self.sandbox.command("doctor", "-s", STACK, "--json", *options),
            cwd=project_root(),
            env=self.sandbox.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert result.returncode in (0, 1), result.stderr
        return result.returncode, json.loads(result.stdout)

    def found(self, *options: str) -> list[str]:
        return sorted(entry["id"] for entry in self.run(*options)[1]["damages"])

    def mends(self, *rules: str) -> Json:
        """It names just these, mends all of them when told to, and then finds nothing."""
        assert self.found() == sorted(rules)
        status, done = self.run("--yes")
        assert (status, done["remaining"]) == (0, []), done
        assert done["mended"]
        assert all(line.startswith("mended: ") for line in done["mended"])
        assert self.run("--yes") == (0, {**done, "damages": [], "mended": [], "remaining": []})
        return done


@pytest.fixture
def doctor(stack_up: Sandbox) -> Doctor:
    """The command on a stack that is up."""
    return Doctor(stack_up)


def exists(sandbox: Sandbox, path: str) -> bool:
    try:
        sandbox.api.get(path)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True


def hook(name: str, namespace: str, service: str, **about: Any) -> Json:
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    rule = {"operations": ["CREATE"], "apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
    entry = {
        "name": f"jobs.{name}.example",
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": namespace, "name": service}},
        "rules": [rule],
        **about,
    }
    return {**kind, "metadata": {"name": name}, "webhooks": [entry]}


def plant_release(sandbox: Sandbox, status: str) -> str:
    """A revision that Helm began and did not end, after the newest one; gives its name."""
    secrets = [item for item in sandbox.items(SECRETS) if item["metadata"]["labels"].get("name") == "gpu-operator"]
    newest = max(secrets, key=lambda item: int(item["metadata"]["labels"]["version"]))
    number = int(newest["metadata"]["labels"]["version"]) + 1
    name = f"sh.helm.release.v1.gpu-operator.v{number}"
    labels = {**newest["metadata"]["labels"], "version": str(number), "status": status}
    secret = {"type": newest["type"], "data": newest["data"], "metadata": {"name": name, "labels": labels}}
    sandbox.api.post(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret})
    return f"{SECRETS}/{name}"


def test_on_a_stack_that_is_up_nothing_is_damaged(doctor: Doctor) -> None:
    nothing = {"stack": STACK, "stateUnread": "", "damages": [], "mended": [], "remaining": []}
    assert doctor.run() == (0, nothing)


def test_a_release_that_helm_believes_to_be_under_way_is_forgotten(doctor: Doctor) -> None:
    path = plant_release(doctor.sandbox, "pending-upgrade")

    done = doctor.mends("DOC010")

    assert done["damages"][0]["seen"][0]["value"].startswith("pending-upgrade")
    assert not exists(doctor.sandbox, path)


def checkpoint(sandbox: Sandbox) -> Path:
    return sandbox.workspace.checkpoint(STACK)


def test_a_lock_and_an_operation_without_an_outcome_are_released_and_read(doctor: Doctor) -> None:
    sandbox = doctor.sandbox
    document = json.loads(checkpoint(sandbox).read_text())
    latest = document["checkpoint"]["latest"]
    network = next(entry for entry in latest["resources"] if entry["type"].endswith(":NetworkAttachmentDefinition"))
    latest["pending_operations"] = [{"resource": network, "type": "updating"}]
    checkpoint(sandbox).write_text(json.dumps(document))
    locks = sandbox.workspace.backend / ".pulumi" / "locks" / "organization" / sandbox.workspace.project / STACK
    locks.mkdir(parents=True, exist_ok=True)
    (locks / f"{uuid.uuid4()}.json").write_text(
        json.dumps({"pid": 1, "username": "a", "hostname": "b", "timestamp": "2026-05-05T10:00:00Z"})
    )

    doctor.mends("DOC001", "DOC002")

    assert sandbox.state().pending == ()
    assert list(locks.glob("*.json")) == []
    assert "unchanged" in sandbox.up()


def test_the_users_own_pulumi_and_kubectl_find_and_mend_the_same(doctor: Doctor) -> None:
    """`gpu-fabric doctor` itself, with a lock that a killed process of this machine left."""
    sandbox = doctor.sandbox
    killed = subprocess.Popen([sandbox.workspace.command, "version"], stdout=subprocess.DEVNULL)
    killed.wait()
    locks = sandbox.workspace.backend / ".pulumi" / "locks" / "organization" / sandbox.workspace.project / STACK
    locks.mkdir(parents=True, exist_ok=True)
    content = {"pid": killed.pid, "username": "a", "hostname": os.uname().nodename, "timestamp": "2026-05-05T10:00:00Z"}
    (locks / f"{uuid.uuid4()}.json").write_text(json.dumps(content))
    sandbox.api.post(VALIDATING, hook("policy", "policy", "engine"))
    path = plant_release(sandbox, "pending-upgrade")
    command = [sys.executable, "-m", "gpu_fabric", "doctor", "-f", str(sandbox.workspace.stack_file(STACK))]
    environment = {
        **sandbox.workspace.environment(),
        "KUBECTL": str(sandbox.home.root / "bin" / "kubectl"),
        "PYTHONPATH": str(project_root()),
    }

    def run(*options: str) -> tuple[int, str]:
        done = subprocess.run(
            [*command, "--kubeconfig", str(sandbox.home.kubeconfig), *options],
            cwd=sandbox.workspace.stacks,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    status, named = run()
    assert status == 1
    for rule in ("DOC001", "DOC010", "DOC021"):
        assert f"error {rule}: " in named
    assert exists(sandbox, path), "without --yes and without a terminal it only names"

    status, mended = run("--yes")
    assert status == 1, mended
    assert not exists(sandbox, path)
    assert list(locks.glob("*.json")) == []
    assert exists(sandbox, f"{VALIDATING}/policy"), "another's webhook is never deleted by --yes"
    assert "kubectl delete validatingwebhookconfiguration policy" in mended
    sandbox.api.delete(f"{VALIDATING}/policy")
    assert run("--yes")[0] == 0


def test_the_webhook_of_an_operator_that_was_deleted_no_longer_refuses_jobs(doctor: Doctor) -> None:
    sandbox = doctor.sandbox
    name = "sriov-operator-webhook-config"
    sandbox.api.post(VALIDATING, hook(name, "sriov-network-operator", "operator-webhook-service"))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "refused"}}
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    body = {**job, "spec": {"suspend": True, "template": {"spec": pod}}}

    def refused() -> bool:
        try:
            sandbox.api.post(f"{jobs}?dryRun=All", body)
        except ApiError as error:
            return "failed calling webhook" in str(error)
        return False

    until(refused, "the webhook refuses")
    # The stack does not install this operator, so that nothing is deleted without a question.
    (entry,) = doctor.run()[1]["damages"]
    assert (entry["id"], entry["own"]) == ("DOC020", False)
    assert "CREATE of jobs in the whole cluster" in entry["seen"][0]["value"]
    assert doctor.run("--yes")[1]["mended"] == []
    sandbox.api.delete(f"{VALIDATING}/{name}")
    until(lambda: not refused(), "the webhook is gone")


NETWORK_OPERATOR = "/apis/apps/v1/namespaces/nvidia-network-operator/deployments/network-operator"
POLICIES = "/apis/mellanox.com/v1alpha1/nicnodepolicies"


@pytest.fixture
def without_operator(doctor: Doctor) -> Iterator[Doctor]:
    """The Network Operator's Deployment is deleted by hand; what a test leaves damaged fails the next one."""
    api = doctor.sandbox.api
    deployment = api.get(NETWORK_OPERATOR)
    kept = {key: deployment["metadata"].get(key) for key in ("name", "namespace", "labels", "annotations")}
    api.delete(f"{NETWORK_OPERATOR}?propagationPolicy=Foreground")
    until(lambda: not exists(doctor.sandbox, NETWORK_OPERATOR), "the operator is gone")
    yield doctor
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": kept, "spec": deployment["spec"]}
    api.post(NETWORK_OPERATOR.rpartition("/")[0], body)
    until(lambda: api.get(NETWORK_OPERATOR)["status"].get("readyReplicas"), "the operator is back")


def test_what_a_deleted_operator_left_is_mended_and_the_next_up_works(without_operator: Doctor) -> None:
    sandbox = without_operator.sandbox
    policy = {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicNodePolicy"}
    held = {"name": "left", "finalizers": ["mellanox.com/left", "example.com/kept"]}
    sandbox.api.post(POLICIES, {**policy, "metadata": held, "spec": {"nodeSelector": {"none": "here"}}})
    sandbox.api.delete(f"{POLICIES}/left")
    sandbox.api.patch(NODE, {"metadata": {"labels": {WAIT: "true"}}})
    for node, manager in (("gpu-1", "network-operator"), ("gpu-2", "kubectl-cordon")):
        path = f"/api/v1/nodes/{node}"
        sandbox.api.patch(path, {"metadata": {"labels": {STATE: "drain-required"}}})
        sandbox.api.patch(f"{path}?fieldManager={manager}", {"spec": {"unschedulable": True}})

    done = without_operator.mends("DOC030", "DOC060", "DOC061", "DOC061")

    assert "mended: remove the finalizer mellanox.com/left from NicNodePolicy left" in done["mended"]
    assert sandbox.api.get(f"{POLICIES}/left")["metadata"]["finalizers"] == ["example.com/kept"]
    sandbox.api.patch(f"{POLICIES}/left", {"metadata": {"finalizers": None}})
    nodes = {item["metadata"]["name"]: item for item in sandbox.items("/api/v1/nodes")}
    assert WAIT not in nodes["gpu-0"]["metadata"]["labels"]
    assert not any(STATE in item["metadata"]["labels"] for item in nodes.values())
    assert [name for name, item in nodes.items() if item["spec"].get("unschedulable")] == ["gpu-2"], "a person's cordon"
    sandbox.api.patch("/api/v1/nodes/gpu-2", {"spec": {"unschedulable": None}})


def test_after_all_of_that_the_next_up_changes_nothing(stack_up: Sandbox) -> None:
    until(lambda: len(stack_up.allocatable("nvidia.com/rail_00")) == 3, "the nodes offer their rails again")
    assert "unchanged" in stack_up.up()


def test_a_definition_of_an_older_chart_is_written_as_the_charts_and_the_next_up_sets_what_was_lost(
    doctor: Doctor,
) -> None:
    sandbox, path = doctor.sandbox, f"{DEFINITIONS}/nicclusterpolicies.mellanox.com"
    found = sandbox.api.get(path)
    before = json.loads(json.dumps(found["spec"]["versions"]))
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("nvIpam")
    sandbox.api.request("PUT", path, found)
    # A client that writes the policy now loses the field.
    until(lambda: "nvIpam" not in sandbox.api.get(POLICY)["spec"], "the API server drops the field")
    policy = sandbox.api.get(POLICY)
    sandbox.api.request("PUT", POLICY, policy)

    done = doctor.mends("DOC051")

    assert "spec.nvIpam" in done["damages"][0]["seen"][0]["value"]
    assert sandbox.api.get(path)["spec"]["versions"] == before
    assert "nvIpam" not in sandbox.api.get(POLICY)["spec"]
    sandbox.up()
    assert "nvIpam" in sandbox.api.get(POLICY)["spec"]


def test_a_version_that_is_stored_and_not_served_is_taken_off(doctor: Doctor) -> None:
    sandbox, path = doctor.sandbox, f"{DEFINITIONS}/{POOLS}"
    found = sandbox.api.get(path)
    (version,) = found["spec"]["versions"]
    pools = sandbox.items(f"/apis/nv-ipam.nvidia.com/{version['name']}/ippools")
    old = {**version, "name": "v1alpha0", "served": False, "storage": False}
    found["spec"]["versions"] = [version, old]
    found = sandbox.api.request("PUT", path, found)
    stored = {"storedVersions": ["v1alpha0", version["name"]]}
    sandbox.api.request("PUT", f"{path}/status", {**found, "status": {**found["status"], **stored}})

    # The API server opens the kind's storage again first.
    until(lambda: is_answered(sandbox, f"/apis/nv-ipam.nvidia.com/{version['name']}/ippools"), "the kind is served")
    done = doctor.mends("DOC052")

    assert len(done["mended"]) == len(pools) + 1
    found = sandbox.api.get(path)
    assert found["status"]["storedVersions"] == [version["name"]]
    # What the API server refused before: a definition without the old version.
    found["spec"]["versions"] = [version]
    sandbox.api.request("PUT", path, found)
    assert "unchanged" in sandbox.up()


def test_an_api_without_its_service_is_named_and_left_to_an_answer(doctor: Doctor) -> None:
    sandbox, name = doctor.sandbox, "v1.gone.example"
    spec = {"group": "gone.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
    service = {"service": {"namespace": "gone", "name": "server"}, "insecureSkipTLSVerify": True}
    kind = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    sandbox.api.post(SERVICES, {**kind, "metadata": {"name": name}, "spec": {**spec, **service}})
    try:
        until(lambda: doctor.found() == ["DOC040"], "the API is not available")
        assert doctor.run("--yes")[1]["mended"] == [], "it is not the stack's"
        assert exists(sandbox, f"{SERVICES}/{name}")
    finally:
        sandbox.api.delete(f"{SERVICES}/{name}")


def test_a_finalizer_whose_operator_was_deleted_is_removed_and_the_namespace_goes(doctor: Doctor) -> None:
    sandbox = doctor.sandbox
    sandbox.api.post("/api/v1/namespaces", {"metadata": {"name": "leaving"}})
    group = "sriovnetwork.openshift.io"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sriovnetworks.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "SriovNetwork", "listKind": "SriovNetworkList", "plural": "sriovnetworks"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    sandbox.api.post(DEFINITIONS, definition)
    networks = f"/apis/{group}/v1/namespaces/leaving/sriovnetworks"
    item = {"apiVersion": f"{group}/v1", "kind": "SriovNetwork"}
    held = {"name": "old", "finalizers": [f"netattdef.finalizers.{group}", "example.com/kept"]}
    until(lambda: created(sandbox, networks, {**item, "metadata": held}), "the kind is served")
    sandbox.api.delete("/api/v1/namespaces/leaving")
    try:
        until(lambda: "DOC032" in doctor.found(), "the namespace says what holds it")
        found = {entry["id"]: entry for entry in doctor.run()[1]["damages"]}
        assert sorted(found) == ["DOC030", "DOC032"]
        assert "SriovNetwork leaving/old" in found["DOC030"]["message"]
        assert found["DOC030"]["mends"] == [
            f"remove the finalizer netattdef.finalizers.{group} from SriovNetwork leaving/old"
        ]
    finally:
        sandbox.api.patch(f"{networks}/old", {"metadata": {"finalizers": None}})
        until(lambda: not exists(sandbox, "/api/v1/namespaces/leaving"), "the namespace is gone")
        sandbox.api.delete(f"{DEFINITIONS}/sriovnetworks.{group}")
    until(lambda: doctor.found() == [], "nothing is left")


def test_what_is_left_undamaged_can_be_destroyed(stack_up: Sandbox) -> None:
    """A killed first installation, judged for a destroy, and the destroy itself."""
    doctor = Doctor(stack_up)
    document = json.loads(checkpoint(stack_up).read_text())
    latest = document["checkpoint"]["latest"]
    # One on which no other depends, as the last that a killed run began.
    gone = next(
        entry
        for entry in latest["resources"]
        if entry["type"] == "kubernetes:core/v1:ConfigMap" and json.dumps(latest["resources"]).count(entry["urn"]) == 1
    )
    latest["resources"] = [entry for entry in latest["resources"] if entry["urn"] != gone["urn"]]
    latest["pending_operations"] = [{"resource": gone, "type": "creating"}]
    checkpoint(stack_up).write_text(json.dumps(document))
    name, namespace = (gone["inputs"]["metadata"][key] for key in ("name", "namespace"))
    path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"

    assert doctor.found("--for", "destroy") == ["DOC002", "DOC004"]
    status, done = doctor.run("--for", "destroy", "--yes")
    assert (status, done["remaining"]) == (0, []), done
    assert not exists(stack_up, path)
    assert doctor.run("--for", "destroy", "--yes")[1]["mended"] == []
    stack_up.run("pulumi", "destroy", "-s", STACK)


def is_answered(sandbox: Sandbox, path: str) -> bool:
    try:
        sandbox.items(path)
    except ApiError:
        return False
    return True


def created(sandbox: Sandbox, path: str, item: Json) -> bool:
    try:
        sandbox.api.post(path, item)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True
