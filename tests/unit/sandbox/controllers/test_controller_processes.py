"""Every process of a controller is ended, recorded or not, and none of another sandbox."""

import os
import subprocess
import sys
from pathlib import Path

from sandbox.controllers.pid_files import end_all, pid_file
from sandbox.home import SandboxHome
from sandbox.processes import PidFile, start, stop

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def started(home: SandboxHome, pod: str, record: PidFile) -> int:
    """A process in the place of a pod's container."""
    folder = home.controllers / f"queues.{pod}"
    folder.mkdir(parents=True)
    return start(
        SLEEP, record, home.logs / "queue.log", {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}, folder
    )


def test_processes_of_controllers_are_ended_recorded_or_not_and_none_of_others(tmp_path: Path) -> None:
    home, other = SandboxHome(tmp_path / "one"), SandboxHome(tmp_path / "other")
    users = subprocess.Popen(SLEEP, env={**os.environ, "KUBECONFIG": str(home.kubeconfig)})
    started(home, "recorded", pid_file(home, "recorded"))
    lost = pid_file(home, "lost")
    started(home, "lost", lost)
    lost.remove()
    started(other, "elsewhere", pid_file(other, "elsewhere"))
    try:
        assert end_all(home) == ["recorded", "lost"]
        assert end_all(home) == []
        assert pid_file(other, "elsewhere").pid() is not None
        assert users.poll() is None
    finally:
        stop(pid_file(other, "elsewhere"))
        users.kill()
        users.wait()
