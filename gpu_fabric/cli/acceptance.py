"""`gpu-fabric acceptance`: a stack's whole life on an account or cluster, once, and a report of what differed."""

from __future__ import annotations

import getpass
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

from gpu_fabric import __version__
from gpu_fabric.base import clock
from gpu_fabric.base.simulators import simulator_of, simulators
from gpu_fabric.cli.app import added_commands
from gpu_fabric.cli.conversation import is_terminal, print_lines, refuse, say
from gpu_fabric.cli.kubectl import ClusterError, Kubectl, kubectl_program
from gpu_fabric.cli.live_cluster import cluster_of, private_file
from gpu_fabric.cli.pulumi_command import Pulumi, PulumiError
from gpu_fabric.cli.stack_choice import StackArgument, StackName, chosen_stack, plan_stack, planning
from gpu_fabric.cli.standard_streams import INTERRUPTED
from gpu_fabric.report.terminal_progress import show_progress

if TYPE_CHECKING:
    from gpu_fabric.live.acceptance import AcceptanceRecord, StepName
    from gpu_fabric.live.state import StackState
    from gpu_fabric.plan import Plan
    from gpu_fabric.spec.stack import StackSpec
    from gpu_fabric.spec.stack_text import StackDocument

Mode = Literal["new", "resume", "destroy"]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask, as in a pipe")]
Resume = Annotated[bool, typer.Option("--resume", help="go on with an acceptance that did not end")]
Destroy = Annotated[bool, typer.Option("--destroy", help="destroy what one that did not end has left, and end it")]
Folder = Annotated[
    Path | None, typer.Option("--folder", metavar="DIR", help="of record and report; acceptance-STACK by default")
]


def acceptance(
    named: StackArgument = None,
    stack: StackName = None,
    yes: Yes = False,
    resume: Resume = False,
    destroy: Destroy = False,
    folder: Folder = None,
    on_sandbox: Annotated[
        bool, typer.Option("--sandbox", help="rehearse it on the sandbox: nothing is created elsewhere, or paid for")
    ] = False,
) -> None:
    """Bring a stack up, examine it, bring it up again, destroy it; then report what differed from the plan."""
    choice, mode = chosen_stack(stack, None, named), mode_of(resume=resume, destroy=destroy)
    document, spec, plan = plan_stack(choice)
    if on_sandbox or simulator_of(plan.cluster.kubeconfig or ""):
        given = {"--yes": yes, "--resume": resume, "--destroy": destroy, "--sandbox": on_sandbox}
        options = [option for option, is_given in given.items() if is_given]
        _run_simulated(["-s", choice.name, *options, *(["--folder", str(folder)] if folder else [])])
        return
    if (document.root / document.file).parent != document.root:
        own = Path(document.file).name
        refuse(
            f"stack {plan.stack} is an example, and Pulumi writes a stack's encryption into its file: copy it and make "
            f"the copy yours (cp {document.file} {own}), or rehearse it as it is: gpu-fabric acceptance "
            f"-s {plan.stack} --sandbox"
        )
    if mode != "destroy":
        from gpu_fabric.prepare import prepare

        with planning() as progress:
            prepare(document, for_up=True, progress=progress)
        try:
            kubectl_program()
        except ClusterError as error:
            refuse(str(error))
    trial = Trial(spec, plan, document, folder or Path(f"acceptance-{plan.stack}"), _where(spec, document))
    status = accept(trial, _OwnEngine(spec, plan, document), mode, yes=yes)
    if status:
        raise typer.Exit(status)


def mode_of(*, resume: bool, destroy: bool) -> Mode:
    """What the options ask for; refuses both at once."""
    if resume and destroy:
        refuse("--resume does all steps that are left, and --destroy the last alone: leave one out")
    return "resume" if resume else "destroy" if destroy else "new"


