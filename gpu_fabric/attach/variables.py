"""Find variables that keep a workload off the fabric, in the environment and the commands of its containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import yaml

from gpu_fabric.attach.place import Place, shown
from gpu_fabric.model import FrozenModel

_TABLE = Path(__file__).parent / "variables.yaml"
_SET = re.compile(r"\b([A-Z][A-Z0-9_]+)=[\"']?([^\s\"';]+)")

# Hydra, the launcher of MPICH and Intel MPI, takes name and value as two words.
_IN_TWO_WORDS = ("-genv", "-env")


class _Row(FrozenModel):
    name: str
    values: tuple[str, ...]
    effect: str
    source: str


@cache
def _rows() -> tuple[_Row, ...]:
    return tuple(_Row.model_validate(row) for row in yaml.safe_load(_TABLE.read_text(encoding="utf-8")))


def note_what_keeps_off(template: Place) -> None:
    """Note the variables that keep a job off the fabric: `mpirun -x` in a launcher applies to all ranks."""
    for container in template.seen("spec").entries("containers"):
        for entry in container.entries("env"):
            name, value = entry.content.get("name"), entry.content.get("value")
            if isinstance(name, str) and isinstance(value, str | int) and (effect := _effect(name, str(value))):
                entry.note("ATT066", "", f"{name} stays {shown(value)}: {effect}")
        for key in ("command", "args", "source"):
            for name, value in dict.fromkeys(_set_in(container, key)):
                if effect := _effect(name, value):
                    container.note("ATT066", key, f"{name} is {shown(value)} there: {effect}")


def _set_in(container: Place, key: str) -> Iterator[tuple[str, str]]:
    # Argo's `source` is one text, not a list of words.
    words = [container.text(key)] if key == "source" else container.values(key)
    texts = [word for word in words if isinstance(word, str)]
    for text in texts:
        yield from _SET.findall(text)
    for option, name, value in zip(texts, texts[1:], texts[2:], strict=False):
        if option in _IN_TWO_WORDS:
            yield name, value


def _effect(name: str, value: str) -> str | None:
    """The effect of a variable on a job on the fabric; None if it is harmless."""
    for row in _rows():
        if row.name == name and any(fnmatchcase(value.lower(), pattern) for pattern in row.values):
            return row.effect
    return None
