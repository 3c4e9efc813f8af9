"""`gpu-fabric acceptance`, whole: a stack's life from the statement to the report, and what failures leave and say."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from cloud_driver import CloudSandbox
from driver import STACK, Sandbox, until

from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError

# Seconds of four steps on a machine that is busy with other tests.
LIMIT_S = 900


class Acceptance:
    """The command on a stack of a sandbox, with record and report in a folder of the test's."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox, self.folder = sandbox, folder

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "gpu_fabric", "acceptance", *self.sandbox.options]
        return subprocess.Popen(
            [*command, "--folder", str(self.folder), *options],
            cwd=project_root(),
            env=self.sandbox.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str, status: int = 0) -> str:
        """What the command prints, which must end with that status."""
        running = self.start(*options)
        printed = running.communicate(timeout=LIMIT_S)[0]
        assert running.returncode == status, f"{printed}\n{self.report}"
        return printed

    @property
    def report(self) -> str:
        file = self.folder / "report.md"
        return file.read_text(encoding="utf-8") if file.exists() else ""


@pytest.fixture
def accepting(tmp_path: Path) -> Callable[[Sandbox], Acceptance]:
    return lambda sandbox: Acceptance(sandbox, tmp_path / "acceptance")


def test_a_stack_is_accepted_from_its_statement_to_the_report(
    stack_down: Sandbox, accepting: Callable[[Sandbox], Acceptance]
) -> None:
    acceptance = accepting(stack_down)

    assert "there is no terminal to ask on" in acceptance.run(status=2)
    assert not acceptance.folder.exists()
    printed = acceptance.run("--yes")

    assert re.search(r"^time to create, at most +[0-9]", printed, re.MULTILINE)
    assert "all steps were done, and nothing differs from the plan" in printed
    assert "nothing is left of the stack" in printed
    report = acceptance.report
    assert re.search(r"\| up: done \| [^|]+ \| [^|]+ \| [0-9]+ create \|", report)
    assert re.search(r"\| second up: done \| [^|]+ \| [^|]+ \| [0-9]+ same \|", report)
    assert re.search(r"\| gpu-operator-gpu-operator \| \S+Release \| create \| [0-9]+ s \| 1800 s \|", report)
    assert "the catalog's BM.GPU.H100.8" in report
    assert stack_down.workspace.state(STACK) is None


@pytest.mark.parametrize(
    ("stack", "provider", "whose", "cost", "cluster"),
    [
        ("doks-h200", "digitalocean", "DigitalOcean", "unknown: DigitalOcean publishes no prices", "cluster-doks"),
        ("oke-pools", "oci", "Oracle", "unknown: this program has no prices", "cluster-cluster"),
    ],
)
def test_a_cluster_of_a_simulated_cloud_is_accepted_and_nothing_of_it_is_left(
    cloud: Callable[..., CloudSandbox],
    accepting: Callable[[Sandbox], Acceptance],
    stack: str,
    provider: str,
    whose: str,
    cost: str,
    cluster: str,
) -> None:
    sandbox = cloud(stack, provider)
    assert "--sandbox" in sandbox.options
    acceptance = accepting(sandbox)

    printed = acceptance.run("--yes")

    assert re.search(rf"^cost of an hour +{cost}", printed, re.MULTILINE)
    assert f"On {whose}, simulated: all steps were done, and nothing differs from the plan" in acceptance.report
    assert re.search(rf"\| {cluster} \| \S+ \| create \| [0-9]+ s \| [0-9]+m \|", acceptance.report)
    assert not any(sandbox.everything.values())
    assert not re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", acceptance.report)


def test_a_verdict_that_fails_ends_it_and_the_report_has_the_slow_rail_and_what_is_left(
    cluster: Sandbox, accepting: Callable[[Sandbox], Acceptance]
) -> None:
    sandbox = cluster.trying("verification")
    sandbox.run("up", *sandbox.options)
    sandbox.run("rail", "gpu-1", "3", "slow")
    acceptance = accepting(sandbox)

    printed = acceptance.run("--yes", status=1)

    assert "not done: up, examination, second up, destroy" in printed
    assert re.search(r"left on the cluster: [0-9]+ resources of the stack", printed)
    assert f"--destroy --folder {acceptance.folder}" in printed
    assert "verification: failed" in acceptance.report
    assert "VFY023 rail 3, node gpu-1" in acceptance.report

    assert "nothing is left of the stack" in acceptance.run("--destroy", "--yes", status=1)
    assert "| destroy: done |" in acceptance.report


def is_installing(sandbox: Sandbox) -> bool:
    """The first release has been begun and is not done."""
    try:
        return bool(sandbox.items("/api/v1/namespaces/gpu-operator/secrets"))
    except ApiError:
        return False


def test_one_that_is_killed_in_the_middle_goes_on_and_says_so(
    stack_down: Sandbox, accepting: Callable[[Sandbox], Acceptance]
) -> None:
    acceptance = accepting(stack_down)
    running = acceptance.start("--yes")
    until(lambda: is_installing(stack_down), "the run reaches the first release")
    for child in psutil.Process(running.pid).children(recursive=True):
        child.kill()
    os.kill(running.pid, signal.SIGKILL)
    running.wait()

    assert "| up: killed |" in acceptance.report
    printed = acceptance.run("--yes", status=2)
    assert f"go on with it: python -m sandbox acceptance -s {STACK} --resume" in printed

    acceptance.run("--resume", "--yes")
    assert "all steps were done, and nothing differs from the plan" in acceptance.report
    assert stack_down.workspace.state(STACK) is None
