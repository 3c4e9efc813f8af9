"""Spiderpool's hook Jobs on a cluster that only remembers what it was asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from played_objects import Object, operand_pod

from sandbox.hardware.spiderpool import CLEAN_JOB, CONTROLLER, INIT_JOB
from sandbox.hardware.spiderpool_jobs import SpiderpoolJobs
from sandbox.hardware.watching import key_of
from sandbox.kubernetes_api import Api, ApiError

GROUP = "/apis/spiderpool.spidernet.io/v2beta1"
POOLS = "spiderippools.spiderpool.spidernet.io"


class Recorder(Api):
    """An API server that finds what it was given, and nothing else."""

    def __init__(self, found: dict[str, Object] | None = None) -> None:
        self.found = found or {}
        self.asked: list[str] = []

    def request(self, method: str, path: str, body: Any = None, kind: str = "") -> Object:
        self.asked.append(f"{method} {path}")
        if method == "POST" and f"{path}/{body['metadata']['name']}" in self.found:
            raise ApiError(409, "exists")
        if method != "POST" and path not in self.found:
            raise ApiError(404, "not found")
        return self.found.get(path, {})


class Cluster:
    """The collections that the Jobs look at, and a writer that notes what is patched."""

    def __init__(self, **objects: list[Object]) -> None:
        every = {name: objects.get(name, []) for name in ("operators", "operand_pods", "definitions")}
        self.views: Any = SimpleNamespace(**{name: self._collection(items) for name, items in every.items()})
        self.patched: list[tuple[str, Object]] = []
        self.tried_again = 0

    @staticmethod
    def _collection(items: list[Object]) -> Any:
        return SimpleNamespace(objects=lambda: {key_of(item): item for item in items})

    def patch(self, collection: object, item: Object, body: Object) -> bool:
        self.patched.append((key_of(item), body["metadata"]))
        return True

    def again(self) -> None:
        self.tried_again += 1

    def reconcile(self, api: Api | None = None) -> Cluster:
        writer: Any = self
        SpiderpoolJobs(self.views, writer, api or Recorder()).reconcile()
        return self

    @property
    def completed(self) -> bool:
        return any("annotations" in body for _, body in self.patched)


def controller(pods: int = 1) -> Object:
    metadata = {"name": "spiderpool-controller", "namespace": "spiderpool", "labels": dict(CONTROLLER)}
    return {"metadata": metadata, "status": {"availableReplicas": pods}}


def job(kind: str, **environment: str) -> Object:
    made = operand_pod(kind)
    made["spec"]["containers"][0]["env"] = [{"name": name, "value": text} for name, text in environment.items()]
    return made


def definition(name: str) -> Object:
    return {"metadata": {"name": name}}


INIT = job(INIT_JOB, COORDINATOR_NAME="default", COORDINATOR='{"podCIDRType":"auto"}')


def test_the_first_job_makes_the_coordinator_and_ends() -> None:
    api = Recorder()
    assert Cluster(operators=[controller()], operand_pods=[INIT]).reconcile(api).completed
    assert api.asked == [f"POST {GROUP}/spidercoordinators"]


def test_the_first_job_waits_for_the_controller() -> None:
    for operators in ([], [controller(pods=0)]):
        api = Recorder()
        assert not Cluster(operators=operators, operand_pods=[INIT]).reconcile(api).completed
        assert api.asked == []


def test_a_coordinator_that_is_there_already_is_left_as_it_is() -> None:
    api = Recorder({f"{GROUP}/spidercoordinators/default": {}})
    assert Cluster(operators=[controller()], operand_pods=[INIT]).reconcile(api).completed


@pytest.mark.parametrize("change", [{"metadata": {"deletionTimestamp": "now"}}, {"status": {"phase": "Succeeded"}}])
def test_a_job_works_while_its_pod_runs(change: Object) -> None:
    ended = {**INIT, **{part: {**INIT[part], **fields} for part, fields in change.items()}}
    assert not Cluster(operators=[controller()], operand_pods=[ended]).reconcile().completed


def test_what_the_api_server_refuses_is_tried_again() -> None:
    class Broken(Recorder):
        def request(self, method: str, path: str, body: Any = None, kind: str = "") -> Object:
            raise ApiError(500, "no webhook")

    cluster = Cluster(operators=[controller()], operand_pods=[INIT]).reconcile(Broken())
    assert (cluster.completed, cluster.tried_again) == (False, 1)


def test_the_last_job_takes_webhooks_and_definitions_away_and_ends_when_all_are_gone() -> None:
    name = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/spiderpool-controller"
    crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{POOLS}"
    api = Recorder({name: {}, crd: {}})
    first = Cluster(operators=[controller()], operand_pods=[job(CLEAN_JOB)], definitions=[definition(POOLS)])

    assert not first.reconcile(api).completed
    assert {f"DELETE {name}", f"DELETE {crd}"} <= set(api.asked)
    assert Cluster(operators=[controller()], operand_pods=[job(CLEAN_JOB)]).reconcile(Recorder()).completed


def test_no_object_is_held_back_by_its_finalizer_but_a_subnet() -> None:
    held = {"finalizers": ["spiderpool.spidernet.io"]}
    found = {
        f"{GROUP}/spiderippools": {"items": [{"metadata": {"name": "rail-00", **held}}]},
        f"{GROUP}/spiderendpoints": {"items": [{"metadata": {"name": "p", "namespace": "b", **held}}]},
        f"{GROUP}/spidersubnets": {"items": [{"metadata": {"name": "fabric", **held}}]},
    }
    api = Recorder(found)
    names = [definition(f"{path.rpartition('/')[2]}.spiderpool.spidernet.io") for path in found]
    Cluster(operand_pods=[job(CLEAN_JOB)], definitions=names).reconcile(api)
    assert {line for line in api.asked if line.startswith("PATCH")} == {
        f"PATCH {GROUP}/spiderippools/rail-00",
        f"PATCH {GROUP}/namespaces/b/spiderendpoints/p",
    }
