"""Node Feature Discovery's own worker and master, for nodes whose PCI devices are files.

The worker reads the devices below its working folder (how it is built: `sandbox/toolchain/binaries.yaml`) and writes
the node's NodeFeature; the master writes the labels of the NodeFeatures and of the NodeFeatureRules to the nodes.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpu_fabric.catalog import Shape
from sandbox.hardware.inventory import MADE_UP_ID, inventory
from sandbox.ports import choose_ports

Json = dict[str, Any]
Devices = dict[str, dict[str, str]]
"""PCI functions by address: the names of the files that sysfs has for each, with their content."""

NAMESPACE = "default"
NODE_FEATURES = f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{NAMESPACE}/nodefeatures"
DONE = "nfd.node.kubernetes.io/feature-labels"
"""The annotation of a node that the master has labelled."""


def _worker(*classes: str) -> Json:
    return {"sources": {"pci": {"deviceClassWhitelist": [*classes], "deviceLabelFields": ["vendor"]}}}


WORKER = {"gpu-operator": _worker("02", "0200", "0207", "0300", "0302"), "network-operator": _worker("0300", "0302")}
"""How each chart configures the worker: its value `node-feature-discovery.worker.config`, the same in the releases
26.3.3 and 23.9.1, or 26.4.1 and 23.10.0-rc.5 (`tests/upstream` compares them)."""

MASTER: Json = {"extraLabelNs": ["nvidia.com"]}
"""How both charts configure the master."""

_NIC_CLASSES = {"ether": "0x020000", "infiniband": "0x020700"}
# A board with display outputs is a VGA controller, a GPU without a 3D controller, AMD's a processing accelerator.
_GPUS = {"nvidia": ("0x10de", "0x030200"), "amd": ("0x1002", "0x120000")}
_DISPLAY = "0x030000"


def pci_devices(shape: Shape) -> Devices:
    """The GPUs and NICs of a node as its kernel would show them; a NIC of an unknown vendor is left out."""
    found = {}
    vendor, sort = _GPUS[shape.gpus.vendor]
    sort = _DISPLAY if (shape.gpus.model or "").startswith("RTX") else sort
    for number in range(shape.gpus.count):
        address = shape.gpus.pci[number] if shape.gpus.pci else f"fffd:{number:02x}:00.0"
        found[address] = _function(sort, vendor)
    for nic in inventory(shape):
        if nic.vendor != MADE_UP_ID:
            total = {"sriov_totalvfs": str(nic.total_vfs)} if nic.total_vfs else {}
            found[nic.pci] = _function(_NIC_CLASSES[nic.link_type], f"0x{nic.vendor}", f"0x{nic.device}") | total
    return found


def _function(sort: str, vendor: str, device: str = "0xffff") -> dict[str, str]:
    return {"class": sort, "vendor": vendor, "device": device, "subsystem_vendor": vendor, "subsystem_device": "0x0000"}


class Discovery:
    """The two programs against one API server; `folder` is where the machines' files and configurations are."""

    def __init__(self, programs: Path, kubeconfig: Path, folder: Path) -> None:
        self._programs, self._kubeconfig, self._folder = programs, kubeconfig, folder

    @property
    def definitions(self) -> Path:
        """The definitions of the release's custom resources."""
        return self._programs / "nfd-api-crds.yaml"

    def work(self, node: str, devices: Devices, config: Json) -> None:
        """Run the worker once as if on the node."""
        machine = self._folder / node
        bus = machine / "host-sys/bus/pci/devices"
        bus.mkdir(parents=True)
        for address, files in devices.items():
            (bus / address).mkdir()
            for name, content in files.items():
                (bus / address / name).write_text(f"{content}\n")
        command = self._command("nfd-worker", config, machine)
        result = subprocess.run(
            [*command, "-oneshot"],
            cwd=machine,
            env=self._environment(node),
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr

    @contextmanager
    def master(self, node: str) -> Iterator[None]:
        """The master, running as if on the node."""
        machine = self._folder / f"master-on-{node}"
        machine.mkdir()
        port = choose_ports(["master"])["master"]
        with (machine / "log").open("w") as log:
            process = subprocess.Popen(
                [*self._command("nfd-master", MASTER, machine), "-port", str(port)],
                cwd=machine,
                env=self._environment(node),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            yield
            assert process.poll() is None, (machine / "log").read_text()
        finally:
            process.terminate()
            process.wait()

    def _command(self, program: str, config: Json, folder: Path) -> list[str]:
        file = folder / f"{program}.conf"
        file.write_text(json.dumps(config))
        return [str(self._programs / program), "-kubeconfig", str(self._kubeconfig), "-config", str(file)]

    @staticmethod
    def _environment(node: str) -> dict[str, str]:
        return {**os.environ, "NODE_NAME": node, "KUBERNETES_NAMESPACE": NAMESPACE}
