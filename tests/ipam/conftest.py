"""The code of Whereabouts, Multus and two operators, built once; the tests of the tier ask it."""

import pytest
from asked_programs import programs as built_programs
from ipam_programs import Programs


@pytest.fixture(scope="session")
def programs() -> Programs:
    built = built_programs("ipam")
    of_operators = (built.folder(name) / name for name in ("spiderpool-networks", "sriov-networks"))
    return Programs(built.folder("ipam"), *of_operators)
