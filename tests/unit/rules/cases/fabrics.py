"""Cases of the group `fabrics`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_MACHINES, _STORAGE = "two-machines", "storage-fabric"
_A100, _DISKS = "fabrics.a100", "fabrics.storage"
_OPERATOR = {"fabric.virtualFunctions": "sriov-operator"}
_POOL = {"shape": "server.dgx-h100.8", "nodes": 2}
_SHARED = {f"{_A100}.model": "macvlan", f"{_A100}.linkType": "ether"}


def _pools(*names: str, **labels: str) -> dict[str, Any]:
    """Pools of one shape in place of the example's."""
    return {"cluster.pools": [{"name": name, **_POOL, "labels": labels} for name in names]}


def _own_machine(front_end: str) -> dict[str, Any]:
    """The example's machine, described in the stack file, with a NIC of the node network."""
    return {
        "cluster.pools[0].shape": "machine",
        "cluster.shapes": {
            "machine": {
                "gpus": {"vendor": "nvidia", "model": "H100", "count": 2},
                "nicModel": {"vendorId": "15b3", "deviceId": "1021", "vfDeviceId": "101e", "linkType": "ether"},
                "vfsPerNic": 1,
                "nics": [{"pci": "0000:18:00.0", "interface": "ens1"}, {"pci": "0000:3a:00.0", "interface": "ens2"}],
                "frontEndNics": [{"pci": front_end, "interface": "eno1"}],
            }
        },
    }


