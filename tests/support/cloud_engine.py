"""What the engine does with a provider plug-in, over loopback gRPC, and control planes that are none."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import grpc
from pulumi.runtime import proto
from pulumi.runtime.proto import status_pb2

from sandbox.cloud.clock import Clock
from sandbox.cloud.clusters import Endpoint
from sandbox.cloud.digitalocean.api import Api
from sandbox.cloud.digitalocean.provider import DigitalOcean
from sandbox.cloud.faults import Faults
from sandbox.cloud.servicer import ProviderServicer
from sandbox.cloud.store import Store
from sandbox.cloud.wire import read_properties, write_properties
from sandbox.home import ClusterRanges

TOKENS = {
    "Vpc": "digitalocean:index/vpc:Vpc",
    "KubernetesCluster": "digitalocean:index/kubernetesCluster:KubernetesCluster",
    "KubernetesNodePool": "digitalocean:index/kubernetesNodePool:KubernetesNodePool",
    "Project": "digitalocean:index/project:Project",
    "ProjectResources": "digitalocean:index/projectResources:ProjectResources",
}
MINUTE_S = 0.002
"""Real seconds a simulated minute takes here: every time limit of the tests passes in a moment."""


class FakeControlPlanes:
    """Control planes that only remember what they were told; every node is Ready at once."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[dict[str, Any]]] = {}
        self.ranges: dict[str, ClusterRanges] = {}
        self.objects: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}

    def create(self, cluster: str, ranges: ClusterRanges | None = None) -> Endpoint:
        self.ranges.setdefault(cluster, ranges or ClusterRanges())
        self.nodes.setdefault(cluster, [])
        self.objects.setdefault(cluster, {})
        return Endpoint(f"https://127.0.0.1:{40000 + len(self.nodes)}", "an authority")

    def set_tokens(self, cluster: str, tokens: Mapping[str, datetime | None]) -> None:
        """They are in the account's records, too."""

    def set_nodes(self, cluster: str, nodes: Sequence[dict[str, Any]]) -> None:
        self.nodes[cluster] = list(nodes)

    def ready_nodes(self, cluster: str) -> set[str]:
        return {node["metadata"]["name"] for node in self.nodes[cluster]}

    def apply(self, cluster: str, manifests: Sequence[dict[str, Any]]) -> None:
        self.objects[cluster] |= {(each["kind"], each["metadata"]["name"]): each for each in manifests}

    def remove(self, cluster: str, manifests: Sequence[dict[str, Any]]) -> None:
        for each in manifests:
            self.objects[cluster].pop((each["kind"], each["metadata"]["name"]), None)

    def delete(self, cluster: str) -> None:
        self.nodes.pop(cluster, None)


@dataclass(frozen=True)
class Resource:
    """A resource in a stack's state."""

    kind: str
    name: str
    id: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """What a preview says of a resource: the changed paths, those that replace, and in which order it is replaced."""

    paths: tuple[str, ...]
    replaces: tuple[str, ...]
    delete_first: bool


class Failed(Exception):
    """The plug-in's error; `kept` is what the state takes of the resource all the same, and `identifier` its id."""

    def __init__(self, message: str, kept: dict[str, Any] | None = None, identifier: str = "") -> None:
        super().__init__(message)
        self.kept = kept
        self.identifier = identifier


