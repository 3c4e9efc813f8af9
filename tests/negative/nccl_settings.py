"""What a stack file tells NCCL: values that take the fabric away, name other NICs, or are read as something else."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written

_AT = "fabric.nccl.settings"


def _other_family(base: Base) -> Iterator[Mistake]:
    if base.layout != "none" and base.supernet is not None:
        family = "AF_INET" if base.supernet.version == 6 else "AF_INET6"
        yield Mistake({f"{_AT}.NCCL_IB_ADDR_FAMILY": family}, f"{_AT}.NCCL_IB_ADDR_FAMILY")


def _other_range(base: Base) -> Iterator[Mistake]:
    if base.layout != "none" and base.supernet is not None:
        for range_ in ("203.0.113.0/24", "2001:db8::/32", "everything"):
            yield Mistake({f"{_AT}.NCCL_IB_ADDR_RANGE": range_}, f"{_AT}.NCCL_IB_ADDR_RANGE")


KINDS = (
    Kind("NCCL is told to leave the fabric alone", "NCL012", together(
        written(f"{_AT}.NCCL_IB_DISABLE", 1, "1", "2"),
        written(f"{_AT}.NCCL_NET", "Socket", "socket"),
        written(f"{_AT}.NCCL_NET_GDR_LEVEL", "LOC", 0))),
    Kind("NCCL gets a value that it does not take", "NCL020", together(
        written(f"{_AT}.NCCL_CROSS_NIC", 5, -1),
        written(f"{_AT}.NCCL_IB_RETRY_CNT", 50),
        written(f"{_AT}.NCCL_IB_QPS_PER_CONNECTION", 0),
        written(f"{_AT}.NCCL_IB_TIMEOUT", 99),
        written(f"{_AT}.NCCL_IB_TC", 999),
        written(f"{_AT}.NCCL_IB_SL", 99),
        written(f"{_AT}.NCCL_IB_GID_INDEX", -7),
        written(f"{_AT}.NCCL_ALGO", "auto", "Rings"),
        written(f"{_AT}.NCCL_DEBUG", "VERBOSE"))),
    Kind("a setting of NCCL is the loader's or the shell's", "NCL021", together(
        written(f"{_AT}.LD_PRELOAD", "/x.so"),
        written(f"{_AT}.PATH", "/bin"))),
    Kind("NCCL looks for addresses that the fabric has not", "NCL015", together(
        _other_family,
        _other_range,
        written(f"{_AT}.NCCL_IB_ADDR_FAMILY", "ipv6", "inet"))),
    Kind("a number of NCCL is written as people write it", "NCL011", together(
        written(f"{_AT}.NCCL_BUFFSIZE", "8MiB", "16 M"),
        written(f"{_AT}.NCCL_PXN_DISABLE", "yes", "off"),
        written(f"{_AT}.NCCL_IB_TC", "0104", "41.0"))),
    Kind("a setting of NCCL has a form that no settings file can have", "SPC002", together(
        written(f"{_AT}.NCCL_PXN_DISABLE", True, "", " 1", ["1"], {"value": 1}, 0.5),
        written(f"{_AT}.NCCL_NET_PLUGIN", "none\n", "n\tone", "x" * 1024))),
    Kind("NCCL's release is no release", "SPC002",
        written("fabric.nccl.version", "newest", "2", "v2.27.3", "1.0.0", 2.27)),
    Kind("a choice of resilience that there is not", "SPC002",
        written("fabric.resilience", "failover", "port_failover", True, 22)),
)  # fmt: skip
