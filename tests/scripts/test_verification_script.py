"""The script of the verification with fakes: mpirun runs one rank, ssh runs here, and each host has a folder."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.nccl.log_lines import filter_file
from gpu_fabric.nccl.verdict.bundle import Bundle, join_parts, read_bundle, script_messages
from gpu_fabric.on_nodes import FOLDER

SCRIPT = FOLDER / "verification.sh"

# ssh HOST COMMAND…: most options are skipped, and what is said of a pod's files goes to the host's own folder. A pod of
# a scheduled run refuses, as sshd does, a key that it does not trust yet.
_SSH = """#!/bin/bash
while [ "${1#-}" != "$1" ]; do
    case $1 in -i) key=$2; shift ;; -p | -o) shift ;; esac
    shift
done
host=${1%%.*}; shift
[ ! -e "$WORLD/$host/authorized" ] || grep -qF "$(cut -d " " -f 2 "$key.pub")" "$WORLD/$host/authorized" || exit 255
echo "$host: $*" >>"$WORLD/ssh"
[ ! -e "$WORLD/deaf-$host" ] && [ ! -e "$WORLD/$host/over" ] || exit 255
[ "$*" != hostname ] || { echo "$host"; exit; }
exec bash -c "${*//$OUT/$WORLD/$host}"
"""

# curl … -X METHOD … URL: an API server with ConfigMaps as files, by merge patch. A pod that adds itself is answered
# once all have added themselves: on a busy machine the second may start when the first has waited long enough.
_CURL = """#!{python} -IS
import fcntl, json, os, pathlib, re, sys, time
words = sys.argv[1:]
assert pathlib.Path(words[words.index("-K") + 1]).read_text() == 'header = "Authorization: Bearer of-the-pod"\\n'
assert not any("of-the-pod" in word for word in words)
world = pathlib.Path(os.environ["WORLD"])
name = re.fullmatch(r"https://kubernetes.default.svc/api/v1/namespaces/jobs/configmaps/([a-z-]+)", words[-1])[1]
path = world / "config-maps" / name
awaited, added = world / "awaited", "{JOB}.{JOB_COMPLETION_INDEX}".format(**os.environ) + '":"'
with open(world / "lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    found = json.loads(path.read_text()) if path.exists() else {"metadata": {"managedFields": [{"f:idle-1.0": {}}]}}
    if words[words.index("-X") + 1] == "PATCH":
        change = json.loads(pathlib.Path(words[words.index("--data-binary") + 1][1:]).read_text())
        for part, entries in change.items():
            merged = {} if entries is None else {**found.get(part, {}), **entries}
            found[part] = {key: value for key, value in merged.items() if value is not None}
        path.write_text(json.dumps(found))
        if awaited.exists() and added in json.dumps(change, separators=(",", ":")):
            awaited.write_text(str(int(awaited.read_text()) - 1))
while awaited.exists() and int(awaited.read_text() or 1) > 0:
    time.sleep(0.05)
print(json.dumps(found, separators=(",", ":")))
"""

# Runs the first host's rank alone, as nccl-tests writes from there alone; its result is that of the hosts' number.
_MPIRUN = """#!/bin/bash
echo "$*" >>"$WORLD/mpirun"
while [ $# -gt 0 ]; do
    case $1 in
        -hostfile) hosts=$2; shift ;;
        -x) export "${2?}"; shift ;;
        -np) ranks=$2; shift ;;
        -mca) shift 2 ;;
        --map-by | --bind-to) shift ;;
        --*) ;;
        *) break ;;
    esac
    shift
done
first=$(head -n 1 "$hosts"); first=${first%%.*}
exec env HOSTS="$(tr '\\n' ' ' <"$hosts")" FIRST="$first" RANKS="$ranks" "$@"
"""

# all_reduce_perf … -J FILE
_PROGRAM = """#!/bin/bash
echo "$HOSTS| $NCCL_IB_HCA ${CUDA_VISIBLE_DEVICES-} ${NCCL_PXN_DISABLE-} $NCCL_ALGO | $*" >>"$WORLD/program"
if [ -e "$WORLD/counts" ]; then
    own="$WORLD/counts/${NCCL_IB_HCA#=mlx5_}"
    touch "$own"; sleep 0.4; echo $(ls "$WORLD/counts") >>"$WORLD/beside"; sleep 0.4; rm "$own"
