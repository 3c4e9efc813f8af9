"""What a look at a simulated node prints: the Job's own script, run on a sysfs that is made of the node's devices.

Played are the files of sysfs that the script reads, in the form of the kernel's documentation (Documentation/ABI:
sysfs-bus-pci, sysfs-class-infiniband, sysfs-class-net). Names of RDMA devices, places of GPUs and what is near them
are those of the catalog's shape; where it has none they are made up as in the inventory: GPUs are in PCI domain fffd.
A node has neither nvidia-smi nor setpci here.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpu_fabric.catalog import Nic, Shape, catalog
from gpu_fabric.catalog.shape import FrontEndNic
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL
from ..kubernetes_api import Object
from ..simulated_nodes import RDMA_MODE_ANNOTATION
from .device_plugins import annotations_of, labels_of
from .inventory import RAIL_DOMAIN, SimulatedDevice, devices_of

GPU_DOMAIN = "fffd"

_WITHIN_S = 60
_VENDORS = {"nvidia": "0x10de", "amd": "0x1002"}
_CLASSES = {"ether": "0x020000", "infiniband": "0x020700"}
_LAYERS = {"ether": "Ethernet", "infiniband": "InfiniBand"}
_TYPES = {"ether": "1", "infiniband": "32"}


def script_of(pod: Object) -> str | None:
    """The script of a pod that looks at its node: what the Bash in the node's own root is to run; None for others."""
    for container in pod["spec"]["containers"]:
        command: list[str] = container.get("command") or []
        if len(command) == 5 and command[:4] == ["chroot", "/host", "/bin/bash", "-c"]:
            return command[4]
    return None


def printed(script: str, node: Object) -> str:
    """What the script prints on a simulated node."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_node(root, node)
        done = subprocess.run(
            ["bash", "-c", script],
            env={"PATH": f"{root / 'bin'}:{os.environ['PATH']}", "SYS": str(root / "sys"), "PROC": str(root / "proc")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )
    return done.stdout + done.stderr


def write_node(root: Path, node: Object) -> None:
    """The files of a simulated node below a folder: `sys`, `proc`, and `bin` with the programs that it has not."""
    sys, annotations = root / "sys", annotations_of(node)
    for place in ("bus/pci/devices", "class/infiniband", "class/net"):
        (sys / place).mkdir(parents=True)
    for program in ("nvidia-smi", "setpci"):
        # Those of the machine that the sandbox runs on have no place here.
        _write(root / "bin" / program, "#!/bin/sh\nexit 1")
        (root / "bin" / program).chmod(0o755)
    _write(root / "proc/sys/kernel/osrelease", str(node["status"]["nodeInfo"]["kernelVersion"]))
    mode = annotations.get(RDMA_MODE_ANNOTATION, "shared")
    _write(sys / "module/ib_core/parameters/netns_mode", "Y" if mode == "shared" else "N")
    shape = catalog().find(labels_of(node).get(INSTANCE_TYPE_LABEL, ""))
    for number, (pci, vendor) in enumerate(_gpus(shape)):
        _write_function(sys, pci, number, {"class": "0x030200", "vendor": vendor, "device": "0xffff"}, vendor)
    devices = devices_of(annotations)
    rails = enumerate(shape.nics if shape is not None else ())
    near = {nic.pci or f"{RAIL_DOMAIN}:{rail:02x}:00.0": nic.nearest_gpu for rail, nic in rails}
    names = dict(_rdma_names(devices, shape))
    for device in devices:
        _write_nic(sys, device, near.get(device.root_device), names.get(device.pci))


def _gpus(shape: Shape | None) -> Iterator[tuple[str, str]]:
    """Address and vendor id of each GPU."""
    if shape is not None:
        for number in range(shape.gpus.count):
            place = shape.gpus.pci[number] if shape.gpus.pci else f"{GPU_DOMAIN}:{number:02x}:00.0"
            yield place, _VENDORS[shape.gpus.vendor]


def _rdma_names(devices: tuple[SimulatedDevice, ...], shape: Shape | None) -> Iterator[tuple[str, str]]:
    """The RDMA device of each function that has one: the catalog's, and then numbers that it does not use."""
    listed: list[Nic | FrontEndNic] = [] if shape is None else [*shape.nics, *(shape.front_end_nics or ())]
    known = {nic.pci: nic.rdma_device for nic in listed if nic.pci and nic.rdma_device}
    free = (name for number in range(1000) if (name := f"mlx5_{number}") not in known.values())
    for device in devices:
        if device.is_rdma:
            yield device.pci, known.get(device.pci) or next(free)


def _write_nic(sys: Path, device: SimulatedDevice, gpu: int | None, name: str | None) -> None:
    ids = {"vendor": f"0x{device.vendor}", "device": f"0x{device.device}", "class": _CLASSES[device.link_type]}
    if device.total_vfs:
        ids["sriov_totalvfs"] = str(device.total_vfs)
    folder = _write_function(sys, device.pci, gpu, ids, device.driver)
    if device.is_vf:
        (folder / "physfn").symlink_to(device_folder(sys, device.root_device, gpu))
    if name is not None:
        port = folder / "infiniband" / name / "ports/1"
        _write(port / "link_layer", _LAYERS[device.link_type])
        # As the kernel shows a link whose speed it knows, and the sandbox none.
        _write(port / "state", "4: ACTIVE")
        (folder / "infiniband" / name / "device").symlink_to(folder)
        (sys / "class/infiniband" / name).symlink_to(folder / "infiniband" / name)
    net = folder / "net" / device.interface
    _write(net / "type", _TYPES[device.link_type])
    if device.mtu is not None:
        _write(net / "mtu", str(device.mtu))
    (net / "device").symlink_to(folder)
    (sys / "class/net" / device.interface).symlink_to(net)


def _write_function(sys: Path, pci: str, gpu: int | None, values: dict[str, str], driver: str) -> Path:
    folder = device_folder(sys, pci, gpu)
    for name, value in values.items():
        _write(folder / name, value)
    home = sys / "bus/pci/drivers" / driver
    home.mkdir(parents=True, exist_ok=True)
    (folder / "driver").symlink_to(home)
    (sys / "bus/pci/devices" / pci).symlink_to(folder)
    return folder


def device_folder(sys: Path, pci: str, gpu: int | None) -> Path:
    """The place of a function: below the switch of a GPU, or below its own root."""
    switch = "" if gpu is None else f"/{GPU_DOMAIN}:f0:{gpu:02x}.0/{GPU_DOMAIN}:f1:{gpu:02x}.0"
    return sys / f"devices/pci{pci[:7]}{switch}/{pci}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n", encoding="utf-8")
