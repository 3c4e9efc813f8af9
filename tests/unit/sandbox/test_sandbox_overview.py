"""What `python -m sandbox status` shows of the processes of controllers' pods."""

import os
from pathlib import Path

import pytest

from sandbox.control_plane import ControlPlane, ServiceStatus
from sandbox.controllers.pid_files import pid_file
from sandbox.home import SandboxHome
from sandbox.overview import show


def test_a_controllers_process_is_shown_with_its_pod_and_as_crashed_once_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [ServiceStatus("etcd", 1, 2, "running", tmp_path / "etcd.log")]
    monkeypatch.setattr(ControlPlane, "status", lambda plane: list(rows))
    home = SandboxHome(tmp_path)
    record = pid_file(home, "kueue-1")
    record.write(os.getpid())
    assert show(home)
    line = next(line for line in capsys.readouterr().out.splitlines() if "kueue-1" in line)
    assert (str(os.getpid()) in line, "running" in line) == (True, True)
    record.path.write_text('{"pid": 1, "started": "at another time"}')
    assert not show(home)
    assert "crashed" in capsys.readouterr().out
