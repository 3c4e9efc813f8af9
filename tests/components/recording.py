"""A monitor that records what a program registers: inputs, and the options in which most real mistakes lie."""

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import grpc
import pulumi
from pulumi.runtime import _callbacks, mocks, resource, rpc, run_in_stack, settings
from pulumi.runtime.proto import resource_pb2, source_pb2

MINTED = "a-token-of-the-cluster's-own"
ENDPOINT, AUTHORITY = "https://cluster.example.com", "Y2VydGlmaWNhdGU="
REFERENCE = "pulumi:pulumi:StackReference"
# What a provider adds to what it is told, by kind.
COMPUTED: dict[str, dict[str, Any]] = {
    "KubernetesCluster": {
        "endpoint": ENDPOINT,
        "clusterUrn": "do:kubernetes:cluster-doks-id",
        "kubeConfigs": [{"clusterCaCertificate": AUTHORITY, "rawConfig": f"users: [{{token: {MINTED}}}]"}],
    },
    "Cluster": {"endpoints": [{"privateEndpoint": "10.140.0.5:6443", "publicEndpoint": "203.0.113.5:6443"}]},
    "Instance": {"privateIp": "10.140.0.9", "publicIp": "203.0.113.9"},
    "Vcn": {"defaultSecurityListId": "the-default-list"},
}


@dataclass(frozen=True)
class Registration:
    """One registered resource; `dependencies`, `parent`, `provider` and `deleted_with` are resource names.

    `comes_after` are the dependencies with their types, since a name alone may be that of several.
    """

    type: str
    name: str
    custom: bool
    inputs: dict[str, Any]
    dependencies: frozenset[str]
    comes_after: frozenset[tuple[str, str]]
    parent: str
    provider: str
    protect: bool
    delete_before_replace: bool
    replace_on_changes: frozenset[str]
    retain_on_delete: bool
    secrets: frozenset[str]
    import_id: str
    ignore_changes: frozenset[str]
    timeouts: dict[str, str]
    deleted_with: str
    error_hooks: tuple[str, ...]


@dataclass
class Recording:
    """Everything a program registered, in order, its outputs, what it looked up, and its error hooks by their names."""

    resources: list[Registration] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    secret_outputs: frozenset[str] = frozenset()
    looked_up: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    hooks: dict[str, pulumi.ErrorHook] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Registration:
        return next(resource for resource in self.resources if resource.name == name)

    def of_type(self, suffix: str | tuple[str, ...]) -> list[Registration]:
        """All resources whose type token ends so, or in one of these ways."""
        return [resource for resource in self.resources if resource.type.endswith(suffix)]

    def comes_after(self, later: str, earlier: str) -> bool:
        """Whether `later` waits for `earlier`, directly or through others."""
        # What is read from another stack is no registration, and waits for nothing.
        seen = {"cluster-stack"}
        open_names = [later]
        while open_names:
            for name in self[open_names.pop()].dependencies - seen:
                if name == earlier:
                    return True
                seen.add(name)
                open_names.append(name)
        return False


