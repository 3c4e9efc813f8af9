"""The files that these tests read are those that `make upstream` fetches, wherever they were read from."""

import hashlib

from upstream_definitions import MAY_LACK, UPSTREAM, is_at_hand, published


def test_the_files_are_those_of_the_table_by_digest() -> None:
    here = {path.relative_to(UPSTREAM).as_posix(): path.read_bytes() for path in UPSTREAM.rglob("*.yaml")}
    later = tuple(f"crds/{folder}/" for folder in MAY_LACK if not is_at_hand(folder))

    assert {name: hashlib.sha256(content).hexdigest() for name, content in here.items()} == {
        file.place: file.digest for file in published() if not file.place.startswith(later)
    }
