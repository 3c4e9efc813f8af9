"""A machine of one's own whose PCI tree is in the stack file, as people would write it."""

from typing import Any

LAB = "cluster.shapes.lab"
TREE = f"{LAB}.topology"
MACHINE: dict[str, Any] = {
    "gpus": {"vendor": "nvidia", "model": "H100", "count": 2, "pci": ["0000:19:00.0", "0000:9b:00.0"]},
    "nicModel": {
        "model": "ConnectX-7",
        "vendorId": "15b3",
        "deviceId": "1021",
        "vfDeviceId": "101e",
        "driver": "mlx5_core",
        "linkType": "ether",
    },
    "vfsPerNic": 1,
    "mtu": 9000,
    "nicSpeedGbps": 400,
    "nics": [{"pci": "0000:1a:00.0", "nearestGpu": 0}, {"pci": "0000:9c:00.0", "nearestGpu": 1}],
    "topology": {
        "cpu": {"arch": "x86_64", "vendor": "GenuineIntel", "familyId": 6, "modelId": 143},
        "cpuMaskBits": 64,
        "linkSpeed": "32.0 GT/s PCIe",
        "numa": [
            {"node": 0, "cpus": [[0, 15], [32, 47]], "tree": "ffff:01:00.0>(G0,N1a)"},
            {"node": 1, "cpus": [[16, 31], [48, 63]], "tree": "ffff:02:00.0>(G1,N9c)"},
        ],
    },
}
IN_USE: dict[str, Any] = {LAB: MACHINE, "cluster.pools[0].shape": "lab"}
"""A stack of Oracle's or one's own machines, with machines of this kind instead."""
