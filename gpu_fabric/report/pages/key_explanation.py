"""The output of `gpu-fabric explain` for a key of the stack file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.findings import examples, rules
from gpu_fabric.model import FrozenModel
from gpu_fabric.report.pages.references import key_sections
from gpu_fabric.spec.places import NAMESPACE


class StackKey(NamedTuple):
    """A key of the stack file by its path, such as `cluster.pools[].nodes`; `which` names a section's provider."""

    path: str
    which: str
    type: str
    default: str
    meaning: str

    @property
    def plain(self) -> str:
        """The path in small letters and without list marks, as it may be asked for."""
        return _plain(self.path)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that are about this key."""
        return tuple(rule for rule, example in examples().items() if self.path in example.keys)


class ExplainedKey(FrozenModel):
    """A key for scripts, with the rules that are about it."""

    path: str
    which: str
    type: str
    default: str
    meaning: str
    rules: tuple[str, ...]


def stack_keys() -> Iterator[StackKey]:
    """Every key of the stack file."""
    for section in key_sections():
        for key, *rest in section.rows:
            # The last row of a further fabric is about all others.
            if key.startswith("`"):
                yield StackKey(f"{section.name}.{key.strip('`')}", section.which.strip(), *rest)


def keys_named(name: str) -> list[StackKey]:
    """The keys of a name or of the end of a path, in any case: `mtu`, `fabric.mtu`, `gpu-fabric:fabric.mtu`."""
    wanted = f".{_plain(name)}"
    return [key for key in stack_keys() if f".{key.plain}".endswith(wanted)]


def key_explanation(keys: list[StackKey]) -> Iterator[str]:
    """Each key: where it is, its type, default and meaning, and the rules about it."""
    for number, key in enumerate(keys):
        if number:
            yield ""
        yield f"{NAMESPACE}:{key.path}{f' {key.which}' if key.which else ''}".replace("`", "")
        yield f"{key.type}, default: {key.default}".replace("`", "")
        yield key.meaning
        for rule in key.rules:
            yield f"{rule} ({rules()[rule].severity.value}): {rules()[rule].title}"


def _plain(path: str) -> str:
    return re.sub(r"\[\w*\]", "", path.removeprefix(f"{NAMESPACE}:")).replace(".<name>", "").lower()
