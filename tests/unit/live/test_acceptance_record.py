"""What an acceptance says of cost beforehand, reads of a run's events, and leaves out of a report for strangers."""

import json
from pathlib import Path
from typing import Any

from each_case import each

from gpu_fabric.live.acceptance import left_lines, new_record, statement_rows
from gpu_fabric.live.engine_run import engine_run
from gpu_fabric.live.redaction import without_ids
from gpu_fabric.live.state import StackState
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.report.time_limit import longest_wait
from gpu_fabric.spec.load import read_document

ROOT = Path(__file__).parents[3]
UUID, OTHER = "d1e8b0a4-6c2f-4f0e-9d3b-0a1b2c3d4e5f", "d1e8b0a4-6c2f-4f0e-9d3b-0a1b2c3d4e60"
OCID = "ocid1.instance.oc1.iad.anuwcljt2ow634yc"


@each(
    ("text", "left"),
    [
        (f"cluster {UUID}, pool {OTHER}, cluster {UUID}", "cluster [uuid 1], pool [uuid 2], cluster [uuid 1]"),
        (f"https://{UUID}.k8s.ondigitalocean.com", "https://[uuid 1].k8s.ondigitalocean.com"),
        (f"oci://{OCID}: gone", "oci://[ocid1.instance 1]: gone"),
        ("digitalocean://412345678", "digitalocean://[machine 1]"),
        ("arn:aws:eks:us-east-1:123456789012:cluster/a", "arn:aws:eks:us-east-1:[account 1]:cluster/a"),
        ("123456789012.dkr.ecr.us-east-1.amazonaws.com/nccl", "[account 1].dkr.ecr.us-east-1.amazonaws.com/nccl"),
        ("gke_my-project_us-east4_gpus", "gke_[account 1]_us-east4_gpus"),
        ("iad.ocir.io/axq1tenancy/nccl:1", "iad.ocir.io/[account 1]/nccl:1"),
        ("user ada.l@example.org", "user [e mail 1]"),
        ("https://8.8.4.4:6443, 2606:4700::1111", "https://[address 1]:6443, [address 2]"),
        ("20:3b:97:13:55:1c:20:3b:97:13:55:1c:20:3b:97:13", "[fingerprint 1]"),
        ("/home/ada/.kube, ada on lab-7, adaptive", "[name 1]/.kube, [name 3] on [name 2], adaptive"),
    ],
)
def test_what_leads_to_an_account_or_a_person_is_numbered(text: str, left: str) -> None:
    assert without_ids(text, ["/home/ada", "ada", "lab-7", "", "x"]) == left


@each(
    "text",
    [
        "192.168.0.0/20, 10.244.1.7, 172.16.0.1, 203.0.113.9 and fd00::1",
        "0000:0c:00.0, mlx5_0, 0x6789abcd, sha256:0123456789abcdef, 26.7.0, v1.36.1-do.0, 2026-11-29 06:02:03",
        "urn:pulumi:dev::gpu-fabric::kubernetes:core/v1:Namespace::namespaces-gpu-operator",
        "nvidia.com/rail_00, oci:Core/vcn:Vcn, registry.example.com/nccl-tests:2.17.3, 50:00:e6:03:00:12:34:56",
    ],
)
def test_what_a_plan_is_of_stays(text: str) -> None:
    assert without_ids(text) == text


def planned(**prices: float) -> tuple[Plan, dict[str, str]]:
    document = read_document("doks-mi325x", ROOT)
    priced = {name: {"hourly": hourly, "asOf": "2026-11-01"} for name, hourly in prices.items()}
    cluster = {**document.sections["cluster"], "prices": priced}
    document = document.model_copy(update={"sections": {**document.sections, "cluster": cluster}})
    plan = prepare(document, for_up=False).plan
    return plan, statement_rows(plan, new_record(plan, document, "0.0.0", is_simulated=False))


def test_the_most_that_up_can_cost_is_its_longest_time_at_the_price_of_an_hour() -> None:
    plan, said = planned(**{"gpu-mi325x8-2048gb-fabric-contracted": 20.0, "s-4vcpu-8gb": 0.1})
    assert longest_wait(plan) == 3 * 3600 + 15 * 60
    # Two machines at 20 and two at 0.10 an hour, for 3.25 hours.
    assert said["cost of `up`, at most"] == "130.65 USD, if it takes the whole 3 h 15 min; machines alone"


def test_an_unknown_price_makes_the_cost_unknown_and_nothing_is_said_of_machines_that_exist() -> None:
    _, said = planned(**{"gpu-mi325x8-2048gb-fabric-contracted": 20.0})
    assert said["cost of `up`, at most"].startswith("unknown, since the price is")
    document = read_document("dev", ROOT)
    plan = prepare(document, for_up=False).plan
    assert not [
        name
        for name in statement_rows(plan, new_record(plan, document, "0.0.0", is_simulated=False))
        if name.startswith(("cost of `up`", "cost after"))
    ]


def entry(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "urn": f"urn:pulumi:own::p::{kind}::{name}", "custom": True}


def test_what_is_left_names_what_is_paid_for_and_what_the_stack_may_not_know_of() -> None:
    plan, _ = planned()
    pool = entry("digitalocean:index/kubernetesNodePool:KubernetesNodePool", "cluster-pool-gpu")
    known = (
        {**entry("pulumi:pulumi:Stack", "own"), "custom": False},
        entry("pulumi:providers:digitalocean", "account"),
        entry("digitalocean:index/vpc:Vpc", "cluster-vpc"),
        entry("kubernetes:core/v1:Namespace", "a"),
    )
    pending = ({"type": "creating", "resource": pool},)

    assert left_lines(plan, StackState(known, pending), "", "DESTROY") == (
        "left at the cloud, and paid for: Vpc cluster-vpc",
        "interrupted in their creation; look in the console whether they exist: KubernetesNodePool cluster-pool-gpu",
        f"the machines of the whole stack cost an hour: {plan.cost.total_text}",
        "left on the cluster: 1 resource of the stack",
        "destroy it: DESTROY",
    )
    assert left_lines(plan, StackState(known[:2]), "", "DESTROY") == ()


def test_the_events_of_a_run_that_was_killed_are_read_to_their_end() -> None:
    step = {"op": "create", "urn": "urn:pulumi:a::p::x:y:Z::one", "type": "x:y:Z"}
    lines = [
        json.dumps({"timestamp": 5, "resourcePreEvent": {"metadata": step}}),
        json.dumps({"timestamp": 5, "resourcePreEvent": {"metadata": {**step, "op": "same"}}}),
        '{"timestamp": 9, "resOut',
    ]
    run = engine_run(lines)
    assert [(found.name, found.operation, found.seconds) for found in run.resources] == [("one", "create", None)]
    assert (run.operations, run.seconds, run.slowest, run.errors) == ({}, None, [], ())
