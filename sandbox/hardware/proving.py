"""The pods that prove simulated nodes: the stack's own program, run on files of the node against the real API server.

It runs once whenever its node has changed, and now and then, with the token of its pod's account, so that permissions
and the admission policy that limits them are the real ones. Played are the files of sysfs that it reads besides
those of a look, in the form of the kernel's documentation (Documentation/ABI: sysfs-class-net, sysfs-class-infiniband,
sysfs-bus-pci), and what `ip` prints.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.busbw import nic_speed
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL
from ..kubernetes_api import STRATEGIC_PATCH, Api, ApiError, Object
from ..simulated_nodes import NIC_ADDRESSES_ANNOTATION
from . import pairs
from .device_plugins import annotations_of, labels_of, readiness_patch, runs
from .inventory import RAIL_DOMAIN, devices_of
from .looks import write_node
from .measuring.run import Ailment, ailments_of
from .views import Collections
from .virtual_functions import COMPONENT_LABEL
from .watching import RETRY_S

COMPONENT = "fabric-readiness"
"""Value of the pods' label. A pod with it is not ready by itself."""

# Pods next to it become ready or fail without a change of the node.
_LOOK_AGAIN_S, _TICK_S, _WITHIN_S, _TOKEN_S = 4.0, 0.5, 60, 3600
# Gb/s of a rail whose speed the catalog does not know.
_UNKNOWN_RATE = 400
_IP = """#!/bin/sh
case "$*" in
    "-o address show dev "*) cat "$NODE/address.$5" ;;
    *" rule show") cat "$NODE/rules" ;;
    *" route show table "*) cat "$NODE/table.$5" ;;
esac 2>/dev/null
"""

log = logging.getLogger(__name__)


class _ProvingViews(Collections):
    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        super().__init__(kubeconfig, changed)
        self.pods = self._plain("/api/v1/pods", f"{COMPONENT_LABEL}={COMPONENT}")
        self.pairs = self._plain("/api/v1/pods", f"{COMPONENT_LABEL}={pairs.COMPONENT}")
        self.nodes = self._plain("/api/v1/nodes")


