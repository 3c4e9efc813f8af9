"""The verification as planned: its job in three forms, its bars, and a name that changes with the fabric alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.prepare import prepare
from gpu_fabric.report.content import step_rows
from gpu_fabric.spec.further_fabric import LONGEST_NAME
from gpu_fabric.spec.load import read_document

ON = {"enabled": True, "image": "registry.example/nccl-tests:1"}


def planned(stack: str, changes: dict[str, Any] | None = None, **wishes: Any) -> PlannedVerification:
    document = changed(read_document(stack, folder_of(stack)), {"verification": {**ON, **wishes}, **(changes or {})})
    found = prepare(document, for_up=False).verification
    assert found is not None
    return found


def job(run: PlannedVerification) -> dict[str, Any]:
    return run.manifests[-1]


def files(run: PlannedVerification) -> dict[str, str]:
    data: Any = run.manifests[0]["data"]
    found: dict[str, str] = data
    return found


def containers(run: PlannedVerification) -> list[dict[str, Any]]:
    """The containers of every kind of pod of the job."""
    spec: Any = job(run)["spec"]
    templates = {
        "job": lambda: [spec["template"]],
        "volcano": lambda: [task["template"] for task in spec["tasks"]],
        "mpi-operator": lambda: [role["template"] for role in spec["mpiReplicaSpecs"].values()],
    }[run.launcher]()
    return [template["spec"]["containers"][0] for template in templates]


def test_nothing_is_measured_unless_asked() -> None:
    document = read_document("dev", folder_of("dev"))
    assert prepare(document, for_up=False).verification is None
    off = changed(document, {"verification": {**ON, "enabled": False}})
    assert prepare(off, for_up=False).verification is None


def test_a_plain_job_has_a_pod_for_every_node_of_the_stack() -> None:
    run = planned("dev")
    spec: Any = job(run)["spec"]
    assert (job(run)["kind"], spec["completionMode"]) == ("Job", "Indexed")
    assert (spec["completions"], spec["parallelism"], run.pods) == (3, 3, 3)
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 3600)


def test_its_pods_carry_the_whole_contract() -> None:
    document = changed(read_document("dev", folder_of("dev")), {"verification": ON})
    plan = prepare(document, for_up=False)
    assert plan.verification is not None
    template: Any = job(plan.verification)["spec"]
    container = containers(plan.verification)[0]
    assert template["template"]["metadata"]["annotations"] == plan.workload.annotations
    assert container["resources"]["limits"] == plan.workload.resources
    assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]


def test_pods_have_no_account_and_no_rights() -> None:
    spec: Any = job(planned("dev"))["spec"]
    pod = spec["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod


def test_no_key_is_in_a_plan() -> None:
    run = planned("dev")
    assert [manifest["kind"] for manifest in run.manifests] == ["ConfigMap", "Service", "Job"]
    assert run.keys_secret == f"{run.name}-keys"
    assert "PRIVATE KEY" not in run.model_dump_json()


@pytest.mark.parametrize("launcher", ["volcano", "mpi-operator"])
def test_operators_bring_keys_and_hosts_of_their_own(launcher: str) -> None:
    run = planned("dev", {"cluster.installed": [launcher]}, launcher=launcher)
    first, second = containers(run)
    assert run.keys_secret is None
    assert run.pods == 4
    assert [container["command"][-1] for container in (first, second)] == ["launch", "worker"]
    places = {entry["name"]: entry.get("value") for entry in first["env"]}
    assert places["HOSTS_FILE"] in ("/etc/volcano/mpiworker.host", "/etc/mpi/hostfile")
    assert [manifest["kind"] for manifest in run.manifests] == ["ConfigMap", job(run)["kind"]]


def test_workers_of_the_mpi_operator_stay_with_what_they_have_to_say() -> None:
    spec: Any = job(planned("dev", {"cluster.installed": ["mpi-operator"]}, launcher="mpi-operator"))["spec"]
    assert spec["runPolicy"] == {"cleanPodPolicy": "None", "activeDeadlineSeconds": 3600, "backoffLimit": 0}


def test_on_the_hosts_network_ssh_has_a_port_of_its_own() -> None:
    run = planned("host-network")
    spec: Any = job(run)["spec"]
    assert spec["template"]["spec"]["hostNetwork"] is True
    assert {"name": "PORT", "value": "2222"} in containers(run)[0]["env"]
    assert files(run)["rails"].splitlines()[0] == "0 - mlx5_0 0"


def test_rails_are_measured_with_the_gpu_that_is_nearest_to_each() -> None:
    assert files(planned("dev"))["rails"].splitlines()[8:10] == ["8 net9 - 4", "9 net10 - 4"]


def test_without_single_rails_there_are_none_and_no_bar_for_them() -> None:
    run = planned("dev", perRail=False)
    assert (files(run)["rails"], run.rail_bar, run.each_rail) == ("", None, False)


def test_rings_are_forced_and_the_transport_is_logged() -> None:
    settings = files(planned("dev"))["settings"].splitlines()
    assert {"NCCL_ALGO=Ring", "NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,ENV,NET", "NCCL_IB_TC=41"} <= set(settings)


def test_mpi_stays_on_the_front_end() -> None:
    settings = files(planned("dev"))["settings"].splitlines()
    assert {"UCX_NET_DEVICES=eth0", "UCX_TLS=tcp", "OMPI_MCA_btl_tcp_if_include=eth0"} <= set(settings)


@pytest.mark.parametrize(
    ("stack", "bar", "rail"),
    [("dev", 368, 23), ("oke-a100", 185, 11.56), ("doks-h200", 368, 46), ("doks-b300", 736, 46)],
)
def test_bars_follow_from_line_rate_and_rails(stack: str, bar: float, rail: float) -> None:
    run = planned(stack)
    assert run.rail_bar is not None
    assert (run.bar.value, run.rail_bar.value) == (bar, rail)
    assert f"{bar} GB/s by" in run.rail_bar.explanation


def test_bars_of_ones_own_replace_them() -> None:
    run = planned("dev", bar=400.0)
    assert run.rail_bar is not None
    assert (run.bar.value, run.rail_bar.value, run.bar.source) == (400, 25, "the stack file")


def test_the_same_stack_gives_the_same_name() -> None:
    assert planned("dev").name == planned("dev").name


@pytest.mark.parametrize(
    "changes",
    [
        {"fabric.mtu": 4000},
        {"fabric.addressing.supernet": "10.200.0.0/16"},
        {"cluster.pools[0].nodes": 4},
        {"software.gpuOperator": {"gdrcopy": True}},
        {"fabric.nccl": {"settings": {"NCCL_IB_TIMEOUT": 21}}},
    ],
    ids=str,
)
def test_a_changed_fabric_has_another_name(changes: dict[str, Any]) -> None:
    assert planned("dev", changes).name != planned("dev").name


@pytest.mark.parametrize("wishes", [{"image": "other:1"}, {"bar": 300.0}, {"nodes": 2}, {"trigger": "again"}], ids=str)
def test_another_measurement_has_another_name(wishes: dict[str, Any]) -> None:
    assert planned("dev", **wishes).name != planned("dev").name


@pytest.mark.parametrize("wishes", [{"wait": False}, {"minutes": 10}], ids=str)
def test_how_up_waits_is_no_reason_to_measure_again(wishes: dict[str, Any]) -> None:
    assert planned("dev", **wishes).name == planned("dev").name


def test_every_pod_of_a_large_job_still_has_a_name() -> None:
    assert len(f"{planned('dev').name}-99999") <= 63


def test_the_script_is_the_one_that_is_tested(root: Path) -> None:
    script = (root / "gpu_fabric" / "workloads" / "verification.sh").read_text(encoding="utf-8")
    assert files(planned("dev"))["verification.sh"] == script


def test_the_report_says_what_is_waited_for() -> None:
    document = changed(read_document("dev", folder_of("dev")), {"verification": ON})
    (step,) = [step for step in step_rows(prepare(document, for_up=False)) if step[0] == "verification"]
    assert step[2] == "each rail 23 GB/s, then all of them 368 GB/s, 60 minutes at most"


def schedule(stack: str = "dev", **wishes: Any) -> dict[str, dict[str, Any]]:
    """The planned objects of a schedule, by kind and name."""
    wishes = {key: value for key, value in {**ON, "schedule": "17 */4 * * *", **wishes}.items() if value is not None}
    plan = prepare(changed(read_document(stack, folder_of(stack)), {"verification": wishes}), for_up=False)
    steps = [step for step in plan.steps if step.name == "schedule"]
    items: list[Any] = [item for step in steps for item in step.items]
    manifests = [item.object.manifest() for item in items]
    return {f"{manifest['kind']} {manifest['metadata']['name']}": manifest for manifest in manifests}


def test_without_a_schedule_nothing_of_it_is_planned() -> None:
    assert schedule(schedule=None) == {}


def test_a_schedule_leaves_the_run_of_up_as_it_is() -> None:
    assert planned("dev", schedule="17 3 * * *") == planned("dev")


def test_scheduled_pods_need_a_whole_node_and_give_way_to_every_job() -> None:
    found = schedule()
    job = found["CronJob fabric-idle"]["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert len([name for name in pod["containers"][0]["resources"]["limits"] if "rail" in name]) == 16
    priority = found[f"PriorityClass {pod['priorityClassName']}"]
    assert (priority["value"] < -10, priority["preemptionPolicy"]) == (True, "Never")
    assert pod["terminationGracePeriodSeconds"] == 1
    assert job["podFailurePolicy"]["rules"][0]["action"] == "FailJob"


def test_scheduled_pods_of_busy_nodes_do_not_wait_for_long() -> None:
    job = schedule(minutes=60)["CronJob fabric-idle"]["spec"]["jobTemplate"]["spec"]
    assert (job["activeDeadlineSeconds"], job["successPolicy"]) == (1200, {"rules": [{"succeededCount": 1}]})
    shorter = schedule(minutes=10)["CronJob fabric-idle"]["spec"]["jobTemplate"]["spec"]
    assert shorter["activeDeadlineSeconds"] == 600


def test_two_runs_at_a_time_there_are_none_and_times_are_in_utc() -> None:
    spec = schedule()["CronJob fabric-idle"]["spec"]
    assert (spec["schedule"], spec["timeZone"], spec["concurrencyPolicy"]) == ("17 */4 * * *", "Etc/UTC", "Forbid")


def test_the_account_of_scheduled_pods_may_change_two_config_maps_alone() -> None:
    found = schedule()
    (rule,) = found["Role fabric-idle"]["rules"]
    assert rule == {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["fabric-verification-history", "fabric-verification-present"],
        "verbs": ["get", "patch"],
    }
    assert found["RoleBinding fabric-idle"]["roleRef"]["kind"] == "Role"
    assert {name for name in found if name.startswith("ConfigMap fabric-verification")} == {
        "ConfigMap fabric-verification-history",
        "ConfigMap fabric-verification-present",
    }


def test_a_schedules_longest_name_is_one_that_a_cron_job_can_have() -> None:
    assert len(f"{'p' * 15}-fabric-idle-{'f' * LONGEST_NAME}") <= 52