fi
echo "worker-0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]"
echo "worker-0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]"
echo "worker-0:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA"
echo "worker-0:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA"
echo "worker-1:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/3"
echo "worker-1:1:2 [0] NCCL INFO cudaDriverVersion 12040"
[ ! -e "$WORLD/log" ] || cat "$WORLD/log"
bandwidth=48.0
[ ! -e "$WORLD/slow-$NCCL_IB_HCA" ] || bandwidth=24.0
for node in $(cat "$WORLD/bad-$NCCL_IB_HCA" 2>/dev/null); do
    case "$HOSTS" in *"worker-$node."*) bandwidth=24.0 ;; esac
done
wrong=0
[ ! -e "$WORLD/wrong-$NCCL_IB_HCA" ] || wrong=12.0
[ ! -e "$WORLD/hangs" ] || [ -z "${NCCL_PXN_DISABLE-}" ] || exec sleep 50
[ ! -e "$WORLD/crashes" ] || exit 3
file=${*: -1}
printf '{"version":2,"env":["A=b\\\\"c","SECRET=no","NCCL_ALGO=Ring","X=,\\\\"NCCL_FAKE=1\\\\""],"nccl_version":1,' \\
    >"${file/$OUT/$WORLD/$FIRST}"
printf '"results":[{"bus_bw":%s,"nwrong":%s},{"bus_bw":99.0,"nwrong":0}]}' "$bandwidth" "$wrong" \\
    >>"${file/$OUT/$WORLD/$FIRST}"
