"""Cases of the group `kinds`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_SECOND = "cluster.pools[1]"
_NEW = "cluster.shapes.new-machine"
_MACVLAN: dict[str, Any] = {
    "fabric.model": "macvlan",
    "cluster.shapes.old-machine.nics": [{"interface": "ens1"}, {"interface": "ens2"}],
}
# Machines of the catalog with the same rails, GPUs and NCCL settings, but NICs at other places.
_OF_A_CLOUD = {
    "cluster.pools": [
        {"name": "first", "shape": "BM.GPU.H200.8", "nodes": 2},
        {"name": "second", "shape": "BM.GPU.B200.8", "nodes": 2},
    ]
}


def _named(first: str, second: str) -> dict[str, Any]:
    return {"cluster.pools[0].name": first, f"{_SECOND}.name": second}


def _labelled(first: dict[str, str], second: dict[str, str]) -> dict[str, Any]:
    return {"cluster.pools[0].labels": first, f"{_SECOND}.labels": second}


CASES = (
    good("CLU002", "node-kinds", {
        **_MACVLAN, f"{_NEW}.nics": [{"interface": "ens1"}, {"interface": "ens2"}],
    }),
    bad("CLU002", "node-kinds", {**_MACVLAN, f"{_NEW}.nics": [{"interface": "ens1"}, {"interface": "ens3"}]},
        f"{_SECOND}.shape"),
    bad("CLU002", "node-kinds", {f"{_NEW}.nicModel.linkType": "infiniband"}, f"{_SECOND}.shape"),
    bad("CLU002", "node-kinds", {f"{_NEW}.mtu": 4220}, f"{_SECOND}.shape"),
    bad("CLU002", "host-device", {"cluster.pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 4},
        *({"name": name, "shape": "BM.GPU.H200.8", "nodes": 2} for name in ("more", "rest"))]}, "[1].shape",
        "[2].shape"),
    irrelevant("CLU002", "host-device"),
    good("CLU006", "node-kinds"),
    bad("CLU006", "doks-h200", {"cluster.pools": [{"name": "old", "shape": "gpu-h100x8-640gb-contracted", "nodes": 1},
        {"name": "new", "shape": "gpu-h200x8-1128gb-fabric-contracted", "nodes": 1}]}, "[1].shape"),
    irrelevant("CLU006", "host-device"),
    good("CLU007", "node-kinds", {
        "software.releaseLine": "23.10", "fabric.addressing.gateway": "first", "fabric.addressing.layout": "flat",
    }),
    bad("CLU007", "node-kinds", {"software.releaseLine": "23.10", "fabric.addressing.gateway": "first"},
        "software.releaseLine"),
    irrelevant("CLU007", "guide-23-10"),
    good("CLU008", "host-device", _OF_A_CLOUD),
    bad("CLU008", "node-kinds", _labelled({}, {}), "cluster.pools[0].labels", f"{_SECOND}.labels"),
    irrelevant("CLU008", "host-network", {"fabric.model": "host-network", **_OF_A_CLOUD}),
    good("CLU009", "node-kinds", {"fabric.rails": [{"rail": 0, "network": "left"}]}),
    bad("CLU009", "node-kinds", {"fabric.rails": [{"rail": 1, "pci": "0000:0c:00.0", "nearestGpu": 1}]}, "[0].pci",
        "[0].nearestGpu"),
    bad("CLU009", "node-kinds", {"fabric.rails": [{"rail": 1, "interface": "ens1", "rdmaDevice": "mlx5_1"}]},
        "[0].interface", "[0].rdmaDevice"),
    bad("CLU009", "node-kinds", {"fabric.rails": [{"rail": 1, "nearestGpu": 1}]}, "[0].nearestGpu"),
    irrelevant("CLU009", "ib-sriov", {"fabric.rails": [{"rail": 0, "rdmaDevice": "mlx5_9"}]}),
    good("CLU010", "node-kinds", _named("a" * 29 + "-old", "a" * 29 + "new")),
    bad("CLU010", "node-kinds", _named("a" * 29, "a" * 29 + "-new")),
    irrelevant("CLU010", "host-device"),
)  # fmt: skip
