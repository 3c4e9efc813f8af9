"""The gRPC service that the engine calls: Pulumi's provider protocol over the resource types of a simulated cloud."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime import proto
from pulumi.runtime.proto import status_pb2

from ..failure import SandboxError
from ..kubernetes_api import ApiError
from . import schema
from .resource import Call, Cloud, CloudError, HalfMade, ResourceType
from .wire import Properties, read_properties, write_properties

_KINDS = {
    ("add", False): proto.PropertyDiff.ADD,
    ("add", True): proto.PropertyDiff.ADD_REPLACE,
    ("delete", False): proto.PropertyDiff.DELETE,
    ("delete", True): proto.PropertyDiff.DELETE_REPLACE,
    ("update", False): proto.PropertyDiff.UPDATE,
    ("update", True): proto.PropertyDiff.UPDATE_REPLACE,
}
_DEFAULTS = "__defaults"
Method = Callable[["ProviderServicer", Any, Any], Any]


class _Status(NamedTuple):
    code: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, bytes], ...]


def _answering(method: Method) -> Method:
    """Turn a CloudError into the answer that the engine shows to the user."""

    @wraps(method)
    def answer(self: ProviderServicer, request: Any, context: Any) -> Any:
        try:
            return method(self, request, context)
        except HalfMade as error:
            context.abort_with_status(_half_made(request, error))
        except CloudError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        except SandboxError as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"the sandbox: {error.message}. {error.remedy}".rstrip())
        except ApiError as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"the sandbox: a cluster's API server: {error}")

    return answer


class ProviderServicer(proto.ResourceProviderServicer):
    """The provider service of one cloud. `say(urn, message)` shows a line of progress for a resource."""

    def __init__(self, cloud: Cloud, say: Callable[[str, str], None] = lambda _urn, _message: None) -> None:
        self._cloud = cloud
        self._say = say
        self.cancelled = threading.Event()

    def Handshake(self, request: Any, context: Any) -> Any:
        # secrets come unwrapped: the engine then marks what came from one itself, nested values too
        return proto.ProviderHandshakeResponse(accept_secrets=False, accept_resources=False, accept_outputs=False)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return proto.PluginInfo(version=self._cloud.version)

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return proto.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        same = read_properties(request.olds) == read_properties(request.news)
        return proto.DiffResponse(changes=proto.DiffResponse.DIFF_NONE if same else proto.DiffResponse.DIFF_SOME)

    @_answering
    def Configure(self, request: Any, context: Any) -> Any:
        self._cloud.configure(read_properties(request.args))
        return proto.ConfigureResponse(
            acceptSecrets=False, supportsPreview=True, acceptResources=False, acceptOutputs=False
        )

    @_answering
    def Invoke(self, request: Any, context: Any) -> Any:
        function = self._cloud.functions.get(request.tok)
        if function is None:
            raise CloudError(f"the simulated cloud has no function {request.tok}")
        answer = function(self._call(""), read_properties(request.args))
        return proto.InvokeResponse(**{"return": write_properties(answer)})

    @_answering
    def Check(self, request: Any, context: Any) -> Any:
        kind = self._type(request.urn)
        news, olds = read_properties(request.news), read_properties(request.olds)
        news.pop(_DEFAULTS, None)
        if kind.autonamed and news.get("name") is None:
            reused = olds.get("name") if "name" in olds.get(_DEFAULTS, []) else None
            news["name"] = reused or _generated_name(request)
            # an explicit name that stays is one that two resources cannot have at a time: the difference shows later
            news[_DEFAULTS] = ["name"]
        found = schema.failures(kind.fields, news) or kind.failures(news)
        failures = [proto.CheckFailure(property=path, reason=reason) for path, reason in found]
        return proto.CheckResponse(inputs=write_properties(news), failures=failures)

    @_answering
    def Diff(self, request: Any, context: Any) -> Any:
        kind = self._type(request.urn)
        state, news = read_properties(request.olds), read_properties(request.news)
        changes = kind.adjust(schema.differences(kind.fields, state, news), state, news)
        changes = schema.without_ignored(changes, request.ignoreChanges)
        replaces = schema.replacing(changes)
        named_by_hand = kind.autonamed and "name" not in news.get(_DEFAULTS, [])
        return proto.DiffResponse(
            changes=proto.DiffResponse.DIFF_SOME if changes else proto.DiffResponse.DIFF_NONE,
            replaces=replaces,
            deleteBeforeReplace=bool(replaces) and named_by_hand and state.get("name") == news.get("name"),
            diffs=sorted({schema.top_level(path) for path in changes}),
            detailedDiff={
                path: proto.PropertyDiff(kind=_KINDS[change.kind, change.replaces])
                for path, change in sorted(changes.items())
            },
            hasDetailedDiff=True,
        )

    @_answering
    def Create(self, request: Any, context: Any) -> Any:
        kind, inputs = self._type(request.urn), read_properties(request.properties)
        if request.preview:
            return proto.CreateResponse(properties=write_properties(schema.planned(kind.fields, inputs, None)))
        identifier, outputs = kind.create(self._timed(kind, "create", request), inputs)
        return proto.CreateResponse(id=identifier, properties=write_properties(outputs))

    @_answering
    def Read(self, request: Any, context: Any) -> Any:
        kind = self._type(request.urn)
        state, before = read_properties(request.properties), read_properties(request.inputs)
        outputs = kind.read(self._call(request.urn), request.id, state)
        if outputs is None:
            return proto.ReadResponse(id="")
        inputs = schema.inputs_of(kind.fields, outputs, before or None)
        return proto.ReadResponse(id=request.id, properties=write_properties(outputs), inputs=write_properties(inputs))

    @_answering
    def Update(self, request: Any, context: Any) -> Any:
        kind = self._type(request.urn)
        state, news = read_properties(request.olds), read_properties(request.news)
        if request.preview:
            return proto.UpdateResponse(properties=write_properties(schema.planned(kind.fields, news, state)))
        outputs = kind.update(self._timed(kind, "update", request), request.id, state, news)
        return proto.UpdateResponse(properties=write_properties(outputs))

    @_answering
    def Delete(self, request: Any, context: Any) -> Any:
        state = read_properties(request.properties)
        kind = self._type(request.urn)
        kind.delete(self._timed(kind, "delete", request), request.id, state)
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        self.cancelled.set()
        return empty_pb2.Empty()

    def _type(self, urn: str) -> ResourceType:
        token = urn.split("::")[2].split("$")[-1]
        kind = self._cloud.resources.get(token)
        if kind is None:
            raise CloudError(f"the simulated cloud has no resources of type {token}")
        return kind

    def _timed(self, kind: ResourceType, operation: str, request: Any) -> Call:
        """A call with the program's time limit, or without it where the resource has none for the operation."""
        if not request.timeout or operation in kind.time_limits:
            return self._call(request.urn, request.timeout)
        call = self._call(request.urn)
        call.say(f"Resource does not support customTimeouts, ignoring: {operation}={request.timeout:.0f}s")
        return call

    def _call(self, urn: str, time_limit: float = 0) -> Call:
        said: set[str] = set()

        def say(message: str) -> None:
            if message not in said:
                said.add(message)
                self._say(urn, message)

        return Call(urn, time_limit or None, self.cancelled, say)


def _generated_name(request: Any) -> str:
    # the engine's random bytes make the name of one update the same on every call
    source = random.Random(request.randomSeed or None)  # noqa: S311
    return f"{request.name or request.urn.split('::')[-1]}-{source.getrandbits(28):07x}"


def _half_made(request: Any, error: HalfMade) -> _Status:
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(error))
    outputs: Properties = error.outputs
    status.details.add().Pack(
        proto.ErrorResourceInitFailed(
            id=error.identifier or request.id,
            properties=write_properties(outputs),
            reasons=[str(error)],
            inputs=request.properties if error.identifier else request.news,
        )
    )
    return _Status(grpc.StatusCode.UNKNOWN, str(error), (("grpc-status-details-bin", status.SerializeToString()),))
