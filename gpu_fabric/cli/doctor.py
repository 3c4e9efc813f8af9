"""`gpu-fabric doctor`: names what is damaged in a cluster and in a stack's state, and mends it after a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

from gpu_fabric.base import clock
from gpu_fabric.base.simulators import simulator_of
from gpu_fabric.cli.conversation import Output, is_terminal, print_json, print_lines, refuse, say
from gpu_fabric.cli.kubectl import ClusterError, Kubectl
from gpu_fabric.cli.live_cluster import BundleFile, Context, Kubeconfig, allowed, cluster_of, read_bundle, read_cluster
from gpu_fabric.cli.pulumi_command import Pulumi, PulumiError
from gpu_fabric.cli.stack_choice import StackArgument, StackFile, StackName, chosen_stack, plan_stack
from gpu_fabric.progress import Progress
from gpu_fabric.report.terminal_progress import show_progress

if TYPE_CHECKING:
    from gpu_fabric.findings import Finding, Seen
    from gpu_fabric.live.bundle import Bundle
    from gpu_fabric.live.mending import ClusterWriter
    from gpu_fabric.live.state import StackState
    from gpu_fabric.live.steps import EngineCommand
    from gpu_fabric.plan import Plan
    from gpu_fabric.plan.records import HelmRelease
    from gpu_fabric.spec.stack import StackSpec
    from gpu_fabric.spec.stack_text import StackDocument

# Mending one thing can show the next: a lock, then what the interrupted run left.
_ROUNDS = 5
# Of the plan in a bundle.
_WIDTH = 160

Purpose = Annotated[Literal["up", "destroy"], typer.Option("--for", help="the command that shall work afterwards")]
Yes = Annotated[
    bool, typer.Option("--yes", help="mend what is the stack's own without a question, and nothing of others")
]
Settled = Annotated[
    bool, typer.Option("--settled", help="no other run is at work on the cluster: do not wait for limits of releases")
]


def doctor(
    named: StackArgument = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    purpose: Purpose = "up",
    yes: Yes = False,
    settled: Settled = False,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="FILE", help="write all that is read to a file, without secrets")
    ] = None,
    bundle_file: BundleFile = None,
    output: Output = "text",
) -> None:
    """Name what is damaged in a cluster and in a stack's state, with evidence, and mend it after a question."""
    choice, given = chosen_stack(stack, stack_file, named), read_bundle(bundle_file)
    document, spec, plan = plan_stack(choice, output, given)
    options = DoctorOptions(purpose=purpose, yes=yes, settled=settled, as_json=output == "json")
    pulumi = Pulumi(document.root, document.name, config_file(document.root, document.file, stack_file))
    if given is not None:
        _end(examine(spec, plan, document.root, _Tools(Kubectl(), pulumi), options, bundle=given))
        return
    if plan.part == "cluster" and kubeconfig is None and context is None:
        refuse(f"stack {plan.stack} creates a cluster only; examine the stack with part platform, or give --kubeconfig")
    if kubeconfig is None and (simulator := simulator_of(plan.cluster.kubeconfig or "")):
        say(
            f"the stack runs in the {simulator.name}, whose state of Pulumi is not where `pulumi` looks: "
            f"`{simulator.doctor} -s {plan.stack}` examines that, too"
        )
    tools = _Tools(cluster_of(spec, document.root, kubeconfig, context), pulumi)
    try:
        if bundle is not None:
            write_bundle(bundle, spec, plan, document, tools.kubectl, tools)
            return
        status = examine(spec, plan, document.root, tools, options)
    except ClusterError as error:
        refuse(str(error))
    _end(status)


def _end(status: int) -> None:
    if status:
        raise typer.Exit(status)


