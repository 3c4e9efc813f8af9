"""Large outputs as one text: short on a terminal, the same each time, and read back as they were."""

import base64
import gzip
import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.changes.footprint import pack, unpack

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_what_is_packed_is_read_back(document: dict[str, None]) -> None:
    assert unpack(pack(document)) == document


def test_a_packed_text_is_no_text_that_pulumi_takes_apart_and_prints_field_by_field() -> None:
    text = pack({"schemaVersion": "v1", "pools": [{"name": f"rail-{rail:02}"} for rail in range(16)]})
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    assert "\n" not in text
    assert ": " not in text


def test_the_programs_of_any_machine_unpack_it() -> None:
    text = pack({"schemaVersion": "v1"})
    command = ["/bin/sh", "-c", "base64 -d | gunzip"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"schemaVersion": "v1"}


def test_what_is_no_text_is_as_it_is() -> None:
    assert unpack({"schemaVersion": "v1"}) == {"schemaVersion": "v1"}
    assert unpack(None) is None


@pytest.mark.parametrize(
    "text", ["", "[secret]", "{}", "bm90IHBhY2tlZA==", base64.b64encode(gzip.compress(b"no: json", mtime=0)).decode()]
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no packed document"):
        unpack(text)
