"""Time at Oracle, which passes faster at a simulated one."""

from __future__ import annotations

import os

from fabric.cloud_time import MINUTE_VARIABLE


def real_seconds(seconds: float) -> float:
    """How long so many seconds of the cloud take here."""
    return seconds / 60 * float(os.environ.get(MINUTE_VARIABLE, 60))
