"""Tests against NCCL itself, where a GPU and the library are at hand; elsewhere they are skipped, with the reason."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from installed_nccl import InstalledNccl, Started
from tier_skips import skip_once
from topology_texts import LEAN

_PROGRAM = Path(__file__).with_name("start_nccl.py")
_VARIABLES = ("PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


def _library() -> str | None:
    """The library of NVIDIA's Python package, or else the system's."""
    package = importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia.nccl")
    for folder in package.submodule_search_locations or () if package else ():
        if (path := Path(folder) / "lib" / "libnccl.so.2").is_file():
            return str(path)
    return ctypes.util.find_library("nccl")


def _devices() -> int:
    """CUDA devices that the driver shows; 0 where there is no driver."""
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def _lacking() -> str:
    if not _devices():
        return "no CUDA device: NCCL cannot be asked for its own verdict"
    return "" if _library() else "no libnccl.so.2 (package nvidia-nccl-cu12 or -cu13)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip_once(items, Path(__file__).parent, _lacking)


@pytest.fixture(scope="session")
def nccl(tmp_path_factory: pytest.TempPathFactory) -> InstalledNccl:
    """NCCL as it is installed here."""
    library = _library()
    assert library is not None, "without the library the tier is skipped"
    folder = tmp_path_factory.mktemp("nccl")

    def run(file: Path) -> dict[str, str | int]:
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        environment |= {
            "NCCL_TOPO_FILE": str(file),
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,GRAPH",
            "NCCL_DEBUG_FILE": str(folder / "log"),
            "NCCL_IB_DISABLE": "1",
            # The machine's own settings would count otherwise.
            "NCCL_CONF_FILE": os.devnull,
        }
        (folder / "log").unlink(missing_ok=True)
        command = [sys.executable, str(_PROGRAM), library]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            pytest.fail(f"NCCL ended with {result.returncode}: {result.stderr[-500:]}")
        return dict(json.loads(result.stdout.splitlines()[-1]))

    def start(data: bytes) -> Started:
        file = folder / "topo.xml"
        file.write_bytes(data)
        code = run(file)["code"]
        log = folder / "log"
        return Started(int(code), log.read_text("utf-8", "replace") if log.exists() else "")

    good = start(LEAN.encode())
    if good.code != 0 or "Loading unnamed topology" not in good.log:
        pytest.skip(f"this NCCL does not start with a good topology file (result {good.code}): {good.log[-300:]}")
    return InstalledNccl(str(run(folder / "topo.xml")["version"]), start)
