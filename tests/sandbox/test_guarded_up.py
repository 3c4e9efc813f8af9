"""The guard on the real engine: what loses nodes is refused by preview and up alike, until it is acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cloud_driver import CloudSandbox, printed

from gpu_fabric.changes.footprint import unpack
from sandbox.engine.commands import Stack

pytestmark = pytest.mark.sandbox

POOL = "cluster-pool-gpu"
REFUSED = "1 change needs an acknowledgement and has none, nothing was changed."


@pytest.fixture(scope="module")
def h200(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSandbox]:
    """A stack with three nodes, brought up; the tests of the module go on from one another."""
    sandbox = CloudSandbox(tmp_path_factory.mktemp("guard"), "doks-h200")
    try:
        sandbox.up(**nodes(3))
        yield sandbox
    finally:
        sandbox.clean_up()


def nodes(number: int) -> dict[str, Any]:
    """The stack file's pool with another number of nodes."""
    return {"pools": [{"name": "gpu", "shape": "gpu-h200x8-1128gb-fabric-contracted", "nodes": number}]}


def preview(sandbox: CloudSandbox, stack: Stack) -> tuple[int, str]:
    """The exit status of a preview as people read it, and what it says."""
    with printed() as read:
        status = sandbox.engine.preview(stack, as_json=False)
    return status, read()


def counts(sandbox: CloudSandbox) -> dict[str, int]:
    """The nodes that the cloud keeps in each pool."""
    return {pool["name"]: pool["count"] for pool in sandbox.found("pools")}


def as_it_is(sandbox: CloudSandbox) -> tuple[Any, ...]:
    """All that the cloud has and that the stack knows of, and what it gives out, the time of the last run aside."""
    # The engine records the stack and its own provider at the same time, in either order.
    return sandbox.everything, sorted(entry["urn"] for entry in sandbox.state().resources), sandbox.outputs()


def test_fewer_nodes_are_refused_by_preview_and_up_with_what_goes_and_what_to_write(h200: CloudSandbox) -> None:
    before = as_it_is(h200)
    status, said = preview(h200, h200.stack_with(nodes(2)))
    again = h200.up(**nodes(2), fails=True)
    assert status == 1
    for text in (said, again):
        assert f"Pulumi.doks-h200.yaml: {REFUSED}" in text
        assert f"{POOL}: would get smaller [KubernetesNodePool gpu]" in text
        assert "lost: 1 node with 8 GPUs" in text
        assert f"- resource: {POOL}" in text
        assert "Traceback" not in text
        # the engine's own words on a program that has said everything
        assert "exited with non-zero exit code" not in text
    assert as_it_is(h200) == before


def test_an_acknowledgement_that_has_expired_is_refused_with_its_day(h200: CloudSandbox) -> None:
    stack = h200.stack_with(nodes(2), acknowledge=[POOL], days=-1)
    status, said = preview(h200, stack)
    assert status == 1
    assert f"its acknowledgement expired on {stack.sections['guard']['acknowledge'][0]['expires']}" in said


def test_a_node_more_passes_and_is_what_the_next_run_is_held_against(h200: CloudSandbox) -> None:
    h200.up(**nodes(4))
    assert counts(h200)["gpu"] == unpack(h200.outputs()["applied"])["pools"][0]["nodes"] == 4


def test_another_setting_passes_without_a_word_of_the_guard(h200: CloudSandbox) -> None:
    harmless = h200.stack_with(nodes(4), fabric={"nccl": {"settings": {"NCCL_DEBUG": "INFO"}}})
    status, said = preview(h200, harmless)
    assert (status, "acknowledge" in said) == (0, False)


def test_what_is_acknowledged_is_made_and_said(h200: CloudSandbox) -> None:
    # Midnight may come between the two.
    tomorrow = {str(datetime.now(UTC).date() + timedelta(days=days)) for days in (1, 2)}
    said = h200.up(**nodes(2), acknowledge=[POOL])
    assert f"warning: {POOL}: would get smaller (nodeCount: 4 → 2)" in said
    assert any(f"acknowledged by the entry {POOL}, until {day}" in said for day in tomorrow)
    assert unpack(h200.outputs()["applied"])["pools"][0]["nodes"] == 2
    assert counts(h200)["gpu"] == 2


def test_the_record_holds_no_secret_of_the_outputs_beside_it(h200: CloudSandbox) -> None:
    outputs = h200.outputs()
    assert outputs["kubeconfig"] == "[secret]"
    assert "[secret]" not in str(unpack(outputs["applied"]))
