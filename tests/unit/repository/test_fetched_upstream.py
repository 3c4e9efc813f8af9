"""What `make upstream` fetches, from a server on loopback: whole and by digest, or not at all."""

import hashlib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from upstream_definitions import NotFetched, Published, fetch, published

FILES = {"values.yaml": b"replicas: 1\n", "crds/jobs.yaml": b"kind: CustomResourceDefinition\n"}
ROWS = [("owner/chart/v1", "values", "values.yaml", "chart-1.yaml"), ("owner/chart/v1/crds", "crds/1", "jobs.yaml", "")]


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *words: Any) -> None:
        pass


@pytest.fixture
def public(tmp_path: Path) -> Iterator[str]:
    for name, content in FILES.items():
        file = tmp_path / "public" / "owner/chart/v1" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(tmp_path / "public")))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def files(tmp_path: Path, public: str) -> list[Published]:
    rows = [
        {"at": at, "into": into, "named": name, "files": {ours or name: hashlib.sha256(content).hexdigest()}}
        for (at, into, name, ours), content in zip(ROWS, FILES.values(), strict=True)
    ]
    table = tmp_path / "published.yaml"
    table.write_text(yaml.safe_dump(rows))
    return published(table, public)


def test_every_file_of_the_table_is_fetched_to_its_place(files: list[Published], tmp_path: Path) -> None:
    fetch(files, tmp_path / "fetched")

    assert (tmp_path / "fetched" / "values" / "chart-1.yaml").read_bytes() == FILES["values.yaml"]
    assert (tmp_path / "fetched" / "crds" / "1" / "jobs.yaml").read_bytes() == FILES["crds/jobs.yaml"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"digest": "0" * 64}, "was published with 0000"), ({"address": "http://127.0.0.1:9/x"}, "cannot be fetched")],
    ids=["another content", "no server"],
)
def test_nothing_is_kept_where_one_file_is_not_as_it_was_published(
    files: list[Published], tmp_path: Path, wrong: dict[str, str], said: str
) -> None:
    with pytest.raises(NotFetched, match=said):
        fetch([files[0], files[1]._replace(**wrong)], tmp_path / "fetched")

    assert [path.name for path in tmp_path.iterdir() if "fetch" in path.name] == []


def test_each_address_is_a_public_one_of_a_version_and_no_place_is_named_twice() -> None:
    files = published()

    assert all(file.address.startswith("https://raw.githubusercontent.com/") for file in files)
    assert not [file.address for file in files if set(file.address.split("/")) & {"main", "master", "HEAD"}]
    assert len({file.place for file in files}) == len(files)
