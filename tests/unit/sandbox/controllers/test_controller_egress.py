"""The way from the API server to the processes behind Services."""

import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.controllers.egress import Egress, configuration

ADDRESS = "10.96.0.7"


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that gives back what it gets, in capitals, until its client ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    while data := connection.recv(1000):
                        connection.sendall(data.upper())

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def place(tmp_path: Path, echo: int) -> Iterator[Path]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        behind = {(ADDRESS, 443): echo, (ADDRESS, 80): int(unused.getsockname()[1])}
        place = tmp_path / "sub" / "egress.sock"
        server = Egress(place, lambda address, port: behind.get((address, port)))
        server.begin()
        yield place
        server.shutdown()
        server.server_close()


def connected(place: Path, target: str) -> tuple[socket.socket, str]:
    """A connection to a target, with the proxy's first line."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5)
    client.connect(str(place))
    client.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: test\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += client.recv(1)
    return client, answer.decode().splitlines()[0]


def test_what_is_said_to_a_service_reaches_its_process_and_the_answer_comes_back(place: Path) -> None:
    client, said = connected(place, f"{ADDRESS}:443")
    with client:
        assert said == "HTTP/1.1 200 Connected"
        for text in (b"first", b"second"):
            client.sendall(text)
            assert client.recv(100) == text.upper()
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (f"{ADDRESS}:80", "No Answer"),
        *((target, "Nothing Serves There") for target in (f"{ADDRESS}:8443", "10.96.0.8:443", "nonsense", "")),
    ],
)
def test_where_nothing_answers_the_api_server_is_told_so_at_once(place: Path, target: str, why: str) -> None:
    client, said = connected(place, target)
    client.close()
    assert said == f"HTTP/1.1 502 {why}"


def test_only_the_owner_opens_the_socket_which_is_for_the_clusters_network_alone(place: Path) -> None:
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    Egress(place, lambda *_: None).server_close()  # in the place of one that was left behind
    (selection,) = configuration(place)["egressSelections"]  # type: ignore[misc]
    assert selection["name"] == "cluster"
    assert selection["connection"]["transport"] == {"uds": {"udsName": str(place)}}
