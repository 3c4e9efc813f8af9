"""Mending writes what was judged, and nothing that has changed meanwhile; twice in a row it does nothing."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import NotAllowed
from gpu_fabric.live.mending import ChangedError, MendingError, mend
from gpu_fabric.live.state import StackState
from gpu_fabric.live.steps import CANCEL, REFRESH, Deletion, Edit, EngineCommand, Step

Object = dict[str, Any]
NODE = "/api/v1/nodes/gpu-0"


@dataclass
class PlayedWriter:
    """Objects by path, each with a resourceVersion; `before` happens between reading and writing."""

    objects: dict[str, Object]
    before: Callable[[Object], object] = lambda item: None
    done: list[str] = field(default_factory=list)

    def state(self) -> StackState:
        return StackState()

    def read(self, path: str) -> Object | None:
        return copy.deepcopy(self.objects.get(path))

    def replace(self, path: str, item: Object) -> None:
        self._check(path, item["metadata"]["uid"], item["metadata"]["resourceVersion"])
        self.done.append(f"replace {path}")
        version = str(int(item["metadata"]["resourceVersion"]) + 1)
        self.objects[path] = {**item, "metadata": {**item["metadata"], "resourceVersion": version}}

    def delete(self, path: str, preconditions: dict[str, str]) -> None:
        self._check(path, preconditions["uid"], preconditions["resourceVersion"])
        self.done.append(f"delete {path}")
        del self.objects[path]

    def run(self, command: EngineCommand) -> None:
        self.done.append(command.arguments[0])

    def _check(self, path: str, uid: str, version: str) -> None:
        self.before(self.objects[path])
        found = self.objects[path]["metadata"]
        if (found["uid"], found["resourceVersion"]) != (uid, version):
            raise ChangedError(path)


def node(**labels: str) -> Object:
    return {"metadata": {"name": "gpu-0", "uid": "u1", "resourceVersion": "7", "labels": labels}, "spec": {}}


def of(*steps: Step) -> Finding:
    return finding(
        "DOC060", "", "m", "r", seen=Seen(object="Node gpu-0", field="a", value="b"), steps=steps, is_own=True
    )


def unlabelled(uid: str = "u1") -> Edit:
    expects, merge = {"metadata": {"labels": {"wait": "true"}}}, {"metadata": {"labels": {"wait": None}}}
    return Edit(path=NODE, uid=uid, expects=expects, merge=merge, words="take wait off node gpu-0")


def mended(writer: PlayedWriter, *steps: Step) -> tuple[str, ...]:
    return mend([of(*steps)], writer, lambda line: None)


def test_an_edit_changes_its_field_alone_and_is_reported() -> None:
    writer = PlayedWriter({NODE: node(wait="true", kept="yes")})

    assert mended(writer, unlabelled()) == ("mended: take wait off node gpu-0",)
    assert writer.objects[NODE]["metadata"]["labels"] == {"kept": "yes"}


def test_an_object_that_is_another_one_of_the_same_name_is_left_as_it_is() -> None:
    writer = PlayedWriter({NODE: node(wait="true")})

    assert mended(writer, unlabelled(uid="u0")) == ("left as it is, since it changed: take wait off node gpu-0",)
    assert writer.done == []


def test_an_object_that_has_recovered_meanwhile_is_left_as_it_is() -> None:
    writer = PlayedWriter({NODE: node(wait="false")})

    assert mended(writer, unlabelled()) == ("left as it is, since it changed: take wait off node gpu-0",)
    assert writer.done == []


def test_a_change_between_reading_and_writing_is_read_again() -> None:
    beats = iter(["8", "9"])

    def heartbeat(item: Object) -> None:
        item["metadata"]["resourceVersion"] = next(beats, item["metadata"]["resourceVersion"])

    writer = PlayedWriter({NODE: node(wait="true")}, heartbeat)

    assert mended(writer, unlabelled()) == ("mended: take wait off node gpu-0",)
    assert writer.done == [f"replace {NODE}"]


def test_what_recovers_between_reading_and_writing_is_left_as_it_is() -> None:
    def recover(item: Object) -> None:
        item["metadata"].update(resourceVersion="8", labels={"wait": "false"})

    writer = PlayedWriter({NODE: node(wait="true")}, recover)

    assert mended(writer, unlabelled()) == ("left as it is, since it changed: take wait off node gpu-0",)
    assert writer.done == []


def test_an_object_that_never_rests_is_given_up_with_its_name() -> None:
    def flicker(item: Object) -> None:
        item["metadata"]["resourceVersion"] = str(int(item["metadata"]["resourceVersion"]) + 1)

    writer = PlayedWriter({NODE: node(wait="true")}, flicker)

    with pytest.raises(MendingError, match="/api/v1/nodes/gpu-0 changes all the time"):
        mended(writer, unlabelled())


def test_a_deletion_has_uid_and_version_as_its_conditions_and_what_is_gone_is_no_error() -> None:
    writer = PlayedWriter({NODE: node()})
    step = Deletion(path=NODE, uid="u1", expects={}, words="delete node")

    assert mended(writer, step) == mended(writer, step) == ("mended: delete node",)
    assert writer.done == [f"delete {NODE}"]


def test_a_lock_is_released_first_and_the_state_read_once_at_the_end() -> None:
    writer = PlayedWriter({NODE: node(wait="true")})

    mend([of(REFRESH), of(CANCEL), of(unlabelled(), REFRESH), of(REFRESH)], writer, lambda line: None)

    assert writer.done == ["cancel", f"replace {NODE}", "refresh"]


def test_what_may_not_be_read_is_an_error_that_keeps_what_was_reported() -> None:
    said: list[str] = []

    class Forbidden(PlayedWriter):
        def read(self, path: str) -> Object | None:
            if "secrets" in path:
                raise NotAllowed("secrets is forbidden")
            return super().read(path)

    secret = Deletion(path="/api/v1/namespaces/a/secrets/b", uid="u", expects={}, words="forget revision 1")
    with pytest.raises(MendingError, match="secrets is forbidden"):
        mend([of(unlabelled(), secret)], Forbidden({NODE: node(wait="true")}), said.append)
    assert said == ["mended: take wait off node gpu-0"]
