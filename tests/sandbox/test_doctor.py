"""Each kind of damage planted on a brought-up stack: named with its evidence, mended, and nothing the second time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from doctoring import (
    SECRETS,
    VALIDATING,
    Doctor,
    Json,
    definition,
    exists,
    hook,
    is_answered,
    newest_record,
    plant_release,
)
from driver import DEFINITIONS, POLICY, STACK, Sandbox, until

from sandbox.home import project_root
from sandbox.kubernetes_api import APPLY_PATCH, ApiError
from tests.support.resource_slices import claim, nic, request, resource_slice

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NODES = "/api/v1/nodes"
WAIT = "network.nvidia.com/operator.mofed.wait"
GPU_STATE, OFED_STATE = "nvidia.com/gpu-driver-upgrade-state", "nvidia.com/ofed-driver-upgrade-state"
POOLS = "ippools.nv-ipam.nvidia.com"


def test_on_a_stack_that_is_up_nothing_is_damaged(doctor: Doctor) -> None:
    nothing = {"stack": STACK, "stateUnread": "", "findings": [], "damages": [], "mended": [], "remaining": []}
    assert doctor.run() == (0, nothing)


@pytest.mark.plants(mended=("DOC010",))
def test_a_release_that_helm_believes_to_be_under_way_is_forgotten(doctor: Doctor) -> None:
    path = plant_release(doctor.sandbox, "pending-upgrade")

    done = doctor.mends("DOC010")

    assert done["findings"][0]["seen"][0]["value"].startswith("pending-upgrade")
    assert not exists(doctor.sandbox, path)


@pytest.mark.plants(mended=("DOC010",))
def test_the_bundle_of_a_damaged_stack_gives_its_findings_in_another_folder_without_a_cluster(
    doctor: Doctor, tmp_path: Path
) -> None:
    plant_release(doctor.sandbox, "pending-upgrade")
    file = tmp_path / "bundle.zip"
    command = doctor.sandbox.command("doctor", *doctor.sandbox.options, "--bundle", str(file))
    written = subprocess.run(
        command, cwd=project_root(), env=doctor.sandbox.environment, capture_output=True, text=True, check=True
    )

    elsewhere = {"PATH": "", "PYTHONPATH": str(project_root()), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "gpu_fabric", "doctor", "--from", str(file), "--settled", "--json"],
        cwd=tmp_path, env=elsewhere, capture_output=True, text=True,
    )  # fmt: skip

    assert f"bundle of stack {STACK}" in written.stdout
    assert [entry["id"] for entry in json.loads(done.stdout)["findings"]] == ["DOC010"], done.stderr
    doctor.mends("DOC010")


def checkpoint(sandbox: Sandbox) -> Path:
    return sandbox.workspace.checkpoint(STACK)


@pytest.mark.plants(mended=("DOC001", "DOC002"))
def test_a_lock_and_an_operation_without_an_outcome_are_released_and_read(doctor: Doctor) -> None:
    sandbox = doctor.sandbox
    document = json.loads(checkpoint(sandbox).read_text())
    latest = document["checkpoint"]["latest"]
    network = next(entry for entry in latest["resources"] if entry["type"].endswith(":NetworkAttachmentDefinition"))
    latest["pending_operations"] = [{"resource": network, "type": "updating"}]
    checkpoint(sandbox).write_text(json.dumps(document))
    locks = lock(sandbox, 1, "b")

    doctor.mends("DOC001", "DOC002")

    assert sandbox.state().pending == ()
    assert list(locks.glob("*.json")) == []
    assert "unchanged" in sandbox.up()


def lock(sandbox: Sandbox, pid: int, machine: str) -> Path:
    """A lock on the stack, as Pulumi writes it when a process of a machine takes it."""
    locks = sandbox.workspace.backend / ".pulumi" / "locks" / "organization" / sandbox.workspace.project / STACK
    locks.mkdir(parents=True, exist_ok=True)
    content = {"pid": pid, "username": "a", "hostname": machine, "timestamp": "2026-05-05T10:00:00Z"}
    (locks / f"{uuid.uuid4()}.json").write_text(json.dumps(content))
    return locks


@pytest.mark.plants(mended=("DOC001", "DOC010"), named=("DOC003", "DOC012", "PRE090"))
def test_the_users_own_pulumi_and_kubectl_find_and_mend_the_same(doctor: Doctor, tmp_path: Path) -> None:
    """`gpu-fabric doctor` itself: while a run is at work, once it was killed, and while Helm may be at work."""
    sandbox = doctor.sandbox
    (tmp_path / "pulumi-runs").symlink_to("/bin/sleep")
    running = subprocess.Popen([str(tmp_path / "pulumi-runs"), "600"])
    locks = lock(sandbox, running.pid, os.uname().nodename)
    path = plant_release(sandbox, "pending-upgrade")
    try:
        status, done = doctor.own("--yes")
        assert (status, [entry["id"] for entry in done["remaining"]], done["mended"]) == (1, ["DOC003"], [])
    finally:
        running.kill()
        running.wait()
    sandbox.api.post(VALIDATING, hook("policy", "policy", "engine"))

    assert [entry["id"] for entry in doctor.own()[1]["findings"]] == ["DOC001", "PRE090", "DOC010"]
    assert exists(sandbox, path), "without --yes and without a terminal it only names"

    status, done = doctor.own("--yes")
    assert (status, [entry["id"] for entry in done["remaining"]]) == (1, ["PRE090"]), done
    assert not exists(sandbox, path)
    assert list(locks.glob("*.json")) == []
    assert exists(sandbox, f"{VALIDATING}/policy"), "another's webhook is never deleted by --yes"
    assert "kubectl delete validatingwebhookconfiguration policy" in done["remaining"][0]["remedy"]
    sandbox.api.delete(f"{VALIDATING}/policy")
    assert doctor.own("--yes")[1]["mended"] == []

    path = plant_release(sandbox, "pending-upgrade", modifiedAt=str(int(time.time())))
    status, done = doctor.own("--yes")
    assert (status, [entry["id"] for entry in done["remaining"]], done["mended"]) == (1, ["DOC012"], [])
    assert doctor.own("--yes", "--settled")[0] == 0
    assert not exists(sandbox, path)
    assert doctor.own("--yes", "--settled")[1]["mended"] == []


@pytest.mark.plants(named=("PRE101",))
def test_what_the_user_may_not_read_is_named_and_the_rest_is_judged(doctor: Doctor, tmp_path: Path) -> None:
    api, name = doctor.sandbox.api, "reader-of-no-secrets"
    roles, bindings = (f"/apis/rbac.authorization.k8s.io/v1/{kind}" for kind in ("clusterroles", "clusterrolebindings"))
    kinds = ["pods", "nodes", "namespaces", "services", "endpoints"]
    groups = [
        "apps",
        "batch",
        *(f"{group}.k8s.io" for group in ("admissionregistration", "apiextensions", "discovery")),
    ]
    groups += ["apiregistration.k8s.io", "mellanox.com", "nvidia.com", "nv-ipam.nvidia.com"]
    rules = [
        {"apiGroups": [""], "resources": kinds, "verbs": ["get", "list"]},
        {"apiGroups": groups, "resources": ["*"], "verbs": ["get", "list"]},
    ]
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "User", "name": "reader", "apiGroup": group}
    api.post(roles, {"metadata": {"name": name}, "rules": rules})
    role = {"kind": "ClusterRole", "name": name, "apiGroup": group}
    api.post(bindings, {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
    kubeconfig = yaml.safe_load(doctor.sandbox.home.kubeconfig.read_text())
    for user in kubeconfig["users"]:
        user["user"]["as"] = "reader"
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(kubeconfig))
    path = plant_release(doctor.sandbox, "pending-upgrade")
    try:
        status, done = doctor.own("--yes", "--kubeconfig", str(file))
    finally:
        api.delete(path)
        api.delete(f"{bindings}/{name}")
        api.delete(f"{roles}/{name}")

    assert (status, [entry["id"] for entry in done["remaining"]], done["mended"]) == (1, ["PRE101"], [])
    assert "secrets" in done["remaining"][0]["message"]


@pytest.mark.plants(mended=("DOC011",))
def test_a_release_that_was_half_uninstalled_is_installed_again_by_the_next_up(doctor: Doctor) -> None:
    sandbox, record = doctor.sandbox, newest_record(doctor.sandbox)
    sandbox.api.patch(f"{SECRETS}/{record['metadata']['name']}", {"metadata": {"labels": {"status": "uninstalling"}}})

    doctor.mends("DOC011")

    assert not [item for item in sandbox.items(SECRETS) if item["metadata"]["labels"].get("owner") == "helm"]
    sandbox.up()
    assert newest_record(sandbox)["metadata"]["labels"]["status"] == "deployed"
    assert "unchanged" in sandbox.up()
    assert doctor.found() == []


@pytest.mark.plants(mended=("DOC020",))
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
    (entry,) = doctor.run()[1]["findings"]
    assert (entry["id"], entry["own"]) == ("DOC020", False)
    assert "CREATE of jobs in the whole cluster" in entry["seen"][0]["value"]
    assert doctor.run("--yes")[1]["mended"] == []
    assert "mended: " not in doctor.answered("n", mends=())

    printed = doctor.answered("y", mends=("DOC020",))

    assert f"mended: delete ValidatingWebhookConfiguration {name}" in printed
    until(lambda: not refused(), "the webhook is gone")
    assert "nothing is damaged" in doctor.answered(mends=())


def deployment(namespace: str, name: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"


GPU_OPERATOR = deployment("gpu-operator", "gpu-operator")
NETWORK_OPERATOR = deployment("nvidia-network-operator", "network-operator")
CLUSTERS = "/apis/nvidia.com/v1alpha1/gpuclusters"


@pytest.fixture
def held_cluster(doctor: Doctor) -> Iterator[str]:
    """A GPUCluster that is being deleted, with the finalizer of its operator and one of another."""
    api = doctor.sandbox.api
    api.post(DEFINITIONS, definition("nvidia.com", "GPUCluster", "v1alpha1", "Cluster"))
    finalizers = ["gpucluster.nvidia.com/dra-resourceclaim", "example.com/kept"]
    item = {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "metadata": {"name": "left"}}
    item["metadata"]["finalizers"] = finalizers
    until(lambda: is_answered(lambda: api.post(CLUSTERS, item)), "the kind is served")
    api.delete(f"{CLUSTERS}/left")
    yield f"{CLUSTERS}/left"
    api.patch(f"{CLUSTERS}/left", {"metadata": {"finalizers": None}})
    api.delete(f"{DEFINITIONS}/gpuclusters.nvidia.com")


@pytest.mark.plants(mended=("DOC030", "DOC060", "DOC061"), named=("DOC014", "DOC031"))
def test_what_deleted_operators_left_is_mended_and_they_come_back_by_the_command_that_is_named(
    doctor: Doctor, held_cluster: str
) -> None:
    sandbox, api = doctor.sandbox, doctor.sandbox.api
    api.patch(GPU_OPERATOR, {"spec": {"replicas": 0}})
    until(lambda: doctor.found() == ["DOC031"], "the operator has no pod")
    assert doctor.run("--yes")[1]["mended"] == [], "it cleans up itself when it is started"
    for operator in (GPU_OPERATOR, NETWORK_OPERATOR):
        api.delete(f"{operator}?propagationPolicy=Foreground")
    until(lambda: not any(exists(sandbox, path) for path in (GPU_OPERATOR, NETWORK_OPERATOR)), "they are gone")
    api.patch(f"{NODES}/gpu-0", {"metadata": {"labels": {WAIT: "true"}}})
    for node, state, manager in (("gpu-1", GPU_STATE, "gpu-operator"), ("gpu-2", OFED_STATE, "kubectl-cordon")):
        api.patch(f"{NODES}/{node}", {"metadata": {"labels": {state: "drain-required"}}})
        api.patch(f"{NODES}/{node}?fieldManager={manager}", {"spec": {"unschedulable": True}})

    done = doctor.mends("DOC030", "DOC060", "DOC061", "DOC061", leaves=("DOC014", "DOC014"))

    assert "mended: remove the finalizer gpucluster.nvidia.com/dra-resourceclaim from GPUCluster left" in done["mended"]
    assert api.get(held_cluster)["metadata"]["finalizers"] == ["example.com/kept"]
    nodes = {item["metadata"]["name"]: item for item in sandbox.items(NODES)}
    assert WAIT not in nodes["gpu-0"]["metadata"]["labels"]
    assert not any({GPU_STATE, OFED_STATE} & item["metadata"]["labels"].keys() for item in nodes.values())
    assert [name for name, item in nodes.items() if item["spec"].get("unschedulable")] == ["gpu-2"], "a person's cordon"
    api.patch(f"{NODES}/gpu-2", {"spec": {"unschedulable": None}})

    assert "unchanged" in sandbox.up(), "Pulumi does not see that they are missing"
    for entry in done["remaining"]:
        doctor.rolls_back(entry)
    until(lambda: doctor.found() == [], "the operators are back")


@pytest.mark.plants(mended=("DOC062", "DOC063"))
def test_marks_of_driver_upgrades_are_mended_and_a_failed_one_is_tried_again_on_an_empty_node_alone(
    doctor: Doctor,
) -> None:
    api, pod = doctor.sandbox.api, "/api/v1/namespaces/default/pods/job"
    for node, state in (("gpu-0", "upgrade-done"), ("gpu-1", "upgrade-failed")):
        api.patch(f"{NODES}/{node}", {"metadata": {"labels": {GPU_STATE: state}}})
        api.patch(f"{NODES}/{node}?fieldManager=gpu-operator", {"spec": {"unschedulable": True}})
    spec = {"nodeName": "gpu-1", "containers": [{"name": "a", "image": "a"}]}
    api.post(pod.rpartition("/")[0], {"metadata": {"name": "job"}, "spec": spec})
    try:
        done = doctor.mends("DOC062", leaves=("DOC063",))
        assert "Pod default/job would be evicted" in done["remaining"][0]["message"]
    finally:
        api.delete(f"{pod}?gracePeriodSeconds=0")
    until(lambda: not exists(doctor.sandbox, pod), "the job is gone")

    doctor.mends("DOC063")

    nodes = {item["metadata"]["name"]: item for item in doctor.sandbox.items(NODES)}
    assert "unschedulable" not in nodes["gpu-0"]["spec"]
    assert nodes["gpu-1"]["spec"]["unschedulable"] is True, "the operator uncordons it when the driver is there"
    assert nodes["gpu-1"]["metadata"]["labels"][GPU_STATE] == "upgrade-required"
    for node in ("gpu-0", "gpu-1"):
        api.patch(f"{NODES}/{node}", {"metadata": {"labels": {GPU_STATE: None}}, "spec": {"unschedulable": None}})


@pytest.mark.plants(named=("DOC070",))
def test_a_quota_that_refuses_the_pods_of_an_operator_is_named(doctor: Doctor) -> None:
    api, quotas = doctor.sandbox.api, "/api/v1/namespaces/gpu-operator/resourcequotas"
    before = api.get(GPU_OPERATOR)["spec"]["replicas"]
    api.post(quotas, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    api.patch(GPU_OPERATOR, {"spec": {"replicas": before + 1}})
    try:
        until(lambda: doctor.found() == ["DOC070"], "the second pod is refused")
        status, done = doctor.run("--yes")
        assert (status, done["mended"]) == (1, [])
        assert "exceeded quota: none" in done["remaining"][0]["seen"][0]["value"]
    finally:
        api.delete(f"{quotas}/none")
        api.patch(GPU_OPERATOR, {"spec": {"replicas": before}})
    until(lambda: doctor.found() == [], "nothing is refused")


@pytest.mark.plants(named=("DOC071",))
def test_a_pod_that_no_node_takes_is_named_with_what_the_scheduler_says(doctor: Doctor) -> None:
    api = doctor.sandbox.api
    api.patch(GPU_OPERATOR, {"spec": {"template": {"spec": {"nodeSelector": {"example.com/no-such": "label"}}}}})
    try:
        until(lambda: doctor.found() == ["DOC071"], "the new pod is old enough to be judged")
        (entry,) = doctor.run("--yes")[1]["remaining"]
        assert "Deployment gpu-operator/gpu-operator has 1 of 2 pods ready: 1 has Unschedulable" in entry["message"]
        assert "label the nodes as the pod's selector asks" in entry["remedy"]
    finally:
        api.patch(GPU_OPERATOR, {"spec": {"template": {"spec": {"nodeSelector": {"example.com/no-such": None}}}}})
    until(lambda: doctor.found() == [], "the Deployment is as before")


@pytest.mark.plants(named=("DOC072",))
def test_a_field_that_another_client_has_applied_ends_up_in_a_conflict_and_the_named_way_leads_past_it(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox, name = doctor.sandbox, "rail-03"
    path = f"/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/{name}"
    kind = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": {"name": name}}
    applied = {**kind, "spec": {"config": '{"cniVersion": "1.0.0", "type": "bridge"}'}}
    sandbox.api.request("PATCH", f"{path}?fieldManager=argocd-controller&force=true", applied, APPLY_PATCH)

    (entry,) = doctor.run("--yes")[1]["remaining"]

    assert (entry["id"], entry["seen"][0]["value"][:20]) == ("DOC072", "by argocd-controller")
    sandbox.run("pulumi", "refresh", *sandbox.options)
    assert 'conflict with "argocd-controller"' in sandbox.run("pulumi", "up", *sandbox.options, status=1)
    assert "PULUMI_K8S_ENABLE_PATCH_FORCE=true pulumi up" in entry["remedy"]
    with monkeypatch.context() as once:
        once.setenv("PULUMI_K8S_ENABLE_PATCH_FORCE", "true")
        sandbox.up()
    assert doctor.found() == []
    assert "unchanged" in sandbox.up()


@pytest.mark.plants(named=("DOC073",))
def test_a_node_that_offers_no_gpu_any_more_is_named(doctor: Doctor) -> None:
    status = f"{NODES}/gpu-1/status"
    before = doctor.sandbox.api.get(f"{NODES}/gpu-1")["status"]["allocatable"]["nvidia.com/gpu"]
    doctor.sandbox.api.patch(status, {"status": {"allocatable": {"nvidia.com/gpu": "0"}}})
    try:
        (entry,) = doctor.run("--yes")[1]["remaining"]
        assert (entry["id"], entry["seen"][0]["object"]) == ("DOC073", "Node gpu-1")
    finally:
        doctor.sandbox.api.patch(status, {"status": {"allocatable": {"nvidia.com/gpu": before}}})
    assert doctor.found() == []


ALLOCATION = "/apis/resource.k8s.io/v1"


@pytest.mark.plants(named=("DOC074", "DOC075", "DOC076"))
def test_pods_that_wait_for_claims_are_named_with_what_they_lack_or_who_has_it(doctor: Doctor) -> None:
    """The scheduler gives the first pod both devices; the second waits for them, and the third for what is nowhere.

    A rule closes a NIC of a node that is gone.
    """
    api, pods = doctor.sandbox.api, "/api/v1/namespaces/default/pods"
    templates = f"{ALLOCATION}/namespaces/default/resourceclaimtemplates"
    selector = {"cel": {"expression": 'device.driver == "dra.net" && device.attributes["dra.net"].rdma'}}
    nics = [nic("0000:9a:00.0", "eth8", "pci0000:9a"), nic("0000:9a:00.1", "eth9", "pci0000:9a")]
    published = {**resource_slice("dra.net", "gpu-1", nics), "metadata": {"name": "gpu-1-dra.net"}}
    claims = {
        "pair": claim("x", request("nic", "nics", count=2), match="resource.kubernetes.io/pcieRoot"),
        "none": claim("x", request("nic", "nics", 'device.attributes["dra.net"].ifName == "eth0"')),
    }
    rules = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
    closed = {
        "deviceSelector": {"driver": "dra.net", "pool": "gone", "device": "pci-0000-9a-00-0"},
        "taint": {"key": "gpu-fabric.dev/rail-not-ready", "effect": "NoSchedule"},
    }
    made = [f"{ALLOCATION}/resourceslices/gpu-1-dra.net", f"{ALLOCATION}/deviceclasses/nics", f"{rules}/of-gone"]
    try:
        api.post(rules, {"metadata": {"name": "of-gone"}, "spec": closed})
        api.post(f"{ALLOCATION}/deviceclasses", {"metadata": {"name": "nics"}, "spec": {"selectors": [selector]}})
        api.post(f"{ALLOCATION}/resourceslices", published)
        for name, wanted in claims.items():
            api.post(templates, {"metadata": {"name": name}, "spec": {"spec": wanted["spec"]}})
            made.append(f"{templates}/{name}")
        for name, template in {"first": "pair", "second": "pair", "third": "none"}.items():
            spec = {
                "containers": [{"name": "main", "image": "busybox", "resources": {"claims": [{"name": "nics"}]}}],
                "resourceClaims": [{"name": "nics", "resourceClaimTemplateName": template}],
                "tolerations": [{"operator": "Exists"}],
                "terminationGracePeriodSeconds": 0,
            }
            api.post(pods, {"metadata": {"name": name}, "spec": spec})
            made.insert(0, f"{pods}/{name}")
            until(lambda name=name: condition(doctor.sandbox, name) is not None, f"the scheduler has tried {name}")
        until(lambda: doctor.found() == ["DOC074", "DOC075", "DOC076"], "the pods are old enough to be judged")
        found = {entry["id"]: entry for entry in doctor.run("--yes")[1]["remaining"]}
        assert "Pod default/third waits for claims: request nic of claim nics" in found["DOC074"]["message"]
        assert "selects none of 2 devices of dra.net: dra.net/ifName is eth8, eth9" in found["DOC074"]["message"]
        assert "Pod default/second waits" in found["DOC075"]["message"]
        assert "other claims hold them: default/first-nics-" in found["DOC075"]["message"]
        assert "cannot allocate all claims" in found["DOC075"]["seen"][0]["value"]
        assert "by DeviceTaintRule of-gone: the cluster has no such node" in found["DOC076"]["message"]
    finally:
        for path in made:
            api.delete(path)
    until(lambda: doctor.found() == [], "nothing waits for claims")


def condition(sandbox: Sandbox, pod: str) -> Json | None:
    """What the scheduler says of a pod."""
    conditions = sandbox.api.get(f"/api/v1/namespaces/default/pods/{pod}")["status"].get("conditions", ())
    return next((entry for entry in conditions if entry["type"] == "PodScheduled"), None)


def test_after_all_of_that_the_next_up_changes_nothing(stack_up: Sandbox) -> None:
    until(lambda: len(stack_up.allocatable("nvidia.com/rail_00")) == 3, "the nodes offer their rails again")
    assert "unchanged" in stack_up.up()


@pytest.mark.plants(mended=("PRE020",))
def test_a_definition_without_the_stacks_version_is_written_as_the_charts(doctor: Doctor) -> None:
    sandbox, path = doctor.sandbox, f"{DEFINITIONS}/network-attachment-definitions.k8s.cni.cncf.io"
    networks = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
    found = sandbox.api.get(path)
    before = json.loads(json.dumps(found["spec"]["versions"]))
    (version,) = before
    # An older version that is served alone; objects are stored as they were.
    found["spec"]["versions"] = [{**version, "served": False}, {**version, "name": "v0", "storage": False}]
    sandbox.api.request("PUT", path, found)
    until(lambda: not is_answered(lambda: sandbox.api.get(networks)), "the version is not served")

    done = doctor.mends("PRE020")

    assert done["findings"][0]["seen"][0]["value"] == "v0"
    assert sandbox.api.get(path)["spec"]["versions"] == before
    until(lambda: is_answered(lambda: sandbox.api.get(networks)), "the version is served")
    assert "unchanged" in sandbox.up()


@pytest.mark.plants(mended=("DOC051",))
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

    assert "spec.nvIpam" in done["findings"][0]["seen"][0]["value"]
    assert sandbox.api.get(path)["spec"]["versions"] == before
    assert "nvIpam" not in sandbox.api.get(POLICY)["spec"]
    sandbox.up()
    assert "nvIpam" in sandbox.api.get(POLICY)["spec"]


@pytest.mark.plants(mended=("DOC052",))
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
    pools_path = f"/apis/nv-ipam.nvidia.com/{version['name']}/ippools"
    until(lambda: is_answered(lambda: sandbox.api.get(pools_path)), "the kind is served")
    done = doctor.mends("DOC052")

    assert len(done["mended"]) == len(pools) + 1
    found = sandbox.api.get(path)
    assert found["status"]["storedVersions"] == [version["name"]]
    # What the API server refused before: a definition without the old version.
    found["spec"]["versions"] = [version]
    sandbox.api.request("PUT", path, found)
    assert "unchanged" in sandbox.up()


def api_service(name: str) -> Json:
    """An API whose server is a Service in the namespace default."""
    version, _, group = name.partition(".")
    spec = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100}
    service = {"service": {"namespace": "default", "name": "server"}, "insecureSkipTLSVerify": True}
    kind = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    return {**kind, "metadata": {"name": name}, "spec": {**spec, **service}}


@pytest.mark.plants(mended=("DOC040",), named=("PRE093",))
def test_an_api_without_its_service_is_deleted_after_an_answer(doctor: Doctor) -> None:
    sandbox, name = doctor.sandbox, "v1.gone.example"
    servers = "/api/v1/namespaces/default/services"
    sandbox.api.post(servers, {"metadata": {"name": "server"}, "spec": {"ports": [{"port": 443}]}})
    sandbox.api.post(SERVICES, api_service(name))
    until(lambda: doctor.found() == ["PRE093"], "nothing answers behind the Service")
    sandbox.api.delete(f"{servers}/server")
    until(lambda: doctor.found() == ["DOC040"], "the Service is gone")
    assert doctor.run("--yes")[1]["mended"] == [], "it is not the stack's"

    doctor.answered("y", mends=("DOC040",))

    assert not exists(sandbox, f"{SERVICES}/{name}")
    assert "nothing is damaged" in doctor.answered(mends=())


@pytest.mark.plants(mended=("DOC030", "DOC040"), named=("DOC032",))
def test_a_namespace_goes_once_the_finalizer_and_the_api_that_hold_it_are_mended(doctor: Doctor) -> None:
    sandbox, group = doctor.sandbox, "sriovnetwork.openshift.io"
    leaving = "/api/v1/namespaces/leaving"
    sandbox.api.post("/api/v1/namespaces", {"metadata": {"name": "leaving"}})
    sandbox.api.post(DEFINITIONS, definition(group, "SriovNetwork", "v1", "Namespaced"))
    networks = f"/apis/{group}/v1/namespaces/leaving/sriovnetworks"
    held = {"name": "old", "finalizers": [f"netattdef.finalizers.{group}"]}
    item = {"apiVersion": f"{group}/v1", "kind": "SriovNetwork", "metadata": held}
    until(lambda: is_answered(lambda: sandbox.api.post(networks, item)), "the kind is served")
    sandbox.api.delete(leaving)
    until(lambda: doctor.found() == ["DOC030", "DOC032"], "the namespace says what holds it")
    # Without it the namespace would not even be looked through.
    sandbox.api.post(SERVICES, api_service("v1.gone.example"))
    until(lambda: doctor.found() == ["DOC030", "DOC032", "DOC040"], "an API is not available")
    (namespace,) = (entry for entry in doctor.run()[1]["findings"] if entry["id"] == "DOC032")
    assert {"object": "SriovNetwork leaving/old", "field": "metadata.finalizers", "value": held["finalizers"][0]} in (
        namespace["seen"]
    )

    doctor.answered("y", "y", mends=("DOC030", "DOC040"))

    until(lambda: not exists(sandbox, leaving), "the namespace is gone")
    assert "nothing is damaged" in doctor.answered(mends=())
    sandbox.api.delete(f"{DEFINITIONS}/sriovnetworks.{group}")


CHART = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: of-a-stray}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: of-a-stray}
"""


