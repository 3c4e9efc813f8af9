"""Names and words of the table of libraries are those of the libraries' own sources, at the version of its rows."""

import re
from collections.abc import Iterator

import pytest
from upstream_definitions import SOURCES, sources_of

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.library import Library
from gpu_fabric.catalog.version import Version

# Files of UCX state a variable without what its name begins with.
_BEGINNINGS = {"ucp_context.c": "UCX_", "ib_iface.c": "UCX_IB_", "ib_md.c": "UCX_IB_", "cuda_ipc_md.c": "UCX_CUDA_IPC_"}
_STATED = {
    "ucx": re.compile(r'\{\s*"([A-Z0-9_]+)",'),
    "nvshmem": re.compile(r"NVSHMEMI_ENV_DEF\(\s*(\w+),"),
    "mooncake": re.compile(r'getenv\(\s*"(\w+)"'),
}


def _names(library: str) -> Iterator[str]:
    for file, text in sources_of(library).items():
        beginning = {"ucx": _BEGINNINGS.get(file, ""), "nvshmem": "NVSHMEM_"}.get(library, "")
        yield from (f"{beginning}{name}" for name in _STATED[library].findall(text))


def _words(library: Library, variable: str) -> set[str]:
    (row,) = (one for one in library.variables if one.name == variable)
    assert row.limits is not None
    assert row.limits.words
    return set(row.limits.words)


@pytest.fixture
def libraries() -> dict[str, Library]:
    """The table; tests with it are skipped together where the sources are not at hand."""
    return catalog().libraries.by_name


@pytest.mark.parametrize("name", SOURCES)
def test_the_library_reads_each_variable_of_the_table(libraries: dict[str, Library], name: str) -> None:
    stated = set(_names(name))
    names = {variable.name for variable in libraries[name].variables}

    assert names - stated == set()
    # The source knows no name without its last letter, so a misspelt row of the table fails.
    assert {name[:-1] for name in names} & stated == set()
    version = SOURCES[name].removeprefix(f"{name}-")
    assert Version.parse(version) == Version.parse(str(libraries[name].read))


def test_transports_of_ucx_are_its_own_and_the_names_that_stand_for_several(libraries: dict[str, Library]) -> None:
    (aliases,) = re.findall(r"ucp_tl_aliases\[\] = \{(.*?)\n\};", sources_of("ucx")["ucp_context.c"], re.DOTALL)

    # Other files state only transports that no short name stands for.
    assert _words(libraries["ucx"], "UCX_TLS") == {*re.findall(r'"(\w+)"', aliases), "all", "self", "tcp"}


@pytest.mark.parametrize("variable", ["NVSHMEM_REMOTE_TRANSPORT", "NVSHMEM_IBGDA_NIC_HANDLER"])
def test_words_of_nvshmem_are_those_that_it_describes(libraries: dict[str, Library], variable: str) -> None:
    words = _words(libraries["nvshmem"], variable) - {"ibgda"}  # the device's own transport, which no host drives
    text = "".join(sources_of("nvshmem").values())
    (described,) = re.findall(rf"NVSHMEMI_ENV_DEF\({variable.removeprefix('NVSHMEM_')},([^)]*)\)", text)

    assert all(re.search(rf"\b{word}\b", described) for word in words)
