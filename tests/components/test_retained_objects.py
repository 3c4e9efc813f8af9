"""The policy of an older chart is marked to stay before its release is upgraded, and nothing else is written."""

from __future__ import annotations

from typing import Any

import pytest

from components import retained_objects
from components.cluster_api import RequestError
from components.retained_objects import retain
from components.waiting import NodesError
from gpu_fabric.plan.records import PlannedRetention

pytestmark = pytest.mark.components

Json = dict[str, Any]
PLANNED = PlannedRetention(
    api_version="mellanox.com/v1alpha1", kind="NicClusterPolicy", plural="nicclusterpolicies", name="nic-cluster-policy"
)
PATH = "/apis/mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy"
KEPT = {"helm.sh/resource-policy": "keep"}
MARKED = ("PATCH", PATH, {"metadata": {"annotations": KEPT}})


class Cluster:
    """A cluster with a policy or none; `refusals` are its first answers, the last one for ever if `refuses`."""

    def __init__(self, policy: Json | None, *refusals: RequestError, refuses: bool = False) -> None:
        self.policy = policy
        self.writes: list[tuple[str, str, Json | None]] = []
        self._refusals, self._refuses = list(refusals), refuses

    def request(self, method: str, path: str, body: Json | None = None, headers: Any = None) -> Json:
        if self._refusals:
            raise self._refusals[0] if self._refuses else self._refusals.pop(0)
        if method == "GET":
            if self.policy is None or path != PATH:
                raise RequestError(404, "not found")
            return self.policy
        assert headers == {"Content-Type": "application/merge-patch+json"}
        self.writes.append((method, path, body))
        return {}


class Clock:
    """In the place of the module `time`: pauses are over at once, and each takes its seconds."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retained_objects, "time", Clock())


def marked(cluster: Cluster) -> list[tuple[str, str, Json | None]]:
    retain(PLANNED, cluster)  # type: ignore[arg-type]
    return cluster.writes


def test_a_policy_of_the_older_chart_gets_helms_mark() -> None:
    assert marked(Cluster({"metadata": {"annotations": {"meta.helm.sh/release-name": "network-operator"}}})) == [MARKED]


@pytest.mark.parametrize("policy", [None, {"metadata": {"annotations": {**KEPT, "other": "x"}}}])
def test_without_a_policy_or_with_the_mark_nothing_is_written(policy: Json | None) -> None:
    assert marked(Cluster(policy)) == []


def test_a_busy_api_server_is_asked_again() -> None:
    assert marked(Cluster({"metadata": {}}, RequestError(503, "starting"), RequestError(0, "no answer"))) == [MARKED]


@pytest.mark.parametrize("refusal", [RequestError(403, "forbidden"), RequestError(503, "starting")])
def test_a_release_is_not_upgraded_while_its_policy_could_not_be_marked(refusal: RequestError) -> None:
    with pytest.raises(NodesError, match="NicClusterPolicy nic-cluster-policy could not be marked to stay: "):
        marked(Cluster({"metadata": {}}, refusal, refuses=True))
