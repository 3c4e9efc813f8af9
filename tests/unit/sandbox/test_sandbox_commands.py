"""The sandbox's commands for stacks of simulated clouds: what they say, and what they refuse."""

from pathlib import Path

import pytest

from sandbox.cli import app, main
from sandbox.home import HOME_VARIABLE, SandboxHome, project_root
from sandbox.simulated_nodes import NodeChanges


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


def test_the_sandboxs_doctl_runs_with_the_simulated_accounts_token(
    home: SandboxHome, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("doctl", "kubernetes", "cluster", "list") == 0
    assert capsys.readouterr().out.split()[:2] == ["ID", "Name"]


@pytest.mark.parametrize("arguments", [(), ("rate-limited", "--list"), ("--list", "--clear")])
def test_a_fault_command_that_says_too_little_or_too_much_is_refused(
    arguments: tuple[str, ...], home: SandboxHome, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("fault", *arguments) == 2
    assert "--list" in capsys.readouterr().err


def test_the_cluster_of_a_clouds_stack_is_not_started_before_the_stack(
    home: SandboxHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sandbox.cli.ensure", lambda names, progress: None)

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


@pytest.mark.parametrize("verb", ["up", "refresh", "destroy"])
def test_without_a_terminal_what_changes_an_account_needs_a_yes_said_beforehand(
    verb: str, home: SandboxHome, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(
        "sandbox.engine.commands.run_elsewhere", lambda verb, stack, path, options, say: asked.append(options) or 0
    )
    assert _run("pulumi", verb, "-s", "doks-h200") == 2
    said = capsys.readouterr().err
    assert f"Where that is meant: make {verb} STACK=doks-h200 YES=1" in said
    assert asked == []

    assert _run("pulumi", verb, "-s", "doks-h200", "--yes") == 0
    assert asked == [["--yes"]]


@pytest.mark.parametrize("command", [("up",), ("pulumi", "up"), ("pulumi", "preview")])
def test_the_rules_speak_before_anything_is_asked(
    command: tuple[str, ...],
    home: SandboxHome,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("sandbox.cli.project_root", lambda: tmp_path)
    text = (project_root() / "Pulumi.dev.yaml").read_text().replace(".sandbox/kubeconfig", "nowhere/kubeconfig")
    (tmp_path / "Pulumi.mine.yaml").write_text(text)
    assert _run(*command, "-s", "mine") == 2
    said = capsys.readouterr().err
    assert "error CLU001 gpu-fabric:cluster.kubeconfig: nowhere/kubeconfig: no such file" in said
    assert "YES" not in said


def test_a_stack_whose_device_plug_in_would_never_start_is_refused_and_not_waited_for(
    home: SandboxHome, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sandbox.cli.project_root", lambda: tmp_path)
    text = (project_root() / "examples/Pulumi.planes-swplb.yaml").read_text()
    (tmp_path / "Pulumi.mine.yaml").write_text(text.replace("mode: swplb", "mode: hwplb"))

    assert _run("pulumi", "up", "-s", "mine", "--sandbox") == 2

    assert "stack mine has planes with mode hwplb" in capsys.readouterr().err


def test_a_kubeconfig_is_the_output_of_the_stack_in_plain_text(
    home: SandboxHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    class Done:
        def __init__(self, command: list[str], **_: object) -> None:
            asked.append(command[1:])

        def wait(self) -> int:
            return 0

    monkeypatch.setattr("sandbox.engine.commands.shutil.which", lambda *_, **__: "pulumi")
    monkeypatch.setattr("sandbox.engine.commands.subprocess.Popen", Done)
    assert _run("pulumi", "kubeconfig", "-s", "doks-h200") == 0
    assert asked == [["stack", "output", "kubeconfig", "--show-secrets", "--stack", "doks-h200"]]


def test_what_a_preview_did_to_the_sandboxs_nodes_is_said_by_their_names() -> None:
    changes = NodeChanges(added=("gpu-3",), updated=(), removed=tuple(f"old-{number}" for number in range(5)))
    assert changes.names == "added gpu-3; removed old-0, old-1, old-2 and 2 more"


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
