"""Processes are known by pid and start, so that only our own are ever ended."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from json_server import json_server, verify_as_newer_python

from sandbox.certificates import ensure_pki, write_kubeconfig
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, write_private
from sandbox.kubernetes_api import Api
from sandbox.ports import choose_ports, completed_ports, is_listening, require_free
from sandbox.processes import PidFile, exit_status, last_lines, start, start_mark, stop

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def pid_file(tmp_path: Path) -> PidFile:
    return PidFile(tmp_path / "sleep.json")


def _start(pid_file: PidFile, command: list[str] = SLEEP) -> int:
    folder = pid_file.path.parent
    return start(command, pid_file, folder / "log", os.environ, folder)


def test_a_process_outlives_the_command_and_counts_as_gone_once_it_is_killed(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from sandbox.processes import *;"
        f"here = Path({str(tmp_path)!r}); start({SLEEP!r}, PidFile(here / 'p'), here / 'log', os.environ, here)"
    )
    # It does not hold the command's output.
    subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    left = PidFile(tmp_path / "p")
    pid = left.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while start_mark(pid) is not None:
        time.sleep(0.02)
    assert left.pid() is None
    assert not stop(left)


def test_the_status_of_a_process_whose_first_thread_ends_before_others_is_waited_for(pid_file: PidFile) -> None:
    """So programs in Go end; without the wait a Job's program that had done its work was started again."""
    program = (
        "import ctypes, os, threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.5), os._exit(3))).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    _start(pid_file, [sys.executable, "-c", program])
    while pid_file.pid() is not None:
        time.sleep(0.01)

    assert exit_status(pid_file) == 3
    assert exit_status(pid_file) is None


def test_a_process_that_got_a_recorded_pid_later_is_never_ended(pid_file: PidFile) -> None:
    stranger = subprocess.Popen(SLEEP)
    try:
        write_private(pid_file.path, json.dumps({"pid": stranger.pid, "started": "another boot:1"}))

        assert pid_file.pid() is None
        assert not stop(pid_file)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_signal_in_the_middle_of_a_wait_ends_the_process() -> None:
    """A wait holds the Event's lock for a moment: a process that a signal met there never ended."""
    program = (
        "import signal; from sandbox.end_signals import end_of_process\n"
        "ended = end_of_process()\n"
        "with ended._cond: signal.raise_signal(signal.SIGTERM)\n"
        "assert ended.wait(60)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_a_process_that_ignores_the_request_is_made_to_end(pid_file: PidFile) -> None:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    stubborn = f"{ignore}; print('ready', flush=True); time.sleep(60)"
    pid = _start(pid_file, [sys.executable, "-c", stubborn])
    while "ready" not in last_lines(pid_file.path.parent / "log", 5):
        time.sleep(0.02)

    assert stop(pid_file, grace_s=0.2)
    assert start_mark(pid) is None


def test_a_process_that_is_started_while_the_one_before_it_ends_stays_known(pid_file: PidFile) -> None:
    # The shell says when it is deaf to the request.
    deaf = ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"]
    first = _start(pid_file, deaf)
    while last_lines(pid_file.path.parent / "log", 1) != ["deaf"]:
        time.sleep(0.01)
    ending = threading.Thread(target=stop, args=(pid_file, 0.5))
    ending.start()
    time.sleep(0.1)
    second = _start(pid_file)
    ending.join()

    assert start_mark(first) is None
    assert pid_file.pid() == second
    assert stop(pid_file)


def test_a_taken_port_is_named_with_both_ways_out() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]

        with pytest.raises(SandboxError, match=f"127.0.0.1:{port}.*kube-apiserver") as caught:
            require_free("kube-apiserver", port)

    assert "reset" in caught.value.remedy


def test_a_port_whose_process_is_just_going_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    holder.listen()
    # what the system says of a killed process whose last thread still holds its sockets
    monkeypatch.setattr("sandbox.ports._holder", lambda port: "")
    gone = threading.Timer(0.3, holder.close)
    gone.start()

    require_free("kube-apiserver", holder.getsockname()[1])
    gone.join()


def test_chosen_ports_are_free_differ_and_are_no_outgoing_connections_while_their_process_restarts() -> None:
    with socket.socket() as listener, socket.socket() as outgoing:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        outgoing.connect(listener.getsockname())
        given_by_the_system = {listener.getsockname()[1], outgoing.getsockname()[1]}
    before = choose_ports(["a", "b", "c"])
    assert len(set(before.values())) == 3
    assert not any(is_listening(port) for port in before.values())
    assert max(before.values()) < min(given_by_the_system)
    # A sandbox keeps its ports when a service comes to those that it has.
    after = completed_ports(before, ["a", "b", "c", "d"])
    assert before.items() <= after.items()
    assert after["d"] not in before.values()


def test_a_port_that_was_chosen_is_nobody_elses_though_its_server_has_yet_to_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sandbox.ports.random.SystemRandom.sample", lambda _self, ports, _count: ports)
    sandboxes = [choose_ports(["a", "b"]) for _ in range(3)]
    assert len({port for ports in sandboxes for port in ports.values()}) == 6

    # One is free again where no server has come in ten minutes, or where a write was interrupted.
    file = tmp_path / "gpu-fabric" / "ports.json"
    old = {port: when - 601 for port, when in json.loads(file.read_text()).items()}
    for text in (json.dumps(old), json.dumps(old)[:-9]):
        file.write_text(text)
        assert choose_ports(["a", "b"]) == sandboxes[0]


def test_two_commands_do_not_change_a_sandbox_at_once(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)

    with home.lock(), pytest.raises(SandboxError, match="another command"), home.lock():
        pass


def test_deleting_a_sandbox_leaves_files_that_are_not_its_own(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    home.create()
    home.save_state({"ports": {}})
    (tmp_path / "thesis.txt").write_text("years of work")
    home.delete_cluster()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_damaged_state_file_is_answered_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(SandboxError) as caught:
        SandboxHome(tmp_path).load_state()
    assert "reset" in caught.value.remedy


def test_a_client_of_any_python_trusts_the_api_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = SandboxHome(tmp_path)
    pki = ensure_pki(home)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pki.certificate, pki.key)
    verify_as_newer_python(monkeypatch)
    with json_server(lambda *_: (200, {}), tls) as port:
        write_kubeconfig(home, pki, port)
        assert Api(home.kubeconfig).is_ready()
