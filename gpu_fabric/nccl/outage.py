"""How long a link may be away before an RDMA connection fails, by NCCL's two settings of retries.

A NIC that gets no answer waits 4.096 us x 2^timeout and sends again. After the given number of retries without answer
the connection fails, with error 12 in NCCL's log (source: NCCL manual, NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT;
ibv_modify_qp's manual page, timeout and retry_cnt). InfiniBand's specification lets a NIC take up to four times as long
for each wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

TIMEOUT, RETRIES = "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT"
_UNIT = 4.096e-6
_SLOWEST = 4
# NCCL's defaults since 2.23 (source: NCCL's source, src/transport/net_ib/connect.cc).
_DEFAULTS = {TIMEOUT: "20", RETRIES: "7"}


class Outage(NamedTuple):
    """Seconds: a link that is back by `ridden_out` has lost nothing; the error comes from `earliest` to `latest`."""

    timeout: int
    retries: int
    ridden_out: float
    earliest: float
    latest: float

    @property
    def words(self) -> str:
        """The outage for people."""
        return (
            f"{TIMEOUT}={self.timeout} with {self.retries} retries rides out {self.ridden_out:.1f} s "
            f"({self.retries} x 4.096 us x 2^{self.timeout}); the connection fails after {self.earliest:.1f} to "
            f"{self.latest:.0f} s"
        )


def outage(environment: Mapping[str, str]) -> Outage:
    """What jobs with these variables ride out; a variable that is missing has NCCL's default since 2.23."""
    timeout, retries = (int(environment.get(name, default), 0) for name, default in _DEFAULTS.items())
    wait = _UNIT * 2**timeout
    # The last of the retries must find the link, and the connection fails one wait after it.
    return Outage(timeout, retries, retries * wait, (retries + 1) * wait, _SLOWEST * (retries + 1) * wait)
