"""What the simulated DigitalOcean offers: regions, sizes and Kubernetes versions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gpu_fabric.base.tables import read_table

_CPU_SIZE = re.compile(r"[a-z0-9_]+-(?P<cpus>\d+)(?:vcpu-(?P<memory>\d+)(?P<unit>gb|mb))?")
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:-do\.(\d+))?")
_HA_FROM = (1, 36)


@dataclass(frozen=True)
class Size:
    """A Droplet size. `regions` is empty where none are published; memory is in MiB, None where unknown."""

    slug: str
    vcpus: int | None
    memory_mib: int | None
    regions: tuple[str, ...] = ()
    vendor: Literal["nvidia", "amd"] | None = None
    gpu_model: str | None = None
    gpus: int = 0
    gpu_memory_gib: int = 0
    multi_node: bool = False
    contracted: bool = False


def regions() -> list[str]:
    """The regions, by slug."""
    return list(_facts()["regions"])


def versions() -> list[str]:
    """The Kubernetes versions on offer, newest first."""
    return list(_facts()["versions"])


@cache
def sizes() -> dict[str, Size]:
    """Every size on offer, by slug."""
    from gpu_fabric.catalog import catalog

    found = {slug: _cpu_size(slug) for slug in _facts()["cpuSizes"]}
    for slug, shape in catalog().doks.shapes().items():
        if shape.doks is not None:
            found[slug] = Size(
                slug=slug,
                vcpus=shape.doks.vcpus,
                memory_mib=shape.doks.memory_gib and shape.doks.memory_gib * 1024,
                regions=shape.doks.regions,
                vendor=shape.gpus.vendor,
                gpu_model=shape.gpus.model,
                gpus=shape.gpus.count,
                gpu_memory_gib=shape.gpus.memory_gb or 0,
                multi_node=shape.doks.multi_node,
                contracted=shape.doks.offer == "contracted",
            )
    return found


def resolve_version(asked: str) -> str | None:
    """The exact version for an exact slug, a minor version or `latest`; None when it is not on offer."""
    for version in versions():
        if asked in (version, "latest") or (version.startswith(f"{asked}.") and asked.count(".") == 1):
            return version
    return None


def is_lower(version: str, than: str) -> bool:
    """Whether a version is below another, as Terraform's provider compares them; False for other text."""
    mine, other = _order(version), _order(than)
    return mine is not None and other is not None and mine < other


def has_ha_by_default(version: str) -> bool:
    """Whether a new cluster of this version gets several control-plane nodes, and CoreDNS that scales."""
    order = _order(version)
    return order is not None and order[:2] >= _HA_FROM


def next_version(version: str) -> str | None:
    """The next newer version on offer."""
    newer = [each for each in versions() if is_lower(version, each)]
    return newer[-1] if newer else None


def _order(version: str) -> tuple[float, ...] | None:
    match = _NUMBERS.fullmatch(version)
    if match is None:
        return None
    major, minor, patch, build = match.groups()
    # what follows the dash comes before the version without it
    return (int(major), int(minor), int(patch or 0), math.inf if build is None else int(build))


def _cpu_size(slug: str) -> Size:
    match = _CPU_SIZE.match(slug)
    if match is None:
        return Size(slug, None, None)
    memory = int(match["memory"]) * (1024 if match["unit"] == "gb" else 1) if match["memory"] else None
    return Size(slug, int(match["cpus"]), memory)


@cache
def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = read_table(Path(__file__).with_name("facts.yaml"))
    return facts
