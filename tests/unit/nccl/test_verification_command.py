"""`gpu-fabric verdict` on what a verification has left, and the sandbox's switch for rails."""

from pathlib import Path

import pytest
from test_verification_verdict import packed, run
from typer.testing import CliRunner, Result

from gpu_fabric.cli.app import app
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome
from sandbox.rails import set_rail

ROOT = Path(__file__).parents[3]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results.tar.gz"


def verdict(results: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> Result:
    monkeypatch.chdir(ROOT)
    results.write_bytes(packed(run()._files))
    return CliRunner().invoke(app, ["verdict", str(results), *options])


def test_a_healthy_run_passes_by_the_bars_of_its_stack(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = verdict(results, monkeypatch, "-s", "verification")
    assert (said.exit_code, said.stderr) == (0, "")
    assert "rails: 8 of 8 are as they should be" in said.stdout


def test_a_log_beside_results_that_have_theirs_is_refused(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = verdict(results, monkeypatch, "--bar", "380", "--log", str(results))
    assert (said.exit_code, said.stdout) == (2, "")
    assert "have their logs in them" in said.stderr


def test_a_file_that_is_only_compressed_is_refused(results: Path) -> None:
    results.write_bytes(b"\x1f\x8b nothing")
    said = CliRunner().invoke(app, ["verdict", str(results), "--bar", "380"])
    assert (said.exit_code, said.stdout) == (2, "")
    assert "not a tar.gz" in said.stderr


@pytest.mark.parametrize(("node", "state"), [("gpu-0", "tired"), ("gpu-0", "slow")])
def test_a_rail_of_no_node_or_in_no_known_state_is_refused(tmp_path: Path, node: str, state: str) -> None:
    with pytest.raises(SandboxError) as raised:
        set_rail(SandboxHome(tmp_path), node, 0, state)
    assert raised.value.status == 2
