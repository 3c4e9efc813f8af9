"""Existing stacks keep their resources: what the engine knows by type, parent and name is registered as it was."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import STACKS
from pulumi.dynamic import ResourceProvider
from pulumi.dynamic.dynamic import serialize_provider
from recording import Recording

from components.kept_objects import KeptObjectsProvider
from components.operators.queue_teardown import QueueDrainProvider, QueueReleaseProvider
from components.operators.webhook_cleanup import WebhookCleanupProvider
from components.rdma.verification import VerificationProvider
from gpu_fabric.live.moved_state import PACKAGE, renamed

Known = tuple[str, str, str]
BEFORE = Path(__file__).with_name("registered_before.txt")
# A component that has nothing in it is nothing on a cluster; these stacks need no namespace of their own.
EMPTY = {("-", "gpu-fabric:cluster:Namespaces", "namespaces")}
DIGEST = re.compile(r"-[0-9a-f]{8}(?=-|$)")


def before() -> dict[str, set[Known]]:
    """Parent, type and name of every resource of a stack as they were; the stack itself is `-`."""
    found: dict[str, set[Known]] = {}
    for line in BEFORE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            of_stack = found.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            parent, kind, *names = line.split(" ")
            of_stack |= {(parent, kind, name) for name in names}
    return found


def registered(recording: Recording) -> Iterator[Known]:
    for entry in recording.resources:
        parent = "-" if entry.parent.startswith("gpu-fabric-") else entry.parent or "-"
        yield parent, entry.type, DIGEST.sub("-#", entry.name)


def test_the_record_is_of_stacks_that_are_still_committed() -> None:
    assert len(before()) > 30
    assert before().keys() <= STACKS.keys()


@pytest.mark.parametrize("stack", sorted(before()))
def test_no_resource_of_an_existing_stack_gets_another_name_type_or_parent(
    recorded: Callable[[str], Recording], stack: str
) -> None:
    gone = before()[stack] - set(registered(recorded(stack)))

    assert gone <= (EMPTY if stack.startswith("doks-") else set())


@pytest.mark.parametrize(
    ("provider", "place"),
    [
        (KeptObjectsProvider, "components.kept_objects.KeptObjectsProvider"),
        (QueueDrainProvider, "components.operators.queue_teardown.QueueDrainProvider"),
        (QueueReleaseProvider, "components.operators.queue_teardown.QueueReleaseProvider"),
        (WebhookCleanupProvider, "components.operators.webhook_cleanup.WebhookCleanupProvider"),
        (VerificationProvider, "components.rdma.verification.VerificationProvider"),
    ],
)
def test_a_dynamic_provider_is_recorded_by_the_name_that_states_of_existing_stacks_have(
    provider: type, place: str
) -> None:
    """The engine loads it by this name when it deletes what an earlier run has made."""
    assert f"{provider.__module__}.{provider.__qualname__}" == place


@pytest.mark.parametrize("provider", [KeptObjectsProvider, QueueDrainProvider, WebhookCleanupProvider])
def test_a_moved_state_has_what_pulumi_records_where_the_package_is_installed(
    provider: type[ResourceProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_checkout = serialize_provider(provider())
    monkeypatch.setattr(provider, "__module__", f"gpu_fabric.{provider.__module__}")

    assert renamed(in_checkout, PACKAGE) == serialize_provider(provider())