class ProvingController:
    """Runs the program of each pod that proves a node, until it is stopped."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._changed = threading.Event()
        self._views = _ProvingViews(kubeconfig, self._changed)
        self._api = Api(kubeconfig)
        self._tokens: dict[str, tuple[str, float]] = {}
        self._seen: dict[str, tuple[Any, float]] = {}
        self._said: dict[str, str] = {}

    def run(self, stopped: threading.Event) -> None:
        """Works until `stopped` is set; what does not work is logged once and tried again."""
        self._views.start()
        while not stopped.is_set():
            self._changed.wait(_TICK_S)
            self._changed.clear()
            if not self._views.known():
                continue
            nodes = self._views.nodes.objects()
            self._end_pairs(nodes)
            for key, pod in self._views.pods.objects().items():
                node = nodes.get(pod["spec"].get("nodeName", ""))
                if stopped.is_set() or node is None or not runs(pod):
                    continue
                version, now = (node["metadata"]["resourceVersion"], pod["metadata"]["uid"]), time.monotonic()
                seen, looked = self._seen.get(key, (None, 0.0))
                if seen == version and now - looked < _LOOK_AGAIN_S:
                    continue
                self._seen[key] = (version, now)
                try:
                    problem = self._prove(pod, node)
                except (ApiError, OSError, ValueError, subprocess.SubprocessError) as error:
                    problem = str(error)
                    stopped.wait(RETRY_S)
                if problem != self._said.get(key, ""):
                    log.warning("%s: %s", key, problem or "works again")
                self._said[key] = problem

    def _end_pairs(self, nodes: Mapping[str, Object]) -> None:
        for pod, ending in pairs.endings(self._views.pairs.objects().values(), nodes):
            try:
                self._views.pairs.keep(self._api.patch(_path(pod), {"metadata": {"annotations": ending}}))
            except (ApiError, OSError) as error:
                log.warning("%s: %s", _path(pod), error)

    def _prove(self, pod: Object, node: Object) -> str:
        """Runs the program of a pod; gives what is wrong with it, and nothing where it wrote the node's condition."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write_node(root, node)
            _write_rails(root, node)
            self._write_account(root / "account", pod)
            mounts = dict(self._write_volumes(root, pod))
            variables = {item["name"]: item.get("value", "") for item in pod["spec"]["containers"][0].get("env") or ()}
            command = pod["spec"]["containers"][0]["command"]
            script = _inside(mounts, command[1])
            server = urlsplit(yaml.safe_load(self._kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
            done = subprocess.run(
                [sys.executable, "-I", str(script), "once"],
                env={
                    "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
                    "NODE": str(root),
                    "NODE_NAME": node["metadata"]["name"],
                    "EXPECTED": str(_inside(mounts, variables["EXPECTED"])),
                    "ADDRESSES": str(root / "mounts/addresses"),
                    "SYS": str(root / "sys"),
                    "PROC": str(root / "proc"),
                    "ACCOUNT": str(root / "account"),
                    "KUBERNETES_SERVICE_HOST": server.hostname or "",
                    "KUBERNETES_SERVICE_PORT": str(server.port),
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_WITHIN_S,
                check=False,
            )
        if done.returncode not in (0, 1):
            return done.stderr.strip() or f"it ended with {done.returncode}"
        if done.stdout.strip():
            log.info("%s: %s", node["metadata"]["name"], done.stdout.strip())
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if body := readiness_patch(pod, now):
            self._views.pods.keep(self._api.patch(f"{_path(pod)}/status", body, STRATEGIC_PATCH))
        return ""

    def _write_account(self, folder: Path, pod: Object) -> None:
        metadata = pod["metadata"]
        token, end = self._tokens.get(metadata["uid"], ("", 0.0))
        if time.monotonic() > end:
            account = pod["spec"]["serviceAccountName"]
            body = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {
                    "audiences": None,
                    "expirationSeconds": _TOKEN_S,
                    "boundObjectRef": {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "name": metadata["name"],
                        "uid": metadata["uid"],
                    },
                },
            }
            path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
            token = self._api.post(path, body)["status"]["token"]
            self._tokens[metadata["uid"]] = (token, time.monotonic() + _TOKEN_S / 2)
        folder.mkdir(mode=0o700)
        (folder / "token").touch(mode=0o600)
        (folder / "token").write_text(token)
        authority = yaml.safe_load(self._kubeconfig.read_text())["clusters"][0]["cluster"]
        (folder / "ca.crt").write_bytes(base64.b64decode(authority["certificate-authority-data"]))

    def _write_volumes(self, root: Path, pod: Object) -> Iterator[tuple[str, Path]]:
        """The ConfigMaps that the pod mounts, as folders: path in the pod, folder."""
        sources = {entry["name"]: (entry.get("configMap") or {}).get("name") for entry in pod["spec"]["volumes"]}
        for mount in pod["spec"]["containers"][0]["volumeMounts"]:
            if (name := sources.get(mount["name"])) is None:
                continue
            found = self._api.get(f"/api/v1/namespaces/{pod['metadata']['namespace']}/configmaps/{name}")
            folder = root / "mounts" / mount["mountPath"].strip("/")
            for file, text in (found.get("data") or {}).items():
                _write(folder / file, text)
            yield mount["mountPath"], folder


def _write_rails(root: Path, node: Object) -> None:
    """What the program reads besides the files of a look: links, speeds, counts, the boot, and what `ip` says."""
    annotations, folder = annotations_of(node), root / "sys/bus/pci/devices"
    shape, devices = catalog().find(labels_of(node).get(INSTANCE_TYPE_LABEL, "")), devices_of(annotations)
    places = enumerate(() if shape is None else shape.nics)
    rails = {nic.pci or f"{RAIL_DOMAIN}:{rail:02x}:00.0": rail for rail, nic in places}
    ailments = ailments_of(node)
    rate = (nic_speed(shape) if shape is not None else None) or _UNKNOWN_RATE
    rows = json.loads(annotations.get(NIC_ADDRESSES_ANNOTATION, "[]"))
    for device in devices:
        if device.is_vf:
            continue
        place = folder / device.pci
        ailment = ailments.get(rails.get(device.pci, -1))
        _write(place / "net" / device.interface / "operstate", "up")
        functions = sum(other.is_vf and other.root_device == device.pci for other in devices)
        _write(place / "sriov_numvfs", str(functions))
        for found in (place / "infiniband").glob("*"):
            if ailment is Ailment.MISSING:
                (place / "infiniband").rename(place / "gone")
                break
            _write(found / "ports/1/rate", f"{rate // 2 if ailment is Ailment.SLOW else rate} Gb/sec (4X)")
        addresses = [row["address"] for row in rows if row["interface"] == device.interface]
        if shape is not None and shape.provider == "doks" and not addresses:
            # DigitalOcean gives each NIC an address on the host; which, is not the stack's.
            addresses = [f"10.224.{rails.get(device.pci, 255)}.1/24"]
        lines = [f"2: {device.interface}    inet {address} scope global {device.interface}" for address in addresses]
        _write(root / f"address.{device.interface}", "\n".join(lines))
    rules = [f"2100:\tfrom {row['address'].partition('/')[0]} lookup {150 + n}" for n, row in enumerate(rows)]
    _write(root / "rules", "\n".join(rules))
    for number, row in enumerate(rows):
        _write(root / f"table.{150 + number}", f"default via {row.get('gateway', '')} dev {row['interface']}")
    boot = node["status"]["nodeInfo"].get("bootID") or f"first-of-{node['metadata']['uid']}"
    _write(root / "proc/sys/kernel/random/boot_id", boot)
    _write(root / "bin/ip", _IP)
    (root / "bin/ip").chmod(0o755)


def _inside(mounts: Mapping[str, Path], path: str) -> Path:
    """Where a path of the pod is on this machine."""
    place = next(mount for mount in mounts if path.startswith(f"{mount}/"))
    return mounts[place] / path.removeprefix(f"{place}/")


def _path(pod: Mapping[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n", encoding="utf-8")
