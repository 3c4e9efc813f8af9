"""Proves the fabric of the node that it runs on, and writes the node's condition `gpu-fabric.dev/FabricReady`.

    python3 readiness_agent.py watch    look, write, and look again after a pause, for ever
    python3 readiness_agent.py once     look and write once; exit status 0 if the node is proven, 1 if it is not
    python3 readiness_agent.py alive    exit status 0 if `watch` has written what it found a short while ago

Exit status 2 is a wrong environment, or an API server that does not answer. It runs from a ConfigMap in a pod on the
host's network: it imports nothing but Python's own library (3.10 or newer), reads the host's sysfs, starts `ip`, and
writes no file but the mark for `alive`. From the environment it reads:

    NODE_NAME                the node
    EXPECTED                 the JSON file of what is planned; the plan's `expected` writes it
    SYS, PROC                where sysfs and procfs are mounted
    ADDRESSES                the folder with the tables of the hosts' addresses, a folder a rail
    ACCOUNT                  the folder with the service account's token and the API server's authority
    ALIVE                    the file that `watch` writes after each look
    KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT

Beside it is `readiness_pair.py` where nodes are measured with a neighbour.

The annotation `gpu-fabric.dev/prove` asks for a proof: its text is written to `gpu-fabric.dev/proved` with the
condition that was found after it was read.
"""

from __future__ import annotations

import calendar
import contextlib
import http.client
import importlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

CONDITION = "gpu-fabric.dev/FabricReady"
PROVE, PROVED = "gpu-fabric.dev/prove", "gpu-fabric.dev/proved"
PROVED_BOOT = "gpu-fabric.dev/proved-boot"
PAIR, AWAY_SINCE = "gpu-fabric.dev/pair", "gpu-fabric.dev/nics-away-since"
_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
# Seconds between two writes of a condition that has not changed: the kubelet's own pause.
_HEARTBEAT = 300
# Seconds that a NIC may be away after its last pod: networks are removed from a pod before the pod is.
_AWAY = 120
# Seconds between two looks while rails are measured.
_PAIR_STEP = 10
_TRIES, _REQUEST_SECONDS, _PROGRAM_SECONDS = 5, 20, 20
_LONGEST_MESSAGE = 1024
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_GPU_CLASSES = ("0x03", "0x12")

Json = dict[str, Any]


class Fault(NamedTuple):
    """What is not as planned: a reason in one word, and a sentence."""

    reason: str
    text: str


class Trouble(Exception):
    """The look cannot be done, which says nothing about the fabric."""


class Refused(Exception):
    """An answer of the API server other than success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


def value(path: Path) -> str:
    """The first line of a file; empty where there is none, or where the kernel does not give it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0].strip()
    except OSError:
        return ""


def number(text: str) -> int:
    """The number that a text begins with; 0 without one."""
    found = re.match(r"[0-9]+", text)
    return int(found.group()) if found else 0


