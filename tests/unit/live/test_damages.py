"""What is damaged is found by its rule and by no other, with its evidence; and what is sound is left alone."""

import ast
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from each_case import each
from lived_in_clusters import LivedInCluster, committed, lived_in, manager

from gpu_fabric.findings import Finding, rules
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.drift_and_damages import damages, drift
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.owners import owners
from gpu_fabric.live.pods import remedy_of, troubles
from gpu_fabric.live.software import known_software
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import StackState
from gpu_fabric.live.steps import Edit, EngineCommand
from tests.support.played_cluster import PULUMI, PlayedCluster

sys.path.insert(0, str(Path(__file__).parent))
from damaged import (
    GPU_STATE,
    NO_QUOTA,
    NOW,
    PLANTED,
    POOLS,
    REFUSED_PODS,
    SOUND,
    TAINTED,
    UNREADY,
    WAITING,
    Plant,
    Planted,
    Scene,
    cordoned,
    definition,
    deleted,
    event,
    every,
    gpu_operator,
    interrupted,
    knows,
    label,
    lock,
    note,
    release,
    terminating,
    unready,
    unscheduled,
)

ROOT = Path(__file__).parents[3]
Purpose = Literal["up", "destroy"]


def scene_of(stack: str, plant: Plant) -> Scene:
    scene = Scene(PlayedCluster(committed(stack)[0]))
    plant(scene)
    return scene


def case_of(stack: str, scene: Scene, state: StackState | None, purpose: Purpose = "up", **more: Any) -> Examination:
    return Examination(Stack(*committed(stack)), scene.cluster.cluster, state, NOW, purpose, **more)


def found_in(stack: str, plant: Plant, purpose: Purpose = "up", **more: Any) -> tuple[Finding, ...]:
    scene = scene_of(stack, plant)
    return damages(case_of(stack, scene, scene.state, purpose, **more))


@each("case", PLANTED, ids=lambda case: case.what)
def test_what_is_planted_is_found_by_its_rule_and_by_no_other(case: Planted) -> None:
    found = found_in(case.stack, case.plant, case.purpose)

    assert [entry.id for entry in found] == [case.rule], [(entry.id, entry.message) for entry in found]
    (entry,) = found
    assert all(seen.object and seen.value for seen in entry.seen)
    assert entry.seen
    assert entry.message
    assert entry.remedy
    assert bool(entry.steps) == case.is_mendable
    assert entry.is_own == (case.is_own and case.is_mendable)


@each("case", SOUND, ids=lambda case: case[0])
def test_what_is_sound_is_left_alone(case: tuple[str, Plant]) -> None:
    assert found_in("dev", case[1]) == ()


@each("name", ("dev", "kueue", "sriov-operator", "spiderpool-sriov", "externally-managed"))
def test_in_a_clean_cluster_nothing_is_damaged(name: str) -> None:
    assert found_in(name, lambda scene: None) == ()


def test_every_rule_has_a_planted_damage() -> None:
    # DOC004 is about the state before a destroy, two are about a cluster in which a stack was up; see below.
    assert {case.rule for case in PLANTED} | {"DOC004", "DOC072", "DOC073"} == {
        name for name, rule in rules().items() if "damage" in rule.phases
    }


def test_every_rule_is_planted_on_a_real_api_server_and_mended_there_if_it_can_be() -> None:
    calls = [
        call
        for file in sorted((ROOT / "tests/sandbox").glob("test_*.py"))
        for call in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.plants"
    ]
    planted = {
        how: {rule for call in calls for key in call.keywords if key.arg == how for rule in ast.literal_eval(key.value)}
        for how in ("mended", "named")
    }

    assert planted["mended"] | planted["named"] == {name for name, rule in rules().items() if "damage" in rule.phases}
    # Of two it depends on whether a chart is at hand, which these plants do not have.
    mendable = {case.rule for case in PLANTED if case.is_mendable} | {"DOC004", "PRE020", "DOC051"}
    assert planted["mended"] == mendable


