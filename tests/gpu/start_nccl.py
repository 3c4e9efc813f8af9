"""Start NCCL on one GPU with the topology file that the environment names; prints its result code and version.

A program of its own, since NCCL reads its variables once, and may take the process with it.
"""

from __future__ import annotations

import ctypes
import json
import sys


def main(path: str) -> None:
    """Make a communicator of the first GPU alone."""
    library = ctypes.CDLL(path)
    number = ctypes.c_int(0)
    library.ncclGetVersion(ctypes.byref(number))
    # 2.27.3 is 22703; before 2.9 the major number stood before four digits.
    major, rest = divmod(number.value, 10_000)
    communicator = ctypes.c_void_p()
    devices = (ctypes.c_int * 1)(0)
    code = library.ncclCommInitAll(ctypes.byref(communicator), 1, devices)
    print(json.dumps({"code": code, "version": f"{major}.{rest // 100}.{rest % 100}"}))


if __name__ == "__main__":
    main(sys.argv[1])