def _run_simulated(options: list[str]) -> None:
    """Run the acceptance of the simulator's own package, which has its engine and cluster."""
    known = [added_commands()[one.name] for one in simulators() if one.name in added_commands()]
    if not known:
        refuse("the sandbox is not installed: docs/starting.md says how")
    sys.argv = [known[0].name, "acceptance", *options]
    known[0].load()()


class AcceptanceEngine(Protocol):
    """Pulumi and the cluster of one stack."""

    def version(self) -> str:
        """The version of Pulumi's command line. Raises PulumiError."""

    def create(self) -> None:
        """Create the stack without resources, where it does not exist. Raises PulumiError."""

    def state(self) -> StackState:
        """What is recorded of the stack. Raises UnreadStateError."""

    def show(self, verb: str, events: Path) -> int:
        """Run `up` or `destroy` without a question; its events go to a file. Raises PulumiError, KeyboardInterrupt."""

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secret ones masked. Raises PulumiError."""

    def kubectl(self) -> AbstractContextManager[Kubectl]:
        """The cluster of the stack. Raises PulumiError."""


@dataclass(frozen=True)
class Trial:
    """What is accepted: the stack, the folder of record and report, and where it comes up, in words.

    `command` is what a person types to go on.
    """

    spec: StackSpec
    plan: Plan
    document: StackDocument
    folder: Path
    where: str
    is_simulated: bool = False
    command: str = "gpu-fabric acceptance"

    def to_go_on(self, option: str) -> str:
        """The command with an option, for this acceptance."""
        own = "" if self.folder.name == f"acceptance-{self.plan.stack}" else f" --folder {self.folder}"
        return f"{self.command} -s {self.plan.stack} {option}{own}"


def accept(trial: Trial, engine: AcceptanceEngine, mode: Mode, *, yes: bool) -> int:
    """Go through the steps that are due, and write the report after each; gives the exit status.

    It is 0 where all steps were done and nothing differed. A step that fails ends it; a difference does not.
    """
    from gpu_fabric.live.acceptance import REPORT

    record = _record(trial, engine, mode)
    steps = record.due if mode != "destroy" else record.due[-1:]
    _print_statement(trial, record, steps)
    _ask(trial, mode, yes=yes)
    try:
        engine.create()
        trial.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        refuse(f"{trial.folder}: {error.strerror}")
    except PulumiError as error:
        refuse(str(error))
    status = 0
    for step in steps:
        record = _done(trial, engine, record, step)
        if not record.attempts[-1].is_done:
            status = INTERRUPTED if record.attempts[-1].outcome == "interrupted" else 1
            break
    _print_outcome(trial, record)
    print_lines([f"report, without secrets and ids of accounts; read it before you send it: {trial.folder / REPORT}"])
    return status or (0 if record.is_good else 1)


def _record(trial: Trial, engine: AcceptanceEngine, mode: Mode) -> AcceptanceRecord:
    """The record to go on with, or a new one; refuses what would destroy a stack that is not the acceptance's."""
    from pydantic import ValidationError

    from gpu_fabric.live.acceptance import RECORD, REPORT, VERSION, AcceptanceRecord, is_work, new_record
    from gpu_fabric.live.state import UnreadStateError

    file, stack = trial.folder / RECORD, trial.plan.stack
    if trial.plan.part != "all":
        refuse(f"stack {stack} is one part of a pair; accept a copy without split, which has both parts")
    if getattr(trial.spec.cluster, "protect", False):
        refuse(f"stack {stack} is protected from being destroyed (cluster.protect); accept a copy without that")
    found = None
    try:
        found = AcceptanceRecord.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        pass
    except (OSError, ValidationError):
        refuse(f"{file} is not the record of an acceptance: move it, or name another folder by --folder")
    if found is not None and (found.version, found.stack) != (VERSION, stack):
        refuse(f"{file} is of stack {found.stack}, version {found.version}: name another folder by --folder")
    if mode != "new":
        if found is None:
            refuse(f"no acceptance of stack {stack} has begun: there is no {file}")
        if not found.due:
            refuse(f"the acceptance of stack {stack} has ended: see {trial.folder / REPORT}")
        return found.continued(trial.plan, trial.document)
    if found is not None and found.due:
        refuse(
            f"an acceptance of stack {stack} did not end.\ngo on with it: {trial.to_go_on('--resume')}\n"
            f"or destroy what it has left: {trial.to_go_on('--destroy')}"
        )
    if found is not None:
        refuse(f"{trial.folder} has the report of an acceptance that has ended: move it, or name another by --folder")
    try:
        known = [entry for entry in engine.state().resources if is_work(entry)]
    except UnreadStateError as error:
        refuse(f"the state of stack {stack} was not read: {error}")
    if known:
        refuse(
            f"stack {stack} is up, with {len(known)} resources, which an acceptance would destroy: accept a copy of "
            "its file under another name"
        )
    return new_record(trial.plan, trial.document, __version__, is_simulated=trial.is_simulated)