def test_every_owner_is_software_that_is_known_by_its_images() -> None:
    assert {owner.name for owner in owners()} <= set(known_software())


def test_without_a_state_no_release_counts_as_unknown_to_it() -> None:
    scene = scene_of("dev", gpu_operator("failed"))

    assert damages(case_of("dev", scene, None)) == ()


CREATING_IT = interrupted("creating", release("gpu-operator", "gpu-operator"))


@each(
    ("plant", "more", "ids"),
    [
        # What an interrupted run was creating is installed again; after a killed run, and where nobody is at work, no
        # limit of a release is waited for; while a run may be at work its lock alone is named.
        (every(knows(), CREATING_IT, gpu_operator("deployed")), {}, ["DOC011", "DOC002"]),
        (every(knows(), lock("gone"), gpu_operator("pending-install", age=5)), {}, ["DOC001", "DOC010"]),
        (gpu_operator("pending-install", age=5), {"is_settled": True}, ["DOC010"]),
        (every(lock("unknown"), CREATING_IT, gpu_operator("pending-install")), {}, ["DOC001"]),
    ],
    ids=["interrupted", "killed", "nobody at work", "a run may be at work"],
)
def test_of_a_release_as_much_is_named_as_the_runs_of_the_stack_allow(
    plant: Plant, more: dict[str, Any], ids: list[str]
) -> None:
    assert [entry.id for entry in found_in("dev", plant, **more)] == ids


@pytest.mark.parametrize("holder", ["runs", "unknown"])
def test_while_a_run_may_be_at_work_what_it_may_be_doing_in_the_cluster_is_only_named(
    holder: Literal["runs", "unknown"],
) -> None:
    _, found = found_in("dev", every(lock(holder), label(GPU_STATE, "drain-required")))

    assert (found.id, bool(found.steps), found.is_own) == ("DOC061", False, False)


def creating(name: str, writer: str, kind: str = "ConfigMap") -> Plant:
    """An object of a writer, which the state has as a resource of this kind that was being created."""

    def plant(scene: Scene) -> None:
        metadata = {"name": name, "namespace": "train"}
        item = {"kind": "ConfigMap", "metadata": {**metadata, "uid": f"uid-{name}"}}
        scene.cluster.add("api/v1/configmaps", item, writer)
        inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        interrupted("creating", {"urn": f"urn::{name}", "type": f"kubernetes:core/v1:{kind}", "inputs": inputs})(scene)

    return plant


def test_before_a_destroy_objects_that_were_being_created_are_deleted_and_patched_ones_stay() -> None:
    mine, patched = creating("mine", PULUMI), creating("theirs", PULUMI, "ConfigMapPatch")
    found = found_in("dev", every(mine, patched), "destroy")

    assert [entry.id for entry in found] == ["DOC004", "DOC002", "DOC002"]
    assert [step.words for step in found[0].steps][:1] == ["delete ConfigMap train/mine"]


def test_an_object_of_another_user_that_a_run_tried_to_create_stays_before_a_destroy() -> None:
    assert [entry.id for entry in found_in("dev", creating("theirs", "kubectl-create"), "destroy")] == ["DOC002"]


def test_before_a_destroy_a_half_installed_release_is_uninstalled_by_what_is_its_own_in_its_manifest() -> None:
    manifest = "\n---\n".join(
        f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}}}"
        for name in ("operator", "shared", "never-made")
    )

    def roles(scene: Scene) -> None:
        owner = {"meta.helm.sh/release-name": "gpu-operator", "meta.helm.sh/release-namespace": "gpu-operator"}
        for name, notes in (("operator", owner), ("shared", {})):
            item = {"kind": "ClusterRole", "metadata": {"name": name, "annotations": notes}}
            scene.cluster.add("apis/rbac.authorization.k8s.io/v1/clusterroles", item, "helm")

    (found,) = found_in("dev", every(knows(), roles, gpu_operator("failed", manifest=manifest)), "destroy")

    assert [step.words for step in found.steps if not isinstance(step, EngineCommand)] == [
        "delete ClusterRole operator of release gpu-operator",
        "forget revision 1 of release gpu-operator",
    ]


