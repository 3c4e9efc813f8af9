"""Cases of the group `nccl_topology`."""

from __future__ import annotations

from own_topology import IN_USE, LAB, TREE

from rules.alterations import (
    with_another_path_in_the_variable,
    with_setting,
    with_the_file_in_no_namespace,
    with_the_file_under_another_name,
    without_the_mount_of_the_file,
)
from rules.tables import bad, broken, good, irrelevant

_WISH = "fabric.nccl.topology"
_PLAIN = {"cluster.pools[0].shape": "BM.GPU.H200.8"}
_MOVED = {"fabric.rails": [{"rail": 0, "pci": "0000:0e:00.0"}]}

CASES = (
    good("NCT001", "sriov-per-node", IN_USE),
    good("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[1].tree": "ffff:02:00.0>(ffff:03:00.0>N9c,G1)"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[1].node": 0}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.cpuMaskBits": 48}, f"{TREE}.numa[1].cpus"),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[1].cpus": [[15, 31]]}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].cpus": [[0, 9], [5, 15]]}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].cpus": [[15, 0]]}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.linkSpeed": "32.0 GT/s"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.linkSpeed": "8.0 GT/s PCIe"}, TREE, TREE, TREE, TREE),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.rootLinkSpeed": "Gen5"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].tree": "ffff:01:00.0>N1a"}, f"{TREE}.numa",
        f"{LAB}.nics[0].nearestGpu"),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].tree": "ffff:01:00.0>G0"}, f"{TREE}.numa"),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].tree": "ffff:01:00.0>(G0,N1a,G2)"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].tree": "ffff:01:00.0>(G0,N1a,N1b)"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].tree": "ffff:01:00.0>(G0,N1a,G0)"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[1].tree": "ffff:01:00.0>(G1,N9c)"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].tree": "ffff:01:00.0*>(G0,N1a)"}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{TREE}.numa[0].tree": "01>(G0,N1a)"}, TREE),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{LAB}.nics[0].nearestGpu": 1}),
    bad("NCT001", "sriov-per-node", {**IN_USE, f"{LAB}.gpus.pci": []}),
    irrelevant("NCT001", "sriov-per-node", {LAB: {"gpus": {"vendor": "nvidia", "count": 8}}}),
    good("NCT002", "sriov-per-node", {**IN_USE, _WISH: "lean"}),
    bad("NCT002", "sriov-per-node", {**_PLAIN, _WISH: "lean"}),
    bad("NCT002", "sriov-per-node", {**_PLAIN, _WISH: "full"}),
    irrelevant("NCT002", "sriov-per-node", {**_PLAIN, _WISH: "none"}),
    good("NCT003", "sriov-per-node", {_WISH: "full"}),
    bad("NCT003", "sriov-per-node", {**IN_USE, _WISH: "full"}),
    bad("NCT003", "host-network", {"cluster.pools[0].shape": "BM.GPU.H100.8", _WISH: "full"}),
    irrelevant("NCT003", "sriov-per-node", {_WISH: "lean"}),
    good("NCT004", "sriov-per-node", {_WISH: "lean"}),
    bad("NCT004", "host-network", {"cluster.pools[0].shape": "BM.GPU.H100.8", _WISH: "lean"}),
    irrelevant("NCT004", "host-network"),
    good("NCT005", "sriov-per-node", {"fabric.rails": [{"rail": 0, "pci": "0000:0c:00.0"}]}),
    bad("NCT005", "sriov-per-node", _MOVED),
    bad("NCT005", "sriov-per-node", {"fabric.rails": [{"rail": 0, "nearestGpu": 3}]}),
    irrelevant("NCT005", "sriov-per-node", {**_MOVED, _WISH: "none"}),
    good("NCT006", "sriov-operator", {**IN_USE, "fabric.namespaces": ["default", "jobs"]}),
    broken("NCT006", "sriov-per-node", with_the_file_in_no_namespace, _WISH),
    broken("NCT006", "sriov-per-node", with_the_file_under_another_name, _WISH, _WISH),
    broken("NCT006", "sriov-per-node", with_another_path_in_the_variable, _WISH),
    broken("NCT006", "sriov-per-node", without_the_mount_of_the_file, _WISH),
    irrelevant("NCT006", "host-device"),
    good("NCT007", "sriov-per-node"),
    broken("NCT007", "sriov-per-node", with_setting("NCCL_GRAPH_FILE", "/etc/graph.xml"), "fabric.nccl.settings"),
    broken("NCT007", "sriov-per-node", with_setting("NCCL_TOPO_FILE", "/opt/topo.xml"), "fabric.nccl.settings"),
    irrelevant("NCT007", "sriov-per-node", {_WISH: "none"}),
)  # fmt: skip
