"""The code of Whereabouts, Multus and two operators, built once; the tests of the tier ask it."""

from __future__ import annotations

import pytest
from ipam_programs import Programs

from sandbox.failure import SandboxError
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress


@pytest.fixture(scope="session")
def programs() -> Programs:
    try:
        built = ensure(["ipam"], Progress())
    except SandboxError as error:
        pytest.fail(f"the programs cannot be had: {error.message} {error.remedy}", pytrace=False)
    of_operators = (built.folder(name) / name for name in ("spiderpool-networks", "sriov-networks"))
    return Programs(built.folder("ipam"), *of_operators)