def test_only_the_finalizer_of_the_operator_that_is_gone_is_removed() -> None:
    case = next(case for case in PLANTED if case.what == "a queue whose controller was deleted")
    scene = scene_of("kueue", case.plant)
    queue = scene.cluster.find("apis/kueue.x-k8s.io/v1beta2/clusterqueues", "gpus")
    queue["metadata"]["finalizers"].append("backup.example/keep")

    ((step,),) = (entry.steps for entry in damages(case_of("kueue", scene, scene.state)))

    assert isinstance(step, Edit)
    assert step.merge == {"metadata": {"finalizers": ["backup.example/keep"]}}


BEFORE = f"{GPU_STATE[:-6]}.node-initial-state.unschedulable"


@pytest.mark.parametrize(
    ("plant", "is_uncordoned"),
    [
        pytest.param(cordoned("gpu-operator"), True, id="by the operator"),
        pytest.param(cordoned("kubectl-cordon"), False, id="by its user"),
        pytest.param(every(cordoned("gpu-operator"), note(BEFORE, "true")), False, id="before the upgrade"),
    ],
)
def test_a_node_is_made_schedulable_again_only_where_the_operator_cordoned_it(
    plant: Plant, is_uncordoned: bool
) -> None:
    ((step,),) = (entry.steps for entry in found_in("dev", every(label(GPU_STATE, "drain-required"), plant)))

    assert isinstance(step, Edit)
    assert step.merge["metadata"]["labels"] == {GPU_STATE: None}
    assert ("spec" in step.merge) == is_uncordoned


def test_a_failed_upgrade_is_not_tried_again_on_a_node_whose_pods_may_not_be_read() -> None:
    case = next(case for case in PLANTED if case.what == "an empty node whose upgrade failed")
    scene = scene_of("dev", case.plant)
    scene.cluster.forbidden.add("/api/v1/pods")

    found = {entry.id: entry for entry in damages(case_of("dev", scene, scene.state))}

    assert not found["DOC063"].steps
    assert "PRE101" in found


def test_a_namespace_that_is_never_deleted_shows_the_objects_that_hold_it() -> None:
    group, networks = "sriovnetwork.openshift.io", "apis/sriovnetwork.openshift.io/v1/sriovnetworks"
    plant = every(
        definition("sriovnetworks", group, "SriovNetwork", {"v1": True}, ["v1"]),
        deleted(networks, "SriovNetwork", "held", "backup.example/keep", namespace="training"),
        deleted(networks, "SriovNetwork", "elsewhere", "backup.example/keep", namespace="default"),
        terminating(("NamespaceContentRemaining", f"some: sriovnetworks.{group} has 1 resource instances"),
                    ("NamespaceFinalizersRemaining", "some: backup.example/keep in 1 resource instances")),
    )  # fmt: skip

    (found,) = found_in("dev", plant)

    assert [(seen.object, seen.value) for seen in found.seen[1:]] == [
        ("SriovNetwork training/held", "backup.example/keep")
    ]


def test_a_missing_quota_for_a_priority_class_is_named_with_what_to_create() -> None:
    case = next(case for case in PLANTED if case.what == "a DaemonSet whose pods a quota refuses")

    (found,) = found_in("dev", every(case.plant, event("FailedCreate", "pods are forbidden: exceeded quota", "09:00")))

    assert found.seen[0].value == NO_QUOTA, "the newest reason"
    assert "create a ResourceQuota in namespace gpu-operator" in found.remedy


@each("case", UNREADY, ids=lambda case: f"{case[2]}: {case[3]}")
def test_pods_that_do_not_start_are_named_with_their_workload_their_reason_and_what_mends_it(
    case: tuple[Any, list[tuple[str, str]], str, str],
) -> None:
    status, events, reason, mends = case

    (found,) = found_in("dev", unready(status, *events))

    assert found.message.startswith(f"DaemonSet gpu-operator/of-it has 1 of 2 pods ready: 1 has {reason}, ")
    assert {seen.object for seen in found.seen} == {"Pod gpu-operator/of-it-x2b7q"}
    assert mends in found.remedy
    assert all(text in f"{found.message} {found.seen}" for _, text in events[-1:]), "the newest event is shown"