"""


class World:
    """A launcher's pod, and hosts worker-0 to worker-2 as folders."""

    def __init__(self, folder: Path, nodes: int = 3) -> None:
        self.folder, self.out, self.mounted = folder, folder / "out", folder / "mounted"
        self.nodes = nodes
        for name, text in (("ssh", _SSH), ("mpirun", _MPIRUN), ("all_reduce_perf", _PROGRAM), ("curl", _CURL)):
            path = folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("{python}", sys.executable))
            path.chmod(0o755)
        self.mounted.mkdir()
        (self.mounted / SCRIPT.name).symlink_to(SCRIPT)
        (self.mounted / "settings").write_text("NCCL_ALGO=Ring\nNCCL_SOCKET_IFNAME==eth0\n")
        (self.mounted / "rails").write_text("0 net1 mlx5_0 0\n1 net2 - 4\n")
        (self.mounted / "log-lines").write_text(filter_file())
        for node in range(nodes):
            (folder / f"worker-{node}").mkdir()
            (folder / f"worker-{node}" / "node").write_text(f"gpu-{node}\n")
        (folder / "hosts").write_text("".join(f"worker-{node}.svc slots=8\n" for node in range(nodes)))
        device = folder / "sys/class/net/net2/device/infiniband/mlx5_7"
        device.mkdir(parents=True)
        self.out.mkdir()
        (self.out / "node").write_text("gpu-0\n")

    def environment(self, **settings: Any) -> dict[str, str]:
        values = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "WORLD": self.folder,
            "OUT": self.out,
            "SYS": self.folder / "sys",
            "KEYS": self.folder / "no-keys",
            "TERMINATION_LOG": self.out / "termination-log",
            "HOSTS_FILE": self.folder / "hosts",
            "NODES": self.nodes,
            "GPUS": 8,
            "PORT": 22,
            "PROGRAM": "all_reduce_perf",
            "RAIL_BAR": 46,
            "LIMIT": 60,
            "ANSWERS_WITHIN": 1,
            "STATUS_TAKES": 0,
            "NODE_NAME": "gpu-0",
            **settings,
        }
        return {name: str(value) for name, value in values.items()}

    def run(self, *arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(self.mounted / SCRIPT.name), *arguments],
            env=self.environment(**settings),
            capture_output=True,
            text=True,
        )

    def launch(self, **settings: Any) -> subprocess.CompletedProcess[str]:
        return self.run("launch", **settings)

    def said(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    @property
    def messages(self) -> list[str]:
        places = [self.out, *(self.folder / f"worker-{node}" for node in range(self.nodes))]
        return [file.read_text() for place in places if (file := place / "termination-log").exists()]

    @property
    def bundle(self) -> Bundle:
        return read_bundle(join_parts(self.messages))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def started(world: World) -> list[str]:
    """What ran, in the order of its start: hosts, device, GPU and so on."""
    return [line.split(" -f ")[0] for line in world.said("program")]


EVERYONE = "worker-0.svc slots={0} worker-1.svc slots={0} worker-2.svc slots={0} "


def test_rails_come_first_one_gpu_a_node_and_then_the_whole_fabric(world: World) -> None:
    assert world.launch().returncode == 0
    *rails, last = started(world)
    assert sorted(rails) == [
        f"{EVERYONE.format(1)}| =mlx5_0 0 1 Ring | -b 1G -e 1G",
        f"{EVERYONE.format(1)}| =mlx5_7 4 1 Ring | -b 1G -e 1G",
    ]
    assert last == f"{EVERYONE.format(8)}|    Ring | -b 1G -e 8G"


@pytest.mark.parametrize(
    ("gpus", "most"), [((0, 1, 2, 3), 4), ((0, 0, 1, 1), 2), ((5, 5, 5, 5), 1)], ids=["own", "shared by two", "one"]
)
def test_rails_run_at_the_same_time_but_never_two_on_a_gpu(world: World, gpus: tuple[int, ...], most: int) -> None:
    lines = [f"{rail} net{rail} mlx5_{rail} {gpu}\n" for rail, gpu in enumerate(gpus)]
    (world.mounted / "rails").write_text("".join(lines))
    (world.folder / "counts").mkdir()
    world.launch()
    together = [set(line.split()) for line in world.said("beside")]
    assert max(map(len, together)) == most
    for names in together:
        on = [gpus[int(name)] for name in names if name.isdecimal()]
        assert len(on) == len(set(on))
    assert [json.loads(world.bundle.result(f"rail-{rail}") or b"{}") for rail in range(4)]


def test_mpirun_is_told_ranks_hosts_and_every_setting(world: World) -> None:
    world.launch()
    first, *_, last = world.said("mpirun")
    assert "-np 3 --map-by ppr:1:node" in first
    assert "-np 24 --map-by ppr:8:node" in last
    assert "-x NCCL_ALGO=Ring -x NCCL_SOCKET_IFNAME==eth0" in last
    assert "-f 2 -g 1 -c 1 -J" in last


def test_results_arrive_whole_and_name_the_nodes(world: World) -> None:
    world.launch()
    bundle = world.bundle
    assert bundle.nodes == ("gpu-0", "gpu-1", "gpu-2")
    assert bundle.rails == (0, 1)
    result = json.loads(bundle.result("all") or b"")
    assert result["results"][0] == {"bus_bw": 48.0, "nwrong": 0}


def test_of_the_environment_only_nccls_variables_leave_the_pod(world: World) -> None:
    printed = world.launch()
    result = json.loads(world.bundle.result("rail-0") or b"")
    assert result["env"] == ["NCCL_ALGO=Ring"]
    assert "SECRET" not in printed.stdout + printed.stderr


def test_the_log_that_leaves_the_pod_has_what_proves_the_transport_once_a_node(world: World) -> None:
    world.launch()
    lines = world.bundle.log("all").decode().splitlines()
    assert [line.partition("NCCL INFO ")[2][:24] for line in lines] == [
        "NET/IB : Using [0]mlx5_0",
        "Channel 00/0 : 0[0] -> 1",
        "Channel 00/0 : 1[0] -> 0",
    ]


def test_of_each_nic_one_good_connection_leaves_the_pod_and_every_bad_one(world: World) -> None:
    start = "worker-2:1:2 [0] NCCL INFO Channel"
    lines = [
        f"{start} 00/0 : 16[0] -> 0[0] [send] via NET/IB/0/GDRDMA",
        f"{start} 01/0 : 16[0] -> 0[0] [send] via NET/IB/1(8)/GDRDMA/Shared",
        f"{start} 02/0 : 16[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
        f"{start} 03/0 : 16[0] -> 0[0] [send] via NET/IB/1/GDRDMA(PCI)",
        f"{start} 04/0 : 16[0] -> 0[0] [send] via NET/IB/2",
        f"{start} 05/0 : 16[0] -> 0[0] [send] via NET/Socket/0",
    ]
    (world.folder / "log").write_text("\n".join(lines) + "\n")
    world.launch()
    kept = [line for line in world.bundle.log("all").decode().splitlines() if line.startswith("gpu-2:")]
    assert [line.partition("Channel ")[2][:2] for line in kept] == ["00", "01", "04", "05"]


def test_a_slow_rail_is_measured_alone_after_the_whole_fabric_and_then_by_pairs(world: World) -> None:
    (world.folder / "slow-=mlx5_7").touch()
    world.launch(A_STEP_TAKES=50, LIMIT=300)
    order = [line for line in started(world) if "=mlx5_7" in line or "slots=8" in line]
    assert [line.split("|")[0] for line in order] == [
        EVERYONE.format(1),
        EVERYONE.format(8),
        EVERYONE.format(1),
        "worker-0.svc slots=1 worker-1.svc slots=1 ",
        "worker-0.svc slots=1 worker-2.svc slots=1 ",
        "worker-1.svc slots=1 worker-2.svc slots=1 ",
    ]
    assert world.bundle.result("alone-1") is not None
    assert world.bundle.result("alone-0") is None


def test_of_pairs_only_the_slow_ones_leave_their_files(world: World) -> None:
    (world.folder / "bad-=mlx5_7").write_text("2\n")
    world.launch(A_STEP_TAKES=50, LIMIT=300)
    results = {pair: world.bundle.result(f"pair-{pair.rail}-{pair.first}-{pair.second}") for pair in world.bundle.pairs}
    assert [pair.good for pair, data in results.items() if data is None] == [True]
    assert [pair.good for pair, data in results.items() if data is not None] == [False, False]


def test_a_rail_with_wrong_values_is_looked_into_as_a_slow_one_is(world: World) -> None:
    (world.folder / "wrong-=mlx5_7").touch()
    world.launch(A_STEP_TAKES=50, LIMIT=300)
    assert [pair.good for pair in world.bundle.pairs] == [False] * 3


def test_pairs_that_there_is_no_time_for_accuse_no_node(world: World) -> None:
    (world.folder / "slow-=mlx5_7").touch()
    world.launch(A_STEP_TAKES=100, LIMIT=40)
    assert world.bundle.pairs == ()
    assert world.bundle.result("all") is not None


def test_two_nodes_are_a_pair_already(tmp_path: Path) -> None:
    world = World(tmp_path, nodes=2)
    (tmp_path / "slow-=mlx5_7").touch()
    world.launch(A_STEP_TAKES=50, LIMIT=300)
    assert world.bundle.result("alone-1") is not None
    assert world.bundle.pairs == ()


def test_a_rail_without_a_device_is_said_with_its_node_and_the_rest_is_measured(world: World) -> None:
    (world.mounted / "rails").write_text("0 net1 - 0\n1 net2 - 4\n")
    assert world.launch().returncode == 0
    bundle = world.bundle
    assert bundle.result("rail-0") is None
    assert bundle.words("rail-0")[0] == "rail 0: no RDMA device behind net1 on node gpu-0"
    assert bundle.result("rail-1") is not None
    assert bundle.result("all") is not None


def test_a_device_is_found_by_the_interface_in_its_table_of_addresses(world: World) -> None:
    (world.mounted / "rails").write_text("0 net1 - 0\n")
    table = world.folder / "sys/class/infiniband/mlx5_9/ports/1/gid_attrs/ndevs"
    table.mkdir(parents=True)
    (table / "0").write_text("eth7\n")
    (table / "3").write_text("net1\n")
    world.launch()
    assert any("=mlx5_9 0" in line for line in world.said("program"))


def test_a_test_that_crashes_leaves_its_status_and_no_result(world: World) -> None:
    (world.folder / "crashes").touch()
    assert world.launch().returncode == 0
    assert world.bundle.words("all") == (
        "all ended with status 3",
        "all: the test wrote no result; nccl-tests 2.17.3 or later does",
    )


def test_a_test_that_hangs_is_ended_and_named(world: World) -> None:
    (world.folder / "hangs").touch()
    (world.mounted / "rails").write_text("0 net1 mlx5_0 0\n")
    world.launch(A_STEP_TAKES=1, NODES=3)
    assert world.bundle.words("rail-0")[0] == "rail-0 did not end within 1 s"


def test_what_there_is_no_time_for_is_not_begun_and_the_results_leave_the_pod_in_time(world: World) -> None:
    assert world.launch(LIMIT=20).returncode == 0
    assert world.said("program") == []
    assert world.bundle.words("all") == ("all: no time is left for it",)


def test_a_host_that_does_not_answer_is_named_and_the_others_are_let_go(world: World) -> None:
    (world.folder / "deaf-worker-1").touch()
    assert world.launch().returncode == 1
    assert script_messages(world.messages) == ("worker-1.svc does not answer within 1 s",)
    assert (world.folder / "worker-2" / "over").exists()


def test_fewer_hosts_than_nodes_end_the_run(world: World) -> None:
    assert world.launch(NODES=4).returncode == 1
    assert script_messages(world.messages) == ("there are 3 hosts, and 4 nodes were asked for",)


def test_large_results_are_cut_into_messages_of_several_pods(world: World) -> None:
    noise = "".join(f"{number:x}" for number in range(100000, 104000))
    rails = world.mounted / "rails"
    rails.write_text(rails.read_text() + f"# {os.urandom(2600).hex()} {noise[:10]}\n")
    result = world.launch()
    assert (result.returncode, len(world.messages)) == (0, 2)
    assert all(len(message) < 4096 for message in world.messages)
    assert world.bundle.result("all") is not None


def test_results_beyond_what_the_pods_hold_are_a_failure_with_its_reason(world: World) -> None:
    (world.mounted / "rails").write_text(f"0 net1 mlx5_0 0\n{os.urandom(12000).hex()}\n")
    assert world.launch().returncode == 1
    assert "messages of 3900 bytes, and there are 4 pods" in script_messages(world.messages)[0]


def test_workers_end_once_the_launcher_says_so(world: World) -> None:
    world.launch()
    assert all((world.folder / f"worker-{node}" / "over").exists() for node in range(3))


def test_a_worker_serves_ssh_until_it_is_over(world: World) -> None:
    server = world.folder / "bin" / "sshd"
    server.write_text('#!/bin/bash\necho "$*" >"$WORLD/sshd"\nexec sleep 60\n')
    server.chmod(0o755)
    command = ["bash", str(world.mounted / SCRIPT.name), "worker"]
    worker = subprocess.Popen(command, env=world.environment(SSHD=server, PORT=2222, NODE_NAME="gpu-9"))
    for _ in range(100):
        if world.said("sshd"):
            break
        time.sleep(0.05)
    assert world.said("sshd") == ["-D -e -p 2222 -o MaxStartups=1000"]
    assert (world.out / "node").read_text() == "gpu-9\n"
    (world.out / "over").touch()
    assert worker.wait(10) == 0


def test_a_worker_whose_server_ends_says_so(world: World) -> None:
    result = world.run("worker", SSHD="/bin/false")
    assert result.returncode == 1
    assert script_messages(world.messages) == ("ssh's server ended on node gpu-0",)


def test_keys_of_the_stacks_own_serve_both_sides(world: World) -> None:
    keys = world.folder / "keys"
    keys.mkdir()
    (keys / "key").write_text("private")
    (keys / "key.pub").write_text("ssh-ed25519 AAAA comment\n")
    world.launch(KEYS=keys, PORT=2222)
    assert (world.out / "known_hosts").read_text() == "* ssh-ed25519 AAAA\n"
    server = world.folder / "bin" / "sshd"
    server.write_text('#!/bin/bash\necho "$*" >"$WORLD/sshd"\n')
    server.chmod(0o755)
    world.run("worker", SSHD=server, KEYS=keys, PORT=2222)
    assert f"-h {keys}/key -o AuthorizedKeysFile={keys}/key.pub" in world.said("sshd")[0]
    assert "PasswordAuthentication=no" in world.said("sshd")[0]


class Idle:
    """A scheduled run on idle nodes: a pod each, with a folder of its own below that of the world."""

    def __init__(self, world: World) -> None:
        self.world = world
        (world.folder / "config-maps").mkdir()
        (world.folder / "account").mkdir()
        (world.folder / "account/token").write_text("of-the-pod")
        self.config_map("history", {"data": {}})
        server = world.folder / "bin/sshd"
        server.write_text("#!/bin/bash\nexec sleep 60\n")
        server.chmod(0o755)

    def config_map(self, name: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        path = self.world.folder / "config-maps" / name
        if content is not None:
            path.write_text(json.dumps(content))
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.config_map("history")["data"].get("history.jsonl", "").splitlines()]

    def mount(self) -> None:
        """What a kubelet does with the history for new pods."""
        folder = self.world.folder / "mounted-history"
        folder.mkdir(exist_ok=True)
        (folder / "history.jsonl").write_text(self.config_map("history")["data"].get("history.jsonl", ""))

    def pod(self, index: int, **settings: Any) -> subprocess.Popen[str]:
        self.mount()
        environment = self.world.environment(
            **{
                "JOB": "worker",
                "JOB_COMPLETION_INDEX": index,
                "SERVICE": "svc",
                "OUT": self.world.folder / f"worker-{index}",
                "NODE_NAME": f"gpu-{index}",
                "TERMINATION_LOG": self.world.folder / f"worker-{index}" / "termination-log",
                "SSHD": self.world.folder / "bin/sshd",
                "ACCOUNT": self.world.folder / "account",
                "HISTORY_FOLDER": self.world.folder / "mounted-history",
                "NAMESPACE": "jobs",
                "HISTORY": "history",
                "PRESENT": "present",
                "BAR": 46,
                "GATHERING_TAKES": 1,
                "ASKS_EVERY": 1,
                "LIMIT": 300,
                "ANSWERS_WITHIN": 20,
                "A_STEP_TAKES": 50,
                **settings,
            }
        )
        del environment["HOSTS_FILE"]
        command = ["bash", str(self.world.mounted / SCRIPT.name), "scheduled"]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *indexes: int, **settings: Any) -> list[int]:
        """Run the pods of these indexes; gives the statuses of those that ended, and -1 for each that did not."""
        (self.world.folder / "awaited").write_text(str(len(indexes)))
        pods = [self.pod(index, **settings) for index in indexes]
        try:
            until_one_ends(pods)
            ended = [status for pod in pods if (status := pod.poll()) is not None]
            return ended + [-1] * (len(pods) - len(ended))
        finally:
            for pod in pods:
                pod.kill()
                pod.wait()


