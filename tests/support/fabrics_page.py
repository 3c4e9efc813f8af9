"""The page of fabrics, from the committed stacks and the sandbox's tests: `make docs` writes docs/fabrics.md by it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from committed_stacks import ROOT, STACKS, is_large
from whole_lives import LIVES, Life

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.choices import choices_of
from gpu_fabric.spec.load import read_file, validate
from gpu_fabric.spec.stack import StackSpec

TESTS = ROOT / "tests"
_NIGHT: Mapping[str, str] = yaml.safe_load((TESTS / "when.yaml").read_text(encoding="utf-8"))["night"]
_CLUSTERS = {"existing": "an existing one", "doks": "DigitalOcean", "oke": "Oracle"}
_NOT = "not shown"
_HEAD = """\
# Fabrics

Written by `make docs` from the committed stack files, the code of the sandbox's tests and `tests/when.yaml`; a test
keeps it fresh. A fabric here is a cluster, a machine type, and the way in which pods get the NICs. {all} fabrics have a
stack file. Of {whole} of them tests show everything but real machines, {clouds} among them on clouds with a
[profile](clouds.md).

- **stack**: the stack file. If several stacks have the same fabric, it is the one of which tests show most. Every stack
  file is planned in every `make test`, and a real API server accepts each of its objects
  (`tests/sandbox/test_accepted_objects.py`).
- **life**: the test in `tests/sandbox` in which the stack comes up on [simulated nodes](sandbox.md) by the real engine,
  a second `up` changes nothing, and `destroy` leaves nothing. What the test does not show of this is named.
- **job**: the test in which the real scheduler finds a node for a pod of the stack's [contract](contract.md).
- **real machines**: what was seen on them. Nothing yet, for no fabric.

