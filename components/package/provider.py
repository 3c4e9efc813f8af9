"""The public components as a Pulumi provider, for programs in other languages than Python (docs/languages.md).

Which components there are, and their arguments and outputs, follows from the package: each public class whose
constructor has an argument `args`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
import pulumi
from pulumi.provider.experimental.analyzer import ComponentDefinition, PropertyDefinition, TypeDefinition
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.provider import ConstructResult
from pulumi.provider.server import ProviderServicer, _contains_outputs
from pulumi.resource import DependencyResource
from pulumi.runtime import rpc
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import ConstructRequest, ConstructResponse, provider_pb2_grpc

import gpu_fabric
from gpu_fabric.findings import Finding, finding
from gpu_fabric.spec.places import NAMESPACE, Location, dotted
from gpu_fabric.spec.suggestion import nearest

from ..bases.arguments import named_by_schema, refuse
from ..bases.cluster_component import ClusterComponent
from ..bases.public_component import listed
from . import COMPONENTS
from .dynamic_python import refuse_other_python
from .reference import reference

_SECRET = frozenset({"kubeconfig", "kubeconfigToken", "token"})
"""Arguments and outputs of any component that are secret, unless they must be plain. A plain mapping of secrets is not
marked: SDKs would make one Output of it, which is of another type in Go."""
_ENTRIES = ("items", "additionalProperties")
_INDEX = f"{NAMESPACE}:index:"
_DESCRIPTION = (
    "RDMA fabrics on Kubernetes clusters with GPUs: operators, networks, addresses, NCCL files, verification."
)


def public_components() -> list[type[pulumi.ComponentResource]]:
    """The components of this package that programs in other languages can use."""
    package = import_module(COMPONENTS)
    named = (getattr(package, name) for name in package.__all__)
    classes = [found for found in named if isinstance(found, type) and issubclass(found, pulumi.ComponentResource)]
    return [found for found in classes if "args" in inspect.get_annotations(found.__init__)]


def schema() -> str:
    """The schema of the package, as committed in docs/schema/components.json."""
    return json.dumps(json.loads(FabricProvider().schema or ""), indent=2) + "\n"


class FabricProvider(ComponentProvider):
    """Registers components of this package for programs in other languages."""

    def __init__(self) -> None:
        super().__init__(public_components(), NAMESPACE, version=gpu_fabric.__version__)
        self.schema = json.dumps(_completed(json.loads(self.schema or "")))

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: pulumi.Inputs,
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Register a component.

        Raises:
            pulumi.RunError: it cannot be registered with these arguments; places are written as in the schema.
        """
        self.validate_resource_type(self._name, resource_type)
        for entry in listed(options.depends_on) if options and options.depends_on else ():
            # Of a resource of another process only the URN is known, and reading its id would fail.
            entry.__dict__.setdefault("id", entry.urn)
        wanted = self._component_defs[resource_type.rpartition(":")[2]]
        try:
            if not issubclass(self._components[wanted.name], ClusterComponent):
                refuse_other_python()
            constructor: Callable[..., pulumi.ComponentResource] = self._components[wanted.name]
            with named_by_schema():
                component = constructor(name, self._arguments(name, wanted, inputs), options)
        except Exception as error:
            # A cloud's refusal of a look-up, for which Pulumi has no class of its own.
            if not str(error).startswith("invoke of "):
                raise
            raise pulumi.RunError(str(error)) from None
        # Outputs have the keys of the schema already, and are None where they have no value.
        named = ((key, getattr(component, name, None)) for key, name in wanted.outputs_mapping.items())
        return ConstructResult(component.urn, {key: value for key, value in named if value is not None})

    def _arguments(self, name: str, wanted: ComponentDefinition, inputs: pulumi.Inputs) -> Any:
        """The arguments of a component, as its constructor takes them.

        Pulumi's own method gives mappings, and leaves out what it does not know and what is not yet known.
        """
        kind = inspect.get_annotations(self._components[wanted.name].__init__)["args"]
        problems = tuple(self._problems(wanted.inputs, inputs, ()))
        if problems:
            refuse(f"{wanted.name} {name}", problems)
        return self._object(kind, wanted.inputs, wanted.inputs_mapping, inputs)

    def _object(
        self,
        kind: type,
        properties: Mapping[str, PropertyDefinition],
        names: Mapping[str, str],
        given: Mapping[str, Any],
    ) -> Any:
        values = {names[key]: self._value(properties[key], value) for key, value in given.items() if value is not None}
        return kind(**values)

    def _value(self, wanted: PropertyDefinition, value: Any) -> Any:
        """A value with objects of the types of arguments in it; one that is known later stays as it is."""
        if isinstance(value, Mapping):
            if known := self._type(wanted):
                return self._object(known.python_type, known.properties, known.properties_mapping, value)
            if entry := wanted.additional_properties:
                return {key: self._value(entry, each) for key, each in value.items()}
        if isinstance(value, list) and (entry := wanted.items):
            return [self._value(entry, each) for each in value]
        return value

    def _problems(
        self, properties: Mapping[str, PropertyDefinition], given: Mapping[str, Any], place: Location
    ) -> Iterator[Finding]:
        """Arguments that are missing or not known, at any depth."""
        for key in sorted(given.keys() - properties.keys()):
            remedy = f"{nearest(key, properties)}remove it, or use one of: {', '.join(properties)}"
            yield finding("SPC001", dotted((*place, key)), "this argument is not known", remedy)
        for key, wanted in properties.items():
            value = given.get(key)
            if value is None and not wanted.optional:
                yield finding(
                    "SPC003", dotted((*place, key)), "this argument is required", f"add {key}: {wanted.description}"
                )
            yield from self._problems_within(wanted, value, (*place, key))

    def _problems_within(self, wanted: PropertyDefinition, value: Any, place: Location) -> Iterator[Finding]:
        if isinstance(value, Mapping):
            if known := self._type(wanted):
                yield from self._problems(known.properties, value, place)
            elif entry := wanted.additional_properties:
                for key, each in value.items():
                    yield from self._problems_within(entry, each, (*place, key))
        elif isinstance(value, list) and (entry := wanted.items):
            for number, each in enumerate(value):
                yield from self._problems_within(entry, each, (*place, number))

    def _type(self, wanted: PropertyDefinition) -> TypeDefinition | None:
        return self.get_type_definition(wanted) if wanted.ref else None


