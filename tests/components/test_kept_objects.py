"""Many objects as one resource: what is written, what is mended, and that nothing is forgotten when something fails."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from fake_api_server import FakeApiServer, serving
from pulumi.dynamic import Config, ConfigureRequest

from components import kept_objects
from components.adopted_sections import AdoptionError, apply_sections
from components.engine import object_writing
from components.engine.cluster_api import ClusterApi
from components.kept_objects import KeptObjectsError, KeptObjectsProvider

POOLS = "/apis/spiderpool.spidernet.io/v2beta1/spiderippools"
TOKEN = "token-of-this-morning"
Json = dict[str, Any]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_objects, "PATIENCE", 0.5)
    monkeypatch.setattr(object_writing, "_LOOK_AGAIN", 0.01)


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving() as fake:
        yield fake


def pool(number: int, node: str | None = None) -> Json:
    return {
        "apiVersion": "spiderpool.spidernet.io/v2beta1",
        "kind": "SpiderIPPool",
        "metadata": {"name": f"pool-{number}"},
        "spec": {"subnet": f"172.17.0.{32 * number}/27", "ipVersion": 4, "nodeName": [node or f"node{number}"]},
    }


def table(lines: Json) -> Json:
    metadata = {"name": "hosts", "namespace": "spiderpool"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": lines}


def as_on_the_wire(value: Any) -> Any:
    """What the engine's messages make of a value: all numbers are floating-point ones."""
    if isinstance(value, dict):
        return {key: as_on_the_wire(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_on_the_wire(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Stack:
    """One resource as the engine keeps it: inputs and outputs on record, and a provider process of its own a run."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.inputs: Json | None = None
        self.outputs: Json | None = None
        self.id = ""

    def wanted(self, *pools: Json, bearer: str = TOKEN, lines: Json | None = None, **others: Any) -> Json:
        objects: Json = {"SpiderIPPool": {entry["metadata"]["name"]: entry for entry in pools}}
        if lines is not None:
            objects["ConfigMap"] = {"hosts": table(lines)}
        properties: Json = {
            "kubeconfig": self.server.kubeconfig(bearer),
            "cluster": "first",
            "keptBy": "rail-00-cafe",
            "cut": "172.17.0.0/24 /27",
            "plurals": {"SpiderIPPool": "spiderippools", "ConfigMap": "configmaps"},
            "timeout": 1,
            "objects": objects,
        }
        found: Json = as_on_the_wire(properties | others)
        return found

    def up(self, wanted: Json) -> list[str]:
        """A run of the engine; gives the failures that would end the program."""
        provider = self._provider()
        if self.outputs is None:
            self._create(provider, wanted)
        else:
            answer = provider.diff(self.id, copy.deepcopy(self.outputs), copy.deepcopy(wanted))
            if answer.replaces:
                assert answer.delete_before_replace
                provider.delete(self.id, copy.deepcopy(self.outputs))
                self._create(provider, wanted)
            elif answer.changes or (answer.changes is None and self.inputs != wanted):
                self.outputs = provider.update(self.id, copy.deepcopy(self.outputs), copy.deepcopy(wanted)).outs
        self.inputs = wanted
        assert self.outputs is not None
        failures: list[str] = self.outputs["failures"]
        return failures

    def refresh(self) -> None:
        read = self._provider().read(self.id, copy.deepcopy(self.outputs or {}))
        self.outputs, self.inputs = as_on_the_wire(read.outs), as_on_the_wire(read.inputs) or self.inputs

    def destroy(self) -> None:
        self._provider().delete(self.id, copy.deepcopy(self.outputs or {}))
        self.inputs = self.outputs = None

    def _create(self, provider: KeptObjectsProvider, wanted: Json) -> None:
        created = provider.create(copy.deepcopy(wanted))
        self.id, self.outputs = created.id, as_on_the_wire(created.outs)

    @staticmethod
    def _provider() -> KeptObjectsProvider:
        provider = KeptObjectsProvider()
        provider.configure(ConfigureRequest(Config({}, "gpu-fabric")))
        return provider


@pytest.fixture
def stack(server: FakeApiServer) -> Stack:
    return Stack(server)


@pytest.fixture
def three(stack: Stack) -> Stack:
    """A stack that has three pools and a table up; what was asked until then is forgotten."""
    assert stack.up(stack.wanted(pool(0), pool(1), pool(2), lines={"node0": "a"})) == []
    stack.server.requests.clear()
    return stack


def test_every_object_is_there_as_planned_after_the_first_run(three: Stack) -> None:
    found = three.server.objects[f"{POOLS}/pool-1"]

    assert three.server.names == ["hosts", "pool-0", "pool-1", "pool-2"]
    assert (found["kind"], found["spec"]) == ("SpiderIPPool", pool(1)["spec"])
    assert type(found["spec"]["ipVersion"]) is int
    assert three.server.objects["/api/v1/namespaces/spiderpool/configmaps/hosts"]["data"] == {"node0": "a"}


def test_a_second_run_asks_the_cluster_nothing(three: Stack) -> None:
    assert three.up(three.wanted(pool(0), pool(1), pool(2), lines={"node0": "a"})) == []
    assert three.server.requests == []


def test_only_what_is_changed_new_or_gone_is_written(three: Stack) -> None:
    three.up(three.wanted(pool(0), pool(1, node="repaired"), pool(3), lines={"node0": "a"}))

    assert three.server.writes() == [("DELETE", "pool-2"), ("PATCH", "pool-1"), ("PATCH", "pool-3")]
    assert three.server.named("pool-1")["spec"]["nodeName"] == ["repaired"]


def test_renewed_credentials_are_kept_for_later_and_nothing_is_asked_of_the_cluster(three: Stack) -> None:
    three.up(three.wanted(pool(0), pool(1), pool(2), bearer="renewed", lines={"node0": "a"}))
    assert three.server.requests == []

    three.server.bearers.clear()
    three.destroy()
    assert three.server.bearers == {"renewed"}
    assert three.server.objects == {}


@pytest.mark.parametrize("change", [{"cluster": "second"}, {"cut": "172.17.0.0/24 /28"}])
def test_another_cluster_or_cut_is_another_resource_and_the_old_goes_first(three: Stack, change: Json) -> None:
    assert three.up(three.wanted(pool(5), **change)) == []

    methods = [method for method, _ in three.server.requests if method != "GET"]
    assert methods == 4 * ["DELETE"] + ["PATCH"]
    assert three.server.names == ["pool-5"]


def test_a_cluster_that_is_not_known_yet_replaces_nothing_in_a_preview(three: Stack) -> None:
    from pulumi.output import Unknown

    assert three.outputs is not None
    unknown = {**three.wanted(pool(0)), "cluster": Unknown(), "kubeconfig": Unknown()}
    answer = Stack._provider().diff("id", three.outputs, unknown)

    assert (answer.replaces, answer.changes) == (None, None)


def test_destroying_leaves_nothing_of_ours_and_all_of_others(three: Stack) -> None:
    other = {**pool(9), "metadata": {"name": "other", "labels": {object_writing.KEPT_BY: "rail-01-cafe"}}}
    three.server.objects[f"{POOLS}/other"] = other
    three.server.objects.pop(f"{POOLS}/pool-1")
    three.destroy()

    assert three.server.names == ["other"]


def test_a_pool_in_use_is_named_when_the_time_is_over_and_the_next_destroy_goes_on(three: Stack) -> None:
    three.server.held = {"pool-1"}
    with pytest.raises(KeptObjectsError, match=r"SpiderIPPool pool-1: still in use 1 s after it was deleted") as raised:
        three.destroy()
    assert "pool-0" not in str(raised.value)
    assert three.server.names == ["pool-1"]

    three.server.held = set()
    three.destroy()
    assert three.server.objects == {}


def test_what_was_written_before_a_refusal_is_known_and_the_next_run_writes_the_rest_alone(stack: Stack) -> None:
    wanted = stack.wanted(pool(0), pool(1), pool(2))
    stack.server.refusals = {"pool-1": [(422, "admission webhook denied\nthe request: overlaps")]}
    assert stack.up(wanted) == ["SpiderIPPool pool-1: admission webhook denied the request: overlaps"]
    assert stack.server.names == ["pool-0", "pool-2"]

    stack.server.requests.clear()
    assert stack.up(wanted) == []
    assert stack.server.writes() == [("PATCH", "pool-1")]

    failed = Stack(stack.server)
    stack.server.refusals = {"pool-1": [(422, "no")]}
    failed.up(wanted)
    failed.destroy()
    assert stack.server.objects == {}


def test_a_refused_change_is_tried_again_by_the_next_run(three: Stack) -> None:
    wanted = three.wanted(pool(0), pool(1, node="repaired"), pool(2), pool(3), lines={"node0": "a"})
    three.server.refusals = {"pool-1": [(403, "no")]}
    assert three.up(wanted) == ["SpiderIPPool pool-1: no"]

    three.server.requests.clear()
    assert three.up(wanted) == []
    assert three.server.writes() == [("PATCH", "pool-1")]


def test_what_a_killed_run_has_written_is_found_again_though_the_engine_knows_nothing_of_it(three: Stack) -> None:
    known = copy.deepcopy(three.outputs)
    three.up(three.wanted(pool(0), pool(1), pool(2), pool(7), lines={"node0": "a"}))
    three.outputs = known
    three.up(three.wanted(pool(0), pool(1), pool(3), lines={"node0": "a"}))
    assert three.server.names == ["hosts", "pool-0", "pool-1", "pool-3"]


def test_an_object_that_still_goes_is_made_anew_when_it_is_gone(three: Stack) -> None:
    three.server.held = {"pool-2"}
    assert three.up(three.wanted(pool(0), lines={"node0": "a"})) == [
        "SpiderIPPool pool-2: still in use 1 s after it was deleted"
    ]
    three.server.held = set()
    assert three.up(three.wanted(pool(0), pool(2), lines={"node0": "a"})) == []
    assert "deletionTimestamp" not in three.server.named("pool-2")["metadata"]


def test_a_webhook_that_does_not_answer_yet_is_asked_again(stack: Stack) -> None:
    stack.server.refusals = {"pool-0": [(500, 'failed calling webhook "x": connection refused'), (503, "busy")]}

    assert stack.up(stack.wanted(pool(0))) == []
    assert stack.server.names == ["pool-0"]


def test_a_cluster_that_does_not_answer_is_said_once_and_nothing_is_forgotten(three: Stack) -> None:
    there = three.outputs and three.outputs["objects"]
    nowhere = three.wanted(pool(0), pool(1), lines={"node0": "a"})
    nowhere["kubeconfig"] = nowhere["kubeconfig"].replace(str(three.server.port), "1")

    (failure,) = three.up(nowhere)
    assert failure.startswith("the cluster: the API server was not reached: ")
    assert as_on_the_wire(three.outputs)["objects"] == there


def test_on_a_cluster_that_is_gone_for_good_objects_are_forgotten_by_the_kubernetes_providers_own_word(
    three: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert three.outputs is not None
    three.outputs["kubeconfig"] = three.outputs["kubeconfig"].replace(str(three.server.port), "1")
    with monkeypatch.context() as soon:
        soon.setattr(kept_objects, "PATIENCE", 0.1)
        with pytest.raises(KeptObjectsError, match="was not reached"):
            three._provider().delete("id", three.outputs)
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    three._provider().delete("id", three.outputs)
    assert three._provider().read("id", three.outputs).id == ""


def test_a_busy_server_is_not_one_that_is_gone_for_good(three: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    three.server.refusals = {"pool-0": [(429, "storage is (re)initializing")], "pool-1": [(503, "busy")]}
    three.destroy()

    assert three.server.objects == {}


def test_a_kubeconfig_that_cannot_be_read_shows_nothing_of_itself(stack: Stack) -> None:
    (failure,) = stack.up({**stack.wanted(pool(0)), "kubeconfig": f"token: {TOKEN}: ["})

    assert TOKEN not in failure
    assert failure.startswith("the cluster: its kubeconfig cannot be used")


def test_a_refresh_sees_what_is_gone_or_otherwise_and_the_next_run_mends_just_that(three: Stack) -> None:
    wanted, before = three.inputs, copy.deepcopy((three.inputs, three.outputs))
    assert wanted is not None
    three.refresh()
    assert (three.inputs, as_on_the_wire(three.outputs)) == (before[0], as_on_the_wire(before[1]))
    del three.server.objects[f"{POOLS}/pool-0"]
    three.server.named("pool-1")["spec"]["nodeName"] = ["somebody-elses"]
    three.server.named("pool-2")["spec"]["disable"] = False
    three.refresh()
    assert three.up(wanted) == []

    assert three.server.writes() == [("PATCH", "pool-0"), ("PATCH", "pool-1")]
    assert three.server.named("pool-1")["spec"]["nodeName"] == ["node1"]


def test_of_many_failures_the_first_are_told_and_the_others_counted(stack: Stack) -> None:
    pools = [pool(number) for number in range(8)] + [pool(number) for number in range(10, 40)]
    stack.server.refusals = {entry["metadata"]["name"]: [(422, "no")] for entry in pools}
    failures = stack.up(stack.wanted(*pools))

    assert failures[:2] == ["SpiderIPPool pool-0: no", "SpiderIPPool pool-1: no"]
    assert failures[10:] == ["and 28 more"]


def test_after_the_stack_got_another_name_its_objects_are_still_its_own(three: Stack) -> None:
    three.up(three.wanted(pool(0), pool(1), pool(2), lines={"node0": "a"}, keptBy="rail-00-beef"))
    three.up(three.wanted(pool(0), pool(1), lines={"node0": "a"}, keptBy="rail-00-beef"))
    assert three.server.writes() == [("DELETE", "pool-2")]

    three.destroy()
    assert three.server.objects == {}


def test_sections_are_added_to_an_object_that_exists_and_other_values_in_it_stay_and_are_told(
    server: FakeApiServer,
) -> None:
    api, path = ClusterApi(server.kubeconfig(TOKEN), None, 1), "/apis/mellanox.com/v1alpha1/nicclusterpolicies/theirs"
    wanted = {"kind": "NicClusterPolicy", "metadata": {"name": "theirs"}, "spec": {"nvIpam": {"version": "v2"}}}
    with pytest.raises(AdoptionError, match="there is no NicClusterPolicy theirs to adopt"):
        apply_sections(api, path, wanted, "gpu-fabric/dev")
    server.objects[path] = {**wanted, "metadata": {"name": "theirs", "uid": "7"}, "spec": {"nvIpam": {"version": "v1"}}}
    server.refusals = {"theirs": [(409, "conflict with kubectl")]}
    with pytest.raises(AdoptionError, match=r"spec\.nvIpam\.version: it is v1, and the plan has v2"):
        apply_sections(api, path, wanted, "gpu-fabric/dev")
    assert server.objects[path]["spec"] == {"nvIpam": {"version": "v1"}}