Tests with the word night run in `make test-all` alone ([testing](testing.md)). What a simulated cluster of a cloud with
a profile has, and what it lacks, is in [the sandbox](sandbox.md#clusters-of-clouds-with-a-profile).

| cluster | machine type | NICs reach pods by | stack | life | job | real machines |
|---|---|---|---|---|---|---|
"""


class Fabric(NamedTuple):
    """What makes two fabrics differ."""

    cluster: str
    machine: str
    way: str


class Row(NamedTuple):
    """A fabric with its stack file, and the test that shows its life, if any."""

    fabric: Fabric
    file: Path
    life: Life | None

    @property
    def shown(self) -> int:
        """How much a test shows of it, from 0 to 3."""
        return 0 if self.life is None else 1 + self.life.again + self.life.gone


def fabrics() -> list[Row]:
    """A row for each fabric, with the stack of which the tests show most."""
    found: dict[Fabric, Row] = {}
    for file in _files():
        spec, _ = validate(read_file(file))
        if spec is None or spec.split.part == "platform" or is_large(spec.name):
            continue
        row = Row(_fabric(spec), file, _life(file))
        before = found.get(row.fabric)
        if before is None or row.shown > before.shown:
            found[row.fabric] = row
    return [found[fabric] for fabric in sorted(found, key=lambda each: (each.cluster in _CLUSTERS.values(), each))]


def fabrics_page() -> str:
    """The page as Markdown."""
    rows = fabrics()
    whole = [row for row in rows if row.shown == 3]
    clouds = [row for row in whole if row.fabric.cluster not in _CLUSTERS.values()]
    return _HEAD.format(all=len(rows), whole=len(whole), clouds=len(clouds)) + "".join(map(_line, rows))


def _files() -> Iterator[Path]:
    for folder in (ROOT, ROOT / "examples", STACKS):
        yield from sorted(folder.glob("Pulumi.*.yaml"))


def _line(row: Row) -> str:
    stack = row.file.name.split(".")[1]
    place = f"[`{stack}`](../{row.file.relative_to(ROOT)})"
    test = _NOT if row.life is None else _named(row.life, stack)
    lacks = [] if row.life is None else _lacking(row.life)
    return f"| {' | '.join((*row.fabric, place, '; '.join((test, *lacks)), test, 'nothing'))} |\n"


def _lacking(life: Life) -> Iterator[str]:
    if not life.again:
        yield "no second `up`"
    if not life.gone:
        yield "what `destroy` leaves is not compared"


def _named(life: Life, stack: str) -> str:
    """The test's file, with a mark where `make test` does not run this case of it."""
    file, _, function = f"sandbox/{life.test}".partition("::")
    cases = {file, f"{file}[{stack}]", f"{file}::{function}", f"{file}::{function}[{stack}]"}
    return f"`{Path(file).stem}`{'' if cases.isdisjoint(_NIGHT) else ', night'}"


def _fabric(spec: StackSpec) -> Fabric:
    profile = getattr(spec.cluster, "profile", None)
    cluster = _CLUSTERS[spec.cluster.provider] if profile is None else catalog().clouds[profile].title
    machines = dict.fromkeys(f"`{pool.shape}`" for pool in spec.cluster.pools)
    return Fabric(cluster, ", ".join(machines), _way(spec, profile))


def _way(spec: StackSpec, profile: str | None) -> str:
    shape = spec.catalog.find(spec.cluster.pools[0].shape)
    assert shape is not None, spec.name
    choices = choices_of(spec, shape, spec.catalog)
    claimed = choices.manager == "dranet" or spec.fabric.devices == "claims"
    if choices.manager == "cloud" and profile is not None:
        cloud = spec.catalog.clouds[profile]
        if claimed and cloud.claims is not None:
            return f"claims of the cloud's class `{cloud.claims.device_class}`"
        if cloud.plugin is None:
            return "the cloud, with all GPUs of a node"
        how = "the cloud's annotations" if cloud.plugin.count == "none" else "the cloud's device plug-in"
        return f"{how}, `{cloud.plugin.resource}`"
    functions = f", functions by `{choices.virtual_functions}`" if choices.virtual_functions else ""
    return f"`{choices.manager}`, `{choices.model}`{functions}{', claims' if claimed else ''}"


@cache
def _stacks_of() -> dict[Life, frozenset[str]]:
    return {life: frozenset(texts_of(TESTS / "sandbox", life.test)) for life in LIVES}


def _life(file: Path) -> Life | None:
    """The test that shows most of a stack; an example goes before a stack of tests of the same name."""
    stack = file.name.split(".")[1]
    if file.parent == STACKS and any((ROOT / place / file.name).is_file() for place in (".", "examples")):
        return None
    lives = [life for life, texts in _stacks_of().items() if stack in texts]
    return max(lives, key=lambda life: life.again + life.gone, default=None)


def texts_of(folder: Path, test: str) -> set[str]:
    """All texts in the code of a test, or of all tests of a file: in its fixtures, helpers and constants, and its rows.

    Constants may be imported from other files of tests. Rows are those of the YAML file of the same name.
    """
    file, _, function = test.partition("::")
    top = _top(folder / file)
    todo, seen, texts = [function] if function else [name for name in top if name.startswith("test_")], set(), set()
    while todo:
        name = todo.pop()
        if name in seen or name not in top:
            continue
        seen.add(name)
        for node in ast.walk(top[name]):
            match node:
                case ast.Constant(value=str(text)):
                    texts.add(text)
                case ast.Name(id=other) | ast.arg(arg=other):
                    todo.append(other)
                case ast.Call(func=ast.Name(id="rows"), args=[_, ast.Constant(value=table)]):
                    texts |= yaml.safe_load((folder / file).with_suffix(".yaml").read_text(encoding="utf-8"))[
                        table
                    ].keys()
    return texts


@cache
def _top(file: Path) -> dict[str, ast.AST]:
    """What a module defines by name, and the constants that it imports from other modules of tests."""
    found: dict[str, ast.AST] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[target], value=value):
                found |= {part.id: value for part in ast.walk(target) if isinstance(part, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.AST() as value):
                found[name] = value
            case ast.ImportFrom(module=str(module)):
                places = [folder / f"{module}.py" for folder in (file.parent, TESTS / "support")]
                others = _top(next(path for path in places if path.is_file())) if any(map(Path.is_file, places)) else {}
                names = [alias.name for alias in node.names if alias.name.isupper()]
                found |= {name: others[name] for name in names if name in others}
    return found


if __name__ == "__main__":
    sys.stdout.write(fabrics_page())
