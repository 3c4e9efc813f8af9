"""`gpu-fabric init`: write a new stack file from answers on a terminal, or from options."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpu_fabric.cli.conversation import refuse, refuse_stack, say
from gpu_fabric.cli.shapes import known_shapes
from gpu_fabric.cli.standard_streams import INTERRUPTED
from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.new_stack.answers import without_defaults
from gpu_fabric.new_stack.checking import by_option, from_options, left_open, not_asked, wrong, wrong_name
from gpu_fabric.new_stack.questions import Question, offered_shapes, question_at, questions
from gpu_fabric.new_stack.stack_file import PROGRAM, SCHEMA, Project, kept_of, next_commands, stack_text, title
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.report.console import FittingTable, plain_console
from gpu_fabric.spec.load import document_of
from gpu_fabric.spec.stack import PROVIDERS

if TYPE_CHECKING:
    from gpu_fabric.cli.new_repository import Repository

_Text = str | None


def _option(name: str, **attributes: Any) -> Any:
    """The option of a question."""
    asks = next(question.asks for question in questions() if question.name == name)
    return typer.Option(f"--{name}", help=asks.partition(";")[0], show_default=False, **attributes)


def _providers(incomplete: str) -> list[str]:
    return [name for name in PROVIDERS if name.startswith(incomplete)]


def init(
    named: Annotated[_Text, typer.Argument(metavar="NAME", help="the stack's name")] = None,
    provider: Annotated[_Text, _option("provider", autocompletion=_providers)] = None,
    kubeconfig: Annotated[_Text, _option("kubeconfig")] = None,
    kubeconfig_secret: Annotated[_Text, _option("kubeconfig-secret")] = None,
    context: Annotated[_Text, _option("context")] = None,
    shape: Annotated[_Text, _option("shape", autocompletion=known_shapes)] = None,
    nodes: Annotated[_Text, _option("nodes")] = None,
    region: Annotated[_Text, _option("region")] = None,
    compartment: Annotated[_Text, _option("compartment")] = None,
    kubernetes_version: Annotated[_Text, _option("kubernetes-version")] = None,
    availability_domain: Annotated[_Text, _option("availability-domain")] = None,
    image: Annotated[_Text, _option("image")] = None,
    api_from: Annotated[_Text, _option("api-from")] = None,
    pod_range: Annotated[_Text, _option("pod-range")] = None,
    service_range: Annotated[_Text, _option("service-range")] = None,
    node_range: Annotated[_Text, _option("node-range")] = None,
    model: Annotated[_Text, _option("model")] = None,
    manager: Annotated[_Text, _option("manager")] = None,
    supernet: Annotated[_Text, _option("supernet")] = None,
    purpose: Annotated[_Text, _option("purpose")] = None,
    verification_image: Annotated[_Text, _option("verification-image")] = None,
    repository: Annotated[
        Path | None,
        typer.Option("--repository", metavar="DIR", help="first make a team's repository there, with a stack dev"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace the sections of a file that exists")] = False,
    unasked: Annotated[bool, typer.Option("-y", "--yes", help="ask nothing: take what is suggested")] = False,
) -> None:
    """Ask for a cluster and its machines, and write the stack file."""
    # Parameters alone: nothing else is local yet.
    answers = {name.replace("_", "-"): value for name, value in locals().items()}
    given = {question.name: text for question in questions() if (text := answers[question.name]) is not None}
    if kubeconfig is not None and kubeconfig_secret is not None:
        refuse("the kubeconfig is a file (--kubeconfig) or a secret key (--kubeconfig-secret): leave one out")
    if repository is not None and named is None and given:
        refuse(f"--{next(iter(given))} is an answer for a stack: give its NAME as well, or leave the answers out")
    target = _target(repository, named)
    if repository is not None and named is None:
        target.write({})
        return
    if unasked or not (sys.stdin.isatty() and sys.stderr.isatty()):
        name = named or ""
        told = {option for option, text in given.items() if text}
        try:
            given = from_options(name, given, target.root)
        except ConfigurationError as error:
            refuse_stack(error)
        if target.file(name).exists() and not force:
            refuse(f"{target.file(name).name} exists: give another NAME, or --force to replace its sections")
    else:
        try:
            given = _Interview(target, given).ask(named, force=force)
        except (typer.Abort, KeyboardInterrupt):
            say("\nnothing was written")
            raise typer.Exit(INTERRUPTED) from None
        told = {question for question, text in given.items() if text}
    _write(target, given, told)


@dataclass(frozen=True)
class _Target:
    """The folder of the new file, and the repository that is made there with it."""

    root: Path
    project: Project
    repository: Repository | None

    def file(self, name: str) -> Path:
        """The file of a stack."""
        return self.root / f"Pulumi.{name}.yaml"

    def text(self, answers: dict[str, str]) -> str:
        """The file of the answers, as it will be written."""
        file = self.file(answers["name"])
        kept = kept_of(file) if file.exists() else {}
        return stack_text(without_defaults(answers, self.root), project=self.project, kept=kept)

    def plan(self, answers: dict[str, str]) -> Plan:
        """The plan of that file."""
        file = self.file(answers["name"]).name
        document = document_of(self.text(answers), answers["name"], self.root, file)
        return prepare(document, for_up=False).plan

    def write(self, files: Mapping[Path, bytes]) -> None:
        """Write these files, after those of the repository, or none of both; refuses what cannot be written."""
        made = {} if self.repository is None else self.repository.files
        try:
            _write_all({path: content for path, content in made.items() if path not in files} | dict(files))
        except OSError as error:
            refuse(f"{error.filename or self.root} cannot be written: {error.strerror}; nothing was written")
        if self.repository is not None:
            say("\n".join(self.repository.says))


def _target(repository: Path | None, stack: str | None) -> _Target:
    if repository is not None:
        # Imported here: no other use of this command needs it.
        from gpu_fabric.cli.new_repository import repository_of

        return _Target(repository, "repository", repository_of(repository, stack))
    root = Path.cwd()
    program = root / "__main__.py"
    if (root / SCHEMA).is_file():
        return _Target(root, "checkout", None)
    uses_package = program.is_file() and PROGRAM in program.read_text("utf-8", "replace")
    return _Target(root, "repository" if uses_package else None, None)


class _Interview:
    """Asks on a terminal. What options gave is not asked for, unless it is wrong."""

    def __init__(self, target: _Target, given: dict[str, str]) -> None:
        self.target = target
        self.root = target.root
        self.given = given
        self.answers: dict[str, str] = {}

    def ask(self, name: str | None, *, force: bool) -> dict[str, str]:
        """The answers, with which the whole stack can be planned."""
        say("Enter takes what is in brackets. Ctrl-C stops: all is written at the end.")
        self.answers["name"] = self._name(name, force)
        self._ask_all(questions())
        while error := self._refusal():
            again = [question for entry in error.findings if (question := question_at(entry.path)) is not None]
            before = dict(self.answers)
            _show(error.findings)
            self._ask_all(again)
            if self.answers == before:
                refuse_stack(error)
        return self.answers

    def _ask_all(self, questions: Iterable[Question]) -> None:
        for question in questions:
            known = {**self.given, **self.answers}
            if question.name in self.given or question.is_asked(known, self.root):
                self.answers[question.name] = self._answer(question)
            if question.name == "provider":
                self._drop_others()

    def _refusal(self) -> ConfigurationError | None:
        """Why the stack as a whole cannot be planned."""
        try:
            self.target.plan(self.answers)
        except ConfigurationError as error:
            return error
        return None

    def _name(self, name: str | None, force: bool) -> str:
        while True:
            text = _ask("name of the stack") if name is None else name
            name = None
            if found := wrong_name(text):
                _show(found)
                continue
            file = self.target.file(text)
            if not file.exists():
                return text
            try:
                kept_of(file)
            except ConfigurationError as error:
                refuse_stack(error)
            if force or typer.confirm(f"{file.name} exists: replace its sections?", err=True):
                return text

    def _answer(self, question: Question) -> str:
        # What an option gave for a later question narrows the choices of this one.
        known = {**self.given, **self.answers}
        # Machine types are in a table.
        allowed = () if question.name == "shape" else question.allowed(known, self.root)
        suggested = self.answers.get(question.name) or question.suggest(known, self.root)
        if question.by_default and allowed == (suggested,) and question.name not in self.given:
            return allowed[0]
        if question.name == "shape" and "shape" not in self.given:
            self._show_shapes()
        while True:
            text = self.given.pop(question.name, None)
            if text is None:
                text = _prompt(question, allowed, suggested)
            if not text and question.required:
                say("  an answer is required")
                continue
            trial = {**self.answers, question.name: text}
            if text and (found := wrong(question, trial, self.root)):
                _show(found)
                continue
            return text

    def _drop_others(self) -> None:
        """Leave out what options gave for other providers."""
        _show(not_asked({**self.given, "provider": self.answers["provider"]}), option=True)
        self.given = {
            question.name: text
            for question in questions()
            if question.is_for(self.answers) and (text := self.given.get(question.name)) is not None
        }

    def _show_shapes(self) -> None:
        rows = (
            (shape.name, f"{shape.gpus.count} {shape.gpus.model or shape.gpus.vendor}", str(shape.rails))
            for shape in offered_shapes(self.answers["provider"])
        )
        plain_console(stderr=True).print(FittingTable(("shape", "GPUs", "RDMA NICs"), rows, right=("RDMA NICs",)))


def _prompt(question: Question, allowed: tuple[str, ...], suggested: str | None) -> str:
    choices = f" ({', '.join(allowed)})" if len(allowed) > 1 else ""
    return _ask(f"{question.asks}{choices}", suggested or "")


def _ask(text: str, default: str = "") -> str:
    return str(typer.prompt(text, default=default, show_default=bool(default), err=True)).strip()


def _show(findings: Iterable[Finding], *, option: bool = False) -> None:
    for entry in findings:
        say("\n".join((entry if option else entry.model_copy(update={"path": ""})).lines("  ")))


def _write(target: _Target, answers: dict[str, str], told: set[str]) -> None:
    """Write the file, and print what comes next; `told` are the answers that the user gave."""
    file = target.file(answers["name"])
    try:
        plan = target.plan(answers)
        text = target.text(answers)
    except ConfigurationError as error:
        refuse_stack(ConfigurationError([by_option(entry) for entry in error.findings], error.file))
    target.write({file: text.encode()})
    choices = plan.choices
    say(f"{file.name}: {title(answers)}, {len(plan.rails)} rails, {choices.model} by {choices.manager}. Next:")
    say("\n".join(f"  {command}" for command in next_commands(answers, project=target.project)))
    if missing := tuple(left_open(plan, answers, told)):
        count = "1 answer is" if len(missing) == 1 else f"{len(missing)} answers are"
        say(f"{count} missing for `up`: correct the file, or give the options, with --force")
        say("\n".join(f"  {line}" for line in missing))


def _write_all(files: Mapping[Path, bytes]) -> None:
    """Write every file or none, of which the last may replace one; an interrupt leaves nothing either."""
    unfinished = {path: path.with_name(f".{path.name}.new") for path in files}
    places = (place for path in files for place in (path, unfinished[path], *path.parents))
    # Before the first is made: an interrupt may come after any of them.
    fresh = sorted({place for place in places if not os.path.lexists(place)}, reverse=True)
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished[path].write_bytes(content)
        for path, written in unfinished.items():
            written.replace(path)
    except BaseException:
        for place in fresh:
            # What was not made yet is not there, and a folder may have files of others by now.
            with suppress(OSError):
                place.rmdir() if place.is_dir() else place.unlink()
        raise
