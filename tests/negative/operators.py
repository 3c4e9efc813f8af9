"""Switches of the two operators, and DPDK: without effect, at odds with each other, or beyond what the chart can do."""

from __future__ import annotations

from typing import Any

from negative.base import Base
from negative.mistake import Applies, Kind, Mistake, Mistakes, together, written, written_below

_GPU, _NETWORK = "software.gpuOperator", "software.networkOperator"
_KEYS = f"{_NETWORK}.partitionKeys"
_DPDK = "fabric.dpdk"


def _guids(first: str, last: str) -> dict[str, str]:
    return {"ufmSecret": "ufm", "guidRangeStart": first, "guidRangeEnd": last}


_UFM = _guids("02:00:00:00:00:00:00:00", "02:ff:ff:ff:ff:ff:ff:ff")


def _pods(**changes: Any) -> dict[str, Any]:
    return {"hugePages": "4Gi", "cpus": 8, "memory": "16Gi", **changes}


def _with_gpu_operator(base: Base) -> bool:
    return base.manager != "doks" and not base.amd and not base.has(f"{_GPU}.install")


def _with_network_operator(base: Base) -> bool:
    return _needs_network_operator(base) and not base.has(f"{_NETWORK}.install")


def _needs_network_operator(base: Base) -> bool:
    """Stacks that bring the Network Operator, or use the cluster's own."""
    return base.manager == "network-operator" and base.model != "host-network"


def _on_oracles_machines(base: Base) -> bool:
    return _with_network_operator(base) and base.pool["shape"].startswith("BM.")


def _old(base: Base) -> bool:
    return base.line == "23.10"


def _new(base: Base) -> bool:
    return _with_gpu_operator(base) and not _old(base)


def _by_sriov_operator(base: Base) -> bool:
    return base.maker in ("sriov-operator", "externally-managed")


def _all(changes: dict[str, Any], path: str, where: Applies) -> Mistakes:
    """Several values that do not go together."""
    return lambda base: iter([Mistake(changes, path)] if where(base) else [])


def _network_value(value: dict[str, Any], at: str, where: Applies) -> Mistakes:
    return written_below(f"{_NETWORK}.values", f".{at}", value, where=where)


KINDS = (
    Kind("a switch of a chart that the stack does not bring", "REL005", together(
        *(written(f"{_GPU}.{key}", value, where=lambda base: not _with_gpu_operator(base))
            for key, value in (("driver", True), ("gdrcopy", True), ("mig", "mixed"), ("gpuDirect", "dma-buf"))),
        written(f"{_NETWORK}.ofedDriver", True, where=lambda base: not _needs_network_operator(base)),
        written(_KEYS, _UFM, where=lambda base: not _needs_network_operator(base)),
        written("software.spiderpool.multus", False, where=lambda base: base.manager != "spiderpool"))),
    Kind("DMA-BUF is to work with the proprietary kernel modules", "GPU002", together(
        _all({f"{_GPU}.driver": True, f"{_GPU}.gpuDirect": "dma-buf",
            f"{_GPU}.values": {"driver": {"kernelModuleType": "proprietary"}}},
            f"{_GPU}.values.driver.kernelModuleType", _new),
        _all({f"{_GPU}.driver": True, f"{_GPU}.gpuDirect": "dma-buf"}, f"{_GPU}.gpuDirect", _old))),
    Kind("the cloud's network drivers are to be replaced", "NOP001",
        written(f"{_NETWORK}.ofedDriver", True, where=_on_oracles_machines)),
    Kind("the GUIDs of partitions are not a range", "SPC002", together(
        written(_KEYS, _guids("02:ff:ff:ff:ff:ff:ff:ff", "02:00:00:00:00:00:00:00")),
        written(_KEYS, _guids("02:00:00:00:00:00:00:00", "02:00:00:00:00:00:00:00")),
        written_below(_KEYS, ".guidRangeStart", _guids("02:00", "02:ff:ff:ff:ff:ff:ff:ff")),
        written_below(_KEYS, ".guidRangeEnd", _guids("02:00:00:00:00:00:00:00", "02-ff-ff-ff-ff-ff-ff-ff")),
        written_below(_KEYS, ".ufmSecret", {**_UFM, "ufmSecret": ""}))),
    Kind("the chart's values take away what the model needs", "NOP004", together(
        _network_value({"deployCR": False}, "deployCR", _old),
        _network_value({"sriovDevicePlugin": {"deploy": False}}, "sriovDevicePlugin.deploy", _old),
        _network_value({"nvIpam": {"deploy": False}}, "nvIpam.deploy", _old),
        _network_value({"sriovNetworkOperator": {"enabled": False}}, "sriovNetworkOperator.enabled",
            _by_sriov_operator),
        _network_value({"sriov-network-operator": {"sriovOperatorConfig": {"deploy": False}}},
            "sriov-network-operator.sriovOperatorConfig.deploy", _by_sriov_operator))),
    Kind("the SR-IOV operator comes a second time", "OWN005",
        written_below("cluster.installed", "[0]", ["sriov-operator"], where=_by_sriov_operator)),
    Kind("Whereabouts does not tolerate the pools' taint", "TNT002",
        _all({"cluster.pools[0].taints": [{"key": "dedicated", "effect": "NoExecute"}]},
            "software.whereabouts.values.tolerations", lambda base: base.ipam == "whereabouts" and not _old(base))),
    Kind("the memory of DPDK is not a whole number of pages", "DPK002", together(
        written_below(_DPDK, ".hugePages", _pods(hugePages="1500Mi")),
        written_below(_DPDK, ".hugePages", _pods(hugePages="513Mi", pageSize="2Mi")))),
    Kind("an amount for DPDK is none", "SPC002",
        together(*(written_below(_DPDK, f".{key}", _pods(**{key: value}))
            for key, value in (("hugePages", "4G"), ("memory", "16"), ("pageSize", "4Ki"), ("cpus", 0))))),
)  # fmt: skip
