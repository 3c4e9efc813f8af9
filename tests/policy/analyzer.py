"""The pack as the engine has it: a process that serves the analyzer's protocol, and requests made of registrations."""

import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import grpc
from analysed import provider, seconds, urn
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc
from recording import Registration

PACK = Path(__file__).parents[2] / "policy"
LARGEST = 64 * 1024 * 1024


class Analyzer:
    """A running pack; to be closed."""

    def __init__(self, folder: Path) -> None:
        # Started from elsewhere by its path, as the engine does it.
        self._process = subprocess.Popen(
            [sys.executable, "-u", str(PACK)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        # A pack that never says where it listens ends with its test.
        timer = threading.Timer(120, self._process.kill)
        timer.start()
        port = self._process.stdout.readline().strip()
        timer.cancel()
        assert port.isdigit(), "the pack did not start"
        options = [("grpc.max_send_message_length", LARGEST), ("grpc.max_receive_message_length", LARGEST)]
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=options)
        self.stub = analyzer_pb2_grpc.AnalyzerStub(self._channel)

    def close(self) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def info(self) -> analyzer_pb2.AnalyzerInfo:
        return self.stub.GetAnalyzerInfo(empty_pb2.Empty())

    def configure(self, levels: Mapping[str, str], settings: Mapping[str, Mapping[str, Any]]) -> None:
        """What the engine sends of a policy configuration file: a level for each policy, and its settings."""
        request = analyzer_pb2.ConfigureAnalyzerRequest()
        for name, level in levels.items():
            request.policyConfig[name].enforcementLevel = analyzer_pb2.EnforcementLevel.Value(level)
            request.policyConfig[name].properties.update(settings.get(name, {}))
        self.stub.Configure(request)

    def of_one(self, stack: str, registration: Registration) -> list[analyzer_pb2.AnalyzeDiagnostic]:
        """What the pack says of one resource before it is made."""
        return list(self.stub.Analyze(analyzer_pb2.AnalyzeRequest(**_fields(stack, registration))).diagnostics)

    def of_stack(self, stack: str, registrations: Iterable[Registration]) -> list[analyzer_pb2.AnalyzeDiagnostic]:
        """What the pack says of each resource, and of all together, as in one run of the engine."""
        listed = [registration for registration in registrations if registration.custom]
        resources = [analyzer_pb2.AnalyzerResource(**_fields(stack, registration)) for registration in listed]
        together = self.stub.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(resources=resources)).diagnostics
        return [*(found for registration in listed for found in self.of_one(stack, registration)), *together]


def _fields(stack: str, registration: Registration) -> dict[str, Any]:
    """The fields that the requests about a resource, and about all of a stack, share."""
    properties = struct_pb2.Struct()
    properties.update(registration.inputs)
    limits = {operation: seconds(text) for operation, text in registration.timeouts.items()}
    options = analyzer_pb2.AnalyzerResourceOptions(
        protect=registration.protect,
        ignoreChanges=sorted(registration.ignore_changes),
        deleteBeforeReplace=registration.delete_before_replace,
        deleteBeforeReplaceDefined=registration.delete_before_replace,
        customTimeouts=analyzer_pb2.AnalyzerResourceOptions.CustomTimeouts(**limits),
    )
    fields: dict[str, Any] = {
        "type": registration.type,
        "name": registration.name,
        "urn": urn(stack, registration),
        "properties": properties,
        "options": options,
    }
    if found := provider(stack, registration):
        fields["provider"] = analyzer_pb2.AnalyzerProviderResource(
            type=found.resource_type, urn=found.urn, name=found.name
        )
    return fields
