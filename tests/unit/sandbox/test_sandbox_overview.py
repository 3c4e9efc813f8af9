"""What `python -m sandbox status` shows of the processes of controllers' pods."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.control_plane import ControlPlane, ServiceStatus
from sandbox.controllers.pid_files import pid_file
from sandbox.home import SandboxHome
from sandbox.overview import show
from sandbox.processes import PidFile


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SandboxHome:
    rows = [ServiceStatus("etcd", 1, 2, "running", tmp_path / "etcd.log")]
    monkeypatch.setattr(ControlPlane, "status", lambda plane: list(rows))
    return SandboxHome(tmp_path)


def recorded(home: SandboxHome, pod: str, pid: int) -> PidFile:
    file = pid_file(home, pod)
    file.write(pid)
    return file


def test_a_controllers_process_is_shown_with_its_pod_and_pid(
    home: SandboxHome, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(home, "kueue-1", os.getpid())
    assert show(home)
    line = next(line for line in capsys.readouterr().out.splitlines() if "kueue-1" in line)
    assert (str(os.getpid()) in line, "running" in line) == (True, True)


def test_one_that_has_ended_is_shown_as_crashed(home: SandboxHome, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(home, "kueue-1", os.getpid()).path.write_text('{"pid": 1, "started": "at another time"}')
    assert not show(home)
    assert "crashed" in capsys.readouterr().out
