"""`gpu-fabric sandbox …`: the embedded cluster, its toolchain, and the engine run against it.

In a checkout it is `python -m sandbox …` as well.

Results go to standard output, everything else to standard error.
Exit status: 0 good, 1 it could not be done or something does not run, 2 bad input or usage.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from gpu_fabric.cli.app import add_examples
from .control_plane import ControlPlane
from .failure import SandboxError
from .home import COMMAND, IN_CHECKOUT, SandboxHome, project_root
from .overview import show
from .toolchain.build import ensure
from .toolchain.progress import Progress, duration

if TYPE_CHECKING:
    from .engine.commands import Stack
    from .toolchain.build import Toolchain


class _Group(TyperGroup):
    """The commands, with the examples of `examples.yaml` in the help of each."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command of these arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        add_examples(command, name, rest, Path(__file__).with_name("examples.yaml"))
        return name, command, rest


app = typer.Typer(
    cls=_Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=__doc__,
)

StackName = Annotated[
    str, typer.Option("-s", "--stack", help="the stack's name: Pulumi.<name>.yaml here or in examples/")
]


Simulated = Annotated[
    bool, typer.Option("--sandbox", help="try a stack on the sandbox: its cluster or its clouds, and stand-in charts")
]


class Verb(StrEnum):
    """The commands of the engine."""

    UP = "up"
    PREVIEW = "preview"
    REFRESH = "refresh"
    DESTROY = "destroy"
    OUTPUTS = "outputs"
    KUBECONFIG = "kubeconfig"


_CHANGING = (Verb.UP, Verb.REFRESH, Verb.DESTROY)


def say(line: str) -> None:
    """A line for the person at the terminal, on standard error."""
    print(line, file=sys.stderr, flush=True)


@app.command()
def up(
    stack: StackName = "dev",
    simulated: Simulated = False,
    shape: Annotated[
        str | None, typer.Option(help="machine type of the nodes, for a program that has no stack file")
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="number of nodes of this type")] = 2,
) -> None:
    """Build what is missing, start the control plane, and make the simulated nodes those of a stack's pools."""
    from .engine.commands import is_sandbox_stack

    home = SandboxHome.current()
    place = _load(stack, simulated, coming_up=True, sections=_machines(home, shape, nodes) if shape else None)
    _announce(place, home)
    if is_sandbox_stack(place, home):
        _start(place, home, print)
    else:
        print(f"stack {stack} uses a cluster of its own: the sandbox is not needed")


@app.command()
def down(
    stack: Annotated[
        str | None, typer.Option("-s", "--stack", help="do nothing if this stack uses a cluster of its own")
    ] = None,
    simulated: Simulated = False,
) -> None:
    """Stop every process of the sandbox; the simulated clusters stay on disk and `up` starts them again."""
    from .engine.commands import is_sandbox_stack

    home = SandboxHome.current()
    if stack is not None and not is_sandbox_stack(_load(stack, simulated), home):
        print(f"stack {stack} uses a cluster of its own: the sandbox stays as it is")
        return
    if not home.root.exists():
        print("there is no sandbox: nothing to stop")
        return
    with home.lock():
        stopped = _stop(home)
    print(f"stopped {', '.join(stopped)}" if stopped else "nothing was running")


@app.command()
def reset() -> None:
    """Stop everything and delete the simulated clusters and clouds with the engine's state; built binaries stay."""
    home = SandboxHome.current()
    if not home.root.exists():
        print("there is no sandbox: nothing to delete")
        return
    with home.lock():
        _stop(home)
        home.delete_cluster()
    print(f"deleted the simulated clusters and clouds in {home.root}")


@app.command()
def status() -> None:
    """Show every process of every cluster: pid, port, state, log. Exit status 1 when one does not run."""
    home = SandboxHome.current()
    if not show(home):
        raise typer.Exit(1)


@app.command()
def fault(
    name: Annotated[str | None, typer.Argument(help="what shall go wrong")] = None,
    times: Annotated[int | None, typer.Option(help="how often")] = None,
    seconds: Annotated[int | None, typer.Option(help="how long, on the simulated clock")] = None,
    listed: Annotated[bool, typer.Option("--list", help="show which there are")] = False,
    cleared: Annotated[bool, typer.Option("--clear", help="take back those that have not happened yet")] = False,
) -> None:
    """Make something go wrong in the simulated clouds of this sandbox."""
    from .cloud import fault_orders
    from .cloud.faults import Faults

    home = SandboxHome.current()
    if sum((name is not None, listed, cleared)) != 1:
        raise SandboxError("give the name of one fault, or --list, or --clear", status=2)
    if name is not None:
        print(fault_orders.add(home, name, times, seconds))
    elif cleared:
        fault_orders.clear(home)
        print("nothing goes wrong any more")
    else:
        with Faults(home.cloud).open() as ordered:
            for known, about in fault_orders.names().items():
                print(f"{known}\t{about}{' (ordered, not over yet)' if known in ordered else ''}")