def until_one_ends(pods: list[subprocess.Popen[str]]) -> None:
    """Wait until a pod has ended, and a little for those that end with it."""
    end = time.monotonic() + 90
    while all(pod.poll() is None for pod in pods):
        assert time.monotonic() < end, "no pod ends"
        time.sleep(0.1)
    time.sleep(2)


@pytest.fixture
def idle(world: World) -> Idle:
    for node in range(world.nodes):
        (world.folder / f"worker-{node}" / "node").unlink()
    return Idle(world)


def test_pods_on_idle_nodes_find_each_other_and_measure_with_those_alone(idle: Idle) -> None:
    status, *_ = idle.run(0, 2)
    assert status == 0
    (entry,) = idle.history
    assert (entry["passed"], entry["measured"], entry["rails"]) == (True, 48.0, {"0": 48.0, "1": 48.0})
    assert (entry["nodes"], entry["slowRails"], entry["job"]) == (["gpu-0", "gpu-2"], [], "worker")
    assert {line.split("|")[0] for line in idle.world.said("program")} == {
        "worker-0.svc slots=1 worker-2.svc slots=1 ",
        "worker-0.svc slots=8 worker-2.svc slots=8 ",
    }


def test_the_keys_of_those_that_take_part_and_of_nobody_else_are_trusted(idle: Idle) -> None:
    idle.config_map("present", {"data": {"earlier.7": "1700000000 gpu-7 ssh-ed25519 AAAAold", "earlier.start": "7 8"}})
    idle.run(0, 2)
    keys = {(idle.world.folder / f"worker-{index}/keys/key.pub").read_text().strip() for index in (0, 2)}
    for index in (0, 2):
        assert set((idle.world.folder / f"worker-{index}/authorized").read_text().splitlines()) == keys
    assert idle.config_map("present")["data"] == {}


