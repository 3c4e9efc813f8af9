"""Bearer tokens of a simulated cloud: who the API server is told they are, until when."""

import datetime
from pathlib import Path

import pytest

from sandbox.authentication import read_tokens, reviewed, write_tokens
from sandbox.home import SandboxHome, file_lock
from sandbox.ports import choose_ports, completed_ports

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)


@pytest.mark.parametrize(
    ("token", "end", "good"),
    [("t", None, True), ("t", NOW + MINUTE, True), ("t", NOW, False), ("unknown", None, False), ("", None, False)],
)
def test_a_token_is_an_administrators_until_its_end(token: str, end: datetime.datetime | None, good: bool) -> None:
    answer = reviewed({"kind": "TokenReview", "spec": {"token": token}}, {"t": end}, NOW)
    assert (answer["apiVersion"], answer["kind"]) == ("authentication.k8s.io/v1", "TokenReview")
    assert answer["status"]["authenticated"] is good
    assert answer["status"].get("user", {}).get("groups") == (["system:masters"] if good else None)


def test_tokens_are_kept_where_only_their_owner_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    assert read_tokens(file) == {}

    write_tokens(file, {"for-ever": None, "short": NOW})

    assert read_tokens(file) == {"for-ever": None, "short": NOW}
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_ports_of_clusters_that_stand_still_are_chosen_by_nobody_else(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    taken = choose_ports(["etcd"])
    home.cluster("one").root.mkdir(parents=True)
    home.cluster("one").save_state({"ports": taken})

    assert home.cluster_ids() == ["one"]
    assert home.remembered_ports() == set(taken.values())
    rest = [port for port in range(20000, 32000) if port not in taken.values()]
    with pytest.raises(Exception, match="no 1 free ports"):
        completed_ports({}, ["etcd"], [*taken.values(), *rest])


@pytest.mark.parametrize("name", ["../other", "a/b", ".hidden", ""])
def test_an_id_that_is_no_plain_file_name_names_no_cluster(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="plain file names"):
        SandboxHome(tmp_path).cluster(name)


def test_a_lock_that_is_held_is_refused_without_waiting(tmp_path: Path) -> None:
    with (
        file_lock(tmp_path / "lock", wait=False),
        pytest.raises(BlockingIOError),
        file_lock(tmp_path / "lock", wait=False),
    ):
        pass
