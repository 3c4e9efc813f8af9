"""A provider plug-in as the engine starts it: `python -m sandbox.cloud CLOUD ENGINE_ADDRESS`.

The first line on stdout is the port that it listens on. GPU_FABRIC_SANDBOX names the sandbox of the simulated cloud.
"""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..end_signals import end_of_process
from ..home import SandboxHome

if TYPE_CHECKING:
    from .resource import Cloud

_WHOLE_MESSAGES = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
# one for each operation that the engine may have under way; most of them wait
_THREADS = 256


def main(arguments: list[str]) -> int:
    """Serve until the engine ends the process; exit status 2 for wrong arguments."""
    if not arguments or arguments[0] not in _CLOUDS:
        print(f"usage: python -m sandbox.cloud {'|'.join(_CLOUDS)} [ENGINE_ADDRESS]", file=sys.stderr)
        return 2
    _spare_the_sdk()
    import grpc  # type: ignore[import-untyped]
    from pulumi.runtime import proto

    from .servicer import ProviderServicer

    engine = _engine(arguments[1]) if len(arguments) > 1 else None

    def say(urn: str, message: str) -> None:
        if engine is not None:
            line = proto.LogRequest(severity=proto.INFO, message=message, urn=urn, ephemeral=True)
            # awaited: gRPC cancels a call that has no references left
            with contextlib.suppress(grpc.RpcError):
                engine.Log(line, timeout=5)

    servicer = ProviderServicer(_CLOUDS[arguments[0]](SandboxHome.current()), say)
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=_WHOLE_MESSAGES)
    proto.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # the engine ends a plug-in by SIGINT, in a process group of its own: the terminal's Ctrl-C does not get here
    ended = end_of_process()
    print(port, flush=True)
    ended.wait()
    servicer.cancelled.set()
    server.stop(grace=0.5).wait()
    return 0


def _spare_the_sdk() -> None:
    """Let `pulumi.runtime.proto` be imported without the SDK around it: the engine waits for every plug-in's start."""
    found = find_spec("pulumi")
    if found is None or "pulumi" in sys.modules:
        return
    for name in ("pulumi", "pulumi.runtime"):
        package = ModuleType(name)
        package.__path__ = [
            str(Path(folder, *name.split(".")[1:])) for folder in found.submodule_search_locations or ()
        ]
        sys.modules[name] = package


def _engine(address: str) -> Any:
    import grpc
    from pulumi.runtime import proto

    return proto.EngineStub(grpc.insecure_channel(address, options=_WHOLE_MESSAGES))


def _digitalocean(home: SandboxHome) -> Cloud:
    from .digitalocean.provider import DigitalOcean

    return DigitalOcean.of(home)


def _oci(home: SandboxHome) -> Cloud:
    from .oci.provider import Oracle

    return Oracle.of(home)


_CLOUDS = {"digitalocean": _digitalocean, "oci": _oci}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
