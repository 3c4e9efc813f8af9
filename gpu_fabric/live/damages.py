"""Every damage of a stack, its state and its cluster, in the order in which they are mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpu_fabric.live.difference import Difference, Seen, difference, some
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.finalizers import finalizer_damages, namespace_damages
from gpu_fabric.live.in_the_way import conflict_damages, offer_damages
from gpu_fabric.live.node_marks import node_damages
from gpu_fabric.live.old_definitions import definition_damages
from gpu_fabric.live.pods import refused_pod_damages, unready_pod_damages
from gpu_fabric.live.release_records import creation_damages, release_damages
from gpu_fabric.live.silent_servers import api_service_damages, webhook_damages
from gpu_fabric.live.state import state_damages


def run_damages(case: Examination) -> tuple[Difference, ...]:
    """What an interrupted run left: locks, releases, and operations without an outcome."""
    locks_and_operations = () if case.state is None else tuple(state_damages(case.state))
    locks = [entry for entry in locks_and_operations if entry.id != "DOC002"]
    operations = [entry for entry in locks_and_operations if entry.id == "DOC002"]
    return (*locks, *release_damages(case), *creation_damages(case), *operations)


# What blocks writing comes first, then what blocks deletion.
_OF_CLUSTERS: tuple[Callable[[Examination], Iterator[Difference]], ...] = (
    webhook_damages,
    api_service_damages,
    definition_damages,
    finalizer_damages,
    namespace_damages,
    node_damages,
    refused_pod_damages,
    unready_pod_damages,
    conflict_damages,
)


def damages(case: Examination) -> tuple[Difference, ...]:
    """Everything that is damaged; nothing where a run finds what it expects."""
    of_runs = run_damages(case)
    locks = [entry for entry in of_runs if entry.id in ("DOC001", "DOC003")]
    others = [entry for entry in of_runs if entry not in locks]
    in_cluster = [entry for judge in _OF_CLUSTERS for entry in judge(case)]
    if case.state is not None and case.state.is_busy:
        # What a run is just deleting or installing looks the same.
        in_cluster = [entry.model_copy(update={"steps": (), "is_own": False}) for entry in in_cluster]
    # What a node lacks follows from any of these.
    found = (*locks, *in_cluster, *others) or tuple(offer_damages(case))
    return (*found, *_unread(case))


def _unread(case: Examination) -> Iterator[Difference]:
    if refused := case.cluster.refused:
        first = min(refused)
        yield difference(
            "DOC090",
            Seen(object=first, field="", value=refused[first]),
            (),
            f"{some(sorted(refused))} may not be read, and what is there was not judged",
            "use a kubeconfig whose user may list them",
        )
