"""`python -m sandbox …`: the embedded cluster, its toolchain, and the engine run against it.

Results go to standard output, everything else to standard error.
Exit status: 0 good, 1 it could not be done or something does not run, 2 bad input or usage.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from sandbox.control_plane import ControlPlane
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress, duration

if TYPE_CHECKING:
    from sandbox.engine.commands import Stack

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)

StackName = Annotated[
    str, typer.Option("-s", "--stack", help="the stack's name: Pulumi.<name>.yaml here or in examples/")
]


Simulated = Annotated[
    bool, typer.Option("--sandbox", help="try a stack for a cluster of your own on the sandbox, with stand-in charts")
]


class Verb(StrEnum):
    """What the engine is asked for."""

    UP = "up"
    PREVIEW = "preview"
    DESTROY = "destroy"
    OUTPUTS = "outputs"


def say(line: str) -> None:
    """A line for the person at the terminal, on standard error."""
    print(line, file=sys.stderr, flush=True)


@app.command()
def up(stack: StackName = "dev", simulated: Simulated = False) -> None:
    """Build what is missing, start the control plane, and make the simulated nodes those of a stack's pools."""
    from sandbox.engine.commands import is_sandbox_stack
    from sandbox.kubernetes_api import Api
    from sandbox.nodes import desired_nodes, reconcile_nodes, wait_nodes_ready

    began = time.monotonic()
    spec = _load(stack, simulated, coming_up=True).spec
    home = SandboxHome.current()
    if not is_sandbox_stack(spec, home):
        print(f"stack {stack} lies on a cluster of its own: the sandbox is not needed")
        return
    nodes = desired_nodes(spec)
    toolchain = ensure(None, _progress())
    with home.lock():
        plane = ControlPlane(home, say)
        started = plane.up(toolchain)
        api = Api(home.kubeconfig)
        changes = reconcile_nodes(api, nodes)
        waiting = wait_nodes_ready(api) if started or changes else []
    if waiting:
        raise SandboxError(
            f"not ready in time: {', '.join(waiting[:5])}{' …' if len(waiting) > 5 else ''}",
            f"See what the node simulation says: {home.logs / 'kwok.log'}",
        )
    if started or changes:
        print(f"sandbox up in {duration(time.monotonic() - began)}: {len(nodes)} nodes ({changes}); {home.kubeconfig}")
    else:
        print(f"sandbox already up: {len(nodes)} nodes, nothing changed; {home.kubeconfig}")


@app.command()
def down(
    stack: Annotated[
        str | None, typer.Option("-s", "--stack", help="do nothing if this stack lies on a cluster of its own")
    ] = None,
    simulated: Simulated = False,
) -> None:
    """Stop every process of the sandbox; the simulated cluster stays on disk and `up` brings it back."""
    from sandbox.engine.commands import is_sandbox_stack

    home = SandboxHome.current()
    if stack is not None and not is_sandbox_stack(_load(stack, simulated).spec, home):
        print(f"stack {stack} lies on a cluster of its own: the sandbox stays as it is")
        return
    if not home.root.exists():
        print("there is no sandbox: nothing to stop")
        return
    with home.lock():
        stopped = _stop(home)
    print(f"stopped {', '.join(stopped)}" if stopped else "nothing was running")


@app.command()
def reset() -> None:
    """Stop everything and delete the simulated cluster with the engine's state; built binaries stay."""
    home = SandboxHome.current()
    if not home.root.exists():
        print("there is no sandbox: nothing to delete")
        return
    with home.lock():
        _stop(home)
        home.delete_cluster()
    print(f"deleted the simulated cluster in {home.root}")


@app.command()
def status() -> None:
    """Show every process: pid, port, state, log. Exit status 1 when one does not run."""
    home = SandboxHome.current()
    rows = ControlPlane(home, say).status()
    if not rows:
        print("there is no sandbox; start one with: python -m sandbox up")
        raise typer.Exit(1)
    table = Table("process", "pid", "port", "state", "log", box=None, pad_edge=False)
    for row in rows:
        cells = (str(row.pid or "-"), str(row.port or "-"), row.state, str(row.log))
        table.add_row(row.name, *cells, style=None if row.good else "red")
    # as wide as it needs: a cut path cannot be copied
    Console(width=max(100, 60 + len(str(home.logs)))).print(table)
    if not all(row.good for row in rows):
        say("not everything runs; start what is missing with: python -m sandbox up")
        raise typer.Exit(1)


