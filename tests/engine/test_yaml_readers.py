"""How Pulumi and kubectl read YAML: what is written for them, and what is refused since they read other values."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from previews import Engine

from gpu_fabric.attach.text.yaml_documents import read_yaml
from gpu_fabric.base.yaml_files import as_yaml
from gpu_fabric.findings import InputError
from gpu_fabric.spec.stack_text import parsed
from sandbox.home import project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

# All short texts of the characters that numbers, dates and words are made of, and some longer ones.
TEXTS = [
    *("".join(letters) for length in (1, 2, 3) for letters in product("0189e.-+_xobynTZ:", repeat=length)),
    *(
        "14e4",
        "2001-1-1",
        "2001-01-01",
        "2001-01-01 10:00:00",
        "2001-01-01T10:00:00Z",
        "2001-13-01",
        "12:30:45",
        "1_000",
    ),
    *(
        "1e-3",
        "0x1F",
        "0b11",
        "-0b1",
        "0o17",
        "NaN",
        "null",
        "Null",
        "yes",
        "Off",
        "TRUE",
        "0x1p-2",
        "190:20:30",
        "1e400",
    ),
]
# Those that are no structure where they stand without quotes, and no number beyond JSON's.
PLAIN = [text for text in TEXTS if not text.startswith(("-", ":")) and not text.endswith(":") and text != "1e400"]


def read_by_the_engine(engine: Engine, file: Path) -> Any:
    engine.create("dev")
    printed = engine.run(["config", "--json", "--stack", "dev", "--config-file", str(file)], project_root())
    assert printed.returncode == 0, printed.stderr
    return json.loads(printed.stdout)["gpu-fabric:texts"]["objectValue"]


def read_by_kubectl(text: str) -> tuple[Any, Any]:
    """The field `spec` of an object, as kubectl and as `attach` read a file with it."""
    file = f"apiVersion: example.com/v1\nkind: Example\nmetadata: {{name: texts}}\nspec:\n{text}"
    arguments = ["annotate", "--local", "--filename", "-", "--output", "json", "seen=true"]
    command = [*ensure(["core"], Progress()).role("kubectl"), *arguments]
    printed = subprocess.run(command, input=file, capture_output=True, text=True, check=True)
    return json.loads(printed.stdout)["spec"], read_yaml(file)[0].content["spec"]


def test_the_engine_reads_each_text_that_is_written_as_that_text(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(as_yaml({"config": {"gpu-fabric:texts": TEXTS}}))
    read = read_by_the_engine(engine, file)
    assert [pair for pair in zip(TEXTS, read, strict=True) if pair[0] != pair[1]] == []


def test_what_the_engine_reads_differently_is_refused(engine: Engine, tmp_path: Path) -> None:
    """A value without quotes is the same for the engine and for the plan, or the plan refuses it."""
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config:\n  gpu-fabric:texts:\n" + "".join(f"    - {text}\n" for text in PLAIN))
    read = read_by_the_engine(engine, file)
    text = parsed(file.read_text())
    refused = {entry.path for entry in text.unclear}
    ours = text.content["config"]["gpu-fabric:texts"]
    rows = enumerate(zip(PLAIN, read, ours, strict=True))
    taken = [row for number, row in rows if f"gpu-fabric:texts[{number}]" not in refused]
    assert refused
    assert [row for row in taken if row[1] != row[2] or isinstance(row[1], bool) != isinstance(row[2], bool)] == []


def test_kubectl_reads_each_text_as_attach_does() -> None:
    theirs, ours = read_by_kubectl("".join(f"- {text}\n" for text in PLAIN))
    rows = zip(PLAIN, theirs, ours, strict=True)
    assert [row for row in rows if row[1] != row[2] or isinstance(row[1], bool) != isinstance(row[2], bool)] == []


def test_a_merge_key_is_read_as_kubectl_reads_it_or_refused() -> None:
    theirs, ours = read_by_kubectl("- &a {p: 1}\n- {<<: *a, p: 2}\n- {<<: [*a, {q: 4}], r: 5}\n- {r: 6, <<: *a}\n")
    assert theirs == ours
    with pytest.raises(InputError, match="has keys that stand before it: p; put the merge key first"):
        read_by_kubectl("- &a {p: 1}\n- {p: 2, <<: *a}\n")