def _print_statement(trial: Trial, record: AcceptanceRecord, steps: tuple[StepName, ...]) -> None:
    from rich.console import Group
    from rich.text import Text

    from gpu_fabric.live.acceptance import statement_rows
    from gpu_fabric.report.console import Pairs
    from gpu_fabric.report.text import print_report

    rows = {"steps": ", then ".join(steps), "where": trial.where}
    if steps[0] != "destroy":
        rows |= {**statement_rows(trial.plan, record), "the whole plan": f"gpu-fabric plan -s {trial.plan.stack}"}
    print_report(Group(Text(f"Acceptance of stack {trial.plan.stack}", style="bold"), Pairs(rows)))


def _ask(trial: Trial, mode: Mode, *, yes: bool) -> None:
    if yes:
        return
    if not is_terminal():
        refuse("it asks before it begins, and there is no terminal to ask on: repeat the command with --yes")
    question = "Destroy it?" if mode == "destroy" else "Create this, and destroy it at the end?"
    try:
        status = 0 if typer.confirm(question, err=True) else 1
    except typer.Abort:
        status = INTERRUPTED
        say("")
    if status:
        say("nothing was done")
        raise typer.Exit(status)


def _done(trial: Trial, engine: AcceptanceEngine, record: AcceptanceRecord, step: StepName) -> AcceptanceRecord:
    """The record with one more attempt at a step."""
    from gpu_fabric.live.acceptance import STEPS, Attempt

    began = clock.seconds()
    attempt = Attempt(step=step, began=clock.utc())
    print(f"step {STEPS.index(step) + 1} of {len(STEPS)}: {step}, {attempt.began}", flush=True)
    before = record.attempts
    record = _saved(trial, record.model_copy(update={"attempts": (*before, attempt)}))
    update, kept = dict[str, Any](), dict[str, Any]()
    try:
        update = {} if step == "examination" else _run(trial, engine, step)
        # What came of an `up` that failed is worth more than its error alone.
        if step == "examination" or (step == "up" and update["outcome"] == "failed"):
            seen = _examined(trial, engine)
            update = {**seen.update(), **update, "problems": (*update.get("problems", ()), *seen.problems)}
            kept = seen.kept
    except KeyboardInterrupt:
        update["outcome"] = "interrupted"
    kept["left"] = _left(trial, engine)
    if step == "destroy" and update["outcome"] == "done" and kept["left"]:
        update = {**update, "outcome": "failed", "problems": kept["left"]}
    attempt = attempt.model_copy(update={**update, "seconds": clock.seconds() - began})
    return _saved(trial, record.model_copy(update={"attempts": (*before, attempt), **kept}))