def _completed(inferred: dict[str, Any]) -> dict[str, Any]:
    """An inferred schema with what Pulumi does not infer, and with names and texts as other languages have them."""
    found = _rewritten(inferred) | {"displayName": "GPU Fabric", "description": _DESCRIPTION, "license": "Apache-2.0"}
    for resource in found["resources"].values():
        for key, entry in (*resource["inputProperties"].items(), *resource["properties"].items()):
            if key in _SECRET and not entry.get("plain"):
                entry["secret"] = True
    renamed = _shorter_names(found)
    text = re.sub(rf"(?<={_INDEX})\w+", lambda name: renamed.get(name[0], name[0]), json.dumps(found))
    completed: dict[str, Any] = json.loads(text)
    _name_for_csharp(completed)
    return completed


def _name_for_csharp(schema: Mapping[str, Any]) -> None:
    """Give properties with the name of their class another one in C#, which compiles no such class (CS0542)."""
    for token, definition in (*schema["resources"].items(), *schema["types"].items()):
        name = token.removeprefix(_INDEX)
        for key, entry in definition["properties"].items():
            if key[:1].upper() + key[1:] == name:
                entry["language"] = {"csharp": {"name": f"{name}Value"}}


def _shorter_names(schema: Mapping[str, Any]) -> dict[str, str]:
    """Names of the types of arguments without Args, which SDKs add; others' names where these are then taken."""
    components, types = ({token.removeprefix(_INDEX) for token in schema[part]} for part in ("resources", "types"))
    shorter = {name: name.removesuffix("Args") for name in types if name.endswith("Args")}
    names = {name: f"{short}Settings" if short in components else short for name, short in shorter.items()}
    return names | {name: f"{name}Output" for name in types & set(names.values())}


