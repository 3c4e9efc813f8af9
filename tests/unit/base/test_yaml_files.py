"""What this program writes as YAML is the same for every reader: PyYAML, kubectl, and Pulumi (tests/engine)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.attach.text.yaml_documents import read_yaml
from gpu_fabric.base.yaml_files import LineDumper, as_yaml

# Of these characters are numbers, dates and words that readers disagree on.
NUMERIC = st.text("0123456789abcdefxoyn.-+_:~TZ ", min_size=1, max_size=12)


@given(st.lists(NUMERIC | st.from_regex(r"[0-9a-f]{4}", fullmatch=True), min_size=1, max_size=30))
def test_a_text_stays_that_text_for_kubectl_and_for_pyyaml(texts: list[str]) -> None:
    manifest = {"texts": texts, **{f"key {text}": text for text in texts}}
    for file in (as_yaml(manifest), as_yaml(manifest, default_flow_style=True), yaml.dump(manifest, Dumper=LineDumper)):
        assert yaml.safe_load(file) == manifest
        assert [document.content for document in read_yaml(file)] == [manifest]


@pytest.mark.parametrize("text", ["14e4", "12e03", "08", "0o17", "y", "2001-1-1"])
def test_a_text_that_pulumi_takes_for_something_else_is_in_quotes(text: str) -> None:
    assert as_yaml([text]) == f"- '{text}'\n"


@pytest.mark.parametrize("text", ["15b3", "1.2.3", "10.0.0.1", "nic", "v1.0"])
def test_a_text_that_all_readers_take_for_one_has_none(text: str) -> None:
    assert as_yaml([text]) == f"- {text}\n"


def test_no_other_writer_of_yaml_is_in_use(root: Path) -> None:
    files = [
        file for folder in ("gpu_fabric", "components", "sandbox", "stacks") for file in (root / folder).rglob("*.py")
    ]
    assert len(files) > 500
    assert [str(file) for file in files if "safe_dump" in file.read_text()] == []