def _run(trial: Trial, engine: AcceptanceEngine, step: StepName) -> dict[str, Any]:
    """The fields of an attempt at a run of Pulumi, also of one that was interrupted."""
    from gpu_fabric.live.acceptance import run_differences
    from gpu_fabric.live.engine_run import engine_run

    verb, cluster = "destroy" if step == "destroy" else "up", trial.plan.cluster
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events"
        try:
            status: int | None = engine.show(verb, events)
        except KeyboardInterrupt:
            status = None
        except PulumiError as error:
            return {"outcome": "failed", "problems": (str(error),)}
        lines = events.read_text(encoding="utf-8", errors="replace").splitlines() if events.exists() else []
    run = engine_run(lines, cluster.oke or cluster.doks)
    if status is None:
        return {"outcome": "interrupted", "run": run}
    if status != 0:
        problems = () if run.errors else (f"`pulumi {verb}` ended with {status}; what it printed says why",)
        return {"outcome": "failed", "run": run, "problems": problems}
    differ = run_differences(run) if step == "second up" else ()
    return {"outcome": "differs" if differ else "done", "run": run, "differences": differ}


class _Seen:
    """What an examination finds: differences, problems, and what the record keeps."""

    def __init__(self) -> None:
        self.differences, self.problems, self.kept = list[str](), list[str](), dict[str, Any]()
        self.versions = {"gpu-fabric": __version__, "Python": platform.python_version(), "system": platform.platform()}

    def update(self) -> dict[str, Any]:
        """The fields of an attempt at the examination."""
        outcome = "differs" if self.problems or self.differences else "done"
        return {"outcome": outcome, "differences": tuple(self.differences)}


def _examined(trial: Trial, engine: AcceptanceEngine) -> _Seen:
    """All that differs between plan, outputs, cluster and nodes; what cannot be read is a problem, and ends nothing."""
    from gpu_fabric.live.acceptance import output_differences, verification_lines

    seen = _Seen()
    seen.versions |= {f"chart {one.name}": one.chart.version for one in trial.plan.releases}
    seen.kept["versions"] = seen.versions
    try:
        seen.versions["Pulumi"] = engine.version()
        outputs = engine.outputs()
        seen.differences += output_differences(trial.plan, outputs) if outputs else ()
        seen.problems += () if outputs else ("the stack has no outputs",)
        seen.kept["verification"], failed = verification_lines(outputs)
        seen.differences += failed
        with engine.kubectl() as kubectl:
            _examine_cluster(trial, engine, kubectl, seen)
    except (PulumiError, ClusterError) as error:
        seen.problems.append(str(error))
    except OSError as error:
        seen.problems.append(f"{error.filename}: {error.strerror}")
    return seen


def _examine_cluster(trial: Trial, engine: AcceptanceEngine, kubectl: Kubectl, seen: _Seen) -> None:
    """Raises ClusterError, and OSError where the bundle cannot be written."""
    from gpu_fabric.cli.doctor import taken_bundle
    from gpu_fabric.cli.node_look import cluster_text, default_image, look_at
    from gpu_fabric.discover.look_job import NAMESPACE
    from gpu_fabric.live import acceptance
    from gpu_fabric.live.drift_and_damages import damages, drift
    from gpu_fabric.live.examination import Examination
    from gpu_fabric.live.stack import Stack

    stack, file = Stack(trial.spec, trial.plan), trial.folder / acceptance.BUNDLE
    with show_progress() as progress:
        bundle, _ = taken_bundle(file, trial.spec, trial.plan, trial.document, kubectl, engine, progress)
        cluster = bundle.cluster
        case = Examination(stack, cluster, bundle.stack_state, bundle.at_s, definitions=bundle.definitions_of)
        seen.differences += acceptance.finding_texts((*drift(stack, cluster, bundle.overdue), *damages(case)))
        seen.versions |= acceptance.cluster_versions(cluster)
        progress.step("reading the nodes")
        text, forbidden = cluster_text(kubectl)
    seen.problems += forbidden
    looks = dict[str, str]()
    for node in acceptance.nodes_to_look_at(text, stack, cluster):
        try:
            looks[node] = look_at(kubectl, node, NAMESPACE, default_image(), say)
        except ClusterError as error:
            seen.problems.append(str(error))
    seen.kept["machines"], differ = acceptance.machines_seen(text, trial.plan, looks)
    seen.differences += differ


