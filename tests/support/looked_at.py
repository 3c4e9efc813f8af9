"""A node made of files for the script that looks at one: sysfs and procfs in a folder, nvidia-smi and setpci beside."""

import os
import subprocess
import tempfile
from pathlib import Path

from gpu_fabric.discover.look import script
from tests.support.node_outputs import FRONT_END_DEVICE, GPUS, NodeOutputs

_NVIDIA_SMI = """#!/bin/bash
[[ $* == "--query-gpu=index,pci.bus_id,name,memory.total --format=csv,noheader,nounits" ]] || exit 2
cat "${0%/*}/gpus"
"""
# Answers for the functions that the file names, and is an error for any other.
_SETPCI = """#!/bin/bash
[[ $1 == -s && $3 == ECAP_ACS+6.w ]] || exit 2
grep -s -m 1 "^$2 " "${0%/*}/acs" | cut -d ' ' -f 2 | grep .
"""


class LookedAt:
    """The files of a node with the devices of `outputs`."""

    def __init__(self, folder: Path, outputs: NodeOutputs) -> None:
        self.sys, self.proc, self.programs = (folder / name for name in ("sys", "proc", "bin"))
        self._outputs = outputs
        self._near = {pci: gpu for pci, _, _, gpu in (*outputs.rails, *outputs.virtual())}
        self._near |= {pci: number for number, pci in enumerate(outputs.gpus)}
        for place in ("bus/pci/devices", "class/infiniband", "class/infiniband_verbs", "class/net"):
            (self.sys / place).mkdir(parents=True)
        self._write(self.proc / "sys/kernel/osrelease", "6.8.0-1043-oracle")
        self._write(self.sys / "class/dmi/id/product_name", "PowerEdge XE9680")
        self._write(self.sys / "module/ib_core/parameters/netns_mode", "N")
        self._write(self.sys / "module/mlx5_core/version", "25.10-1.7.1")
        for pci, code, _, _, ids, driver in outputs.functions():
            self._add_function(pci, code, ids, driver)
        for pci, name, interface, _, device in outputs.devices():
            self._add_port(pci, name, interface, device)
        for pci, _, _, _ in outputs.virtual():
            (self.of(pci) / "physfn").symlink_to(self.of(f"{pci[:8]}00.{pci[-1]}"))
        self.programs.mkdir()
        self.add_program("setpci", _SETPCI)
        if outputs.shape.gpus.vendor == "nvidia":
            self._write(self.sys / "module/nvidia/version", "570.172.08")
            name, _, _, memory = GPUS[outputs.shape.gpus.model or ""]
            rows = [f"{number}, 0000{pci.upper()}, {name}, {memory}\n" for number, pci in enumerate(outputs.gpus)]
            self._write(self.programs / "gpus", "".join(rows).rstrip("\n"))
            self.add_program("nvidia-smi", _NVIDIA_SMI)

    def of(self, pci: str) -> Path:
        """The folder of a PCI function."""
        return self.sys / "devices" / self._outputs.device_path(pci, self._near.get(pci))

    def run(self) -> str:
        """What the script prints."""
        done = subprocess.run(
            ["bash", "-c", script()],
            env={"PATH": f"{self.programs}:{os.environ['PATH']}", "SYS": str(self.sys), "PROC": str(self.proc)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def add_program(self, name: str, text: str) -> None:
        """A program on the node."""
        (self.programs / name).write_text(text, encoding="utf-8")
        (self.programs / name).chmod(0o755)

    def _add_function(self, pci: str, code: str, ids: str, driver: str) -> None:
        vendor, device = ids.split(":")
        folder = self.of(pci)
        self._write(folder / "class", f"0x{code}00")
        self._write(folder / "vendor", f"0x{vendor}")
        self._write(folder / "device", f"0x{device}")
        self._write(folder / "numa_node", "0")
        if driver:
            home = self.sys / "bus/pci/drivers" / driver
            home.mkdir(parents=True, exist_ok=True)
            (folder / "driver").symlink_to(home)
        (self.sys / "bus/pci/devices" / pci).symlink_to(folder)

    def _add_port(self, pci: str, name: str, interface: str, device: str) -> None:
        folder, infiniband = self.of(pci), self._outputs.of_infiniband(device)
        speed = 100 if device == FRONT_END_DEVICE else self._outputs.speed
        port = folder / "infiniband" / name / "ports/1"
        self._write(port / "link_layer", "InfiniBand" if infiniband else "Ethernet")
        self._write(port / "rate", f"{speed} Gb/sec (4X NDR)")
        self._write(port / "state", "4: ACTIVE")
        self._write(port.parent.parent / "fw_ver", "28.41.1000")
        (port.parent.parent / "device").symlink_to(folder)
        (self.sys / "class/infiniband" / name).symlink_to(port.parent.parent)
        verbs = self.sys / "class/infiniband_verbs" / f"uverbs{name.rpartition('_')[2]}"
        self._write(verbs / "ibdev", name)
        self._write(verbs / "abi_version", "1")
        if interface:
            net = folder / "net" / interface
            self._write(net / "type", "32" if infiniband else "1")
            self._write(net / "mtu", str(self._outputs.mtu_of(device)))
            self._write(net / "speed", str(speed * 1000))
            (net / "device").symlink_to(folder)
            (self.sys / "class/net" / interface).symlink_to(net)

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")


def look_of(outputs: NodeOutputs) -> str:
    """What the script prints on a node with these devices."""
    with tempfile.TemporaryDirectory() as folder:
        return LookedAt(Path(folder), outputs).run()
