"""A GPU node for tests of the host scripts: a folder with what they read, and stand-ins for the programs they call.

The stand-ins keep what they are told in files below the folder, so that a test can compare all of a host's state, and
write every call that changes something to a file of events.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpu_fabric.plan.host.daemons import script

# Answers as `ip -N` does, from a file for each rule list, interface, address list and table.
_IP = r"""
family=-4 words=()
for word; do
    case $word in -4 | -6) family=$word ;; -N | -o) ;; *) words+=("$word") ;; esac
done
set -- "${words[@]}"
cd "$NODE/ip"
change() { echo "ip $family $*" >>"$NODE/events"; }
without() { grep -v -x -F -m 1 -e "$1" "$2" >"$2.new"; mv "$2.new" "$2"; }
rule() {
    [[ $5 == not ]] && rule="$4:	not from all to $7 lookup ${9/main/254}" || rule="$4:	from $6 lookup $8"
    change "$@"
}
route() {
    table=${!#} route=${*:3:$#-4}
    change "$@"
}
case "$1 $2" in
"rule show") cat "rules$family" ;;
"rule add") rule "$@" && echo "$rule" >>"rules$family" ;;
"rule del") rule "$@"
    awk -v rule="$rule" '$0 == rule && !gone { gone = 1; next } { print }' "rules$family" >new
    mv new "rules$family" ;;
"link show") read -r flags mtu 2>/dev/null <"link.$4" || { echo "Device \"$4\" does not exist." >&2; exit 1; }
    echo "3: $4: <$flags> mtu $mtu qdisc mq state UP mode DEFAULT group default qlen 1000" ;;
"link set") change "$@"
    read -r flags mtu <"link.$4"
    [[ $5 == mtu ]] && echo "$flags $6" >"link.$4" || echo "$flags,UP $mtu" >"link.$4" ;;
"addr show") while read -r address; do
    echo "3: $4    inet $address scope global $4\       valid_lft forever preferred_lft forever"
    done 2>/dev/null <"address.$4$family" ;;
"addr add") change "$@" && echo "$3" >>"address.$5$family" ;;
"route show") cat "routes.$4$family" 2>/dev/null || { echo "Error: ipv4: FIB table does not exist." >&2; exit 2; } ;;
"route replace") route "$@"
    touch "routes.$table$family"
    grep -v "^$3 " "routes.$table$family" >new
    echo "$route " >>new
    mv new "routes.$table$family" ;;
"route del") route "$@"
    grep -v "^$route " "routes.$table$family" >new
    mv new "routes.$table$family" ;;
esac
"""

# A function without a file has no such capability; a locked one keeps its word.
_SETPCI = r"""
file=$NODE/acs/$2
[[ -e $file ]] || { echo "setpci: $2: Instance #0 of Extended Capability 000d not found" >&2; exit 1; }
[[ $3 == *=* ]] || { cat "$file"; exit; }
echo "setpci $*" >>"$NODE/events"
[[ -e $NODE/acs.locked ]] || echo "${3#*=}" >"$file"
"""

_MLNX_QOS = r"""
folder=$NODE/qos/$2
case ${3:-} in
--trust) echo "mlnx_qos $*" >>"$NODE/events" && echo "$4" >"$folder/trust" ;;
--pfc) echo "mlnx_qos $*" >>"$NODE/events" && echo "${4//,/   }" >"$folder/pfc" ;;
*) printf 'DCBX mode: OS controlled\nPriority trust state: %s\n' "$(<"$folder/trust")"
    printf 'PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     %s   \n' "$(<"$folder/pfc")"
    printf '\tbuffer      0   0   0   0   0   0   0   0   \ntc: 0 ratelimit: unlimited, tsa: vendor\n' ;;
esac
"""

# cma_roce_tos and cma_roce_mode print a setting alone, and need the module rdma_cm.
_CMA = r"""
[[ -d $NODE/sys/module/rdma_cm ]] || { echo "Module rdma_cm is not loaded" >&2; exit 1; }
file=$NODE/cma/$2.${0##*_}
case $* in
*" -m 2") echo "RoCE v2" >"$file" ;;
*" -t "*) echo "$4" >"$file" ;;
*) cat "$file"; exit ;;
esac
echo "${0##*/} $*" >>"$NODE/events"
"""

_MLXCONFIG = r"""
file=$NODE/firmware/$2
if [[ $3 == q ]]; then
    printf 'Device #1:\n\nDevice:             %s\n\nConfigurations:              Next Boot\n' "$2"
    cat "$file"
    exit
