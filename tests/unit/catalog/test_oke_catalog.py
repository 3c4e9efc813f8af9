"""What the catalog says about Oracle's clouds: regions, security rules, policies, machines."""

from __future__ import annotations

import string

from gpu_fabric.catalog import catalog

FACTS = catalog().oke_clusters


def test_no_security_rule_is_written_twice() -> None:
    rows = [row.model_copy(update={"why": ""}) for row in FACTS.security_rules]

    assert [row for place, row in enumerate(rows) if row in rows[:place]] == []


def test_what_may_leave_towards_a_group_is_let_in_there_for_every_port_of_the_control_plane() -> None:
    def ports(direction: str, group: str, peer: str) -> set[tuple[int, int] | None]:
        return {
            row.ports
            for row in FACTS.security_rules
            if (row.direction, row.group, row.peer, row.protocol) == (direction, group, peer, "tcp")
        }

    for client in ("pods", "operator", "bastion"):
        assert ports("egress", client, "control-plane") <= ports("ingress", "control-plane", client)
    assert {(6443, 6443), (12250, 12250)} <= ports("ingress", "control-plane", "workers")


def test_every_statement_names_only_what_the_plan_fills_in() -> None:
    for row in FACTS.policies:
        names = {name for _, name, _, _ in string.Formatter().parse(row.statement) if name}
        assert names <= {"compartment", "cluster", "nodes", "operator"}, row.name
        assert row.why.endswith(".")


def test_statements_that_name_the_cluster_are_in_the_policies_that_come_after_it() -> None:
    named = {row.policy for row in FACTS.policies if "{cluster}" in row.statement}
    assert named == {"join", "operator", "autoscaler"}
