"""The sandbox's commands for stacks of simulated clouds: what they say, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.__main__ import app, main
from sandbox.home import HOME_VARIABLE, SandboxHome


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SandboxHome:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return SandboxHome(tmp_path / "home")


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(lambda: app(list(arguments)))
    return int(ended.value.code or 0)


def test_a_fault_is_ordered_shown_and_taken_back(home: SandboxHome, capsys: pytest.CaptureFixture[str]) -> None:
    def ordered() -> list[str]:
        assert _run("fault", "--list") == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) > 5
        return [line.partition("\t")[0] for line in lines if "ordered" in line]

    assert _run("fault", "rate-limited", "--times", "3") == 0
    assert "3 times" in capsys.readouterr().out
    assert ordered() == ["rate-limited"]

    assert _run("fault", "--clear") == 0
    assert ordered() == []


@pytest.mark.parametrize("arguments", [(), ("rate-limited", "--list"), ("--list", "--clear")])
def test_a_fault_command_that_says_too_little_or_too_much_is_refused(
    arguments: tuple[str, ...], home: SandboxHome, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("fault", *arguments) == 2
    assert "--list" in capsys.readouterr().err


def test_the_cluster_of_a_clouds_stack_is_not_started_before_the_stack(
    home: SandboxHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sandbox.__main__.ensure", lambda names, progress: None)

    assert _run("up", "-s", "doks-h200", "--sandbox") == 0

    said = capsys.readouterr()
    assert said.err.splitlines()[0] == f"simulated DigitalOcean in {home.root}"
    assert "comes with stack doks-h200" in said.out
    assert home.cluster_ids() == []
    assert not home.kubeconfig.exists()


def test_without_the_option_a_clouds_stack_needs_no_sandbox_and_makes_none(
    home: SandboxHome, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("up", "-s", "doks-h200") == 0

    said = capsys.readouterr()
    assert said.err.splitlines()[0] == "DigitalOcean, with your account"
    assert "not needed" in said.out
    assert not home.root.exists()


def test_status_and_reset_know_the_clusters_of_simulated_clouds(
    home: SandboxHome, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = home.cluster("of-a-cloud")
    cluster.create()
    cluster.save_state({"ports": {"kube-apiserver": 1}})

    assert _run("status") == 1
    shown = capsys.readouterr().out
    assert f"cluster of-a-cloud of a simulated cloud; to look into it: {cluster.bin / 'kubectl'}" in shown
    assert "stopped" in shown

    assert _run("reset") == 0
    assert not cluster.root.exists()
