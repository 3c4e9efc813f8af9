"""The files that these tests read are those that `make upstream` fetches, wherever they were read from."""

import hashlib

from upstream_definitions import MAY_LACK, OF_CONSUMERS, SOURCES, UPSTREAM, is_at_hand, published, sources_of


def test_the_files_are_those_of_the_table_by_digest() -> None:
    paths = [*UPSTREAM.rglob("*.yaml"), *UPSTREAM.glob("sources/*/*")]
    here = {path.relative_to(UPSTREAM).as_posix(): path.read_bytes() for path in paths}
    later = (
        *(f"crds/{folder}/" for folder in (*MAY_LACK, *OF_CONSUMERS.values()) if not is_at_hand(folder)),
        *(f"sources/{folder}/" for library, folder in SOURCES.items() if not sources_of(library)),
    )

    assert {name: hashlib.sha256(content).hexdigest() for name, content in here.items()} == {
        file.place: file.digest for file in published() if not file.place.startswith(later)
    }
