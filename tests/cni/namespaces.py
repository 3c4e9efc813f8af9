"""Network namespaces that end with the processes that hold them: not even a killed test run leaves one behind."""

import os
import subprocess
from pathlib import Path

PROGRAMS = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "mount": "util-linux"}
"""Programs that are needed, with the package that brings each."""

_HOLD = "echo ready && exec cat"
# The plug-ins keep notes in /run/cni and /var/lib/cni: those of the tests are to go with the tests, and a machine that
# is a node itself has its own there.
_PREPARE = (
    'mount -t tmpfs tmpfs /run && mkdir /run/plugins /run/networks && mount --bind "$1" /run/plugins && '
    'mount --bind "$2" /run/networks && mount -t tmpfs tmpfs /var/lib'
)


class NotPossible(Exception):
    """This machine does not let us make namespaces; the text is the kernel's or the program's own."""


class CommandFailed(Exception):
    """A program in a namespace failed; the text is all that it printed."""


class Holder:
    """A process that waits in its namespaces until it is told to end, or until whoever started it is gone."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise NotPossible(self._process.communicate()[1].strip())

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self) -> None:
        self._process.communicate()


class Namespace:
    """A network namespace: what a node's kernel, a pod or the fabric between nodes sees."""

    def __init__(self, owner: list[str]) -> None:
        self._owner = owner
        self._holder = Holder([*owner, "unshare", "--net", "sh", "-c", _HOLD])
        self.pid = self._holder.pid
        self.path = f"/proc/{self.pid}/ns/net"

    def command(self, *command: str) -> list[str]:
        """A command line that runs in the namespace."""
        return [*self._owner, f"--net={self.path}", "--", *command]

    def run(self, *command: str) -> str:
        return _output(self.command(*command))

    def end(self) -> None:
        self._holder.end()


class Machine:
    """Stands between the tests and the machine they run on: its mounts, and all namespaces of nodes and pods.

    Root makes it as such; anybody else needs a kernel that lets users make namespaces.
    """

    def __init__(self, plugins: Path, networks: Path) -> None:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        script = f"{_PREPARE} && {_HOLD}"
        self._holder = Holder(
            ["unshare", *user, "--net", "--mount", "sh", "-c", script, "sh", str(plugins), str(networks)]
        )
        self.networks = networks
        self._mounts = f"--mount=/proc/{self._holder.pid}/ns/mnt"
        self._owner = ["nsenter", *([f"--user=/proc/{self._holder.pid}/ns/user"] if user else [])]
        self._namespaces: list[Namespace] = []

    def namespace(self) -> Namespace:
        """A new namespace with nothing but a loopback interface that is down."""
        namespace = Namespace(self._owner)
        self._namespaces.append(namespace)
        return namespace

    def nic(self, node: Namespace, name: str, far_end: Namespace, mtu: int = 1500) -> None:
        """A NIC of a node, wired to a NIC of the same name at the far end; MTU in bytes."""
        wire = ("type", "veth", "peer", "name", name, "mtu", str(mtu), "netns", str(far_end.pid))
        node.run("ip", "link", "add", name, "mtu", str(mtu), *wire)
        far_end.run("ip", "link", "set", name, "up")

    def write_network(self, file: str, config: str) -> None:
        """Puts a network's configuration where cnitool looks for it."""
        (self.networks / file).write_text(config)

    def cnitool(self, action: str, network: str, node: Namespace, pod: Namespace, interface: str) -> str:
        """CNI's own command-line runtime, in the node's network namespace and among the machine's mounts."""
        environment = ("CNI_PATH=/run/plugins", "NETCONFPATH=/run/networks", f"CNI_IFNAME={interface}")
        return _output(self.on(node, "env", *environment, "/run/plugins/cnitool", action, network, pod.path))

    def on(self, node: Namespace, *command: str) -> list[str]:
        """A command line that runs in the node's network namespace and among the machine's mounts."""
        return [*self._owner, self._mounts, f"--net={node.path}", "--", *command]

    def end(self) -> None:
        for namespace in reversed(self._namespaces):
            namespace.end()
        self._holder.end()


def _output(command: list[str]) -> str:
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        raise CommandFailed((result.stderr + result.stdout).strip())
    return result.stdout
