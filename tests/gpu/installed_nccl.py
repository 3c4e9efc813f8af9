"""NCCL as it is installed on a machine with a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Started(NamedTuple):
    """What became of a communicator of one GPU: NCCL's result code, 0 for success, and what it logged."""

    code: int
    log: str


Start = Callable[[bytes], Started]


class InstalledNccl(NamedTuple):
    """The library that was found, its version such as 2.27.3, and how to start it with a topology file."""

    version: str
    start: Start