def write_bundle(
    file: Path, spec: StackSpec, plan: Plan, document: StackDocument, kubectl: Kubectl, writer: StateReader
) -> None:
    """Write what is read of a stack's cluster and state, and print what is in the file.

    Raises:
        ClusterError: the cluster does not answer.
    """
    try:
        with show_progress() as progress:
            _, lines = taken_bundle(file, spec, plan, document, kubectl, writer, progress)
    except OSError as error:
        refuse(f"{file}: {error.strerror}")
    print_lines(lines)


def taken_bundle(
    file: Path,
    spec: StackSpec,
    plan: Plan,
    document: StackDocument,
    kubectl: Kubectl,
    writer: StateReader,
    progress: Progress,
) -> tuple[Bundle, tuple[str, ...]]:
    """Read a stack's cluster and state, write that to a file, and give it with the lines that say what is in the file.

    Raises:
        ClusterError: the cluster does not answer.
        OSError: the file cannot be written.
    """
    from gpu_fabric import __version__
    from gpu_fabric.live.addresses import STATE_GRACE_S
    from gpu_fabric.live.bundle import LINES, container_logs, record, write
    from gpu_fabric.live.examination import Examination
    from gpu_fabric.live.stack import Stack
    from gpu_fabric.report.console import report_text
    from gpu_fabric.report.text import plan_report

    progress.step("reading the state")
    state, why = state_of(writer)
    stack = Stack(spec, plan)
    case = Examination(
        stack, read_cluster(kubectl), state, clock.seconds(), definitions=_definitions(plan, document.root)
    )
    progress.step("reading the cluster")
    found = record(case, clock.utc(ago=STATE_GRACE_S), document, __version__, why)
    progress.step("reading logs")
    logs = container_logs(found, stack, allowed(partial(kubectl.logs, lines=LINES), every_refusal=True))
    return found, write(file, found, report_text(plan_report(plan), _WIDTH), logs)


class StateReader(Protocol):
    """Reads what Pulumi has recorded of a stack."""

    def state(self) -> StackState:
        """The stack's state. Raises UnreadStateError."""


def state_of(writer: StateReader) -> tuple[StackState | None, str]:
    """The stack's state, or none and why it was not read."""
    from gpu_fabric.live.state import UnreadStateError

    try:
        return writer.state(), ""
    except UnreadStateError as error:
        return None, str(error)


def _definitions(plan: Plan, root: Path) -> Callable[[HelmRelease], tuple[dict[str, Any], ...]]:
    """The definitions that a release's chart has; each chart is read once."""
    from gpu_fabric.cli.programs import chart_definitions

    @cache
    def named(name: str) -> tuple[dict[str, Any], ...]:
        return chart_definitions(next(entry for entry in plan.releases if entry.name == name).chart, root)

    return lambda release: named(release.name)


@dataclass(frozen=True)
class DoctorOptions:
    """The options of the command, as its help describes them."""

    purpose: Literal["up", "destroy"]
    yes: bool
    settled: bool
    as_json: bool


def examine(
    spec: StackSpec,
    plan: Plan,
    root: Path,
    writer: ClusterWriter,
    options: DoctorOptions,
    bundle: Bundle | None = None,
) -> int:
    """Print what is damaged, mend what is agreed to, and give the exit status: 1 where a damage is left.

    Of a `bundle` everything is judged as of the time at which it was read, and nothing can be mended.
    """
    from gpu_fabric.findings import Severity
    from gpu_fabric.live.cluster import Cluster
    from gpu_fabric.live.drift_and_damages import damages
    from gpu_fabric.live.examination import Examination
    from gpu_fabric.live.stack import Stack
    from gpu_fabric.live.text import damages_document, damages_lines

    of_charts = _definitions(plan, root) if bundle is None else bundle.definitions_of

    def examined() -> tuple[tuple[Finding, ...], str]:
        with show_progress() as progress:
            progress.step("reading the state")
            state, why = state_of(writer) if bundle is None else (bundle.stack_state, bundle.why_no_state)
            progress.step("reading the cluster")
            case = Examination(
                stack=Stack(spec, plan),
                cluster=Cluster(writer.read, _nothing_is_created) if bundle is None else bundle.cluster,
                state=state,
                at_s=clock.seconds() if bundle is None else bundle.at_s,
                purpose=options.purpose,
                is_settled=options.settled,
                definitions=of_charts,
            )
            found = damages(case)
            return (found if bundle is None else tuple(map(_without_steps, found))), why

    found, why = examined()
    if not options.as_json:
        print_lines(damages_lines(plan.stack, found, why))
    mended, remaining = _mended(found, writer, lambda: examined()[0], options)
    if options.as_json:
        print_json(damages_document(plan.stack, found, mended, remaining, why))
    elif mended:
        print_lines(damages_lines(plan.stack, remaining, why))
    return 1 if any(entry.severity is not Severity.NOTE for entry in remaining) else 0


