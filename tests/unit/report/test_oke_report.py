"""What Oracle is asked for, in words for people."""

from planned_fabrics import plan_of
from planned_oke import EVERYTHING, resources_of

from gpu_fabric.report.content import cloud_rows, oke_rows, oke_steps, pool_bounds, step_rows


def test_the_overview_says_what_is_made_where_and_who_may_come_in() -> None:
    rows = oke_rows(resources_of("oke-h200"))

    assert rows["VCN"] == "oke-h200, 10.140.0.0/16"
    assert rows["cluster"] == ("oke-h200 in us-chicago-1 of Oracle, Kubernetes v1.34.1, enhanced, private API server")
    assert rows["access"] == "Oracle's Bastion service"
    assert rows["protected"] == "yes"


def test_the_whole_plans_report_holds_it_and_says_what_holds_a_pool() -> None:
    plan = plan_of("oke-h200")

    assert cloud_rows(plan) == oke_rows(resources_of("oke-h200"))
    assert pool_bounds(plan, "gpu") == ", a managed node pool in a compute cluster"
    assert next(step_rows(plan))[0] == "network"


def test_what_exists_stays_and_is_said_so() -> None:
    assert "which exists and stays" in oke_rows(resources_of(*EVERYTHING["there-already"]))["VCN"]


def test_without_policies_of_the_stack_an_administrator_makes_them() -> None:
    resources = resources_of("oke-h100-26-4", {"cluster.identity": {"create": False}})

    assert oke_rows(resources)["policies"] == "an administrator's"
    assert "identity" not in {title for title, _, _ in oke_steps(resources)}