def install_stray(sandbox: Sandbox, folder: Path) -> None:
    """A release whose installation a killed run had begun: Helm has it, the state only what was under way."""
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: stray, version: 1.0.0}")
    (folder / "templates" / "all.yaml").write_text(CHART)
    sandbox.helm("install", "stray", str(folder), "--namespace", "default")


@pytest.mark.plants(mended=("DOC002", "DOC004", "DOC013"))
def test_what_is_left_undamaged_can_be_destroyed(doctor: Doctor, tmp_path: Path) -> None:
    """A killed first installation, judged for a destroy, and the destroy itself."""
    stack_up = doctor.sandbox
    install_stray(stack_up, tmp_path)
    document = json.loads(checkpoint(stack_up).read_text())
    latest = document["checkpoint"]["latest"]
    # One on which no other depends, as the last that a killed run began.
    gone = next(
        entry
        for entry in latest["resources"]
        if entry["type"] == "kubernetes:core/v1:ConfigMap" and json.dumps(latest["resources"]).count(entry["urn"]) == 1
    )
    latest["resources"] = [entry for entry in latest["resources"] if entry["urn"] != gone["urn"]]
    release = next(entry for entry in latest["resources"] if entry["type"] == "kubernetes:helm.sh/v3:Release")
    stray = {**release, "urn": f"{release['urn']}-stray", "inputs": {"name": "stray", "namespace": "default"}}
    latest["pending_operations"] = [{"resource": entry, "type": "creating"} for entry in (gone, stray)]
    checkpoint(stack_up).write_text(json.dumps(document))
    name, namespace = (gone["inputs"]["metadata"][key] for key in ("name", "namespace"))
    path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"

    assert doctor.found("--for", "destroy") == ["DOC002", "DOC002", "DOC004", "DOC013"]
    status, done = doctor.run("--for", "destroy", "--yes")
    assert (status, done["remaining"]) == (0, []), done
    strays = ("/api/v1/namespaces/default/configmaps", "/apis/rbac.authorization.k8s.io/v1/clusterroles")
    assert not any(exists(stack_up, gone) for gone in (path, *(f"{kind}/of-a-stray" for kind in strays)))
    assert doctor.run("--for", "destroy", "--yes")[1]["mended"] == []
    stack_up.run("pulumi", "destroy", "-s", STACK)


def test_while_up_waits_it_says_which_pods_do_not_start_and_why(stack_down: Sandbox) -> None:
    sandbox, upkeep = stack_down, {"key": "example.com/upkeep", "effect": "NoSchedule"}
    # Taints of the pools' own nodes are seen before anything is created.
    others = [name for node in sandbox.items(NODES) if not (name := node["metadata"]["name"]).startswith("gpu-")]
    for name in others:
        sandbox.api.patch(f"{NODES}/{name}", {"spec": {"taints": [upkeep]}})
    command = sandbox.command("pulumi", "up", *sandbox.options, "--start")
    said: list[str] = []
    with subprocess.Popen(
        command,
        cwd=project_root(),
        env=sandbox.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if "warning: DOC071: Deployment" in line:
                for name in others:
                    sandbox.api.patch(f"{NODES}/{name}", {"spec": {"taints": None}})
    printed = "".join(said)
    assert process.returncode == 0, printed
    assert "pods ready: 1 has Unschedulable, " in printed
    assert " -> take the taint off the nodes (`kubectl taint nodes NODE KEY-`)" in printed
    assert printed.count("DOC071: Deployment gpu-operator/gpu-operator has") == 2, "as it is seen, and at the end"