@app.command()
def build(
    binaries: Annotated[list[str] | None, typer.Argument(help="binaries or groups; by default what `up` needs")] = None,
) -> None:
    """Build the toolchain as far as it is missing, and print where each binary lies."""
    from sandbox.toolchain.recipes import choose

    toolchain = ensure(binaries, _progress())
    for recipe in choose(binaries):
        try:
            print(f"{recipe.name}\t{toolchain.folder(recipe.name)}")
        except SandboxError:
            print(f"{recipe.name}\tthe machine's own is used")


@app.command()
def pulumi(
    verb: Annotated[Verb, typer.Argument(help="what to do")],
    stack: StackName = "dev",
    simulated: Simulated = False,
    as_json: Annotated[bool, typer.Option("--json", help="print what the engine says as JSON")] = False,
    show_secrets: Annotated[bool, typer.Option(help="print secret outputs in plain text")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="do not ask before changing a cluster that is not the sandbox")
    ] = False,
) -> None:
    """Run the real engine: for a sandbox stack in the sandbox's own workspace, else with your own Pulumi settings."""
    from sandbox.engine.commands import SandboxEngine, is_sandbox_stack, run_elsewhere

    home = SandboxHome.current()
    place = _load(stack, simulated, coming_up=verb in (Verb.UP, Verb.PREVIEW))
    if not is_sandbox_stack(place.spec, home):
        wishes = {"--json": as_json or verb is Verb.OUTPUTS, "--show-secrets": show_secrets and verb is Verb.OUTPUTS}
        wishes["--yes"] = yes and verb in (Verb.UP, Verb.DESTROY)
        chosen = [option for option, wanted in wishes.items() if wanted]
        raise typer.Exit(run_elsewhere(verb.value, place, home.bin if home.bin.exists() else None, chosen))
    engine = SandboxEngine(home, ensure(None, _progress()), say)
    if verb is Verb.OUTPUTS:
        print(engine.outputs(place, show_secrets=show_secrets), end="")
    elif verb is Verb.UP:
        raise typer.Exit(engine.up(place, as_json=as_json))
    elif verb is Verb.PREVIEW:
        raise typer.Exit(engine.preview(place, as_json=as_json))
    else:
        raise typer.Exit(engine.destroy(place))


def _load(name: str, simulated: bool, *, coming_up: bool = False) -> Stack:
    """The stack with its file, spec and plan; `simulated` puts it on the sandbox, wherever it is meant for.

    Raises SandboxError (status 2) with everything that keeps it from being planned or, if it is coming up, from that.
    """
    from fabric.prepare import beyond_this_version, prepare
    from fabric.rules import ConfigurationError
    from fabric.spec import read_document, stack_file, validate
    from sandbox.engine.commands import Stack
    from sandbox.engine.simulated import on_the_sandbox

    try:
        file, document = stack_file(name, project_root()), read_document(name, project_root())
        if simulated:
            document = on_the_sandbox(document, SandboxHome.current())
        plan, spec = prepare(document, for_up=False), validate(document)[0]
        assert spec is not None, "what cannot be validated was refused"
        if coming_up and (refused := beyond_this_version(plan)):
            raise ConfigurationError(refused, file.name)
        return Stack(name, file, spec, plan, document.sections if simulated else None)
    except ConfigurationError as error:
        raise SandboxError(str(error), status=2) from error


def _stop(home: SandboxHome) -> list[str]:
    from sandbox.engine.run import Runs
    from sandbox.engine.workspace import Workspace

    runs = Runs(Workspace(home))
    runs.require_none()
    engine = ["an interrupted Pulumi run"] if runs.end_leftovers() else []
    return [*engine, *ControlPlane(home, say).down()]


def _progress() -> Progress:
    return Progress(Console(stderr=True))


def _fail(message: str, remedy: str, code: int) -> NoReturn:
    say(f"error: {message}")
    if remedy:
        say(remedy)
    sys.exit(code)


def main(run: Callable[[], None] = app) -> NoReturn:
    """Run the command line; everything a person can cause ends in one message and no traceback."""
    from sandbox.kubernetes_api import ApiError

    try:
        run()
    except SandboxError as error:
        _fail(error.message, error.remedy, error.status)
    except ApiError as error:
        _fail(f"the simulated cluster did not answer as expected: {error}", "See: python -m sandbox status", 1)
    except OSError as error:
        _fail(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), "", 1)
    sys.exit(0)


if __name__ == "__main__":
    main()
