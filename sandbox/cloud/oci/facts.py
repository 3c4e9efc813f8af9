"""What the simulated Oracle cloud offers: availability domains, services, versions, images, add-ons and shapes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_fabric.base.tables import read_table

if TYPE_CHECKING:
    from gpu_fabric.catalog import Shape

_VERSION = re.compile(r"v(?P<minor>\d+\.\d+)\.(?P<patch>\d+)")
_SHAPE = re.compile(r"(VM|BM)\.[A-Za-z0-9.-]+")
# No minor version of Kubernetes has had as many.
_MOST_PATCHES = 25


@dataclass(frozen=True)
class NodeImage:
    """One of Oracle's images for nodes."""

    id: str
    name: str
    version: str


def domains(tenancy: str, region: str) -> list[str]:
    """The names of a region's availability domains, which begin with letters of the tenancy's own."""
    return [f"{tenancy[-4:]}:{region.upper()}-AD-{number}" for number in range(1, _facts()["domains"] + 1)]


def fault_domains() -> list[str]:
    """The fault domains of every availability domain."""
    return list(_facts()["faultDomains"])


def services(region: str) -> list[dict[str, str]]:
    """Oracle's services as a service gateway reaches them."""
    from gpu_fabric.catalog import catalog

    known = catalog().oke_clusters.regions.get(region)
    key = known.key if known else region
    texts = {
        f"All {key.upper()} Services In Oracle Services Network": f"all-{key}-services-in-oracle-services-network",
        f"OCI {key.upper()} Object Storage": f"oci-{key}-objectstorage",
    }
    return [
        {"id": _fixed_id("service", region, name), "name": name, "description": name, "cidrBlock": block}
        for name, block in texts.items()
    ]


def is_offered(version: str) -> bool:
    """Whether clusters and node pools can have a version."""
    match = _VERSION.fullmatch(version)
    return match is not None and match["minor"] in _facts()["minorVersions"]


def versions() -> list[str]:
    """The versions that are listed, newest first."""
    return list(_facts()["listedVersions"])


def order(version: str) -> tuple[int, ...]:
    """A version as something to compare by."""
    return tuple(int(number) for number in version.removeprefix("v").split("."))


def node_images(region: str, version: str) -> list[NodeImage]:
    """Oracle's images for the nodes of a version."""
    found = []
    for date in _facts()["imageDates"]:
        for variant in ("", "Gen2-GPU-", "aarch64-"):
            name = f"Oracle-Linux-8.10-{variant}{date}-0-OKE-{version.removeprefix('v')}-1000"
            found.append(NodeImage(_fixed_id("image", region, name), name, version))
    return found


@cache
def version_of_image(region: str, image: str) -> str | None:
    """The Kubernetes version of one of Oracle's images for nodes; None for any other image."""
    known = {each.id: each.version for version in _every_version() for each in node_images(region, version)}
    return known.get(image)


def _every_version() -> list[str]:
    return [f"v{minor}.{patch}" for minor in _facts()["minorVersions"] for patch in range(_MOST_PATCHES)]


def addons() -> dict[str, dict[str, str]]:
    """The add-ons by name: `version`, and `needs` where another one must be there before."""
    found: dict[str, dict[str, str]] = _facts()["addons"]
    return found


def shape_of(name: str) -> Shape | None:
    """The shape of a GPU machine, None for any other."""
    from gpu_fabric.catalog import catalog

    shape = catalog().find(name)
    return shape if shape is not None and shape.provider == "oci" else None


def is_shape(name: str) -> bool:
    """Whether a machine can have this shape: one of the catalog, or any other that is named as Oracle names them."""
    return shape_of(name) is not None or (_SHAPE.fullmatch(name) is not None and ".GPU" not in name)


def _fixed_id(kind: str, region: str, name: str) -> str:
    from .ids import new_ocid

    unique = hashlib.sha256(name.encode()).hexdigest()[:60]
    return f"{new_ocid(kind, region).rpartition('.')[0]}.{unique}"


@cache
def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = read_table(Path(__file__).with_name("facts.yaml"))
    return facts