def test_the_newest_entry_is_the_first_and_the_results_are_whole(idle: Idle) -> None:
    idle.run(0, 2)
    for node in (0, 2):
        shutil.rmtree(idle.world.folder / f"worker-{node}")
    idle.run(0, 2, JOB="worker")
    assert len(idle.history) == 2
    assert idle.history[0]["time"] > idle.history[1]["time"]
    bundle = read_bundle(base64.b64decode(idle.config_map("history")["binaryData"]["latest.tar.gz"]))
    assert (bundle.nodes, bundle.rails) == (("gpu-0", "gpu-2"), (0, 1))
    assert bundle.result("all") is not None


def test_a_fabric_below_its_bar_fails_the_run_after_its_entry(idle: Idle) -> None:
    (idle.world.folder / "slow-=mlx5_7").touch()
    status, *pods = idle.run(0, 2)
    assert status == 1
    assert 0 not in pods
    (entry,) = idle.history
    assert (entry["passed"], entry["slowRails"], entry["rails"]) == (False, [1], {"0": 48.0, "1": 24.0})


def test_a_pod_alone_ends_well_and_writes_no_entry(idle: Idle) -> None:
    status, *_ = idle.run(1)
    assert (status, idle.history, idle.world.said("program")) == (0, [], [])


def test_a_pod_that_comes_late_waits_for_the_end_of_the_others_run(idle: Idle) -> None:
    idle.config_map("present", {"data": {"worker.0": "1 gpu-0 ssh-ed25519 A", "worker.start": "0 2"}})
    late = idle.pod(1)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            late.wait(6)
        assert idle.world.said("program") == []
    finally:
        late.kill()
        late.wait()


def test_a_history_has_an_end(idle: Idle) -> None:
    lines = "".join(json.dumps({"job": f"old-{number}"}) + "\n" for number in range(300))
    idle.config_map("history", {"data": {"history.jsonl": lines}})
    idle.run(0, 2)
    assert len(idle.history) == 200
    assert [entry["job"] for entry in idle.history[:2]] == ["worker", "old-0"]


def test_without_the_api_server_the_run_fails_with_its_reason(idle: Idle) -> None:
    (idle.world.folder / "bin/curl").write_text("#!/bin/bash\nexit 22\n")
    status, *_ = idle.run(0)
    assert status == 1
    assert script_messages(idle.world.messages) == ("the API server does not take a change of ConfigMap present",)