fi
echo "mlxconfig $*" >>"$NODE/events"
kinds=([1]=IB [2]=ETH)
sed -i "s/${5%=*} .*/${5%=*}      ${kinds[${5#*=}]}(${5#*=})/" "$file"
"""

_RDMA = r"""
echo "rdma $*" >>"$NODE/events"
if [[ $2 == show ]]; then echo "netns $(<"$NODE/mode") copy-on-fork on"; exit; fi
if [[ -e $NODE/other-namespace ]]; then echo "error: Device or resource busy" >&2; exit 1; fi
echo "$4" >"$NODE/mode"
"""

# What a module brings is below its name.
_MODPROBE = r"""
echo "modprobe $*" >>"$NODE/events"
mkdir -p "$NODE/sys/module/$1"
[[ ! -d $NODE/modules/$1 ]] || cp -r "$NODE/modules/$1/." "$NODE/sys"
"""

_PROGRAMS = {
    "ip": _IP,
    "setpci": _SETPCI,
    "mlnx_qos": _MLNX_QOS,
    "cma_roce_tos": _CMA,
    "cma_roce_mode": _CMA,
    "mlxconfig": _MLXCONFIG,
    "modprobe": _MODPROBE,
    "rdma": _RDMA,
}


@dataclass
class Running:
    """A script that goes on until it is ended."""

    process: subprocess.Popen[str]

    def line(self) -> str:
        """The next line of its output, without the end of line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the script has ended"
        return line.rstrip("\n")

    def lines(self, beginning: str) -> list[str]:
        """Its next lines, up to the one with that beginning."""
        found = [self.line()]
        while not found[-1].startswith(beginning):
            found.append(self.line())
        return found

    def end(self) -> float:
        """Ends it as Kubernetes does, by TERM; the seconds that it took."""
        started = time.monotonic()
        self.process.terminate()
        self.process.wait()
        return time.monotonic() - started


class FakeHost:
    """A node in a folder, with nothing in it but the programs; tests write the files that they need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        for name in ("modprobe.d", "modules-load.d"):
            (folder / name).mkdir()
        for name, text in _PROGRAMS.items():
            self.install(name, text)
        for family in ("-4", "-6"):
            self.write(f"ip/rules{family}", "0:\tfrom all lookup 255\n32766:\tfrom all lookup 254\n")
        self.write("events", "")

    def install(self, name: str, text: str) -> None:
        """Puts a Bash program on the node's PATH."""
        self._replace(self.programs / name, f"#!/bin/bash\n{text}", 0o755)

    def breaks(self, name: str) -> None:
        """Has a program fail whenever it is called."""
        self.install(name, 'echo "cannot do it" >&2\nexit 1\n')

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        self._replace(file, text, 0o644)

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()

    def state(self) -> dict[str, str]:
        """Everything that there is on the node, by path."""
        files = {str(path.relative_to(self.folder)): path for path in self.folder.rglob("*") if path.is_file()}
        return {path: file.read_text() for path, file in files.items() if path != "events"}

    def changes(self) -> list[str]:
        """The calls that changed something, in order."""
        return [line for line in self.read("events").splitlines() if line != "rdma system show"]

    def run(self, name: str, mode: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """A script, piped into Bash as the pods do it, to its end."""
        return subprocess.run(
            ["bash", "-s", "--", mode],
            input=script(name),
            env=self._environment(settings),
            capture_output=True,
            text=True,
        )

    @contextmanager
    def running(self, name: str, mode: str, **settings: str) -> Iterator[Running]:
        """A script that does not end by itself, inside a `with`."""
        with subprocess.Popen(
            ["bash", "-s", "--", mode],
            env=self._environment(settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdin is not None
            process.stdin.write(script(name))
            process.stdin.close()
            try:
                yield Running(process)
            finally:
                process.terminate()

    def _replace(self, file: Path, text: str, mode: int) -> None:
        # In one step: a script that goes on must not meet half a file.
        new = self.folder / "new"
        new.write_text(text)
        new.chmod(mode)
        new.rename(file)

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "NODE": str(self.folder),
            "SYS": str(self.folder / "sys"),
            "PROC": str(self.folder / "proc"),
            "MODPROBE_DIR": str(self.folder / "modprobe.d"),
            "MODULES_DIR": str(self.folder / "modules-load.d"),
            "WAIT_SECONDS": "5",
            "RETRY_SECONDS": "1",
            "LOOK_AGAIN_SECONDS": "1",
            **settings,
        }
