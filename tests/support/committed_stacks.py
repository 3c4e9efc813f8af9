"""Where the committed stacks lie that tests go through: those of tests/stacks, and examples of clouds."""

from collections.abc import Callable, Container, Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
STACKS = ROOT / "tests" / "stacks"


def folder_of(stack: str) -> Path:
    """The folder of a stack's file; the one of tests/stacks goes before one of the same name elsewhere."""
    return STACKS if (STACKS / f"Pulumi.{stack}.yaml").is_file() else ROOT


def stack_names() -> list[str]:
    """The stacks of tests/stacks, and the examples that make a cloud's cluster and are named by its GPU."""
    of_clouds = (path for cloud in ("doks", "oke") for path in (ROOT / "examples").glob(f"Pulumi.{cloud}-*[0-9]*.yaml"))
    return sorted(path.name.split(".")[1] for path in [*STACKS.glob("Pulumi.*.yaml"), *of_clouds])


def is_large(stack: str) -> bool:
    """Whether a stack has thousands of nodes, and otherwise what smaller ones have."""
    return stack.startswith("large")


# A test with so many stacks goes through all; one with fewer has chosen them.
_MANY = 20


@cache
def _every_name() -> frozenset[str]:
    folders = (ROOT, ROOT / "examples", STACKS)
    return frozenset(path.name.split(".")[1] for folder in folders for path in folder.glob("Pulumi.*.yaml"))


def chosen(cases: list[T], stacks: Container[str], values: Callable[[T], Iterable[object]]) -> list[T]:
    """Of a test's cases those of some stacks and those of none, where the cases go through all committed stacks.

    A value is a stack's by its name or by its file.
    """

    def stack(case: T) -> str | None:
        for value in values(case):
            name = value.name.split(".")[1] if isinstance(value, Path) and value.name.count(".") == 2 else value
            # Some write the folder before the name.
            if isinstance(name, str) and (last := name.rpartition("/")[2]) in _every_name():
                return last
        return None

    found = [stack(case) for case in cases]
    if len({name for name in found if name}) < _MANY:
        return cases
    return [case for case, name in zip(cases, found, strict=True) if name is None or name in stacks]
