"""The existing cluster of a run: reported first, and compared with the last run's."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pulumi

from components.cluster.existing import kubeconfig_text
from gpu_fabric.plan import Plan
from gpu_fabric.spec.kubeconfig import Reached, cluster_identity, contexts_of, open_choice, reached


class ReachedCluster(NamedTuple):
    """The cluster of a run: the context and server of its kubeconfig, and the id derived from them (`address`)."""

    place: Reached
    address: str
    kubeconfig: str

    def ways_back(self, last_id: str | None) -> tuple[str, ...]:
        """What to write so that this run uses the last run's cluster."""
        if last_id is None:
            return ()
        there = contexts_of(self.kubeconfig, last_id)
        return (
            f"This run's kubeconfig leads to {self.place}.",
            *(f"The last run's cluster is this: write `context: {name}` under `gpu-fabric:cluster`." for name in there),
            f"If both are one cluster, at another address: write `id: {last_id}` under `gpu-fabric:cluster`.",
        )

    def warn_of_another(self, last_address: str | None) -> None:
        """Warn if the address has changed, so that only `cluster.id` identifies this as the last run's cluster."""
        if last_address not in (None, self.address):
            pulumi.log.warn(
                f"the kubeconfig leads to another address than in the last run: {self.place}. By `cluster.id` it "
                "is the same cluster; where it is not, stop here, since nothing else distinguishes them"
            )


def reached_cluster(plan: Plan, root: Path) -> ReachedCluster:
    """The cluster of the running program; it is also logged.

    Raises:
        pulumi.RunError: the kubeconfig cannot be used.
    """
    cluster = plan.cluster
    text = kubeconfig_text(cluster, root)
    place = reached(text, cluster.context)
    pulumi.log.info(f"cluster: {place}")
    if cluster.kubeconfig_secret is not None:
        # A kubeconfig file was checked with the stack file.
        for entry in open_choice(text, cluster.context, f"the secret {cluster.kubeconfig_secret}"):
            pulumi.log.warn(f"{entry.id} {entry.path}: {entry.message} -> {entry.remedy}")
    return ReachedCluster(place, cluster_identity(text, cluster.context), text)
