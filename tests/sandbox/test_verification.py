"""The verification of a fabric, whole: its job on a real control plane, its verdict, and what `up` makes of it."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from driver import PODS, Sandbox, until
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from sandbox.home import project_root

STACK = "verification"
RUN, NODES = "gpu-fabric/verification", ("gpu-0", "gpu-1", "gpu-2")
REPORT = "/api/v1/namespaces/default/configmaps/fabric-verification"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.fixture(scope="module")
def measured(cluster: Sandbox) -> Sandbox:
    """A sandbox with the stack up; the tests of the module go on from one another."""
    sandbox = cluster.trying(STACK)
    sandbox.up()
    return sandbox


def again(sandbox: Sandbox, *, fails: bool = False, trigger: str = "after the links were changed", **more: Any) -> str:
    """Another `up` with a trigger, which measures."""
    return sandbox.up_with(fails=fails, verification={"trigger": trigger, **more})


def outcome(sandbox: Sandbox) -> dict[str, Any]:
    found: dict[str, Any] = sandbox.outputs()["verification"]
    return found


def pods(sandbox: Sandbox) -> list[dict[str, Any]]:
    return [pod for pod in sandbox.items(PODS) if RUN in pod["metadata"].get("labels", {})]


def test_the_verdict_is_an_output_with_its_bar_explained(measured: Sandbox) -> None:
    ran = pods(measured)
    assert {pod["spec"]["nodeName"]: pod["status"]["phase"] for pod in ran} == dict.fromkeys(NODES, "Succeeded")
    found = outcome(measured)
    assert (found["state"], found["bar"], found["railBar"]) == ("passed", 368, 46)
    assert "8 NICs x 400 Gb/s / 8 = 400 GB/s; 92 % of it" in found["barExplained"]
    assert len(found["rails"]) == 8
    assert found["job"] == measured.items(JOBS)[0]["metadata"]["name"]
    # The keys of the run are gone with its end.
    assert [entry for entry in measured.items("/api/v1/namespaces/default/secrets") if "keys" in entry["data"]] == []
    assert "OPENSSH" not in measured.workspace.checkpoint(STACK).read_text()


def test_the_verdict_is_a_config_map_from_which_the_command_line_says_the_same(
    measured: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = measured.api.get(REPORT)
    (tmp_path / "results.tar.gz").write_bytes(base64.b64decode(report["binaryData"]["results.tar.gz"]))
    monkeypatch.chdir(project_root())
    said = CliRunner().invoke(app, ["verdict", str(tmp_path / "results.tar.gz"), "-s", STACK])
    assert (said.exit_code, said.stdout) == (0, report["data"]["report.txt"])
    assert json.loads(report["data"]["verdict.json"])["passed"] is True


def test_an_unchanged_stack_is_not_measured_again(measured: Sandbox) -> None:
    before = {pod["metadata"]["uid"] for pod in pods(measured)}
    assert f"{measured.counted} unchanged" in measured.up()
    assert {pod["metadata"]["uid"] for pod in pods(measured)} == before


def test_a_slow_rail_fails_up_and_is_named_with_its_node(measured: Sandbox) -> None:
    measured.run("rail", "gpu-1", "3", "slow")
    printed = again(measured, fails=True)
    assert "rail 3, size 1073741824: 24.12 GB/s is below the bar of 46 GB/s" in printed
    pairs = set(re.findall(r"rail 3, (gpu-\d) - (gpu-\d), size", printed))
    assert len(pairs) == 2
    assert all("gpu-1" in pair for pair in pairs)
    assert re.search(r"gpu-1 is too slow with gpu-[02] and gpu-[02], which reached the bar with others", printed)
    assert "rail 4" not in printed
    report = measured.api.get(REPORT)["data"]["report.txt"]
    assert "VFY023 rail 3, node gpu-1" in report
    assert report.endswith("failed\n")
    assert outcome(measured)["state"] == "failed"


def test_what_failed_is_measured_again_by_the_next_up_whose_reasons_are_those_of_now(measured: Sandbox) -> None:
    before = {pod["metadata"]["uid"] for pod in pods(measured)}
    measured.run("rail", "gpu-1", "3", "well")
    measured.run("rail", "gpu-0", "2", "host-memory")
    printed = again(measured, fails=True)
    measured.run("rail", "gpu-0", "2", "well")
    assert "no GPUDirect" in printed
    assert "rail 3" not in printed
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in pods(measured))
    again(measured, pointToPoint={})
    found = outcome(measured)
    assert (found["state"], found["pointToPointBar"], set(found["pointToPoint"].values())) == ("passed", 46, {48.25})


def test_nobody_waits_where_nobody_wants_to_and_a_later_up_reports(measured: Sandbox) -> None:
    measured.run("rail", "gpu-2", "0", "slow")
    again(measured, trigger="in the background", wait=False)
    started = outcome(measured)
    assert (started["state"], started["measured"]) == ("started", None)
    assert started["look"].startswith("kubectl -n default get pods")
    until(lambda: {pod["status"]["phase"] for pod in pods(measured)} == {"Succeeded"}, "the job ends")
    printed = again(measured, trigger="in the background", wait=False)
    assert outcome(measured)["state"] == "failed"
    assert "warning" in printed
    assert "VFY023 rail 0, node gpu-2" in printed


@pytest.mark.parametrize("launcher", ["volcano", "mpi-operator"])
def test_volcano_and_the_mpi_operator_run_it_too(measured: Sandbox, launcher: str) -> None:
    measured.run("rail", "gpu-2", "0", "well")
    schedulers = {"schedulers": {"volcano": {}, "mpiOperator": {}}}
    measured.up_with(software=schedulers, verification={"launcher": launcher})
    found = outcome(measured)
    assert (found["state"], found["launcher"]) == ("passed", launcher)
    # The GPU nodes' workers, and a launcher that may lie anywhere.
    assert len(pods(measured)) == 4


def test_destroy_leaves_nothing_of_it(measured: Sandbox) -> None:
    measured.run("pulumi", "destroy", *measured.options)
    assert pods(measured) == []
    assert measured.items(JOBS) == []
    left = {entry["metadata"]["name"] for entry in measured.items("/api/v1/namespaces/default/configmaps")}
    assert left == {"kube-root-ca.crt"}
