"""The vendors' own definitions, read where they are checked out; never copied into this repository."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chart_values
import pytest
from tier_skips import skip_once
from upstream_definitions import OF_CONSUMERS, SOURCES, UPSTREAM, definitions_in, is_at_hand, sources_of

SPIDERPOOL = "spiderpool-1.2.2"

# One folder per chart line that the kinds of `gpu_fabric.k8s` are written for.
CRD_FOLDERS = (
    "amd-gpu-operator-1.5.1",
    "amd-network-operator-1.2.0",
    "nic-configuration-operator-8bfbeb3",
    "spectrum-x-operator-246268d",
    "dra-driver-nvidia-gpu-0.4.1",
    "gpu-operator-26.3.3",
    "network-operator-26.4.1",
    "sriov-network-operator-in-26.4.1",
    "nv-ipam-0.4.0",
    "nfd-in-gpu-operator-26.3.3",
    "volcano-1.15.1",
    "kueue-0.19.2",
    "mpi-operator-0.8.0",
    "jobset-0.12.0",
    "lws-0.8.0",
    SPIDERPOOL,
)

# Spiderpool's chart carries an older SR-IOV operator. What is written for that one has a fixture of its own.
OLDER_COPIES = {(SPIDERPOOL, "sriovnetwork.openshift.io")}

Definitions = dict[str, tuple[dict[str, Any], ...]]
"""`<plural>.<group>` -> the `spec` of every vendor's CustomResourceDefinition of that name."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    skip_once(items, here, lambda: "" if UPSTREAM.is_dir() else "the vendors' files are not here: make upstream")
    lacking = "the libraries' sources are not here: make upstream"
    skip_once(items, here, lambda: "" if all(map(sources_of, SOURCES)) else lacking, "libraries")
    older = "the definitions of systems that take a contract are not here: make upstream"
    skip_once(items, here, lambda: "" if all(map(is_at_hand, OF_CONSUMERS.values())) else older, "kinds")


@pytest.fixture(scope="session")
def definitions() -> Definitions:
    """The vendors' definitions; two charts may contain the same name, and then an object must suit both."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for folder in CRD_FOLDERS:
        for name, spec in definitions_in(folder):
            if (folder, spec["group"]) not in OLDER_COPIES:
                found[name].append(spec)
    return {name: tuple(specs) for name, specs in found.items()}


@pytest.fixture(scope="session")
def spiderpool_definitions(definitions: Definitions) -> Definitions:
    """Those of a cluster whose networks Spiderpool manages: of a name that two charts have, its chart's."""
    return definitions | {name: (spec,) for name, spec in definitions_in(SPIDERPOOL)}


@pytest.fixture(scope="session")
def upstream_values() -> Callable[[str, str], dict[str, Any]]:
    """The real chart's values, by chart and version."""

    return chart_values.upstream_values
