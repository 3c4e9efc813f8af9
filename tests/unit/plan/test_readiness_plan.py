"""Who tolerates the taint of nodes that are not proven, and the pair's pods; the rest is in rows/verification.yaml."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.k8s.apps import DaemonSet
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

AGENT = "startup-taint.cluster-autoscaler.kubernetes.io/gpu-fabric-not-ready"


def planned(stack: str, readiness: dict[str, Any] | None = None, **changes: Any) -> Plan:
    document = read_document(stack, folder_of(stack))
    more = {} if readiness is None else {"fabric.readiness": readiness}
    wanted = {**more, **{place.replace("__", "."): value for place, value in changes.items()}}
    return prepare(changed(document, wanted), for_up=False).plan


def applied(plan: Plan, kind: str) -> dict[str, dict[str, Any]]:
    return {
        entry.object.metadata.name: entry.object.manifest()
        for entry in plan.applied("readiness")
        if entry.object.kind == kind
    }


def expected(plan: Plan) -> Iterator[dict[str, Any]]:
    for config_map in applied(plan, "ConfigMap").values():
        if "expected.json" in config_map["data"]:
            yield json.loads(config_map["data"]["expected.json"])


def keys(tolerations: list[dict[str, Any]] | None) -> set[str | None]:
    return {entry.get("key") for entry in tolerations or []}


@pytest.mark.parametrize(
    "stack",
    [
        *("dev", "doks-h200", "oke-h100", "kueue", "node-kinds", "sriov-operator", "spiderpool-sriov", "guide-23-10"),
        *("spiderpool-macvlan", "whereabouts", "host-network", "roce-macvlan", "storage-fabric", "two-machines"),
    ],
)
def test_all_software_of_the_nodes_tolerates_the_taint_and_no_job_does(stack: str) -> None:
    plan = planned(stack, {})

    assert [finding for finding in plan.findings if finding.id.startswith("TNT")] == []
    daemons = [entry.object for step in plan.steps for entry in step.items if _is_daemon(entry)]
    assert daemons
    for daemon in daemons:
        tolerated = keys(daemon.manifest()["spec"]["template"]["spec"].get("tolerations"))
        # That of a further fabric, which has no section `readiness`, is on nodes without the taint.
        assert tolerated & {AGENT, None} or plan.fabrics, daemon.metadata.name
    for contract in (plan.workload, *(entry.workload for entry in plan.fabrics)):
        assert AGENT not in json.dumps(contract.model_dump(mode="json"))
    for step in plan.steps:
        if step.name.startswith("kueue"):
            assert AGENT not in step.model_dump_json()


def _is_daemon(entry: Any) -> bool:
    return isinstance(getattr(entry, "object", None), DaemonSet)


def test_the_verification_and_the_check_of_the_rails_run_on_nodes_that_are_not_proven() -> None:
    plan = planned("verification", {}, fabric__check={}, fabric__vfsPerNic=2)
    (run,) = [entry for step in plan.steps if step.name == "verification" for entry in step.items]
    (check,) = [entry.object for entry in plan.applied("check") if isinstance(entry.object, DaemonSet)]
    pods = [
        manifest["spec"]["template"]["spec"] for manifest in run.manifests if "template" in manifest.get("spec", {})
    ]

    assert pods
    assert all(AGENT in keys(pod["tolerations"]) for pod in pods)
    assert AGENT in keys(check.manifest()["spec"]["template"]["spec"]["tolerations"])


def _pair_of(plan: Plan) -> dict[str, Any]:
    (found,) = expected(plan)
    pair: dict[str, Any] = found["pair"]
    return pair


def test_the_pods_of_a_pair_have_the_rails_of_a_job_and_no_gpu() -> None:
    plan = planned("readiness", {"pair": {"percent": 90, "seconds": 10}})
    pair = _pair_of(plan)
    pod, contract = pair["pod"], plan.workload
    (container,) = pod["spec"]["containers"]
    variables = {entry["name"]: entry.get("value") for entry in container["env"]}

    assert (pair["percent"], pair["when"], pair["rails"]) == (90, "boot", {str(rail): 400 for rail in range(8)})
    assert pair["nodes"] == "node.kubernetes.io/instance-type=BM.GPU.H200.8"
    assert pod["metadata"]["annotations"] == contract.annotations
    assert container["resources"]["limits"] == {f"nvidia.com/rail_{rail:02}": "1" for rail in range(8)}
    assert {AGENT, "nvidia.com/gpu", "node.kubernetes.io/unschedulable"} <= keys(pod["spec"]["tolerations"])
    assert variables["SECONDS_EACH"] == "10"
    # The traffic class of the jobs' packets.
    assert variables["TRAFFIC_CLASS"] == contract.environment["NCCL_IB_TC"]
    assert len(variables["RAILS"].splitlines()) == 8


def test_a_pairs_pods_find_what_they_name() -> None:
    plan = planned("readiness", {"pair": {}}, fabric__prefix="team")
    pod = _pair_of(plan)["pod"]
    (classes,) = [entry for entry in applied(plan, "PriorityClass").values()]
    (service,) = applied(plan, "Service").values()
    scripts = applied(plan, "ConfigMap")[pod["spec"]["volumes"][0]["configMap"]["name"]]

    assert pod["spec"]["priorityClassName"] == classes["metadata"]["name"]
    assert (classes["value"], classes["preemptionPolicy"]) == (-1_000_000_000, "Never")
    assert pod["spec"]["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert set(scripts["data"]) == {"fabric_check.sh", "fabric_pair.sh"}
    assert all(entry["metadata"]["namespace"] == "default" for entry in (pod, service, scripts))