def test_every_row_of_what_mends_pods_is_of_use() -> None:
    texts = [(reason, f"{status} {events}") for status, events, reason, _ in UNREADY]
    texts += [("FailedCreate", text) for text in REFUSED_PODS]

    said = " ".join(remedy_of(*case) for case in texts)
    assert [row for row in troubles() if row.remedy not in said] == []


@each("case", WAITING, ids=lambda case: case[2])
def test_a_pod_that_waits_for_claims_is_told_which_request_and_what_the_nodes_lack(
    case: tuple[Plant, str, str],
) -> None:
    plant, rule, says = case

    (found,) = found_in("dev", plant)

    assert (found.id, says in found.message) == (rule, True), found.message
    assert found.remedy


def drifted(cluster: LivedInCluster, stack: str = "dev") -> tuple[Finding, ...]:
    live = Cluster(cluster.read, cluster.create, cluster.apply)
    return drift(Stack(*committed(stack)), live, "2026-06-02T00:00:00Z")


def damaged(cluster: LivedInCluster, stack: str = "dev", purpose: Purpose = "up") -> tuple[Finding, ...]:
    live = Cluster(cluster.read, cluster.create)
    return damages(Examination(Stack(*committed(stack)), live, None, NOW, purpose))


def claimed(stack: str, collection: str, key: str, value: Any, writer: dict[str, Any]) -> LivedInCluster:
    """A cluster in which a stack was up, of which a client then set a key of the first object of a collection."""
    cluster = lived_in(*committed(stack))
    item = cluster.objects[collection][0]
    item["spec"][key] = value
    item["metadata"]["managedFields"].append(writer)
    return cluster


IP_POOLS = "apis/nv-ipam.nvidia.com/v1alpha1/ippools"


@pytest.mark.parametrize(
    ("client", "operation", "is_refused"),
    [
        ("argocd-controller", "Apply", True),
        ("kube-controller-manager", "Update", True),
        ("kubectl-edit", "Update", False),
        ("kubectl", "Apply", False),
        (PULUMI, "Apply", False),
    ],
)
def test_who_has_a_field_decides_whether_pulumi_can_put_it_back(client: str, operation: str, is_refused: bool) -> None:
    writer = {**manager(client, {"f:spec": {"f:perNodeBlockSize": {}}}), "operation": operation}
    cluster = claimed("dev", IP_POOLS, "perNodeBlockSize", 7, writer)

    (found,) = drifted(cluster)

    assert found.id == "DRI002"
    assert ("PULUMI_K8S_ENABLE_PATCH_FORCE=true pulumi up" in found.remedy) == is_refused
    assert [(entry.id, client in entry.message) for entry in damaged(cluster)] == [("DOC072", True)] * is_refused


def test_what_our_own_provider_writes_is_written_over_anybodys_field() -> None:
    pools, writer = "apis/spiderpool.spidernet.io/v2beta1/spiderippools", {"f:spec": {"f:subnet": {}}}
    cluster = claimed("spiderpool-sriov", pools, "subnet", "10.0.0.0/8", manager("argocd-controller", writer))

    remedies = [entry.remedy for entry in drifted(cluster, "spiderpool-sriov") if entry.id == "DRI002"]

    assert [remedy for remedy in remedies if "PATCH_FORCE" in remedy] == []
    assert remedies
    assert "DOC072" not in [entry.id for entry in damaged(cluster, "spiderpool-sriov")]