def _rewritten(value: Any, key: str = "") -> Any:
    """A part of a schema with a line for each paragraph of a description, and none that is repeated for entries."""
    if isinstance(value, dict):
        left_out = {"description"} if key in _ENTRIES else set()
        if key in _ENTRIES and value.get("$ref", "").startswith("#/types/"):
            # Of a type that only plain lists or mappings have, the generator for Go leaves out the struct GpuPoolArgs,
            # and uses it (pulumi/pkg/v3.259.0/codegen/go/gen.go): the SDK would not compile.
            left_out.add("plain")
        return {name: _rewritten(entry, name) for name, entry in value.items() if name not in left_out}
    if isinstance(value, list):
        return [_rewritten(entry) for entry in value]
    if key == "description":
        return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(value))
    return value


class _Servicer(ProviderServicer):
    """Reports what a user can correct as a message alone, without the traceback of a defect."""

    @staticmethod
    async def _construct_inputs(inputs: Any, input_dependencies: Any) -> dict[str, Any]:
        """The arguments, with an Output for each value that is secret, known later, or comes after a resource.

        Pulumi's own method makes one Output of an argument with a secret in it, whose keys nothing could then read.
        """
        found = {key: _given(value) for key, value in inputs.fields.items()}
        for key, named in input_dependencies.items():
            # The dependencies of a whole argument repeat those of the values in it, where these have any.
            if key in found and not _contains_outputs(found[key]):
                found[key] = _given(inputs.fields[key], after=frozenset(named.urns))
        return found

    async def Construct(self, request: ConstructRequest, context: Any) -> ConstructResponse:
        try:
            return await super().Construct(request, context)
        except pulumi.RunError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise


def _given(value: Any, secret: bool = False, after: frozenset[str] = frozenset()) -> Any:
    """A value of a request as a component takes it; what holds for a list or a mapping holds for its entries."""
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [_given(entry, secret, after) for entry in value.list_value.values]
    if kind == "struct_value":
        fields = dict(value.struct_value.fields)
        signature = fields.pop(rpc._special_sig_key).string_value if rpc._special_sig_key in fields else ""
        if signature not in (rpc._special_secret_sig, rpc._special_output_value_sig):
            return {key: _given(entry, secret, after) for key, entry in fields.items()}
        secret |= signature == rpc._special_secret_sig or ("secret" in fields and fields["secret"].bool_value)
        listed_urns = fields["dependencies"].list_value.values if "dependencies" in fields else ()
        after |= {urn.string_value for urn in listed_urns}
        return _given(fields["value"], secret, after) if "value" in fields else _output(None, False, secret, after)
    content = None if kind == "null_value" else getattr(value, kind)
    if content == rpc.UNKNOWN:
        return _output(None, False, secret, after)
    return _output(content, True, secret, after) if secret or after else content


def _output(content: Any, known: bool, secret: bool, after: frozenset[str]) -> pulumi.Output[Any]:
    """An Output that comes after the resources of these URNs."""
    return pulumi.Output({DependencyResource(urn) for urn in after}, *map(_at_once, (content, known, secret)))


def _at_once(value: Any) -> asyncio.Future[Any]:
    known: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    known.set_result(value)
    return known


async def _serve(engine: str, arguments: Sequence[str]) -> None:
    """Answer the engine, which reads the port from the first line of standard output, until it ends this process."""
    server = grpc.aio.server(options=_GRPC_CHANNEL_OPTIONS)
    servicer = _Servicer(FabricProvider(), list(arguments), engine_address=engine)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


def main(arguments: Sequence[str]) -> None:
    """Serve the engine whose address is among the arguments, or print the schema or, in a checkout, the page of it."""
    words = [word for word in arguments if not word.startswith("-")]
    if words == ["schema"]:
        sys.stdout.write(schema())
        return
    if words == ["reference"]:
        sys.stdout.write(reference(json.loads(schema()), Path("examples", "components")))
        return
    if len(words) != 1:
        raise SystemExit("Pulumi starts this program; `python -m components schema` prints its schema")
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(words[0], arguments))
