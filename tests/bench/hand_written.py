"""The peer of a preview: a Pulumi program written out, which registers what ours registers, and nothing else.

It has the same types, names, inputs, parents, dependencies and outputs as literals. So the difference of two previews
is what our program does more: read, check and plan the stack, and compare the plan with the last run and the cluster.
"""

from __future__ import annotations

import json
import re
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic.alias_generators import to_snake

from sandbox.home import project_root
from tests.bench.budget import Budget
from tests.bench.sandbox import STACK, Bench
from tests.components.recording import Recording, Registration, World, record

_OPTIONS = ("protect", "delete_before_replace", "replace_on_changes", "retain_on_delete", "ignore_changes")
# The language host takes the first `python3` on PATH. This one runs it, and then writes down its processor time.
_COUNTING = """#!/bin/sh
{python} "$@"
status=$?
{{ echo "$1 $2"; times; }} > {folder}/$$.times
exit $status
"""


class Taken(NamedTuple):
    """Seconds of a preview: of the clock, and of a processor by the program and by the host's list of packages."""

    clock: float
    program: float
    packages: float


def side_by_side(bench: Bench, rounds: int) -> tuple[Budget, ...]:
    """Previews of the stack by our program and by the hand-written one, in turns, after one of each to warm up.

    The same engine, language host, plug-in and cluster serve both.
    """
    ours, by_hand = [], []
    with tempfile.TemporaryDirectory() as folder, _counting(bench) as taken:
        project = Path(folder)
        (project / "Pulumi.yaml").write_text("name: by-hand\nruntime: python\n")
        (project / "__main__.py").write_text(source(_recorded(bench)))
        # The charts' paths are relative to the project.
        (project / "sandbox").symlink_to(project_root() / "sandbox")
        bench.pulumi("stack", "init", STACK, project=project)
        for number in range(rounds + 1):
            ours.append(taken(lambda: bench.engine("preview")))
            by_hand.append(taken(lambda: bench.pulumi("preview", "--stack", STACK, project=project)))
            figures = f"ours {_figures(ours[-1])}; by hand {_figures(by_hand[-1])}"
            print(f"  round {number or 'to warm up'}: {figures}", file=sys.stderr, flush=True)
    own, hand = _medians(ours[1:]), _medians(by_hand[1:])
    return (
        Budget("preview : of a hand-written program", own.clock, hand.clock, "s", 1.15),
        Budget("processor time of our program : of the hand-written one", own.program, hand.program, "s", 2.0),
        Budget("processor time of the host's pip list : of the hand-written one", own.packages, hand.program, "s", 0.5),
    )


def source(recording: Recording) -> str:
    """A program that registers everything recorded, in its order."""
    places = {(each.type, each.name): f"r[{number}]" for number, each in enumerate(recording.resources)}
    parents = {each.name: places[each.type, each.name] for each in recording.resources if not each.custom}
    providers = {each.name: places[each.type, each.name] for each in recording.resources if _is_provider(each)}
    lines = ["import pulumi", "import pulumi_kubernetes", "r = []"]
    for each in recording.resources:
        said = ((name, getattr(each, name)) for name in _OPTIONS)
        options = [
            f"{name}={sorted(value) if isinstance(value, frozenset) else value}" for name, value in said if value
        ]
        options += [f"parent={parents[each.parent]}"] if each.parent in parents else []
        options += [f"provider={providers[each.provider]}"] if each.provider in providers else []
        options += [f"depends_on=[{', '.join(places[one] for one in sorted(each.comes_after))}]"]
        inputs = {name: _literal(value, name in each.secrets) for name, value in each.inputs.items()}
        lines.append(f"opts = pulumi.ResourceOptions({', '.join(options)})")
        lines.append(f"r.append({_made(each, inputs)})")
    for name, value in recording.outputs.items():
        lines.append(f"pulumi.export({name!r}, {_literal(value, name in recording.secret_outputs)})")
    return "\n".join(lines) + "\n"


def _made(each: Registration, inputs: dict[str, str]) -> str:
    if _is_provider(each):
        arguments = (f"{to_snake(name)}={value}" for name, value in inputs.items())
        return f"pulumi_kubernetes.Provider({each.name!r}, opts, {', '.join(arguments)})"
    kind = "CustomResource" if each.custom else "ComponentResource"
    written = ", ".join(f"{name!r}: {value}" for name, value in inputs.items())
    return f"pulumi.{kind}({each.type!r}, {each.name!r}, {{{written}}}, opts)"


def _literal(value: object, secret: bool) -> str:
    return f"pulumi.Output.secret({value!r})" if secret else repr(value)


def _is_provider(each: Registration) -> bool:
    return each.type.startswith("pulumi:providers:")


def _recorded(bench: Bench) -> Recording:
    # Here, since it imports the SDK, which nothing else of the bench needs.
    from stacks.program import program

    config = {f"gpu-fabric:{name}": json.dumps(section) for name, section in bench.with_sections({}).items()}
    return record(lambda: program(project_root()), stack=STACK, config=config, preview=True, world=World({}))


@contextmanager
def _counting(bench: Bench) -> Iterator[Callable[[Callable[[], None]], Taken]]:
    """While it lasts, the language host's Pythons are counted; gives what runs a preview and says what it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = folder / "python3"
        python.write_text(_COUNTING.format(python=shlex.quote(sys.executable), folder=shlex.quote(name)))
        python.chmod(0o700)

        def taken(preview: Callable[[], None]) -> Taken:
            began = time.monotonic()
            preview()
            clock = time.monotonic() - began
            seconds = {"-m pip": 0.0, "": 0.0}
            for file in folder.glob("*.times"):
                arguments, _, children = file.read_text().splitlines()
                seconds[arguments if arguments in seconds else ""] += _seconds(children)
                file.unlink()
            return Taken(clock, seconds[""], seconds["-m pip"])

        bench.first_on_path = folder
        yield taken
        bench.first_on_path = None


def _seconds(times: str) -> float:
    """The sum of user and system time as a shell's `times` prints them: 0m1.23s 0m0.10s."""
    return sum(60 * float(minutes) + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", times))


def _medians(taken: list[Taken]) -> Taken:
    return Taken(*map(statistics.median, zip(*taken, strict=True)))


def _figures(taken: Taken) -> str:
    return f"{taken.clock:.1f} s (processor: program {taken.program:.2f} s, pip list {taken.packages:.2f} s)"
