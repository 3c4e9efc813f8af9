"""`gpu-fabric doctor`: names what is damaged in a cluster and in a stack's state, and mends it after a question."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpu_fabric.base import clock
from gpu_fabric.cli.conversation import Output, print_json, refuse, say
from gpu_fabric.cli.kubectl import ClusterError, Kubectl
from gpu_fabric.cli.live_cluster import allowed, cluster_of
from gpu_fabric.cli.pulumi_command import Pulumi, PulumiError
from gpu_fabric.cli.stack_choice import StackArgument, StackFile, StackName, chosen_stack, planning
from gpu_fabric.report.terminal_progress import show_progress

if TYPE_CHECKING:
    from gpu_fabric.findings import Finding, Seen
    from gpu_fabric.live.mending import ClusterWriter
    from gpu_fabric.live.state import StackState
    from gpu_fabric.live.steps import EngineCommand
    from gpu_fabric.plan import Plan
    from gpu_fabric.plan.records import HelmRelease
    from gpu_fabric.spec.stack import StackSpec

# Mending one thing can show the next: a lock, then what the interrupted run left.
_ROUNDS = 5

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
    kubeconfig: Annotated[
        Path | None, typer.Option(help="the kubeconfig; by default the stack file's, where it names a file")
    ] = None,
    context: Annotated[str | None, typer.Option(help="its context; by default the stack file's")] = None,
    purpose: Purpose = "up",
    yes: Yes = False,
    settled: Settled = False,
    output: Output = "text",
) -> None:
    """Name what is damaged in a cluster and in a stack's state, with evidence, and mend it after a question."""
    choice = chosen_stack(stack, stack_file, named)
    with planning(output) as progress:
        from gpu_fabric.base.simulators import simulator_of
        from gpu_fabric.prepare import prepare

        progress.step(f"reading stack {choice.name}")
        document = choice.read()
        spec, plan = prepare(document, for_up=False, progress=progress)
    if plan.part == "cluster" and kubeconfig is None and context is None:
        refuse(f"stack {plan.stack} creates a cluster only; examine the stack with part platform, or give --kubeconfig")
    if kubeconfig is None and (simulator := simulator_of(plan.cluster.kubeconfig or "")):
        say(
            f"the stack runs in the {simulator.name}, whose state of Pulumi is not where `pulumi` looks: "
            f"`{simulator.doctor} -s {plan.stack}` examines that, too"
        )
    kubectl = cluster_of(spec, document.root, kubeconfig, context)
    pulumi = Pulumi(document.root, document.name, _config_file(document.root, document.file, stack_file))
    try:
        status = examine(
            spec,
            plan,
            document.root,
            _Tools(kubectl, pulumi),
            DoctorOptions(purpose=purpose, yes=yes, settled=settled, as_json=output == "json"),
        )
    except ClusterError as error:
        refuse(str(error))
    if status:
        raise typer.Exit(status)


@dataclass(frozen=True)
class DoctorOptions:
    """The options of the command, as its help describes them."""

    purpose: Literal["up", "destroy"]
    yes: bool
    settled: bool
    as_json: bool


def examine(spec: StackSpec, plan: Plan, root: Path, writer: ClusterWriter, options: DoctorOptions) -> int:
    """Print what is damaged, mend what is agreed to, and give the exit status: 1 where something is left."""
    from gpu_fabric.cli.helm_command import chart_definitions
    from gpu_fabric.live.cluster import Cluster
    from gpu_fabric.live.drift_and_damages import damages
    from gpu_fabric.live.examination import Examination
    from gpu_fabric.live.stack import Stack
    from gpu_fabric.live.state import UnreadStateError
    from gpu_fabric.live.text import damages_document, damages_lines

    @cache
    def definitions(name: str) -> tuple[dict[str, Any], ...]:
        return chart_definitions(next(entry for entry in plan.releases if entry.name == name).chart, root)

    def of_chart(release: HelmRelease) -> tuple[dict[str, Any], ...]:
        return definitions(release.name)

    def examined() -> tuple[tuple[Finding, ...], str]:
        with show_progress() as progress:
            progress.step("reading the state")
            state, why = None, ""
            try:
                state = writer.state()
            except UnreadStateError as error:
                why = str(error)
            progress.step("reading the cluster")
            case = Examination(
                stack=Stack(spec, plan),
                cluster=Cluster(writer.read, _nothing_is_created),
                state=state,
                at_s=clock.seconds(),
                purpose=options.purpose,
                is_settled=options.settled,
                definitions=of_chart,
            )
            return damages(case), why

    found, why = examined()
    if not options.as_json:
        print("\n".join(damages_lines(plan.stack, found, why)), flush=True)
    mended, remaining = _mended(found, writer, lambda: examined()[0], options)
    if options.as_json:
        print_json(damages_document(plan.stack, found, mended, remaining, why))
    elif mended:
        print("\n".join(damages_lines(plan.stack, remaining, why)))
    return 1 if remaining else 0


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
            print(line, flush=True)

    can_ask = not options.yes and not options.as_json and _is_terminal()
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


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _agrees(chosen: list[Finding]) -> bool:
    """The answer to a question that names every step."""
    steps = dict.fromkeys(step.words for entry in chosen for step in entry.steps)
    return typer.confirm("\n".join([*(f"  {words}" for words in steps), "Do this?"]), err=True)


def _config_file(root: Path, file: str, given: Path | None) -> Path | None:
    """The stack's file where Pulumi would look for another: it looks in the project's folder."""
    path = root / file if given is None else given.absolute()
    return None if path.parent == root.absolute() else path


@dataclass(frozen=True)
class _Tools:
    """The user's kubectl and pulumi."""

    kubectl: Kubectl
    pulumi: Pulumi

    def state(self) -> StackState:
        from gpu_fabric.live.state import UnreadStateError

        try:
            return self.pulumi.state()
        except PulumiError as error:
            raise UnreadStateError(str(error)) from None

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
