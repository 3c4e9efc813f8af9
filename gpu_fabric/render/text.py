"""The formats of the folder's files: YAML for users, JSON for tools, CSV for tables; all are deterministic."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

import yaml

# Lines are never folded: a change of one word changes one line.
_NO_FOLDING = 1 << 30


class _Writer(yaml.SafeDumper):
    """PyYAML's writer in Python: the C writer is not in every installation, and its output differs slightly."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(writer: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # Scripts and files are written line by line.
    style = "|" if "\n" in value else None
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _text)


def yaml_text(value: Any) -> str:
    """A YAML document with sorted keys."""
    text: str = yaml.dump(value, Dumper=_Writer, sort_keys=True, allow_unicode=True, width=_NO_FOLDING)
    return text


def yaml_value(text: str) -> Any:
    """The value of a YAML document. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def json_text(value: Any) -> str:
    """A JSON document with sorted keys."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def json_value(text: str) -> Any:
    """The value of a JSON document. Raises ValueError."""
    return json.loads(text)


def line_documents(values: Iterable[Any]) -> str:
    """YAML documents of one line each: an added, removed or changed object is an added, removed or changed line."""
    return "".join(f"---\n{json.dumps(value, sort_keys=True, ensure_ascii=False)}\n" for value in values)


def line_values(text: str) -> list[Any]:
    """The values of one-line documents. Raises ValueError."""
    return [json.loads(line) for line in text.splitlines() if line != "---"]


def table_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A CSV table with a heading."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def table_rows(text: str) -> list[list[str]]:
    """The rows of a CSV table, without its heading."""
    return list(csv.reader(StringIO(text)))[1:]