@pytest.mark.parametrize("lost", ["nvidia.com/gpu", "nvidia.com/rail_03"])
def test_of_a_stack_that_was_up_nodes_without_their_devices_are_named(lost: str) -> None:
    cluster = lived_in(*committed("dev"))
    del cluster.nodes[0]["status"]["allocatable"][lost]

    assert [(entry.id, entry.seen[0].object) for entry in damaged(cluster)] == [("DOC073", "Node gpu-0")]

    label(GPU_STATE, "drain-required")(Scene(cluster))
    found = [entry.id for entry in damaged(cluster)]
    assert "DOC073" not in found, "the node's devices are gone for a reason that is named"


@pytest.mark.parametrize("case", ["conflict", "offers", "pods"])
def test_before_a_destroy_nothing_is_said_of_what_only_an_up_meets(case: str) -> None:
    cluster = lived_in(*committed("dev"))
    if case == "conflict":
        cluster = claimed("dev", IP_POOLS, "perNodeBlockSize", 7, manager("argocd", {"f:spec": {}}))
    elif case == "offers":
        del cluster.nodes[0]["status"]["allocatable"]["nvidia.com/gpu"]
    else:
        unready(unscheduled(TAINTED))(Scene(cluster))

    assert [len(damaged(cluster, purpose=purpose)) for purpose in ("up", "destroy")] == [1, 0]


def test_notes_of_an_upgrade_that_nobody_continues_are_removed_with_its_state() -> None:
    plant = every(label(GPU_STATE, "drain-required"), note("nvidia.com/gpu-driver-upgrade-requested", "true"))

    ((step,),) = (entry.steps for entry in found_in("dev", plant))

    assert isinstance(step, Edit)
    assert step.merge["metadata"]["annotations"] == {"nvidia.com/gpu-driver-upgrade-requested": None}


def test_a_definition_is_written_as_the_chart_has_it_where_the_chart_is_at_hand() -> None:
    old = definition(*POOLS, {"v1alpha0": True}, ["v1alpha0"])
    chart = Scene(PlayedCluster(committed("dev")[0]))
    definition(*POOLS, {"v1alpha0": True, "v1alpha1": True}, [])(chart)
    (wanted,) = chart.cluster.objects["apis/apiextensions.k8s.io/v1/customresourcedefinitions"]

    (found,) = found_in("dev", old, definitions=lambda given: [wanted] if given.name == "network-operator" else [])

    (step,) = found.steps
    assert isinstance(step, Edit)
    assert [entry["name"] for entry in step.merge["spec"]["versions"]] == ["v1alpha0", "v1alpha1"]
    assert found.is_own


def test_every_object_of_a_version_that_is_not_served_is_written_again_before_the_version_is_taken_off() -> None:
    def pool(scene: Scene) -> None:
        item = {"metadata": {"name": "old", "namespace": "nvidia-network-operator"}, "spec": {"subnet": "10.0.0.0/8"}}
        scene.cluster.add("apis/nv-ipam.nvidia.com/v1alpha1/ippools", item)

    (found,) = found_in(
        "dev", every(definition(*POOLS, {"v1alpha0": False, "v1alpha1": True}, ["v1alpha0", "v1alpha1"]), pool)
    )

    assert [step.merge for step in found.steps if isinstance(step, Edit)] == [
        {},
        {"status": {"storedVersions": ["v1alpha1"]}},
    ]


def test_before_a_destroy_all_objects_that_one_resource_was_creating_are_deleted() -> None:
    def plant(scene: Scene) -> None:
        manifests = {}
        for rail in range(2):
            item = {"kind": "ConfigMap", "metadata": {"name": f"table-{rail}", "namespace": "spiderpool"}}
            scene.cluster.add("api/v1/configmaps", item, "gpu-fabric")
            manifests[f"table-{rail}"] = {"apiVersion": "v1", **item}
        kind, inputs = "pulumi-python:dynamic/gpu-fabric:KeptObjects", {"objects": {"ConfigMap": manifests}}
        scene.pending.append({"type": "creating", "resource": {"urn": "urn::pools", "type": kind, "inputs": inputs}})

    assert [entry.id for entry in found_in("dev", plant, "destroy")] == ["DOC004", "DOC004", "DOC002"]