class UnknownStack(grpc.RpcError):
    """What the engine answers where it has no stack of a name."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return f"unknown stack {self.args[0]!r}"


class World:
    """What providers add to what they are told: ids, and a cloud's facts by kind; and what look-ups find.

    `outputs` are those that the engine has on record of the stack's last run, `others` those of other stacks by name.
    `running` is the stack that is brought up.
    """

    outputs: Mapping[str, Any]
    others: Mapping[str, Mapping[str, Any]]
    running = ""

    def __init__(
        self,
        answers: Mapping[str, dict[str, Any]],
        outputs: Mapping[str, Any] | None = None,
        others: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.answers = answers
        self.outputs = outputs or {}
        self.others = others or {}

    def id_of(self, name: str) -> str:
        """The id of a resource."""
        return f"{name}-id"

    def computed(self, kind: str, name: str) -> dict[str, Any]:
        """Further outputs of a resource of a kind."""
        return COMPUTED.get(kind, {})

    def outputs_of(self, stack: str) -> dict[str, Any]:
        """What the engine has on record of a stack's last run. Raises UnknownStack where it has no such stack."""
        name = stack.rpartition("/")[2]
        if name == self.running:
            return dict(self.outputs)
        if name not in self.others:
            raise UnknownStack(stack)
        return dict(self.others[name])

    def answer(self, function: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """What a look-up finds; None where it is none that the program should make."""
        return self.answers.get(function)


class _Echo(mocks.Mocks):
    """Answers every registration with its own inputs and what a world adds to them."""

    def __init__(self, recording: Recording, world: World) -> None:
        self.recording = recording
        self.world = world

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        if args.typ == REFERENCE:
            found = self.world.outputs_of(args.inputs["name"])
            secret = [name for name in found if name == "kubeconfig"]
            return args.resource_id, {**args.inputs, "outputs": found, "secretOutputNames": secret}
        computed = self.world.computed(args.typ.rpartition(":")[2], args.name)
        return (self.world.id_of(args.name) if args.custom else None), {**args.inputs, **computed}

    def call(self, args: mocks.MockCallArgs) -> dict[Any, Any]:
        if args.token == "pulumi:pulumi:readStackOutputs":
            return {"name": args.args["name"], "outputs": self.world.outputs_of(args.args["name"])}
        name = args.token.rpartition(":")[2]
        answer = self.world.answer(name, args.args)
        if answer is None:
            raise AssertionError(f"the program looks {args.token} up, which needs a cloud")
        self.recording.looked_up.append((name, args.args))
        return answer


class _Callbacks(_callbacks._CallbackServicer):
    """Takes the program's hooks and transforms, which the engine would call, without a server."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._callbacks, self._transforms, self._target = {}, {}, ""
        self.of_stack: list[Any] = []

    def register_error_hook(self, hook: pulumi.ErrorHook) -> None:
        self.recording.hooks[hook.name] = hook

    def register_stack_transform(self, transform: Any) -> None:
        self.of_stack.append(self.register_transform(transform))

    async def transform(self, callback: Any, request: Any) -> Any:
        return await self._callbacks[callback.token](request.SerializeToString())


class _RecordingMonitor(mocks.MockMonitor):
    def __init__(self, echo: _Echo, callbacks: _Callbacks, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(echo)
        self.recording = echo.recording
        self.callbacks = callbacks
        self.loop = loop
        self.transforms: dict[str, list[Any]] = {}

    def RegisterResource(self, request: Any) -> Any:
        own = [*request.transforms, *self.transforms.get(request.parent, ())]
        self.transforms[self.make_urn(request.parent, request.type, request.name)] = own
        for callback in [*own, *self.callbacks.of_stack]:
            self._transform(callback, request)
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
                    comes_after=frozenset((_type(urn), _name(urn)) for urn in request.dependencies),
                    parent=_name(request.parent),
                    provider=_name(request.provider.rpartition("::")[0]) if request.provider else "",
                    protect=request.protect,
                    delete_before_replace=request.deleteBeforeReplace,
                    replace_on_changes=frozenset(request.replaceOnChanges),
                    retain_on_delete=request.retainOnDelete,
                    secrets=frozenset(key for key, value in inputs.items() if rpc.is_rpc_secret(value)),
                    import_id=request.importId,
                    ignore_changes=frozenset(request.ignoreChanges),
                    timeouts={
                        operation: text
                        for operation in ("create", "update", "delete")
                        if (text := getattr(request.customTimeouts, operation))
                    },
                    deleted_with=_name(request.deletedWith),
                    error_hooks=tuple(request.hooks.on_error),
                )
            )
        return super().RegisterResource(request)

    def _transform(self, callback: Any, request: Any) -> None:
        """Put what a transform says into a request, as the engine does."""
        options = resource_pb2.TransformResourceOptions(depends_on=request.dependencies)
        asked = resource_pb2.TransformRequest(
            type=request.type,
            name=request.name,
            custom=request.custom,
            parent=request.parent,
            properties=request.object,
            options=options,
        )
        # The monitor is called in a thread of its own.
        found = asyncio.run_coroutine_threadsafe(self.callbacks.transform(callback, asked), self.loop).result()
        request.object.CopyFrom(found.properties)
        request.dependencies[:] = found.options.depends_on if found.HasField("options") else options.depends_on

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
    preview: bool = False,
    world: World | None = None,
) -> Recording:
    """Run a program to its end against a recording monitor, in a context of its own.

    `recording` takes what is registered; it then holds what a program that raises has got to. `world` is what
    providers say; without it, look-ups find nothing. Raises whatever the program raises.
    """
    recording = Recording() if recording is None else recording
    echo = _Echo(recording, World({}) if world is None else world)

    def run() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            echo.world.running = stack
            callbacks = _Callbacks(recording)
            monitor = _RecordingMonitor(echo, callbacks, loop)
            mocks.set_mocks(
                echo, project="gpu-fabric", stack=stack, preview=preview, monitor=monitor, organization="organization"
            )
            settings.SETTINGS.callbacks = callbacks
            pulumi.runtime.set_all_config(config or {})
            # The mocks made a root stack of their own; the program's one carries the outputs.
            settings.set_root_resource(None)
            # Where in the program a resource is made, which nobody asks for here, would be a fifth of the work.
            with patch.object(resource, "_get_stack_trace", source_pb2.StackTrace):
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


def _type(urn: str) -> str:
    """The type of a resource, without those of the components that it is in."""
    return urn.split("::")[2].rpartition("$")[2]


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _plain(value: Any) -> Any:
    return rpc.unwrap_rpc_secret(value) if rpc.is_rpc_secret(value) else value