@app.command(context_settings={"ignore_unknown_options": True})
def doctl(arguments: Annotated[list[str], typer.Argument(help="a command of DigitalOcean's `doctl`")]) -> None:
    """Run the sandbox's `doctl` on the simulated account: it lists clusters, pools, versions and sizes, and deletes."""
    from .cloud.account import account_token
    from .cloud.doctl import answer

    home = SandboxHome.current()
    print(answer(arguments, {"DIGITALOCEAN_ACCESS_TOKEN": account_token(home)}, home))


@app.command()
def rail(
    node: Annotated[str, typer.Argument(help="a simulated node")],
    number: Annotated[int, typer.Argument(min=0, max=63, help="number of the rail")],
    state: Annotated[str, typer.Argument(help="slow, missing, sockets, host-memory, corrupt, or well")],
) -> None:
    """Set a rail of a simulated node to a faulty state, or to `well`: a verification of the fabric then finds it."""
    from .rails import set_rail

    print(set_rail(SandboxHome.current(), node, number, state))


@app.command()
def build(
    binaries: Annotated[list[str] | None, typer.Argument(help="binaries or groups; by default what `up` needs")] = None,
    timings: Annotated[
        bool, typer.Option("--timings", help="print which packages took the processor time of the last builds")
    ] = False,
    packed: Annotated[
        Path | None,
        typer.Option("--pack", metavar="DIR", help="pack what `up` needs for a release, with a file for PREBUILT"),
    ] = None,
    url: Annotated[str, typer.Option("--url", help="with --pack: where DIR will be downloaded from")] = "",
) -> None:
    """Build the missing binaries of the toolchain, and print the path of each."""
    from .toolchain.build import graph
    from .toolchain.prebuilt import pack
    from .toolchain.recipes import choose
    from .toolchain.timings import table

    if packed is not None:
        if binaries or timings or not url:
            raise SandboxError("--pack takes --url and nothing else", status=2)
        toolchain = ensure(None, Progress(), built=True)
        places = [(recipe, toolchain.folder(recipe.name)) for recipe in choose(None)]
        print(pack(places, packed, url, "this release, whose attestation covers this file"))
        return
    toolchain = ensure(binaries, Progress())
    for recipe in choose(binaries):
        if timings:
            print(table(recipe.name, graph(recipe)))
            continue
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
    start: Annotated[
        bool, typer.Option("--start", help=f"do `{COMMAND} up` first, if the stack runs on the sandbox")
    ] = False,
) -> None:
    """Run the real engine: for a sandbox stack in the sandbox's own workspace, else with your own Pulumi settings."""
    from .engine.commands import SandboxEngine, is_sandbox_stack, run_elsewhere
    from .missing_keys import values_without_effect
    from .toolchain.build import built_engine

    home = SandboxHome.current()
    place = _load(stack, simulated, coming_up=start or verb in (Verb.UP, Verb.PREVIEW))
    _announce(place, home)
    if not is_sandbox_stack(place, home):
        if verb in _CHANGING and not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise SandboxError(
                f"`{verb.value}` asks before it changes a cluster or an account, and there is no terminal to ask on",
                f"Where that is meant: make {verb.value} STACK={stack} YES=1",
                status=2,
            )
        wishes = {"--json": as_json or verb is Verb.OUTPUTS, "--show-secrets": show_secrets and verb is Verb.OUTPUTS}
        wishes["--yes"] = yes and verb in _CHANGING
        chosen = [option for option, wanted in wishes.items() if wanted]
        programs = [*([home.bin] if home.bin.exists() else []), *built_engine()]
        raise typer.Exit(run_elsewhere(verb.value, place, programs, chosen, say))
    if verb is Verb.UP and place.spec.fabric.planes.mode == "hwplb":
        raise SandboxError(
            f"stack {stack} has planes with mode hwplb: the SR-IOV device plug-in that is played here refuses their "
            "resources named …-unused",
            f"Try mode swplb, or see what it applies: gpu-fabric plan -s {stack}, or make preview STACK={stack}",
            status=2,
        )
    if verb in (Verb.UP, Verb.PREVIEW):
        for line in values_without_effect(place.spec, place.plan):
            say(line)
    toolchain = _start(place, home, say, verb) if start else ensure(None, Progress())
    engine = SandboxEngine(home, toolchain, say)
    if verb is Verb.KUBECONFIG:
        print(engine.kubeconfig(place), end="")
    elif verb is Verb.OUTPUTS:
        print(engine.outputs(place, show_secrets=show_secrets), end="")
    elif verb is Verb.UP:
        raise typer.Exit(engine.up(place, as_json=as_json))
    elif verb is Verb.PREVIEW:
        raise typer.Exit(engine.preview(place, as_json=as_json))
    elif verb is Verb.REFRESH:
        raise typer.Exit(engine.refresh(place))
    else:
        raise typer.Exit(engine.destroy(place))