class Invalid(Exception):
    """Inputs that the plug-in refuses, by property."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in reasons.items()))
        self.reasons = reasons


class Engine:
    """The engine's side of the protocol, one resource at a time."""

    function = "digitalocean:index/{0}:{0}"

    def __init__(self, stub: Any, api: Any, planes: FakeControlPlanes) -> None:
        self.stub = stub
        self.api = api
        self.planes = planes

    def urn(self, kind: str, name: str) -> str:
        return urn(kind, name)

    def order(self, fault: str, amount: int) -> None:
        with self.api.faults.open() as ordered:
            ordered[fault] = amount

    def check(self, kind: str, name: str, inputs: dict[str, Any], olds: dict[str, Any] | None = None) -> dict[str, Any]:
        request = proto.CheckRequest(
            urn=self.urn(kind, name), name=name, news=write_properties(inputs), randomSeed=b"1"
        )
        request.olds.CopyFrom(write_properties(olds or {}))
        answer = self._call("Check", request)
        if answer.failures:
            raise Invalid({failure.property: failure.reason for failure in answer.failures})
        return read_properties(answer.inputs)

    def up(self, kind: str, name: str, inputs: dict[str, Any], limit_s: float = 0) -> Resource:
        """Create a resource, as the first `up` does."""
        checked = self.check(kind, name, inputs)
        request = proto.CreateRequest(urn=self.urn(kind, name), properties=write_properties(checked), timeout=limit_s)
        answer = self._call("Create", request)
        return Resource(kind, name, answer.id, checked, read_properties(answer.properties))

    def diff(self, before: Resource, inputs: dict[str, Any], ignore: Sequence[str] = ()) -> Difference:
        news = self.check(before.kind, before.name, inputs, before.inputs)
        answer = self._call(
            "Diff",
            proto.DiffRequest(
                id=before.id,
                urn=self.urn(before.kind, before.name),
                olds=write_properties(before.outputs),
                old_inputs=write_properties(before.inputs),
                news=write_properties(news),
                ignoreChanges=ignore,
            ),
        )
        assert (answer.changes == proto.DiffResponse.DIFF_SOME) == bool(answer.detailedDiff)
        return Difference(tuple(sorted(answer.detailedDiff)), tuple(answer.replaces), answer.deleteBeforeReplace)

    def update(self, before: Resource, inputs: dict[str, Any]) -> Resource:
        news = self.check(before.kind, before.name, inputs, before.inputs)
        answer = self._call(
            "Update",
            proto.UpdateRequest(
                id=before.id,
                urn=self.urn(before.kind, before.name),
                olds=write_properties(before.outputs),
                old_inputs=write_properties(before.inputs),
                news=write_properties(news),
            ),
        )
        return replace(before, inputs=news, outputs=read_properties(answer.properties))

    def refresh(self, before: Resource) -> Resource | None:
        return self._read(before)

    def imported(self, kind: str, identifier: str) -> Resource | None:
        """What `import` finds, knowing the id alone."""
        return self._read(Resource(kind, "imported", identifier, {}, {}))

    def delete(self, resource: Resource, limit_s: float = 0) -> None:
        self._call(
            "Delete",
            proto.DeleteRequest(
                id=resource.id,
                urn=self.urn(resource.kind, resource.name),
                properties=write_properties(resource.outputs),
                timeout=limit_s,
            ),
        )

    def ask(self, function: str, **given: Any) -> dict[str, Any]:
        request = proto.InvokeRequest(tok=self.function.format(function), args=write_properties(given))
        return read_properties(getattr(self._call("Invoke", request), "return"))

    def configure(self, **given: Any) -> None:
        self._call("Configure", proto.ConfigureRequest(args=write_properties(given)))

    def _read(self, before: Resource) -> Resource | None:
        request = proto.ReadRequest(id=before.id, urn=self.urn(before.kind, before.name))
        request.properties.CopyFrom(write_properties(before.outputs))
        request.inputs.CopyFrom(write_properties(before.inputs))
        answer = self._call("Read", request)
        if not answer.id:
            return None
        inputs, outputs = read_properties(answer.inputs), read_properties(answer.properties)
        return replace(before, inputs=inputs, outputs=outputs)

    def _call(self, method: str, request: Any) -> Any:
        try:
            return getattr(self.stub, method)(request, timeout=30)
        except grpc.RpcError as error:
            raise Failed(error.details(), *_kept(error)) from None


@contextmanager
def engine_on(home: Path, minute_s: float = MINUTE_S) -> Iterator[Engine]:
    """An engine with a plug-in of its own on the account in this folder."""
    planes, faults = FakeControlPlanes(), Faults(home)
    api = Api(Store(home / "digitalocean"), faults, Clock(home, minute_s), planes, "the sandbox's token")
    with served(DigitalOcean(api)) as stub:
        yield Engine(stub, api, planes)


@contextmanager
def served(cloud: Any) -> Iterator[Any]:
    """A plug-in for a cloud, as the engine reaches it."""
    server = grpc.server(ThreadPoolExecutor(32))
    proto.add_ResourceProviderServicer_to_server(ProviderServicer(cloud), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield proto.ResourceProviderStub(channel)
    finally:
        server.stop(grace=None)


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:dev::project::gpu-fabric:cluster:Doks${TOKENS[kind]}::{name}"


def _kept(error: Any) -> tuple[dict[str, Any] | None, str]:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status()
            status.ParseFromString(value)
            failed = proto.ErrorResourceInitFailed()
            if status.details and status.details[0].Unpack(failed):
                return read_properties(failed.properties), failed.id
    return None, ""