def names(folder: Path) -> list[str]:
    """What is in a folder; nothing where there is none."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


class Host:
    """The node's devices, as sysfs shows them in the host's network namespace, and its addresses and routes."""

    def __init__(self, sys_folder: Path, proc_folder: Path) -> None:
        self.functions = sys_folder / "bus/pci/devices"
        self.interfaces = sys_folder / "class/net"
        self.devices = sys_folder / "class/infiniband"
        self._proc = proc_folder

    @property
    def boot(self) -> str:
        """The boot's id: another one after each start of the node."""
        found = value(self._proc / "sys/kernel/random/boot_id")
        if not found:
            raise Trouble("the kernel's boot_id cannot be read")
        return found

    def function_of(self, rail: Json) -> Path | None:
        """The PCI function of a rail's NIC, by the first of its facts that is known; None where the node has none."""
        if rail["pci"]:
            place: Path = self.functions / rail["pci"]
        elif rail["interface"]:
            place = self.interfaces / rail["interface"] / "device"
        elif rail["rdmaDevice"]:
            place = self.devices / rail["rdmaDevice"] / "device"
        else:
            return None
        return place.resolve() if place.exists() else None

    def bridges(self, function: Path) -> list[str]:
        """The PCI addresses above a function, from the root."""
        return [part for part in function.parts[:-1] if _ADDRESS.fullmatch(part)]

    def gpus(self, vendor: str) -> list[str]:
        """The addresses of a vendor's GPUs, in their order on the bus."""
        return [
            name
            for name in names(self.functions)
            if value(self.functions / name / "class").startswith(_GPU_CLASSES)
            and value(self.functions / name / "vendor") == vendor
        ]

    def ip(self, *words: str) -> str:
        """What `ip` prints."""
        try:
            done = subprocess.run(
                ["ip", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PROGRAM_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise Trouble(f"`ip {' '.join(words)}` fails: {problem}") from None
        return done.stdout


def rail_faults(host: Host, expected: Json, rail: Json, *, seen: bool) -> Iterator[Fault]:
    """What is wrong with a rail on the host.

    `seen`: the rail was as planned since the node's start. A NIC that is moved into pods cannot be looked at while a
    pod has it; one that was never seen counts as missing.
    """
    about = f"rail {rail['rail']}"
    if not (rail["pci"] or rail["interface"] or rail["rdmaDevice"]):
        return
    known = rail["pci"] or rail["interface"] or rail["rdmaDevice"]
    function = host.function_of(rail)
    moved = expected["nicsMove"] and seen
    if function is None:
        # Without its PCI address a NIC that is in a pod has nothing on the host by which it could be found.
        if rail["pci"] or not moved:
            yield Fault("NicMissing", f"{about}: the node has no NIC {known}")
        return
    about += f" ({function.name})"
    if not (function / "driver").exists():
        yield Fault("DriverMissing", f"{about}: no driver is bound to the NIC")
        return
    if rail["vfs"] and number(value(function / "sriov_numvfs")) < rail["vfs"]:
        found = number(value(function / "sriov_numvfs"))
        yield Fault("FunctionsMissing", f"{about}: {found} virtual functions, not {rail['vfs']}")
    yield from _affinity_faults(host, expected, rail, function, about)
    interfaces, devices = names(function / "net"), names(function / "infiniband")
    if moved and not interfaces and not devices:
        return
    yield from _interface_faults(host, rail, function, interfaces, about)
    yield from _device_faults(rail, function, devices, about)


def _interface_faults(host: Host, rail: Json, function: Path, interfaces: list[str], about: str) -> Iterator[Fault]:
    # The NIC's own; its virtual functions have folders of their own.
    wanted = rail["interface"]
    if not interfaces:
        # InfiniBand has an interface with the module ib_ipoib alone.
        if rail["link"] == "ether":
            yield Fault("InterfaceMissing", f"{about}: the NIC has no network interface")
        return
    if wanted and wanted not in interfaces:
        yield Fault("InterfaceMissing", f"{about}: its interface is {interfaces[0]}, not {wanted}")
        return
    name = wanted or interfaces[0]
    net = function / "net" / name
    if rail["link"] == "ether":
        if value(net / "operstate") not in ("up", "unknown"):
            yield Fault("LinkDown", f"{about}: {name} is {value(net / 'operstate') or 'without a state'}")
        if rail["mtu"] and number(value(net / "mtu")) < rail["mtu"]:
            yield Fault("MtuTooSmall", f"{about}: {name} has MTU {value(net / 'mtu')}, below {rail['mtu']}")
    yield from _address_faults(host, rail, name, about)


def _address_faults(host: Host, rail: Json, name: str, about: str) -> Iterator[Fault]:
    if not rail["addresses"]:
        return
    shown = host.ip("-o", "address", "show", "dev", name)
    present = re.findall(r" inet6? ([0-9a-fA-F.:]+/[0-9]+) .*?scope global", shown)
    if rail["addresses"] == "any":
        if not present:
            yield Fault("AddressMissing", f"{about}: {name} has no address")
        return
    tables = Path(os.environ.get("ADDRESSES", "/addresses"))
    planned = value(tables / f"{rail['rail']:02d}" / os.environ["NODE_NAME"]).split()
    if len(planned) < 2:
        yield Fault("AddressMissing", f"{about}: the plan has no address for this node")
        return
    address, gateway = planned[1], planned[2] if len(planned) > 2 else ""
    if address not in present:
        yield Fault("AddressMissing", f"{about}: {name} has not the address {address}")
        return
    if not gateway:
        return
    family = "-6" if ":" in address else "-4"
    alone = address.split("/")[0]
    leading = re.findall(rf"from {re.escape(alone)} .*?lookup (\S+)", host.ip(family, "rule", "show"))
    routes = host.ip(family, "route", "show", "table", leading[0]) if leading else ""
    if not re.search(rf"default via {re.escape(gateway)} dev {re.escape(name)}\b", routes):
        yield Fault("RouteMissing", f"{about}: no rule leads from {alone} to a default route by {gateway}")


def _device_faults(rail: Json, function: Path, devices: list[str], about: str) -> Iterator[Fault]:
    wanted = rail["rdmaDevice"]
    if not devices:
        yield Fault("RdmaDeviceMissing", f"{about}: the NIC has no RDMA device")
        return
    if wanted and wanted not in devices:
        yield Fault("RdmaDeviceMissing", f"{about}: its RDMA device is {devices[0]}, not {wanted}")
        return
    name = wanted or devices[0]
    port = function / "infiniband" / name / "ports/1"
    state, layer = value(port / "state"), value(port / "link_layer")
    if not state.endswith("ACTIVE"):
        yield Fault("PortDown", f"{about}: the port of {name} is {state or 'without a state'}, not ACTIVE")
    if layer and layer.lower() != {"ether": "ethernet"}.get(rail["link"], rail["link"]):
        yield Fault("LinkTypeWrong", f"{about}: the port of {name} is {layer}, not {rail['link']}")
    rate = number(value(port / "rate"))
    if rail["gbps"] and rate and rate < rail["gbps"]:
        yield Fault("LinkSlow", f"{about}: the port of {name} runs at {rate} Gb/s, not {rail['gbps']}")


def _affinity_faults(host: Host, expected: Json, rail: Json, function: Path, about: str) -> Iterator[Fault]:
    """A NIC whose path to its GPU is longer than to another one: the plan's numbers are not the machine's."""
    gpus = expected["gpus"]["pci"] or host.gpus(expected["gpus"]["vendor"])
    if rail["gpu"] is None or rail["gpu"] >= len(gpus):
        return
    shared = []
    for gpu in gpus:
        place = host.functions / gpu
        if not place.exists():
            yield Fault("GpuMissing", f"the node has no GPU {gpu}")
            return
        pairs = zip(host.bridges(function), host.bridges(place.resolve()), strict=False)
        depth = 0
        for ours, theirs in pairs:
            if ours != theirs:
                break
            depth += 1
        shared.append(depth)
    if shared[rail["gpu"]] < max(shared):
        nearest = shared.index(max(shared))
        yield Fault("GpuFar", f"{about}: its nearest GPU is {nearest}, not {rail['gpu']}")


def speed_faults(host: Host, expected: Json) -> Iterator[Fault]:
    """Rails that run slower than others, where the plan does not know the line rate."""
    rates = {}
    for rail in expected["rails"]:
        function = host.function_of(rail)
        if rail["gbps"] or function is None:
            continue
        for device in names(function / "infiniband")[:1]:
            if rate := number(value(function / "infiniband" / device / "ports/1/rate")):
                rates[rail["rail"]] = rate
    for rail_number, rate in rates.items():
        if rate < max(rates.values()):
            text = f"rail {rail_number}: its port runs at {rate} Gb/s, and others at {max(rates.values())}"
            yield Fault("LinkSlow", text)


def offer_faults(node: Json, expected: Json) -> Iterator[Fault]:
    """Resources of which the kubelet offers fewer than planned."""
    offered = node.get("status", {}).get("allocatable") or {}
    for resource, count in expected["resources"].items():
        if _quantity(str(offered.get(resource, "0"))) < count:
            yield Fault("ResourceMissing", f"the node offers {offered.get(resource, 'no')} {resource}, not {count}")


def _quantity(text: str) -> int:
    """A number of devices as Kubernetes writes it: 1000 is 1k."""
    return number(text) * {"k": 1000, "M": 1000000}.get(text.lstrip("0123456789"), 1)


def rails_away(host: Host, expected: Json) -> list[Json]:
    """The rails whose NICs are on the node and have neither interface nor RDMA device on the host: pods have them."""
    found = []
    for rail in expected["rails"]:
        function = host.function_of(rail) if rail["pci"] else None
        if function is None or not (function / "driver").exists():
            continue
        if not names(function / "net") and not names(function / "infiniband"):
            found.append(rail)
    return found


def resources_in_use(pods: list[Json]) -> set[str]:
    """The resources for which pods ask that have not ended."""
    running = [pod["spec"] for pod in pods if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
    containers = [entry for spec in running for entry in (*spec["containers"], *(spec.get("initContainers") or ()))]
    asked = [(entry.get("resources") or {}).get(part) or {} for entry in containers for part in ("requests", "limits")]
    return {name for resources in asked for name in resources}


def pod_faults(pods: list[Json], wanted: list[str], *, every: bool) -> Iterator[Fault]:
    """DaemonSets without a pod on the node that is ready: those of `wanted`, and with `every` all that have a pod."""
    ready: dict[str, bool] = {}
    for pod in pods:
        metadata = pod["metadata"]
        owners = [owner["name"] for owner in metadata.get("ownerReferences") or () if owner["kind"] == "DaemonSet"]
        if not owners or "deletionTimestamp" in metadata:
            continue
        if (metadata.get("labels") or {}).get("gpu-fabric/component") == "fabric-readiness":
            continue
        conditions = pod.get("status", {}).get("conditions") or ()
        is_ready = any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)
        ready[owners[0]] = ready.get(owners[0], False) or is_ready
    for name in sorted({*wanted, *(ready if every else ())}):
        if name not in ready:
            yield Fault("PodMissing", f"the node has no pod of the DaemonSet {name}")
        elif not ready[name]:
            yield Fault("PodNotReady", f"the pod of the DaemonSet {name} is not ready")


class Api:
    """The API server, asked with the pod's own account. The token is read at each request, since it is renewed."""

    def __init__(self, account: Path) -> None:
        self._account = account
        self._host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
        self._port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
        try:
            self._context = ssl.create_default_context(cafile=str(account / "ca.crt"))
        except OSError as problem:
            raise Trouble(f"the API server's authority cannot be read: {problem}") from None
        # On by default since Python 3.13, and refuses authorities of clusters without a key identifier
        # (kubernetes-client/python, issue 2394). Name, signature and validity are checked as ever.
        self._context.verify_flags &= ~ssl.VERIFY_X509_STRICT

    def get(self, path: str) -> Json:
        return self._request("GET", path, None, "application/json")

    def patch(self, path: str, body: Json, kind: str) -> Json:
        return self._request("PATCH", path, body, kind)

    def find(self, path: str) -> Json | None:
        """An object; None where there is none."""
        return self._unless((404,), "GET", path, None)

    def create(self, path: str, body: Json) -> Json | None:
        """A new object; None where one of its name exists."""
        return self._unless((409,), "POST", path, body)

    def delete(self, path: str, uid: str) -> None:
        """Delete an object, and not another one that has its name since."""
        self._unless((404, 409), "DELETE", path, {"preconditions": {"uid": uid}})

    def _unless(self, allowed: tuple[int, ...], method: str, path: str, body: Json | None) -> Json | None:
        try:
            return self._request(method, path, body, "application/json")
        except Refused as refusal:
            if refusal.status not in allowed:
                raise
            return None

    def _request(self, method: str, path: str, body: Json | None, kind: str) -> Json:
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=_REQUEST_SECONDS, context=self._context
        )
        try:
            token = (self._account / "token").read_text(encoding="utf-8").strip()
            headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "Content-Type": kind}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as problem:
            raise Trouble(f"the API server was not reached: {problem}") from None
        finally:
            connection.close()
        try:
            document = json.loads(text)
        except ValueError:
            document = {}
        if answer.status >= 400:
            raise Refused(answer.status, str(document.get("message") or text.strip()[:300]))
        return dict(document)