@app.command()
def doctor(
    stack: StackName = "dev",
    simulated: Simulated = False,
    purpose: Annotated[
        Literal["up", "destroy"], typer.Option("--for", help="the command that shall work afterwards")
    ] = "up",
    yes: Annotated[bool, typer.Option("--yes", help="mend what is the stack's own without a question")] = False,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="FILE", help="write all that is read to a file, without secrets")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Do what `gpu-fabric doctor` does, on a stack of the sandbox: with its cluster, and its workspace of Pulumi."""
    from .engine.commands import SandboxEngine, is_sandbox_stack

    home = SandboxHome.current()
    place = _load(stack, simulated)
    if not is_sandbox_stack(place, home):
        raise SandboxError(
            f"stack {stack} uses a cluster of its own", f"Examine it: gpu-fabric doctor -s {stack}", status=2
        )
    engine = SandboxEngine(home, ensure(None, Progress()), say)
    if bundle is not None:
        engine.bundle(place, bundle)
        return
    raise typer.Exit(engine.doctor(place, purpose=purpose, yes=yes, as_json=as_json))


@app.command()
def acceptance(
    stack: StackName = "dev",
    simulated: Simulated = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask, as in a pipe")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="go on with an acceptance that did not end")] = False,
    destroy: Annotated[
        bool, typer.Option("--destroy", help="destroy what one that did not end has left, and end it")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="of record and report; acceptance-STACK by default")
    ] = None,
) -> None:
    """Do what `gpu-fabric acceptance` does, on the sandbox: with its cluster or clouds, and its workspace of Pulumi."""
    from gpu_fabric.cli.acceptance import mode_of
    from .engine.accepted_stack import AcceptedStack, accept_stack
    from .engine.commands import SandboxEngine, is_sandbox_stack

    home = SandboxHome.current()
    place = _load(stack, simulated, coming_up=True)
    if not is_sandbox_stack(place, home):
        raise SandboxError(
            f"stack {stack} uses a cluster of its own",
            f"Rehearse it: {COMMAND} acceptance -s {stack} --sandbox. On its own cluster or account: gpu-fabric "
            f"acceptance -s {stack}",
            status=2,
        )
    mode = mode_of(resume=resume, destroy=destroy)
    engine = SandboxEngine(home, ensure(None, Progress()), say)

    def start() -> None:
        _start(place, home, say, Verb.UP)

    raise typer.Exit(accept_stack(AcceptedStack(engine, place, start), mode, folder, yes=yes))


def _machines(home: SandboxHome, shape: str, nodes: int) -> dict[str, Any]:
    """The sections of a stack on the sandbox, of which nothing but the nodes is created."""
    pool = {"name": "gpu", "shape": shape, "nodes": nodes}
    cluster = {"provider": "existing", "kubeconfig": str(home.kubeconfig), "pools": [pool]}
    return {"cluster": cluster, "fabric": {"addressing": {"supernet": "172.16.0.0/16"}}}


def _load(name: str, simulated: bool, *, coming_up: bool = False, sections: dict[str, Any] | None = None) -> Stack:
    """The stack with its file, spec and plan; `simulated` puts it on the sandbox, wherever it is meant for.

    `sections` are those of a stack without a file.

    Raises SandboxError (status 2) with everything that keeps it from being planned or, if it is coming up, from that.
    """
    from gpu_fabric.findings import ConfigurationError
    from gpu_fabric.prepare import beyond_this_version, prepare
    from gpu_fabric.spec.load import read_document, stack_file
    from gpu_fabric.spec.stack_text import StackDocument
    from .engine.commands import Stack, is_sandbox_stack, on_the_sandbox

    try:
        if sections is not None:
            file, document = Path(), StackDocument(name=name, file="--shape", root=project_root(), sections=sections)
        else:
            file, document = stack_file(name, project_root()), read_document(name, project_root())
        if simulated:
            document = on_the_sandbox(document, SandboxHome.current())
        spec, plan = prepare(document, for_up=False)
        if coming_up and (refused := beyond_this_version(plan)):
            raise ConfigurationError(refused, file.name)
        stack = Stack(name, file, spec, plan, document.sections if simulated else None)
        if coming_up and not is_sandbox_stack(stack, SandboxHome.current()):
            # Checked before any question. The sandbox writes its own kubeconfig later, so it is not checked here.
            prepare(document, for_up=True)
        return stack
    except ConfigurationError as error:
        without_file = (
            "" if IN_CHECKOUT else f"For a program that has no stack file: {COMMAND} up --shape TYPE --nodes N"
        )
        raise SandboxError(str(error), without_file, status=2) from error


def _start(stack: Stack, home: SandboxHome, tell: Callable[[str], None], before: Verb | None = None) -> Toolchain:
    """Bring up the clusters that a stack of the sandbox needs, and tell what that changed.

    A preview before which the nodes changed gets the reason why it shows nothing of it.
    """
    from .cloud.clusters import ControlPlanes
    from .existing_cluster import play_cluster
    from .kubernetes_api import Api
    from .simulated_nodes import desired_nodes

    began = time.monotonic()
    toolchain = ensure(None, Progress())
    if stack.cloud is not None:
        with home.lock():
            found = ControlPlanes(home, say).start_all()
        tell(f"the cluster comes with stack {stack.name}; clusters of the simulated clouds now: {len(found)}")
        return toolchain
    nodes = desired_nodes(stack.spec)
    with home.lock():
        plane = ControlPlane(home, say, home.remembered_ports())
        started = plane.up(toolchain)
        changes, waiting = play_cluster(Api(home.kubeconfig), stack.spec, nodes, started=started)
    if waiting:
        raise SandboxError(
            f"not ready in time: {', '.join(waiting[:5])}{' …' if len(waiting) > 5 else ''}",
            f"See what the node simulation says: {home.logs / 'kwok.log'}",
        )
    if started or changes:
        tell(f"sandbox up in {duration(time.monotonic() - began)}: {len(nodes)} nodes ({changes}); {home.kubeconfig}")
    else:
        tell(f"sandbox already up: {len(nodes)} nodes, nothing changed; {home.kubeconfig}")
    if before is Verb.PREVIEW and changes:
        tell(
            f"the sandbox's nodes were changed to those of stack {stack.name}: {changes.names}. They stand for "
            "machines that exist, and are no resources of the stack, so the preview shows no difference for them"
        )
    return toolchain


def _announce(stack: Stack, home: SandboxHome) -> None:
    """Print first which cloud a command talks to."""
    from .engine.commands import announcement

    if line := announcement(stack, home):
        say(line)


def _stop(home: SandboxHome) -> list[str]:
    from .cloud.clusters import ControlPlanes
    from .engine.run import Runs
    from .engine.workspace import Workspace

    runs = Runs(Workspace(home))
    runs.require_none()
    engine = ["an interrupted Pulumi run"] if runs.end_leftovers() else []
    planes = ControlPlanes(home, say)
    clusters = [f"cluster {cluster}" for cluster in planes.ids() if planes.stop(cluster)]
    return [*engine, *clusters, *ControlPlane(home, say).down()]


_PROGRAM = partial(app, prog_name=COMMAND)


def _fail(message: str, remedy: str, code: int) -> NoReturn:
    say(f"error: {message}")
    if remedy:
        say(remedy)
    sys.exit(code)


def main(run: Callable[[], None] = _PROGRAM) -> NoReturn:
    """Run the command line; everything a person can cause ends in one message and no traceback."""
    from .kubernetes_api import ApiError

    try:
        run()
    except SandboxError as error:
        _fail(error.message, error.remedy, error.status)
    except ApiError as error:
        _fail(f"the simulated cluster did not answer as expected: {error}", f"See: {COMMAND} status", 1)
    except OSError as error:
        _fail(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), "", 1)
    sys.exit(0)