CASES = (
    good("FAB001", _MACHINES),
    bad("FAB001", _MACHINES, {f"{_A100}.pools": ["a10"]}, "[0]"),
    bad("FAB001", _STORAGE, {f"{_DISKS}.pools": ["h100", "h200"]}, "[1]"),
    irrelevant("FAB001", "dev"),
    good("FAB002", _MACHINES),
    bad("FAB002", _MACHINES, {"fabrics.b100": {"pools": ["a100"]}}, ".pools[0]"),
    irrelevant("FAB002", "dev"),
    good("FAB003", _STORAGE),
    bad("FAB003", _MACHINES, {f"{_A100}.pools": ["a100", "h100"]}),
    bad("FAB003", _STORAGE, {f"{_DISKS}.purpose": "compute"}, f"{_DISKS}.pools"),
    irrelevant("FAB003", "dev"),
    good("FAB004", _STORAGE),
    bad("FAB004", _STORAGE, {f"{_DISKS}.nics": []}),
    bad("FAB004", _STORAGE, {f"{_DISKS}.nccl": {"topology": "none"}}),
    bad("FAB004", _STORAGE, {f"{_DISKS}.verification": {"enabled": True}}),
    bad("FAB004", _STORAGE, {f"{_DISKS}.resilience": "ride-out-flaps"}),
    irrelevant("FAB004", _MACHINES),
    good("FAB015", _STORAGE, _own_machine("0000:f0:00.0")),
    bad("FAB015", _STORAGE, _own_machine("0000:29:00.0"), f"{_DISKS}.nics[0]"),
    irrelevant("FAB015", _MACHINES),
    bad("FAB004", _STORAGE, {f"{_DISKS}.readiness": {}}),
    good("FAB005", _STORAGE),
    bad("FAB005", _STORAGE, {f"{_DISKS}.nics": [{"pci": "0000:18:00.0"}]}, "[0]"),
    bad("FAB005", _STORAGE, {"fabrics.backup": {"pools": ["h100"], "purpose": "storage", "model": "host-device",
        "rdmaMode": "exclusive", "linkType": "ether", "nics": [{"interface": "enp41s0f0np0"}]}}, ".nics[0]"),
    irrelevant("FAB005", _MACHINES),
    good("FAB006", _MACHINES),
    bad("FAB006", _MACHINES, {f"{_A100}.addressing.supernet": "172.16.0.0/12"}),
    bad("FAB006", _STORAGE, {f"{_DISKS}.addressing.supernet": "172.16.8.0/24"}),
    irrelevant("FAB006", "dev"),
    good("FAB007", _STORAGE),
    bad("FAB007", _MACHINES, {"cluster.pools[0].labels": {}}),
    bad("FAB007", _MACHINES, {"cluster.pools[0].labels": {"rack": "a"}, "cluster.pools[1].labels": {"rack": "a"}},
        "cluster.pools[0].labels", "cluster.pools[1].labels"),
    bad("FAB007", _STORAGE, {"cluster.pools": [{"name": "h100", "shape": "server.dgx-h100.8", "nodes": 2,
        "labels": {"gpu": "h100"}}, {"name": "a100", "shape": "server.dgx-a100.8", "nodes": 2,
        "labels": {"gpu": "a100", "all": "yes"}}, {"name": "b100", "shape": "server.dgx-a100.8", "nodes": 2,
        "labels": {"gpu": "a100"}}], "fabrics.a100": {"pools": ["a100", "b100"], "model": "host-device",
        "addressing": {"supernet": "172.17.0.0/16"}}, f"{_DISKS}.pools": ["h100", "b100"]}, "cluster.pools[0].labels"),
    irrelevant("FAB007", "dev"),
    good("FAB008", _MACHINES),
    bad("FAB008", _MACHINES, {f"{_A100}.manager": "spiderpool", **_SHARED}, f"{_A100}.manager"),
    bad("FAB008", _MACHINES, {f"{_A100}.manager": "spiderpool", "fabric.manager": "spiderpool", **_SHARED},
        f"{_A100}.manager"),
    bad("FAB008", _MACHINES, {"cluster.pools[1].shape": "server.mi300x.8"}, f"{_A100}.pools"),
    good("FAB008", "dranet-two-fabrics"),
    bad("FAB008", "dranet-two-fabrics", {f"{_A100}.claims.gpus": "plugin"}, f"{_A100}.claims.gpus"),
    bad("FAB008", "doks-b300", {"fabrics": {"disks": {"purpose": "storage", "pools": ["gpu"],
        "nics": [{"pci": "0000:01:00.0"}]}}}, ".disks.purpose"),
    irrelevant("FAB008", "dev"),
    good("FAB009", _STORAGE),
    bad("FAB009", _STORAGE, {f"{_DISKS}.rdmaMode": "shared"}),
    bad("FAB009", _STORAGE, {f"{_DISKS}.model": "sriov", f"{_DISKS}.vfsPerNic": 1,
        f"{_DISKS}.virtualFunctions": "sriov-operator"}),
    bad("FAB009", _STORAGE, {"fabric.hostPreparation.fabricRule": True}),
    irrelevant("FAB009", _MACHINES),
    good("FAB010", _STORAGE),
    bad("FAB010", _STORAGE, _pools("h100", "more", gpu="h100"), f"{_DISKS}.pools"),
    irrelevant("FAB010", _MACHINES),
    good("FAB011", _STORAGE),
    good("FAB011", _STORAGE, {
        f"{_DISKS}.model": "sriov", f"{_DISKS}.vfsPerNic": 1, "fabric.nccl.settings.NCCL_IB_HCA": "mlx5_2,mlx5_3",
    }),
    bad("FAB011", _STORAGE, {f"{_DISKS}.nics": [{"pci": "0000:29:00.0"}]}, "fabric.nccl.settings"),
    irrelevant("FAB011", _MACHINES),
    good("FAB012", _STORAGE),
    good("FAB012", _MACHINES, _OPERATOR),
    bad("FAB012", _MACHINES, {"fabric.rails": [{"rail": 3, "network": "ours"}],
        f"{_A100}.rails": [{"rail": 0, "network": "ours"}]}, _A100, _A100),
    irrelevant("FAB012", "dev"),
    good("FAB013", _MACHINES),
    bad("FAB013", _MACHINES, {"fabric.rails": [{"rail": 3, "network": "ours"}],
        f"{_A100}.rails": [{"rail": 0, "resource": "ours"}]}),
    irrelevant("FAB013", "dev"),
    good("FAB014", _MACHINES),
    bad("FAB014", _MACHINES, {"software.releaseLine": "23.10", "fabric.addressing.gateway": "first",
        f"{_A100}.addressing.gateway": "first"}, "software.releaseLine"),
    irrelevant("FAB014", "dev"),
)  # fmt: skip
