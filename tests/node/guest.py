"""A machine of the tests' own: Debian's kernel in QEMU, with two NICs that have real SR-IOV on one wire.

The machine plays two nodes of a rail: the first NIC is that rail's on node 0, the second on node 1.
"""

from __future__ import annotations

import base64
import shlex
import subprocess
from pathlib import Path
from typing import IO

from debian import PLUGINS, Debian

NICS = {"rdma0": "0000:01:00.0", "far0": "0000:02:00.0"}
"""The NICs' interfaces and PCI addresses, in the order in which QEMU adds them."""
FUNCTIONS = 7
"""The most virtual functions that QEMU's `igb` has."""


class CommandFailed(Exception):
    """A program in the machine failed; the text is all that it printed."""


class Namespace:
    """A network namespace of the machine; the node's own has no name."""

    def __init__(self, guest: Guest, name: str = "") -> None:
        self.guest, self.name = guest, name
        self.path = f"/run/netns/{name}"

    def command(self, *command: str) -> str:
        """A command for the machine's Bash."""
        return shlex.join([*(("ip", "netns", "exec", self.name) if self.name else ()), *command])

    def run(self, *command: str) -> str:
        return self.guest.run(self.command(*command))


class Guest:
    """The running machine."""

    def __init__(self, debian: Debian, image: Path, console: Path) -> None:
        devices = [
            word
            for number in range(len(NICS))
            for word in (
                *("-device", f"pcie-root-port,chassis={number + 1},id=slot{number}"),
                *("-netdev", f"hubport,hubid=0,id=wire{number}"),
                *("-device", f"igb,bus=slot{number},netdev=wire{number},mac=52:54:00:00:00:{number + 1:02x}"),
            )
        ]
        self._console = console
        with console.open("w") as errors:
            self._process = subprocess.Popen(
                debian.qemu(
                    *("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024"),
                    *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
                    *("-kernel", str(debian.kernel), "-initrd", str(image)),
                    *("-append", "console=ttyS0 quiet panic=-1 mitigations=off", "-serial", f"file:{console}.serial"),
                    *(
                        "-device",
                        "virtio-serial-pci",
                        "-chardev",
                        "stdio,id=port",
                        "-device",
                        "virtserialport,chardev=port",
                    ),
                    *devices,
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._names = 0
        self.node = Namespace(self)
        if self._answer() != b"ready":
            raise CommandFailed(f"the machine does not start:\n{self._last_words()}")

    def bash(self, script: str) -> subprocess.CompletedProcess[str]:
        """Runs a script in the machine's Bash."""
        self._pipe(self._process.stdin).write(base64.b64encode(script.encode()) + b"\n")
        self._pipe(self._process.stdin).flush()
        answer = self._answer()
        if not answer:
            raise CommandFailed(f"the machine has ended:\n{self._last_words()}")
        status, *printed = answer.split(b" ")
        output, errors = (base64.b64decode(text).decode() for text in printed)
        return subprocess.CompletedProcess(script, int(status), output, errors)

    def run(self, script: str) -> str:
        """What a script prints that ends well."""
        result = self.bash(script)
        if result.returncode != 0:
            raise CommandFailed((result.stderr + result.stdout).strip())
        return result.stdout

    def host_script(self, text: str, mode: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Runs a host script as its DaemonSet does: on the standard input of the node's Bash."""
        settings = shlex.join(f"{name}={value}" for name, value in environment.items())
        return self.bash(f"env {settings} bash -s -- {mode} <<'END_OF_SCRIPT'\n{text}\nEND_OF_SCRIPT")

    def namespace(self) -> Namespace:
        """A new namespace, as a container runtime makes a pod's."""
        self._names += 1
        self.run(f"ip netns add pod{self._names} && ip -n pod{self._names} link set lo up")
        return Namespace(self, f"pod{self._names}")

    def write_network(self, file: str, config: str) -> None:
        """Puts a network's configuration where cnitool looks for it."""
        self.run(f"mkdir -p /run/networks && printf %s {shlex.quote(config)} >/run/networks/{file}")

    def cnitool(self, action: str, network: str, node: Namespace, pod: Namespace, interface: str) -> str:
        """CNI's own command-line runtime; both nodes are in the machine's own namespace."""
        environment = f"CNI_PATH={PLUGINS} NETCONFPATH=/run/networks CNI_IFNAME={interface}"
        return self.run(f"{environment} {PLUGINS}/cnitool {action} {network} {pod.path}")

    def function(self, nic: str, number: int = 0) -> str:
        """The PCI address of a NIC's virtual function."""
        return self.run(f"basename $(readlink /sys/class/net/{nic}/device/virtfn{number})").strip()

    def reset(self) -> None:
        """As after the start: no pods, no RDMA devices, no virtual functions, RDMA mode `shared`."""
        self.run(
            "for pod in $(ip netns list | sed 's/ .*//'); do ip netns delete $pod; done\n"
            "for device in $(ls /sys/class/infiniband); do rdma link delete $device; done\n"
            # At the same time, since the kernel waits a second for each.
            f"for nic in {' '.join(NICS)}; do\n"
            "    { echo 0 >/sys/class/net/$nic/device/sriov_numvfs && ip link set $nic mtu 1500 up; } &\n"
            "done\n"
            "wait\n"
            "rm -rf /run/networks /var/lib/cni/* /etc/modprobe.d/*\n"
            # A namespace is removed some time after its last user.
            "for try in {1..100}; do rdma system set netns shared && exit; sleep 0.1; done; exit 1"
        )

    def end(self) -> None:
        """Closes the port, on which the machine powers itself off."""
        self._pipe(self._process.stdin).close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answer(self) -> bytes:
        return self._pipe(self._process.stdout).readline().rstrip(b"\n")

    def _last_words(self) -> str:
        texts = (path.read_text(errors="replace") for path in (self._console, Path(f"{self._console}.serial")))
        return "".join(texts)[-2000:]

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        assert stream is not None
        return stream
