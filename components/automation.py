"""Stacks from Python: plan, preview, bring up, read and destroy, by Pulumi's Automation API.

    from gpu_fabric.components.automation import FabricStack, FailedRunError, RefusedError, Sections

A stack is a stack file, or its sections as Python values. Its program is that of a checkout, which runs in a process of
its own, or a function that registers resources for the plan, which runs in this process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pulumi import automation
from pulumi.automation.events import EngineEvent

from gpu_fabric.base.yaml_files import as_yaml
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file
from gpu_fabric.spec.places import NAMESPACE
from gpu_fabric.spec.stack_text import StackDocument

Program = Callable[[Plan], None]
"""A program that registers the resources of a plan, and exports outputs."""
Listener = Callable[[str], None]
"""Receives what Pulumi prints, line by line."""

_PROVIDERS = ["kubernetes", "digitalocean", "oci"]
# What Pulumi writes into a stack's file besides its configuration.
_ENCRYPTION = ("secretsprovider", "encryptedkey", "encryptionsalt")
_COLOR = re.compile(r"<\{%.*?%\}>")


class StackError(Exception):
    """A stack was not planned, previewed, brought up or destroyed; `stack` is its name."""

    def __init__(self, stack: str, message: str) -> None:
        self.stack = stack
        super().__init__(message)


class RefusedError(StackError):
    """The stack's configuration cannot work: Pulumi was not started, and nothing was changed.

    `findings` has every problem, each with its rule's id, its path, its message and its remedy, and with line and
    column where the stack has a file. The text is that of the command line.
    """

    def __init__(self, stack: str, refusal: ConfigurationError) -> None:
        self.findings: tuple[Finding, ...] = refusal.located
        super().__init__(stack, str(refusal))


class FailedRunError(StackError):
    """A run of Pulumi failed: the guard refused a loss, a cluster was not reached, or a provider reported an error.

    `problems` are the errors of the run as Pulumi reported them, without the output around them.
    """

    def __init__(self, stack: str, verb: str, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__(stack, "\n".join([f"pulumi {verb} of stack {stack} failed", *problems]))


class Sections(NamedTuple):
    """A stack without a file: its name, and `cluster`, `fabric` and so on as in a file (docs/configuration.md)."""

    name: str
    content: Mapping[str, Any]


class Preview(NamedTuple):
    """What `up` would do: the number of resources by operation (`create`, `update`, `same`, …), and Pulumi's text."""

    changes: Mapping[str, int]
    text: str


@dataclass(frozen=True)
class Outputs:
    """A stack's outputs by name; `secret` names the secret ones. Values are in plain text, and not in the repr."""

    values: Mapping[str, Any] = field(repr=False)
    secret: frozenset[str]

    def fabric(self) -> FabricContract:
        """What a job must carry (docs/contract.md).

        Raises:
            KeyError: the stack has no such output: it is not up, or creates only a cluster.
        """
        return FabricContract.model_validate(self.values["fabric"])