def _left(trial: Trial, engine: AcceptanceEngine) -> tuple[str, ...]:
    from gpu_fabric.cli.doctor import state_of
    from gpu_fabric.live.acceptance import left_lines

    return left_lines(trial.plan, *state_of(engine), trial.to_go_on("--destroy"))


def _print_outcome(trial: Trial, record: AcceptanceRecord) -> None:
    from rich.console import Group
    from rich.text import Text

    from gpu_fabric.live.acceptance_report import outcome_rows
    from gpu_fabric.report.console import Pairs
    from gpu_fabric.report.text import print_report

    rows = [(name, ", ".join(filter(None, rest))) for name, *rest in outcome_rows(record)]
    print_report(Group(Text(f"\nAcceptance of stack {trial.plan.stack}", style="bold"), Pairs(dict(rows))))
    print_lines([record.verdict, *(record.left or ("nothing is left of the stack",))])
    if record.left and record.due:
        print_lines([f"or go on, once what stopped it is mended: {trial.to_go_on('--resume')}"])


def _saved(trial: Trial, record: AcceptanceRecord) -> AcceptanceRecord:
    """Write record and report whole, so that a killed command leaves those of before; a full disk ends nothing."""
    from gpu_fabric.live.acceptance import RECORD, REPORT
    from gpu_fabric.live.acceptance_report import report_text

    names = [str(Path.home()), platform.node()]
    with suppress(OSError, KeyError):
        names.append(getpass.getuser())
    texts = {RECORD: record.model_dump_json(indent=1), REPORT: report_text(record, (n for n in names if n != "root"))}
    for name, text in texts.items():
        new = trial.folder / f".{name}"
        try:
            new.touch(mode=0o600)
            new.write_text(text, encoding="utf-8")
            new.replace(trial.folder / name)
        except OSError as error:
            say(f"not written: {trial.folder / name}: {error.strerror}")
    return record


def _where(spec: StackSpec, document: StackDocument) -> str:
    """The account or cluster of a stack, as a person knows it."""
    from gpu_fabric.spec.existing import ExistingClusterSpec
    from gpu_fabric.spec.kubeconfig import kubeconfig_path, reached

    cluster = spec.cluster
    if not isinstance(cluster, ExistingClusterSpec):
        return {"doks": "DigitalOcean, with your account", "oke": "Oracle, with your account"}[cluster.provider]
    path = kubeconfig_path(cluster, document.root)
    if path is None:
        return f"the cluster that the secret {cluster.kubeconfig_secret} of the configuration leads to"
    try:
        return f"{reached(path.read_text(encoding='utf-8'), cluster.context)} ({path})"
    except (OSError, ValueError) as error:
        refuse(f"{path}: {error}")


@dataclass(frozen=True)
class _OwnEngine:
    """The user's pulumi, with the login that it has, and kubectl with the stack's kubeconfig."""

    spec: StackSpec
    plan: Plan
    document: StackDocument

    @property
    def _pulumi(self) -> Pulumi:
        return Pulumi(self.document.root, self.document.name)

    def version(self) -> str:
        return self._pulumi.version()

    def create(self) -> None:
        self._pulumi.create()

    def state(self) -> StackState:
        return self._pulumi.known_state()

    def show(self, verb: str, events: Path) -> int:
        return self._pulumi.show(verb, events)

    def outputs(self) -> dict[str, Any]:
        return self._pulumi.outputs()

    @contextmanager
    def kubectl(self) -> Iterator[Kubectl]:
        if self.plan.cluster.kubeconfig is not None:
            yield cluster_of(self.spec, self.document.root, None, None)
            return
        with private_file(self._pulumi.secret_output("kubeconfig")) as file:
            yield Kubectl(file, self.plan.cluster.context)
