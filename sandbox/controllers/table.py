"""The controllers that really run, read from controllers.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from gpu_fabric.base.tables import read_table

_FILE = Path(__file__).with_name("controllers.yaml")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class IssuedCertificate(_Record):
    """Names of the Service, Secret and webhook configurations for which a certificate is made here.

    A controller that has the API server trust its certificate itself has no webhook configurations here.
    """

    service: str
    secret: str
    webhooks: tuple[str, ...] = ()


class ControllerRow(_Record):
    """A controller; the fields are explained in controllers.yaml."""

    name: str
    pods: str
    container: str | None = None
    binary: str
    releases: dict[str, str] = {}
    program: str | None = None
    beside: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    release: str | None = None
    ready: str | None = None
    completes: bool = False
    definitions: str = "*.yaml"
    file: str | None = None
    settings: dict[str, Any] = {}
    environment: dict[str, str] = {}
    named: dict[str, int] = {}
    certificate: IssuedCertificate | None = None

    def has(self, labels: dict[str, str]) -> bool:
        """Whether a pod with these labels is one of the controller's."""
        key, _, value = self.pods.partition("=")
        return labels.get(key) == value

    def build_for(self, image: str) -> str:
        """What is built for a container with this image."""
        return self.releases.get(image.rpartition(":")[2], self.binary)


def binaries_for(installed: Iterable[str]) -> list[str]:
    """The binaries that are needed where releases and Deployments of these names are installed."""
    names = set(installed)
    return sorted({row.binary for row in controllers() if (row.release or row.name) in names})


@cache
def controllers() -> tuple[ControllerRow, ...]:
    """Every controller that really runs."""
    return tuple(ControllerRow(name=name, **row) for name, row in read_table(_FILE).items())
