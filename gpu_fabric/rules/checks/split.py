"""A cluster and what lies on it as two stacks."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec import DoksClusterSpec
from gpu_fabric.spec.places import dotted


@check("SPL004")
def there_is_a_cluster_to_make(case: Case) -> Iterator[Problem]:
    """A stack of part cluster is for a cloud that makes one."""
    if case.spec.split.part == "cluster" and case.spec.cluster.provider == "existing":
        yield Problem(
            dotted(("split", "part")),
            "the cluster exists, so a stack of part cluster would make nothing",
            "take the section split out: with provider existing one stack is the platform alone",
        )


@check("SPL005")
def the_platform_gets_no_more_than_the_cluster(case: Case) -> Iterator[Problem]:
    """The kubeconfig of a cluster stack holds no credentials of the account."""
    cluster = case.spec.cluster
    if (
        case.spec.split.part == "cluster"
        and isinstance(cluster, DoksClusterSpec)
        and cluster.kubeconfig.mode == "token"
    ):
        yield Problem(
            dotted(("cluster", "kubeconfig", "mode")),
            "the kubeconfig that the platform stack reads holds the account's API token",
            "write exec (doctl, with the caller's own token) or raw (the cluster's own credentials, which expire)",
        )
