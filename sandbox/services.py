"""The processes of the control plane, from `services.yaml`: arguments, dependencies and readiness checks."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.yaml_files import as_yaml
from .certificates import Pki
from .controllers.egress import configuration as egress_configuration
from .home import PACKAGE, SandboxHome, project_root, write_private
from .toolchain.build import Toolchain


def write_egress_file(home: SandboxHome) -> None:
    """Write where the API server finds its way to Services."""
    write_private(home.egress, as_yaml(egress_configuration(home.egress_socket)))


@dataclass(frozen=True)
class Service:
    """One supervised process.

    ``needs`` names the services that must be ready before it starts and whose restart restarts it too;
    ``health`` is the HTTPS path that answers 200 when it is ready (None: running is ready).
    """

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    health: str | None = None
    sources: tuple[Path, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def fingerprint(self) -> str:
        """A hash of the command and of the sources it runs: a change of either calls for a restart."""
        digest = hashlib.sha256("\0".join(self.command).encode())
        for source in self.sources:
            digest.update(source.read_bytes())
        return digest.hexdigest()


def names() -> tuple[str, ...]:
    """The names of all services in the order of starting."""
    return tuple(_table())


def ports_of(name: str) -> tuple[str, ...]:
    """A service's ports by name; the first serves its health check."""
    return tuple(_table()[name].get("ports", ()))


def services(home: SandboxHome, toolchain: Toolchain, pki: Pki, ports: dict[str, int]) -> list[Service]:
    """All services of a sandbox in the order of starting."""

    def filled(text: str) -> str:
        return text.format(home=home, pki=pki, ports=ports)

    def service(name: str, row: dict[str, Any]) -> Service:
        own = (sys.executable, "-m", f"{PACKAGE}.{row.get('module')}")
        return Service(
            name,
            (*(toolchain.role(row["role"]) if "role" in row else own), *map(filled, row["arguments"])),
            needs=tuple(row.get("needs", ())),
            ports=ports_of(name),
            health=row.get("health"),
            sources=tuple(sorted(file for text in row.get("sources", ()) for file in _files(filled(text)))),
            environment=tuple((key, filled(text)) for key, text in row.get("environment", {}).items()),
        )

    return [service(name, row) for name, row in _table().items()]


def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = read_table(Path(__file__).with_suffix(".yaml"))
    return table


def _files(text: str) -> Iterable[Path]:
    """The file of an absolute path, or those of this package that a pattern names."""
    return [Path(text)] if Path(text).is_absolute() else Path(__file__).parent.glob(text)


def to_restart(all_services: list[Service], is_current: Callable[[Service], bool]) -> list[Service]:
    """The services that do not run as they should, and all that need one of them, in the order of starting.

    A client of a restarted API server would find its way back by itself, but only after its back-off.
    """
    chosen: dict[str, Service] = {}
    for service in all_services:
        if not is_current(service) or any(need in chosen for need in service.needs):
            chosen[service.name] = service
    return list(chosen.values())


def working_directory() -> Path:
    """Where services run: the project root, so that a checkout's `-m sandbox.hardware` is found."""
    return project_root()