class Agent:
    """Looks at a node and writes what it found."""

    def __init__(self, node: str, expected: Json, host: Host, api: Api) -> None:
        self._expected = expected
        self._host = host
        self._api = api
        self._name = node
        self._path = f"/api/v1/nodes/{quote(node, safe='')}"
        self._pairing: Any = None
        if expected.get("pair"):
            # It is a file beside this one, wherever that is mounted.
            sys.path.insert(0, str(Path(__file__).parent))
            self._pairing = importlib.import_module("readiness_pair").Pairing(api, node, expected["pair"], Refused)
        self.is_pairing = False

    def prove(self) -> bool:
        """One look, and what follows from it; whether the node is proven.

        A node that jobs may use is closed to them before anything else is written, and opened after all else.
        """
        node = self._api.get(self._path)
        asked, boot = _annotations(node).get(PROVE), self._host.boot
        if _condition(node).get("status") != "True" or _annotations(node).get(PROVED_BOOT) != boot:
            node = self._set_taint(node, wanted=True)
        own: dict[str, str | None] = {}
        (status, reason, message), is_answer = self._found(node, boot, own), True
        self.is_pairing = False
        if self._pairing is not None and status == "True":
            status, reason, message, is_answer, record = self._pairing.answer(node, boot, asked, message)
            own[PAIR] = json.dumps(record, sort_keys=True)
            self.is_pairing = "with" in record
        if status != "True":
            node = self._set_taint(node, wanted=True)
        if is_answer and asked is not None:
            own[PROVED] = asked
        if is_answer and status == "True":
            own[PROVED_BOOT] = boot
        node = self._write(node, own, (status, reason, message))
        if status == "True":
            self._set_taint(node, wanted=False)
        return status == "True"

    def close_at_shutdown(self) -> None:
        """Close a node that is shut down, so that it is closed when it comes back; not one whose pod is replaced.

        The kubelet says so in the condition Ready when it begins to end pods (source: Kubernetes,
        pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, ShutdownStatus).
        """
        node = self._api.get(self._path)
        ready: Json = next((entry for entry in node["status"].get("conditions") or () if entry["type"] == "Ready"), {})
        if ready.get("status") != "True" and "node is shutting down" in ready.get("message", ""):
            self._set_taint(node, wanted=True)

    def _found(self, node: Json, boot: str, own: dict[str, str | None]) -> tuple[str, str, str]:
        """The condition's status, reason and message; adds to `own` what is to be remembered."""
        seen = _annotations(node).get(PROVED_BOOT) == boot
        if self._pairing is not None:
            seen = seen or self._pairing.was_seen(node, boot)
        try:
            faults = list(self._faults(node, seen=seen))
            if self._expected.get("lostNics"):
                faults += self._lost_nics(node, own)
        except (Trouble, Refused) as problem:
            return "Unknown", "LookFailed", str(problem)[:_LONGEST_MESSAGE]
        if not faults:
            count = len(self._expected["rails"])
            return "True", "Proven", f"{count} rails, what they offer and what serves them are as planned"
        texts = list(dict.fromkeys(fault.text for fault in faults))
        message = "; ".join(texts)
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[: _LONGEST_MESSAGE - 30].rpartition('; ')[0]}; and more ({len(texts)} in all)"
        return "False", faults[0].reason, message

    def _faults(self, node: Json, *, seen: bool) -> Iterator[Fault]:
        for rail in self._expected["rails"]:
            yield from rail_faults(self._host, self._expected, rail, seen=seen)
        yield from speed_faults(self._host, self._expected)
        yield from offer_faults(node, self._expected)
        for entry in self._expected["pods"]:
            selector = quote(f"spec.nodeName={self._name}", safe="")
            # From the API server's cache: every node asks.
            path = f"/api/v1/namespaces/{entry['namespace']}/pods?fieldSelector={selector}&resourceVersion=0"
            yield from pod_faults(self._api.get(path)["items"], entry["daemonSets"], every=entry["every"])

    def _lost_nics(self, node: Json, own: dict[str, str | None]) -> Iterator[Fault]:
        """NICs that no pod of the node asks for and that are not on the host: a dead pod's namespace has them.

        Since when each is away is an annotation, and so outlives this program.
        """
        resources: dict[str, str] = self._expected["lostNics"]
        away = [rail for rail in rails_away(self._host, self._expected) if str(rail["rail"]) in resources]
        used: set[str] = set()
        if away:
            selector = quote(f"spec.nodeName={self._name}", safe="")
            used = resources_in_use(self._api.get(f"/api/v1/pods?fieldSelector={selector}&resourceVersion=0")["items"])
        before = _annotations(node).get(AWAY_SINCE, "")
        known = dict(entry.split("=", 1) for entry in before.split(",") if "=" in entry)
        now = time.gmtime()
        lost = {str(rail["rail"]): rail for rail in away if resources[str(rail["rail"])] not in used}
        since = {rail: known.get(rail, time.strftime("%Y-%m-%dT%H:%M:%SZ", now)) for rail in lost}
        own[AWAY_SINCE] = ",".join(f"{rail}={stamp}" for rail, stamp in since.items()) or None
        for number, rail in lost.items():
            if _age(since[number], now) >= _AWAY:
                text = f"rail {number} ({rail['pci']}): the NIC is not on the host, and since {since[number]} no pod"
                yield Fault("NicLost", f"{text} asks for {resources[number]}")

    def _write(self, node: Json, own: dict[str, str | None], found: tuple[str, str, str]) -> Json:
        status, reason, message = found
        before, annotations = _condition(node), _annotations(node)
        wanted = {key: text for key, text in own.items() if annotations.get(key) != text}
        same = (before.get("status"), before.get("reason"), before.get("message")) == found
        now = time.gmtime()
        if same and not wanted and _age(before.get("lastHeartbeatTime"), now) < _HEARTBEAT:
            return node
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", now)
        changed = before.get("status") != status
        entry = {
            "type": CONDITION,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": stamp,
            "lastTransitionTime": stamp if changed else before.get("lastTransitionTime", stamp),
        }
        # Both in one write: a program that waits for the answer sees its condition, too.
        body = {"metadata": {"annotations": wanted}, "status": {"conditions": [entry]}}
        if not same:
            print(f"{stamp} {status} {reason}: {message}", flush=True)
        return self._api.patch(f"{self._path}/status", body, _STRATEGIC)

    def _set_taint(self, node: Json, *, wanted: bool) -> Json:
        """The node with or without the taint, where this program is who sets it."""
        taint = self._expected["taint"]
        if taint is None:
            return node
        for _ in range(_TRIES):
            present = node.get("spec", {}).get("taints") or []
            others = [entry for entry in present if (entry["key"], entry["effect"]) != (taint["key"], taint["effect"])]
            if (len(others) < len(present)) == wanted:
                return node
            # The list is one value to the API server: the version keeps what others have changed in between.
            body = {
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                "spec": {"taints": [*others, taint] if wanted else others},
            }
            try:
                return self._api.patch(self._path, body, _MERGE)
            except Refused as refusal:
                if refusal.status != 409:
                    raise
                node = self._api.get(self._path)
        raise Trouble("the node's taints are changed by others all the time")