class FabricStack:
    """One stack, with its program and the folder that Pulumi works in.

    Stacks are independent of each other: several can run at the same time, each in a thread. A program that is a
    function shares this process with the others'; that of a checkout does not.

    `source` is the path of a stack file, which is read now and never written, or `Sections`. `program` is the folder of
    a checkout, or a function. Relative paths of the source start from the checkout, or else from this process's folder.
    `secrets` are secret configuration keys that the stack names (`kubeconfigSecret: admin` reads `secrets["admin"]`);
    they reach Pulumi by its standard input. `environment` is added to this process's for every run: the place of the
    state (`PULUMI_BACKEND_URL`), its passphrase, a cloud's token. `folder` keeps the file that Pulumi writes its
    encryption into; by default it is a temporary one. `command` is the Pulumi CLI, by default the one on `PATH`.
    `project` is the project's name where the program is a function.

    Raises:
        RefusedError: the stack file cannot be read.
    """

    def __init__(
        self,
        source: Path | Sections,
        program: Path | Program,
        *,
        secrets: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        command: automation.PulumiCommand | None = None,
        project: str = NAMESPACE,
    ) -> None:
        self._document = _document(source, program)
        self.name = self._document.name
        self._program = program
        self._secrets = dict(secrets or {})
        self._environment = dict(environment or {})
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix=f"{NAMESPACE}-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._folder = folder
        self._command = command
        self._project = project

    def plan(self) -> Plan:
        """The plan of the stack, for which no cluster is needed.

        Raises:
            RefusedError: the stack cannot be planned.
        """
        return self._prepared(for_up=False)

    def preview(self, on_output: Listener | None = None) -> Preview:
        """What `up` would do.

        Raises:
            RefusedError: the stack cannot be brought up; Pulumi was not started.
            FailedRunError: the preview failed.
        """
        with self._running("preview", for_up=True) as (stack, hear):
            done = stack.preview(on_event=hear, on_output=on_output, color="never", suppress_outputs=True)
        changes = {str(getattr(kind, "value", kind)): count for kind, count in done.change_summary.items()}
        return Preview(changes, done.stdout)

    def up(self, on_output: Listener | None = None) -> Outputs:
        """Create or update the stack; gives its outputs.

        Raises:
            RefusedError: the stack cannot be brought up; nothing was changed.
            FailedRunError: the run failed; another one continues where it stopped.
        """
        with self._running("up", for_up=True) as (stack, hear):
            # Without the configuration's secrets in the summary, which nothing reads.
            done = stack.up(
                on_event=hear, on_output=on_output, color="never", suppress_outputs=True, show_secrets=False
            )
        return _outputs(done.outputs)

    def outputs(self) -> Outputs:
        """The outputs of the last `up`; none if there was none.

        Raises:
            RefusedError: the stack cannot be planned.
            FailedRunError: the state cannot be read.
        """
        with self._running("stack output", for_up=False) as (stack, _):
            return _outputs(stack.outputs())

    def destroy(self, on_output: Listener | None = None) -> None:
        """Delete everything that the stack has created, then its state.

        Raises:
            RefusedError: the stack cannot be planned.
            FailedRunError: the run failed; another one continues where it stopped.
        """
        with self._running("destroy", for_up=False) as (stack, hear):
            stack.destroy(on_event=hear, on_output=on_output, color="never", suppress_outputs=True, show_secrets=False)
            stack.workspace.remove_stack(self.name)

    def pulumi_stack(self, *, for_up: bool) -> automation.Stack:
        """Pulumi's own object of the stack, which exists afterwards: for what this class has no method for.

        Raises:
            RefusedError: the stack cannot be planned, or with `for_up` cannot be brought up.
        FailedRunError: there is no CLI, or it does not take a secret.
        """
        plan = self._prepared(for_up=for_up)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(self._folder / "Pulumi.yaml", self._project_file())
        self._write_stack()
        program = self._program
        try:
            workspace = automation.LocalWorkspace(
                work_dir=str(self._folder),
                program=None if isinstance(program, Path) else lambda: program(plan),
                env_vars=self._environment,
                pulumi_command=self._command,
            )
        except FileNotFoundError:
            problem = "there is no `pulumi` on PATH: install the Pulumi CLI, or name one by `command`"
            raise FailedRunError(self.name, "version", (problem,)) from None
        stack = automation.Stack.create_or_select(self.name, workspace)
        # Pulumi has written the file of a new stack again, with numbers as text; its encryption stays.
        self._write_stack()
        for key, value in self._secrets.items():
            self._set_secret(workspace, key, value)
        return stack

    @contextmanager
    def _running(self, verb: str, *, for_up: bool) -> Iterator[tuple[automation.Stack, Callable[[EngineEvent], None]]]:
        """Pulumi's stack, and what hears the events of its run; a run that fails raises FailedRunError."""
        problems: list[str] = []

        def hear(event: EngineEvent) -> None:
            reported = event.diagnostic_event
            if reported is not None and reported.severity == "error":
                problems.append(_COLOR.sub("", reported.message).strip())

        try:
            yield self.pulumi_stack(for_up=for_up), hear
        except automation.CommandError as error:
            raise FailedRunError(self.name, verb, tuple(dict.fromkeys(problems)) or (str(error),)) from None

    def _prepared(self, *, for_up: bool) -> Plan:
        # As the program gets them: a secret's value is in no document.
        sections = {**self._document.sections, **dict.fromkeys(self._secrets)}
        try:
            return prepare(self._document.model_copy(update={"sections": sections}), for_up=for_up).plan
        except ConfigurationError as error:
            raise RefusedError(self.name, error) from None

    def _project_file(self) -> dict[str, Any]:
        """The project of the folder: the checkout's program under the checkout's name, or a project for a function."""
        program = self._program
        if not isinstance(program, Path):
            options = {"virtualenv": sys.prefix} if sys.prefix != sys.base_prefix else {}
            disabled = {"pulumi:disable-default-providers": {"value": _PROVIDERS}}
            runtime = {"name": "python", "options": options}
            return {"name": self._project, "runtime": runtime, "main": str(self._document.root), "config": disabled}
        found: dict[str, Any] = yaml.safe_load((program / "Pulumi.yaml").read_text(encoding="utf-8"))
        runtime = found["runtime"]
        if virtualenv := runtime.get("options", {}).get("virtualenv"):
            runtime["options"]["virtualenv"] = str(program.absolute() / virtualenv)
        return found | {"main": str(program.absolute())}

    def _write_stack(self) -> None:
        """Write the stack's file for Pulumi, with the encryption that it has chosen before."""
        file = self._folder / f"Pulumi.{self.name}.yaml"
        content = yaml.safe_load(self._document.text) or {}
        if not any(key in content for key in _ENCRYPTION) and file.exists():
            written = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
            content |= {key: written[key] for key in _ENCRYPTION if key in written}
        sections = {f"{NAMESPACE}:{name}": value for name, value in self._document.sections.items()}
        _write(file, content | {"config": {**content.get("config", {}), **sections}})

    def _set_secret(self, workspace: automation.LocalWorkspace, key: str, value: str) -> None:
        """Set a secret configuration key: Pulumi's own method has it in the arguments, which other users can read."""
        command = [workspace.pulumi_command.command, "config", "set", "--secret", f"{NAMESPACE}:{key}"]
        done = subprocess.run(
            [*command, "--stack", self.name, "--non-interactive"],
            cwd=self._folder,
            env={**os.environ, **self._environment},
            input=value,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise FailedRunError(self.name, "config set", (done.stderr.strip(),))


def _document(source: Path | Sections, program: Path | Program) -> StackDocument:
    root = program.absolute() if isinstance(program, Path) else Path.cwd()
    if isinstance(source, Sections):
        return StackDocument(
            name=source.name, file=f"sections of {source.name}", root=root, sections=dict(source.content)
        )
    try:
        return read_file(source).model_copy(update={"root": root})
    except ConfigurationError as error:
        raise RefusedError(source.name, error) from None


def _outputs(found: automation.OutputMap) -> Outputs:
    return Outputs(
        {name: output.value for name, output in found.items()},
        frozenset(name for name, output in found.items() if output.secret),
    )


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """Write a file that only its owner can read."""
    file.touch(mode=0o600)
    file.write_text(as_yaml(dict(content)), encoding="utf-8")
