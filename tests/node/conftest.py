"""The machine that the tests of this folder share; each of them finds it as after its start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from debian import PLUGINS, NotPossible, debian, write_image
from guest import Guest
from tier_skips import skip_once

from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip_once(items, HERE, lambda: "" if os.environ.get("NODE") else "boots a machine, only if asked: make test-node")


@pytest.fixture(scope="session")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    try:
        files = debian()
    except NotPossible as error:
        pytest.skip(f"no machine can be booted: {error}")
    built = ensure(["cni", "sriov-cni"], Progress(None))
    plugins = {path.name: path for name in ("cni", "sriov-cni") for path in built.folder(name).iterdir()}
    plugins |= {"rdma": HERE / "rdma.sh", "rdma-itself": plugins["rdma"]}
    folder = tmp_path_factory.mktemp("node")
    with (folder / "image").open("wb") as image:
        extra = [(f"{PLUGINS[1:]}/{name}", path) for name, path in plugins.items()]
        write_image(image, files.guest, [("init", HERE / "init.sh"), *extra])
    guest = Guest(files, folder / "image", folder / "console")
    yield guest
    guest.end()


@pytest.fixture
def guest(booted: Guest) -> Guest:
    booted.reset()
    return booted