def _annotations(node: Json) -> dict[str, str]:
    return node["metadata"].get("annotations") or {}


def _condition(node: Json) -> Json:
    found: list[Json] = node.get("status", {}).get("conditions") or []
    return next((entry for entry in found if entry["type"] == CONDITION), {})


def _age(stamp: str | None, now: time.struct_time) -> float:
    try:
        return calendar.timegm(now) - calendar.timegm(time.strptime(stamp or "", "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return _HEARTBEAT


def _ended(_: int, __: FrameType | None) -> NoReturn:
    sys.exit(143)


def _watch(agent: Agent, seconds: int, alive: Path) -> NoReturn:
    try:
        _look_for_ever(agent, seconds, alive)
    finally:
        with contextlib.suppress(Trouble, Refused):
            agent.close_at_shutdown()


def _look_for_ever(agent: Agent, seconds: int, alive: Path) -> NoReturn:
    said = ""
    while True:
        try:
            agent.prove()
            problem = ""
            alive.write_text("", encoding="utf-8")
        except (Trouble, Refused) as trouble:
            problem = str(trouble)
        if problem and problem != said:
            print(f"the node's condition cannot be written: {problem}", file=sys.stderr, flush=True)
        said = problem
        time.sleep(min(seconds, _PAIR_STEP) if agent.is_pairing else seconds)


def _is_alive(alive: Path, seconds: int) -> bool:
    try:
        return time.time() - alive.stat().st_mtime < 3 * seconds + 60
    except OSError:
        return False


def main(mode: str) -> int:
    """The exit status."""
    signal.signal(signal.SIGTERM, _ended)
    environment = os.environ
    try:
        node = environment["NODE_NAME"]
        expected: Json = json.loads(Path(environment["EXPECTED"]).read_text(encoding="utf-8"))
        alive = Path(environment.get("ALIVE", "/tmp/alive"))
        if mode == "alive":
            return 0 if _is_alive(alive, expected["seconds"]) else 1
        host = Host(Path(environment.get("SYS", "/sys")), Path(environment.get("PROC", "/proc")))
        account = environment.get("ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount")
        agent = Agent(node, expected, host, Api(Path(account)))
        if mode == "watch":
            _watch(agent, expected["seconds"], alive)
        if mode == "once":
            return 0 if agent.prove() else 1
        print(f"mode is {mode!r}; give watch, once or alive", file=sys.stderr)
    except KeyError as missing:
        print(f"the environment or what is planned lacks {missing}", file=sys.stderr)
    except (OSError, ValueError) as problem:
        print(f"what is planned cannot be read: {problem}", file=sys.stderr)
    except (Trouble, Refused) as problem:
        print(problem, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
