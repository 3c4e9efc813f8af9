"""A monitor that records what a program registers: inputs, and the options in which most real mistakes lie."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.runtime import mocks, rpc, run_in_stack, settings


@dataclass(frozen=True)
class Registration:
    """One registered resource; `dependencies`, `parent` and `provider` are resource names."""

    type: str
    name: str
    custom: bool
    inputs: dict[str, Any]
    dependencies: frozenset[str]
    parent: str
    provider: str
    protect: bool
    delete_before_replace: bool
    replace_on_changes: frozenset[str]
    retain_on_delete: bool
    secrets: frozenset[str]


@dataclass
class Recording:
    """Everything a program registered, in order, its outputs, and the log lines it printed."""

    resources: list[Registration] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    secret_outputs: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> Registration:
        return next(resource for resource in self.resources if resource.name == name)

    def of_type(self, suffix: str | tuple[str, ...]) -> list[Registration]:
        """All resources whose type token ends so, or in one of these ways."""
        return [resource for resource in self.resources if resource.type.endswith(suffix)]

    def comes_after(self, later: str, earlier: str) -> bool:
        """Whether `later` waits for `earlier`, directly or through others."""
        seen: set[str] = set()
        open_names = [later]
        while open_names:
            for name in self[open_names.pop()].dependencies - seen:
                if name == earlier:
                    return True
                seen.add(name)
                open_names.append(name)
        return False


class _Echo(mocks.Mocks):
    """Answers every registration with its own inputs, as a provider does that computes nothing."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        return (f"{args.name}-id" if args.custom else None), args.inputs

    def call(self, args: mocks.MockCallArgs) -> dict[Any, Any]:
        raise AssertionError(f"the program looks {args.token} up, which needs a cloud")


class _RecordingMonitor(mocks.MockMonitor):
    def __init__(self, recording: Recording) -> None:
        super().__init__(_Echo())
        self.recording = recording

    def RegisterResource(self, request: Any) -> Any:
        inputs = rpc.deserialize_properties(request.object, keep_unknowns=True)
        plain = {key: _plain(value) for key, value in inputs.items()}
        if request.type != "pulumi:pulumi:Stack":
            self.recording.resources.append(
                Registration(
                    type=request.type,
                    name=request.name,
                    custom=request.custom,
                    inputs=plain,
                    dependencies=frozenset(_name(urn) for urn in request.dependencies),
                    parent=_name(request.parent),
                    provider=_name(request.provider.rpartition("::")[0]) if request.provider else "",
                    protect=request.protect,
                    delete_before_replace=request.deleteBeforeReplace,
                    replace_on_changes=frozenset(request.replaceOnChanges),
                    retain_on_delete=request.retainOnDelete,
                    secrets=frozenset(key for key, value in inputs.items() if rpc.is_rpc_secret(value)),
                )
            )
        return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:
        outputs = rpc.deserialize_properties(request.outputs)
        if request.urn.rpartition("::")[0].endswith("pulumi:pulumi:Stack") and outputs:
            self.recording.outputs = {key: _plain(value) for key, value in outputs.items()}
            self.recording.secret_outputs = frozenset(k for k, v in outputs.items() if rpc.is_rpc_secret(v))
        return super().RegisterResourceOutputs(request)


def record(
    program: Callable[[], None],
    *,
    stack: str,
    config: dict[str, str] | None = None,
    recording: Recording | None = None,
) -> Recording:
    """Run a program to its end against a recording monitor, in a context of its own.

    `recording` takes what is registered; it then holds what a program that raises has got to. Raises whatever the
    program raises.
    """
    recording = Recording() if recording is None else recording

    def run() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            mocks.set_mocks(
                _Echo(), project="gpu-fabric", stack=stack, preview=False, monitor=_RecordingMonitor(recording)
            )
            pulumi.runtime.set_all_config(config or {})
            # The mocks made a root stack of their own; the program's one carries the outputs.
            settings.set_root_resource(None)
            loop.run_until_complete(run_in_stack(program))
        except BaseException:
            # Everything that came after has the same error, and would say so whenever it is collected.
            loop.set_exception_handler(lambda _loop, _context: None)
            raise
        finally:
            # What a program that failed has left unfinished would end the next one.
            settings.SETTINGS.rpc_manager.clear()
            settings.SETTINGS.outputs.clear()
            loop.close()

    contextvars.copy_context().run(run)
    return recording


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _plain(value: Any) -> Any:
    return rpc.unwrap_rpc_secret(value) if rpc.is_rpc_secret(value) else value