def _without_steps(found: Finding) -> Finding:
    return found.model_copy(update={"steps": (), "is_own": False})


def _nothing_is_created(path: str, manifest: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError(f"an examination creates nothing, and asked for {manifest.get('kind')} in {path}")


def _mended(
    found: tuple[Finding, ...],
    writer: ClusterWriter,
    examined: Callable[[], tuple[Finding, ...]],
    options: DoctorOptions,
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """What was done, and what is left; on a terminal after a question, else what is the stack's own by `--yes`."""
    from gpu_fabric.live.mending import MendingError, mend

    reports: list[str] = []
    answered: set[tuple[str, tuple[Seen, ...]]] = set()

    def report(line: str) -> None:
        reports.append(line)
        if not options.as_json:
            print_lines([line])

    can_ask = not options.yes and not options.as_json and is_terminal()
    for _ in range(_ROUNDS):
        new = [entry for entry in found if entry.steps and (entry.id, entry.seen) not in answered]
        own, foreign = [entry for entry in new if entry.is_own], [entry for entry in new if not entry.is_own]
        chosen = own if own and (options.yes or (can_ask and _agrees(own))) else []
        chosen += [entry for entry in foreign if can_ask and _agrees([entry])]
        answered.update((entry.id, entry.seen) for entry in new)
        if not chosen:
            break
        try:
            mend(chosen, writer, report)
        except MendingError as error:
            say(f"not mended: {error}")
            return tuple(reports), examined()
        found = examined()
    return tuple(reports), found


def _agrees(chosen: list[Finding]) -> bool:
    """The answer to a question that names every step."""
    steps = dict.fromkeys(step.words for entry in chosen for step in entry.steps)
    return typer.confirm("\n".join([*(f"  {words}" for words in steps), "Do this?"]), err=True)


def config_file(root: Path, file: str, given: Path | None) -> Path | None:
    """The stack's file where Pulumi would look for another: it looks in the project's folder."""
    path = root / file if given is None else given.absolute()
    return None if path.parent == root.absolute() else path


@dataclass(frozen=True)
class _Tools:
    """The user's kubectl and pulumi."""

    kubectl: Kubectl
    pulumi: Pulumi

    def state(self) -> StackState:
        return self.pulumi.known_state()

    def read(self, path: str) -> dict[str, Any] | None:
        return allowed(self.kubectl.get)(path)

    def replace(self, path: str, item: dict[str, Any]) -> None:
        _mending(lambda: self.kubectl.replace(path, item))

    def delete(self, path: str, preconditions: dict[str, str]) -> None:
        _mending(lambda: self.kubectl.delete(path, preconditions))

    def run(self, command: EngineCommand) -> None:
        from gpu_fabric.live.mending import MendingError

        try:
            self.pulumi.run(command.arguments)
        except PulumiError as error:
            raise MendingError(str(error)) from None


def _mending(request: Callable[[], object]) -> None:
    """A request of kubectl's, with its refusals as those of mending."""
    from gpu_fabric.live.mending import ChangedError, MendingError

    try:
        request()
    except ClusterError as error:
        if error.reason == "Conflict":
            raise ChangedError(str(error)) from None
        raise MendingError(str(error)) from None
