"""Tables of facts and rules: YAML and TOML files of this checkout."""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

_Row = TypeVar("_Row", bound=BaseModel)


def read_table(path: Path) -> Any:
    """The content of a YAML or TOML file that holds facts or rules.

    As Python does with a module, it is kept compiled in `__pycache__`, and parsed again only after the file changed.
    """
    state = path.stat()
    version = (state.st_mtime_ns, state.st_size)
    # With its whole name, since a module next to it may have the same stem.
    compiled = Path(cache_from_source(f"{path}."))
    with suppress(OSError, EOFError, TypeError, ValueError):
        # Who can write there can change Python's compiled modules as well.
        of_version, table = marshal.loads(compiled.read_bytes())  # noqa: S302
        if of_version == version:
            return table
    table = _parse(path)
    if not sys.dont_write_bytecode:
        # A folder that cannot be written costs only time.
        with suppress(OSError):
            compiled.parent.mkdir(parents=True, exist_ok=True)
            new = compiled.with_suffix(f".{os.getpid()}")
            new.write_bytes(marshal.dumps((version, table)))
            new.replace(compiled)
    return table


def _parse(path: Path) -> Any:
    # Here, since a compiled table does not need them.
    import tomllib

    import yaml

    if path.suffix == ".toml":
        return tomllib.loads(path.read_text(encoding="utf-8"))
    # The C loader parses about ten times faster; a wheel without libyaml falls back to Python's loader.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


def read_rows(path: Path, row: type[_Row]) -> tuple[_Row, ...]:
    """The rows of a YAML file that is a list; a file is read once."""
    rows: tuple[_Row, ...] = _read_rows(path, row)
    return rows


@cache
def _read_rows(path: Path, row: type[BaseModel]) -> Any:
    return tuple(row.model_validate(entry) for entry in read_table(path))
