"""A node's NICs for tests: a sysfs tree in a folder, a thread that plays the kernel, stand-ins for ip, rdma and crictl.

Plain files cannot react to a write, so the thread looks every few milliseconds for a count in `sriov_numvfs` or an
address in a driver's `bind` and `unbind`, and makes or removes what the kernel would. All events go to one file.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

from fake_host import FakeHost

_IP = """
echo "ip $*" >>"$NODE/events"
case "$*" in
"link show dev "*) for file in "$NODE/assigned/$4".*; do [[ -e $file ]] && echo "    vf ${file##*.}     \
link/ether $(<"$file") brd ff:ff:ff:ff:ff:ff, spoof checking off"; done; exit 0 ;;
"link set dev "*" vf "*) echo "$8" >"$NODE/assigned/$4.$6" ;;
"link set dev "*" mtu "*) echo "$6" >"$(echo "$NODE"/sys/bus/pci/devices/*/net/"$4")/mtu" ;;
esac
"""

_CRICTL = """
echo "crictl $*" >>"$NODE/events"
echo "a warning beside the answer" >&2
if [[ $* == *" pods "* ]]; then echo 5a0d; fi
"""


class FakeNode(FakeHost):
    """A node whose NICs are added with `add_nic`; the kernel works inside a `with`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.makes_functions, self.function_mtu = True, 1500
        self._counts: dict[Path, str] = {}
        self._ended, self._changing = threading.Event(), threading.Lock()
        self.events, self.mode, self.modprobe = (folder / name for name in ("events", "mode", "modprobe.d"))
        self.devices = folder / "sys/bus/pci/devices"
        self.driver = folder / "sys/bus/pci/drivers/mlx5_core"
        for path in (self.devices, self.driver, folder / "assigned"):
            path.mkdir(parents=True)
        for name in ("bind", "unbind"):
            (self.driver / name).write_text("")
        self.mode.write_text("exclusive\n")
        for name, text in (("ip", _IP), ("crictl", _CRICTL)):
            self.install(name, text)

    def has_an_old_ip(self) -> None:
        """Has ip name a function's MAC address as releases before 5.0 do."""
        self.install("ip", _IP.replace(" brd ff:ff:ff:ff:ff:ff", "").replace("link/ether", "MAC"))

    def add_nic(self, address: str, interface: str, *, most: int = 8, kind: int = 1) -> Path:
        """A NIC without virtual functions; `kind` is the kernel's link type: 1 Ethernet, 32 InfiniBand."""
        nic = self.devices / address
        nic.mkdir()
        (nic / "sriov_totalvfs").write_text(f"{most}\n")
        (nic / "sriov_numvfs").write_text("0\n")
        self._add_interface(address, interface, kind, mtu=1500)
        return nic

    def has_functions(self, address: str, count: int) -> None:
        """Has a NIC start with virtual functions, their MAC addresses assigned."""
        nic = self.devices / address
        with self._changing:
            (nic / "sriov_numvfs").write_text(f"{count}\n")
            self._counts[nic] = str(count)
            self._make(nic, count)
        interface = next((nic / "net").iterdir()).name
        for number, function in enumerate(self.functions(address)):
            mac = next((self.devices / function / "net").iterdir()) / "address"
            shutil.copy(mac, self.folder / "assigned" / f"{interface}.{number}")

    def functions(self, address: str) -> list[str]:
        """The PCI addresses of a NIC's virtual functions, by number."""
        links = sorted((self.devices / address).glob("virtfn*"))
        return [link.readlink().name for link in links]

    def give_to_pod(self, function: str) -> None:
        """Moves a virtual function's interface into the network namespace of a pod: it is no longer seen."""
        shutil.rmtree(self.devices / function / "net")

    def prepare(self, mode: str, *nics: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """The script on some NICs, to its end."""
        return self.run("virtual_functions", mode, **on_nics(*nics, **settings))

    def happened(self, *beginnings: str) -> list[str]:
        """What was changed or called, in order; with beginnings, only what begins so."""
        lines = self.events.read_text().splitlines()
        return [line for line in lines if line.startswith(beginnings)] if beginnings else lines

    def __enter__(self) -> FakeNode:
        self._look()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ended.wait(0.005):
            self._look()

    def _look(self) -> None:
        with self._changing:
            self._look_once()

    def _look_once(self) -> None:
        for file in self.devices.glob("*/sriov_numvfs"):
            count = file.read_text().strip()
            if not count:  # seen between the opening of the file, which empties it, and the write
                continue
            before = self._counts.setdefault(file.parent, count)
            if count != before:
                self._note(f"write {file.parent.name} {count}")
                self._counts[file.parent] = count
                self._change(file.parent, int(before), int(count))
        for action in ("unbind", "bind"):
            function = (self.driver / action).read_text().strip()
            if function:
                (self.driver / action).write_text("")
                self._note(f"{action} {function}")
                self._steer(self.devices / function, action)

    def _note(self, line: str) -> None:
        with self.events.open("a") as file:
            file.write(f"{line}\n")

    def _change(self, nic: Path, before: int, now: int) -> None:
        if now == 0:
            for link in nic.glob("virtfn*"):
                shutil.rmtree(self.devices / link.readlink().name)
                link.unlink()
            for assigned in (self.folder / "assigned").glob(f"{next((nic / 'net').iterdir()).name}.*"):
                assigned.unlink()
        elif before == 0 and self.makes_functions:
            self._make(nic, now)

    def _make(self, nic: Path, count: int) -> None:
        for number in range(count):
            function = self.devices / f"{nic.name[:-1]}{number + 1}"
            function.mkdir()
            (nic / f"virtfn{number}").symlink_to(f"../{function.name}")
            self._steer(function, "bind")

    def _steer(self, function: Path, action: str) -> None:
        if action == "unbind":
            (function / "driver").unlink()
            shutil.rmtree(function / "net")
        else:
            self._add_interface(
                function.name, f"vf{function.name[5:7]}{function.name[-1]}", kind=1, mtu=self.function_mtu
            )
            (function / "driver").symlink_to("../../drivers/mlx5_core")

    def _add_interface(self, address: str, name: str, kind: int, mtu: int) -> None:
        unfinished = self.folder / "net"
        (unfinished / name).mkdir(parents=True)
        (unfinished / name / "address").write_text(f"02:00:00:00:{address[5:7]}:{address[-1]:0>2}\n")
        (unfinished / name / "type").write_text(f"{kind}\n")
        (unfinished / name / "mtu").write_text(f"{mtu}\n")
        unfinished.rename(self.devices / address / "net")


def on_nics(*nics: str, **settings: str) -> dict[str, str]:
    """One virtual function on each NIC and exclusive mode, unless set otherwise."""
    given = {"PCI_ADDRESSES": " ".join(nics), "VFS_PER_NIC": "1", "RDMA_MODE": "exclusive", "WAIT_SECONDS": "20"}
    return {**given, **settings}
