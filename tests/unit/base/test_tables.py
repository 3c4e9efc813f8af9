import os
import sys
from pathlib import Path

import pytest
import yaml

from gpu_fabric.base import tables
from gpu_fabric.base.tables import read_table

ROOT = Path(__file__).parents[3]
TABLES = sorted(path for part in ("gpu_fabric", "sandbox/cloud") for path in (ROOT / part).rglob("*.yaml"))


@pytest.fixture(autouse=True)
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tables are compiled to, as where `PYTHONPYCACHEPREFIX` names a folder."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    return tmp_path / "compiled"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.yaml"
    path.write_text("speed: 400", encoding="utf-8")
    return path


def unparsed(path: Path) -> None:
    raise AssertionError(f"{path} was parsed")


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_table_is_compiled_to_what_its_yaml_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_table(path)
    monkeypatch.setattr(tables, "_parse", unparsed)

    assert read_table(path) == yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def test_a_changed_table_is_parsed_again_even_if_its_size_stays(table: Path) -> None:
    read_table(table)
    table.write_text("speed: 800", encoding="utf-8")
    os.utime(table, ns=(0, table.stat().st_mtime_ns + 1))

    assert read_table(table) == {"speed": 800}


@pytest.mark.parametrize("content", [b"", b"half", b"i\x00"])
def test_a_damaged_compiled_table_is_written_again(table: Path, compiled: Path, content: bytes) -> None:
    read_table(table)
    (kept,) = [path for path in compiled.rglob("*") if path.is_file()]
    whole = kept.read_bytes()
    kept.write_bytes(content)

    assert read_table(table) == {"speed": 400}
    assert kept.read_bytes() == whole


def test_nothing_is_written_where_python_writes_no_bytecode(
    table: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    assert read_table(table) == {"speed": 400}
    assert not compiled.exists()


def test_a_table_is_read_where_nothing_can_be_written(table: Path, compiled: Path) -> None:
    compiled.write_text("a file in the folder's place", encoding="utf-8")

    assert read_table(table) == {"speed": 400}
