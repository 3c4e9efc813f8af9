"""`python -m stacks.drift`: the drift inside a stack's Helm releases, which a refresh by Pulumi does not find.

Exit status: 0 all objects are as the charts wrote them, 1 some are not, 2 bad input, or some could not be compared.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from components.cluster_api import ClusterApi, RequestError
from components.release_drift import ObjectName, ReleaseDrift, release_drift
from gpu_fabric.changes.markup import shorten
from gpu_fabric.changes.properties import Difference
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare_stack
from gpu_fabric.report.content import quantity

_CONNECTIONS = 4
_LONGEST = 100
# Kinds whose values must not be in a log; those of a container's variables must not be either.
_HIDDEN = {"Secret"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(help=__doc__)
def drift(
    stack: Annotated[str, typer.Option("-s", "--stack", help="the stack's name, as everywhere")] = "dev",
    kubeconfig: Annotated[
        str | None,
        typer.Option(
            help="file with the cluster's kubeconfig, - for standard input", show_default="what KUBECONFIG names"
        ),
    ] = None,
) -> None:
    """Compare, and print the differences."""
    try:
        plan = prepare_stack(stack, Path.cwd())
    except ConfigurationError as error:
        _refuse(str(error))
    try:
        api = ClusterApi(_text(kubeconfig), _context(plan, kubeconfig), _CONNECTIONS)
        found = list(release_drift(api, releases(plan)))
    except RequestError as error:
        _refuse(f"the cluster of stack {stack} cannot be asked: {error}")
    print("\n".join(lines(stack, found)))
    if any(release.unknown for release in found):
        raise typer.Exit(2)
    if any(release.drifted for release in found):
        raise typer.Exit(1)


def releases(plan: Plan) -> list[tuple[str, str]]:
    """Namespace and name of every release of the stack."""
    return [(release.namespace, release.name) for release in plan.releases]


def lines(stack: str, found: Iterable[ReleaseDrift]) -> Iterable[str]:
    """The drift as a list in Markdown, without values of secrets."""
    drifted = 0
    for release in found:
        heading = f"- release {release.namespace}/{release.name}, {quantity(release.objects, 'object')}"
        problems = [
            *([release.problem] if release.problem else []),
            *(f"{place} was deleted" for place in release.missing),
            *(line for place, fields in release.changed.items() for line in _changed(place, fields)),
            *(f"{place} cannot be compared{_reason(place, text)}" for place, text in release.unknown.items()),
        ]
        drifted += bool(problems)
        yield f"{heading}: {'not as its chart wrote them' if problems else 'all as its chart wrote them'}"
        yield from (f"  - {line}" for line in problems)
    yield f"stack {stack}: {quantity(drifted, 'release')} not as installed" if drifted else f"stack {stack}: no drift"


def _changed(place: ObjectName, fields: Iterable[Difference]) -> Iterable[str]:
    for entry in fields:
        if place.kind in _HIDDEN or ".env[" in entry.path:
            yield f"{place}: {entry.path} is not as written"
        elif entry.kind == "added":
            yield f"{place}: {entry.path} was removed, which was {_value(entry.new)}"
        else:
            yield f"{place}: {entry.path} is {_value(entry.old)} instead of {_value(entry.new)}"


def _reason(place: ObjectName, text: str) -> str:
    # A refusal may repeat the refused value.
    return "" if place.kind in _HIDDEN else f": {text}"


def _value(value: object) -> str:
    return shorten(repr(value), _LONGEST)


def _context(plan: Plan, kubeconfig: str | None) -> str | None:
    # A file from the option is used with the stack's context, one from KUBECONFIG with its current context.
    return plan.cluster.context if kubeconfig is not None else None


def _text(kubeconfig: str | None) -> str:
    """The kubeconfig's content; refuses if there is none."""
    if kubeconfig == "-":
        return sys.stdin.read()
    file = kubeconfig or os.environ.get("KUBECONFIG")
    if not file:
        _refuse("no kubeconfig: name a file, give one on standard input with --kubeconfig -, or set KUBECONFIG")
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        _refuse(f"{file}: {error.strerror}")
    except UnicodeDecodeError:
        _refuse(f"{file}: no UTF-8 text")


def _refuse(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(2)


if __name__ == "__main__":
    app()
